//! Databases of releases to come.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Makes a database say that a newer release wrote it.
pub fn make_newer(file: &Path) {
    let meta: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("meta");
    let db = redb::Database::open(file).unwrap();
    let tx = db.begin_write().unwrap();
    // Version, checksum over table, key and payload, payload: the number 3.
    let sum = xxh3_64_with_seed(b"format", xxh3_64_with_seed(b"meta", 1));
    let sum = xxh3_64_with_seed(&[3], sum);
    let row = [&[1][..], &sum.to_le_bytes(), &[3]].concat();
    tx.open_table(meta).unwrap().insert(&b"format"[..], row.as_slice()).unwrap();
    tx.commit().unwrap();
}
