//! The times that an ID token says.

use serde_json::{Map, Value};

/// A moment in seconds since 1970, which may have a fraction (RFC 7519, 2). Rounded in both directions: a rule uses the one that
/// refuses more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumericDate {
    /// Rounded down.
    pub(super) floor_s: i64,
    /// Rounded up.
    pub(super) ceiling_s: i64,
}

impl NumericDate {
    /// `None` if the claim is absent, or is no time.
    pub(super) fn of(claims: &Map<String, Value>, name: &str) -> Option<Self> {
        let Value::Number(number) = claims.get(name)? else { return None };
        if let Some(s) = number.as_i64() {
            return Some(Self { floor_s: s, ceiling_s: s });
        }
        let text = number.to_string();
        let (whole, fraction) = text.split_once('.')?;
        let is_number = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) {
            return None; // Before 1970, or with an exponent.
        }
        let floor_s: i64 = whole.parse().ok()?;
        let is_more = fraction.bytes().any(|it| it != b'0');
        Some(Self { floor_s, ceiling_s: floor_s.saturating_add(i64::from(is_more)) })
    }

    /// Returns true if all of it is between these two, which are included.
    pub(super) fn is_within(self, from_s: i64, until_s: i64) -> bool {
        from_s <= self.floor_s && self.ceiling_s <= until_s
    }
}
