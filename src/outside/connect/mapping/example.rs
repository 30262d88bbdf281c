//! Whether the examples of a mapping come to what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::apply::prune;
use super::read::{Example, parse};
use super::{Answers, Mapped, Mapping, Proof, apply};
use crate::connect::device::{
    Antivirus, Device, Last, Patch, PatchSeverity, PatchState, PatchStatus, Patching, ToolUser,
    judge, judge_users,
};
use crate::toml_reader::Problem;

/// What a mapping declares, after its examples held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub kind: String,
    pub title: String,
    pub proof: Proof,
    pub streams: Vec<String>,
    /// The controls that it may decide.
    pub controls: BTreeSet<&'static str>,
    /// Their names.
    pub examples: Vec<String>,
}

/// Reads a mapping and runs its examples.
///
/// # Errors
/// Every problem of the file, or every difference of an example.
pub fn check(file: &str, text: &str) -> Result<Report, Vec<Problem>> {
    let (mapping, examples) = parse(file, text)?;
    let mut problems = Vec::new();
    for example in &examples {
        let differences = differences(&mapping, example);
        problems.extend(differences.into_iter().map(|it| Problem {
            file: file.to_owned(),
            line: Some(example.line),
            message: format!("example {:?}: {it}", example.name),
        }));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Report {
        controls: mapping.controls(),
        kind: mapping.kind,
        title: mapping.title,
        proof: mapping.proof,
        streams: mapping.streams.into_iter().map(|it| it.name).collect(),
        examples: examples.into_iter().map(|it| it.name).collect(),
    })
}

/// A name of something and its facts.
type Facts = BTreeMap<String, String>;

fn differences(mapping: &Mapping, example: &Example) -> Vec<String> {
    let mut answers = Answers::new();
    for (name, answer) in &example.answers {
        let Some(stream) = mapping.streams.iter().find(|it| it.name == *name) else {
            return vec![format!("answers: there is no stream {name:?}")];
        };
        let Some(rows) = stream.rows_of(answer) else {
            return vec![format!("answers: {name}: has no list at {:?}", stream.rows.as_str())];
        };
        let mut rows = rows.to_vec();
        prune(mapping, stream, &mut rows);
        answers.insert(name.clone(), rows);
    }
    let mapped = apply(mapping, &answers);
    let mut found = Vec::new();
    let organizations = mapped.organizations.iter().flatten();
    let organizations: Facts = organizations.map(|it| (it.id.clone(), it.name.clone())).collect();
    facts("organizations", &example.organizations, &organizations, &mut found);
    let devices: Vec<Facts> = mapped.devices.iter().flatten().map(device).collect();
    each("device", &example.devices, &devices, &mut found);
    let users: Vec<Facts> = mapped.users.iter().flatten().map(user).collect();
    each("user", &example.users, &users, &mut found);
    let unmapped = mapped.unmapped.iter();
    let unmapped =
        unmapped.map(|(it, n)| format!("{}: {}: {} ({n})", it.stream, it.field, it.word));
    lines("unmapped", &example.unmapped, &unmapped.collect(), &mut found);
    let partial = mapped.partial.iter().map(|(stream, why)| format!("{stream}: {why}"));
    lines("partial", &example.partial, &partial.collect(), &mut found);
    if let Some((at, expected)) = &example.verdicts {
        let judged = judge(mapped.devices.as_deref().unwrap_or_default(), &mapped.known, *at);
        let users = judge_all(&mapped, mapping);
        let judged = judged.into_iter().chain(users);
        let judged: Facts =
            judged.map(|it| (it.control.to_owned(), it.status.as_str().to_owned())).collect();
        facts("verdicts", expected, &judged, &mut found);
    }
    found
}

fn judge_all(mapped: &Mapped, mapping: &Mapping) -> Option<crate::connect::reading::Judged> {
    judge_users(mapped.users.as_ref()?, &mapping.title)
}

/// Compares rows by their id.
fn each(what: &str, expected: &[Facts], actual: &[Facts], found: &mut Vec<String>) {
    let id = |it: &Facts| it.get("id").cloned().unwrap_or_default();
    for wanted in expected {
        match actual.iter().find(|it| id(it) == id(wanted)) {
            Some(is) => facts(&format!("{what} {:?}", id(wanted)), wanted, is, found),
            None => found.push(format!("{what} {:?} is missing", id(wanted))),
        }
    }
    for is in actual.iter().filter(|is| !expected.iter().any(|it| id(it) == id(is))) {
        found.push(format!("{what} {:?} is not expected: {is:?}", id(is)));
    }
}

fn facts(what: &str, expected: &Facts, actual: &Facts, found: &mut Vec<String>) {
    let names: BTreeSet<&String> = expected.keys().chain(actual.keys()).collect();
    for name in names {
        let (wanted, is) = (expected.get(name), actual.get(name));
        if wanted != is {
            let shown =
                |it: Option<&String>| it.map_or("nothing".to_owned(), |it| format!("{it:?}"));
            found.push(format!("{what}: {name}: expected {}, not {}", shown(wanted), shown(is)));
        }
    }
}

fn lines(
    what: &str,
    expected: &BTreeSet<String>,
    actual: &BTreeSet<String>,
    found: &mut Vec<String>,
) {
    found.extend(expected.difference(actual).map(|it| format!("{what}: missing: {it}")));
    found.extend(actual.difference(expected).map(|it| format!("{what}: not expected: {it}")));
}

/// The facts that are known.
fn device(it: &Device) -> Facts {
    let flag = |it: Option<bool>| it.map(|it| it.to_string());
    let last = |it: Option<Last>| it.map(last);
    let text = |it: &str| Some(it.to_owned()).filter(|it| !it.is_empty());
    let all = [
        ("id", text(&it.id)),
        ("org", text(&it.org)),
        ("name", text(&it.name)),
        ("hostname", it.hostname.clone()),
        ("serial", it.serial.clone()),
        ("macs", text(&it.macs.join(", "))),
        ("ip", it.ip.clone()),
        ("kind", it.kind.map(|it| it.as_str().to_owned())),
        ("os_name", it.os.name.clone()),
        ("os_version", it.os.version.clone()),
        ("os_build", it.os.build.clone()),
        ("managed", flag(it.managed)),
        ("agent", flag(it.agent)),
        ("online", flag(it.online)),
        ("last_seen", last(it.last_seen)),
        ("last_boot", it.last_boot.map(|it| it.to_string())),
        ("needs_reboot", flag(it.needs_reboot)),
        ("antivirus", it.antivirus.as_ref().map(|it| joined(it.iter().map(product)))),
        ("threats", it.threats.map(|it| it.to_string())),
        ("encrypted", flag(it.encrypted)),
        ("firewall", flag(it.firewall)),
        ("edr", flag(it.edr)),
        ("compliant", flag(it.compliant)),
        ("jailbroken", flag(it.jailbroken)),
        ("os_patches", patching(&it.os_patches)),
        ("software_patches", patching(&it.software_patches)),
        ("backup", last(it.backup)),
    ];
    known(all)
}

fn user(it: &ToolUser) -> Facts {
    let flag = |it: Option<bool>| it.map(|it| it.to_string());
    known([
        ("id", Some(it.id.clone())),
        ("name", Some(it.name.clone())),
        ("enabled", flag(it.enabled)),
        ("external", flag(it.is_external)),
        ("mfa", flag(it.mfa)),
    ])
}

fn known<const N: usize>(all: [(&str, Option<String>); N]) -> Facts {
    all.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?))).collect()
}

fn last(it: Last) -> String {
    match it {
        Last::Never => "never".to_owned(),
        Last::At(time) => time.to_string(),
    }
}

fn joined(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    if all.is_empty() { "none".to_owned() } else { all.join("; ") }
}

fn product(it: &Antivirus) -> String {
    let word = |flag: Option<bool>, yes, no, unknown| match flag {
        Some(true) => yes,
        Some(false) => no,
        None => unknown,
    };
    let name = it.product.as_deref().unwrap_or("(no name)");
    let running = word(it.running, "running", "off", "unknown");
    let current = word(it.current, "current", "out of date", "unknown");
    format!("{name}: {running}, {current}")
}

fn patching(it: &Patching) -> Option<String> {
    let state = it.state.map(|it| match it {
        PatchState::Current => "current",
        PatchState::Pending => "pending",
        PatchState::Failed => "failed",
        PatchState::NoPolicy => "no policy",
    });
    let mut parts: Vec<String> = state.map(str::to_owned).into_iter().collect();
    parts.extend(it.open.as_ref().map(|it| format!("open: {}", joined(it.iter().map(patch)))));
    parts.extend(it.installed.map(|it| format!("installed: {}", last(it))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn patch(it: &Patch) -> String {
    let severity = it.severity.map_or("unknown", |it| match it {
        PatchSeverity::Critical => "critical",
        PatchSeverity::Important => "important",
        PatchSeverity::Other => "other",
    });
    let status = it.status.map_or("unknown", |it| match it {
        PatchStatus::Pending => "pending",
        PatchStatus::Failed => "failed",
        PatchStatus::Closed => "closed",
    });
    let mut text = format!("{severity} {status}");
    if let Some(since) = it.since {
        write!(text, " since {since}").expect("a String takes all text");
    }
    text
}
