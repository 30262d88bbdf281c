//! Amazon Web Services.

mod answer;
pub mod cloud;
pub mod connection;
mod fault;
pub mod healthy;
mod moto;
mod needs_moto;
mod needs_prowler;
mod read;
mod rule;
mod sign;
