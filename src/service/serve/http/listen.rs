//! Listeners: a TCP address, the control socket, and a socket for a proxy on this machine.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::timeout;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{Error, Result};
use crate::peer::Peer;

/// A process that listens on the control socket accepts a connection within this time.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
const FOLDER_MODE: u32 = 0o700;
const SOCKET_MODE: u32 = 0o600;
/// A proxy, which is another user, passes through the folder of its socket.
const PROXY_FOLDER_MODE: u32 = 0o755;
/// What comes over the socket of a proxy comes from this machine.
const PROXY_PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Write permission of the group and of all users.
const WRITE_BY_OTHERS: u32 = 0o022;
const ROOT: u32 = 0;

/// Accepts connections until it is dropped.
pub enum Listener {
    /// With TLS if there are rules for it.
    Tcp(TcpListener, Option<Arc<ServerConfig>>),
    /// The control socket, whose callers are known by their users.
    Control(SocketFile),
    /// Of a proxy. Everything that comes over it counts as from [`PROXY_PEER`].
    Proxy(SocketFile),
}

/// A socket with a path. Its file is removed when this is dropped.
pub struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: another process may have replaced the file by then.
    file: (u64, u64),
}

pub(in crate::serve) enum Stream {
    Tcp(TcpStream, Option<Arc<ServerConfig>>),
    Socket(UnixStream),
}

impl Listener {
    /// Listens on `address`, even while connections of an earlier process are still closing.
    ///
    /// # Errors
    /// `Conflict` if another process is listening there; `Invalid` if it is not allowed.
    pub async fn tcp(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            if error.kind() == ErrorKind::AddrInUse {
                Error::conflict(format!("{address} is in use by another process")).caused_by(error)
            } else {
                Error::invalid(format!("cannot listen on {address}: {error}")).caused_by(error)
            }
        })?;
        Ok(Self::Tcp(listener, None))
    }

    /// Every connection begins with a handshake by these rules.
    #[must_use]
    pub fn with_tls(self, rules: Arc<ServerConfig>) -> Self {
        match self {
            Self::Tcp(listener, _) => Self::Tcp(listener, Some(rules)),
            Self::Control(_) | Self::Proxy(_) => self,
        }
    }

    /// Listens on a socket file that only its owner can open, in a folder that only its owner can
    /// change (created if missing). A socket that no process answers on is replaced.
    ///
    /// # Errors
    /// `Conflict` if a process answers on that socket; `Invalid` if the path is something else,
    /// other users can change the folder, or the socket cannot be created.
    pub async fn socket(path: &Path) -> Result<Self> {
        let shown = path.display();
        refuse_living(path).await?;
        SocketFile::make(path, FOLDER_MODE, SOCKET_MODE).map(Self::Control).map_err(|error| {
            Error::invalid(format!("cannot create the control socket {shown}: {error}"))
                .caused_by(error)
        })
    }

    /// Listens on a socket file with these permissions, for a proxy on this machine.
    ///
    /// # Errors
    /// Those of [`Listener::socket`].
    pub async fn proxy_socket(path: &Path, mode: u32) -> Result<Self> {
        let shown = path.display();
        refuse_living(path).await?;
        SocketFile::make(path, PROXY_FOLDER_MODE, mode).map(Self::Proxy).map_err(|error| {
            let about = format!("server.listen_socket: cannot create {shown}: {error}");
            Error::invalid(about).caused_by(error)
        })
    }

    /// The address in use, with the port that the system chose for port 0. `None` for a socket with a path.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener, _) => listener.local_addr().ok(),
            Self::Control(_) | Self::Proxy(_) => None,
        }
    }

    pub(in crate::serve) async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener, tls) => {
                let (stream, peer) = listener.accept().await?;
                let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                // Answers are written in one piece, so there is nothing to wait for. It fails only
                // on a connection that is already closed.
                let _ = stream.set_nodelay(true);
                Ok((Stream::Tcp(stream, tls.clone()), Peer::Tcp(peer)))
            }
            Self::Proxy(socket) => {
                let (stream, _) = socket.listener.accept().await?;
                Ok((Stream::Socket(stream), Peer::Tcp(PROXY_PEER)))
            }
            Self::Control(socket) => {
                let (stream, _) = socket.listener.accept().await?;
                let uid = stream.peer_cred()?.uid();
                Ok((Stream::Socket(stream), Peer::Socket { uid }))
            }
        }
    }
}

impl SocketFile {
    /// A socket is open to all users between `bind` and `chmod`, so both happen in a private folder.
    /// The rename then moves it to its path atomically, replacing a dead one.
    fn make(path: &Path, folder_mode: u32, socket_mode: u32) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        let is_new = !folder.exists();
        DirBuilder::new().recursive(true).mode(folder_mode).create(folder)?;
        if is_new {
            // Whatever the mask of the process is.
            fs::set_permissions(folder, Permissions::from_mode(folder_mode))?;
        }
        let nursery = folder.join(format!(".{:08x}", getrandom::u32()?));
        DirBuilder::new().mode(FOLDER_MODE).create(&nursery)?;
        let made = Self::make_in(folder, &nursery, path, socket_mode);
        // Empty by now, unless `make_in` failed halfway.
        let _ = fs::remove_file(nursery.join("s"));
        let removed = fs::remove_dir(&nursery);
        let made = made?;
        removed?;
        Ok(made)
    }

    fn make_in(folder: &Path, nursery: &Path, path: &Path, socket_mode: u32) -> io::Result<Self> {
        let (around, ours) = (fs::metadata(folder)?, fs::metadata(nursery)?.uid());
        let shown = folder.display();
        if around.mode() & WRITE_BY_OTHERS != 0 {
            return Err(io::Error::other(format!("other users can write to the folder {shown}")));
        }
        if ![ours, ROOT].contains(&around.uid()) {
            return Err(io::Error::other(format!("the folder {shown} belongs to another user")));
        }
        let born = nursery.join("s");
        let listener = UnixListener::bind(&born)?;
        fs::set_permissions(&born, Permissions::from_mode(socket_mode))?;
        let file = identity(&born)?;
        fs::rename(&born, path)?;
        Ok(Self { listener, path: path.to_owned(), file })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|it| it == self.file)
            && let Err(error) = fs::remove_file(&self.path)
        {
            let path = self.path.display();
            tracing::warn!(%path, %error, "the socket `{path}` could not be removed");
        }
    }
}

/// Only a socket that refuses connections is dead. Anything else is left alone.
async fn refuse_living(path: &Path) -> Result<()> {
    let shown = path.display();
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(Error::invalid(format!("cannot read {shown}: {error}")).caused_by(error));
        }
    };
    if !found.file_type().is_socket() {
        return Err(Error::invalid(format!("{shown} exists and is not a socket")));
    }
    match timeout(PROBE_TIMEOUT, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        // Removed between the two checks.
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(Err(error)) => {
            Err(Error::conflict(format!("another process may be listening on {shown}: {error}"))
                .caused_by(error))
        }
        Ok(Ok(_)) | Err(_) => {
            Err(Error::conflict(format!("another process is listening on {shown}")))
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|it| (it.dev(), it.ino()))
}

/// Raises the limit on open files as far as the system allows, and returns the new limit.
///
/// # Errors
/// `Internal` if the limit cannot be raised.
pub fn raise_open_files() -> Result<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
            .map_err(Error::internal)?;
    }
    Ok(maximum.unwrap_or(u64::MAX))
}
