//! The system clock is set wrong while the service runs.

use posture::app::upkeep::clock_watch::{ClockStep, ClockWatch};
use posture::clock::{Reading, Time};

const DAY_S: i64 = 86_400;
const HOUR_S: i64 = 3_600;

/// What both clocks show `uptime_s` after the start, if the system clock is `ahead_s` ahead.
fn reading(uptime_s: i64, ahead_s: i64) -> Reading {
    Reading { at: Time::from_s(1_800_000_000 + uptime_s + ahead_s), uptime_s: 500 + uptime_s }
}

#[test]
fn a_day_ahead_is_believed_and_more_only_after_six_hours() {
    let watch = ClockWatch::of(reading(0, 0));
    assert_eq!(watch.look(reading(10 * DAY_S, 0)), None, "time that passed is no step");
    let mut ahead_s = DAY_S;
    assert_eq!(watch.look(reading(10 * DAY_S + 2, ahead_s)), None);
    ahead_s += DAY_S + 1;
    let at_s = 10 * DAY_S + 4;
    let went = Some(ClockStep::WentAhead { by_s: DAY_S + 1 });
    assert_eq!(watch.look(reading(at_s, ahead_s)), went);
    assert_eq!(watch.ahead_s(), DAY_S + 1);
    assert_eq!(watch.look(reading(at_s + 6 * HOUR_S - 1, ahead_s)), None);
    assert_eq!(watch.ahead_s(), DAY_S + 1);
    assert_eq!(watch.look(reading(at_s + 6 * HOUR_S, ahead_s)), Some(ClockStep::Believed));
    assert_eq!(watch.look(reading(at_s + 7 * HOUR_S, ahead_s)), None);
    assert_eq!(watch.ahead_s(), 0);
}

#[test]
fn a_clock_that_comes_back_or_goes_back_is_told_once() {
    let watch = ClockWatch::of(reading(0, 0));
    assert_eq!(watch.look(reading(2, -DAY_S)), None);
    let back = Some(ClockStep::WentBack { by_s: DAY_S + 1 });
    assert_eq!(watch.look(reading(4, -2 * DAY_S - 1)), back);
    assert_eq!(watch.look(reading(6, -2 * DAY_S - 1)), None);
    assert_eq!(watch.ahead_s(), 0);
    let years_s = 3_650 * DAY_S;
    assert!(watch.look(reading(8, years_s)).is_some());
    assert_eq!(watch.look(reading(10, -2 * DAY_S)), Some(ClockStep::CameBack));
    assert_eq!(watch.look(reading(12, -2 * DAY_S)), None);
    assert_eq!(watch.ahead_s(), 0);
}

/// Needs libfaketime.
mod needs_faketime {
    use std::time::Duration;

    use posture::clock::Clock;
    use serde_json::{Value, json};

    use crate::harness::process::{Folder, Server, wait_until};
    use crate::harness::tool::faketime;
    use crate::ingest::{file, finding};

    const WAIT: Duration = Duration::from_mins(1);
    const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[data]
dir = "data"
[webhooks]
retry_gaps_s = [0, 600]
allow_http_networks = ["127.0.0.0/8"]
allow_private_networks = ["127.0.0.0/8"]
"#;

    /// A control that asks of databases; the critical ones count for more.
    fn status(folder: &Folder, client: &str) -> String {
        let posture = folder.ask(&format!("/api/clients/{client}/posture"));
        let controls = posture["data"]["controls"].as_array().unwrap();
        let control = controls.iter().find(|it| it["controlCode"] == "CLD-03").unwrap();
        control["status"].as_str().unwrap().to_owned()
    }

    fn import_databases(folder: &Folder, client: &str) {
        let now = Clock::System.now().to_string();
        let databases = [("database-a", true), ("database-b", true), ("database-c", false)];
        let findings = databases.map(|(uid, passes)| {
            let mut it = finding("iam_user_mfa_enabled_console_access", passes, &now);
            it["resources"][0]["uid"] = json!(uid);
            it
        });
        folder.write("findings.json", &file(&findings));
        folder.ok(&["import", "--client", client, "findings.json"]);
    }

    /// How often the first delivery to the webhook was attempted.
    fn n_attempts(folder: &Folder, webhook: &str) -> u64 {
        let deliveries = folder.ask(&format!("/api/webhooks/{webhook}/deliveries"));
        deliveries["data"][0]["attempts"].as_array().map_or(0, |it| it.len() as u64)
    }

    fn notices(folder: &Folder) -> Value {
        folder.ask("/api/system")["data"]["notices"].clone()
    }

    #[test]
    #[ignore = "needs libfaketime"]
    fn nobody_is_assessed_while_the_clock_is_years_ahead() {
        let folder = Folder::new();
        folder.write("posture.toml", CONFIG.as_bytes());
        folder.write("offset", b"+0");
        let mut command = folder.command(&["serve"]);
        command
            .env("LD_PRELOAD", faketime())
            .env("FAKETIME_TIMESTAMP_FILE", folder.path().join("offset"))
            .envs(["FAKETIME_DONT_FAKE_MONOTONIC", "FAKETIME_NO_CACHE"].map(|it| (it, "1")));
        let server = Server::start(&mut command, &folder.path().join("serve.log"));
        let (client, key) = (folder.client("Example"), folder.key("1000"));
        import_databases(&folder, &client);
        assert_eq!(status(&folder, &client), "partial");

        folder.write("offset", b"+3650d");
        let ahead = || server.metric("posture_clock_ahead_seconds");
        assert!(wait_until(WAIT, || 3_649 * 86_400 < ahead()), "the step is found");
        assert_eq!(notices(&folder)[0]["kind"], "clock_ahead");
        let add = ["webhook", "add", "--url", "http://127.0.0.1:1/", "--event", "all"];
        let webhook = folder.json(&add)["data"]["id"].as_str().unwrap().to_owned();
        let asset = json!({
            "clientId": client, "name": "database-c", "externalId": "database-c",
            "assetType": "cloud_resource", "isCritical": true,
        });
        assert_eq!(server.send("POST", &key, "/assets", &asset).status, 201);
        // Assets are assessed after three seconds.
        std::thread::sleep(Duration::from_secs(8));
        assert_eq!(status(&folder, &client), "partial");
        assert_eq!(n_attempts(&folder, &webhook), 1);

        folder.write("offset", b"+0");
        assert!(wait_until(WAIT, || ahead() == 0), "the return is found");
        assert_eq!(notices(&folder), json!([]));
        let is_assessed = || status(&folder, &client) == "non_compliant";
        assert!(wait_until(WAIT, is_assessed), "what was pushed meanwhile");
        let is_retried = || 1 < n_attempts(&folder, &webhook);
        assert!(wait_until(WAIT, is_retried), "what was to be retried in ten years");
        let log = folder.ask("/api/audit?limit=100")["data"].to_string();
        assert!(log.contains("clock ahead by 3650 days") && log.contains("clock back"), "{log}");
    }
}
