//! From rows to devices, people and organizations.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::field::{Field, Flag, Found, Moment, Words, identifier};
use super::plan::{
    AntivirusMap, DeviceMap, JoinedFlag, Latest, Number, OpenMap, PatchMap, Role, Streamed, Use,
    UserMap, time_of,
};
use super::{Answers, Mapped, Mapping, Organization, Stream, Unmapped};
use crate::connect::device::{Antivirus, Device, Fact, Last, Patch, Patching, ToolUser};
use crate::text::line;

/// Words that are kept for people. Beyond them, more are counted without the word itself.
const N_UNMAPPED_MAX: usize = 200;
const WORD_CHARS_MAX: usize = 60;

/// Applies a mapping to the rows of all streams that were read to their end. The same rows always give the same result.
#[must_use]
pub fn apply(mapping: &Mapping, answers: &Answers) -> Mapped {
    let rows = Rows::of(mapping, answers);
    let mut notes = Notes::default();
    let skipped = skipped_organizations(mapping, answers);
    let organizations = organizations(mapping, &rows, &mut notes);
    let devices = devices(mapping, &rows, organizations.as_deref(), &skipped, &mut notes);
    let users = mapping.users.as_ref().and_then(|it| users(it, &rows, &mut notes));
    let absent = absent(&all_uses(mapping), &rows);
    let known = known(mapping, &rows, &notes, &absent);
    let is_read =
        |it: &UserMap| !notes.bad.contains_key(&*it.stream) && !absent.contains_key(&*it.stream);
    let users = users.filter(|_| mapping.users.as_ref().is_some_and(is_read));
    let namesakes = namesakes(mapping, organizations.as_deref().unwrap_or_default(), &skipped);
    Mapped {
        organizations,
        namesakes,
        devices,
        users,
        known,
        partial: partial(&rows, &notes, &absent),
        unmapped: notes.unmapped,
    }
}

/// The rows of each stream that was read to its end, without those that are skipped.
struct Rows<'a> {
    of: BTreeMap<&'a str, Vec<&'a Value>>,
}

impl<'a> Rows<'a> {
    fn of(mapping: &'a Mapping, answers: &'a Answers) -> Self {
        let kept = mapping.streams.iter().filter_map(|stream| {
            let rows = answers.get(&stream.name)?.iter();
            let rows = rows.filter(|row| !stream.skip_if.iter().any(|it| it.holds(row)));
            Some((&*stream.name, rows.collect()))
        });
        Self { of: kept.collect() }
    }

    fn get(&self, stream: &str) -> Option<&[&'a Value]> {
        self.of.get(stream).map(Vec::as_slice)
    }
}

/// What is not as declared.
#[derive(Default)]
struct Notes<'a> {
    /// By stream, how many rows could not be read.
    bad: BTreeMap<&'a str, u64>,
    unmapped: BTreeMap<Unmapped, u64>,
}

impl<'a> Notes<'a> {
    fn add_bad(&mut self, stream: &'a str) {
        *self.bad.entry(stream).or_default() += 1;
    }

    /// The value, after what is not understood was counted.
    fn take<T>(&mut self, stream: &str, field: &Field, found: Found<T>) -> Option<T> {
        match found {
            Found::Value(value) => Some(value),
            Found::Unknown => None,
            Found::Unmapped(word) => {
                let mut key = Unmapped {
                    stream: stream.to_owned(),
                    field: field.place().to_owned(),
                    word: line(&word, WORD_CHARS_MAX),
                };
                if N_UNMAPPED_MAX <= self.unmapped.len() && !self.unmapped.contains_key(&key) {
                    "(others)".clone_into(&mut key.word);
                }
                *self.unmapped.entry(key).or_default() += 1;
                None
            }
        }
    }
}

fn organizations<'a>(
    mapping: &'a Mapping,
    rows: &Rows<'a>,
    notes: &mut Notes<'a>,
) -> Option<Vec<Organization>> {
    let map = mapping.organizations.as_ref()?;
    let mut all = Vec::new();
    for row in rows.get(&map.stream)? {
        match (identifier(&map.id, row), map.name.text(row)) {
            (Some(id), Some(name)) => all.push(Organization { id, name }),
            (Some(id), None) => all.push(Organization { name: id.clone(), id }),
            (None, _) => notes.add_bad(&map.stream),
        }
    }
    Some(all)
}

/// Identifiers, and names, of the organizations that the mapping leaves out, and whose devices it leaves out with them.
fn skipped_organizations(mapping: &Mapping, answers: &Answers) -> BTreeSet<String> {
    let Some(map) = &mapping.organizations else { return BTreeSet::new() };
    let stream = mapping.streams.iter().find(|it| it.name == map.stream);
    let rows = stream.and_then(|it| answers.get(&it.name)).into_iter().flatten();
    let is_skipped =
        |row: &&Value| stream.is_some_and(|it| it.skip_if.iter().any(|it| it.holds(row)));
    let key = |row: &Value| {
        if mapping.devices.is_org_name { map.name.text(row) } else { identifier(&map.id, row) }
    };
    rows.filter(is_skipped).filter_map(key).collect()
}

fn users<'a>(map: &'a UserMap, rows: &Rows<'a>, notes: &mut Notes<'a>) -> Option<Vec<ToolUser>> {
    let mut all = Vec::new();
    for row in rows.get(&map.stream)? {
        let Some(id) = identifier(&map.id, row) else {
            notes.add_bad(&map.stream);
            continue;
        };
        let mut flag = |it: &Flag| notes.take(&map.stream, &it.field, it.read(row));
        all.push(ToolUser {
            name: map.name.text(row).unwrap_or_else(|| id.clone()),
            enabled: flag(&map.enabled),
            is_external: map.external.as_ref().map_or(Some(false), &mut flag),
            mfa: flag(&map.mfa),
            id,
        });
    }
    Some(all)
}

/// The rows of one device in each stream. A stream that was not read to its end has none here.
struct DeviceRows<'r, 'a> {
    map: &'a DeviceMap,
    row: &'a Value,
    id: &'r str,
    joined: &'r BTreeMap<&'a str, BTreeMap<String, Vec<&'a Value>>>,
}

impl<'a> DeviceRows<'_, 'a> {
    /// `None`: the stream was not read to its end.
    fn of(&self, stream: &str) -> Option<Vec<&'a Value>> {
        if stream == self.map.stream {
            return Some(vec![self.row]);
        }
        Some(self.joined.get(stream)?.get(self.id).cloned().unwrap_or_default())
    }
}

fn devices<'a>(
    mapping: &'a Mapping,
    rows: &Rows<'a>,
    organizations: Option<&[Organization]>,
    skipped: &BTreeSet<String>,
    notes: &mut Notes<'a>,
) -> Option<Vec<Device>> {
    let map = &mapping.devices;
    let own = rows.get(&map.stream)?;
    let joined = joined(map, rows, notes);
    let ids = organizations.map(unique_names).unwrap_or_default();
    let mut known = BTreeSet::new();
    let mut devices = Vec::new();
    for row in own {
        let Some(id) = identifier(&map.id, row) else {
            notes.add_bad(&map.stream);
            continue;
        };
        let org = map.org.text(row).unwrap_or_default();
        // Pages may overlap.
        if skipped.contains(&org) || !known.insert(id.clone()) {
            continue;
        }
        let org =
            if map.is_org_name { ids.get(&*org).map_or("", |it| *it).to_owned() } else { org };
        let of = DeviceRows { map, row, id: &id, joined: &joined };
        let device = device(&of, notes);
        devices.push(Device { id, org, ..device });
    }
    Some(devices)
}

/// The identifiers by the names that only one organization has.
fn unique_names(organizations: &[Organization]) -> BTreeMap<&str, &str> {
    let shared = shared_names(organizations);
    let unique = organizations.iter().filter(|it| !shared.contains(&*it.name));
    unique.map(|it| (&*it.name, &*it.id)).collect()
}

fn shared_names(organizations: &[Organization]) -> BTreeSet<&str> {
    let (mut ids, mut shared) = (BTreeMap::new(), BTreeSet::new());
    for Organization { id, name } in organizations {
        if ids.insert(&**name, id).is_some_and(|other| other != id) {
            shared.insert(&**name);
        }
    }
    shared
}

/// The names of which nobody can tell whose devices they are.
fn namesakes(
    mapping: &Mapping,
    organizations: &[Organization],
    skipped: &BTreeSet<String>,
) -> BTreeSet<String> {
    if !mapping.devices.is_org_name {
        return BTreeSet::new();
    }
    let as_skipped = organizations.iter().filter(|it| skipped.contains(&it.name));
    let shared = shared_names(organizations).into_iter();
    shared.chain(as_skipped.map(|it| &*it.name)).map(str::to_owned).collect()
}

fn joined<'a>(
    map: &'a DeviceMap,
    rows: &Rows<'a>,
    notes: &mut Notes<'a>,
) -> BTreeMap<&'a str, BTreeMap<String, Vec<&'a Value>>> {
    let mut joined = BTreeMap::new();
    for (stream, at) in &map.joins {
        let Some(rows) = rows.get(stream) else { continue };
        let mut by_device: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for row in rows {
            match identifier(at, row) {
                Some(id) => by_device.entry(id).or_default().push(row),
                None => notes.add_bad(stream),
            }
        }
        joined.insert(&**stream, by_device);
    }
    joined
}

/// A device without its identifiers.
fn device(of: &DeviceRows, notes: &mut Notes) -> Device {
    let map = of.map;
    let mut device = Device { managed: Some(true), ..Device::default() };
    device.name = map.name.text(of.row).unwrap_or_else(|| of.id.to_owned());
    if let Some(Streamed { stream, what }) = &map.macs {
        let rows = of.of(stream).unwrap_or_default();
        device.macs = rows.iter().flat_map(|row| what.texts(row)).collect();
    }
    if let Some(Streamed { stream, what }) = &map.kind {
        let rows = of.of(stream).unwrap_or_default();
        device.kind = first(&rows, stream, (&what.field, &what.words), notes);
    }
    for (target, Streamed { stream, what }) in &map.texts {
        let rows = of.of(stream).unwrap_or_default();
        *(target.slot)(&mut device) = rows.iter().find_map(|row| what.text(row));
    }
    for (target, from) in &map.flags {
        *(target.slot)(&mut device) = joined_flag(from, of, notes);
    }
    for (target, from) in &map.times {
        *(target.slot)(&mut device) = latest(from, of, notes);
    }
    device.last_boot = time_of(map.last_boot.as_ref().and_then(|it| latest(it, of, notes)));
    device.threats = map.threats.as_ref().and_then(|it| number(it, of, notes));
    device.antivirus = map.antivirus.as_ref().and_then(|it| antivirus(it, of, notes));
    for (target, patches) in &map.patches {
        *(target.slot)(&mut device) = patching(patches, of, notes);
    }
    device
}

fn first<T: Copy>(
    rows: &[&Value],
    stream: &str,
    (field, words): (&Field, &Words<T>),
    notes: &mut Notes,
) -> Option<T> {
    rows.iter().find_map(|row| notes.take(stream, field, words.read(field.find(row))))
}

fn joined_flag(from: &Streamed<JoinedFlag>, of: &DeviceRows, notes: &mut Notes) -> Option<bool> {
    let JoinedFlag { flag, is_any } = &from.what;
    let rows = of.of(&from.stream)?;
    let read: Vec<Option<bool>> =
        rows.iter().map(|row| notes.take(&from.stream, &flag.field, flag.read(row))).collect();
    if read.is_empty() {
        return None;
    }
    // One row decides by this value, whatever the others say; the other value needs all rows.
    let decisive = *is_any;
    if read.contains(&Some(decisive)) {
        return Some(decisive);
    }
    (!read.contains(&None)).then_some(!decisive)
}

fn latest(from: &Streamed<Latest>, of: &DeviceRows, notes: &mut Notes) -> Option<Last> {
    let Latest { moment, only } = &from.what;
    let rows = of.of(&from.stream)?;
    let mut last = (!rows.is_empty()).then_some(Last::Never);
    for row in rows {
        let counts = match only {
            None => true,
            Some(flag) => notes.take(&from.stream, &flag.field, flag.read(row))?,
        };
        if counts {
            last = last.max(Some(at(moment, &from.stream, row, notes)?));
        }
    }
    last
}

fn at(moment: &Moment, stream: &str, row: &Value, notes: &mut Notes) -> Option<Last> {
    notes.take(stream, &moment.field, moment.read(row))
}

fn number(from: &Streamed<Number>, of: &DeviceRows, notes: &mut Notes) -> Option<u64> {
    let rows = of.of(&from.stream)?;
    match &from.what {
        Number::Sum(field) => {
            let all = rows.iter().map(|row| count(field, row));
            let all: Option<Vec<u64>> =
                all.map(|found| notes.take(&from.stream, field, found)).collect();
            all.filter(|it| !it.is_empty())?.into_iter().try_fold(0, u64::checked_add)
        }
        Number::Count(flag) => {
            let all = rows.iter().map(|row| flag.read(row));
            let all: Vec<Option<bool>> =
                all.map(|found| notes.take(&from.stream, &flag.field, found)).collect();
            let n = all.iter().filter(|it| **it == Some(true)).count() as u64;
            // With rows that are not understood, there are at least so many.
            (0 < n || !all.contains(&None)).then_some(n)
        }
    }
}

fn count(field: &Field, row: &Value) -> Found<u64> {
    let Some(value) = field.find(row) else { return Found::Unknown };
    let text = super::field::scalar(value).unwrap_or_default();
    text.parse().map_or(Found::Unmapped(text), Found::Value)
}

fn antivirus(
    from: &Streamed<AntivirusMap>,
    of: &DeviceRows,
    notes: &mut Notes,
) -> Option<Vec<Antivirus>> {
    let AntivirusMap { product, running, current, none_if } = &from.what;
    let rows = of.of(&from.stream)?;
    if rows.is_empty() && !none_if.iter().any(|it| it.holds(of.row)) {
        return None;
    }
    let mut flag = |it: &Flag, row| notes.take(&from.stream, &it.field, it.read(row));
    let product = |row| product.as_ref().and_then(|it| it.text(row));
    let products = rows.into_iter().map(|row| Antivirus {
        product: product(row),
        running: flag(running, row),
        current: flag(current, row),
    });
    let products: Vec<Antivirus> = products.collect();
    // A row that says nothing at all is no product: the tool does not know.
    let is_told =
        |it: &Antivirus| it.running.is_some() || it.current.is_some() || it.product.is_some();
    (products.is_empty() || products.iter().any(is_told)).then_some(products)
}

fn patching(map: &PatchMap, of: &DeviceRows, notes: &mut Notes) -> Patching {
    let PatchMap { state, open, installed } = map;
    let mut patching = Patching::default();
    if let Some(Streamed { stream, what }) = state {
        let rows = of.of(stream).unwrap_or_default();
        patching.state = first(&rows, stream, (&what.field, &what.words), notes);
    }
    if let Some(Streamed { stream, what }) = open {
        let OpenMap { severity, status, since } = what;
        patching.open = of.of(stream).map(|rows| {
            let patch = |row: &Value| Patch {
                severity: notes.take(
                    stream,
                    &severity.field,
                    severity.words.read(severity.field.find(row)),
                ),
                status: notes.take(
                    stream,
                    &status.field,
                    status.words.read(status.field.find(row)),
                ),
                since: time_of(since.as_ref().and_then(|it| at(it, stream, row, notes))),
            };
            rows.into_iter().map(patch).collect()
        });
    }
    patching.installed = installed.as_ref().and_then(|it| latest(it, of, notes));
    patching
}

/// Removes the members of rows that nothing is read from. They are most of a row.
pub(super) fn prune(mapping: &Mapping, stream: &Stream, rows: &mut [Value]) {
    let (name, all) = (&*stream.name, all_uses(mapping));
    let read = all.iter().filter(|it| it.stream == name).filter_map(|it| it.field);
    let fields = read.chain(stream.skip_if.iter().map(|it| &it.field));
    let mut members: BTreeSet<&str> =
        fields.flat_map(|it| &it.at).filter_map(|it| it.member()).collect();
    let DeviceMap { stream: devices, id, joins, .. } = &mapping.devices;
    let organizations = mapping.organizations.iter().map(|it| (&it.stream, &it.id));
    let users = mapping.users.iter().map(|it| (&it.stream, &it.id));
    let joins = joins.iter().map(|(stream, at)| (stream, at));
    let ids = joins.chain(organizations).chain(users).chain([(devices, id)]);
    members.extend(ids.filter(|it| it.0 == name).filter_map(|it| it.1.member()));
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        row.retain(|member, _| members.contains(&**member));
    }
}

fn all_uses(mapping: &Mapping) -> Vec<Use<'_>> {
    let mut uses = mapping.devices.uses();
    let mut add = |stream, field| uses.push(Use { stream, field: Some(field), role: Role::Shown });
    if let Some(map) = &mapping.organizations {
        add(&map.stream, &map.name);
    }
    if let Some(map) = &mapping.users {
        add(&map.stream, &map.name);
        for flag in
            [Some(&map.enabled), Some(&map.mfa), map.external.as_ref()].into_iter().flatten()
        {
            add(&map.stream, &flag.field);
        }
    }
    uses
}

/// By stream, the fields that none of its rows has, with the number of rows. A vendor may have renamed them.
type AbsentFields<'m> = BTreeMap<&'m str, Vec<&'m Field>>;

fn absent<'m>(uses: &[Use<'m>], rows: &Rows) -> AbsentFields<'m> {
    let mut absent: AbsentFields = BTreeMap::new();
    for Use { stream, field, .. } in uses {
        let Some(field) = field.filter(|it| !it.is_optional) else { continue };
        let Some(rows) = rows.get(stream).filter(|it| !it.is_empty()) else { continue };
        if !rows.iter().any(|row| field.is_in(row)) {
            let fields = absent.entry(stream).or_default();
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
    }
    absent
}

/// The facts of which all that they need was read.
fn known(mapping: &Mapping, rows: &Rows, notes: &Notes, absent: &AbsentFields) -> BTreeSet<Fact> {
    let map = &mapping.devices;
    let is_whole = |stream: &str| rows.get(stream).is_some() && !notes.bad.contains_key(stream);
    let is_read = |it: &Use| {
        let is_absent = |field| absent.get(it.stream).is_some_and(|all| all.contains(&field));
        is_whole(it.stream) && !it.field.is_some_and(is_absent)
    };
    let mut known = map.facts();
    if !is_whole(&map.stream) {
        return BTreeSet::new();
    }
    for it in map.uses().iter().filter(|it| !is_read(it)) {
        match it.role {
            Role::Scope | Role::ScopeAndFact(_) => return BTreeSet::new(),
            Role::Fact(fact) => {
                known.remove(&fact);
            }
            Role::Shown => (),
        }
    }
    known
}

fn partial(rows: &Rows, notes: &Notes, absent: &AbsentFields) -> BTreeMap<String, String> {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let n_rows = |stream: &str| rows.get(stream).map_or(0, <[_]>::len);
    for (stream, n) in &notes.bad {
        let reason = format!("{n} of {} rows could not be read", n_rows(stream));
        reasons.entry(stream).or_default().push(reason);
    }
    for (stream, fields) in absent {
        for field in fields {
            let names: Vec<String> = field.at.iter().map(super::Pointer::dotted).collect();
            let (names, n) = (names.join(" or "), n_rows(stream));
            let reason = format!("field {names} absent from {n} of {n} rows");
            reasons.entry(stream).or_default().push(reason);
        }
    }
    reasons.into_iter().map(|(stream, all)| (stream.to_owned(), all.join("; "))).collect()
}
