//! The tests that need nginx, `HAProxy` and Caddy: the shipped examples lead to the console.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConnection, StreamOwned};
use serde_json::Value;

use super::text;
use crate::console::browser::{PASSWORD, add_user};
use crate::harness::http::exchange;
use crate::harness::port::free_port;
use crate::harness::process::{Folder, wait_until};
use crate::harness::tls::{authority, trusting};
use crate::harness::{Answer, Posture, tool};

/// In the place of the name in the examples.
const NAME: &str = "localhost";
const WAIT: Duration = Duration::from_secs(30);

/// A proxy in front of a posture; killed when dropped.
struct Proxy {
    child: Child,
    port: u16,
    authority: CertifiedIssuer<'static, KeyPair>,
    folder: Folder,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The ports of a proxy, and that of the service behind it.
#[derive(Clone, Copy)]
struct Ports {
    https: u16,
    http: u16,
    behind: u16,
}

impl Proxy {
    /// Starts a proxy with what `configure` makes of the folder, which has a certificate in `both.pem` with its key, in
    /// `cert.pem` and in `key.pem`.
    fn start(ports: Ports, configure: impl FnOnce(&Path, Ports) -> Command) -> Self {
        let (folder, authority) = (Folder::new(), authority());
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap().pem();
        folder.write("cert.pem", certificate.as_bytes());
        folder.write("key.pem", key.serialize_pem().as_bytes());
        folder.write("both.pem", (certificate + &key.serialize_pem()).as_bytes());
        folder.write("ca.pem", authority.pem().as_bytes());
        let log = std::fs::File::create(folder.path().join("proxy.log")).unwrap();
        let mut command = configure(folder.path(), ports);
        command.current_dir(folder.path()).stdin(Stdio::null());
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let proxy = Self { child, port: ports.https, authority, folder };
        let is_up = || TcpStream::connect((Ipv4Addr::LOCALHOST, ports.https)).is_ok();
        assert!(wait_until(WAIT, is_up), "{}", proxy.log());
        proxy
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("proxy.log")).unwrap()
    }

    fn url(&self) -> String {
        format!("https://{NAME}:{}", self.port)
    }

    /// What a browser sends.
    fn send(&self, method: &str, path: &str, cookie: &str, form: &[(&str, &str)]) -> Answer {
        let config = trusting(self.authority.der(), &[&TLS13]);
        let name = ServerName::try_from(NAME).unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        let stream = StreamOwned::new(connection, stream);
        let (host, url) = (format!("{NAME}:{}", self.port), self.url());
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut headers =
            vec![("Host", host.as_str()), ("Cookie", cookie), ("Accept", "text/html")];
        if method == "POST" {
            headers.push(("Origin", &url));
            headers.push(("Content-Type", "application/x-www-form-urlencoded"));
        }
        exchange(stream, method, path, &headers, body.as_bytes())
    }

    /// What `posture config check --proxy` prints for a service with these settings.
    fn check(&self, posture: &Posture, settings: &str) -> String {
        let dir = posture.dir().display();
        let config = format!("[server]\n{settings}[data]\ndir = \"{dir}\"\n");
        self.folder.write("posture.toml", config.as_bytes());
        self.folder.run(&["config", "check", "--proxy", &self.url(), "--ca-file", "ca.pem"]).out
    }
}

/// An example with other texts, each of which it must have.
fn example(name: &str, changes: &[(&str, String)]) -> String {
    let mut example = text(&format!("packaging/{name}"));
    for (before, after) in changes {
        assert!(example.contains(before), "{name}: {before}");
        example = example.replace(before, after);
    }
    example
}

fn nginx(folder: &Path, ports: Ports) -> Command {
    let site = example(
        "nginx.conf",
        &[
            ("server 127.0.0.1:8080;", format!("server 127.0.0.1:{};", ports.behind)),
            ("    listen [::]:80;\n", String::new()),
            ("    listen [::]:443 ssl http2;\n", String::new()),
            ("listen 80;", format!("listen 127.0.0.1:{};", ports.http)),
            ("listen 443 ssl http2;", format!("listen 127.0.0.1:{} ssl http2;", ports.https)),
            ("/etc/ssl/posture.example.com.pem", "cert.pem".to_owned()),
            ("/etc/ssl/posture.example.com.key", "key.pem".to_owned()),
            ("posture.example.com", NAME.to_owned()),
        ],
    );
    nginx_with(folder, &site)
}

/// nginx with these servers.
fn nginx_with(folder: &Path, servers: &str) -> Command {
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let folders = kinds.map(|it| format!("{it}_temp_path {it};\n")).concat();
    let config = format!(
        "daemon off;\nmaster_process off;\npid pid;\nerror_log stderr;\nevents {{}}\n\
         http {{\naccess_log off;\n{folders}{servers}\n}}\n"
    );
    std::fs::write(folder.join("nginx.conf"), config).unwrap();
    let mut command = tool::proxy("nginx");
    command.arg("-p").arg(folder).args(["-e", "stderr", "-c", "nginx.conf"]);
    command
}

fn haproxy(folder: &Path, ports: Ports) -> Command {
    let config = example(
        "haproxy.cfg",
        &[
            ("    log /dev/log local0\n    user haproxy\n    group haproxy\n", String::new()),
            ("bind :80", format!("bind 127.0.0.1:{}", ports.http)),
            ("bind :443", format!("bind 127.0.0.1:{}", ports.https)),
            ("/etc/haproxy/posture.example.com.pem", "both.pem".to_owned()),
            ("127.0.0.1:8080", format!("127.0.0.1:{}", ports.behind)),
        ],
    );
    std::fs::write(folder.join("haproxy.cfg"), config).unwrap();
    let mut command = tool::proxy("haproxy");
    command.args(["-db", "-f", "haproxy.cfg"]);
    command
}

fn caddy(folder: &Path, ports: Ports) -> Command {
    let site = format!("\n{NAME}:{} {{\n\ttls cert.pem key.pem\n", ports.https);
    let config = example(
        "Caddyfile",
        &[
            ("http://posture.example.com {", format!("http://{NAME}:{} {{", ports.http)),
            ("\nposture.example.com {\n", site),
            ("127.0.0.1:8080 {", format!("127.0.0.1:{} {{", ports.behind)),
        ],
    );
    let global = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n";
    std::fs::write(folder.join("Caddyfile"), global.to_owned() + &config).unwrap();
    let mut command = tool::proxy("caddy");
    command.env("HOME", folder).args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
    command
}

/// A posture behind a proxy that does not run yet.
fn behind(is_trusting: bool) -> (Posture, Ports) {
    let (https, http) = (free_port(), free_port());
    let posture = Posture::start_with(|it| {
        if is_trusting {
            it.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
            it.app.public_url = Some(format!("https://{NAME}:{https}"));
        }
    });
    let behind = posture.address.port();
    (posture, Ports { https, http, behind })
}

fn token_in(page: &str) -> String {
    let from = page.find("name=\"token\" value=\"").expect("a form") + 20;
    page[from..].split('"').next().unwrap().to_owned()
}

#[test]
#[ignore = "needs nginx, HAProxy and Caddy"]
fn people_sign_in_through_each_example_and_change_something() {
    for (name, configure) in
        [("nginx", nginx as fn(&Path, Ports) -> Command), ("haproxy", haproxy), ("caddy", caddy)]
    {
        let (posture, ports) = behind(true);
        add_user(&posture, "ada", "admin", &[]);
        let proxy = Proxy::start(ports, configure);
        let page = proxy.send("GET", "/sign-in", "", &[]);
        assert_eq!(page.status, 200, "{name}: {}{}", page.text(), proxy.log());
        let form = [("name", "ada"), ("password", PASSWORD), ("next", "/clients/add")];
        let signed_in = proxy.send("POST", "/sign-in", "", &form);
        assert_eq!(signed_in.status, 303, "{name}: {}", signed_in.text());
        let cookie = signed_in.header("set-cookie").unwrap();
        assert!(cookie.starts_with("__Host-posture=") && cookie.contains("; Secure"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap();
        let page = proxy.send("GET", "/clients/add", cookie, &[]).text();
        assert!(page.contains("ada@example.com"), "{name}: {page}");
        let form = [("token", token_in(&page)), ("name", format!("By {name}"))];
        let form = form.each_ref().map(|it| (it.0, it.1.as_str()));
        let added = proxy.send("POST", "/clients/add", cookie, &form);
        assert_eq!(added.status, 303, "{name}: {}", added.text());
        let clients = posture.operator("GET", "/api/clients", &Value::Null).json();
        assert_eq!(clients["data"][0]["name"], format!("By {name}"));
        let url = proxy.url();
        let settings = format!("public_url = \"{url}\"\ntrusted_proxies = [\"127.0.0.1\"]\n");
        let said = proxy.check(&posture, &settings);
        let fine = "the configuration is valid, and the proxy sends what it must\n";
        assert_eq!(said, fine, "{name}");
    }
}

#[test]
#[ignore = "needs nginx, HAProxy and Caddy"]
fn a_proxy_that_only_passes_requests_on_is_told_what_is_missing() {
    let (posture, ports) = behind(false);
    let Ports { https, behind, .. } = ports;
    let plain = |more: &str| {
        let more = more.to_owned();
        move |folder: &Path, _| {
            let server = format!(
                "server {{ listen 127.0.0.1:{https} ssl; ssl_protocols TLSv1.3; ssl_certificate cert.pem; ssl_certificate_key key.pem; \
                 location / {{ proxy_pass http://127.0.0.1:{behind}; {more} }} }}"
            );
            nginx_with(folder, &server)
        }
    };
    let proxy = Proxy::start(ports, plain(""));
    let page = proxy.send("GET", "/sign-in", "", &[]);
    assert_eq!(page.status, 403, "{}", page.text());
    assert_eq!(proxy.send("GET", "/metrics", "", &[]).status, 404);
    let said = proxy.check(&posture, "");
    for missing in
        ["trusted_proxies", "X-Forwarded-Proto", "X-Forwarded-For", "public_url", "Host must be"]
    {
        assert!(said.contains(missing), "{missing}: {said}");
    }
    drop(proxy);
    // What callers claim is passed on, and nothing tells the proxy from a program of this machine.
    let proxy =
        Proxy::start(ports, plain("proxy_http_version 1.1; proxy_set_header Connection \"\";"));
    let said = proxy.check(&posture, "");
    assert!(said.contains("everyone can claim any address"), "{said}");
    assert!(said.contains("/metrics answers everyone through the proxy"), "{said}");
}
