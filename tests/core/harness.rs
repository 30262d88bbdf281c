//! What tests of other packages use too.

#[path = "../it/harness/long.rs"]
pub mod long;
#[path = "../it/harness/report.rs"]
pub mod report;
#[path = "../it/harness/sample.rs"]
pub mod sample;

use posture_core::import::Format;
