//! Amazon Web Services.

mod answer;
mod cloud;
mod connection;
mod fault;
mod healthy;
mod moto;
mod needs_moto;
mod needs_prowler;
mod read;
mod rule;
mod sign;
