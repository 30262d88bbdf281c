//! What people decide about a client.

pub mod alert_rule;
pub mod batch;
pub mod client;
pub mod client_list;
pub mod control;
pub mod erasure;
pub mod estate;
pub mod evidence;
pub mod evidence_file;
pub mod hold;
pub mod member;
pub mod reference;
pub mod requirement;
pub mod risk;
pub mod state;
pub mod statement;
pub mod subject;
pub mod task;
pub mod undo;

/// What a person says about something.
#[derive(Clone, Debug)]
pub enum Said<T> {
    Stated(T),
    /// What was stated no longer counts.
    Withdrawn {
        reason: String,
    },
}
