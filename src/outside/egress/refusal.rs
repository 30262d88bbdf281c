//! Why a request is not made.

use std::error::Error as StdError;
use std::fmt;

/// Why the policy does not let a request be made, for an operator to read.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Refusal {}
