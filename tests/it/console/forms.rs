//! What can be done on pages: it is what the API does, in the name of who is signed in.

use serde_json::{Value, json};

use super::browser::{Browser, add_user, encode};
use super::with_admin;
use crate::harness::{Answer, Posture};
use crate::manage::{Finding, prowler};

/// A client with a failed control, as an import over a page leaves it.
fn imported(posture: &Posture, browser: &Browser) -> String {
    let client = posture.client("Fabrikam <b>&");
    let token = browser.token(&format!("/clients/{client}/imports"));
    let file = prowler(&[("iam_root_mfa_enabled", "FAIL", "critical", "root")]);
    let path = format!("/clients/{client}/imports");
    let answer = browser.upload(&path, &[("token", &token)], ("prowler.csv", &file));
    assert_eq!(answer.status, 303, "{}", answer.text());
    client
}

pub(super) fn api(posture: &Posture, path: &str) -> Value {
    posture.operator("GET", path, &Value::Null).json()["data"].clone()
}

/// Where a form leads whose session proved to be somebody's long ago.
fn asked_again(answer: &Answer) -> Option<&str> {
    answer.header("location").filter(|it| answer.status == 303 && it.starts_with("/confirm"))
}

#[test]
fn what_hands_something_out_or_destroys_it_asks_for_the_password_again() {
    let (posture, mut browser) = with_admin();
    let client = imported(&posture, &browser);
    let imports = api(&posture, &format!("/api/clients/{client}/imports"));
    let import = imports[0]["id"].as_str().unwrap().to_owned();
    let settings = format!("/clients/{client}/settings");
    let token = browser.token(&settings);
    posture.pass_s(15 * 60 + 1);
    // Pages on which data is handed out.
    for page in ["/reports", &format!("/clients/{client}/reports"), "/keys", "/webhooks", "/users"]
    {
        assert!(asked_again(&browser.get(page)).is_some(), "{page}");
    }
    let fields = [("token", &*token), ("recipients", "me@evil.example"), ("when.day", "1")];
    for path in ["/reports/add/week", &format!("/clients/{client}/reports/add/week")] {
        assert!(asked_again(&browser.post(path, &fields)).is_some(), "{path}");
    }
    // What says whose data something is, and what others may scan.
    let map = "/connections/01a2272b-7032-7000-8000-000000000000/organizations";
    let change = "/connections/01a2272b-7032-7000-8000-000000000000/settings";
    for path in [map, change, &format!("/clients/{client}/networks")] {
        let fields = [("token", &*token), ("settings.scanNetworks", "127.0.0.0/8")];
        assert!(asked_again(&browser.post(path, &fields)).is_some(), "{path}");
    }
    // What destroys leads back to its page.
    let undo = format!("/clients/{client}/imports/{import}");
    for (path, page) in [(format!("{settings}/remove"), &settings), (format!("{undo}/undo"), &undo)]
    {
        let answer = browser.post(&path, &[("token", &token)]);
        let next = format!("/confirm?next={}", encode(page));
        assert_eq!(asked_again(&answer), Some(&*next), "{path}");
    }
    assert_eq!(api(&posture, &format!("/api/clients/{client}"))["active"], true);
    // Other work goes on.
    let change = [("token", &*token), ("name", "Fabrikam"), ("active", "true")];
    let changed = browser.post(&settings, &change);
    assert_eq!(changed.header("location"), Some(&*format!("{settings}?done=change-client")));
}

#[test]
fn no_text_of_a_form_is_too_long_for_an_answer() {
    let (posture, mut browser) = with_admin();
    let client = posture.client("Acme");
    let token = browser.token("/scans");
    for n in [501, 70_000] {
        let long = "x".repeat(n);
        let answer = browser.post("/scans", &[("token", &token), ("clientId", &long)]);
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains("more than 500 characters"), "{}", answer.text());
    }
    let path = format!("/clients/{client}/evidence/files");
    let title = "\u{1f600}".repeat(8_000);
    let fields = [("token", &*token), ("title", &title), ("controlCode", "GOV-01")];
    let answer = browser.upload(&path, &fields, ("a.txt", b"x"));
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("too long"), "{}", answer.text());
}

#[test]
fn a_file_is_imported_and_undone() {
    let (posture, mut browser) = with_admin();
    let client = imported(&posture, &browser);
    let imports = api(&posture, &format!("/api/clients/{client}/imports"));
    assert_eq!(imports[0]["by"], "user ada@example.com");
    assert_eq!(imports[0]["fileName"], "prowler.csv");
    let page = format!("/clients/{client}/imports");
    let token = browser.token(&page);
    // The name of the client is text, not HTML.
    let shown = browser.get(&page).text();
    assert!(shown.contains("Fabrikam &lt;b&gt;&amp;") && !shown.contains("<b>"), "{shown}");
    let one = format!("{page}/{}", imports[0]["id"].as_str().unwrap());
    assert!(shown.contains(&format!("<a href=\"{one}\">prowler.csv</a>")), "{shown}");
    let undone = browser.post(&format!("{one}/undo"), &[("token", &token)]);
    assert_eq!(
        (undone.status, undone.header("location")),
        (303, Some(&*format!("{one}?done=undo-import")))
    );
    assert!(browser.get(undone.header("location").unwrap()).text().contains("is undone"));
    let later = browser.get(&one).text();
    assert!(later.contains("It was undone") && !later.contains("Undo the import"), "{later}");
    assert!(!api(&posture, &format!("/api/clients/{client}/imports"))[0]["undoneAt"].is_null());
}

#[test]
fn what_an_import_did_is_a_page_to_come_back_to() {
    let (posture, browser) = with_admin();
    let client = posture.client("Fabrikam");
    let path = format!("/clients/{client}/imports");
    let token = browser.token(&path);
    let findings =
        [("iam_root_mfa_enabled", "FAIL", "critical", "root"), ("x", "MANUAL", "low", "a<b>")];
    let send = |findings: &[Finding]| {
        let file = ("first <b>.csv", &*prowler(findings));
        let answer = browser.upload(&path, &[("token", &token)], file);
        assert_eq!(answer.status, 303, "{}", answer.text());
        answer.header("location").unwrap().to_owned()
    };
    let first = send(&findings);
    let page = browser.get(&first).text();
    assert!(page.contains("The file is imported."), "{page}");
    let address = first.strip_suffix("?done=import").unwrap();
    let reloaded = browser.get(address).text();
    assert!(!reloaded.contains("The file is imported."), "{reloaded}");
    for shown in [
        "<h1>Import of first &lt;b&gt;.csv</h1>",
        "<dt>Records read</dt><dd>2</dd>",
        "<th scope=\"row\">status MANUAL: needs a manual check</th><td class=\"n\">1</td>",
        "<span class=\"badge not_assessed\">not assessed</span></td><td><span class=\"badge non_compliant\">",
        "Undo the import",
    ] {
        assert!(reloaded.contains(shown), "{shown}: {reloaded}");
    }
    // The same file again leads to the same page, and says so.
    assert_eq!(send(&findings), format!("{address}?done=find-import"));
    let known = browser.get(&format!("{address}?done=find-import")).text();
    assert!(known.contains("This file was imported before."), "{known}");
    // A file that changes nothing says that, too.
    let second = browser.get(&send(&[])).text();
    assert!(second.contains("No control changed status."), "{second}");
    // A colleague sees it, and a viewer cannot undo it.
    add_user(&posture, "vi", "viewer", &[&client]);
    let viewer = Browser::signed_in(posture.address, "vi").get(address);
    assert_eq!(viewer.status, 200);
    assert!(!viewer.text().contains("Undo the import"), "{}", viewer.text());
    add_user(&posture, "eve", "viewer", &[&posture.client("Other")]);
    assert_eq!(Browser::signed_in(posture.address, "eve").get(address).status, 403);
}

#[test]
fn a_form_with_a_file_is_refused_as_others_are() {
    let (posture, browser) = with_admin();
    let client = posture.client("A");
    let path = format!("/clients/{client}/imports");
    let token = browser.token(&path);
    let file = ("a.txt", &b"nothing that any tool writes"[..]);
    for (fields, file, status, said) in [
        (vec![], file, 403, "session that has ended"),
        (vec![("token", "x")], file, 403, "session that has ended"),
        (vec![("token", token.as_str())], ("", &b""[..]), 400, "Choose a file first"),
        (vec![("token", token.as_str())], file, 400, "not recognized"),
        (vec![("token", token.as_str()), ("format", "nonsense")], file, 400, "format"),
    ] {
        let answer = browser.upload(&path, &fields, file);
        let text = answer.text();
        assert_eq!(answer.status, status, "{fields:?} {text}");
        assert!(text.contains(said), "{fields:?} {text}");
    }
    let imports = posture.operator("GET", &format!("/api{path}"), &Value::Null).json();
    assert_eq!(imports["pagination"]["total"], 0);
}

#[test]
fn what_is_wrong_with_a_file_is_said_in_the_words_of_the_page() {
    let (posture, _) = with_admin();
    let client = posture.client("A");
    posture.pass_days(100);
    let browser = Browser::signed_in(posture.address, "ada");
    let path = format!("/clients/{client}/imports");
    let token = browser.token(&path);
    let old = prowler(&[("iam_root_mfa_enabled", "FAIL", "critical", "root")]);
    for (file, said) in [
        (&*old, "If it shows the present state, check “The file shows the present state” and"),
        (&b"nothing that any tool writes"[..], "set “Format” under “More choices” to one of"),
    ] {
        let refused = browser.upload(&path, &[("token", &token)], ("a.csv", file));
        let text = refused.text();
        assert_eq!(refused.status, 400, "{text}");
        assert!(text.contains(said) && !text.contains(" --"), "{said}: {text}");
    }
    let present = [("token", token.as_str()), ("observedAt", "now")];
    assert_eq!(browser.upload(&path, &present, ("a.csv", &old)).status, 303);
}

#[test]
fn people_decide_on_pages() {
    let (posture, mut browser) = with_admin();
    let client = imported(&posture, &browser);
    let token = browser.token("/me");
    let risks = api(&posture, &format!("/api/clients/{client}/risks"));
    let risk = risks[0]["id"].as_str().unwrap();
    let path = format!("/clients/{client}/risks/{risk}");
    // What is wrong is said on the page, with what was filled in.
    let fields =
        [("token", token.as_str()), ("reason", "a reason of ours"), ("until", "2020-01-01")];
    let refused = browser.post(&format!("{path}/accept"), &fields);
    assert_eq!(refused.status, 400);
    let text = refused.text();
    assert!(text.contains("role=\"alert\"") && text.contains("a reason of ours"), "{text}");
    let fields =
        [("token", token.as_str()), ("reason", "a reason of ours"), ("until", "2026-12-31")];
    let accepted = browser.post(&format!("{path}/accept"), &fields);
    assert_eq!(accepted.status, 303, "{}", accepted.text());
    let acceptance = &api(&posture, &format!("/api{path}"))["acceptance"];
    assert_eq!(acceptance["by"], "ada@example.com");
    assert_eq!(acceptance["until"], "2026-12-31T23:59:59.000Z");
    let task = [("token", token.as_str()), ("title", "Mend it"), ("assignee", "Bob")];
    assert_eq!(browser.post(&format!("{path}/task"), &task).status, 303);
    let tasks = api(&posture, "/api/tasks");
    assert_eq!((&tasks[0]["riskId"], &tasks[0]["assignee"]), (&json!(risk), &json!("Bob")));

    let control = format!("/clients/{client}/controls/GOV-04");
    let attest = [
        ("token", token.as_str()),
        ("status", "compliant"),
        ("reason", "read and signed"),
        ("evidence", "policies/2026.pdf"),
    ];
    assert_eq!(browser.post(&format!("{control}/attest"), &attest).status, 303);
    assert_eq!(api(&posture, &format!("/api{control}"))["status"], "compliant");
    assert_eq!(browser.post(&format!("{control}/withdraw"), &[("token", &token)]).status, 303);
    assert_eq!(api(&posture, &format!("/api{control}"))["attestation"], Value::Null);
    let page = browser.get(&control).text();
    for part in [
        "What was said",
        "user ada@example.com, console",
        ">2</th>",
        "withdrawn by 3",
        "withdraws 2",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }

    let said = format!("/clients/{client}/statements");
    let page = browser.get(&format!("{said}?kind=control")).text();
    assert!(page.contains("Undo 3") && !page.contains("Undo 1"), "{page}");
    let reason = [("token", token.as_str()), ("reason", "It still holds")];
    let undone = browser.post(&format!("{said}/3/undo"), &reason);
    assert_eq!(undone.status, 303, "{}", undone.text());
    assert_eq!(api(&posture, &format!("/api{control}"))["status"], "compliant");
    assert!(browser.get(&said).text().contains("undone by 4"));

    let settings = [
        ("token", token.as_str()),
        ("name", "Fabrikam"),
        ("industry", ""),
        ("employeeCount", "40"),
        ("active", "true"),
        ("settings.frameworks", "HIPAA"),
        ("settings.frameworks", "SOC2"),
        ("settings.profile.aws", "used"),
    ];
    let changed = browser.post(&format!("/clients/{client}/settings"), &settings);
    assert_eq!(changed.status, 303, "{}", changed.text());
    let now = api(&posture, &format!("/api/clients/{client}"));
    assert_eq!(now["name"], "Fabrikam");
    assert_eq!(now["settings"]["frameworks"], json!(["HIPAA", "SOC2"]));
    assert_eq!(now["settings"]["profile"]["aws"]["usage"], "used");
    let page = browser.get(&format!("/clients/{client}/settings")).text();
    assert!(page.contains("aws: used"), "{page}");
}

#[test]
fn subjects_of_a_control_are_decided_about_on_its_page() {
    let (posture, mut browser) = with_admin();
    let client = imported(&posture, &browser);
    let page = format!("/clients/{client}/controls/CLD-01");
    let token = browser.token(&page);
    assert!(browser.get(&page).text().contains("name=\"ids\" value=\"root\""));
    let fields = [
        ("token", token.as_str()),
        ("ids", "root"),
        ("decision", "intended"),
        ("reason", "A key in the safe"),
    ];
    let decided = browser.post(&format!("{page}/subjects"), &fields);
    assert_eq!(decided.status, 303, "{}", decided.text());
    let subjects = api(&posture, &format!("/api{page}/subjects"));
    let decision = &subjects["decisions"][0];
    assert_eq!(
        (&decision["by"], &decision["matchedCount"]),
        (&json!("ada@example.com"), &json!(1))
    );
    let text = browser.get(&page).text();
    for part in ["A key in the safe", "<td>root</td><td class=\"n\">1</td>", "Withdraw"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let withdraw = format!("{page}/subjects/{}/withdraw", decision["id"].as_str().unwrap());
    let fields = [("token", token.as_str()), ("reason", "It was found")];
    assert_eq!(browser.post(&withdraw, &fields).status, 303);
    assert_eq!(api(&posture, &format!("/api{page}/subjects"))["decisions"], json!([]));
    assert!(browser.get(&page).text().contains("It was found"));
}

#[test]
fn who_may_not_do_it_by_the_api_may_not_do_it_here() {
    let (posture, browser) = with_admin();
    let (mine, theirs) = (imported(&posture, &browser), posture.client("B"));
    add_user(&posture, "vic", "viewer", &[&mine]);
    let mut vic = Browser::signed_in(posture.address, "vic");
    let token = vic.token("/me");
    assert_eq!(vic.get(&format!("/clients/{mine}")).status, 200);
    for page in
        ["", "/controls", "/risks", "/imports", "/settings", "/timeline", "/tasks", "/evidence"]
    {
        let answer = vic.get(&format!("/clients/{theirs}{page}"));
        assert!([403, 404].contains(&answer.status), "{page}: {}", answer.status);
        assert!(!answer.text().contains("name=\"name\""), "{page}");
    }
    for (path, field) in [
        ("/clients/add".to_owned(), "name"),
        (format!("/clients/{mine}/settings"), "name"),
        (format!("/clients/{mine}/settings/remove"), "name"),
        (format!("/clients/{mine}/controls/GOV-04/attest"), "reason"),
        ("/keys".to_owned(), "name"),
        ("/users".to_owned(), "email"),
    ] {
        let answer = vic.post(&path, &[("token", &token), (field, "x@example.com")]);
        assert_eq!(answer.status, 403, "{path}: {}", answer.text());
    }
    // Each refusal is in the audit log once, under the user's name.
    let audit = api(&posture, "/api/audit?limit=100");
    let by = |name: &str| {
        let entries = audit.as_array().unwrap().iter();
        entries.filter(|it| it["by"] == name && it["outcome"] != "done").count()
    };
    assert!(by("unauthenticated") == 0 && by("service") == 0, "{audit}");
}

#[test]
fn a_form_that_is_no_form_is_refused() {
    let (posture, browser) = with_admin();
    let origin = format!("http://{}", posture.address);
    let long = "x".repeat(300 * 1024);
    let token = browser.token("/clients/add");
    let fields = [("token", token.as_str()), ("name", long.as_str())];
    let answer = browser.post_with("/clients/add", &fields, &[("Origin", &origin)]);
    assert_eq!(answer.status, 400, "{}", answer.text());
    // Who comes back to the address of a form sees its page.
    let client = posture.client("A");
    let back = browser.get(&format!("/clients/{client}/controls/GOV-04/attest"));
    assert_eq!(
        (back.status, back.header("location")),
        (303, Some(&*format!("/clients/{client}/controls/GOV-04")))
    );
}

#[test]
fn a_new_client_has_the_frameworks_in_scope_that_were_checked() {
    let (posture, mut browser) = with_admin();
    let page = browser.get("/clients/add").text();
    assert!(page.contains("value=\"HIPAA\"> HIPAA Security Rule</label>"), "{page}");
    let scope_of = |name: &str, checked: &[&str], browser: &mut Browser| {
        let token = browser.token("/clients/add");
        let mut fields = vec![("token", token.as_str()), ("name", name)];
        fields.extend(checked.iter().map(|it| ("settings.frameworks", *it)));
        let answer = browser.post("/clients/add", &fields);
        assert_eq!(answer.status, 303, "{}", answer.text());
        let id = answer.header("location").unwrap()["/clients/".len()..][..36].to_owned();
        let all = posture.operator("GET", &format!("/api/clients/{id}/compliance"), &Value::Null);
        let all = all.json()["data"].as_array().unwrap().clone();
        let in_scope = all.iter().filter(|it| it["inScope"] == true).take(3);
        in_scope.map(|it| it["frameworkId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(scope_of("A", &["HIPAA", "CIS_V8"], &mut browser), ["HIPAA", "CIS_V8"]);
    assert_eq!(scope_of("B", &[], &mut browser), ["SOC2", "HIPAA", "PCI_DSS"]);
}

#[test]
fn a_control_is_attested_with_a_file() {
    let (posture, mut browser) = with_admin();
    let client = posture.client("A");
    let control = format!("/clients/{client}/controls/GOV-14");
    let token = browser.token(&control);
    let file = ("Plan \"2026\".pdf", &b"%PDF-1.7 <script>"[..]);
    let refused = browser.upload(
        &format!("{control}/files"),
        &[("token", &token), ("title", ""), ("validUntil", "2020-01-01")],
        file,
    );
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("must be in the future"), "{}", refused.text());
    let fields = [("token", token.as_str()), ("title", ""), ("validUntil", "")];
    let added = browser.upload(&format!("{control}/files"), &fields, file);
    assert_eq!(added.status, 303, "{}", added.text());
    let page = browser.get(added.header("location").unwrap()).text();
    assert!(
        page.contains("The file is in the register. Now attest the control with it.")
            && page.contains("<small>17 bytes</small>"),
        "{page}"
    );
    let entry = api(&posture, &format!("/api/clients/{client}/evidence"))[0].clone();
    assert_eq!(
        (&entry["controlCode"], &entry["by"]),
        (&json!("GOV-14"), &json!("ada@example.com"))
    );
    let id = entry["id"].as_str().unwrap();
    let saved = browser.get(&format!("/clients/{client}/evidence/{id}/file"));
    assert_eq!((saved.status, &*saved.body), (200, file.1));
    assert_eq!(saved.header("content-type"), Some("application/octet-stream"));
    assert!(saved.header("content-disposition").unwrap().starts_with("attachment; "));
    assert_eq!(saved.header("x-content-type-options"), Some("nosniff"));
    let fields = [
        ("token", token.as_str()),
        ("status", "compliant"),
        ("reason", "read it"),
        ("evidenceId", id),
    ];
    assert_eq!(browser.post(&format!("{control}/attest"), &fields).status, 303);
    let shown = api(&posture, &format!("/api/clients/{client}/controls/GOV-14"));
    assert_eq!(shown["status"], "compliant", "{shown}");
}

#[test]
fn a_list_of_clients_is_added_on_the_page() {
    let (posture, browser) = with_admin();
    posture.client("Known");
    let token = browser.token("/clients/add");
    let send = |list: &str| {
        browser.upload("/clients/add/list", &[("token", &token)], ("c.csv", list.as_bytes()))
    };
    let wrong = send("name,employees\nA,many\n");
    assert_eq!(wrong.status, 400);
    assert!(wrong.text().contains("row 1: employees must be a whole number"), "{}", wrong.text());
    let done = send("name\n<b>\nKnown\n");
    assert_eq!(done.status, 200);
    let page = done.text();
    assert!(page.contains("&lt;b&gt;</a>") && page.contains("left as they are: Known"), "{page}");
    assert_eq!(api(&posture, "/api/clients").as_array().unwrap().len(), 2);
}

#[test]
fn a_client_and_its_alerts_show_which_decisions_are_contradicted() {
    let (posture, browser) = with_admin();
    let client = posture.client("Fabrikam");
    let seen = json!([
        {"control": "END-04", "passed": 3, "failed": 2}, {"control": "DAT-01", "passed": 3, "failed": 2},
    ]);
    let body = json!({"source": "script", "observations": seen});
    let path = format!("/api/clients/{client}");
    assert_eq!(posture.operator("POST", &format!("{path}/facts"), &body).status, 200);
    let page = |path: &str| browser.get(path).text();
    assert!(!page(&format!("/clients/{client}")).contains("contradicted"));
    let said = json!({"status": "not_applicable", "reason": "old <b>", "by": "Ada"});
    assert_eq!(posture.operator("PUT", &format!("{path}/controls/END-04"), &said).status, 200);
    let shown = page(&format!("/clients/{client}"));
    for wanted in [
        "<h2>Decisions that are contradicted by what was seen</h2>",
        &format!("<a href=\"/clients/{client}/controls/END-04\">END-04</a> Disk encryption on"),
        "<td>out of scope</td>",
        ": old &lt;b&gt;</td>",
        "<td>2 failing, by script, ",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    let alerts = page("/alerts");
    assert!(alerts.contains("END-04: out of scope since "), "{alerts}");
    assert!(alerts.contains(" by Ada, and 2 failing"), "{alerts}");
    assert!(alerts.contains("Turn off") && !alerts.contains(">Remove<"), "{alerts}");
    // The one table of words.
    let controls = page(&format!("/clients/{client}/controls?status=partial"));
    assert!(controls.contains("<span class=\"badge partial\">partly met</span>"), "{controls}");
}
