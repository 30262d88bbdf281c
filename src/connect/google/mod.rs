//! Google Workspace: what the lists that Google's APIs give say of controls.
//!
//! Everything here is pure: from a [`Snapshot`] to verdicts, accounts, apps and notes.

mod account;
mod admin;
mod app;
mod dlp;
mod log;
mod mail;
mod mfa;
mod note;
mod password;
mod row;
mod rule;
mod setting;
mod sharing;
mod sign_in;
mod snapshot;
mod survey;
mod tenant;

pub use account::{ACCOUNTS_NEED, accounts};
pub use app::apps;
pub use note::notes;
pub use row::{
    Activity, ActivityId, Actor, ChromeDevice, Customer, Domain, Event, Key, MobileDevice, Moment,
    Number, OrgUnit, Parameter, Policy, PolicyQuery, Role, RoleAssignment, Setting, SsoAssignment,
    User, UserName,
};
pub use rule::{RULES, Rule, judge};
pub use snapshot::{Snapshot, StreamKind};
