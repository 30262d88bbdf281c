//! Google Workspace: what its settings, accounts and logs come to.

mod question;
mod workspace;
