//! Microsoft 365 and Entra ID.

mod access;
mod account;
mod app;
mod needs_samples;
mod odd;
pub(super) mod scuba;
mod service;
mod setting;
pub(super) mod tenant;
