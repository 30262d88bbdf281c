//! Amazon Web Services: signatures of requests, their answers, and what they say of controls.
//!
//! Everything here is pure.

pub mod answer;
pub mod sign;

mod account;
mod rule;
mod xml;

pub use account::{
    AccessKey, Account, Bucket, Database, IngressRule, LastUse, PublicAccess, Region,
    SecurityGroup, Summary, Trail, User,
};
pub use rule::judge;
