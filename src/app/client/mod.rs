//! Client organizations, their settings, and what a year without controls would cost them.

pub mod directory;
pub mod loss;
pub mod organization;
pub mod settings;
