//! Who reads the metrics, and the token with which other hosts do.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use subtle::ConstantTimeEq;

use crate::bounded_file;
use crate::error::{Error, Result};

/// A shorter token could be guessed.
const CHARS_MIN: usize = 32;
const CHARS_MAX: usize = 512;

/// Who may read the metrics, besides programs of this machine.
#[derive(Clone, Debug)]
pub struct MetricsAccess {
    /// With which everyone may.
    pub token: Option<MetricsToken>,
    /// People come over HTTPS, which this process does not speak, through a proxy that the configuration does not name: any
    /// request of this machine may be from anywhere.
    pub has_unknown_proxy: bool,
}

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
        let rule = || {
            about(format!(
                "must have one line of {CHARS_MIN} to {CHARS_MAX} letters, digits or signs; make one with: openssl rand -hex 32"
            ))
        };
        let token = bounded_file::read_line(path).map_err(|error| {
            if error.kind() == ErrorKind::FileTooLarge {
                return rule();
            }
            about(format!("cannot be read: {error}")).caused_by(error)
        })?;
        let is_token = |it: char| it.is_ascii_graphic();
        if !(CHARS_MIN..=CHARS_MAX).contains(&token.len()) || !token.chars().all(is_token) {
            return Err(rule());
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
