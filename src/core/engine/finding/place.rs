//! Where something was seen.

use std::fmt;

use super::N_SCOPES_NAMED;
use crate::engine::evidence::current::EvidenceClaim;

/// Sources with their scopes, in order and without duplicates.
pub(super) struct Places<'v, 'a>(pub(super) &'v [EvidenceClaim<'a>]);

impl fmt::Display for Places<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut places: Vec<_> = self.0.iter().map(EvidenceClaim::place).collect();
        places.dedup(); // Most duplicates are adjacent, and fewer sort faster.
        places.sort_unstable();
        places.dedup();
        let mut last = None;
        for (source, scope) in places.iter().take(N_SCOPES_NAMED) {
            let is_same = last == Some(source);
            match (last, is_same) {
                (None, _) => write!(f, "{source}")?,
                (Some(_), true) => (),
                (Some(_), false) => write!(f, "; {source}")?,
            }
            if !scope.is_empty() {
                write!(f, "{} {scope}", if is_same { "," } else { ":" })?;
            }
            last = Some(source);
        }
        match places.len().saturating_sub(N_SCOPES_NAMED) {
            0 => Ok(()),
            n => write!(f, " and {n} more"),
        }
    }
}
