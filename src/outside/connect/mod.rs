//! Reads clients' environments.
//!
//! Nothing is changed there. What cannot be read is said and judged in neither direction: reading less never looks better.

pub mod ad;
pub mod aws;
pub mod azure;
pub mod call;
pub mod device;
pub mod dns;
pub mod google;
pub mod kind;
pub mod m365;
pub mod mapping;
pub mod microsoft;
pub mod reading;
pub mod settings;
