//! Google Workspace: what its settings, accounts and logs come to.

mod account;
mod admin;
mod app;
mod device;
pub mod front;
mod mail;
mod needs_samples;
mod note;
mod policy;
pub mod question;
mod read;
pub mod server;
mod weird;
pub mod workspace;
