//! AWS on loopback: two accounts that check signatures and the `ExternalId`, and otherwise say what a test wants.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use posture::clock::{Clock, Time};
use posture::connect::aws::sign::{Credentials, Endpoint, Request as Signed, authorization};
use posture::connect::aws::{self, AwsConfig};
use posture::connect::call::{Api, Endpoints};
use posture::connect::reading::{Reading, Stream};
use posture::egress::Egress;
use tokio::runtime::Builder;
use tokio::time::Instant;

use crate::connect::vendor::{local, told};
use crate::harness::sink::{Request, Sink};

pub const ACCOUNT: &str = "222222222222";
pub const ROLE: &str = "arn:aws:iam::222222222222:role/Posture";
pub const KEY_ID: &str = "AKIAPOSTURE";
pub const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
pub const REGIONS: [&str; 2] = ["us-east-1", "eu-west-1"];
const SESSION_SECRET: &str = "session-secret";
const TOKEN: &str = "IQoJb3JpZ2luX2VjEXAMPLE//token==";
/// AWS accepts requests that were signed within so many seconds.
const CLOCK_S: i64 = 300;

/// What is asked, as tests name it: `ec2 eu-west-1 DescribeSecurityGroups`.
#[derive(Clone, Debug)]
pub struct Asked {
    pub name: String,
    /// The parameters of the query or form.
    pub pairs: BTreeMap<String, String>,
    /// Of the session; empty for the key itself.
    pub token: String,
}

type Say = Arc<dyn Fn(&Asked) -> Vec<u8> + Send + Sync>;

#[derive(Clone, Default)]
pub struct Script {
    says: Arc<Mutex<BTreeMap<String, Say>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    external_id: Arc<Mutex<String>>,
    now: Arc<Mutex<Option<Time>>>,
    n_sessions: Arc<Mutex<usize>>,
}

pub struct Cloud {
    pub sink: Sink,
    pub script: Script,
}

pub fn xml(body: &str) -> Vec<u8> {
    told(200, &[("Content-Type", "text/xml")], body)
}

pub fn json(body: &str) -> Vec<u8> {
    told(200, &[("Content-Type", "application/x-amz-json-1.1")], body)
}

/// An error in the form of services with the query protocol.
pub fn refused(status: u16, code: &str, message: &str) -> Vec<u8> {
    let body = format!(
        "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
    );
    told(status, &[("Retry-After", "0")], &body)
}

/// In the form of S3.
pub fn refused_by_s3(status: u16, code: &str) -> Vec<u8> {
    told(status, &[], &format!("<Error><Code>{code}</Code><Message>no</Message></Error>"))
}

/// In the form of EC2.
pub fn refused_by_ec2(status: u16, code: &str, message: &str) -> Vec<u8> {
    let error = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
    told(status, &[("Retry-After", "0")], &format!("<Response><Errors>{error}</Errors></Response>"))
}

impl Script {
    pub fn say(&self, name: &str, say: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) {
        self.says.lock().unwrap().insert(name.to_owned(), Arc::new(say));
    }

    /// In all regions.
    fn say_everywhere(&self, service: &str, action: &str, answer: &[u8]) {
        for region in REGIONS {
            let answer = answer.to_vec();
            self.say(&format!("{service} {region} {action}"), move |_| answer.clone());
        }
    }

    pub fn trust(&self, external_id: &str) {
        external_id.clone_into(&mut self.external_id.lock().unwrap());
    }

    /// `None`: the time of this machine.
    pub fn set_clock(&self, now: Time) {
        *self.now.lock().unwrap() = Some(now);
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn names(&self) -> Vec<String> {
        self.asked().into_iter().map(|it| it.name).collect()
    }

    fn answer(&self, request: &Request) -> Vec<u8> {
        let (asked, endpoint) = read(request);
        self.asked.lock().unwrap().push(asked.clone());
        if let Some(refusal) = self.refuse(request, &asked, &endpoint) {
            return refusal;
        }
        match asked.name.as_str() {
            "sts us-east-1 AssumeRole" => return self.assume(&asked),
            "sts us-east-1 GetCallerIdentity" if !self.is_told(&asked.name) => {
                let account = if asked.token.is_empty() { "111111111111" } else { ACCOUNT };
                return xml(&format!(
                    "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>{account}</Account>\
                     </GetCallerIdentityResult></GetCallerIdentityResponse>"
                ));
            }
            _ => (),
        }
        let say = self.says.lock().unwrap().get(&asked.name).cloned();
        say.map_or_else(|| refused(404, "UnknownOperation", &asked.name), |say| say(&asked))
    }

    fn is_told(&self, name: &str) -> bool {
        self.says.lock().unwrap().contains_key(name)
    }

    fn assume(&self, asked: &Asked) -> Vec<u8> {
        let user = "arn:aws:iam::111111111111:user/posture";
        let is_known = asked.pairs["RoleArn"] == ROLE;
        if !is_known || asked.pairs.get("ExternalId") != Some(&*self.external_id.lock().unwrap()) {
            let message = format!(
                "User: {user} is not authorized to perform: sts:AssumeRole on resource: {}",
                asked.pairs["RoleArn"]
            );
            return refused(403, "AccessDenied", &message);
        }
        *self.n_sessions.lock().unwrap() += 1;
        xml(&format!(
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIASESSION</AccessKeyId>\
             <SecretAccessKey>{SESSION_SECRET}</SecretAccessKey><SessionToken>{TOKEN}</SessionToken>\
             <Expiration>2027-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        ))
    }

    pub fn n_sessions(&self) -> usize {
        *self.n_sessions.lock().unwrap()
    }

    /// An unknown key, a wrong signature, a wrong time.
    fn refuse(
        &self,
        request: &Request,
        asked: &Asked,
        endpoint: &(String, String),
    ) -> Option<Vec<u8>> {
        let proof = request.header("authorization").unwrap_or_default();
        let key_id = proof.split("Credential=").nth(1)?.split('/').next()?;
        let secret = match (key_id, asked.token.as_str()) {
            (KEY_ID, "") => SECRET,
            ("ASIASESSION", TOKEN) => SESSION_SECRET,
            _ => {
                return Some(refused(
                    403,
                    "InvalidClientTokenId",
                    "The security token is invalid.",
                ));
            }
        };
        let at: String = request.header("x-amz-date").unwrap().to_owned();
        let text = format!(
            "{}-{}-{}T{}:{}:{}Z",
            &at[..4],
            &at[4..6],
            &at[6..8],
            &at[9..11],
            &at[11..13],
            &at[13..15]
        );
        let at: Time = text.parse().unwrap();
        let now = self.now.lock().unwrap().unwrap_or_else(|| Clock::System.now());
        if CLOCK_S < now.s_since(at).abs() {
            let date = jiff::Timestamp::from_second(now.s()).unwrap();
            let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            let body = "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code>\
                        <Message>Signature expired: it is now later.</Message></Error></ErrorResponse>";
            return Some(told(403, &[("Date", &date)], body));
        }
        let credentials = Credentials {
            key_id: key_id.to_owned(),
            secret: secret.to_owned(),
            session_token: None,
        };
        let expected = expected(request, endpoint, &credentials, at);
        (proof != expected)
            .then(|| refused(403, "SignatureDoesNotMatch", "The request signature does not match."))
    }
}

/// What is asked, and the region and service of the signature.
pub fn read(request: &Request) -> (Asked, (String, String)) {
    let (_, target) = request.line.split_once(' ').unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let host = request.header("host").unwrap().to_owned();
    let scope = request.header("authorization").unwrap_or_default().to_owned();
    let mut scope = scope.split("Credential=").nth(1).unwrap_or_default().split('/').skip(2);
    let (region, service) = (scope.next().unwrap().to_owned(), scope.next().unwrap().to_owned());
    let is_known = host.starts_with(&service) || host.contains(".s3-control.");
    assert!(is_known && host.ends_with(".amazonaws.com"), "{host}");
    assert!(host.contains(&region) || service == "iam", "{host} {region}");
    let decode = |it: &str| percent_decode_str(it).decode_utf8().unwrap().into_owned();
    let body = String::from_utf8(request.body.clone()).unwrap();
    let is_form = body.contains('=') && !body.starts_with('{');
    let text = if is_form { &body } else { query };
    let pairs: BTreeMap<String, String> = text
        .split('&')
        .filter_map(|it| it.split_once('='))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect();
    let action = match request.header("x-amz-target") {
        Some(target) => target.rsplit('.').next().unwrap().to_owned(),
        None => pairs.get("Action").cloned().unwrap_or_else(|| {
            let what = pairs
                .keys()
                .find(|it| ["publicAccessBlock", "policyStatus"].contains(&it.as_str()));
            what.map_or_else(|| path.to_owned(), |it| format!("{path} {it}"))
        }),
    };
    let token = request.header("x-amz-security-token").unwrap_or_default().to_owned();
    (Asked { name: format!("{service} {region} {action}"), pairs, token }, (region, service))
}

fn expected(
    request: &Request,
    (region, service): &(String, String),
    credentials: &Credentials,
    at: Time,
) -> String {
    let (method, target) = request.line.split_once(' ').unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let decode = |it: &str| percent_decode_str(it).decode_utf8().unwrap().into_owned();
    let query: Vec<(String, String)> = query
        .split('&')
        .filter_map(|it| it.split_once('='))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect();
    let query: Vec<(&str, &str)> = query.iter().map(|it| (&*it.0, &*it.1)).collect();
    let proof = request.header("authorization").unwrap();
    let names = proof.split("SignedHeaders=").nth(1).unwrap().split(',').next().unwrap();
    let headers: Vec<(&str, &str)> =
        names.split(';').map(|it| (it, request.header(it).unwrap())).collect();
    assert!(headers.iter().any(|it| it.0 == "host"), "{names}");
    let signed = Signed { method, path, query: &query, headers: &headers, body: &request.body };
    authorization(&signed, Endpoint { region, service }, credentials, at)
}

/// All origins that an account in these regions is read from.
pub fn origins() -> Vec<String> {
    let regional = REGIONS.iter().flat_map(|region| {
        ["s3", "ec2", "rds", "guardduty", "cloudtrail"].map(|it| format!("{it}.{region}"))
    });
    let others =
        ["iam".to_owned(), "sts.us-east-1".to_owned(), format!("{ACCOUNT}.s3-control.us-east-1")];
    regional.chain(others).map(|it| format!("https://{it}.amazonaws.com")).collect()
}

pub fn config() -> AwsConfig {
    AwsConfig {
        account: ACCOUNT.to_owned(),
        role_arn: Some(ROLE.to_owned()),
        external_id: "e-1".to_owned(),
        key: Credentials {
            key_id: KEY_ID.to_owned(),
            secret: SECRET.to_owned(),
            session_token: None,
        },
    }
}

impl Cloud {
    /// An account in good order.
    pub fn start() -> Self {
        let script = Script::default();
        script.trust("e-1");
        let known = script.clone();
        let sink = Sink::scripted("127.0.0.1:0", move |request| known.answer(request));
        super::healthy::say(&script);
        Self { sink, script }
    }

    pub fn endpoints(&self) -> BTreeMap<String, String> {
        let at = format!("http://{}", self.sink.address);
        origins().into_iter().map(|it| (it, at.clone())).collect()
    }

    pub fn read(&self) -> Reading {
        self.read_with(&config(), Clock::System)
    }

    pub fn read_with(&self, config: &AwsConfig, clock: Clock) -> Reading {
        read_through(self.endpoints(), config, clock)
    }
}

pub fn read_through(
    endpoints: BTreeMap<String, String>,
    config: &AwsConfig,
    clock: Clock,
) -> Reading {
    let egress = Egress::new(local(), Duration::from_secs(20), 8).unwrap();
    let (egress, endpoints) = (Arc::new(egress), Arc::new(Endpoints(endpoints)));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let deadline = Instant::now() + Duration::from_mins(2);
        let api = Api::new(egress, endpoints, &aws::DIALECT, clock, deadline);
        aws::read(&api, config).await
    })
}

pub fn streams(reading: &Reading) -> impl Iterator<Item = &Stream> {
    reading.groups.iter().flat_map(|it| &it.streams)
}

pub fn stream<'a>(reading: &'a Reading, name: &str) -> &'a Stream {
    streams(reading).find(|it| it.name == name).unwrap_or_else(|| panic!("no {name}: {reading:?}"))
}

const ALL: [(&str, &str); 10] = [
    ("CLD-01", "compliant"),
    ("CLD-02", "compliant"),
    ("CLD-03", "compliant"),
    ("CLD-04", "compliant"),
    ("CLD-05", "partial"),
    ("CLD-06", "compliant"),
    ("CLD-07", "partial"),
    ("CLD-10", "compliant"),
    ("CLD-12", "partial"),
    ("CLD-24", "partial"),
];

/// All controls that an account in good order decides.
pub fn all() -> Vec<(&'static str, &'static str)> {
    ALL.into_iter().chain([("CLD-25", "partial")]).collect()
}

pub fn without(controls: &[&str]) -> Vec<(&'static str, &'static str)> {
    all().into_iter().filter(|it| !controls.contains(&it.0)).collect()
}

/// The controls that are decided, with their status.
pub fn decided(reading: &Reading) -> Vec<(&'static str, &'static str)> {
    let all = reading.groups.iter().flat_map(|it| &it.observations);
    let mut all: Vec<_> = all.map(|it| (it.control, it.status.as_str())).collect();
    all.sort_unstable();
    all
}

impl Script {
    pub fn say_xml(&self, name: &str, body: &str) {
        let answer = xml(body);
        self.say(name, move |_| answer.clone());
    }

    pub(super) fn say_xml_everywhere(&self, service: &str, action: &str, body: &str) {
        self.say_everywhere(service, action, &xml(body));
    }

    pub(super) fn say_json_everywhere(&self, service: &str, action: &str, body: &str) {
        self.say_everywhere(service, action, &json(body));
    }
}
