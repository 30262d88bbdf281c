//! The DNS as a text, for rules: a line for each record, and no server.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use posture::connect::dns::{Answer, Answers, Domain, Query, RecordKind, Step, judge};
use posture::connect::reading::{Group, Judged, JudgedStatus, Stream};

pub const DOMAIN: &str = "example.com";

const KINDS: [RecordKind; 7] = [
    RecordKind::A,
    RecordKind::Aaaa,
    RecordKind::Caa,
    RecordKind::Dnskey,
    RecordKind::Ds,
    RecordKind::Mx,
    RecordKind::Txt,
];

/// Lines of `name KIND text`; the text `!` and a reason is a query that fails. A name without a line does not exist; the
/// names of [`DOMAIN`] and above do.
pub struct Zone(Vec<(Query, String)>);

impl Zone {
    pub fn new(lines: &str) -> Self {
        let row = |line: &str| {
            let mut words = line.trim().splitn(3, ' ');
            let (name, kind) = (words.next().unwrap(), words.next().unwrap());
            let kind = KINDS.into_iter().find(|it| it.as_str() == kind).unwrap();
            (Query::new(kind, name), words.next().unwrap().to_owned())
        };
        Self(lines.lines().filter(|it| !it.trim().is_empty()).map(row).collect())
    }

    fn answer(&self, query: &Query) -> Answer {
        let of_query = self.0.iter().filter(|it| it.0 == *query);
        let records: Vec<String> = of_query.map(|it| it.1.clone()).collect();
        if let Some(why) = records.iter().find_map(|it| it.strip_prefix('!')) {
            return Answer::Failed(why.to_owned());
        }
        let is_name = |it: &str| it == query.name || it.ends_with(&format!(".{}", query.name));
        match &records[..] {
            [_, ..] => Answer::Records(records),
            [] if is_name(DOMAIN) || self.0.iter().any(|it| is_name(&it.0.name)) => Answer::NoData,
            [] => Answer::NoName,
        }
    }

    /// What a domain comes to, and everything that was asked.
    pub fn judge(&self, domain: &str) -> (Group, BTreeSet<Query>) {
        let domain = Domain::parse(domain).unwrap();
        let mut answers = Answers::new();
        for _ in 0..100 {
            match judge(&domain, &answers) {
                Step::Done(group) => return (group, answers.into_keys().collect()),
                Step::Ask(queries) => {
                    assert!(!queries.is_empty(), "a step asks or is done");
                    for query in queries {
                        let answer = self.answer(&query);
                        assert!(answers.insert(query, answer).is_none(), "asked twice");
                    }
                }
            }
        }
        panic!("no end: {answers:?}");
    }
}

/// What [`DOMAIN`] comes to with these records.
pub fn group(lines: &str) -> Group {
    Zone::new(lines).judge(DOMAIN).0
}

pub fn stream<'a>(group: &'a Group, name: &str) -> &'a Stream {
    group.streams.iter().find(|it| it.name == name).unwrap()
}

pub fn find<'a>(group: &'a Group, check: &str) -> Option<&'a Judged> {
    group.observations.iter().find(|it| it.check == check)
}

pub fn note<'a>(group: &'a Group, name: &str) -> Option<&'a str> {
    group.notes.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
}

/// A check comes to this, and its findings hold these words.
pub fn check(lines: &str, check: &str, status: JudgedStatus, words: &str) {
    let group = group(lines);
    let found = find(&group, check).unwrap_or_else(|| panic!("{lines}: {group:?}"));
    assert_eq!(found.status, status, "{lines}: {}", found.findings);
    assert!(found.findings.contains(words), "{lines}: {}", found.findings);
    assert!(found.findings.contains(DOMAIN), "{lines}: {}", found.findings);
}

/// A key record with an RSA key of so many bits. Nothing but its length is that of a key.
pub fn rsa_key(n_bits: usize) -> String {
    let der = |tag: u8, parts: &[&[u8]]| {
        let content = parts.concat();
        let n = content.len();
        let length = match n {
            0..128 => vec![u8::try_from(n).unwrap()],
            _ => [&[0x82], &u16::try_from(n).unwrap().to_be_bytes()[..]].concat(),
        };
        [&[tag], &length[..], &content].concat()
    };
    let modulus = der(2, &[&[0], &vec![0xab; n_bits / 8]]);
    let key = der(0x30, &[&modulus, &[2, 3, 1, 0, 1]]);
    let rsa: &[u8] = &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];
    let info = der(0x30, &[&der(0x30, &[rsa]), &der(3, &[&[0], &key])]);
    format!("v=DKIM1; k=rsa; p={}", STANDARD.encode(info))
}

/// One line of a zone for each include, in a chain of so many.
pub fn chain(n: usize) -> String {
    let mut lines = format!("{DOMAIN} TXT v=spf1 include:s1.example.net -all\n");
    for index in 1..n {
        let next = index + 1;
        writeln!(lines, "s{index}.example.net TXT v=spf1 include:s{next}.example.net -all")
            .unwrap();
    }
    writeln!(lines, "s{n}.example.net TXT v=spf1 ip4:192.0.2.1 -all").unwrap();
    lines
}
