//! Databases of earlier releases become those of this one.

use std::sync::Arc;

use crate::error::Result;
use crate::store::engine::Engine;
use crate::store::kernel::health::Gauges;
use crate::store::kernel::meta;
use crate::store::kernel::transaction::{Counts, Writing};

/// The format that this release writes. A file with a higher format is refused; one with a lower
/// format is migrated.
pub const FORMAT: u32 = 2;

/// Rewrites the rows of one format in the next one.
type MigrationStep = fn(&mut Writing) -> Result<()>;

/// The steps in order, each with the format that it starts from. The last one ends at [`FORMAT`].
const STEPS: [(u32, MigrationStep); 1] = [
    // Rows of format 1 are read as they are, and rewritten when they are touched. Releases of format 1 cannot read the new ones.
    (1, |_| Ok(())),
];

/// Each step is one transaction that also sets the format, so that an interrupted migration continues
/// where it stopped.
pub(in crate::store) fn migrate(
    db: &dyn Engine,
    mut format: u32,
    gauges: &Arc<Gauges>,
) -> Result<()> {
    for (from, step) in STEPS {
        if from != format {
            continue;
        }
        format = from + 1;
        write_alone(db, gauges, |rows| {
            step(rows)?;
            meta::put_format(rows, format)
        })?;
        tracing::info!(format, "migrated the database");
    }
    assert!(format == FORMAT, "the steps lead from every older format to this one");
    Ok(())
}

/// Runs `body` in a transaction of its own, and again while the engine has to fetch rows for it.
pub(in crate::store) fn write_alone(
    db: &dyn Engine,
    gauges: &Arc<Gauges>,
    mut body: impl FnMut(&mut Writing) -> Result<()>,
) -> Result<()> {
    loop {
        let mut rows = Writing::begin(db, gauges, Counts::default())?;
        let done = body(&mut rows).and_then(|()| rows.keep());
        if !rows.fetch_missing(db)? {
            return done.and_then(|()| rows.commit(db)).map(|_| ());
        }
    }
}
