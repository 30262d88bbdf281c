//! The forms of reports by e-mail on schedule.

use serde_json::{Value, json};

use super::browser::{Browser, add_user};
use crate::harness::Posture;
use crate::mail::{NOBODY, at};

fn with_mail() -> (Posture, Browser) {
    let posture = Posture::start_with(at(NOBODY));
    add_user(&posture, "ada", "admin", &[]);
    let browser = Browser::signed_in(posture.address, "ada");
    (posture, browser)
}

fn schedules(posture: &Posture) -> Vec<Value> {
    let listed = posture.operator("GET", "/api/report-schedules", &Value::Null);
    listed.json()["data"].as_array().unwrap().clone()
}

/// The schedule of a client, or of all, with this period.
fn find(posture: &Posture, client: &Value, period: &str) -> Value {
    let is_it = |it: &Value| it["clientId"] == *client && it["when"]["every"] == period;
    schedules(posture).into_iter().find(is_it).unwrap()
}

/// The fields of a form that adds a schedule.
fn form<'a>(token: &'a str, day: &'a str, framework: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("token", token),
        ("day", day),
        ("hour", "7"),
        ("timeZone", "America/Toronto"),
        ("framework", framework),
        ("language", "fr"),
        ("recipients", "ada@example.com, bo@example.com"),
    ]
}

#[test]
fn schedules_are_added_sent_and_removed_on_pages() {
    let (posture, mut browser) = with_mail();
    let client = posture.client("Acme");
    let of_client = format!("/clients/{client}/reports");
    let every = [("week", "5"), ("month", "31"), ("quarter", "15")];
    for (page, prefix, client, framework) in [
        (of_client.as_str(), "client-", json!(client), json!("SOC2")),
        ("/reports", "", Value::Null, Value::Null),
    ] {
        let token = browser.token(page);
        for (period, day) in every {
            let path = format!("{page}/add/{period}");
            assert!(browser.get(page).text().contains(&format!("action=\"{path}\"")), "{path}");
            let added = browser.post(&path, &form(&token, day, framework.as_str().unwrap_or("")));
            let done = format!("{page}?done=add-{prefix}schedule-{period}");
            assert_eq!(added.header("location"), Some(&*done), "{}", added.text());
            assert!(browser.get(&done).text().contains("The schedule is added."), "{done}");
            let added = find(&posture, &client, period);
            let day = day.parse::<u32>().unwrap();
            let when =
                json!({"every": period, "day": day, "hour": 7, "timeZone": "America/Toronto"});
            assert_eq!((&added["when"], &added["clientId"]), (&when, &client));
            assert_eq!((&added["framework"], &added["language"]), (&framework, &json!("fr")));
            assert_eq!(added["recipients"], json!(["ada@example.com", "bo@example.com"]));
        }
        let last = find(&posture, &client, "month")["id"].as_str().unwrap().to_owned();
        let shown = browser.get(page).text();
        for what in ["send", "remove"] {
            let path = format!("{page}/{last}/{what}");
            assert!(shown.contains(&format!("action=\"{path}\"")), "{path}: {shown}");
            let answer = browser.post(&path, &[("token", &token)]);
            let done = format!("{page}?done={what}-{prefix}schedule");
            assert_eq!(answer.header("location"), Some(&*done), "{}", answer.text());
        }
        assert!(schedules(&posture).iter().all(|it| it["id"] != last.as_str()));
    }
    assert_eq!(schedules(&posture).len(), 4);
}

#[test]
fn what_is_wrong_with_a_schedule_is_said_with_what_was_filled_in() {
    let (posture, mut browser) = with_mail();
    let client = posture.client("Acme");
    let page = format!("/clients/{client}/reports");
    let token = browser.token(&page);
    let mut fields = form(&token, "1", "");
    fields[3] = ("timeZone", "Mars/Olympus");
    let refused = browser.post(&format!("{page}/add/month"), &fields);
    assert_eq!(refused.status, 400);
    let text = refused.text();
    assert!(text.contains("role=\"alert\"") && text.contains("value=\"Mars/Olympus\""), "{text}");
    // Analysts send, and only administrators add and remove.
    let id = {
        assert_eq!(browser.post(&format!("{page}/add/week"), &form(&token, "1", "")).status, 303);
        schedules(&posture)[0]["id"].as_str().unwrap().to_owned()
    };
    add_user(&posture, "ann", "analyst", &[]);
    let mut analyst = Browser::signed_in(posture.address, "ann");
    let own = analyst.token(&page);
    let shown = analyst.get(&page).text();
    assert!(shown.contains(&format!("{id}/send")) && !shown.contains("/remove"), "{shown}");
    assert!(!shown.contains("/add/week"), "{shown}");
    let fields = form(&own, "1", "");
    for (path, status) in
        [("add/week", 403), (&*format!("{id}/remove"), 403), (&*format!("{id}/send"), 303)]
    {
        assert_eq!(analyst.post(&format!("{page}/{path}"), &fields).status, status, "{path}");
    }
}
