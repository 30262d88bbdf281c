//! The steps of an assessment of a client.

pub mod alert;
pub mod assess;
pub mod condition;
pub mod contradiction;
pub mod estate;
pub mod evidence;
pub mod expiry;
pub mod log;
pub mod overdue;
pub mod part;
pub mod risk;
pub mod span;
pub mod statement;
pub mod subject;
pub(super) mod undone;
pub mod verdict;
