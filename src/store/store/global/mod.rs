//! Rows in tables of the whole installation: what needs one order, or is looked up before the client is known.

pub mod alert;
pub mod answer;
pub mod audit;
pub mod catalog;
pub mod certificate;
pub mod change;
pub mod client;
pub mod connection;
pub mod console_session;
pub mod delivery;
pub mod erasure;
pub mod event;
pub mod ingestion;
pub mod key;

mod merge;
pub mod queue;
pub mod report;
pub mod scan;
pub mod setting;
pub mod summary;
pub mod task;
pub mod user;
pub mod webhook;
