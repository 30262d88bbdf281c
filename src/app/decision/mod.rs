//! What people decide about a client.

pub mod control;
pub mod evidence;
pub mod requirement;
pub mod task;
