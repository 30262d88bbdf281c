//! Estimates how long an answer may take from the answers so far (RFC 6298).

use std::time::Duration;

/// The timeout before the first answer. Shorter than the second after which the kernel retransmits.
const FIRST_MICROS: u32 = 700_000;
const MAX_MICROS: u32 = 950_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    /// `None`: there was no answer yet.
    smooth: Option<u32>,
    spread: u32,
    min_micros: u32,
}

impl Rtt {
    /// The timeout is never shorter than this.
    pub(super) const fn at_least(min_micros: u32) -> Self {
        Self { smooth: None, spread: 0, min_micros }
    }

    pub(super) const fn is_learned(&self) -> bool {
        self.smooth.is_some()
    }

    pub(super) fn learn(&mut self, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(MAX_MICROS).min(MAX_MICROS);
        let Some(smooth) = self.smooth else {
            (self.smooth, self.spread) = (Some(micros), micros / 2);
            return;
        };
        self.spread = (3 * self.spread + smooth.abs_diff(micros)) / 4;
        self.smooth = Some((7 * smooth + micros) / 8);
    }

    pub(super) fn timeout(&self) -> Duration {
        let micros = match self.smooth {
            None => FIRST_MICROS,
            Some(smooth) => (smooth + 4 * self.spread).clamp(self.min_micros, MAX_MICROS),
        };
        Duration::from_micros(micros.into())
    }
}
