//! The engine: catalogue and facts in, posture out.

mod change;
mod finding;
mod framework;
mod generate;
mod law;
mod risk;
mod rule;
mod world;
