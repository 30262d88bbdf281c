//! What a client or the portfolio comes to, and what happened.

pub(super) mod change;
pub(super) mod event;
pub(super) mod export;
pub(super) mod observation;
pub(super) mod portfolio;
pub(super) mod show;
