//! What names a data directory among others that use the same server.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::secret::random;
use crate::store::engine::Node;

/// The file in the data directory with its random id. Two directories must not have the same: it belongs to no backup.
const FILE: &str = "posture.node";

/// The node of a data directory that this process has locked. Its id is made if it is missing.
///
/// # Errors
/// Those of the file.
pub(in crate::store) fn of(dir: &Path) -> io::Result<Node> {
    let file = dir.join(FILE);
    let id = match fs::read_to_string(&file) {
        Ok(text) => parse(&text)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let id: [u8; 16] = random();
            let mut made =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file)?;
            writeln!(made, "{}", hex::encode(id))?;
            made.sync_all()?;
            id
        }
        Err(error) => return Err(error),
    };
    // Not from /proc, of which the packaged unit sees only processes.
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    let dir = std::path::absolute(dir)?;
    Ok(Node { id, name: format!("{host} ({})", dir.display()) })
}

fn parse(text: &str) -> io::Result<[u8; 16]> {
    let mut id = [0; 16];
    let parsed = hex::decode_to_slice(text.trim(), &mut id);
    parsed.map_err(|_| {
        io::Error::new(ErrorKind::InvalidData, "posture.node is not as it was made; remove it")
    })?;
    Ok(id)
}
