//! Assets: pushed, discovered, merged.

pub mod asset;
