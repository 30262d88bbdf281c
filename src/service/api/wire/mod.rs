//! What goes over the wire: bodies, parameters, replies, problems.

pub mod body;
pub mod file;
pub mod framework;
pub mod input;
pub mod kind;
pub mod multipart;
pub mod param;
pub mod problem;
pub mod reference;
pub mod reply;
pub mod said;
pub mod schema;
pub mod upload;
pub mod view;
