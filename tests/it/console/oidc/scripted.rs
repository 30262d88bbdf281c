//! An identity provider that says what no honest one does, and a browser that was led to it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use posture::app::access::grant::OidcGrants;
use posture::app::access::oidc::OidcOptions;
use posture::clock::Time;
use posture::egress::{EgressPolicy, TrustedRoots};
use posture::oidc::OidcSettings;
use posture::store::global::user::Role;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use crate::harness::sink::{Request, Sink};
use crate::harness::{Answer, Posture, port, send};

pub(super) const CLIENT: &str = "posture-console";

/// What the provider answers.
pub(super) struct Script {
    pub(super) discovery: Value,
    pub(super) keys: Value,
    /// The status and the body of the answer to a code.
    pub(super) tokens: (u16, Value),
}

pub(super) struct Provider {
    pub(super) sink: Sink,
    script: Arc<Mutex<Script>>,
    pair: EcdsaKeyPair,
    pub(super) issuer: String,
}

fn key_pair() -> EcdsaKeyPair {
    let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
    let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap()
}

fn jwk(pair: &EcdsaKeyPair, id: &str) -> Value {
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    json!({
        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": id,
        "x": BASE64.encode(x), "y": BASE64.encode(y),
    })
}

fn http(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let n = body.len();
    format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {n}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

impl Provider {
    pub(super) fn start() -> Self {
        let pair = key_pair();
        let keys = json!({ "keys": [{"kty": "oct", "k": "AAAA"}, jwk(&pair, "k1")] });
        let tokens = (500, Value::Null);
        let script = Script { discovery: Value::Null, keys, tokens };
        let script = Arc::new(Mutex::new(script));
        let told = Arc::clone(&script);
        let sink = Sink::scripted("127.0.0.1:0", move |request: &Request| {
            let script = told.lock().unwrap();
            match request.line.split(' ').nth(1).unwrap() {
                "/.well-known/openid-configuration" => http(200, &script.discovery),
                "/keys" => http(200, &script.keys),
                "/token" => http(script.tokens.0, &script.tokens.1),
                other => panic!("{other}"),
            }
        });
        let issuer = format!("http://{}", sink.address);
        script.lock().unwrap().discovery = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
        });
        Self { sink, script, pair, issuer }
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// Signs with another key from now on, which it publishes.
    pub(super) fn rotate(&mut self, id: &str) {
        self.pair = key_pair();
        self.script().keys = json!({ "keys": [jwk(&self.pair, id)] });
    }

    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |it: &Value| BASE64.encode(it.to_string());
        let text = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        format!("{text}.{}", BASE64.encode(signature))
    }

    /// The claims of an honest token for this flow.
    pub(super) fn claims(&self, led: &Led, now: Time) -> Value {
        json!({
            "iss": self.issuer, "aud": CLIENT, "sub": "ada-1", "nonce": led.nonce,
            "iat": now.s(), "exp": now.s() + 300, "auth_time": now.s(),
            "roles": ["posture-admin"], "email": "ada@msp.example", "name": "Ada Lovelace",
        })
    }

    /// Answers the next code with a token of these claims.
    pub(super) fn answer(&self, claims: &Value) {
        let token = self.sign(&json!({"alg": "ES256", "kid": "k1"}), claims);
        self.answer_with(&token);
    }

    pub(super) fn answer_with(&self, token: &str) {
        self.script().tokens = (200, json!({"id_token": token, "token_type": "Bearer"}));
    }

    pub(super) fn options(&self, public_url: &str) -> OidcOptions {
        let values = |it: &str| vec![format!("posture-{it}")];
        OidcOptions {
            settings: OidcSettings {
                name: "Acme ID".to_owned(),
                issuer: self.issuer.clone(),
                client_id: CLIENT.to_owned(),
                client_secret: None,
                redirect_url: format!("{public_url}/sign-in/oidc/callback"),
                scopes: vec!["openid".to_owned(), "email".to_owned()],
                acr_values: Vec::new(),
                egress: EgressPolicy::for_sign_in(&self.issuer, TrustedRoots::default()),
            },
            grants: OidcGrants {
                roles_claim: "roles".to_owned(),
                roles: [
                    (Role::Viewer, values("viewer")),
                    (Role::Analyst, values("analyst")),
                    (Role::Admin, values("admin")),
                ],
                clients_claim: None,
                provider_requires_mfa: false,
                amr_values: vec!["mfa".to_owned()],
                acr_values: Vec::new(),
            },
        }
    }

    /// A posture at which people sign in with this provider.
    pub(super) fn posture(
        &self,
        change: impl FnOnce(&mut posture::serve::ServeOptions),
    ) -> Posture {
        let address = format!("127.0.0.1:{}", port::free_port());
        let public_url = format!("http://{address}");
        Posture::start_with(|it| {
            it.listen = address.parse().unwrap();
            it.app.oidc = Some(self.options(&public_url));
            it.app.public_url = Some(public_url);
            change(it);
        })
    }
}

/// A browser with all its cookies.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) address: SocketAddr,
    pub(super) cookies: BTreeMap<String, String>,
}

/// Where a browser was led.
pub(super) struct Led {
    pub(super) url: String,
    pub(super) state: String,
    pub(super) nonce: String,
}

impl Visitor {
    pub(super) fn to(posture: &Posture) -> Self {
        Self { address: posture.address, cookies: BTreeMap::new() }
    }

    pub(super) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[])
    }

    /// Sends a form of a page of the console.
    pub(super) fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.send("POST", path, fields)
    }

    fn send(&mut self, method: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let host = self.address.to_string();
        let origin = format!("http://{host}");
        let cookies = self.cookies.iter().map(|it| format!("{}={}", it.0, it.1));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let kind = "application/x-www-form-urlencoded";
        let headers = [
            ("Host", host.as_str()),
            ("Cookie", &cookies),
            ("Accept", "text/html"),
            ("Origin", &origin),
            ("Content-Type", kind),
        ];
        let headers = if method == "GET" { &headers[..3] } else { &headers };
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let answer = send(self.address, method, path, headers, body.as_bytes());
        for (_, cookie) in answer.headers.iter().filter(|it| it.0 == "set-cookie") {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// Is led to the provider.
    pub(super) fn led(&mut self, path: &str) -> Led {
        let answer = self.get(path);
        assert_eq!(answer.status, 303, "{}", answer.text());
        let url = answer.header("location").unwrap().to_owned();
        let query = url.split_once('?').expect("a query").1.to_owned();
        let query: BTreeMap<String, String> =
            form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Led { url, state: query["state"].clone(), nonce: query["nonce"].clone() }
    }

    /// Comes back with a code.
    pub(super) fn back(&mut self, led: &Led) -> Answer {
        self.get(&format!("/sign-in/oidc/callback?state={}&code=c", led.state))
    }

    /// Signs in with what `change` makes of the claims of an honest token.
    pub(super) fn sign_in(
        &mut self,
        posture: &Posture,
        provider: &Provider,
        change: impl FnOnce(&mut Value),
    ) -> Answer {
        let led = self.led("/sign-in/oidc");
        let mut claims = provider.claims(&led, posture.now());
        change(&mut claims);
        provider.answer(&claims);
        self.back(&led)
    }

    pub(super) fn is_signed_in(&self) -> bool {
        self.cookies.contains_key("posture")
    }
}
