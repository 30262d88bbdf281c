//! What people decide about results, and the work that follows from them.

pub(super) mod alert;
pub(super) mod control;
pub(super) mod evidence;
pub(super) mod requirement;
pub(super) mod risk;
pub(super) mod rule;
pub(super) mod task;
