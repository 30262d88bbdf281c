//! The tests of schedules that need aiosmtpd, a mail server that others wrote.

use std::path::Path;
use std::time::Duration;

use posture::mail::MailOptions;
use posture::paper::signature::verify;
use posture::serve::ServeOptions;
use serde_json::{Value, json};

use crate::harness::Posture;
use crate::harness::process::Folder;
use crate::mail::server::{MailServer, file};
use crate::mail::{WAIT, add, at, ended, every, find, list, move_to, notices, options, schedule};
use crate::manage::{MIXED, import};

const DUE: &str = "2026-03-31T06:00:00Z";

/// A client with a score and a risk.
fn client(posture: &Posture, name: &str) -> Value {
    let client =
        posture.client_with(&json!({"name": name, "industry": "Legal", "employeeCount": 40}));
    import(posture, &client, "", MIXED);
    json!(client)
}

/// With a name and an address of the console on its reports.
fn named(port: u16) -> impl FnOnce(&mut ServeOptions) {
    move |it| {
        it.app.mail = Some(options(port));
        it.app.letterhead.name = Some("Northwind".to_owned());
        it.app.public_url = Some("https://posture.example.com".to_owned());
    }
}

fn audited(posture: &Posture, action: &str) -> Vec<Value> {
    let log = posture.operator("GET", "/api/audit?limit=100", &Value::Null).json();
    let entries = log["data"].as_array().unwrap().clone();
    entries.into_iter().filter(|it| it["action"] == action).collect()
}

#[test]
#[ignore = "needs aiosmtpd"]
fn a_report_arrives_once_when_it_is_due_as_the_service_signed_it() {
    let server = MailServer::start(&json!({}));
    let posture = Posture::start_with(named(server.port));
    let (acme, _) = (client(&posture, "Acme & Söhne"), client(&posture, "Canary"));
    let to = json!({"recipients": ["ada@example.com", "grace@example.com"]});
    let id = add(&posture, &schedule(&acme, &to));
    move_to(&posture, "2026-03-31T05:59:59Z");
    std::thread::sleep(Duration::from_secs(5));
    assert!(server.taken().is_empty(), "a second too early");
    move_to(&posture, DUE);
    let message = server.wait_for(1).remove(0);
    assert_eq!(message["from"], "reports@northwind.example");
    assert_eq!(message["to"], json!(["ada@example.com", "grace@example.com"]));
    let headers = &message["headers"];
    assert_eq!(headers["Subject"], "Security and compliance report: Acme & Söhne");
    assert_eq!(headers["From"], "Northwind <reports@northwind.example>");
    assert_eq!(
        headers["To"], message["headers"]["From"],
        "several recipients do not see each other"
    );
    assert_eq!(headers["Auto-Submitted"], "auto-generated");
    assert_eq!(headers["Date"], "Tue, 31 Mar 2026 06:00:00 +0000");
    let text = message["text"].as_str().unwrap();
    for said in [
        "Security and compliance report: Acme & Söhne, as of March 31, 2026, 08:00 UTC+2",
        "Acme & Söhne scores 1 of 100, a grade of F.",
        "The report is attached as a PDF file.",
        &format!("In the console: https://posture.example.com/clients/{}", acme.as_str().unwrap()),
        "Northwind sends this report every month on day 31 at 8:00 (Europe/Paris).",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!message.to_string().contains("Canary"), "another client's name");
    assert_eq!(message["files"][0]["name"], "Acme-S-hne-report-en.pdf");
    let signature = verify(&file(&message)).unwrap();
    assert_eq!((&*signature.by, signature.at), ("Northwind", DUE.parse().unwrap()));
    let sent = ended(&posture, &id, &Value::Null);
    assert_eq!(sent["last"]["delivered"], json!(["ada@example.com", "grace@example.com"]));
    assert_eq!(sent["last"]["failure"], Value::Null);
    assert_eq!(sent["nextAt"], "2026-04-30T06:00:00.000Z");
    let audited = audited(&posture, "send a scheduled report");
    assert_eq!(audited.len(), 1);
    let about = audited[0]["about"].as_str().unwrap();
    assert!(about.contains(&id) && about.ends_with(": ada@example.com, grace@example.com"));
    posture.pass_days(1);
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(server.taken().len(), 1, "once");
    move_to(&posture, "2026-04-30T06:00:00Z");
    let both = server.wait_for(2);
    assert_ne!(both[0]["headers"]["Message-ID"], both[1]["headers"]["Message-ID"]);
}

#[test]
#[ignore = "needs aiosmtpd"]
fn a_french_report_on_a_framework_and_one_on_all_clients_arrive() {
    let server = MailServer::start(&json!({}));
    let posture = Posture::start_with(named(server.port));
    let acme = client(&posture, "Acme");
    add(&posture, &schedule(&acme, &json!({"framework": "SOC2", "language": "fr"})));
    let all = add(&posture, &schedule(&Value::Null, &json!({"when": every("week", 1, 8, "UTC")})));
    assert_eq!(find(&posture, &all)["nextAt"], "2026-03-16T08:00:00.000Z");
    let now = posture.operator("POST", &format!("/api/report-schedules/{all}/send"), &json!({}));
    assert_eq!(now.status, 200, "{}", now.text());
    let message = server.wait_for(1).remove(0);
    assert_eq!(message["headers"]["Subject"], "Portfolio report: 1 client");
    assert!(message["text"].as_str().unwrap().contains("The mean score of 1 client is"));
    assert!(message["text"].as_str().unwrap().contains("every Monday at 8:00 (UTC)"));
    assert!(verify(&file(&message)).is_ok());
    let sent = ended(&posture, &all, &Value::Null);
    assert_eq!(sent["nextAt"], "2026-03-16T08:00:00.000Z", "its due time stays");
    move_to(&posture, DUE);
    let messages = server.wait_for(3);
    let french =
        messages.iter().find(|it| it["headers"]["Subject"] == "Rapport de conformité : Acme");
    let french = french.unwrap();
    let text = french["text"].as_str().unwrap();
    for said in [
        "exigences de SOC 2",
        "Le rapport est joint en fichier PDF.",
        "Northwind envoie ce rapport chaque mois, le 31, à 8\u{a0}h (Europe/Paris).",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(verify(&file(french)).is_ok());
}

#[test]
#[ignore = "needs aiosmtpd"]
fn a_month_without_the_service_sends_one_report_and_says_so() {
    let server = MailServer::start(&json!({}));
    let posture = Posture::start_with(at(server.port));
    let acme = client(&posture, "Acme");
    let id = add(&posture, &schedule(&acme, &json!({"when": every("week", 1, 8, "UTC")})));
    let clock = posture.clock.clone();
    let moved = |_: &Path| clock.set("2026-04-15T12:00:00Z".parse().unwrap());
    let posture = posture.restart_after(moved, at(server.port));
    let message = server.wait_for(1).remove(0);
    let text = message["text"].as_str().unwrap();
    let said = "This report was due on March 16, 2026, 08:00 UTC. Due times that passed since then \
                without a message of their own: 4.";
    assert!(text.replace('\n', " ").contains(said), "{text}");
    let sent = ended(&posture, &id, &Value::Null);
    assert_eq!(
        (&sent["last"]["missed"], &sent["nextAt"]),
        (&json!(4), &json!("2026-04-20T08:00:00.000Z"))
    );
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(server.taken().len(), 1);
}

#[test]
#[ignore = "needs aiosmtpd"]
fn a_report_that_a_restart_interrupts_is_sent_again_with_the_same_id() {
    let server = MailServer::start(&json!({"replies": {"DATA": ["lose"]}}));
    let posture = Posture::start_with(at(server.port));
    let id = add(&posture, &schedule(&client(&posture, "Acme"), &json!({})));
    move_to(&posture, DUE);
    server.wait_for(1); // And does not say so.
    let posture = posture.restart_after(|_| (), at(server.port));
    let found = find(&posture, &id);
    assert_eq!((&found["sending"], &found["last"]), (&json!(true), &Value::Null));
    posture.pass_s(601);
    let messages = server.wait_for(2);
    let ids = messages.iter().map(|it| it["headers"]["Message-ID"].clone());
    let ids: Vec<Value> = ids.collect();
    assert_eq!(ids[0], ids[1], "a receiver can tell");
    let sent = ended(&posture, &id, &Value::Null);
    assert_eq!(sent["last"]["delivered"], json!(["ada@example.com"]));
    assert_eq!(sent["nextAt"], "2026-04-30T06:00:00.000Z");
}

#[test]
#[ignore = "needs aiosmtpd"]
fn a_greylisted_recipient_gets_it_later_and_a_refused_one_never() {
    let server = MailServer::start(&json!({
        "replies": {"RCPT": ["450 4.2.0 Greylisted, see http://postgrey.example/"]},
        "refuse": {"gone@example.com": "550 5.1.1 No such user here"},
    }));
    let posture = Posture::start_with(at(server.port));
    let to = ["slow@example.com", "gone@example.com", "ada@example.com"];
    let id = add(&posture, &schedule(&client(&posture, "Acme"), &json!({ "recipients": to })));
    move_to(&posture, DUE);
    let first = ended(&posture, &id, &Value::Null);
    let last = &first["last"];
    assert_eq!(last["delivered"], json!(["ada@example.com"]));
    assert_eq!(last["refused"][0]["recipient"], "gone@example.com");
    let said = last["refused"][0]["message"].as_str().unwrap();
    assert!(
        said.contains("refused the recipient: 550 5.1.1 No such user here; correct or remove"),
        "{said}"
    );
    assert_eq!((&last["failure"]["kind"], &last["retrying"]), (&json!("later"), &json!(true)));
    assert_eq!(server.taken()[0]["to"], json!(["ada@example.com"]));
    posture.pass_s(361);
    let second = ended(&posture, &id, &last["at"]);
    assert_eq!(second["last"]["delivered"], json!(["ada@example.com", "slow@example.com"]));
    assert_eq!(
        (&second["last"]["failure"], &second["last"]["retrying"]),
        (&Value::Null, &json!(false))
    );
    let taken = server.wait_for(2);
    assert_eq!(taken[1]["to"], json!(["slow@example.com"]), "to nobody twice");
    let failing = posture.operator("GET", "/api/report-schedules?failing=true", &Value::Null);
    assert_eq!(failing.json()["data"].as_array().unwrap().len(), 1, "somebody did not get it");
    let audited = audited(&posture, "a scheduled report was not sent");
    assert!(audited[0]["about"].as_str().unwrap().contains("gone@example.com"));
}

#[test]
#[ignore = "needs aiosmtpd"]
fn a_message_that_the_server_refuses_is_not_sent_again_by_itself() {
    for (settings, kind, said) in [
        (json!({"size": 2_000}), "too_large", "the message is too large for localhost:"),
        (
            json!({"replies": {"DATA": ["554 5.7.1 Spam"]}}),
            "refused",
            "refused the message: 554 5.7.1 Spam",
        ),
    ] {
        let server = MailServer::start(&settings);
        let posture = Posture::start_with(at(server.port));
        let id = add(&posture, &schedule(&client(&posture, "Acme"), &json!({})));
        move_to(&posture, DUE);
        let found = ended(&posture, &id, &Value::Null);
        let failure = &found["last"]["failure"];
        assert_eq!(failure["kind"], kind);
        assert!(failure["message"].as_str().unwrap().contains(said), "{failure}");
        assert_eq!(
            (&found["last"]["retrying"], found["nextAt"].as_str()),
            (&json!(false), Some("2026-04-30T06:00:00.000Z"))
        );
        assert_eq!(list(&posture)[0]["sending"], false);
        if kind == "refused" {
            let send = format!("/api/report-schedules/{id}/send");
            assert_eq!(posture.operator("POST", &send, &json!({})).status, 200);
            assert_eq!(server.wait_for(1).len(), 1, "by hand it is");
        }
    }
}

#[test]
#[ignore = "needs aiosmtpd"]
fn a_server_that_hangs_is_left_in_time_and_tried_again() {
    let server = MailServer::start(&json!({"replies": {"DATA": ["hang"]}}));
    let posture = Posture::start_with(|it| {
        it.app.mail = Some(MailOptions { timeout: Duration::from_secs(2), ..options(server.port) });
    });
    let id = add(&posture, &schedule(&client(&posture, "Acme"), &json!({})));
    move_to(&posture, DUE);
    let found = ended(&posture, &id, &Value::Null);
    let failure = &found["last"]["failure"];
    assert_eq!(failure["kind"], "unreachable");
    assert!(failure["message"].as_str().unwrap().contains("(no answer in 2 s)"), "{failure}");
    posture.pass_s(361);
    assert_eq!(server.wait_for(1)[0]["to"], json!(["ada@example.com"]));
    assert!(notices(&posture).is_empty());
}

#[test]
#[ignore = "needs aiosmtpd"]
fn the_command_line_manages_schedules() {
    let server =
        MailServer::start(&json!({"refuse": {"gone@example.com": "550 5.1.1 No such user here"}}));
    let folder = Folder::new();
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n\
         [mail]\nserver = \"127.0.0.1:{}\"\ntls = \"none\"\nfrom = \"reports@northwind.example\"\n",
        server.port
    );
    folder.write("posture.toml", config.as_bytes());
    folder.client("Acme Ltd");
    let _server = folder.serve();
    let schedule = |args: &[&str]| folder.ok(&[&["report", "schedule"], args].concat());
    assert_eq!(schedule(&["list"]), "no report schedules\n");
    let to = ["--to", "ada@example.com", "--to", "gone@example.com"];
    let of = ["add", "--client", "acme ltd", "--monthly", "31", "--time-zone", "Europe/Paris"];
    let id = schedule(&[&of[..], &to].concat()).trim().to_owned();
    let listed = schedule(&["list", "--client", "acme ltd"]);
    assert!(listed.contains("day 31 of the month at 8:00 Europe/Paris"), "{listed}");
    assert!(listed.contains("never"), "{listed}");
    schedule(&["send", &id]);
    let message = server.wait_for(1).remove(0);
    assert_eq!(message["to"], json!(["ada@example.com"]));
    assert!(verify(&file(&message)).is_ok());
    let start = std::time::Instant::now();
    while !schedule(&["list", "--failing"]).contains("gone@example.com: 127.0.0.1") {
        assert!(start.elapsed() < WAIT, "{}", schedule(&["list"]));
    }
    let all = schedule(&["add", "--to", "ada@example.com", "--weekly", "friday"]);
    assert!(schedule(&["list"]).contains("Fridays at 8:00 UTC"));
    schedule(&["remove", all.trim()]);
    schedule(&["remove", &id]);
    assert_eq!(schedule(&["list"]), "no report schedules\n");
}
