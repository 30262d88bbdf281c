//! The management API: what the command line and a console call.

pub mod catalog;
pub mod clients;
pub mod delivery_view;
pub mod events;
pub mod imports;
pub mod keys;
pub mod posture;
pub mod system;
pub mod upload;
pub mod webhooks;
