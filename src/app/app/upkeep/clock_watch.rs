//! Whether the system clock can be believed. A clock that is set far ahead by mistake must not be taken for time that
//! passed: all events would be too old to keep, and all facts too old to count.

use std::sync::{Mutex, PoisonError};

use crate::app::App;
use crate::app::notice::NoticeKind;
use crate::clock::{Reading, Time};
use crate::error::{Chain, Result};
use crate::store::{Batch, Snapshot};

const S_PER_DAY: i64 = 86_400;
const S_PER_H: i64 = 3_600;
/// The clock is watched for steps that are longer.
const FAR_S: i64 = S_PER_DAY;
/// A clock that stayed ahead for this long is believed: perhaps the virtual machine was paused.
const BELIEVED_AFTER_S: i64 = 6 * S_PER_H;
/// No retry of a delivery is due later: twice the longest gap that the configuration accepts, if the receiver asks for it.
const RETRY_DAYS_MAX: i64 = 15;
const N_RETRIES_AT_ONCE: usize = 200;

/// Compares the system clock with the time that passed.
#[derive(Debug)]
pub struct ClockWatch(Mutex<Watch>);

#[derive(Debug)]
struct Watch {
    /// The last reading that was believed.
    believed: Reading,
    ahead: Option<Ahead>,
}

#[derive(Clone, Copy, Debug)]
struct Ahead {
    since_uptime_s: i64,
    by_s: i64,
}

/// What happened to the clock since it was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockStep {
    WentAhead {
        by_s: i64,
    },
    /// It is where it was before it went ahead.
    CameBack,
    WentBack {
        by_s: i64,
    },
    /// It stayed ahead.
    Believed,
}

impl ClockWatch {
    #[must_use]
    pub fn of(now: Reading) -> Self {
        Self(Mutex::new(Watch { believed: now, ahead: None }))
    }

    /// Tells each step once.
    pub fn look(&self, now: Reading) -> Option<ClockStep> {
        let mut watch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed_s = now.uptime_s - watch.believed.uptime_s;
        let by_s = now.at.s_since(watch.believed.at) - passed_s;
        let (ahead, step) = match watch.ahead {
            None if FAR_S < by_s => {
                let since_uptime_s = now.uptime_s;
                (Some(Ahead { since_uptime_s, by_s }), Some(ClockStep::WentAhead { by_s }))
            }
            None if by_s < -FAR_S => (None, Some(ClockStep::WentBack { by_s: -by_s })),
            None => (None, None),
            Some(_) if by_s <= FAR_S => (None, Some(ClockStep::CameBack)),
            Some(it) if BELIEVED_AFTER_S <= now.uptime_s - it.since_uptime_s => {
                (None, Some(ClockStep::Believed))
            }
            Some(it) => (Some(Ahead { by_s, ..it }), None),
        };
        watch.ahead = ahead;
        if ahead.is_none() {
            watch.believed = now;
        }
        step
    }

    /// How far the clock is ahead. 0: it is believed.
    #[must_use]
    pub fn ahead_s(&self) -> i64 {
        let watch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watch.ahead.map_or(0, |it| it.by_s)
    }
}

impl App {
    /// Looks at the clock. While it is not believed, nothing may be removed because it is old, and nobody assessed.
    pub async fn believes_clock(&self) -> bool {
        if let Some(step) = self.clock_watch.look(self.clock.read()) {
            self.note_clock_step(step).await;
        }
        self.clock_watch.ahead_s() == 0
    }

    /// How far the clock is ahead of the time that passed, for metrics. 0: it is believed.
    pub fn clock_ahead_s(&self) -> u64 {
        u64::try_from(self.clock_watch.ahead_s()).unwrap_or(0)
    }

    async fn note_clock_step(&self, step: ClockStep) {
        let now = self.clock.now();
        let action = match step {
            ClockStep::WentAhead { by_s } => {
                let (by, hours) = (amount(by_s), BELIEVED_AFTER_S / S_PER_H);
                let message = format!(
                    "the system clock went {by} ahead at once; until it is back, nobody is assessed, no backup is made and \
                    nothing is removed because of its age. If it is right now, restart the service; after {hours} hours it \
                    is believed"
                );
                tracing::error!("{message}");
                self.notices.open(NoticeKind::ClockAhead, now, message);
                format!("clock ahead by {by}")
            }
            ClockStep::Believed => {
                tracing::warn!("the system clock stayed ahead and is now believed");
                self.notices.close(NoticeKind::ClockAhead);
                "clock believed".to_owned()
            }
            ClockStep::CameBack => {
                tracing::warn!("the system clock is back");
                self.notices.close(NoticeKind::ClockAhead);
                "clock back".to_owned()
            }
            ClockStep::WentBack { by_s } => {
                let by = amount(by_s);
                tracing::warn!("the system clock went back by {by} at once");
                format!("clock back by {by}")
            }
        };
        if let Err(error) = self.record(&action).await {
            tracing::warn!("`{action}` could not be recorded in the audit log: {error}");
        }
        let is_back = matches!(step, ClockStep::CameBack | ClockStep::WentBack { .. });
        if is_back && let Err(error) = self.hasten_all(now).await {
            tracing::error!(error = %Chain(&error), "work that is due too late could not be hastened: {}", Chain(&error));
        }
    }

    /// Makes all clients due now, and the retries that no schedule would have put so late: what was planned by a clock that
    /// was ahead would wait for as long.
    async fn hasten_all(&self, now: Time) -> Result<()> {
        for client in self.clients.directory.list() {
            if !self.is_erasing(client.id) {
                let rows = self.store.client_store(client.id).reserved();
                rows.write(move |batch| batch.hasten_due(now)).await?;
            }
        }
        let after = now.plus_days(RETRY_DAYS_MAX);
        for webhook in self.store.read(Snapshot::list_webhooks).await? {
            let hasten = move |batch: &mut Batch| {
                batch.hasten_deliveries(webhook.id, after, now, N_RETRIES_AT_ONCE)
            };
            while self.store.reserved().write(hasten).await? {}
        }
        Ok(())
    }
}

/// In days, or in hours if it is less than two.
fn amount(s: i64) -> String {
    let rounded = |unit_s: i64| (s + unit_s / 2) / unit_s;
    if s < 2 * S_PER_DAY {
        return format!("{} hours", rounded(S_PER_H));
    }
    format!("{} days", rounded(S_PER_DAY))
}
