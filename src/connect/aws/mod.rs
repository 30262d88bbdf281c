//! Amazon Web Services: signatures of requests, their answers, and what they say of controls.
//!
//! Everything here is pure.

pub mod sign;
