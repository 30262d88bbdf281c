//! The demonstration: fills an empty database with a believable portfolio through the real ingest path.

use super::Options;
use crate::auth::key::KeyText;
use crate::error::{Error, Result};

pub async fn fill(_options: &Options) -> Result<KeyText> {
    Err(Error::invalid("not yet"))
}
