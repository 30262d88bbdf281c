//! Behind a proxy that changes what the browser asked for: whose forms are taken, and what a page says if they are not.

use serde_json::Value;

use crate::harness::http::send_socket;
use crate::harness::process::Folder;
use crate::harness::{Posture, send};

type Headers<'a> = Vec<(&'a str, &'a str)>;

fn behind_proxy(public_url: Option<&str>) -> Posture {
    Posture::start_with(|it| {
        it.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        it.app.public_url = public_url.map(str::to_owned);
    })
}

/// Whether a form that nobody need be signed in for is taken.
fn is_taken(posture: &Posture, headers: &[(&str, &str)]) -> bool {
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    let headers: Headers = headers.iter().copied().chain([kind]).collect();
    let answer = send(posture.address, "POST", "/sign-in/passkey/question", &headers, b"");
    let is_foreign = answer.status == 403 && answer.text().contains("from another site");
    assert!(is_foreign || matches!(answer.status, 200 | 409), "{headers:?}: {}", answer.text());
    !is_foreign
}

fn proxied<'a>(host: &'a str, more: &[(&'a str, &'a str)]) -> Headers<'a> {
    let own = [("Host", host), ("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-Proto", "https")];
    own.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn every_spelling_of_the_own_origin_is_own_and_no_other_is() {
    let list = ("X-Forwarded-Host", "p.example, inner.lan");
    for (public_url, own, cases) in [
        (
            Some("https://p.example"),
            "https://p.example",
            vec![
                ("p.example", vec![]),
                ("p.example:443", vec![]),
                ("P.Example.", vec![]),
                ("10.0.0.5", vec![list]),
                ("127.0.0.1:8080", vec![]),
            ],
        ),
        (Some("https://p.example:8443"), "https://p.example:8443", vec![("p.example", vec![])]),
        // As an option of before, which nothing normalized.
        (Some("HTTPS://P.Example:443/"), "https://p.example", vec![("posture", vec![])]),
        (
            None,
            "https://p.example",
            vec![("p.example", vec![]), ("P.EXAMPLE:443", vec![]), ("10.0.0.5", vec![list])],
        ),
    ] {
        let posture = behind_proxy(public_url);
        for (host, more) in cases {
            let origins = [("Origin", own)];
            let headers = proxied(host, &[&more[..], &origins].concat());
            assert!(is_taken(&posture, &headers), "{headers:?}");
            for foreign in [
                "null",
                "",
                "https://evil.example",
                "http://p.example",
                "https://p.example:8444",
                "https://p.example.evil.example",
                "https://p.example@evil.example",
                "https://p.example/x",
                "https://example",
                "https://p.example, https://evil.example",
            ] {
                let headers = proxied(host, &[&more[..], &[("Origin", foreign)]].concat());
                assert!(!is_taken(&posture, &headers), "{headers:?}");
            }
            let twice = [("Origin", own), ("Origin", "https://evil.example")];
            assert!(!is_taken(&posture, &proxied(host, &[&more[..], &twice].concat())));
            assert!(!is_taken(&posture, &proxied(host, &more)), "no browser sent it");
            let said = [("Sec-Fetch-Site", "cross-site")];
            assert!(!is_taken(&posture, &proxied(host, &[&more[..], &said].concat())));
        }
    }
}

#[test]
fn only_a_trusted_proxy_hides_the_console_behind_its_public_url() {
    let posture =
        Posture::start_with(|it| it.app.public_url = Some("https://p.example".to_owned()));
    let host = posture.address.to_string();
    let own = format!("http://{host}");
    assert!(is_taken(&posture, &[("Host", &host), ("Origin", &own)]));
    assert!(!is_taken(&posture, &[("Host", &host), ("Origin", "https://p.example")]));
    let list = ("X-Forwarded-Host", "p.example");
    let refused = [("Host", host.as_str()), list, ("Origin", "https://p.example")];
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    let headers: Headers = refused.into_iter().chain([kind]).collect();
    assert_eq!(send(posture.address, "POST", "/sign-in", &headers, b"").status, 403);
}

#[test]
fn a_refusal_says_what_was_seen_and_what_the_proxy_must_send() {
    let trusting = behind_proxy(None);
    let unaware = Posture::start();
    let page = |posture: &Posture, headers: &[(&str, &str)]| {
        let headers: Headers = [("Accept", "text/html")].iter().chain(headers).copied().collect();
        let answer = send(posture.address, "GET", "/sign-in", &headers, b"");
        assert_eq!(answer.status, 403, "{}", answer.text());
        answer.text()
    };
    let host = ("Host", "p.example");
    let said = page(&trusting, &[host]);
    assert!(said.contains("does not say that the browser came over HTTPS"), "{said}");
    assert!(said.contains("proxy_set_header X-Forwarded-Proto $scheme"), "{said}");
    assert!(said.contains("from 127.0.0.1, which is one of server.trusted_proxies"), "{said}");
    assert!(said.contains("<th scope=\"row\">Host</th><td>p.example</td>"), "{said}");
    assert!(said.contains("<th scope=\"row\">X-Forwarded-Proto</th><td>not sent</td>"), "{said}");
    let said = page(&trusting, &[host, ("X-Forwarded-Proto", "http")]);
    assert!(said.contains("says that the browser came over plain HTTP"), "{said}");
    let said = page(&unaware, &[host, ("X-Forwarded-Proto", "https")]);
    assert!(said.contains("server.trusted_proxies of the configuration does not name"), "{said}");
    assert!(said.contains("from 127.0.0.1, which is not one of"), "{said}");
    let said = page(&unaware, &[host]);
    assert!(said.contains("server.tls_cert"), "{said}");
    // Values are text, and do not grow without end.
    let long = "x".repeat(201);
    let said = page(&unaware, &[host, ("X-Forwarded-Proto", "<b>"), ("X-Forwarded-Host", &long)]);
    assert!(said.contains("&lt;b&gt;") && said.contains("(cut)"), "{said}");

    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    let form = [&proxied("posture", &[("Origin", "https://p.example:8443")])[..], &[kind]].concat();
    let refused = send(trusting.address, "POST", "/sign-in", &form, b"");
    assert_eq!(refused.status, 403);
    let said = refused.text();
    for shown in [
        "set server.public_url",
        "proxy_set_header Host $http_host",
        "<td>https://p.example:8443</td>",
        "<td>posture</td>",
    ] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
}

#[test]
fn what_a_proxy_sends_is_shown_to_who_may_use_the_control_socket_alone() {
    let posture = behind_proxy(None);
    let ask = |headers: &[(&str, &str)]| {
        let answer = send(posture.address, "GET", "/proxy-check", headers, b"");
        (answer.status == 200).then(|| answer.json()["data"].clone())
    };
    assert_eq!(ask(&[]), None);
    assert_eq!(ask(&[("X-Posture-Check", "")]), None);
    assert_eq!(ask(&[("X-Posture-Check", &"A".repeat(43))]), None);
    let give = || {
        let given = send_socket(&posture.socket(), "GET", "/proxy-check", &[], b"");
        given.json()["data"]["code"].as_str().unwrap().to_owned()
    };
    let code = give();
    let check = [("X-Posture-Check", code.as_str()), ("Origin", "https://p.example")];
    let seen = ask(&proxied("p.example", &check)).unwrap();
    assert_eq!((&seen["way"], &seen["trusted"]), (&"proxied".into(), &true.into()));
    assert_eq!((&seen["host"], &seen["caller"]), (&"p.example".into(), &"203.0.113.9".into()));
    assert_eq!((&seen["ownForm"], &seen["forwardedHost"]), (&true.into(), &Value::Null));
    // The oldest code ends when there are too many.
    for _ in 0..15 {
        give();
    }
    assert!(ask(&check).is_some());
    give();
    assert_eq!(ask(&check), None);
}

#[test]
fn the_command_lists_what_the_proxy_does_not_send() {
    let folder = Folder::new();
    let away = folder.run(&["config", "check", "--proxy", "https://p.example"]);
    assert!(away.code == 1 && away.err.contains("the server is not running"), "{}", away.err);
    let server = folder.serve();
    let url = format!("http://{}", server.address);
    let done = folder.run(&["config", "check", "--proxy", &url]);
    assert_eq!(done.code, 1, "{}", done.out);
    for problem in [
        "server.trusted_proxies does not name 127.0.0.1",
        "is not https",
        "X-Forwarded-For must have the address of the caller",
        "server.public_url is not set",
        "everyone can claim any address",
        "/metrics answers everyone through the proxy",
    ] {
        assert!(done.out.contains(problem), "{problem}: {}", done.out);
    }
    assert_eq!(done.out.lines().count(), 6, "{}", done.out);
    let done = folder.run(&["config", "check", "--json", "--proxy", &url]);
    let said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(said["data"]["seen"]["way"], "loopback");
    assert_eq!(said["data"]["problems"].as_array().unwrap().len(), 6);
    let other = crate::harness::port::free_port();
    let nobody = folder.run(&["config", "check", "--proxy", &format!("http://127.0.0.1:{other}")]);
    assert!(nobody.out.contains("the connection failed"), "{}", nobody.out);
    let wrong = folder.run(&["config", "check", "--proxy", "p.example"]);
    assert!(wrong.err.contains("is not the address of a host"), "{}", wrong.err);
}
