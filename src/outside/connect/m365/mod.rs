//! Microsoft 365 and Entra ID, as Microsoft Graph shows them.
//!
//! [`Tenant`] is what was read. [`rules`] says what it shows of controls, and reads nothing itself.

mod device;
mod read;
pub mod rules;
pub mod tenant;

pub use read::read;
pub use tenant::{Source, Tenant};
