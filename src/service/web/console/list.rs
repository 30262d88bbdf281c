//! Lists of pages as files: all rows of one, as its page is filtered, as CSV. The columns are the fields of the API.

use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use poem::http::{HeaderValue, Method, StatusCode, header};
use poem::{Request, Response};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Console;
use super::call::{Answer, Pairs, Sent, broken, call_as_is, fill, read_answer, refused};
use super::page::refusal;
use super::passkey::PASSKEYS;
use super::session::{Gate, enter};
use super::tables::{List, POSITIONS};
use super::visit::Visit;
use crate::blocking;
use crate::error::Result;
use crate::paper::table::{Cell, Column, Table};

/// Parts that are read for one file: a filter may leave few rows of each.
const PARTS_MAX: usize = 250;
/// A list with more rows is refused.
const ROWS_MAX: usize = 10_000;
/// As well as one whose rows are longer than this in the answers of the API.
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// Lists that are collected at the same time.
pub(super) const N_AT_ONCE_MAX: usize = 2;
pub(super) const N_AT_ONCE_PER_USER: usize = 1;
/// How long a list waits until others are done.
const WAIT: Duration = Duration::from_mins(1);
const TOO_MANY: &str =
    "Other lists are being written, and each takes much memory. Try again in a minute.";
const TOO_LONG: &str = "This list is too long for one file, which holds up to 10,000 rows and 32 MiB. Filter the page, or take \
                        everything about a client with `posture export`.";

/// The fields of a row, in the order of the API. Fields of an object within it are `object.field`.
type Row = IndexMap<String, Cell>;

/// What the API answers with a part of a list.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    next: Option<String>,
    pagination: Option<Pagination>,
}

#[derive(Deserialize)]
struct Pagination {
    total: usize,
}

/// Sends a list, or the page that says why it is not sent.
pub(super) async fn send(console: &Console, list: &'static List, request: &Request) -> Response {
    let gate = match list.find_page() {
        Some(page) => Gate::of(page),
        // As its page: who must set up a second factor begins there.
        None if list.page == PASSKEYS => Gate::Replaced,
        None => Gate::Usual,
    };
    let visit = match enter(console, request, gate).await {
        Ok(visit) => visit,
        Err(instead) => return *instead,
    };
    let Ok(_place) = console.lists.acquire(visit.caller.account(), WAIT).await else {
        let busy = refused(StatusCode::SERVICE_UNAVAILABLE, TOO_MANY);
        return refusal(console, Some(&visit), &busy);
    };
    match collect(console, list, &visit).await {
        Ok(rows) => match blocking::run((), move || table(rows)).await {
            Ok(file) => saved(list, &console.app.clock.now().to_string()[..10], file),
            Err(error) => {
                tracing::error!(%error, "a list cannot be written as CSV");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                refusal(console, Some(&visit), &refused(status, "The list cannot be written."))
            }
        },
        Err(refused) => refusal(console, Some(&visit), &refused),
    }
}

fn saved(list: &List, day: &str, file: Vec<u8>) -> Response {
    let name = format!("attachment; filename=\"{}-{day}.csv\"", list.read);
    let mut response = Response::builder().content_type("text/csv; charset=utf-8").body(file);
    let name = HeaderValue::try_from(name).expect("a name of our own and a day");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    response
}

/// All rows of a list. They are read as the page reads them, part by part.
async fn collect(
    console: &Console,
    list: &'static List,
    visit: &Visit,
) -> std::result::Result<Vec<Row>, Answer> {
    let position = position(list.target());
    let is_kept = |it: &&(String, String)| Some(it.0.as_str()) != position;
    let mut query: Pairs = visit.query.iter().filter(is_kept).cloned().collect();
    let (mut rows, mut n_bytes) = (Vec::new(), 0);
    for _ in 0..PARTS_MAX {
        let target = fill(list.target(), &visit.parts, &query);
        let (operations, caller) = (&console.operations, &visit.caller);
        let mut answer = call_as_is(operations, caller, Method::GET, &target, Sent::Nothing).await;
        if !answer.status().is_success() {
            return Err(read_answer(answer).await);
        }
        let body = answer.take_body().into_bytes().await.unwrap_or_default();
        n_bytes += body.len();
        let n_before = rows.len();
        let read = blocking::run((), move || Ok(read_part(list, &body, n_before))).await;
        let Ok(Some((some, next))) = read else { return Err(broken()) };
        rows.extend(some);
        if ROWS_MAX < rows.len() || BYTES_MAX < n_bytes {
            return Err(refused(StatusCode::CONFLICT, TOO_LONG));
        }
        let (Some(name), Some(next)) = (position, next) else { return Ok(rows) };
        query.retain(|it| it.0 != name);
        query.push((name.to_owned(), next));
    }
    Err(refused(StatusCode::CONFLICT, TOO_LONG))
}

/// The parameter that says where a part of the list begins. `None`: it has one part.
fn position(target: &str) -> Option<&'static str> {
    POSITIONS.into_iter().find(|it| target.contains(&format!("{it}=?{it}")))
}

/// The rows of a part, and where the next one begins. `n_before`: the rows of the parts before it.
fn read_part(list: &List, body: &[u8], n_before: usize) -> Option<(Vec<Row>, Option<String>)> {
    let part: Part<'_> = serde_json::from_slice(body).ok()?;
    let data = part.data.get();
    let rows: Vec<IndexMap<String, Value>> = match list.field {
        Some(field) => {
            let mut fields: IndexMap<String, &RawValue> = serde_json::from_str(data).ok()?;
            serde_json::from_str(fields.swap_remove(field)?.get()).ok()?
        }
        None => serde_json::from_str(data).ok()?,
    };
    let n_read = n_before + rows.len();
    let next = match part.pagination {
        Some(it) => (!rows.is_empty() && n_read < it.total).then(|| n_read.to_string()),
        None => part.next,
    };
    Some((rows.into_iter().map(flat).collect(), next))
}

fn flat(fields: IndexMap<String, Value>) -> Row {
    let mut row = Row::new();
    for (name, value) in fields {
        put(&mut row, name, value);
    }
    row
}

fn put(row: &mut Row, name: String, value: Value) {
    let cell = match value {
        Value::Null => Cell::Empty,
        Value::Bool(is_so) => Cell::yes_or_no(is_so),
        Value::Number(number) => Cell::Number(number.as_f64().unwrap_or_default()),
        Value::String(text) => Cell::Text(text),
        Value::Array(items) => {
            let texts = items.into_iter().map(|it| match it {
                Value::String(text) => text,
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => it.to_string(),
            });
            Cell::Text(texts.collect::<Vec<_>>().join("; "))
        }
        Value::Object(fields) => {
            for (inner, value) in fields {
                put(row, format!("{name}.{inner}"), value);
            }
            return;
        }
    };
    row.insert(name, cell);
}

fn table(rows: Vec<Row>) -> Result<Vec<u8>> {
    let names: IndexSet<&String> = rows.iter().flat_map(Row::keys).collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    let columns: Vec<Column> = names.iter().map(|it| Column::of(it.clone(), 0)).collect();
    let mut table = Table::csv(&columns)?;
    for mut row in rows {
        let cells = names.iter().map(|it| row.swap_remove(it).unwrap_or(Cell::Empty));
        table.put(cells.collect())?;
    }
    table.end()
}
