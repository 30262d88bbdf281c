//! Webhook endpoints, and the deliveries to them.

pub mod delivery;
pub mod endpoint;
pub mod header;
pub mod key_file;
pub mod test_delivery;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::egress::Egress;
use crate::error::Result;
use crate::secret::Sealer;
use delivery::N_SHARED_MAX;
use endpoint::N_WEBHOOKS_MAX;

/// What deliveries need. Only this folder can access the sealer of signing secrets.
pub struct Webhooks {
    sealer: Sealer,
    egress: Egress,
    attempt_counts: AttemptCounts,
}

/// Attempts that ended since the start.
#[derive(Debug, Default)]
struct AttemptCounts {
    delivered: AtomicU64,
    failed: AtomicU64,
}

impl Webhooks {
    /// # Errors
    /// `Internal` if the system starts no threads.
    pub fn new(sealer: Sealer, options: &delivery::DeliveryOptions) -> Result<Self> {
        let timeout = Duration::from_secs(options.timeout_s.into());
        let egress = Egress::new(options.policy.clone(), timeout, N_WEBHOOKS_MAX + N_SHARED_MAX)?;
        Ok(Self { sealer, egress, attempt_counts: AttemptCounts::default() })
    }
}
