//! What was true of a client, and when: scores by day, and every change of a verdict.

pub mod score;
pub mod verdict;

mod pack;
