//! The network scan: finds the hosts that answer, their open ports, and what they are. It only connects, and knows no
//! store.
//!
//! This is the only module that opens probe sockets. `run` proceeds in blocks of 256 addresses; a block that was handed out
//! need not be scanned again after a restart.

mod device;
mod life;
mod local;
mod name;
mod pace;
mod ping;
pub mod plan;
pub mod port;
mod probe;
mod rtt;
mod run;
mod socket;
mod stream;
mod sweep;
mod talk;
pub mod tls;
mod worker;

pub use local::attached_networks;
pub use name::{name_of, question};
pub use pace::Pace;
pub use run::{Done, ScanProgress, ScanSettings, explain, run};
pub use stream::escaped;
pub use talk::hear;
pub use tls::read_certificate;
