//! How rows become devices, people and organizations.

use super::part::{
    conditions, each, flag, may, meaning, moment, need, of_place, one, place, plain, pointer,
    stream, streamed, words,
};
use crate::connect::device::{PatchSeverity, PatchState, PatchStatus};
use crate::connect::mapping::N_STREAMS_MAX;
use crate::connect::mapping::field::{Field, Flag, FlagHow};
use crate::connect::mapping::plan::{
    AntivirusMap, Choice, DeviceMap, FLAGS, JoinedFlag, Latest, Number, OpenMap, OrganizationMap,
    PATCHES, PatchMap, Streamed, TEXTS, TIMES, UserMap,
};
use crate::engine::asset::AssetType;
use crate::toml_reader::{Ruled, Table, Value, flag as boolean, string, wrong};

const KINDS: [(&str, AssetType); 7] = [
    ("server", AssetType::Server),
    ("workstation", AssetType::Workstation),
    ("mobile", AssetType::Mobile),
    ("network_device", AssetType::NetworkDevice),
    ("virtual_machine", AssetType::VirtualMachine),
    ("cloud_resource", AssetType::CloudResource),
    ("device", AssetType::Device),
];
const STATES: [(&str, PatchState); 4] = [
    ("current", PatchState::Current),
    ("pending", PatchState::Pending),
    ("failed", PatchState::Failed),
    ("no_policy", PatchState::NoPolicy),
];
const SEVERITIES: [(&str, PatchSeverity); 3] = [
    ("critical", PatchSeverity::Critical),
    ("important", PatchSeverity::Important),
    ("other", PatchSeverity::Other),
];
const STATUSES: [(&str, PatchStatus); 3] = [
    ("pending", PatchStatus::Pending),
    ("failed", PatchStatus::Failed),
    ("closed", PatchStatus::Closed),
];

/// The name of one of the streams.
fn known(streams: &[String]) -> impl Fn(&Value<'_>) -> Ruled<String> {
    move |value| {
        let name = string(value)?.to_owned();
        if streams.contains(&name) {
            return Ok(name);
        }
        wrong(value, format!("there is no stream {name:?}"))
    }
}

pub(super) fn organizations(table: &mut Table<'_>, streams: &[String]) -> Option<OrganizationMap> {
    let stream = need(table, "stream", known(streams));
    let id = need(table, "id", pointer);
    let name = need(table, "name", place);
    Some(OrganizationMap { stream: stream?, id: id?, name: name? })
}

pub(super) fn users(table: &mut Table<'_>, streams: &[String]) -> Option<UserMap> {
    let stream = need(table, "stream", known(streams));
    let id = need(table, "id", pointer);
    let name = need(table, "name", place);
    let enabled = required(table, "enabled", |it| of_place(it, "enabled", flag));
    let mfa = required(table, "mfa", |it| of_place(it, "mfa", flag));
    let external = of_place(table, "external", flag);
    Some(UserMap {
        stream: stream?,
        id: id?,
        name: name?,
        enabled: enabled?,
        mfa: mfa?,
        external: external?,
    })
}

/// What is there. Reports that it is missing.
fn required<'d, T>(
    table: &mut Table<'d>,
    key: &'static str,
    read: impl Fn(&mut Table<'d>) -> Option<Option<T>>,
) -> Option<T> {
    let read = read(table)?;
    if read.is_none() {
        table.problem(table.line, format!("missing key {key:?}"));
    }
    read
}

pub(super) fn devices(table: &mut Table<'_>, streams: &[String]) -> Option<DeviceMap> {
    let own = need(table, "stream", known(streams));
    let id = need(table, "id", pointer);
    let joins = each(table, "join", N_STREAMS_MAX, |it| {
        let stream = need(it, "stream", known(streams));
        let at = need(it, "device", pointer);
        stream.zip(at)
    });
    // Without its stream, the other keys are read all the same: they are not unknown.
    let stream = own.clone().unwrap_or_default();
    let mut names: Vec<String> = joins.iter().map(|(stream, _)| stream.clone()).collect();
    names.push(stream.clone());
    let of = (&*stream, &*names);
    let is_org_name = may(table, "org_is_name", boolean);
    let lists_unmanaged = may(table, "lists_unmanaged", boolean);
    let name = need(table, "name", place);
    let org = required(table, "org", |it| of_place(it, "org", plain));
    let macs = streamed(table, "macs", of, plain);
    let kind = streamed(table, "kind", of, |table, field| choice(table, field, &KINDS));
    let last_boot = streamed(table, "last_boot", of, latest);
    let threats = streamed(table, "threats", of, number);
    let antivirus = one(table, "antivirus", |it| antivirus(it, of));
    let mut texts = Vec::new();
    for target in &TEXTS {
        texts.push(streamed(table, target.name, of, plain).map(|it| it.map(|it| (target, it))));
    }
    let mut flags = Vec::new();
    for target in &FLAGS {
        let read = streamed(table, target.name, of, joined_flag);
        flags.push(read.map(|it| it.map(|it| (target, it))));
    }
    let mut times = Vec::new();
    for target in &TIMES {
        times.push(streamed(table, target.name, of, latest).map(|it| it.map(|it| (target, it))));
    }
    let mut patches = Vec::new();
    for target in &PATCHES {
        let read = one(table, target.name, |it| self::patches(it, of));
        patches.push(read.map(|it| it.map(|it| (target, it))));
    }
    Some(DeviceMap {
        stream: own?,
        id: id?,
        org: org?,
        is_org_name: is_org_name?.unwrap_or(false),
        lists_unmanaged: lists_unmanaged?.unwrap_or(false),
        joins,
        name: name?,
        macs: macs?,
        kind: kind?,
        texts: present(texts)?,
        flags: present(flags)?,
        times: present(times)?,
        last_boot: last_boot?,
        threats: threats?,
        antivirus: antivirus?,
        patches: present(patches)?,
    })
}

/// Those that are there. `None`: one is wrong.
fn present<T>(read: Vec<Option<Option<T>>>) -> Option<Vec<T>> {
    let read: Option<Vec<Option<T>>> = read.into_iter().collect();
    Some(read?.into_iter().flatten().collect())
}

fn choice<T: Copy>(
    table: Option<&mut Table<'_>>,
    field: Field,
    known: &'static [(&'static str, T)],
) -> Option<Choice<T>> {
    let table = table?;
    let words = words(table, meaning(known))?;
    if words.is_none() {
        table.problem(table.line, "needs words or contains");
    }
    Some(Choice { field, words: words? })
}

fn joined_flag(mut table: Option<&mut Table<'_>>, field: Field) -> Option<JoinedFlag> {
    let is_any = match table.as_deref_mut() {
        Some(table) => may(table, "any", boolean)?,
        None => None,
    };
    Some(JoinedFlag { flag: flag(table, field)?, is_any: is_any.unwrap_or(false) })
}

fn latest(table: Option<&mut Table<'_>>, field: Field) -> Option<Latest> {
    let table = table?;
    let only = of_place(table, "only", flag);
    let moment = moment(Some(table), field);
    Some(Latest { moment: moment?, only: only? })
}

/// The sum of a field, or with words the number of rows of which they say yes.
fn number(table: Option<&mut Table<'_>>, field: Field) -> Option<Number> {
    let Some(table) = table else { return Some(Number::Sum(field)) };
    let flag = flag(Some(table), field)?;
    let Flag { field, how, is_negated } = flag;
    match how {
        FlagHow::Boolean if !is_negated => Some(Number::Sum(field)),
        how @ (FlagHow::Boolean | FlagHow::Filled | FlagHow::Words(_)) => {
            Some(Number::Count(Flag { field, how, is_negated }))
        }
    }
}

fn antivirus(table: &mut Table<'_>, of: (&str, &[String])) -> Option<Streamed<AntivirusMap>> {
    let stream = stream(table, of);
    let product = of_place(table, "product", plain);
    let running = required(table, "running", |it| of_place(it, "running", flag));
    let current = required(table, "current", |it| of_place(it, "current", flag));
    let none_if = conditions(table, "none_if");
    let what = AntivirusMap { product: product?, running: running?, current: current?, none_if };
    Some(Streamed { stream: stream?, what })
}

fn patches(table: &mut Table<'_>, of: (&str, &[String])) -> Option<PatchMap> {
    let state = streamed(table, "state", of, |table, field| choice(table, field, &STATES));
    let installed = streamed(table, "installed", of, latest);
    let open = one(table, "open", |it| {
        let stream = stream(it, of);
        let severity = required(it, "severity", |it| {
            of_place(it, "severity", |it, at| choice(it, at, &SEVERITIES))
        });
        let status =
            required(it, "status", |it| of_place(it, "status", |it, at| choice(it, at, &STATUSES)));
        let since = of_place(it, "since", moment);
        let what = OpenMap { severity: severity?, status: status?, since: since? };
        Some(Streamed { stream: stream?, what })
    });
    let map = PatchMap { state: state?, open: open?, installed: installed? };
    if map.state.is_none() && map.open.is_none() {
        table.problem(table.line, "needs state or open");
        return None;
    }
    Some(map)
}
