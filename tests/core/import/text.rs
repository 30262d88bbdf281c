//! Long and hostile texts, and long files.

use std::io::{self, BufRead, BufReader, Read, Write};

use posture_core::engine::fact::N_NAMED_MAX;
use posture_core::engine::fact::{FINDINGS_CHARS_MAX, REMEDIATION_CHARS_MAX};
use posture_core::import::fold::Fold;
use posture_core::import::{Check, CheckOutcome, CheckSubject, Format, RECORD_BYTES_MAX, Record};

use super::table::HEADER;
use super::{
    array, check_of, counts, finding, folded, folded_from, origin, refusal, resource, skipped,
    told_check, told_reason, total,
};

#[test]
fn an_id_is_never_cut() {
    let id = |n: usize| "ü".repeat(n);
    let subject = |n: usize| resource(&id(n));
    assert_eq!(told_check(&[("resources", &subject(500))]).subject.id, id(500));
    let too_long = told_reason(&[("resources", &subject(501))]);
    assert_eq!(too_long, "resource id longer than 500 characters");
    let check = |n: usize| {
        format!(r#"{{"event_code": "{}", "product": {{"name": "Prowler"}}}}"#, "c".repeat(n))
    };
    assert_eq!(told_check(&[("metadata", &check(500))]).check.len(), 500);
    assert_eq!(told_reason(&[("metadata", &check(501))]), "check id longer than 500 characters");
    let hidden = told_reason(&[("resources", r#"[{"uid": "a\u0000b"}]"#)]);
    assert_eq!(hidden, "resource id with control characters");
}

#[test]
fn a_long_text_is_cut_where_one_can_see_it() {
    let long = format!("\"{}\"", "ü".repeat(100_000));
    let title = format!(r#"{{"title": {long}}}"#);
    let remediation = format!(r#"{{"desc": {long}}}"#);
    let named = format!(r#"[{{"uid": "u", "name": {long}}}]"#);
    let check = told_check(&[
        ("finding_info", &title),
        ("remediation", &remediation),
        ("status_detail", &long),
        ("resources", &named),
    ]);
    let remediation = check.remediation.unwrap();
    for (text, n_max) in [
        (&check.title, 300),
        (&check.subject.name, 200),
        (&check.detail.unwrap(), 500),
        (&remediation, REMEDIATION_CHARS_MAX),
    ] {
        assert_eq!(text.chars().count(), n_max);
        assert!(text.ends_with("ü… (cut)"), "{text}");
    }
    let exact = "x".repeat(REMEDIATION_CHARS_MAX);
    let whole = told_check(&[("remediation", &format!(r#"{{"desc": "{exact}"}}"#))]);
    assert_eq!(whole.remediation, Some(exact));

    let mut fold = Fold::new(origin(Format::ProwlerOcsf));
    for n in 0..=N_NAMED_MAX {
        let name = n.to_string().repeat(200).chars().take(200).collect();
        let subject = CheckSubject::of(n.to_string(), name);
        fold.add(Record::Check(Check { subject, ..check_of("a", CheckOutcome::Fail) })).unwrap();
    }
    let findings = fold.finish().observations.pop().unwrap().findings.unwrap();
    assert_eq!(findings.chars().count(), FINDINGS_CHARS_MAX);
    assert!(findings.ends_with("… (cut)"));
}

#[test]
fn invisible_characters_are_shown() {
    let detail = r#""a\u001b[31m\u0000\u202eb\tc\nd""#;
    let check = told_check(&[
        ("status_detail", detail),
        ("remediation", &format!(r#"{{"desc": {detail}}}"#)),
    ]);
    assert_eq!(check.detail.as_deref(), Some(r"a\u{1b}[31m\0\u{202e}b c d"));
    assert_eq!(check.remediation.as_deref(), Some("a\\u{1b}[31m\\0\\u{202e}b\tc\nd"));
}

#[test]
fn a_record_beyond_the_limit_is_left_out() {
    let huge = finding(&[("status_detail", &format!("\"{}\"", "x".repeat(RECORD_BYTES_MAX)))]);
    let file = array(&[finding(&[]), huge.clone(), finding(&[])]);
    for capacity in [1 << 10, 1 << 25] {
        let mut input = BufReader::with_capacity(capacity, file.as_slice());
        let run = folded_from(Format::ProwlerOcsf, &mut input).unwrap();
        assert_eq!(skipped(&run), [("record longer than 4 MiB", 1)]);
        assert_eq!(run.n_records, 3);
    }
    let alone = folded(Format::ProwlerOcsf, &array(&[huge])).unwrap();
    assert_eq!(alone.n_records, 1);

    let row = format!("{HEADER}\n\"{}\n", "x;\n".repeat(RECORD_BYTES_MAX / 2));
    assert!(refusal(Format::ProwlerCsv, row.as_bytes()).contains("longer than 4 MiB"));
    let tag = format!("<nmaprun scanner=\"nmap\" args=\"{}\">", "x".repeat(RECORD_BYTES_MAX));
    assert!(refusal(Format::Nmap, tag.as_bytes()).contains("longer than 4 MiB"));
}

/// A run of `n_findings` findings that is made while it is read.
struct Run {
    n_findings: usize,
    n_made: usize,
    piece: Vec<u8>,
    n_read: usize,
}

impl Run {
    fn of(n_findings: usize) -> BufReader<Self> {
        BufReader::new(Self { n_findings, n_made: 0, piece: vec![b'['], n_read: 0 })
    }
}

impl Read for Run {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.n_read == self.piece.len() {
            self.n_read = 0;
            self.piece.clear();
            let n = self.n_made;
            if n < self.n_findings {
                let status = if n.is_multiple_of(3) { r#""FAIL""# } else { r#""PASS""# };
                let metadata = format!(
                    r#"{{"event_code": "check_{}", "product": {{"name": "Prowler"}}}}"#,
                    n % 50
                );
                let filler = format!(r#"{{"notes": "{}"}}"#, "long \\\" text ".repeat(500));
                let text = finding(&[
                    ("status_code", status),
                    ("metadata", &metadata),
                    ("unmapped", &filler),
                    ("resources", &resource(&format!("r-{n}"))),
                ]);
                let comma = if n == 0 { "" } else { "," };
                write!(self.piece, "{comma}{text}")?;
            } else if n == self.n_findings {
                self.piece.push(b']');
            }
            self.n_made += 1;
        }
        let n_read = (&self.piece[self.n_read..]).read(buffer)?;
        self.n_read += n_read;
        Ok(n_read)
    }
}

#[test]
fn a_large_run_is_folded_while_it_is_read() {
    let n_findings = 3_000;
    let mut n_bytes = 0;
    let mut run = Run::of(n_findings);
    while let Ok(chunk) = run.fill_buf() {
        let n_chunk = chunk.len();
        if n_chunk == 0 {
            break;
        }
        n_bytes += n_chunk;
        run.consume(n_chunk);
    }
    assert!(20_000_000 < n_bytes, "{n_bytes} bytes");

    let run = folded_from(Format::ProwlerOcsf, &mut Run::of(n_findings)).unwrap();

    assert_eq!(run.n_records, 3_000);
    assert_eq!(run.observations.len(), 50);
    assert_eq!(total(&run), (2_000, 1_000, 0));
    for observation in &run.observations {
        assert_eq!(observation.failing.len(), counts(observation).1 as usize);
        let more = counts(observation).1 as usize - N_NAMED_MAX;
        assert!(observation.findings.as_deref().unwrap().contains(&format!(" and {more} more")));
    }
}
