//! Webhooks and their deliveries.

pub mod delivery_view;
pub mod header_body;
pub mod webhooks;
