//! Rows in tables of one client each: nothing here can name another client.

pub mod account_list;
pub mod asset;
pub mod columns;
pub mod condition;
pub mod contradiction;
pub mod due;
pub mod estate;
pub mod evidence;
pub mod fact;
pub mod handle;
pub mod history;
pub mod import;
pub mod leaver;
pub mod past;
pub mod posture;
pub mod read;
pub mod reference;
pub mod roster;
pub mod run;
pub mod scan;
pub mod statement;
pub mod summary_event;
