//! Active Directory: accounts, administrators, computers and policies of a domain, read over LDAPS.
//!
//! [`read`] asks a domain controller; [`judge`] is pure: from what was read it makes groups of facts. An ordinary account of
//! the domain may read all of it but the fine-grained password policies. Nothing is written.

mod account;
mod admin;
mod ber;
mod config;
mod device;
mod directory;
mod filter;
mod group;
mod judge;
mod message;
mod password;
mod policy;
mod read;
mod refusal;
mod session;
mod value;
mod weakness;

pub use account::{Account, AccountFlags, AccountKind, Computer};
pub use ber::{MESSAGE_BYTES_MAX, Malformed, Reader, element, header, integer};
pub use config::{AdConfig, PORT};
pub use directory::{Directory, StreamName};
pub use group::DirectoryGroup;
pub use judge::judge;
pub use message::{Answer, AnswerBody, Entry, Outcome, decode};
pub use policy::{DomainPolicy, PasswordRules, PasswordSettings};
pub use read::read;
