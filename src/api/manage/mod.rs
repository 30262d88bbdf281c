//! The management API: what the command line and a console call.

pub mod alert_rules;
pub mod audit;
pub mod catalog;
pub mod changes;
pub mod clients;
pub mod conditions;
pub mod controls;
pub mod delivery_view;
pub mod events;
pub mod evidence;
pub mod export;
pub mod facts;
pub mod imports;
pub mod keys;
pub mod kpis;
pub mod portfolio;
pub mod posture;
pub mod requirements;
pub mod risks;
pub mod session;
pub mod system;
pub mod tasks;
pub mod upload;
pub mod users;
pub mod webhooks;
