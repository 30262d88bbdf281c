//! The rules on services of Microsoft 365: EML-04, EML-05, EML-07, DAT-04, LOG-01, LOG-03.

use posture::connect::m365::Tenant;
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable, Partial};
use serde_json::{Value, json};

use super::tenant::{check, find, merge, rows, user, whole};
use crate::harness::sample;

fn score(current: &Value, max: &Value) -> Tenant {
    let score = json!({"createdDateTime": "2026-03-09T00:00:00Z", "currentScore": current, "maxScore": max});
    Tenant { score: rows(score), ..whole() }
}

#[test]
fn the_secure_score_has_reached_its_target() {
    check(&score(&json!(60), &json!(100)), "LOG-03", Compliant, "60 percent");
    check(&score(&json!(59.99), &json!(100)), "LOG-03", NonCompliant, "59 percent");
    check(&score(&json!(387.5), &json!(400.25)), "LOG-03", Compliant, "96 percent");
    for (current, max) in [
        (json!(null), json!(1)),
        (json!(1), json!(0)),
        (json!("1"), json!(1)),
        (json!(-1), json!(1)),
        (json!(1e300), json!(1)),
    ] {
        assert_eq!(find(&score(&current, &max), "LOG-03"), None, "{current}/{max}");
    }
    let old = json!({"createdDateTime": "2026-02-01T00:00:00Z", "currentScore": 9, "maxScore": 10});
    let old = Tenant { score: rows(old), ..whole() };
    assert_eq!(find(&old, "LOG-03"), None, "it says nothing of today");
    assert_eq!(find(&old, "EML-05"), None);
}

/// A tenant with these points for controls, and what their profiles say beside a maximum of 8.
fn controls(all: &[(&str, Value, Value)]) -> Tenant {
    let scores: Vec<Value> =
        all.iter().map(|it| json!({"controlName": it.0, "score": it.1})).collect();
    let profiles: Vec<Value> = all
        .iter()
        .map(|it| {
            let mut profile =
                json!({"id": it.0, "title": format!("Title of {}", it.0), "maxScore": 8});
            merge(&mut profile, &it.2);
            profile
        })
        .collect();
    let score = json!({"createdDateTime": "2026-03-09T00:00:00Z", "controlScores": scores});
    Tenant { score: rows(score), score_profiles: rows(json!(profiles)), ..whole() }
}

#[test]
fn mail_is_protected_where_the_secure_score_says_so() {
    let none = json!({});
    let attachments = |points: Value| ("mdo_safeattachments", points, none.clone());
    let phish = |points: Value, further: Value| ("mdo_antiphishingpolicies", points, further);
    let unknown = "whether these are on: anti-phishing policies, Safe Links.";
    check(&controls(&[attachments(json!(8.0))]), "EML-05", Partial, unknown);
    let whole = ["mdo_antiphishingpolicies", "mdo_safeattachmentpolicy", "mdo_safelinksforemail"];
    let whole = whole.map(|it| (it, json!(8), none.clone()));
    check(&controls(&whole), "EML-05", Compliant, "all 3");
    check(
        &controls(&[attachments(json!(0))]),
        "EML-05",
        NonCompliant,
        "Title of mdo_safeattachments",
    );
    check(&controls(&[attachments(json!(7.99))]), "EML-05", Partial, "1 of 1");
    check(
        &controls(&[attachments(json!(8)), phish(json!(0), none.clone())]),
        "EML-05",
        Partial,
        "1 of 2: Title of mdo_antiphishingpolicies",
    );
    for further in [
        json!({"deprecated": true}),
        json!({"controlStateUpdates": [{"state": "Default"}, {"state": "Ignored"}]}),
        json!({"controlStateUpdates": [{"state": "ThirdParty"}]}),
        json!({"maxScore": 0}),
        json!({"maxScore": null}),
    ] {
        check(
            &controls(&[attachments(json!(8)), phish(json!(0), further.clone())]),
            "EML-05",
            Partial,
            unknown,
        );
        assert_eq!(find(&controls(&[phish(json!(8), further)]), "EML-05"), None);
    }
    let again = json!({"controlStateUpdates": [{"state": "Ignored"}, {"state": "Default"}]});
    check(&controls(&[phish(json!(0), again)]), "EML-05", NonCompliant, "Not met");
    assert_eq!(find(&controls(&[("somethingNew", json!(8), none.clone())]), "EML-04"), None);
    check(
        &controls(&[("mdo_blockmailforward", json!(0), none)]),
        "EML-04",
        NonCompliant,
        "outbound spam policy",
    );
}

#[test]
fn shared_mailboxes_cannot_sign_in() {
    let with = |mailboxes: Value| {
        let mut shared = user("sales");
        shared["accountEnabled"] = json!(false);
        Tenant { users: rows(json!([user("ada"), shared])), mailboxes: rows(mailboxes), ..whole() }
    };
    let mailbox = |name: &str, kind: &str| json!({"userPrincipalName": format!("{name}@Example.com"), "recipientType": kind});
    check(
        &with(json!([mailbox("sales", "Shared"), mailbox("ada", "User")])),
        "EML-07",
        Compliant,
        "All 1",
    );
    check(
        &with(json!([mailbox("ada", "SharedMailbox")])),
        "EML-07",
        NonCompliant,
        "ada@Example.com",
    );
    check(&with(json!([mailbox("ada", "User")])), "EML-07", NotApplicable, "no shared mailbox");
    assert_eq!(find(&with(json!([mailbox("gone", "Shared")])), "EML-07"), None);
    assert_eq!(
        find(&with(json!([mailbox("ada", "")])), "EML-07"),
        None,
        "an older report has no kinds"
    );
    let mut deleted = mailbox("ada", "Shared");
    deleted["isDeleted"] = json!(true);
    check(&with(json!([deleted, mailbox("sales", "Shared")])), "EML-07", Compliant, "All 1");
}

#[test]
fn files_are_shared_only_with_people_who_sign_in() {
    let with = |capability: Value| {
        let settings =
            json!({"sharingCapability": capability, "isResharingByExternalUsersEnabled": true});
        Tenant { sharepoint: rows(settings), ..whole() }
    };
    check(
        &with(json!("disabled")),
        "DAT-04",
        Compliant,
        "cannot be shared outside the organization.",
    );
    check(&with(json!("existingExternalUserSharingOnly")), "DAT-04", Compliant, "Guests can share");
    check(&with(json!("externalUserSharingOnly")), "DAT-04", Compliant, "people who sign in");
    check(&with(json!("externalUserAndGuestSharing")), "DAT-04", NonCompliant, "open to anyone");
    assert_eq!(find(&with(json!("unknownFutureValue")), "DAT-04"), None);
    assert_eq!(find(&with(Value::Null), "DAT-04"), None);
}

#[test]
fn the_audit_log_has_events_of_these_days() {
    let with = |events: Value| Tenant { audits: rows(events), ..whole() };
    let event = |at: &str| json!({"activityDateTime": at});
    check(
        &with(json!([event("2026-01-01T00:00:00Z"), event("2026-03-01T00:00:00Z")])),
        "LOG-01",
        Partial,
        "2026-03-01",
    );
    assert_eq!(find(&with(json!([event("2026-01-01T00:00:00Z")])), "LOG-01"), None);
    assert_eq!(find(&with(json!([event("?"), {}])), "LOG-01"), None);
    assert_eq!(find(&with(json!([])), "LOG-01"), None, "nothing is shown by nothing");
}

mod needs_samples {
    //! A real score, as Graph gave it.

    use super::{Compliant, Partial, Tenant, Value, check, json, rows, sample, whole};

    #[test]
    #[ignore = "needs the samples of other people"]
    fn a_real_score_is_read() {
        let read = |name: &str| -> Value {
            serde_json::from_slice(&sample::foreign(&format!("msgraph_securescore/{name}")))
                .unwrap()
        };
        let mut score = read("secureScore.json")["value"][0].take();
        assert_eq!(score["maxScore"], json!(274));
        score["createdDateTime"] = json!("2026-03-09T00:00:00Z");
        let profiles = read("secureScoreControlProfiles.json")["value"].take();
        let tenant = Tenant { score: rows(score), score_profiles: rows(profiles), ..whole() };
        let judged = posture::connect::m365::rules::judge(&tenant, super::super::tenant::at());
        let words = judged.iter().find(|it| it.control == "LOG-03").unwrap();
        assert!(words.findings.contains("46 percent"), "{}", words.findings);
        let mail = judged.iter().find(|it| it.control == "EML-05").unwrap();
        assert_eq!(mail.status, Partial, "{}", mail.findings);
        check(&whole(), "LOG-03", Compliant, "60 percent");
    }
}
