//! Webhook endpoints, and the deliveries to them.

pub mod delivery;
pub mod endpoint;
