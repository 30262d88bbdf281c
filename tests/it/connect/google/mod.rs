//! Google Workspace: what its settings, accounts and logs come to.

mod account;
mod admin;
mod app;
mod mail;
mod needs_samples;
mod note;
mod policy;
mod question;
mod weird;
mod workspace;
