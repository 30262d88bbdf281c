//! The outer layer of every request: who calls, what they may do, limits, and the cache of pages.

pub mod caller;
mod compression;
pub mod exposition;
pub mod layer;
pub mod metric;
pub mod metrics_token;
pub mod node_metric;
pub mod operation;
pub mod page_cache;
pub mod right;
pub mod traffic;
