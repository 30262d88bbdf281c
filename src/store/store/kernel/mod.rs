//! The engine room of the store: the file, transactions, the writer, and what is kept in memory beside them.

pub(in crate::store) mod audit_head;
mod client_rows;
pub(in crate::store) mod delta;
pub(in crate::store) mod envelope;
pub(in crate::store) mod figure;
pub(in crate::store) mod health;
pub(in crate::store) mod index;
pub(in crate::store) mod meta;
pub(in crate::store) mod transaction;
pub(in crate::store) mod version;
