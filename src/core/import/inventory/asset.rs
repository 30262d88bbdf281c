//! An asset from a row of a list.

use super::columns::Field;
use super::{OrSkipped, SCOPE};
use crate::engine::asset::{AssetType, ReportedFields, Seen};
use crate::import::host::{hostname, mac, type_of_os};
use crate::import::moment;
use crate::import::text::{self, NAME_CHARS_MAX};

/// Of a longer list of tags, the rest is not kept.
const N_TAGS_MAX: usize = 20;
const TAG_CHARS_MAX: usize = 50;
const DESCRIPTION_CHARS_MAX: usize = 500;

/// The type of an asset by a word that what the list calls its type has, or else its operating system: the first that fits.
const TYPES: &[(&str, AssetType)] = &[
    ("server", AssetType::Server),
    ("virtual", AssetType::VirtualMachine),
    ("laptop", AssetType::Workstation),
    ("notebook", AssetType::Workstation),
    ("desktop", AssetType::Workstation),
    ("workstation", AssetType::Workstation),
    ("macbook", AssetType::Workstation),
    ("computer", AssetType::Workstation),
    ("phone", AssetType::Mobile),
    ("tablet", AssetType::Mobile),
    ("mobile", AssetType::Mobile),
    ("ipad", AssetType::Mobile),
    ("android", AssetType::Mobile),
    ("firewall", AssetType::NetworkDevice),
    ("router", AssetType::NetworkDevice),
    ("switch", AssetType::NetworkDevice),
    ("access point", AssetType::NetworkDevice),
    ("network", AssetType::NetworkDevice),
    ("container", AssetType::Container),
    ("database", AssetType::Database),
];
/// The same of operating systems that are not in reports of scanners.
const SYSTEMS: &[(&str, AssetType)] = &[("server", AssetType::Server), ("ios", AssetType::Mobile)];

/// The asset, and why a part of the row is left out. `cell`: what the list says of a field, if anything.
///
/// # Errors
/// The reason why the row is skipped.
pub(super) fn of_row<'a>(
    cell: impl Fn(Field) -> OrSkipped<&'a str>,
) -> OrSkipped<(Seen, Option<String>)> {
    let some = |field: Field| cell(field).map(|it| Some(it.trim()).filter(|it| !it.is_empty()));
    let id_of = |field: Field| some(field)?.map(|it| text::id(it, field.as_str())).transpose();
    let name = some(Field::Name)?;
    let host = some(Field::Hostname)?.and_then(hostname);
    let host = host.map(|it| text::id(&it, "hostname")).transpose()?;
    let serial = id_of(Field::Serial)?;
    let lost = serial.as_deref().is_some_and(is_rounded);
    let serial = serial.filter(|_| !lost);
    let left_out = lost.then(|| "serial left out: a spreadsheet rounded it".to_owned());
    let id = id_of(Field::Id)?.filter(|it| !is_rounded(it));
    let Some(shown) = name.or(host.as_deref()) else { return Err("no name".to_owned()) };
    let ip = some(Field::Ip)?.and_then(first_address);
    let mac = some(Field::Mac)?.and_then(first_mac);
    // As assets are merged: what the list itself calls it, then what stays with the device.
    let external_id = id.or_else(|| serial.clone()).or_else(|| mac.clone());
    let external_id = match external_id.or_else(|| host.clone()) {
        Some(id) => id,
        None => text::id(shown, "name")?,
    };
    let (kind, os) = (some(Field::Type)?, some(Field::Os)?);
    Ok((
        Seen {
            external_id,
            name: text::line(shown, NAME_CHARS_MAX),
            category: kind.and_then(|it| text::some_line(it, NAME_CHARS_MAX)),
            asset_type: asset_type(kind.unwrap_or_default(), os.unwrap_or_default()),
            is_managed: some(Field::Managed)?.and_then(flag).unwrap_or_default(),
            hostname: host,
            ip,
            mac,
            serial,
            scope: SCOPE.to_owned(),
            seen_at: some(Field::Seen)?.and_then(moment::of_day),
            reported: ReportedFields {
                display_name: None,
                is_critical: some(Field::Critical)?.and_then(flag),
                owner: some(Field::Owner)?.and_then(|it| text::some_line(it, NAME_CHARS_MAX)),
                description: some(Field::Description)?
                    .and_then(|it| text::some_line(it, DESCRIPTION_CHARS_MAX)),
                tags: some(Field::Tags)?.map(tags),
            },
        },
        left_out,
    ))
}

/// Returns true for a number such as `6.37702E+15`, of which the last digits are lost.
fn is_rounded(text: &str) -> bool {
    let Some((digits, power)) = text.split_once(['E', 'e']) else { return false };
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let whole = digits.split_once('.').is_some_and(|(a, b)| is_number(a) && is_number(b));
    (whole || is_number(digits)) && power.strip_prefix('+').is_some_and(is_number)
}

fn first_address(text: &str) -> Option<String> {
    let mut all = text.split([',', ';', ' ', '\n', '|']).map(str::trim);
    all.find_map(|it| it.parse::<std::net::IpAddr>().ok()).map(|it| it.to_string())
}

fn first_mac(text: &str) -> Option<String> {
    text.split([',', ';', ' ', '\n', '|']).find_map(mac)
}

fn tags(text: &str) -> Vec<String> {
    let all = text.split([',', ';', '|']).filter_map(|it| text::some_line(it, TAG_CHARS_MAX));
    all.take(N_TAGS_MAX).collect()
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "1" => Some(true),
        "false" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// Some device, if neither says.
fn asset_type(kind: &str, os: &str) -> AssetType {
    let find = |text: &str, words: &[(&str, AssetType)]| {
        let text = text.to_lowercase();
        words.iter().find(|it| text.contains(it.0)).map(|it| it.1)
    };
    let named = AssetType::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(kind));
    let of_kind = named.or_else(|| find(kind, TYPES));
    let of_os = || type_of_os(&os.to_lowercase()).or_else(|| find(os, SYSTEMS));
    of_kind.or_else(of_os).unwrap_or(AssetType::Device)
}
