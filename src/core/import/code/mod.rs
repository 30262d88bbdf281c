//! Results of tools that look at source code.

mod sarif;

pub(super) use sarif::{is_report, read};
