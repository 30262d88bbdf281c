//! Google Workspace: what the lists that Google's APIs give say of controls.
//!
//! Everything here is pure: from a [`Snapshot`] to verdicts, accounts, apps and notes.

mod admin;
mod dlp;
mod log;
mod mail;
mod mfa;
mod password;
mod row;
mod setting;
mod sharing;
mod sign_in;
mod snapshot;
mod survey;
mod tenant;

pub use row::{
    Activity, ActivityId, Actor, ChromeDevice, Customer, Domain, Event, Key, MobileDevice, Moment,
    Number, OrgUnit, Parameter, Policy, PolicyQuery, Role, RoleAssignment, Setting, SsoAssignment,
    User, UserName,
};
pub use snapshot::{Snapshot, StreamKind};
