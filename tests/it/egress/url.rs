//! Every way to write an address that must not be called, against a listener there that counts.

use posture::egress::{EgressPolicy, URL_CHARS_MAX};
use posture::error::Code;

use super::sink::Sink;
use super::{egress, local, networks, post, refusal, status};

/// `PORT` is that of a listener on every address of this host.
const FORBIDDEN: &[&str] = &[
    // Loopback as it is, and as old libraries read it.
    "http://127.0.0.1:PORT/",
    "https://127.0.0.1:PORT/",
    "HTTP://127.0.0.1:PORT/",
    "hTTpS://127.0.0.1:PORT/",
    "http://127.0.0.2:PORT/",
    "http://127.255.255.255:PORT/",
    "http://127.1:PORT/",
    "http://127.0.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://127.1.:PORT/",
    "http://2130706433:PORT/",
    "http://2130706433.:PORT/",
    "http://017700000001:PORT/",
    "http://0x7f000001:PORT/",
    "http://0X7F000001:PORT/",
    "http://0x7f.0x0.0x0.0x1:PORT/",
    "http://0x7f.0.0.1:PORT/",
    "http://0x7f.1:PORT/",
    "http://127.0x1:PORT/",
    "http://127.0.0x.1:PORT/",
    "http://127.0.0.0x1:PORT/",
    "http://127.0.0.0x:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://0177.1:PORT/",
    "http://0177.0x0.0.1:PORT/",
    "http://127.000.000.001:PORT/",
    "http://127.0.0.01:PORT/",
    "http://127.0.0.1.1:PORT/",
    "http://127.0.0.257:PORT/",
    "http://4429185025:PORT/",
    "http://127.0.0.-1:PORT/",
    "http://+127.0.0.1:PORT/",
    "http://127..0.0.1:PORT/",
    "http://.127.0.0.1:PORT/",
    "http://127.0.0.1..:PORT/",
    // Every address of this host, and none.
    "http://0.0.0.0:PORT/",
    "http://0:PORT/",
    "http://0.0:PORT/",
    "http://00000000000:PORT/",
    "http://0x0:PORT/",
    "http://[::]:PORT/",
    "http://[0:0:0:0:0:0:0:0]:PORT/",
    "http://[::0.0.0.0]:PORT/",
    // The same in IPv6, and IPv4 in it.
    "http://[::1]:PORT/",
    "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::FFFF:7F00:1]:PORT/",
    "http://[0:0:0:0:0:ffff:7f00:0001]:PORT/",
    "http://[::ffff:0:127.0.0.1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[::7f00:1]:PORT/",
    "http://[64:ff9b::127.0.0.1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[64:ff9b:1::7f00:1]:PORT/",
    "http://[64:ff9b:1:7f00:0:100::]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[2002:7f00:1::1]:PORT/",
    "http://[2001:0:7f00:1::]:PORT/",
    "http://[2001::80ff:fffe]:PORT/",
    "http://[::1%25lo]:PORT/",
    "http://[::1%lo]:PORT/",
    "http://[fe80::1%25eth0]:PORT/",
    "http://[::1%250]:PORT/",
    "http://[::1.]:PORT/",
    "http://[::1]x:PORT/",
    "http://[::1:PORT/",
    "http://::1:PORT/",
    "http://[127.0.0.1]:PORT/",
    "http://[v1.127.0.0.1]:PORT/",
    // Metadata and link-local.
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "http://169.254.169.254./",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://169.254.170.2/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://[fe80::1]/",
    "http://metadata.google.internal/",
    "http://METADATA.Google.Internal/",
    "http://metadata/",
    "http://instance-data/",
    // Names of this host and of private networks.
    "http://localhost:PORT/",
    "http://LOCALHOST:PORT/",
    "http://localhost.:PORT/",
    "http://localhost.localdomain:PORT/",
    "http://a.localhost:PORT/",
    "http://ip6-localhost:PORT/",
    "https://router.lan/",
    "https://psa.local/",
    "https://psa.home.arpa/",
    // Who is the host?
    "http://hooks.example.com@127.0.0.1:PORT/",
    "http://hooks.example.com:80@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT@hooks.example.com/",
    "http://user:secret@hooks.example.com/",
    "http://@127.0.0.1:PORT/",
    "http://hooks.example.com%40127.0.0.1:PORT/",
    "http://hooks.example.com\\@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@hooks.example.com/",
    "http://127.0.0.1:PORT#@hooks.example.com/",
    "https://hooks.example.com/a\\b",
    "https://hooks.example.com/#",
    "https://hooks.example.com/a#b",
    "http://127.0.0.1:PORT?@hooks.example.com/",
    "http://127.0.0.1:PORT&hooks.example.com/",
    "http://127.0.0.1:PORT,hooks.example.com/",
    "http://127.0.0.1:PORT;hooks.example.com/",
    "http://127.0.0.1%2f@hooks.example.com:PORT/",
    "http://127.0.0.1%00.example.com:PORT/",
    "http://127.0.0.1\0.example.com:PORT/",
    "http://127.0.0.1 .example.com:PORT/",
    "http://127.0.0.1\t:PORT/",
    "http://127.0.0.1\r\nHost: a:PORT/",
    " http://127.0.0.1:PORT/",
    "http://127.0.0.1:PORT/ ",
    "http://\u{feff}127.0.0.1:PORT/",
    // Percent signs and other alphabets.
    "http://%31%32%37%2e%30%2e%30%2e%31:PORT/",
    "http://127%2e0%2e0%2e1:PORT/",
    "http://%6c%6f%63%61%6c%68%6f%73%74:PORT/",
    "http://%5b::1%5d:PORT/",
    "http://１２７.０.０.１:PORT/",
    "http://127。0。0。1:PORT/",
    "http://127．0．0．1:PORT/",
    "http://127｡0｡0｡1:PORT/",
    "http://①②⑦.⓪.⓪.①:PORT/",
    "http://١٢٧.٠.٠.١:PORT/",
    "http://ｌocalhost:PORT/",
    "http://loc\u{ad}alhost:PORT/",
    "http://ⓛocalhost:PORT/",
    "https://exämple.com/",
    "http://\u{202e}1.0.0.721:PORT/",
    // Schemes and shapes.
    "",
    "/",
    "http:",
    "http:/",
    "http://",
    "http:///",
    "http:///127.0.0.1:PORT/",
    "http:127.0.0.1:PORT/",
    "http:/127.0.0.1:PORT/",
    "//127.0.0.1:PORT/",
    "127.0.0.1:PORT",
    "127.0.0.1:PORT/",
    "localhost",
    "*",
    "ftp://127.0.0.1:PORT/",
    "gopher://127.0.0.1:PORT/_GET",
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "unix:///run/posture.sock",
    "http+unix://run/posture.sock",
    "ws://127.0.0.1:PORT/",
    "javascript:alert(1)",
    "httpss://hooks.example.com/",
    "http\u{2e}://127.0.0.1:PORT/",
    "https://hooks.example.com./",
    "https://hooks..example.com/",
    "https://.example.com/",
    "https://hooks.example.com:0/",
    "https://hooks.example.com:/",
    "https://hooks.example.com:65536/",
    "https://hooks.example.com:99999999999/",
    "https://hooks.example.com:-1/",
    "https://hooks.example.com:+443/",
    "https://hooks.example.com:0443/",
    "https://hooks.example.com:44 3/",
    "https://hooks.example.com:443:443/",
    "https://hooks.example.com:https/",
];

/// Plain HTTP everywhere, so that it is the address that a request fails for.
fn public_only() -> EgressPolicy {
    EgressPolicy {
        allow_http_networks: networks(&["0.0.0.0/0", "::/0"]),
        ..EgressPolicy::default()
    }
}

#[test]
fn no_way_to_write_a_forbidden_url_is_taken() {
    const N_FORMS: usize = 170;
    assert!(N_FORMS <= FORBIDDEN.len(), "{}", FORBIDDEN.len());
    let everywhere = Sink::answering("[::]:0", "HTTP/1.1 200 OK\r\n\r\n");
    let port = everywhere.address.port();
    let egress = egress(public_only());
    for form in FORBIDDEN {
        let url = form.replace("PORT", &port.to_string());
        let error = egress.check(&url).expect_err(&url);
        assert_eq!((error.code, error.details[0].field.as_str()), (Code::Invalid, "url"), "{url}");
        assert_eq!(refusal(post(&egress, &url)), error.details[0].message, "{url}");
    }
    assert_eq!(everywhere.n_accepted(), 0);
    for host in ["127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]", "localhost"] {
        let url = format!("http://{host}:{port}/");
        assert_eq!(status(&post(&super::egress(local()), &url)), 200, "{url} could be called");
    }
    assert_eq!(everywhere.n_accepted(), 5, "it was there all the time");
}

#[test]
fn an_ordinary_url_is_taken() {
    let egress = egress(EgressPolicy::default());
    let label = "a".repeat(63);
    let host = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    assert_eq!(host.len(), 253);
    for url in [
        "https://hooks.example.com",
        "https://hooks.example.com/",
        "https://hooks.example.com?a=b",
        "https://hooks.example.com:8443/a/b%20c?d=e&f=%40#".trim_end_matches('#'),
        "HTTPS://Hooks.EXAMPLE.com/",
        "https://xn--exmple-cua.com/",
        "https://my_hooks.1-2.example.com/",
        "https://127.0.0.1.example.com/",
        "https://0x7f.example/",
        "https://1e100.net/",
        "https://93.184.216.34/",
        "https://[2606:2800:220:1::1]:443/",
        "https://localhost.example.com/",
        "https://notlocalhost.com/",
        "https://internal.example.com/a@b",
        &format!("https://{host}/"),
        &format!("https://a.example/{}", "a".repeat(URL_CHARS_MAX - 18)),
    ] {
        egress.check(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    }
    for (url, rule) in [
        (format!("https://{host}a/"), "at most 253"),
        (format!("https://{label}a.com/"), "letters and digits"),
        (format!("https://a.example/{}", "a".repeat(URL_CHARS_MAX - 17)), "at most 2048"),
    ] {
        let error = egress.check(&url).unwrap_err();
        assert!(error.message().contains(rule), "{error}");
    }
}

#[test]
fn a_refusal_names_the_setting_that_could_allow_it() {
    for (url, setting) in [
        ("https://10.1.2.3/", "webhooks.allow_private_networks"),
        ("https://127.0.0.1/", "webhooks.allow_private_networks"),
        ("https://[fd12::1]/", "webhooks.allow_private_networks"),
        ("https://localhost/", "webhooks.allow_private_networks"),
        ("https://psa.internal/", "webhooks.allow_private_networks"),
        ("http://93.184.216.34/", "webhooks.allow_http_networks"),
        ("http://hooks.example.com/", "webhooks.allow_http_networks"),
    ] {
        let error = egress(EgressPolicy::default()).check(url).unwrap_err();
        assert!(error.message().contains(setting), "{url}: {error}");
    }
}

#[test]
fn a_refusal_names_the_rule() {
    for (url, rule) in [
        ("https://user:secret@hooks.example.com/", "a user name or password"),
        ("https://hooks.example.com/a#b", "a fragment"),
        ("https://hooks.example.com:0/", "a port from 1 to 65535"),
        ("https://127.1/", "four decimal numbers"),
        ("https://[fe80::1%25eth0]/", "without a zone"),
        ("https://exämple.com/", "xn--"),
        ("https://a b.example.com/", "without spaces"),
        ("ftp://hooks.example.com/", "must begin with `https://`"),
        ("hooks", "must begin with `https://`"),
        ("https://", "must be a URL like"),
        ("https://169.254.169.254/", "is a metadata service; requests are never sent there"),
    ] {
        let error = egress(EgressPolicy::default()).check(url).unwrap_err();
        assert!(error.message().contains(rule), "{url}: {error}");
        assert!(!error.message().contains("secret"), "{error}");
    }
}

#[test]
fn a_private_name_is_taken_where_private_networks_are_allowed() {
    let policy = EgressPolicy {
        allow_private_networks: networks(&["10.0.0.0/8"]),
        ..EgressPolicy::default()
    };
    for url in ["https://psa/", "https://psa.internal/", "https://psa.lan:8443/"] {
        egress(policy.clone()).check(url).unwrap();
    }
}
