//! The contract's operations, one file each.

mod list_clients;
