//! The results of a client or of all clients, and what happened.

pub(super) mod change;
pub(super) mod document;
pub(super) mod download;
pub(super) mod event;
pub(super) mod export;
mod file;
mod language;
pub(super) mod mail;
mod newest;
pub(super) mod observation;
pub(super) mod portfolio;
pub(super) mod schedule;
pub(super) mod show;
pub(super) mod vulnerability;
