//! The tests that need answers that real servers gave.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posture::clock::Time;
use posture::connect::device::{Device, assets, judge};
use posture::connect::mapping::{Answers, Mapping, apply, embedded};
use posture::connect::reading::JudgedStatus::NonCompliant;
use posture::connect::reading::StreamState;
use posture::engine::asset::AssetType;
use serde_json::Value;

use super::tool::{OWN_ENTERED, Tool, mapping, stream};
use super::{LEAST, mapped};
use crate::connect::vendor::told;

/// What `POSTURE_STANDINS` names, or a folder beside the repository.
fn standin(path: &str) -> Value {
    let named = std::env::var_os("POSTURE_STANDINS").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/standins");
    let path = named.unwrap_or_else(beside).join(path);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn tactical() -> Arc<Mapping> {
    embedded().iter().find(|it| it.kind == "tactical").cloned().unwrap()
}

/// When the answers were recorded, to the hour.
fn recorded() -> Time {
    "2026-11-22T02:00:00Z".parse().unwrap()
}

#[test]
#[ignore = "needs the recorded answers of real servers"]
fn what_a_real_tactical_server_answers_is_read_whole() {
    let mapping = tactical();
    let mut answers = Answers::new();
    for stream in &mapping.streams {
        let answer = standin(&format!("tactical/{}.json", stream.name));
        answers.insert(stream.name.clone(), stream.rows_of(&answer).unwrap().to_vec());
    }
    let mapped = apply(&mapping, &answers);
    assert_eq!((mapped.partial, mapped.unmapped), (BTreeMap::new(), BTreeMap::new()));
    assert_eq!(mapped.organizations.unwrap().len(), 6);
    let devices = mapped.devices.unwrap();
    assert_eq!(devices.len(), 40);
    assert!(
        devices
            .iter()
            .all(|it| !it.org.is_empty() && it.os.name.is_some() && it.last_boot.is_some())
    );
    let n = |kind| devices.iter().filter(|it| it.kind == Some(kind)).count();
    assert_eq!((n(AssetType::Server), n(AssetType::Workstation)), (22, 18));
    let assets = assets(&devices, "");
    assert!(assets.iter().all(|it| it.serial.is_none()), "empty, or the same one on ten of them");
    assert!(assets.iter().all(|it| it.is_managed && it.ip.is_some() && it.seen_at.is_some()));
    let judged = judge(&devices, &mapped.known, recorded());
    let said: Vec<_> = judged
        .iter()
        .map(|it| {
            let count = it.count.as_ref();
            (it.control, it.status, count.map(|it| (it.n_passed, it.failing.len())))
        })
        .collect();
    // 32 Windows 10 1909, 8.1 and Server 2012 R2, macOS 12 and Debian 11 have ended; 11 servers have not; Raspbian is unknown.
    let os = said.iter().find(|it| it.0 == "END-09").unwrap();
    assert_eq!((os.1, os.2), (NonCompliant, Some((11, 28))), "{said:?}");
    let seen = said.iter().find(|it| it.0 == "END-02").unwrap();
    assert_eq!(seen.2, Some((40, 0)));
    let reboot = devices.iter().filter(|it| is_overdue(it)).count();
    let found = said.iter().find(|it| it.0 == "END-10").unwrap();
    assert_eq!(found.2.unwrap().1, reboot);
    assert!(0 < reboot);
}

/// Written anew, apart from the rule.
fn is_overdue(it: &Device) -> bool {
    it.needs_reboot == Some(true) && it.last_boot.unwrap().plus_days(7) < recorded()
}

#[test]
#[ignore = "needs the recorded answers of real servers"]
fn what_a_real_tactical_server_refuses_with_is_no_list() {
    for (name, stream) in ["bad", "expired", "none", "version", "wu1"]
        .into_iter()
        .zip(tactical().streams.iter().cycle())
    {
        let answer = standin(&format!("tactical/{name}.json"));
        assert_eq!(stream.rows_of(&answer), None, "{name}");
    }
}

#[test]
#[ignore = "needs the recorded answers of real servers"]
fn a_real_tactical_server_is_read_list_by_list() {
    let (tool, tactical) = (Tool::start(), mapping("tactical"));
    let serve = |path: &str, status: u16, file: &str| {
        let body = standin(&format!("tactical/{file}.json")).to_string();
        tool.fail(path, move |_, _| Some(told(status, &[], &body)));
    };
    let read = || tool.read(&tactical, &OWN_ENTERED);
    serve("/clients/", 200, "clients");
    serve("/agents/", 200, "agents");
    let reading = read();
    assert_eq!(tool.asked(), ["/clients/", "/agents/?detail=true"]);
    let orgs = reading.orgs.as_ref().unwrap();
    let n_devices: u32 = orgs.iter().filter_map(|it| it.n_devices).sum();
    assert_eq!((orgs.len(), n_devices), (6, 40));
    assert!(reading.groups[0].notes.is_empty(), "{:?}", reading.groups[0].notes);
    let groups = || orgs.iter().flat_map(|it| &it.groups);
    assert!(groups().all(|it| it.is_whole && it.scope.parse::<u32>().is_ok()));
    let said: BTreeSet<&str> =
        groups().flat_map(|it| &it.observations).map(|it| it.control).collect();
    assert_eq!(said.into_iter().collect::<Vec<_>>(), ["END-02", "END-09", "END-10"]);
    serve("/agents/", 403, "none");
    let permission =
        "not allowed; grant List Agents: \"You do not have permission to perform this action.\"";
    assert_eq!(stream(&read(), "agents"), (StreamState::Denied, permission));
    for (file, words) in [("bad", "Invalid token."), ("expired", "The token has expired.")] {
        serve("/clients/", 401, file);
        let reading = read();
        let (_, reason) = stream(&reading, "sign_in");
        assert!(
            reason.contains(words) && reason.contains("check API key and the origin"),
            "{reason}"
        );
    }
}

/// A mapping that an MSP may write: the language has what its answers need.
#[test]
#[ignore = "needs the recorded answers of real servers"]
fn what_a_real_meshcentral_lists_can_be_mapped() {
    let text = format!(
        "{LEAST}[device]\nstream = \"devices\"\nid = \"/_id\"\nname = \"/name\"\norg = \"/groupname\"\n\
         hostname = \"/rname\"\nip = \"/ip\"\nos_name = \"/osdesc\"\n\
         last_seen = {{ at = \"/agct\", time = \"ms\" }}\n\
         online = {{ at = \"/conn\", words = {{ 0 = false, 1 = true }} }}\n\
         kind = {{ at = \"/mtype\", words = {{ 2 = \"workstation\" }} }}\n"
    );
    let mapped = mapped(&text, &[("devices", standin("meshcentral/devices.json"))]);
    assert_eq!((mapped.partial, mapped.unmapped), (BTreeMap::new(), BTreeMap::new()));
    let devices = mapped.devices.unwrap();
    let [it] = &devices[..] else { panic!("{devices:?}") };
    assert_eq!((&*it.name, &*it.org, it.online), ("vm", "Acme Ltd", Some(true)));
    assert_eq!(it.os.name.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    let judged = judge(&devices, &mapped.known, "2026-11-23T00:00:00Z".parse().unwrap());
    let said: Vec<_> = judged.iter().map(|it| (it.control, it.status.as_str())).collect();
    assert_eq!(said, [("END-02", "compliant"), ("END-09", "compliant")]);
}
