//! A made-up portfolio, filled in through the real ingest path.

pub mod connection;
pub mod fill;
pub mod office;
pub mod receiver;
pub mod story;

mod account;
mod cloud;
mod desk;
mod detail;
mod device;
mod network;
mod person;
mod portfolio;
mod review;
mod run;
mod schedule;
mod view;
