//! The secret with which the service proves to the provider that it is its client.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::bounded_file;
use crate::error::{Error, Result};

/// Not shown by `Debug`.
#[derive(Clone)]
pub struct ClientSecret(Arc<str>);

impl ClientSecret {
    /// Reads the only line of a file.
    ///
    /// # Errors
    /// `Invalid` if the file cannot be read, or its line is no secret.
    pub fn read(path: &Path) -> Result<Self> {
        let about = |what: &str| {
            Error::invalid(format!("oidc.client_secret_file: {} {what}", path.display()))
        };
        let rule = "must have one line without spaces: the client secret that the provider shows";
        let secret = bounded_file::read_line(path).map_err(|error| {
            if error.kind() == ErrorKind::FileTooLarge {
                return about(rule);
            }
            about(&format!("cannot be read: {error}")).caused_by(error)
        })?;
        if secret.is_empty() || !secret.chars().all(|it| it.is_ascii_graphic()) {
            return Err(about(rule));
        }
        Ok(Self(secret.into()))
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret")
    }
}
