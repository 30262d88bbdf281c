//! Ways in: files of assessors, and the facts body.

pub mod facts;
pub mod facts_body;
pub mod imports;
