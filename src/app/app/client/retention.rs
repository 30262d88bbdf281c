//! How long what ended of a client is kept.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::clock::Time;

/// The member of a client's settings with its own terms.
pub const RETENTION: &str = "retention";
const STATEMENTS: &str = "statementsDays";
const OBSERVATIONS: &str = "observationsDays";

/// At least a year: what somebody said is looked for at the next audit.
pub const STATEMENTS_DAYS: RangeInclusive<u32> = 365..=36_500;
pub const OBSERVATIONS_DAYS: RangeInclusive<u32> = 30..=36_500;

/// Days. 0: it is never removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Statements that no longer count, evidence that expired, what was true and when, and daily figures.
    pub statements_days: u16,
    /// What sources saw, once newer results took its place.
    pub observations_days: u16,
}

impl Default for Retention {
    fn default() -> Self {
        Self { statements_days: 2_557, observations_days: 730 }
    }
}

/// The terms that a client has of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnRetention {
    statements_days: Option<u16>,
    observations_days: Option<u16>,
}

impl OwnRetention {
    pub(super) fn over(self, defaults: Retention) -> Retention {
        Retention {
            statements_days: self.statements_days.unwrap_or(defaults.statements_days),
            observations_days: self.observations_days.unwrap_or(defaults.observations_days),
        }
    }
}

impl Retention {
    /// Nothing is ever removed.
    pub const NONE: Self = Self { statements_days: 0, observations_days: 0 };

    /// Reads what [`Self::checked`] allowed.
    pub(super) fn given(value: &Value) -> OwnRetention {
        let days = |name| value.get(name)?.as_u64().and_then(|it| u16::try_from(it).ok());
        OwnRetention { statements_days: days(STATEMENTS), observations_days: days(OBSERVATIONS) }
    }

    /// Returns a client's own terms if they keep the rules, or else the rule.
    pub(super) fn checked(value: &Value) -> Result<Value, String> {
        let names = [(STATEMENTS, STATEMENTS_DAYS), (OBSERVATIONS, OBSERVATIONS_DAYS)];
        let rule = || {
            let term = |(name, days): &(&str, RangeInclusive<u32>)| {
                format!("`{name}`, 0 or {} to {}", days.start(), days.end())
            };
            let terms: Vec<String> = names.iter().map(term).collect();
            format!("must be an object with {}", terms.join(", and "))
        };
        let given = value.as_object().ok_or_else(rule)?;
        let is_term = |(name, days): (&String, &Value)| {
            let days = days.as_u64().and_then(|it| u32::try_from(it).ok());
            let known = names.iter().find(|it| it.0 == name);
            known.zip(days).is_some_and(|((_, range), it)| it == 0 || range.contains(&it))
        };
        if given.iter().all(is_term) { Ok(value.clone()) } else { Err(rule()) }
    }

    pub(super) fn shown(self) -> Value {
        json!({STATEMENTS: self.statements_days, OBSERVATIONS: self.observations_days})
    }

    /// What ended before then is removed. `None`: nothing is.
    #[must_use]
    pub fn statements_before(self, now: Time) -> Option<Time> {
        before(self.statements_days, now)
    }

    /// What newer results took the place of before then is removed. `None`: nothing is.
    #[must_use]
    pub fn observations_before(self, now: Time) -> Option<Time> {
        before(self.observations_days, now)
    }

    /// Returns true if something is removed sooner than with `other`.
    #[must_use]
    pub fn is_shorter(self, other: Self) -> bool {
        let days = |it: u16| if it == 0 { u16::MAX } else { it };
        days(self.statements_days) < days(other.statements_days)
            || days(self.observations_days) < days(other.observations_days)
    }
}

fn before(days: u16, now: Time) -> Option<Time> {
    (days != 0).then(|| now.plus_days(-i64::from(days)))
}
