//! Pebble beside the test, with a name server that leads every name to this host.

use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tempfile::TempDir;
use ureq::tls::TlsConfig;

use crate::harness::port::free_port;
use crate::harness::process::wait_until;
use crate::harness::tls::authority;
use crate::harness::tool;

const WAIT: Duration = Duration::from_secs(30);

pub(super) struct Pebble {
    folder: TempDir,
    ports: [u16; 5],
    running: Vec<Child>,
}

/// A port that nobody listens on.
impl Pebble {
    /// It looks for proof on these ports.
    pub(super) fn start(http_port: u16, tls_port: u16) -> Self {
        let folder = TempDir::new().unwrap();
        let issuer = authority();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        for (name, pem) in [
            ("ca.pem", issuer.pem()),
            ("cert.pem", certificate.pem()),
            ("key.pem", key.serialize_pem()),
        ] {
            std::fs::write(folder.path().join(name), pem).unwrap();
        }
        let [directory, management, names, names_management] = [(); 4].map(|()| free_port());
        let config = serde_json::json!({"pebble": {
            "listenAddress": format!("127.0.0.1:{directory}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": folder.path().join("cert.pem"),
            "privateKey": folder.path().join("key.pem"),
            "httpPort": http_port,
            "tlsPort": tls_port,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": false,
        }});
        std::fs::write(folder.path().join("pebble.json"), config.to_string()).unwrap();
        let ports = [directory, management, names, names_management, tls_port];
        let mut pebble = Self { folder, ports, running: Vec::new() };
        pebble.resume();
        pebble
    }

    /// The URL of the directory.
    pub(super) fn directory(&self) -> String {
        format!("https://127.0.0.1:{}/dir", self.ports[0])
    }

    /// The file with the authority that vouches for the directory.
    pub(super) fn ca_file(&self) -> std::path::PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Starts again, knowing nothing.
    pub(super) fn resume(&mut self) {
        let [directory, roots, names, names_management, _] = self.ports;
        let [names_address, management] =
            [names, names_management].map(|port| format!("127.0.0.1:{port}"));
        let mut server = Command::new(tool::pebble("pebble-challtestsrv"));
        server.args(["-dns01", &names_address, "-management", &management, "-defaultIPv6", ""]);
        server.args(["-http01", "", "-https01", "", "-tlsalpn01", ""]);
        let mut authority = Command::new(tool::pebble("pebble"));
        authority.arg("-config").arg(self.folder.path().join("pebble.json"));
        authority.args(["-dnsserver", &names_address]).env("PEBBLE_VA_NOSLEEP", "1");
        // By default it refuses one good nonce in twenty, and of a hundred requests one three times.
        authority.env("PEBBLE_WFE_NONCEREJECT", "0");
        for command in [&mut server, &mut authority] {
            let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            self.running.push(command.spawn().unwrap());
        }
        for port in [directory, roots, names_management] {
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            assert!(
                wait_until(WAIT, || TcpStream::connect(address).is_ok()),
                "Pebble does not start"
            );
        }
    }

    /// Ends it, as when the authority is down.
    pub(super) fn stop(&mut self) {
        for mut child in self.running.drain(..) {
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// The root of the certificates that it issues.
    pub(super) fn root(&self) -> CertificateDer<'static> {
        let tls = TlsConfig::builder().disable_verification(true).build();
        let agent =
            ureq::Agent::new_with_config(ureq::Agent::config_builder().tls_config(tls).build());
        let url = format!("https://127.0.0.1:{}/roots/0", self.ports[1]);
        let pem = agent.get(url).call().unwrap().body_mut().read_to_vec().unwrap();
        CertificateDer::from_pem_slice(&pem).unwrap()
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        self.stop();
    }
}
