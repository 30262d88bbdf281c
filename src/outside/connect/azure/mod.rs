//! Azure: what Defender for Cloud says of the subscriptions of a tenant.
//!
//! [`read`] asks with the Microsoft app that the managed service provider registered once; [`judge`] is pure.

mod answer;
mod judge;
mod read;
mod subscription;

pub use answer::DIALECT;
pub use judge::judge;
pub use read::{Known, Wanted, read};
pub use subscription::{ScoreControl, Subscription};
