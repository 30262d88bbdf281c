//! How a tool is read: every list to its end, and what each fault leaves.

use std::sync::Arc;

use posture::connect::mapping::read;
use posture::connect::reading::StreamState::{self, Complete, Denied, Failed, Partial};
use posture::connect::reading::{Group, Reading};
use serde_json::{Value, json};

use super::tool::{
    DATTO_ENTERED, NINJA_ENTERED, OWN, OWN_ENTERED, SECRET, Tool, agents, datto, fast, joined,
    mapping, ninja, now_s, org, own, stream, verdicts,
};
use crate::connect::vendor::{json as page, told};

const WELL: &str = "DAT-01 compliant, END-02 compliant, END-04 compliant, END-05 compliant, END-06 compliant, \
                    END-07 compliant, END-08 compliant, END-09 compliant, END-10 compliant, ID-21 compliant";

fn read_ninja(tool: &Tool) -> Reading {
    tool.read(&mapping("ninjaone"), &NINJA_ENTERED)
}

fn read_own(tool: &Tool) -> Reading {
    tool.read(&mapping("example_rmm"), &OWN_ENTERED)
}

fn group<'r>(reading: &'r Reading, scope: &str) -> &'r Group {
    let orgs = reading.orgs.iter().flatten();
    let found = orgs.flat_map(|it| &it.groups).find(|it| it.scope == scope);
    found.unwrap_or_else(|| panic!("{reading:#?}"))
}

/// WELL without these controls.
fn well_but(codes: &[&str]) -> String {
    let kept = WELL.split(", ").filter(|it| !codes.iter().any(|code| it.starts_with(code)));
    kept.collect::<Vec<_>>().join(", ")
}

#[test]
fn each_organization_is_judged_by_its_own_devices() {
    let tool = ninja();
    let mut devices = tool.rows("/v2/devices-detailed");
    devices[0]["lastContact"] = json!(1_700_000_000); // Of organization 7.
    devices.push(json!({
        "id": 990, "organizationId": 99, "nodeClass": "WINDOWS_SERVER", "offline": false,
        "approvalStatus": "APPROVED", "displayName": "STRAY", "lastContact": 1_700_000_000,
    }));
    tool.set("/v2/devices-detailed", devices.into());
    let reading = read_ninja(&tool);
    assert_eq!(verdicts(org(&reading, "9")), WELL);
    assert_eq!(
        verdicts(org(&reading, "7")),
        WELL.replace("END-02 compliant", "END-02 non_compliant")
    );
    let orgs = reading.orgs.as_ref().unwrap().iter();
    let counts: Vec<_> = orgs.map(|it| (&*it.name, it.n_devices)).collect();
    assert_eq!(counts, [("Acme", Some(2)), ("Own lab", Some(2)), ("Gamma", Some(2))].as_slice());
    let streams = &reading.groups[0].streams;
    assert_eq!(streams.len(), 13);
    assert!(streams.iter().all(|it| it.state == Complete && it.reason.is_empty()), "{streams:#?}");
    let homeless = "1 device has no organization in the list, so that no client gets it";
    assert_eq!(reading.groups[0].notes, [("devices".to_owned(), homeless.to_owned())]);
    let base = group(&reading, "9");
    assert!(base.is_whole);
    let serials: Vec<_> =
        base.assets.iter().flatten().map(|it| it.serial.as_deref().unwrap()).collect();
    assert_eq!(serials, ["SN-900", "SN-901"]);
    for (scope, controls) in [
        ("9", vec!["END-02"]),
        ("9/antivirus", vec!["END-05"]),
        ("9/antivirus+device_health", vec!["END-06"]),
        ("9/operating_systems", vec!["END-09", "END-10"]),
        ("9/os_patch_installs+os_patches", vec!["END-07"]),
        ("9/technicians", vec!["ID-21"]),
    ] {
        let found = group(&reading, scope);
        let said: Vec<_> = found.observations.iter().map(|it| it.control).collect();
        assert_eq!((said, found.is_whole), (controls, true), "{scope}");
    }
}

#[test]
fn requests_are_as_the_vendor_documents_them() {
    let tool = ninja();
    read_ninja(&tool);
    let requests = tool.sink.requests();
    let body = |nth: usize| String::from_utf8(requests[nth].body.clone()).unwrap();
    assert_eq!(requests[0].line, "POST /ws/oauth/token");
    let secret = "Kx~7Q8sealed-tool-secret";
    assert_eq!(
        body(0),
        format!(
            "grant_type=client_credentials&client_id=abc&client_secret={secret}&scope=monitoring"
        )
    );
    assert!(requests[1..].iter().all(|it| it.header("authorization") == Some("Bearer t1")));
    assert!(requests.iter().all(|it| !it.line.contains(secret)), "no secret in an address");
    let asked = tool.asked();
    for path in [
        "/v2/organizations?pageSize=1000",
        "/v2/organizations?pageSize=1000&after=9",
        "/v2/devices-detailed?pageSize=1000&after=901",
        "/v2/queries/volumes?include=bl&pageSize=1000",
        "/v2/queries/volumes?include=bl&pageSize=1000&cursor=c7",
        "/v2/user/technicians",
    ] {
        assert!(asked.iter().any(|it| it == path), "{path}: {asked:#?}");
    }
    let installs = "/v2/queries/os-patch-installs?status=INSTALLED&pageSize=1000&installedAfter=";
    let since = asked.iter().find_map(|it| it.strip_prefix(installs)?.parse().ok());
    assert!((60 * 86_400..60 * 86_400 + 60).contains(&(now_s() - since.unwrap_or(0))), "{since:?}");
    let tool = datto(1);
    tool.read(&mapping("datto"), &DATTO_ENTERED);
    let token = tool.sink.requests().remove(0);
    assert_eq!(token.line, "POST /auth/oauth/token");
    assert_eq!(token.header("authorization"), Some("Basic cHVibGljLWNsaWVudDpwdWJsaWM="));
    assert_eq!(token.body, format!("grant_type=password&username=AK&password={secret}").as_bytes());
    let tool = own();
    read_own(&tool);
    let path = "GET /api/sites?limit=100&page=1";
    let request = tool.sink.requests().remove(0);
    assert_eq!((&*request.line, request.header("x-api-key")), (path, Some(SECRET)));
    assert_eq!(tool.asked().len(), 2, "the total says that there is no other page");
}

#[test]
fn username_and_password_go_in_each_request() {
    let tool = Tool::start();
    let lists = [("organizations", "organizations"), ("agents", "agents")];
    for (path, name) in [&lists[..], &[("incident_reports", "incident_reports")]].concat() {
        let row = json!({"id": 30, "name": "Acme", "organization_id": 30});
        tool.fail(&format!("/v1/{path}"), move |_, _| {
            Some(page(&json!({name: [row], "pagination": {}})))
        });
    }
    let entered = [("region", "us"), ("username", "AK"), ("password", "secret")];
    let reading = tool.read(&mapping("huntress"), &entered);
    assert_eq!(org(&reading, "30").n_devices, None, "most fields are absent");
    let basic = Some("Basic QUs6c2VjcmV0");
    assert!(tool.sink.requests().iter().all(|it| it.header("authorization") == basic));
    assert_eq!(tool.asked()[0], "/v1/organizations?limit=500");
    let reading = tool.read(&mapping("huntress"), &entered[..2]);
    let (state, reason) = stream(&reading, "sign_in");
    assert_eq!(state, Failed);
    assert!(reason.starts_with("the setting password is missing; check API key"), "{reason}");
    assert_eq!(tool.asked().len(), 3, "nothing more is asked");
}

#[test]
fn lists_are_read_to_the_last_row_whatever_the_size_of_a_page() {
    for n in [0, 1, 99, 100, 101, 200, 201] {
        let tool = own();
        tool.set("/api/agents", agents(&[1], n));
        let reading = read_own(&tool);
        assert_eq!(org(&reading, "1").n_devices, Some(u32::try_from(n).unwrap()), "{n}");
        assert_eq!(stream(&reading, "agents"), (Complete, ""));
        let tool = datto(n);
        tool.set_page_max(50);
        let reading = tool.read(&mapping("datto"), &DATTO_ENTERED);
        assert_eq!(org(&reading, "s1").n_devices, Some(u32::try_from(n).unwrap()), "{n}");
    }
    // The tool gives fewer rows than asked for.
    let tool = ninja();
    tool.set_page_max(1);
    let reading = read_ninja(&tool);
    assert_eq!(verdicts(org(&reading, "9")), WELL);
    assert_eq!(reading.groups[0].streams.iter().map(|it| it.n_rows).max(), Some(6));
}

#[test]
fn a_list_that_was_not_read_takes_its_own_facts_with_it_and_no_others() {
    let tool = ninja();
    let fail = |path: &str| {
        tool.mend();
        tool.fail(path, |_, _| Some(told(403, &[], r#"{"resultCode":"FORBIDDEN"}"#)));
        read_ninja(&tool)
    };
    for (path, name, codes, scope) in [
        ("/v2/queries/antivirus-status", "antivirus", &["END-05", "END-06"][..], "9/antivirus"),
        ("/v2/queries/device-health", "device_health", &["END-06"], "9/antivirus+device_health"),
        ("/v2/queries/volumes", "volumes", &["END-04"], "9/volumes"),
        ("/v2/backup/jobs", "backup_jobs", &["DAT-01"], "9/backup_jobs"),
        ("/v2/user/technicians", "technicians", &["ID-21"], "9/technicians"),
    ] {
        let reading = fail(path);
        let (state, reason) = stream(&reading, name);
        assert_eq!(state, Denied, "{name}");
        assert_eq!(reason, "not allowed; grant scope Monitoring: \"FORBIDDEN\"");
        assert_eq!(verdicts(org(&reading, "9")), well_but(codes), "{name}");
        assert!(!group(&reading, scope).is_whole, "{name}");
        assert!(group(&reading, "9").is_whole && group(&reading, "9/operating_systems").is_whole);
    }
    let reading = fail("/v2/organizations");
    assert_eq!(reading.orgs, None, "no organization is said to be gone");
    let reading = fail("/v2/devices-detailed");
    let all = reading.orgs.as_ref().unwrap();
    assert_eq!(all.iter().map(|it| it.n_devices).collect::<Vec<_>>(), [None; 3]);
    let groups = || all.iter().flat_map(|it| &it.groups);
    assert!(groups().all(|it| !it.is_whole && it.assets.is_none()), "{all:#?}");
    assert_eq!(verdicts(&all[0]), "ID-21 compliant", "the technicians are known");
}

#[test]
fn without_a_list_that_is_required_nothing_is_judged() {
    let tool = own();
    tool.fail("/api/disks", |_, _| Some(told(403, &[], "{}")));
    for (lines, said) in [("", "END-02 compliant"), ("required = true", "")] {
        let mapping = Arc::new(read("test.toml", &fast(&joined(lines))).unwrap());
        let reading = tool.read(&mapping, &OWN_ENTERED);
        assert_eq!(stream(&reading, "disks").0, Denied);
        assert_eq!(verdicts(org(&reading, "1")), said, "{lines}");
        assert_eq!(group(&reading, "1").is_whole, !said.is_empty(), "{lines}");
        assert_eq!(org(&reading, "1").n_devices, Some(10), "{lines}");
    }
}

type Answer = fn() -> Vec<u8>;

/// Name, what the list of agents answers, the state of the stream, and words of the reason.
const FAULTS: [(&str, Answer, StreamState, &str); 4] = [
    ("another object", || page(&json!({"error": "x"})), Failed, "has no list"),
    ("another address", || told(301, &[("Location", "/x")], ""), Failed, "setting origin"),
    ("gone", || told(404, &[], "<html>"), Failed, "has no such list"),
    ("denied", || told(403, &[], "{}"), Denied, "grant the key the right to list agents"),
];

#[test]
fn what_breaks_is_said_and_nothing_is_judged_by_it() {
    let tool = own();
    for (name, fault, state, words) in FAULTS {
        tool.mend();
        tool.fail("/api/agents", move |_, _| Some(fault()));
        let reading = read_own(&tool);
        let (found, reason) = stream(&reading, "agents");
        assert_eq!(found, state, "{name}: {reason}");
        assert!(reason.contains(words), "{name}: {reason}");
        let acme = org(&reading, "1");
        assert_eq!((acme.n_devices, verdicts(acme)), (None, String::new()), "{name}");
        assert!(acme.groups.iter().all(|it| !it.is_whole), "{name}");
        assert_eq!(stream(&reading, "sites"), (Complete, ""), "{name}");
    }
}

type Script = fn(&str, usize) -> Value;

#[test]
fn a_list_that_is_not_proven_to_be_whole_is_not() {
    let tool = own();
    tool.set("/api/agents", agents(&[1, 2], 150));
    let short = |total: usize, n: usize| page(&json!({"total": total, "data": agents(&[1], n)}));
    let cases: [(&str, Script, &str); 2] = [
        (
            "shrinks",
            |_, n| {
                let rows =
                    if n < 3 { agents(&[i64::try_from(n).unwrap()], 100) } else { json!([]) };
                json!({"total": 300, "data": rows})
            },
            "says that there are 300 rows and sent 200",
        ),
        (
            "has more than it says",
            |_, _| json!({"total": 5, "data": agents(&[1], 100)}),
            "the same page twice",
        ),
    ];
    for (name, script, words) in cases {
        tool.mend();
        tool.fail("/api/agents", move |it, n| Some(page(&script(&it.line, n))));
        let reading = read_own(&tool);
        let (state, reason) = stream(&reading, "agents");
        assert_eq!(state, Partial, "{name}: {reason}");
        assert!(reason.contains(words), "{name}: {reason}");
        assert_eq!(verdicts(org(&reading, "1")), "", "{name}");
        assert_eq!(org(&reading, "1").n_devices, None, "{name}");
        assert!(group(&reading, "1").assets.is_none() && !group(&reading, "1").is_whole, "{name}");
    }
    tool.mend();
    tool.fail("/api/agents", move |_, _| Some(short(0, 0)));
    let reading = read_own(&tool);
    assert_eq!(org(&reading, "1").n_devices, Some(0), "that there are none is a list too");
}

#[test]
fn a_credential_that_is_wrong_ends_the_reading_and_says_what_to_check() {
    let tool = own();
    let reading = tool.read(&mapping("example_rmm"), &[("origin", OWN), ("key", "wrong")]);
    let reason = "the tool does not accept the credential: \"Invalid token.\"; check API key and the origin, and enter what \
                  is wrong again with `posture connect set`";
    assert_eq!(stream(&reading, "sign_in"), (Failed, reason));
    assert_eq!((reading.orgs, tool.asked().len()), (None, 1), "it is not tried again and again");
    let tool = ninja();
    let titles = "check Client ID, Client secret and the region";
    for (status, error, words) in [
        (401, "invalid_client", "does not accept the credential"),
        (400, "unauthorized_client", "allow that grant type there"),
        (400, "invalid_scope", "does not allow the scope that is needed"),
        (404, "", "no place to sign in"),
    ] {
        let body = json!({ "error": error }).to_string();
        tool.fail("/ws/oauth/token", move |_, _| Some(told(status, &[], &body)));
        let reading = read_ninja(&tool);
        let (state, reason) = stream(&reading, "sign_in");
        assert_eq!(state, Failed, "{error}");
        assert!(reason.contains(words) && reason.contains(titles), "{error}: {reason}");
    }
    tool.fail("/ws/oauth/token", |_, _| Some(told(503, &[("Retry-After", "1")], "")));
    let reading = read_ninja(&tool);
    assert!(stream(&reading, "organizations").1.contains("status 503"), "it may pass");
}

#[test]
fn words_that_are_not_understood_are_shown_and_pass_nothing() {
    let tool = ninja();
    let rows = tool.rows("/v2/queries/antivirus-status").into_iter().map(|mut it| {
        it["productState"] = json!("HEALTHY");
        it
    });
    tool.set("/v2/queries/antivirus-status", rows.collect());
    let reading = read_ninja(&tool);
    let text = "not understood, and counted as unknown: /productState \"HEALTHY\" (6)";
    assert_eq!(reading.groups[0].notes, [("antivirus".to_owned(), text.to_owned())]);
    assert_eq!(stream(&reading, "antivirus"), (Complete, ""));
    assert_eq!(verdicts(org(&reading, "9")), well_but(&["END-05"]));
    assert!(group(&reading, "9/antivirus").is_whole, "what it said before does not count any more");
    let rows = tool.rows("/v2/queries/antivirus-status").into_iter().map(|mut it| {
        it["state"] = it.as_object_mut().unwrap().remove("productState").unwrap();
        it
    });
    tool.set("/v2/queries/antivirus-status", rows.collect());
    let reading = read_ninja(&tool);
    let reason = "field productState absent from 6 of 6 rows";
    assert_eq!(stream(&reading, "antivirus"), (Partial, reason));
    assert!(!group(&reading, "9/antivirus").is_whole);
    assert_eq!(verdicts(org(&reading, "9")), well_but(&["END-05", "END-06"]));
}
