//! Where connections come in: a TCP address, and the control socket.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::peer::Peer;

/// Whoever listens on the control socket answers a connect within this time.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
const FOLDER_MODE: u32 = 0o700;
const SOCKET_MODE: u32 = 0o600;
/// Write permission of the group and of everybody.
const WRITE_BY_OTHERS: u32 = 0o022;
const ROOT: u32 = 0;

/// A place that accepts connections until it is dropped.
pub enum Listener {
    Tcp(TcpListener),
    Socket(ControlSocket),
}

/// The control socket. Its file is removed when this is dropped.
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: another process may have replaced the file by then.
    file: (u64, u64),
}

pub(in crate::serve) enum Stream {
    Tcp(TcpStream),
    Socket(UnixStream),
}

impl Listener {
    /// Listens on `address`, also while connections of an earlier process linger there.
    ///
    /// # Errors
    /// `Conflict` when another process listens there; `Invalid` when we may not.
    pub async fn tcp(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            if error.kind() == ErrorKind::AddrInUse {
                Error::conflict(format!("{address} is in use by another process")).caused_by(error)
            } else {
                Error::invalid(format!("cannot listen on {address}: {error}")).caused_by(error)
            }
        })?;
        Ok(Self::Tcp(listener))
    }

    /// Listens on a socket file that only its owner can open, in a folder that only its owner can
    /// change (made when missing). A socket on which nobody answers is replaced.
    ///
    /// # Errors
    /// `Conflict` when somebody answers on that socket; `Invalid` when the path holds something
    /// else, the folder may be changed by others, or the socket cannot be made.
    pub async fn socket(path: &Path) -> Result<Self> {
        let shown = path.display();
        refuse_living(path).await?;
        ControlSocket::make(path).map(Self::Socket).map_err(|error| {
            Error::invalid(format!("cannot make the control socket {shown}: {error}"))
                .caused_by(error)
        })
    }

    /// The address in use, with the port that was given for port 0; `None` for the socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Socket(_) => None,
        }
    }

    pub(in crate::serve) async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                // Answers are written whole, so there is nothing to wait for. It fails only on a
                // connection that is gone already.
                let _ = stream.set_nodelay(true);
                Ok((Stream::Tcp(stream), Peer::Tcp(peer)))
            }
            Self::Socket(socket) => {
                let (stream, _) = socket.listener.accept().await?;
                let uid = stream.peer_cred()?.uid();
                Ok((Stream::Socket(stream), Peer::Socket { uid }))
            }
        }
    }
}

impl ControlSocket {
    /// A socket is open to all between `bind` and `chmod`, so that happens in a closed folder; the
    /// rename then puts it in its place, and in the place of a dead one, at one blow.
    fn make(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        let nursery = folder.join(format!(".{:08x}", getrandom::u32()?));
        DirBuilder::new().mode(FOLDER_MODE).create(&nursery)?;
        let made = Self::make_in(folder, &nursery, path);
        // Empty by now, unless `make_in` failed halfway.
        let _ = fs::remove_file(nursery.join("s"));
        let removed = fs::remove_dir(&nursery);
        let made = made?;
        removed?;
        Ok(made)
    }

    fn make_in(folder: &Path, nursery: &Path, path: &Path) -> io::Result<Self> {
        let (around, ours) = (fs::metadata(folder)?, fs::metadata(nursery)?.uid());
        if around.mode() & WRITE_BY_OTHERS != 0 || ![ours, ROOT].contains(&around.uid()) {
            let folder = folder.display();
            return Err(io::Error::other(format!("others may change the folder {folder}")));
        }
        let born = nursery.join("s");
        let listener = UnixListener::bind(&born)?;
        fs::set_permissions(&born, Permissions::from_mode(SOCKET_MODE))?;
        let file = identity(&born)?;
        fs::rename(&born, path)?;
        Ok(Self { listener, path: path.to_owned(), file })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|it| it == self.file)
            && let Err(error) = fs::remove_file(&self.path)
        {
            let path = self.path.display();
            tracing::warn!(%path, %error, "the control socket `{path}` could not be removed");
        }
    }
}

/// Only a socket that refuses connections is dead; whatever else is there is left alone.
async fn refuse_living(path: &Path) -> Result<()> {
    let shown = path.display();
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(Error::invalid(format!("cannot look at {shown}: {error}")).caused_by(error));
        }
    };
    if !found.file_type().is_socket() {
        return Err(Error::invalid(format!("{shown} is there and is not a socket")));
    }
    match timeout(PROBE_TIMEOUT, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        // Gone between the two looks.
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(Err(error)) => {
            Err(Error::conflict(format!("cannot tell who listens on {shown}: {error}"))
                .caused_by(error))
        }
        Ok(Ok(_)) | Err(_) => Err(Error::conflict(format!("another process listens on {shown}"))),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|it| (it.dev(), it.ino()))
}

/// Raises the limit on open files as far as the system lets us, and says how far that is.
///
/// # Errors
/// `Internal` when the system does not let us ask or raise.
pub fn raise_open_files() -> Result<u64> {
    rlimit::increase_nofile_limit(u64::MAX).map_err(Error::internal)
}
