//! What people decide: controls, requirements, evidence, risks, tasks, alert rules.

pub mod alert_rules;
pub mod batches;
pub mod controls;
pub mod estate;
pub mod evidence;
pub mod evidence_file;
pub mod history;
pub mod requirements;
pub mod risks;
pub mod row_decision;
pub mod statements;
pub mod subjects;
pub mod tasks;
