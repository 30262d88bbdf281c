//! Amazon Web Services: an account, read through a role with requests of our own, and what it says of controls.
//!
//! [`read`] asks AWS; everything else is pure.

pub mod answer;
pub mod sign;

mod account;
mod config;
mod read;
mod refusal;
mod rule;
mod xml;

pub use account::{
    AccessKey, Account, Bucket, Database, IngressRule, LastUse, PublicAccess, Region,
    SecurityGroup, Summary, Trail, User,
};
pub use config::AwsConfig;
pub use read::read;
pub use refusal::DIALECT;
pub use rule::judge;
