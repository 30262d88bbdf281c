//! A browser, as far as the console needs one: it keeps a cookie and says from where a form is.

use std::net::SocketAddr;

use serde_json::json;

use crate::harness::{Answer, Posture, send};

pub(crate) const PASSWORD: &str = "ochre kettle, nine moths";

/// Adds a user; the id.
pub(crate) fn add_user(posture: &Posture, name: &str, role: &str, clients: &[&str]) -> String {
    let body = json!({
        "email": format!("{name}@example.com"), "username": name, "role": role, "password": PASSWORD,
        "clientIds": clients,
    });
    let made = posture.operator("POST", "/api/users", &body);
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["data"]["id"].as_str().unwrap().to_owned()
}

pub(crate) struct Browser {
    address: SocketAddr,
    /// What it asks for. The address, unless it goes by a name.
    host: String,
    cookie: Option<String>,
}

impl Browser {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, host: address.to_string(), cookie: None }
    }

    /// One that goes by the name of this machine.
    pub(crate) fn by_name(address: SocketAddr) -> Self {
        Self { host: format!("localhost:{}", address.port()), ..Self::new(address) }
    }

    pub(crate) fn signed_in(address: SocketAddr, name: &str) -> Self {
        let mut browser = Self::new(address);
        browser.sign_in(name);
        browser
    }

    pub(crate) fn sign_in(&mut self, name: &str) {
        let answer = self.post("/sign-in", &[("name", name), ("password", PASSWORD)]);
        assert_eq!(answer.status, 303, "{}", answer.text());
    }

    /// Another one with the same cookie.
    pub(crate) fn copy(&self) -> Self {
        Self { cookie: self.cookie.clone(), host: self.host.clone(), ..*self }
    }

    /// The same one, of a posture that started again.
    pub(crate) fn at(&self, posture: &Posture) -> Self {
        Self { cookie: self.cookie.clone(), ..Self::new(posture.address) }
    }

    pub(crate) fn cookie(&self) -> &str {
        self.cookie.as_deref().unwrap_or_default()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let cookie = format!("posture={}", self.cookie());
        let headers =
            [("Host", self.host.as_str()), ("Cookie", cookie.as_str()), ("Accept", "text/html")];
        send(self.address, "GET", path, &headers, b"")
    }

    /// The token of the forms of a page.
    pub(crate) fn token(&self, path: &str) -> String {
        let page = self.get(path);
        assert_eq!(page.status, 200, "{path}");
        let page = page.text();
        let from = page.find("name=\"token\" value=\"").expect("a form") + 20;
        page[from..].split('"').next().unwrap().to_owned()
    }

    /// Sends a form of a page of this console, and keeps the cookie that comes back.
    pub(crate) fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let origin = self.origin();
        let answer = self.post_with(path, fields, &[("Origin", &origin)]);
        if let Some(cookie) = answer.header("set-cookie") {
            self.cookie = cookie.split(['=', ';']).nth(1).map(str::to_owned);
        }
        answer
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.host)
    }

    /// Sends a form with these headers.
    pub(crate) fn post_with(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = "application/x-www-form-urlencoded";
        self.post_bytes(path, (kind, body.as_bytes()), headers)
    }

    /// Sends the form of a page with a file: its fields, its name and its bytes.
    pub(crate) fn upload(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        (name, bytes): (&str, &[u8]),
    ) -> Answer {
        let mut body = Vec::new();
        for (field, value) in fields {
            body.extend(
                format!(
                    "--b\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n"
                )
                .bytes(),
            );
        }
        let head = format!(
            "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        );
        body.extend(head.bytes().chain(bytes.iter().copied()).chain(*b"\r\n--b--\r\n"));
        let origin = self.origin();
        let kind = "multipart/form-data; boundary=b";
        self.post_bytes(path, (kind, &body), &[("Origin", &origin)])
    }

    fn post_bytes(
        &self,
        path: &str,
        (kind, body): (&str, &[u8]),
        headers: &[(&str, &str)],
    ) -> Answer {
        let cookie = format!("posture={}", self.cookie());
        let own = [
            ("Host", self.host.as_str()),
            ("Cookie", cookie.as_str()),
            ("Content-Type", kind),
            ("Accept", "text/html"),
        ];
        let headers: Vec<_> = own.into_iter().chain(headers.iter().copied()).collect();
        send(self.address, "POST", path, &headers, body)
    }
}

pub(crate) fn encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
