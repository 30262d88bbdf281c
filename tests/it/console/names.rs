//! People name clients, and read what happened, in their own words.

use serde_json::{Value, json};

use super::browser::{Browser, add_user};
use super::with_admin;
use crate::harness::Posture;
use crate::manage::{MIXED, prowler};

fn api(posture: &Posture, path: &str) -> Value {
    posture.operator("GET", path, &Value::Null).json()["data"].clone()
}

#[test]
fn clients_are_named_in_forms() {
    let (posture, mut browser) = with_admin();
    let (a, b) = (posture.client("Smith, Jones & Co"), posture.client("B"));
    let token = browser.token("/keys");
    let names = format!("  smith, jones & co \n\n{b}\n");
    let mut fields = vec![
        ("token", token.as_str()),
        ("name", "Dashboard"),
        ("scopes", "read:scores"),
        ("scopes", "read:risks"),
        ("clientIds", "Nobody"),
    ];
    let refused = browser.post("/keys", &fields);
    let text = refused.text();
    assert_eq!(refused.status, 400, "{text}");
    assert!(text.contains("Only these clients: no client has the name or id `Nobody`<"), "{text}");
    // What was filled in and checked is still so.
    for scope in ["read:scores", "read:risks"] {
        assert!(text.contains(&format!("value=\"{scope}\" checked")), "{scope}: {text}");
    }
    assert!(!text.contains("value=\"read:assets\" checked") && text.contains(">Nobody</textarea>"));
    let many = "Smith, Jones & Co\n".repeat(21);
    for (named, said) in [
        (&*many, "Only these clients: at most 20 names are looked up"),
        ("Smith, Jones", "the name or id `Smith, Jones`; did you mean `Smith, Jones &amp; Co`?"),
    ] {
        fields[4] = ("clientIds", named);
        let refused = browser.post("/keys", &fields);
        assert!(refused.status == 400 && refused.text().contains(said), "{}", refused.text());
    }
    fields[4] = ("clientIds", &names);
    let issued = browser.post("/keys", &fields);
    let text = issued.text();
    assert_eq!(issued.status, 201, "{text}");
    assert!(
        text.contains("<h2>New key: Dashboard</h2>") && !text.contains("name=\"name\""),
        "{text}"
    );
    let keys = api(&posture, "/api/keys");
    let mut ids = vec![json!(a), json!(b)];
    ids.sort_by_key(ToString::to_string);
    let mut kept = keys[0]["clientIds"].as_array().unwrap().clone();
    kept.sort_by_key(ToString::to_string);
    assert_eq!(kept, ids);
    assert!(browser.get("/keys").text().contains("Smith, Jones &amp; Co"));
}

#[test]
fn a_name_leads_to_no_client_that_its_user_may_not_see() {
    let (posture, _) = with_admin();
    let (mine, _) = (posture.client("Mine"), posture.client("Theirs"));
    add_user(&posture, "ann", "analyst", &[&mine]);
    let mut ann = Browser::signed_in(posture.address, "ann");
    let token = ann.token("/me");
    let scan = |ann: &mut Browser, client: &str| {
        let fields = [("token", &*token), ("targets", "127.0.0.1/32"), ("clientId", client)];
        let refused = ann.post("/scans", &fields);
        // Without tokens, which no two pages share.
        let page = refused.text().replace(client, "NAME");
        let parts = page
            .split("value=\"")
            .map(|it| it.get(86..).filter(|it| it.starts_with('"')).unwrap_or(it));
        (refused.status, parts.collect::<String>())
    };
    assert_eq!(scan(&mut ann, "Theirs"), scan(&mut ann, "Nobody"));
}

#[test]
fn what_became_of_a_risk_is_said_in_words() {
    let (posture, mut browser) = with_admin();
    let client = posture.client("A");
    assert_eq!(posture.import(&client, "observedAt=now", &prowler(MIXED)).status, 200);
    let risks = api(&posture, &format!("/api/clients/{client}/risks"));
    let risk = risks[0]["id"].as_str().unwrap();
    let path = format!("/clients/{client}/risks/{risk}");
    let token = browser.token(&path);
    let task = [("token", token.as_str()), ("title", "Buy keys"), ("assignee", "Bob")];
    assert_eq!(browser.post(&format!("{path}/task"), &task).status, 303);
    // Who would make another one sees that there is one.
    let page = browser.get(&path).text();
    assert!(page.contains("There is one already:") && page.contains("Buy keys"), "{page}");
    let of_risk = format!("/api/tasks?clientId={client}&riskId={risk}");
    assert_eq!(api(&posture, &of_risk).as_array().unwrap().len(), 1);
    let other = risks[1]["id"].as_str().unwrap();
    let of_other = format!("/api/tasks?clientId={client}&riskId={other}");
    assert_eq!(api(&posture, &of_other), json!([]));
    assert!(!browser.get(&format!("/clients/{client}/risks/{other}")).text().contains("already"));
    let accept = [("token", token.as_str()), ("reason", "known"), ("until", "2026-12-31")];
    assert_eq!(browser.post(&format!("{path}/accept"), &accept).status, 303);
    let timeline = browser.get(&format!("/clients/{client}/timeline")).text();
    assert!(timeline.contains("risk accepted until <time"), "{timeline}");
    assert!(timeline.contains("by ada@example.com: "), "{timeline}");
}

#[test]
fn pages_of_a_client_say_where_they_belong_and_ask_in_the_words_of_its_settings() {
    let (posture, browser) = with_admin();
    let client = posture.client("Acme <b>");
    let at = |path: &str| browser.get(&format!("/clients/{client}{path}")).text();
    let requirement = at("/frameworks/HIPAA/164.312%28a%29%281%29");
    assert!(requirement.contains("<li>AWS: used or not? "), "{requirement}");
    assert!(at("/settings").contains("<label>AWS <select"));
    for (page, tab) in [
        (at(""), "Overview"),
        (at("/frameworks/HIPAA"), "Overview"),
        (requirement, "Overview"),
        (at("/controls/GOV-04"), "Controls"),
        (at("/settings"), "Settings"),
    ] {
        let nav =
            page.split("<nav class=\"trail\"").nth(1).unwrap().split("</nav>").next().unwrap();
        assert!(nav.contains("<strong>Acme &lt;b&gt;</strong>"), "{nav}");
        let current: Vec<_> = nav.split(" aria-current=\"page\">").skip(1).collect();
        assert!(current.len() == 1 && current[0].starts_with(tab), "{tab}: {nav}");
    }
}

#[test]
fn risks_of_a_client_are_in_the_order_that_is_asked_for() {
    let (posture, browser) = with_admin();
    let body = json!({"name": "A", "industry": "Healthcare", "employeeCount": 80});
    let client = posture.client_with(&body);
    // Nobody knows what it costs.
    let findings = [MIXED, &[("iam_unknown_to_us", "FAIL", "critical", "carol")]].concat();
    assert_eq!(posture.import(&client, "observedAt=now", &prowler(&findings)).status, 200);
    let path = format!("/api/clients/{client}/risks");
    let all = |order: &str| api(&posture, &format!("{path}{order}")).as_array().unwrap().clone();
    let costs = |it: &Value| std::cmp::Reverse(it["dollarImpact"].as_u64());
    let scores = |it: &Value| std::cmp::Reverse(it["riskScore"].as_u64());
    let severities = |it: &Value| {
        let words = ["critical", "high", "medium", "low"];
        words.into_iter().position(|word| it["severity"] == word).unwrap()
    };
    assert!(all("").is_sorted_by_key(scores) && all("") == all("?order=score"));
    assert!(all("?order=cost").is_sorted_by_key(|it| (costs(it), scores(it))));
    assert!(all("?order=severity").is_sorted_by_key(|it| (severities(it), scores(it))));
    assert!(all("?order=cost") != all("?order=severity"), "or this test says nothing");
    let refused = posture.operator("GET", &format!("{path}?order=name"), &Value::Null);
    assert_eq!(refused.status, 400, "{}", refused.text());
    // The page begins with the most severe ones.
    for (query, order) in [("", "severity"), ("?order=cost", "cost")] {
        let page = browser.get(&format!("/clients/{client}/risks{query}")).text();
        assert!(page.contains(&format!("<option value=\"{order}\" selected>")), "{page}");
        let places = all(&format!("?order={order}"));
        let at = |it: &Value| page.find(&format!("/risks/{}\"", it["id"].as_str().unwrap()));
        assert!(places.iter().is_sorted_by_key(|it| at(it).expect("all are shown")), "{page}");
    }
}

#[test]
fn the_morning_shows_what_changed_since_the_day_before() {
    let (posture, browser) = with_admin();
    let client = posture.client("A");
    assert_eq!(posture.import(&client, "observedAt=now", &prowler(MIXED)).status, 200);
    let shows = |browser: &Browser, query: &str| {
        let page = browser.get(&format!("/{query}")).text();
        let now = page.split("<h2>What changed").nth(1).unwrap();
        (now.contains("new risk: ") || now.contains("critical risk"), now.to_owned())
    };
    let (is_shown, section) = shows(&browser, "");
    assert!(is_shown, "{section}");
    let start = posture.now();
    let yesterday = start.plus_days(-1);
    let since = format!("Since <time datetime=\"{yesterday}\" title=\"{yesterday}\"");
    assert!(section.starts_with(" since yesterday") && section.contains(&since), "{section}");
    posture.clock.set(start.plus_days(1).plus_s(1));
    let browser = Browser::signed_in(posture.address, "ada");
    let (is_shown, section) = shows(&browser, "");
    assert!(!is_shown, "{section}");
    let shows = |query: &str| shows(&browser, query).0;
    let later = format!("?since={}", start.plus_s(1));
    assert!(shows(&format!("?since={start}")) && !shows(&later));
    assert!(shows("?since=2026-03-10") && shows("?since="));
    assert!(
        section.contains(&format!("?since={}", posture.now().plus_days(-3)).replace(':', "%3A"))
    );
    assert_eq!(browser.get("/?since=yesterday").status, 400);
    let without = posture.operator("GET", &format!("/api/events?since={start}"), &Value::Null);
    assert_eq!(without.status, 400, "{}", without.text());
}

#[test]
fn lists_begin_with_what_is_to_be_done_and_stay_as_they_are_filtered() {
    let (posture, mut browser) = with_admin();
    let client = posture.client("A");
    assert_eq!(posture.import(&client, "observedAt=now", &prowler(MIXED)).status, 200);
    let all = api(&posture, "/api/portfolio/risks");
    let ids = |severity: &str| {
        let rows = all.as_array().unwrap().iter().filter(|it| it["severity"] == severity);
        rows.map(|it| it["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (critical, high) = (ids("critical"), ids("high"));
    assert!(!critical.is_empty() && !high.is_empty(), "{all}");
    let shows = |path: &str| {
        let page = browser.get(path).text();
        [&critical[0], &high[0]].map(|it| page.contains(it.as_str()))
    };
    assert_eq!(shows("/risks"), [true, false]);
    assert_eq!(shows("/risks?severity="), [true, true]);
    assert_eq!(shows("/risks?severity=high"), [false, true]);
    let ended =
        posture.operator("POST", "/api/tasks", &json!({"clientId": client, "title": "Old"}));
    let id = ended.json()["data"]["id"].as_str().unwrap().to_owned();
    let open = posture.operator("POST", "/api/tasks", &json!({"clientId": client, "title": "New"}));
    assert_eq!((ended.status, open.status), (201, 201));
    let token = browser.token("/tasks");
    let done = [("token", token.as_str()), ("status", "done")];
    let changed = browser.post(&format!("/tasks/{id}?status=open"), &done);
    assert_eq!(changed.header("location"), Some("/tasks?status=open&done=change-task"));
    for page in ["/tasks".to_owned(), format!("/clients/{client}/tasks")] {
        let text = browser.get(&page).text();
        assert!(text.contains(">New") && !text.contains(">Old"), "{text}");
        assert!(browser.get(&format!("{page}?status=")).text().contains(">Old"));
    }
}
