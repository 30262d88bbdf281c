//! Google Workspace: what the lists that Google's APIs give say of controls.
//!
//! [`read`] fills a [`Snapshot`]. The rest is pure: from a snapshot to verdicts, accounts, apps, devices and notes.

mod account;
mod admin;
mod app;
mod device;
mod dlp;
mod log;
mod mail;
mod mfa;
mod note;
mod password;
mod read;
mod row;
mod rule;
mod service_account;
mod setting;
mod sharing;
mod sign_in;
mod snapshot;
mod survey;
mod tenant;

pub use account::{ACCOUNTS_NEED, accounts};
pub use app::apps;
pub use device::{devices, judge_devices};
pub use note::notes;
pub use read::{DIALECT, Workspace, read};
pub use row::{
    Activity, ActivityId, Actor, ChromeDevice, Customer, Domain, DomainAlias, Event, Key,
    MobileDevice, Moment, Number, OrgUnit, Parameter, Policy, PolicyQuery, Role, RoleAssignment,
    Setting, SsoAssignment, User, UserName,
};
pub use rule::{RULES, Rule, judge};
pub use service_account::{ServiceAccount, consent_link};
pub use snapshot::{Snapshot, StreamKind};
