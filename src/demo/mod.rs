//! A made-up portfolio, filled in through the real ingest path.

pub mod fill;
mod portfolio;
