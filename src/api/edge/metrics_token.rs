//! The token with which other hosts read the metrics.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use subtle::ConstantTimeEq;

use crate::error::{Error, Result};
use crate::text::is_visible;

/// A shorter token could be guessed.
const CHARS_MIN: usize = 32;
const CHARS_MAX: usize = 512;

/// Not shown by `Debug`.
#[derive(Clone)]
pub struct MetricsToken(Arc<str>);

impl MetricsToken {
    /// Reads the only line of a file.
    ///
    /// # Errors
    /// `Invalid` if the file cannot be read, or its line is no token.
    pub fn read(path: &Path) -> Result<Self> {
        let about = |what: String| {
            Error::invalid(format!("server.metrics_token_file: {} {what}", path.display()))
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| about(format!("cannot be read: {error}")).caused_by(error))?;
        let token = text.trim_end_matches(['\r', '\n']);
        let is_token = |it: char| is_visible(it) && it.is_ascii() && it != ' ';
        if !(CHARS_MIN..=CHARS_MAX).contains(&token.len()) || !token.chars().all(is_token) {
            return Err(about(format!(
                "must have one line of {CHARS_MIN} to {CHARS_MAX} letters, digits or signs; make one with: openssl rand -hex 32"
            )));
        }
        Ok(Self(token.into()))
    }

    /// Takes the same time for every text of one length.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

impl fmt::Debug for MetricsToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsToken")
    }
}
