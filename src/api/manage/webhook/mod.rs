//! Webhooks and their deliveries.

pub mod delivery_view;
pub mod webhooks;
