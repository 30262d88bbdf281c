//! Forms: from what a person filled in to what an operation takes.

use poem::Request;
use serde_json::{Map, Value, json};

use super::call::{Pairs, find};

/// A longer form is refused. Files have limits of their own.
const FORM_BYTES_MAX: usize = 256 * 1024;

/// One field of a form, and the member of the body that it becomes. A dot in the name leads into an object.
pub(super) struct Field(pub(super) &'static str, pub(super) Kind);

/// How a field is read.
pub(super) enum Kind {
    /// Left out if it is empty.
    Text,
    /// `null` if it is empty.
    TextOrNull,
    /// A whole number. Left out if it is empty; text that is no number is sent as it is, so that the operation says what
    /// is wrong.
    Number,
    /// `null` if it is empty.
    NumberOrNull,
    /// A checkbox.
    Flag,
    /// A choice of `true` and `false`.
    TrueOrFalse,
    /// The checked values of checkboxes with one name, or the chosen ones of a list.
    Several,
    /// [`Kind::Several`], left out if there are none.
    SeveralIfAny,
    /// Lines, or words between commas.
    Lines,
    /// [`Kind::Lines`], left out if there are none.
    LinesIfAny,
    /// A client, by name or id. Left out if it is empty.
    Client,
    /// Clients, one in a line, by name or id.
    Clients,
    /// [`Kind::Clients`], left out if there are none.
    ClientsIfAny,
    /// Every field whose name begins with this one and a dot, as text.
    Nested,
    /// The same, where one that is left empty is cleared. Those that begin with [`KEPT`] stay then.
    NestedOrCleared,
    /// A day: its beginning. Left out if it is empty.
    StartOfDay,
    /// A list with one object, of these fields.
    One(&'static [Field]),
    /// Not filled in by a person: this part of the page's path.
    Part(&'static str),
    /// Not filled in by a person: always this JSON.
    Always(&'static str),
}

/// Reads a form.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn read(request: &mut Request) -> Result<Pairs, &'static str> {
    let kind = request.content_type().unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return Err("This form was not sent as a form.");
    }
    let body = request.take_body().into_bytes_limit(FORM_BYTES_MAX).await;
    let body = body.map_err(|_| "The form is too long, or it broke off on the way.")?;
    let pairs = form_urlencoded::parse(&body);
    Ok(pairs.map(|(name, value)| (name.into_owned(), normal(&value))).collect())
}

/// Without the carriage returns that browsers put before each line break.
fn normal(value: &str) -> String {
    value.replace("\r\n", "\n")
}

fn several(form: &Pairs, name: &str) -> Vec<String> {
    let values = form.iter().filter(|it| it.0 == *name && !it.1.is_empty());
    values.map(|it| it.1.clone()).collect()
}

/// The body of an operation.
pub(super) fn body(form: &Pairs, parts: &Pairs, fields: &[Field]) -> Value {
    let mut body = Map::new();
    for Field(name, kind) in fields {
        if let Some(value) = value(form, parts, name, kind) {
            put(&mut body, name, value);
        }
    }
    Value::Object(body)
}

fn put(object: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => {
            object.insert(name.to_owned(), value);
        }
        Some((outer, inner)) => {
            let nested = object.entry(outer).or_insert_with(|| json!({}));
            if let Value::Object(nested) = nested {
                put(nested, inner, value);
            }
        }
    }
}

/// Of values that are not shown.
const KEPT: &str = "kept";

fn value(form: &Pairs, parts: &Pairs, name: &str, kind: &Kind) -> Option<Value> {
    // Where only the last part of a name is in the form, it is that.
    let named = find(form, name).or_else(|| find(form, name.rsplit('.').next()?));
    let given = named.map(str::trim).filter(|it| !it.is_empty());
    let number = |it: &str| it.parse::<i64>().map_or_else(|_| json!(it), |it| json!(it));
    match kind {
        Kind::Text | Kind::Client => given.map(Value::from),
        Kind::TextOrNull => Some(given.into()),
        Kind::Number => given.map(number),
        Kind::NumberOrNull => Some(given.map_or(Value::Null, number)),
        Kind::Flag => Some(given.is_some().into()),
        Kind::TrueOrFalse => given.map(|it| (it == "true").into()),
        Kind::Several => Some(several(form, name).into()),
        Kind::SeveralIfAny => {
            Some(several(form, name)).filter(|it| !it.is_empty()).map(Value::from)
        }
        Kind::Lines => Some(lines(given.unwrap_or_default()).into()),
        Kind::Clients => Some(named_clients(given).into()),
        Kind::ClientsIfAny => {
            Some(named_clients(given)).filter(|it| !it.is_empty()).map(Value::from)
        }
        Kind::LinesIfAny => given.map(|it| lines(it).into()),
        Kind::Nested => {
            let inner = |it: &(String, String)| {
                let name = it.0.strip_prefix(name)?.strip_prefix('.')?.to_owned();
                let value = it.1.trim();
                (!value.is_empty()).then(|| (name, json!(value)))
            };
            Some(Value::Object(form.iter().filter_map(inner).collect()))
        }
        Kind::NestedOrCleared => {
            let inner = |it: &(String, String)| {
                let value = it.1.trim();
                let of = |prefix: &str| it.0.strip_prefix(prefix)?.strip_prefix('.');
                let kept = || of(KEPT).filter(|_| !value.is_empty());
                of(name).or_else(kept).map(|name| (name.to_owned(), json!(value)))
            };
            Some(Value::Object(form.iter().filter_map(inner).collect()))
        }
        Kind::StartOfDay => given.map(|it| json!(format!("{it}T00:00:00Z"))),
        Kind::One(fields) => Some(json!([body(form, parts, fields)])),
        Kind::Part(part) => find(parts, part).map(Value::from),
        Kind::Always(text) => Some(serde_json::from_str(text).unwrap_or(Value::Null)),
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split(['\n', ',']).map(str::trim).filter(|it| !it.is_empty()).collect()
}

/// Names or ids, one in a line.
fn named_clients(given: Option<&str>) -> Vec<&str> {
    let lines = given.unwrap_or_default().lines().map(str::trim);
    lines.filter(|it| !it.is_empty()).collect()
}
