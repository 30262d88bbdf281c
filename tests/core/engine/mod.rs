//! The engine: catalogue and facts in, posture out.

mod change;
mod contradiction;
mod estate;
mod finding;
mod framework;
mod generate;
mod law;
mod memory;
mod part;
mod risk;
mod rule;
mod stated;
mod subject;
mod word;
mod world;
