//! Google Workspace: what its settings, accounts and logs come to.

mod account;
mod admin;
mod policy;
mod question;
mod workspace;
