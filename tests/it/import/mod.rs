//! Files through the front door. What they come to is in `tests/core/import`.

mod asff;
mod binding;
mod front;
mod inventory;
mod leavers;
mod needs_samples;
mod oscal;
mod report;
mod scap;
mod watch;
