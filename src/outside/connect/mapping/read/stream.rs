//! How a tool is reached: origins, credentials, pace, streams.

use super::part::{conditions, each, may, need, one, pointer};
use crate::connect::mapping::{
    Auth, Base, Input, N_STREAMS_MAX, Pace, PageSize, Pager, Stream, Window, WindowForm,
};
use crate::toml_reader::{
    Ruled, Table, Value, array, flag, number, string, table, text, word, wrong,
};

const NAME_CHARS_MAX: usize = 32;
const HELP_CHARS_MAX: usize = 400;
const PATH_CHARS_MAX: usize = 200;
const N_REGIONS_MAX: usize = 32;
const N_PARAMETERS_MAX: usize = 16;
const N_PER_PAGE_MAX: u32 = 10_000;
const N_REQUESTS_MAX: u32 = 10_000;
const PER_S_MAX: u32 = 3_600;

/// Lower-case letters, digits and `_`.
pub(super) fn name(value: &Value<'_>) -> Ruled<String> {
    let name = string(value)?;
    let is_part = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_';
    if (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(is_part) {
        return Ok(name.to_owned());
    }
    wrong(
        value,
        format!("must be 1 to {NAME_CHARS_MAX} lower-case letters, digits or \"_\", not {name:?}"),
    )
}

/// A path of the tool's own server: it cannot name another one.
fn path(value: &Value<'_>) -> Ruled<String> {
    let path = string(value)?;
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"/-_.".contains(&it);
    let is_inside = path.starts_with('/')
        && !path.contains("//")
        && path.split('/').all(|it| it != "." && it != "..")
        && path.len() <= PATH_CHARS_MAX;
    if is_inside && path.bytes().all(is_part) {
        return Ok(path.to_owned());
    }
    let rule = "must be a path such as \"/v2/devices\": letters, digits, \"-\", \"_\", \".\" and single \"/\", \
                without a host, a query or \"..\"";
    wrong(value, format!("{rule}, not {path:?}"))
}

/// `https://` and a host name, nothing more.
fn origin(value: &Value<'_>) -> Ruled<String> {
    let origin = string(value)?;
    let is_part = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-.".contains(&it);
    let host = origin.strip_prefix("https://").filter(|it| it.bytes().all(is_part));
    if host.is_some_and(|it| it.contains('.') && it.split('.').all(|it| !it.is_empty())) {
        return Ok(origin.to_owned());
    }
    wrong(value, format!("must be \"https://\" and a host name in lower case, not {origin:?}"))
}

/// The name of a header or of a parameter.
fn token(value: &Value<'_>) -> Ruled<String> {
    let token = string(value)?;
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
    if (1..=64).contains(&token.len()) && token.bytes().all(is_part) {
        return Ok(token.to_owned());
    }
    wrong(value, format!("must be 1 to 64 letters, digits, \"-\", \"_\" or \".\", not {token:?}"))
}

/// Headers that carry something else than a key.
const OTHER_HEADERS: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "cookie", "content-type"];

fn header(value: &Value<'_>) -> Ruled<String> {
    let name = token(value)?;
    if OTHER_HEADERS.iter().any(|it| name.eq_ignore_ascii_case(it)) {
        return wrong(value, format!("{name:?} is no header for a key"));
    }
    Ok(name)
}

pub(super) fn base(table: &mut Table<'_>) -> Option<Base> {
    let help = may(table, "own", text(1..=HELP_CHARS_MAX));
    let regions = each(table, "region", N_REGIONS_MAX, |it| {
        let name = need(it, "name", name);
        let origin = need(it, "origin", origin);
        name.zip(origin)
    });
    match (help?, regions.is_empty()) {
        (Some(help), true) => Some(Base::Own { help }),
        (None, false) => Some(Base::Regions(regions)),
        (Some(_), false) | (None, true) => {
            table.problem(table.line, "needs either own or [[base.region]]");
            None
        }
    }
}

#[derive(Clone, Copy)]
enum AuthKind {
    OauthClientCredentials,
    OauthPassword,
    Header,
    Basic,
}

const AUTHS: [(&str, AuthKind); 4] = [
    ("oauth_client_credentials", AuthKind::OauthClientCredentials),
    ("oauth_password", AuthKind::OauthPassword),
    ("header", AuthKind::Header),
    ("basic", AuthKind::Basic),
];

pub(super) fn auth(table: &mut Table<'_>) -> Option<Auth> {
    match need(table, "kind", word(&AUTHS))? {
        AuthKind::OauthClientCredentials => {
            let token_path = need(table, "token_path", path);
            let scope = may(table, "scope", text(1..=PATH_CHARS_MAX));
            Some(Auth::OauthClientCredentials { token_path: token_path?, scope: scope? })
        }
        AuthKind::OauthPassword => {
            let token_path = need(table, "token_path", path);
            let client_id = need(table, "client_id", text(1..=64));
            let client_secret = need(table, "client_secret", text(1..=64));
            Some(Auth::OauthPassword {
                token_path: token_path?,
                client_id: client_id?,
                client_secret: client_secret?,
            })
        }
        AuthKind::Header => need(table, "name", header).map(|name| Auth::Header { name }),
        AuthKind::Basic => Some(Auth::Basic),
    }
}

/// One for each thing that the kind of credential needs, in the order of the file.
pub(super) fn inputs(root: &mut Table<'_>, auth: Option<&Auth>) -> Vec<Input> {
    let wanted = auth.map_or(&[][..], Auth::fields);
    let inputs = each(root, "input", 4, |it| {
        let name = need(it, "name", |value| {
            let name = string(value)?;
            let names = || wanted.iter().map(|(it, _)| format!("{it:?}")).collect::<Vec<_>>();
            match wanted.iter().find(|(it, _)| *it == name) {
                Some(found) => Ok(*found),
                None if auth.is_none() => Ok(("", true)),
                None => {
                    wrong(value, format!("must be one of {}, not {name:?}", names().join(", ")))
                }
            }
        });
        let title = need(it, "title", text(1..=100));
        let help = need(it, "help", text(1..=HELP_CHARS_MAX));
        let (name, is_secret) = name?;
        Some(Input { name: name.to_owned(), title: title?, help: help?, is_secret })
    });
    for (name, _) in wanted {
        if inputs.iter().filter(|it| it.name == *name).count() != 1 {
            root.problem(
                root.line_of("input"),
                format!("needs one [[input]] with the name {name:?}"),
            );
        }
    }
    inputs
}

pub(super) fn pace(table: &mut Table<'_>) -> Option<Pace> {
    let n_requests = need(table, "requests", number(1..=N_REQUESTS_MAX));
    let per_s = need(table, "per_s", number(1..=PER_S_MAX));
    Some(Pace { n_requests: n_requests?, per_s: per_s? })
}

pub(super) fn streams(root: &mut Table<'_>) -> Vec<Stream> {
    let streams = each(root, "stream", N_STREAMS_MAX, stream);
    for (at, it) in streams.iter().enumerate() {
        if streams[..at].iter().any(|earlier| earlier.name == it.name) {
            root.problem(
                root.line_of("stream"),
                format!("two streams have the name {:?}", it.name),
            );
        }
    }
    streams
}

/// Also of those that are wrong in another way, so that what names them is not wrong, too.
pub(super) fn names(root: &mut Table<'_>) -> Vec<String> {
    let items = root.find("stream").and_then(|it| array(it.value).ok()).unwrap_or_default();
    let tables = items.iter().filter_map(|it| table(it).ok());
    tables.filter_map(|it| name(it.get("name")?).ok()).collect()
}

fn stream(table: &mut Table<'_>) -> Option<Stream> {
    let name = need(table, "name", name);
    table.set_label(name.as_ref().map_or("stream: ".to_owned(), |it| format!("stream {it:?}: ")));
    let path = need(table, "path", path);
    let query = query(table);
    let window = one(table, "window", window);
    let permission = need(table, "permission", text(1..=HELP_CHARS_MAX));
    let rows = need(table, "rows", pointer);
    let is_required = may(table, "required", flag);
    let page_size = one(table, "page_size", |it| {
        let parameter = need(it, "parameter", token);
        let n = need(it, "n", number(1..=N_PER_PAGE_MAX));
        Some(PageSize { parameter: parameter?, n: n? })
    });
    let pager = one(table, "pager", pager).map(|it| it.unwrap_or(Pager::None));
    let skip_if = conditions(table, "skip_if");
    Some(Stream {
        name: name?,
        path: path?,
        query: query?,
        window: window?,
        permission: permission?,
        pager: pager?,
        page_size: page_size?,
        is_required: is_required?.unwrap_or(false),
        rows: rows?,
        skip_if,
    })
}

fn query(table: &mut Table<'_>) -> Option<Vec<(String, String)>> {
    let Some(entry) = table.find("query") else { return Some(Vec::new()) };
    let inner = table.inner("query", entry.value)?;
    let entries = inner.entries();
    let _ = inner.into_problems(); // Any key is a parameter.
    if N_PARAMETERS_MAX < entries.len() {
        table
            .problem(entry.line, format!("query: must have at most {N_PARAMETERS_MAX} parameters"));
        return None;
    }
    let mut query = Vec::new();
    for (key, it) in entries {
        if !key.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it)) {
            table.problem(it.line, format!("query: {key:?} is not the name of a parameter"));
            return None;
        }
        query.push((
            key.to_owned(),
            table.ruled(&format!("query: {key:?}"), it.value, text(1..=100))?,
        ));
    }
    Some(query)
}

const WINDOW_FORMS: [(&str, WindowForm); 4] = [
    ("date", WindowForm::Date),
    ("rfc3339", WindowForm::Rfc3339),
    ("s", WindowForm::S),
    ("ms", WindowForm::Ms),
];

fn window(table: &mut Table<'_>) -> Option<Window> {
    let parameter = need(table, "parameter", token);
    let days = need(table, "days", number(1..=3_650_u16));
    let form = need(table, "form", word(&WINDOW_FORMS));
    Some(Window { parameter: parameter?, days: days?, form: form? })
}

#[derive(Clone, Copy)]
enum PagerKind {
    None,
    AfterId,
    NamedCursor,
    NextUrl,
    PageNumber,
}

const PAGERS: [(&str, PagerKind); 5] = [
    ("none", PagerKind::None),
    ("after_id", PagerKind::AfterId),
    ("named_cursor", PagerKind::NamedCursor),
    ("next_url", PagerKind::NextUrl),
    ("page_number", PagerKind::PageNumber),
];

fn pager(table: &mut Table<'_>) -> Option<Pager> {
    match need(table, "kind", word(&PAGERS))? {
        PagerKind::None => Some(Pager::None),
        PagerKind::AfterId => {
            let parameter = need(table, "parameter", token);
            let id = need(table, "id", pointer);
            Some(Pager::AfterId { parameter: parameter?, id: id? })
        }
        PagerKind::NamedCursor => {
            let parameter = need(table, "parameter", token);
            let name = need(table, "name", pointer);
            let offset = need(table, "offset", pointer);
            Some(Pager::NamedCursor { parameter: parameter?, name: name?, offset: offset? })
        }
        PagerKind::NextUrl => {
            let next = need(table, "next", pointer);
            let total = may(table, "total", pointer);
            Some(Pager::NextUrl { next: next?, total: total? })
        }
        PagerKind::PageNumber => {
            let parameter = need(table, "parameter", token);
            let first = need(table, "first", number(0..=1_u32));
            let total = may(table, "total", pointer);
            Some(Pager::PageNumber { parameter: parameter?, first: first?, total: total? })
        }
    }
}
