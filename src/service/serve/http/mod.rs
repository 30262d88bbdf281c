//! The accept loop: connections, exchanges, and their limits.

mod body;
mod connection;
mod exchange;
mod handshake;
mod http2;
pub mod limit;
pub mod listen;
pub mod service;
mod slot;
mod stream;
mod task;
