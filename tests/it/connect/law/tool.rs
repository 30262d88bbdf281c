//! Remote management tools and the like, read from servers that break a list at a time.

use posture::connect::mapping::{EXAMPLE, FILES, check};
use posture::connect::reading::Group;
use serde_json::{Value, json};

use super::{Fault, drive, groups};
use crate::connect::fault_table::tool::{Declared, Huntress, Tactical};
use crate::connect::mapping::tool::{
    DATTO_ENTERED, NINJA_ENTERED, OWN_ENTERED, SECRET, Tool, agents, datto, mapping, ninja, now_s,
    own,
};
use crate::connect::vendor::told;
use crate::harness::long::is_long;

/// A name, and how it differs from a tool that answers that all is well.
type Change = (&'static str, fn(&Tool));

/// A tool as its mapping reads it.
struct Kind {
    name: &'static str,
    /// Of the mapping, without its end. Empty: it is the example of one.
    file: &'static str,
    start: fn() -> Tool,
    entered: &'static [(&'static str, &'static str)],
    paths: &'static [&'static str],
    worlds: &'static [Change],
}

fn read_world(kind: &Kind, change: fn(&Tool), faults: &[(&'static str, Fault)]) -> Vec<Group> {
    let tool = (kind.start)();
    change(&tool);
    for (path, fault) in faults.iter().copied() {
        let pages = tool.rows(path).len().div_ceil(2);
        if fault == Fault::Cut {
            tool.set_page_max(2);
        }
        tool.fail(path, move |_, nth| match fault {
            Fault::Denied => Some(told(403, &[], "{}")),
            Fault::Failing => Some(told(501, &[], "{}")),
            Fault::Cut if pages < 2 => {
                Some(told(200, &[("Content-Type", "application/json")], "{\"da"))
            }
            Fault::Cut => (1 < nth).then(|| told(400, &[], "{}")),
        });
    }
    groups(tool.read(&mapping(kind.file), kind.entered))
}

fn law(kind: &Kind) {
    let single = kind.paths.iter().flat_map(|path| Fault::ALL.map(|fault| vec![(*path, fault)]));
    let pairs = kind.paths.iter().enumerate().flat_map(|(nth, first)| {
        let others = if is_long() { &kind.paths[nth + 1..] } else { &[] };
        others.iter().map(|second| vec![(*first, Fault::Denied), (*second, Fault::Denied)])
    });
    let named = |case: Vec<(&'static str, Fault)>| {
        let parts: Vec<String> =
            case.iter().map(|(path, fault)| format!("{path} {fault:?}")).collect();
        (parts.join(" and "), case)
    };
    let faults: Vec<_> = single.chain(pairs).map(named).collect();
    let law = drive(kind.name, kind.worlds, &faults, |change, faults| {
        read_world(kind, *change, faults.map_or(&[], Vec::as_slice))
    });
    let file = format!("{}.toml", kind.file);
    let text = FILES.into_iter().find(|(it, _)| *it == file).map_or(EXAMPLE, |(_, text)| text);
    let controls = check("test.toml", text).unwrap().controls;
    law.end(controls.iter().map(|it| &**it));
}

/// Changes rows of a list.
fn change(tool: &Tool, path: &str, change: impl Fn(usize, &mut Value)) {
    let mut rows = tool.rows(path);
    rows.iter_mut().enumerate().for_each(|(nth, row)| change(nth, row));
    tool.set(path, rows.into());
}

/// The rows of the first client are of these devices, of which a part is weak.
fn weaken_ninja(tool: &Tool, is_weak: fn(usize) -> bool) {
    let query = |name: &str| format!("/v2/queries/{name}");
    let weak = |path: &str, fields: Value| {
        change(tool, path, |nth, row| {
            if is_weak(nth) {
                row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            }
        });
    };
    weak(
        &query("operating-systems"),
        json!({"name": "Windows Server 2008 Standard", "buildNumber": "6003", "needsReboot": true,
            "lastBootTime": now_s() - 90 * 86_400}),
    );
    weak(&query("antivirus-status"), json!({"productState": "OFF"}));
    weak(&query("device-health"), json!({"activeThreatsCount": 3}));
    weak(&query("volumes"), json!({"bitLockerStatus": {"protectionStatus": "UNPROTECTED"}}));
    weak("/v2/backup/jobs", json!({"jobEndTime": now_s() - 30 * 86_400}));
    weak("/v2/user/technicians", json!({"mfaConfigured": false, "authType": "NATIVE"}));
    let failed = |nth: usize| json!({"deviceId": 700 + nth, "severity": "CRITICAL", "impact": "CRITICAL", "status": "FAILED"});
    let failed: Value = (0..2).filter(|nth| is_weak(*nth)).map(failed).collect();
    tool.set(&query("os-patches"), failed.clone());
    tool.set(&query("software-patches"), failed);
}

const NINJA_PATHS: [&str; 13] = [
    "/v2/organizations",
    "/v2/devices-detailed",
    "/v2/queries/operating-systems",
    "/v2/queries/computer-systems",
    "/v2/queries/antivirus-status",
    "/v2/queries/device-health",
    "/v2/queries/os-patches",
    "/v2/queries/os-patch-installs",
    "/v2/queries/software-patches",
    "/v2/queries/software-patch-installs",
    "/v2/queries/volumes",
    "/v2/backup/jobs",
    "/v2/user/technicians",
];

#[test]
fn ninjaone() {
    law(&Kind {
        name: "NinjaOne",
        file: "ninjaone",
        start: ninja,
        entered: &NINJA_ENTERED,
        paths: &NINJA_PATHS,
        worlds: &[
            ("everything is wrong", |tool| {
                weaken_ninja(tool, |_| true);
                let old = now_s() - 20 * 86_400;
                change(tool, "/v2/devices-detailed", |_, row| row["lastContact"] = old.into());
            }),
            ("nothing is protected or found, and one of two is silent", |tool| {
                change(tool, "/v2/queries/antivirus-status", |_, row| {
                    row["productState"] = "OFF".into();
                });
                let silent = now_s() - 60 * 86_400;
                change(tool, "/v2/devices-detailed", |nth, row| {
                    if nth % 2 == 1 {
                        row["lastContact"] = silent.into();
                    }
                });
            }),
            ("every second is wrong", |tool| weaken_ninja(tool, |nth| nth % 2 == 0)),
            ("in good order", |_| ()),
        ],
    });
}

#[test]
fn datto_rmm() {
    const DEVICES: &str = "/api/v2/account/devices";
    fn weaken(tool: &Tool, is_weak: fn(usize) -> bool) {
        change(tool, DEVICES, |nth, row| {
            if is_weak(nth) {
                row["antivirus"]["antivirusStatus"] = "NotRunning".into();
                row["patchManagement"]["patchStatus"] = "InstallError".into();
                row["operatingSystem"] = "Microsoft Windows Server 2008 Standard 6.0.6002".into();
                row["rebootRequired"] = true.into();
                row["lastReboot"] = ((now_s() - 90 * 86_400) * 1_000).into();
            }
        });
    }
    law(&Kind {
        name: "Datto RMM",
        file: "datto",
        start: || datto(5),
        entered: &DATTO_ENTERED,
        paths: &["/api/v2/account/sites", DEVICES],
        worlds: &[
            ("everything is wrong", |tool| weaken(tool, |_| true)),
            ("one is wrong, and one is silent", |tool| {
                weaken(tool, |nth| nth == 4);
                change(tool, DEVICES, |nth, row| {
                    if nth == 0 {
                        row["lastSeen"] = ((now_s() - 60 * 86_400) * 1_000).into();
                    }
                });
            }),
            ("in good order", |_| ()),
        ],
    });
}

#[test]
fn tactical_rmm() {
    const AGENTS: &str = "/agents/";
    law(&Kind {
        name: "Tactical RMM",
        file: "tactical",
        start: Tactical::start,
        entered: &OWN_ENTERED,
        paths: &["/clients/", AGENTS],
        worlds: &[
            ("everything is wrong", |tool| {
                change(tool, AGENTS, |_, row| {
                    row["operating_system"] =
                        "Microsoft Windows Server 2008 R2, 64bit (build 7601)".into();
                    row["needs_reboot"] = true.into();
                    row["boot_time"] = (now_s() - 90 * 86_400).into();
                });
            }),
            ("one is wrong, and one is silent", |tool| {
                change(tool, AGENTS, |nth, row| {
                    if nth == 1 {
                        row["last_seen"] = "2024-01-01T00:00:00Z".into();
                    }
                });
            }),
        ],
    });
}

#[test]
fn huntress() {
    const ENTERED: [(&str, &str); 3] = [("region", "us"), ("username", "AK"), ("password", SECRET)];
    const AGENTS: &str = "/v1/agents";
    const INCIDENTS: &str = "/v1/incident_reports";
    fn incident(tool: &Tool) {
        let now = jiff::Timestamp::now().to_string();
        tool.set(
            INCIDENTS,
            json!([{"id": 1, "agent_id": 903, "organization_id": 30, "platform": "windows", "status": "sent",
                "severity": "critical", "sent_at": now, "closed_at": null}]),
        );
    }
    law(&Kind {
        name: "Huntress",
        file: "huntress",
        start: Huntress::start,
        entered: &ENTERED,
        paths: &["/v1/organizations", AGENTS, INCIDENTS],
        worlds: &[
            ("everything is wrong", |tool| {
                incident(tool);
                change(tool, AGENTS, |_, row| {
                    row["firewall_status"] = "Disabled".into();
                    row["defender_status"] = "Unhealthy".into();
                    row["os"] = "Windows 7 Professional".into();
                    row["win_build_number"] = 7_601.into();
                    row["os_build_version"] = "6.1.7601".into();
                });
            }),
            ("one is wrong, one is silent, and one has no agent", |tool| {
                incident(tool);
                change(tool, AGENTS, |nth, row| match nth {
                    1 => row["last_callback_at"] = "2024-01-01T00:00:00Z".into(),
                    2 => row["edr_version"] = "".into(),
                    3 => row["defender_substatus"] = "Out of date".into(),
                    _ => (),
                });
            }),
            ("one has no firewall", |_| ()),
        ],
    });
}

#[test]
fn a_mapping_of_our_own() {
    const AGENTS: &str = "/api/agents";
    law(&Kind {
        name: "a mapping of our own",
        file: "",
        start: own,
        entered: &OWN_ENTERED,
        paths: &["/api/sites", AGENTS],
        worlds: &[
            ("everything is wrong", |tool| {
                tool.set(AGENTS, agents(&[1, 2], 10));
                change(tool, AGENTS, |_, row| {
                    row["disk_encrypted"] = false.into();
                    row["seen"] = (now_s() - 20 * 86_400).into();
                });
            }),
            ("one is wrong, and one is silent", |tool| {
                change(tool, AGENTS, |nth, row| row["disk_encrypted"] = (nth != 0).into());
                change(tool, AGENTS, |nth, row| {
                    if nth == 1 {
                        row["seen"] = (now_s() - 60 * 86_400).into();
                    }
                });
            }),
            ("in good order", |_| ()),
        ],
    });
}
