//! What happened and what is open: events, changes, conditions.

pub mod changes;
pub mod conditions;
pub mod events;
