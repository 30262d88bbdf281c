//! Events: the body of each of the 22 types, one struct each, and the envelope that all of them share. This folder is
//! the wire format of a webhook delivery; no event body is made anywhere else.
//!
//! `schema` describes the same structs for the API document, and `sample` makes up objects that are as described.

pub mod account;
pub mod alert;
pub mod asset;
pub mod cause;
pub mod change;
pub mod condition;
pub mod envelope;
pub mod expiry;
pub mod posture;
pub mod risk;
pub mod sample;
pub mod schema;
pub mod source;
pub mod summary;
pub mod task;
