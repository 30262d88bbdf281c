//! From the rows of a tool to what its organizations bring to clients.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Answers, Mapped, Mapping, Organization, apply};
use crate::clock::Time;
use crate::connect::device::{Device, assets, judge, judge_users};
use crate::connect::reading::{Group, Judged, N_ORGS_MAX, Org, Reading, Stream, StreamState};

/// Words of one stream that its note names.
const N_WORDS_SHOWN: usize = 10;
/// Names that organizations share, of which people are told.
const N_NAMES_SHOWN: usize = 5;

/// What was read of a tool, judged organization by organization.
///
/// `streams`: all of the mapping. `answers`: the rows of those that are complete.
pub(super) fn reading(
    mapping: &Mapping,
    answers: &Answers,
    mut streams: Vec<Stream>,
    at: Time,
) -> Reading {
    let mut mapped = apply(mapping, answers);
    for stream in &mut streams {
        if let Some(reason) = mapped.partial.remove(&stream.name) {
            (stream.state, stream.reason) = (StreamState::Partial, reason);
        }
    }
    let is_missing = |it: &&super::Stream| it.is_required && !answers.contains_key(&it.name);
    if mapping.streams.iter().any(|it| is_missing(&it)) {
        mapped.known.clear();
    }
    let organizations = organizations(mapping, &mut mapped, &mut streams);
    let (orgs, n_homeless) = match organizations {
        None => (None, 0),
        Some(all) => {
            let mut devices: BTreeMap<String, Vec<Device>> = BTreeMap::new();
            let listed = mapped.devices.take();
            let has_devices = listed.is_some();
            for it in listed.into_iter().flatten() {
                devices.entry(it.org.clone()).or_default().push(it);
            }
            let of = Source { mapping, mapped: &mapped, has_devices, streams: &streams, at };
            let orgs = all.into_iter().map(|it| {
                let own = devices.remove(&it.id).unwrap_or_default();
                of.org(it, &own)
            });
            let orgs: Vec<Org> = orgs.collect();
            (Some(orgs), devices.values().map(Vec::len).sum())
        }
    };
    let notes = notes(mapping, &mapped, n_homeless);
    streams.extend(namesakes(&mapped.namesakes));
    let groups = vec![Group { streams, notes, ..Group::default() }];
    Reading { groups, orgs, awaits_consent: false }
}

/// All organizations. `None`: they are not all known.
fn organizations(
    mapping: &Mapping,
    mapped: &mut Mapped,
    streams: &mut [Stream],
) -> Option<Vec<Organization>> {
    let source = mapping.organizations.as_ref().map_or(&mapping.devices.stream, |it| &it.stream);
    let source = streams.iter_mut().find(|it| it.name == *source)?;
    if source.state != StreamState::Complete {
        return None;
    }
    let listed = match mapped.organizations.take() {
        Some(listed) => listed.into_iter().map(|it| (it.id, it.name)).collect(),
        None if mapping.organizations.is_some() => return None,
        None => {
            let devices = mapped.devices.iter().flatten().filter(|it| !it.org.is_empty());
            devices.map(|it| (it.org.clone(), it.org.clone())).collect::<BTreeMap<_, _>>()
        }
    };
    if N_ORGS_MAX < listed.len() {
        source.state = StreamState::Failed;
        source.reason = format!(
            "it has {} organizations, and more than {N_ORGS_MAX} are not read",
            listed.len()
        );
        return None;
    }
    Some(listed.into_iter().map(|(id, name)| Organization { id, name }).collect())
}

/// What is known of all organizations.
struct Source<'a> {
    mapping: &'a Mapping,
    /// Without its devices.
    mapped: &'a Mapped,
    /// The devices are known.
    has_devices: bool,
    streams: &'a [Stream],
    at: Time,
}

impl Source<'_> {
    fn org(&self, it: Organization, devices: &[Device]) -> Org {
        let map = &self.mapping.devices;
        let known = &self.mapped.known;
        let judged = if known.is_empty() { Vec::new() } else { judge(devices, known, self.at) };
        let mut groups = Vec::new();
        for (others, facts) in map.needs() {
            let is_of = |it: &&Judged| facts.iter().any(|fact| fact.control() == it.control);
            let observations = judged.iter().filter(is_of).cloned().collect();
            let mut group = self.group(&it.id, &map.stream, &others, observations);
            if others.is_empty() {
                group.assets = self.has_devices.then(|| assets(devices, &group.scope));
            }
            groups.push(group);
        }
        if let Some(users) = &self.mapping.users {
            let judged = self.mapped.users.as_ref();
            let judged = judged.and_then(|all| judge_users(all, &self.mapping.title));
            let others = BTreeSet::from([users.stream.as_str()]);
            groups.push(self.group(&it.id, &users.stream, &others, judged.into_iter().collect()));
        }
        let is_namesake = self.mapped.namesakes.contains(&it.name);
        if is_namesake {
            groups.iter_mut().for_each(Group::say_nothing);
        }
        let is_counted = self.is_complete(&map.stream) && !is_namesake;
        let n_devices = is_counted.then_some(devices.len());
        Org {
            external_id: it.id,
            name: it.name,
            n_devices: n_devices.map(|it| u32::try_from(it).unwrap_or(u32::MAX)),
            groups,
        }
    }

    fn is_complete(&self, stream: &str) -> bool {
        self.streams.iter().any(|it| it.name == stream && it.state == StreamState::Complete)
    }

    /// What an organization has of some streams.
    fn group(
        &self,
        org: &str,
        main: &str,
        others: &BTreeSet<&str>,
        observations: Vec<Judged>,
    ) -> Group {
        let names: Vec<&str> = others.iter().copied().collect();
        let scope =
            if names.is_empty() { org.to_owned() } else { format!("{org}/{}", names.join("+")) };
        let is_needed = |it: &&Stream| it.name == main || others.contains(it.name.as_str());
        let required = self.mapping.streams.iter().filter(|it| it.is_required);
        let mut needed = required.map(|it| it.name.as_str()).chain(names).chain([main]);
        Group {
            is_whole: needed.all(|it| self.is_complete(it)),
            streams: self.streams.iter().filter(is_needed).cloned().collect(),
            observations,
            scope,
            ..Group::default()
        }
    }
}

/// The stream that says that nobody can tell whose some devices are.
fn namesakes(names: &BTreeSet<String>) -> Option<Stream> {
    if names.is_empty() {
        return None;
    }
    let shown: Vec<String> =
        names.iter().take(N_NAMES_SHOWN).map(|it| format!("\"{it}\"")).collect();
    let more = names.len().saturating_sub(N_NAMES_SHOWN);
    let more = if 0 < more { format!(" and {more} more") } else { String::new() };
    let reason = format!(
        "more than one organization is named {}{more}, and devices say only the name of theirs; give each a name of its own: \
         until then nothing of them counts",
        shown.join(", ")
    );
    let (name, n_rows) = ("organization names".to_owned(), names.len() as u64);
    Some(Stream { name, state: StreamState::Partial, reason, n_rows })
}

/// What people should know of the rows: by stream, the words that were not understood, and devices that no client gets.
fn notes(mapping: &Mapping, mapped: &Mapped, n_homeless: usize) -> Vec<(String, String)> {
    let mut words: BTreeMap<&str, Vec<(u64, String)>> = BTreeMap::new();
    for (it, n) in &mapped.unmapped {
        let text = format!("{} \"{}\" ({n})", it.field, it.word);
        words.entry(&it.stream).or_default().push((*n, text));
    }
    let mut notes = Vec::new();
    for (stream, mut all) in words {
        all.sort_by_key(|(n, _)| Reverse(*n));
        let n_more = all.len().saturating_sub(N_WORDS_SHOWN);
        let shown = all.into_iter().take(N_WORDS_SHOWN).map(|(_, text)| text);
        let more = (0 < n_more).then(|| format!("{n_more} more"));
        let shown: Vec<String> = shown.chain(more).collect();
        let text = format!("not understood, and counted as unknown: {}", shown.join(", "));
        notes.push((stream.to_owned(), text));
    }
    if 0 < n_homeless {
        let text = match n_homeless {
            1 => "1 device has no organization in the list, so that no client gets it".to_owned(),
            n => {
                format!("{n} devices have no organization in the list, so that no client gets them")
            }
        };
        notes.push((mapping.devices.stream.clone(), text));
    }
    notes
}
