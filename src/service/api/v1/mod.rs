//! The contract's nine operations.

pub mod assets;
pub mod clients;
pub mod compliance;
pub mod risks;
pub mod scores;
