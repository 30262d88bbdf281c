//! Prowler's CSV.

use posture_core::clock::Time;
use posture_core::import::{self, CheckOutcome, Format, Record};

use super::{MANUAL, TENANT, counts, folded, records, refusal, skipped};

pub(super) const HEADER: &str = concat!(
    "TIMESTAMP;ACCOUNT_UID;ACCOUNT_ORGANIZATION_UID;FINDING_UID;PROVIDER;CHECK_ID;CHECK_TITLE;",
    "STATUS;STATUS_EXTENDED;MUTED;SERVICE_NAME;SEVERITY;RESOURCE_TYPE;RESOURCE_UID;RESOURCE_NAME;",
    "REMEDIATION_RECOMMENDATION_TEXT",
);

/// A file with the given cells over the usual ones in each row.
pub(super) fn table(rows: &[&[(&str, &str)]]) -> String {
    let usual = [
        ("TIMESTAMP", "2026-11-20 09:45:37.775872"),
        ("ACCOUNT_UID", "111122223333"),
        ("PROVIDER", "aws"),
        ("CHECK_ID", "iam_mfa"),
        ("CHECK_TITLE", "MFA is on"),
        ("STATUS", "FAIL"),
        ("STATUS_EXTENDED", "\"User alice; no MFA,\nnot \"\"even\"\" SMS.\""),
        ("MUTED", "False"),
        ("SERVICE_NAME", "iam"),
        ("SEVERITY", "high"),
        ("RESOURCE_UID", "arn:aws:iam::111122223333:user/alice"),
        ("RESOURCE_NAME", "alice"),
    ];
    let mut text = format!("{HEADER}\n");
    for changes in rows {
        let cells: Vec<&str> = HEADER
            .split(';')
            .map(|column| {
                let of = |cells: &[(&'static str, &'static str)]| {
                    cells.iter().find(|it| it.0 == column).map(|it| it.1)
                };
                let changed = changes.iter().find(|it| it.0 == column).map(|it| it.1);
                changed.or(of(&usual)).unwrap_or("")
            })
            .collect();
        text += &cells.join(";");
        text += "\n";
    }
    text
}

#[test]
fn a_row_says_what_its_columns_say() {
    let file = table(&[&[]]);
    assert_eq!(import::detect(file.as_bytes()), Some(Format::ProwlerCsv));
    let all = records(Format::ProwlerCsv, &mut file.as_bytes()).unwrap();
    let [Record::Asset(asset), Record::Check(check)] = all.as_slice() else { panic!("{all:?}") };

    assert_eq!(asset.external_id, "arn:aws:iam::111122223333:user/alice");
    assert_eq!(check.subject.id, asset.external_id);
    assert_eq!((check.scope.as_str(), check.check.as_str()), ("aws/111122223333", "iam_mfa"));
    assert_eq!(check.detail.as_deref(), Some("User alice; no MFA, not \"even\" SMS."));
    assert_eq!(check.observed_at, Some(Time::from_micros(1_795_167_937_775_872)));
}

#[test]
fn line_ends_quotes_and_the_order_of_columns_do_not_matter() {
    let file =
        table(&[&[("STATUS_EXTENDED", "short")], &[("STATUS", "PASS"), ("STATUS_EXTENDED", "")]]);
    let plain = records(Format::ProwlerCsv, &mut file.as_bytes()).unwrap();
    let windows = file.replace('\n', "\r\n");
    let quoted: String = file
        .lines()
        .map(|line| {
            line.split(';').map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(";") + "\n"
        })
        .collect();
    let turned: String = file
        .lines()
        .map(|line| line.split(';').rev().collect::<Vec<_>>().join(";") + "\n")
        .collect();
    let marked = format!("\u{feff}{file}");
    for other in [windows, quoted, turned, marked] {
        assert_eq!(import::detect(other.as_bytes()), Some(Format::ProwlerCsv), "{other}");
        assert_eq!(records(Format::ProwlerCsv, &mut other.as_bytes()).unwrap(), plain, "{other}");
    }
}

#[test]
fn a_guard_against_formulas_is_taken_off() {
    let detail = |cell: &'static str| {
        let file = table(&[&[("STATUS_EXTENDED", cell)]]);
        let run = folded(Format::ProwlerCsv, file.as_bytes()).unwrap();
        run.observations[0].findings.clone().unwrap()
    };
    assert_eq!(detail("'- Enable it"), "alice\n- Enable it");
    assert_eq!(detail("'quoted'"), "alice\n'quoted'");
}

#[test]
fn a_muted_row_is_accepted_and_others_are_no_evidence() {
    let row = |name: &'static str, status: &'static str, muted: &'static str| {
        [("RESOURCE_UID", name), ("STATUS", status), ("MUTED", muted)]
    };
    let file = table(&[
        &row("a", "FAIL", "True"),
        &row("b", "PASS", "True"),
        &row("c", "FAIL", "False"),
        &row("d", "MANUAL", "False"),
        &row("e", "WARNING", "False"),
    ]);
    let run = folded(Format::ProwlerCsv, file.as_bytes()).unwrap();
    assert_eq!(counts(&run.observations[0]), (1, 1, 1));
    assert_eq!(skipped(&run), [(MANUAL, 1), ("status WARNING: not a result", 1)]);
}

#[test]
fn a_tenant_is_its_guid_here_too() {
    let file = table(&[&[
        ("PROVIDER", "m365"),
        ("ACCOUNT_UID", "contoso.onmicrosoft.com"),
        ("ACCOUNT_ORGANIZATION_UID", "0d3bdcf4-9f1b-4b62-9d1c-6d2c0ef6a111"),
    ]]);
    assert_eq!(folded(Format::ProwlerCsv, file.as_bytes()).unwrap().scopes, [TENANT]);
}

#[test]
fn a_row_that_cannot_be_read_loses_only_itself() {
    let good = table(&[&[]]);
    let mut file = good.clone().into_bytes();
    file.extend_from_slice(b"too;short\n\n");
    file.extend_from_slice(&table(&[&[("RESOURCE_NAME", "X")]]).as_bytes()[HEADER.len() + 1..]);
    let place = file.iter().rposition(|it| *it == b'X').unwrap();
    file[place] = 0xff;
    file.extend_from_slice(&good.as_bytes()[HEADER.len() + 1..]);
    let run = folded(Format::ProwlerCsv, &file).unwrap();
    assert_eq!(skipped(&run), [("fewer columns than the header", 1), ("not UTF-8", 1)]);
    assert_eq!((run.n_records, counts(&run.observations[0])), (4, (0, 1, 0)));
}

#[test]
fn version_3_names_its_columns_otherwise() {
    let file = concat!(
        "ASSESSMENT_START_TIME;FINDING_UNIQUE_ID;PROVIDER;ACCOUNT_ID;CHECK_ID;STATUS;SEVERITY;",
        "RESOURCE_ID;RESOURCE_ARN\n",
        "2023-04-25T23:49:42.744599;f;aws;1;c;PASS;low;alice;arn:aws:iam::1:user/alice\n",
    );
    assert_eq!(import::detect(file.as_bytes()), Some(Format::ProwlerCsv));
    let all = records(Format::ProwlerCsv, &mut file.as_bytes()).unwrap();
    let [Record::Asset(asset), Record::Check(check)] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(
        (asset.external_id.as_str(), asset.name.as_str()),
        ("arn:aws:iam::1:user/alice", "alice")
    );
    assert_eq!((check.outcome, check.scope.as_str()), (CheckOutcome::Pass, "aws/1"));
    assert!(check.observed_at.is_some());
}

#[test]
fn other_tables_are_refused_with_what_is_missing() {
    let version_2 = b"PROFILE,ACCOUNT_NUM,REGION,TITLE_ID,CHECK_RESULT,ITEM_SCORED\n";
    assert_eq!(import::detect(version_2), Some(Format::ProwlerCsv));
    assert!(refusal(Format::ProwlerCsv, version_2).contains("Prowler 2"));
    let commas = HEADER.replace(';', ",");
    assert_eq!(import::detect(commas.as_bytes()), None);
    assert!(refusal(Format::ProwlerCsv, commas.as_bytes()).contains("no PROVIDER"));
    assert!(refusal(Format::ProwlerCsv, b"PROVIDER;STATUS\n").contains("no CHECK_ID"));
    let empty = folded(Format::ProwlerCsv, format!("{HEADER}\r\n").as_bytes()).unwrap();
    assert_eq!(empty.n_records, 0);
}
