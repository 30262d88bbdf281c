//! Pages for people.

pub mod docs;
