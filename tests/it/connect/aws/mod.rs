//! Amazon Web Services: signatures, answers, and what they come to.

mod answer;
mod rule;
mod sign;
