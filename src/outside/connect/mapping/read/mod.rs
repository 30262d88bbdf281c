//! The file of a mapping.

mod device;
mod example;
mod part;
mod stream;

use super::{FILE_BYTES_MAX, Mapping, N_EXAMPLES_MAX, Proof};
use crate::toml_reader::{Problem, Table, TomlDocument, text, word};

pub(super) use self::example::Example;

const PROOFS: [(&str, Proof); 2] =
    [("recorded", Proof::Recorded), ("specification", Proof::Specification)];

/// Reads a mapping.
///
/// # Errors
/// Every problem, by line.
pub fn read(file: &str, text: &str) -> Result<Mapping, Vec<Problem>> {
    parse(file, text).map(|(mapping, _)| mapping)
}

/// Reads a mapping and its examples, which are not run.
pub(super) fn parse(file: &str, text: &str) -> Result<(Mapping, Vec<Example>), Vec<Problem>> {
    if FILE_BYTES_MAX < text.len() {
        let message = format!("is longer than {FILE_BYTES_MAX} bytes");
        return Err(vec![Problem { file: file.to_owned(), line: None, message }]);
    }
    let (document, problems) = TomlDocument::parse(file, text);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut root = document.root();
    let mapping = mapping(&mut root);
    let examples = part::each(&mut root, "example", N_EXAMPLES_MAX, example::example);
    if examples.is_empty() {
        root.problem(root.line_of("example"), "needs at least one [[example]]");
    }
    let mut problems = root.finish();
    problems.sort_by_key(|it| it.line);
    match mapping.filter(|_| problems.is_empty()) {
        Some(mapping) => Ok((mapping, examples)),
        None => Err(problems),
    }
}

fn mapping(root: &mut Table<'_>) -> Option<Mapping> {
    let kind = part::need(root, "kind", stream::name);
    let title = part::need(root, "title", text(1..=64));
    let proof = part::need(root, "proof", word(&PROOFS));
    let base = table(root, "base", stream::base);
    let auth = table(root, "auth", stream::auth);
    let inputs = stream::inputs(root, auth.as_ref());
    let pace = table(root, "pace", stream::pace);
    let streams = stream::streams(root);
    let names = stream::names(root);
    let organizations = part::one(root, "organizations", |it| device::organizations(it, &names));
    let devices = table(root, "device", |it| device::devices(it, &names));
    let users = part::one(root, "user", |it| device::users(it, &names));
    let (organizations, devices) = (organizations?, devices?);
    if devices.is_org_name && organizations.is_none() {
        root.problem(root.line_of("device"), "device: org_is_name needs [organizations]");
    }
    Some(Mapping {
        kind: kind?,
        title: title?,
        proof: proof?,
        base: base?,
        auth: auth?,
        inputs,
        pace: pace?,
        streams,
        organizations,
        devices,
        users: users?,
    })
}

/// A table that must be there.
fn table<'d, T>(
    root: &mut Table<'d>,
    key: &'static str,
    read: impl Fn(&mut Table<'d>) -> Option<T>,
) -> Option<T> {
    let read = part::one(root, key, read)?;
    if read.is_none() {
        root.problem(1, format!("missing table [{key}]"));
    }
    read
}
