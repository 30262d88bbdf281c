//! Collections that come in pages, read to a proven end or said not to have been.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::endpoint::Letters;
use super::unread::Unread;
use super::{Api, Auth, Call, encoded};
use crate::connect::reading::{Stream, StreamState};

/// More pages are not read.
const N_PAGES_MAX: usize = 2_000;
/// More rows are not read.
const N_ROWS_MAX: usize = 200_000;
/// A list that changes each time while it is read is not read.
const N_READS_MAX: usize = 3;
/// Of all pages together.
const STREAM_BYTES_MAX: usize = 128 * 1_024 * 1_024;

/// How the next page is found. Places are JSON pointers into the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pager<'a> {
    /// There is one page.
    Whole,
    /// The URL of the next page is here. Nothing there: it was the last one.
    Link { at: Cow<'a, str>, letters: Letters },
    /// A token for this parameter is here. Nothing there: it was the last page.
    Token { at: Cow<'a, str>, parameter: Cow<'a, str> },
    /// The next page begins after this member of the last row. A page with fewer rows than asked for is the last.
    AfterRow { id_at: Cow<'a, str>, parameter: Cow<'a, str>, page_rows: usize },
    /// The name of a cursor, which stays the same on all pages, is here, and where the page begins. A page without rows
    /// is the last.
    Cursor { at: Cow<'a, str>, offset_at: Cow<'a, str>, parameter: Cow<'a, str> },
    /// Pages have numbers, from this one up to the one that is here.
    Number { parameter: Cow<'a, str>, first: u64, last_at: Cow<'a, str> },
    /// Pages have numbers from this one on. A page without rows is the last, and so is one that completes the total.
    Count { parameter: Cow<'a, str>, first: u64 },
}

/// A collection to read.
#[derive(Clone, Debug)]
pub struct Collection<'a> {
    pub first: Call,
    /// Where the rows of a page are. Empty: the page is the list.
    pub rows_at: Cow<'a, str>,
    /// A page without the list has no rows. Some services leave out what is empty.
    pub may_lack_rows: bool,
    pub pager: Pager<'a>,
    /// Where the service says how many rows there are in all, at least on one page.
    pub total_at: Option<Cow<'a, str>>,
}

impl<'a> Collection<'a> {
    /// One page.
    #[must_use]
    pub fn whole(first: Call, rows_at: &'a str) -> Self {
        let (pager, total_at) = (Pager::Whole, None);
        Self { first, rows_at: Cow::Borrowed(rows_at), may_lack_rows: false, pager, total_at }
    }
}

/// What was read of a collection.
#[derive(Clone, Debug)]
pub struct Rows {
    pub rows: Vec<Value>,
    /// `None`: all of it was read.
    pub unread: Option<Unread>,
}

impl Rows {
    /// All rows, or `None` if some are missing.
    #[must_use]
    pub fn complete(self) -> Option<Vec<Value>> {
        self.unread.is_none().then_some(self.rows)
    }

    /// Rows that are not records, and a member that none of them has, leave it partial.
    ///
    /// `always`: a member that every row has. If no row has it, the service has changed, and nothing is concluded.
    #[must_use]
    pub fn having(self, always: &str) -> Self {
        if self.unread.is_some() {
            return self;
        }
        let n = self.rows.len();
        let n_odd = self.rows.iter().filter(|it| !it.is_object()).count();
        let reason = if n_odd != 0 {
            format!("{n_odd} of {n} rows are not records")
        } else if 0 < n && self.rows.iter().all(|it| it.get(always).is_none()) {
            format!("the field {always} is absent from {n} of {n} rows")
        } else {
            return self;
        };
        let unread = Unread { state: StreamState::Partial, ..Unread::failed(reason) };
        Self { rows: self.rows, unread: Some(unread) }
    }

    /// Of a list that always has a row, an empty one is no answer.
    #[must_use]
    pub fn never_empty(self) -> Self {
        if !self.rows.is_empty() || self.unread.is_some() {
            return self;
        }
        let reason = "the list is empty, although it always has a row";
        Self { unread: Some(Unread::failed(reason)), ..self }
    }

    #[must_use]
    pub fn stream(&self, name: &str) -> Stream {
        let n_rows = self.rows.len() as u64;
        match &self.unread {
            None => Stream {
                name: name.to_owned(),
                state: StreamState::Complete,
                reason: String::new(),
                n_rows,
            },
            Some(unread) => Stream { n_rows, ..unread.clone().stream(name) },
        }
    }
}

impl Api {
    /// Reads a collection to its end. If its total changes meanwhile, a row may have moved to a page that was read already,
    /// and it is read again.
    pub async fn read(&self, collection: &Collection<'_>, auth: &Auth<'_>) -> Rows {
        for _ in 0..N_READS_MAX {
            let mut rows = Vec::new();
            match self.read_into(&mut rows, collection, auth).await {
                Ok(Consistency::Steady) => return Rows { rows, unread: None },
                Ok(Consistency::Changed) => (),
                Err(unread) => {
                    let unread = Some(partial(unread, rows.len()));
                    return Rows { rows, unread };
                }
            }
        }
        let reason = format!("the list changed {N_READS_MAX} times while it was read");
        Rows { rows: Vec::new(), unread: Some(Unread::failed(reason)) }
    }

    async fn read_into(
        &self,
        rows: &mut Vec<Value>,
        collection: &Collection<'_>,
        auth: &Auth<'_>,
    ) -> Result<Consistency, Unread> {
        let mut call = collection.first.clone();
        let (mut seen, mut total, mut n_bytes) = (HashSet::new(), None, 0);
        for n_pages in 1.. {
            let answer = self.call(&call, auth).await?;
            n_bytes += answer.body.len();
            let page = answer.json()?;
            let found = rows_of(&page, collection)?;
            // Another request must bring other rows.
            if !found.is_empty() && !seen.insert(page_mark(collection, &page)) {
                return Err(Unread::failed("the service sent the same page twice"));
            }
            let n_found = found.len();
            let next = next_page(collection, &page, &found, n_pages)?;
            rows.extend(found);
            if N_ROWS_MAX < rows.len() {
                return Err(beyond(&format!("{N_ROWS_MAX} rows")));
            }
            if STREAM_BYTES_MAX < n_bytes {
                return Err(beyond(&format!("{} MiB", STREAM_BYTES_MAX / (1_024 * 1_024))));
            }
            let told = collection.total_at.as_ref().and_then(|at| page.pointer(at)?.as_u64());
            if told.is_some_and(|told| total.is_some_and(|it| it != told)) {
                return Ok(Consistency::Changed);
            }
            total = told.or(total);
            let is_counted = matches!(collection.pager, Pager::Count { .. });
            let is_all = is_counted && total == Some(rows.len() as u64);
            let Some(next) = next.filter(|_| !is_all) else { break };
            if N_PAGES_MAX <= n_pages {
                return Err(beyond(&format!("{N_PAGES_MAX} pages")));
            }
            let url = match next {
                Next::Url(link, letters) => self
                    .endpoints
                    .pinned(&link, &collection.first.url, letters)
                    .ok_or_else(|| {
                        Unread::failed(format!(
                            "the next page is said to be at another place{}",
                            super::said(&link)
                        ))
                    })?,
                Next::Parameter(name, value) => {
                    with_parameter(&collection.first.url, &name, &value)
                }
            };
            if url == call.url && n_found == 0 {
                return Err(Unread::failed(
                    "the service sends the same empty page again and again",
                ));
            }
            call.url = url;
        }
        match total {
            Some(total) if total != rows.len() as u64 => Err(Unread::failed(format!(
                "the service says that there are {total} rows and sent {}",
                rows.len()
            ))),
            None if collection.total_at.is_some() => {
                Err(Unread::failed("the answer does not say how many rows there are"))
            }
            Some(_) | None => Ok(Consistency::Steady),
        }
    }
}

/// Whether a list stayed the same while it was read.
enum Consistency {
    Steady,
    Changed,
}

/// Where the next page is.
enum Next {
    Url(String, Letters),
    Parameter(String, String),
}

/// Something was read before it broke off.
fn partial(unread: Unread, n_rows: usize) -> Unread {
    if n_rows == 0 || unread.state != StreamState::Failed {
        return unread;
    }
    let reason = format!("{n_rows} rows were read, then: {}", unread.reason);
    Unread { state: StreamState::Partial, reason, ..unread }
}

/// What no other page has: its rows. What is around them may have a time or another link to the same page.
fn page_mark(collection: &Collection<'_>, page: &Value) -> u64 {
    let at = match &collection.pager {
        Pager::Cursor { offset_at, .. } => offset_at,
        Pager::Whole
        | Pager::Link { .. }
        | Pager::Token { .. }
        | Pager::AfterRow { .. }
        | Pager::Number { .. }
        | Pager::Count { .. } => &collection.rows_at,
    };
    xxh3_64(page.pointer(at).map(Value::to_string).unwrap_or_default().as_bytes())
}

/// The list may have no end.
fn beyond(limit: &str) -> Unread {
    Unread::failed(format!("more than {limit} are not read"))
}

fn rows_of(page: &Value, collection: &Collection<'_>) -> Result<Vec<Value>, Unread> {
    match page.pointer(&collection.rows_at) {
        Some(Value::Array(rows)) => Ok(rows.clone()),
        Some(Value::Null) | None if collection.may_lack_rows && page.is_object() => Ok(Vec::new()),
        Some(_) | None => Err(Unread::failed("the answer has no list where the list should be")),
    }
}

/// `None`: it was the last page.
fn next_page(
    collection: &Collection<'_>,
    page: &Value,
    rows: &[Value],
    n_pages: usize,
) -> Result<Option<Next>, Unread> {
    let text_at = |at: &str| match page.pointer(at) {
        None if !has_parent(page, at) => {
            Err(Unread::failed("the answer does not say whether there is a next page"))
        }
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Unread::failed("the place of the next page is not a text")),
    };
    Ok(match &collection.pager {
        Pager::Whole => None,
        Pager::Link { at, letters } => text_at(at)?.map(|it| Next::Url(it, *letters)),
        Pager::Token { at, parameter } => {
            text_at(at)?.map(|it| Next::Parameter(parameter.clone().into_owned(), it))
        }
        Pager::AfterRow { id_at, parameter, page_rows } => {
            let id = rows.last().and_then(|it| scalar(it.pointer(id_at)?));
            match id {
                _ if rows.len() < *page_rows => None,
                Some(id) => Some(Next::Parameter(parameter.clone().into_owned(), id)),
                None => return Err(Unread::failed("the last row of a page has no id")),
            }
        }
        Pager::Cursor { .. } if rows.is_empty() => None,
        Pager::Cursor { at, parameter, .. } => match text_at(at)? {
            Some(name) => Some(Next::Parameter(parameter.clone().into_owned(), name)),
            None => return Err(Unread::failed("the answer has rows and no cursor for the next")),
        },
        Pager::Number { parameter, first, last_at } => {
            let Some(last) = page.pointer(last_at).and_then(Value::as_u64) else {
                return Err(Unread::failed("the answer does not say how many pages there are"));
            };
            let next = first + n_pages as u64;
            let name = parameter.clone().into_owned();
            (next <= last).then(|| Next::Parameter(name, next.to_string()))
        }
        Pager::Count { parameter, first } => {
            let next = (first + n_pages as u64).to_string();
            (!rows.is_empty()).then(|| Next::Parameter(parameter.clone().into_owned(), next))
        }
    })
}

/// The object that would have this member is there.
fn has_parent(page: &Value, at: &str) -> bool {
    let parent = at.rsplit_once('/').map_or("", |it| it.0);
    page.pointer(parent).is_some_and(Value::is_object)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let start = format!("{name}=");
    let others = query.split('&').filter(|it| !it.is_empty() && !it.starts_with(&start));
    let own = format!("{start}{}", encoded(value));
    let query = others.chain([own.as_str()]).collect::<Vec<_>>().join("&");
    format!("{path}?{query}")
}
