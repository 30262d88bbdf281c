//! The lowest floors of Posture: values, the rules of an assessment, what is written on paper, the catalog, and the readers of
//! files that others made. No store, no connection: what goes in comes from a caller.

pub mod blocking;
pub mod bounded_file;
pub mod catalog;
pub mod clock;
pub mod encoding;
pub mod engine;
pub mod error;
pub mod fair_limit;
pub mod id;
pub mod import;
pub mod layout;
pub mod origin;
pub mod page;
pub mod paper;
pub mod peer;
pub mod poll;
pub mod request;
pub mod secret;
pub mod text;
pub mod toml_reader;
