//! Databases of other releases.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Makes a database that nobody has open say that it has this format.
pub fn put_format(file: &Path, format: u8) {
    let meta: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("meta");
    let db = redb::Database::open(file).unwrap();
    let tx = db.begin_write().unwrap();
    // Version, checksum over table, key and payload, payload.
    let sum = xxh3_64_with_seed(b"format", xxh3_64_with_seed(b"meta", 1));
    let sum = xxh3_64_with_seed(&[format], sum);
    let row = [&[1][..], &sum.to_le_bytes(), &[format]].concat();
    tx.open_table(meta).unwrap().insert(&b"format"[..], row.as_slice()).unwrap();
    tx.commit().unwrap();
}
