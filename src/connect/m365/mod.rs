//! Microsoft 365 and Entra ID, as Microsoft Graph shows them.
//!
//! [`Tenant`] is what was read.

pub mod tenant;

pub use tenant::{Source, Tenant};
