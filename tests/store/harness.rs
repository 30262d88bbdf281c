//! What tests of other packages use too.

#[path = "../it/harness/backend.rs"]
pub mod backend;
#[path = "../it/harness/newer.rs"]
pub mod newer;
#[path = "../it/harness/port.rs"]
mod port;
#[path = "../it/harness/postgres.rs"]
pub mod postgres;
#[path = "../it/harness/tool.rs"]
mod tool;
#[path = "../it/harness/wait.rs"]
mod wait;

use posture_store::store;
