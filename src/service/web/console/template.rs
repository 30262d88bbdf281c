//! The templates of pages: HTML with gaps that answers of the API fill. A text in a gap is never read as HTML.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, Value, context,
};

use super::call::{Pairs, encoded, with_query};
use super::{act, chart, profile, tables};
use crate::app::App;
use crate::clock::Time;
use crate::clock::zone::{Local, Zone};
use crate::engine::fact::Status;
use crate::engine::posture::{PartialBecause, result_words};
use crate::engine::{ControlPart, platform_name};
use crate::id::ClientId;

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../assets/console/", $name, ".html")))),*]
    };
}

const TEMPLATES: &[(&str, &str)] = &templates![
    "accounts",
    "across",
    "alerts",
    "assets",
    "audit",
    "base",
    "batch",
    "batches",
    "catalog",
    "catalog-framework",
    "client",
    "client-add",
    "client-risks",
    "client-settings",
    "clients",
    "confirm",
    "connection",
    "connection-add",
    "connections",
    "control",
    "controls",
    "estate",
    "evidence",
    "framework",
    "import",
    "imports",
    "keys",
    "me",
    "mfa",
    "microsoft-app",
    "morning",
    "observations",
    "parts",
    "passkeys",
    "password",
    "portfolio-schedules",
    "problem",
    "refused-way",
    "requirement",
    "risk",
    "risks",
    "scan",
    "scans",
    "schedules",
    "sessions",
    "settings",
    "sign-in",
    "start",
    "statements",
    "system",
    "tasks",
    "timeline",
    "users",
    "vulnerabilities",
    "webhook",
    "webhooks",
];

/// Names or times, each with a number.
type Points = Serde<Vec<(String, i64)>>;

/// All templates, read once.
///
/// A name that no answer has is an error, so that a gap is never silently empty; `null` is shown as nothing.
pub(super) fn environment(
    app: &Arc<App>,
    summaries: BTreeMap<String, String>,
) -> Environment<'static> {
    let mut all = Environment::new();
    all.set_undefined_behavior(UndefinedBehavior::Strict);
    all.set_auto_escape_callback(|_| AutoEscape::Html);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    all.set_syntax(syntax.expect("the usual marks differ"));
    all.set_formatter(|out, _, value| match value.as_str() {
        _ if value.is_none() => Ok(()),
        Some(html) if value.is_safe() => Ok(out.write_str(html)?),
        Some(text) => Ok(out.write_str(&chart::escaped(text))?),
        None => Ok(out.write_str(&chart::escaped(&value.to_string()))?),
    });
    for (name, text) in TEMPLATES {
        all.add_template(name, text).expect("tests/it/console renders each template");
    }
    all.add_filter("when", when);
    let known = Arc::clone(app);
    all.add_filter("day", move |state: &State<'_, '_>, text, client| {
        day(&known, state, text, client)
    });
    all.add_filter("ago", ago);
    // What is no number is the beginning.
    all.add_filter("position", |text: &str| text.parse::<u64>().unwrap_or(0));
    all.add_filter("number", number);
    all.add_filter("dollars", dollars);
    all.add_filter("bytes", bytes);
    all.add_filter("words", words);
    all.add_filter("result", result);
    all.add_filter("reason", |text: &str| words(Some(profile::in_words(text))));
    all.add_function("profile_questions", || Value::from(Serde(profile::questions())));
    // The name of a user without the word for it.
    all.add_filter("who", |by: &str| by.strip_prefix("user ").unwrap_or(by).to_owned());
    let acts = Value::from(Serde(act::all(&summaries)));
    all.add_function("acts", move || acts.clone());
    all.add_filter("act", move |action: &str| act::in_words(&summaries, action));
    all.add_filter("days_before", days_before);
    all.add_filter("about", about);
    all.add_filter("plain", plain);
    all.add_filter("segment", |text: String| encoded(&text));
    all.add_function("here", |state: &State<'_, '_>, changes: Kwargs| here(state, &changes));
    all.add_function("filters", |state: &State<'_, '_>| filters(state));
    all.add_function("bar", |parts: Points| Value::from_safe_string(chart::bar(&parts)));
    all.add_function("line", |points: Points, marks: Serde<Vec<String>>| line(&points, &marks));
    all.add_filter("score_points", |events: Value| score_points(&events));
    let known = Arc::clone(app);
    all.add_function("client_name", move |id: &str| client_name(&known, id));
    let known = Arc::clone(app);
    all.add_function("framework_name", move |id: &str| framework_name(&known, id));
    let known = Arc::clone(app);
    all.add_function("attested_days", move |code: &str| attested_days(&known, code));
    let known = Arc::clone(app);
    all.add_function("parts_of", move |code: &str| parts_of(&known, code));
    let known = Arc::clone(app);
    all.add_function("time_zone", move |state: &State<'_, '_>| {
        zone_of(&known, state, None).name().to_owned()
    });
    let known = Arc::clone(app);
    all.add_function("service_time_zone", move || known.time_zone().name().to_owned());
    let industries: Vec<String> = app.options.loss.industries();
    all.add_function("industries", move || Value::from(Serde(industries.clone())));
    let known = Arc::clone(app);
    all.add_function("find_key", move |id: &str| find_key(&known, id));
    all
}

fn time(text: &str) -> Result<Time, Error> {
    text.parse().map_err(|_| Error::new(ErrorKind::InvalidOperation, format!("not a time: {text}")))
}

/// A moment. A script of the page shows it in the reader's zone.
fn when(text: Option<String>) -> Result<Value, Error> {
    let Some(text) = text else { return Ok(Value::from("")) };
    let at = time(&text)?;
    let (day, exact) = (written_day(&Zone::UTC.local(at)), at.to_string());
    let clock = &exact[11..16];
    Ok(Value::from_safe_string(format!(
        r#"<time datetime="{exact}" title="{exact}" data-shown="time">{day}, {clock} UTC</time>"#
    )))
}

/// The day of a moment, in the time zone of [`zone_of`]: where a day ends is not for its reader to say.
fn day(
    app: &App,
    state: &State<'_, '_>,
    text: Option<String>,
    client: Option<String>,
) -> Result<Value, Error> {
    let Some(text) = text else { return Ok(Value::from("")) };
    let at = time(&text)?;
    let zone = zone_of(app, state, client);
    let (shown, name) = (written_day(&zone.local(at)), chart::escaped(zone.name()));
    Ok(Value::from_safe_string(format!(
        r#"<time datetime="{at}" title="{at}, shown in {name}">{shown}</time>"#
    )))
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Of the client that is named, or else of the client of the page, or else of the service provider.
fn zone_of(app: &App, state: &State<'_, '_>, client: Option<String>) -> Zone {
    let of_page = || state.lookup("at")?.get_attr("client").ok()?.as_str().map(str::to_owned);
    let client: Option<ClientId> = client.or_else(of_page).and_then(|it| it.parse().ok());
    app.time_zone_of(client)
}

/// `27 Nov 2026`.
fn written_day(local: &Local) -> String {
    let day = local.day();
    let month = MONTHS[usize::try_from(day.month() - 1).unwrap_or(0)];
    format!("{} {month} {}", day.day(), day.year())
}

/// How long before or after `now` a moment is, in the largest unit that fits.
fn ago(state: &State<'_, '_>, text: Option<String>) -> Result<Value, Error> {
    let Some(text) = text else { return Ok(Value::from("never")) };
    let at = time(&text)?;
    let now = state.lookup("now").and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default();
    let shown = distance(time(&now)?.s_since(at));
    Ok(Value::from_safe_string(format!(
        r#"<time datetime="{at}" title="{at}" data-shown="ago">{shown}</time>"#
    )))
}

const UNITS_S: [(i64, &str); 4] = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];

fn distance(s: i64) -> String {
    let far = s.abs();
    let Some((unit_s, unit)) = UNITS_S.into_iter().find(|it| it.0 <= far) else {
        return "now".to_owned();
    };
    let n = far / unit_s;
    let plural = if n == 1 { "" } else { "s" };
    if s < 0 { format!("in {n} {unit}{plural}") } else { format!("{n} {unit}{plural} ago") }
}

/// The moment so many days before another one.
fn days_before(text: &str, days: i64) -> Result<String, Error> {
    Ok(time(text)?.plus_days(-days).to_string())
}

/// A whole number with separators: `12,345`.
fn number(value: Option<i64>) -> String {
    value.map(chart::grouped).unwrap_or_default()
}

/// An amount in US dollars.
fn dollars(value: Option<i64>) -> String {
    value.map(|it| format!("${}", chart::grouped(it))).unwrap_or_default()
}

/// The size of a file.
fn bytes(n: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = KIB * KIB;
    if n < KIB {
        return format!("{n} bytes");
    }
    if n < MIB {
        return format!("{} KiB", n.div_ceil(KIB));
    }
    format!("{}.{} MiB", n / MIB, n % MIB * 10 / MIB)
}

/// The result of a control or, without `why`, of a requirement, as people read it. Another value: its words.
fn result(value: Option<String>, why: Option<&str>) -> String {
    let named = |it: &Status| value.as_deref() == Some(it.as_str());
    let why = PartialBecause::ALL.into_iter().find(|it| why == Some(it.as_str()));
    match Status::ALL.into_iter().find(named) {
        Some(status) => result_words(status, why).0.to_lowercase(),
        None => words(value),
    }
}

/// What people call a value of the API.
fn words(value: Option<String>) -> String {
    let value = value.unwrap_or_default();
    value.replace('_', " ")
}

/// The text of a value as the configuration has it, or the value if it is no text.
fn plain(value: Option<String>) -> String {
    let value = value.unwrap_or_default();
    let read: Option<toml::Table> = toml::from_str(&format!("value = {value}")).ok();
    let text = read.and_then(|it| it["value"].as_str().map(str::to_owned));
    text.unwrap_or(value)
}

/// The address of this page with other values in its query: `here(status='open')`. `none` removes one. Always without the
/// position in a list and without what was said.
fn here(state: &State<'_, '_>, changes: &Kwargs) -> Result<String, Error> {
    let path = state.lookup("path").and_then(|it| it.as_str().map(str::to_owned));
    let mut pairs = filtered(state)?;
    for name in changes.args() {
        let value: Value = changes.get(name)?;
        pairs.retain(|it| it.0 != name);
        if !value.is_none() {
            pairs.push((name.to_owned(), value.to_string()));
        }
    }
    changes.assert_all_used()?;
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(with_query(path.unwrap_or_default(), pairs))
}

/// How this page is filtered, as the query of another address.
fn filters(state: &State<'_, '_>) -> Result<String, Error> {
    let pairs = filtered(state)?;
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(with_query(String::new(), pairs))
}

/// What the query of this page says, without the position in a list and without what was said.
fn filtered(state: &State<'_, '_>) -> Result<Pairs, Error> {
    let query = state.lookup("query").unwrap_or_default();
    let mut pairs = Pairs::new();
    for name in query.try_iter()? {
        let value = query.get_item(&name)?;
        pairs.push((name.to_string(), value.to_string()));
    }
    pairs.retain(|it| tables::is_filter(&it.0));
    Ok(pairs)
}

/// The scores in events of the type `security_score_changed`, as points of a line.
fn score_points(events: &Value) -> Result<Vec<Value>, Error> {
    let mut points = Vec::new();
    for event in events.try_iter()? {
        let score = event.get_attr("data")?.get_attr("object")?.get_attr("overallScore")?;
        points.push(Value::from(vec![event.get_attr("created")?, score]));
    }
    Ok(points)
}

/// What an entry of the audit log is about: the client or the API key in its path, if there is one, and the rest.
fn about(about: &str) -> Value {
    let (client, rest) = act::about(about);
    context! { client, rest, key => act::key(about) }
}

/// The name and the prefix of the API key with an id. Nothing if there is none.
fn find_key(app: &App, id: &str) -> Value {
    let found = id.parse().ok().and_then(|it| app.access.keyring.find(it));
    found.map_or_else(
        || Value::from(()),
        |it| context! { name => &it.key.name, prefix => &it.key.prefix },
    )
}

/// How long an attestation of a control counts that says nothing else.
fn attested_days(app: &App, code: &str) -> Option<u16> {
    app.catalog().get_control(code).ok().map(|it| it.max_age_days)
}

/// The facets and platforms of a control that a person may speak of, each with its words.
fn parts_of(app: &App, code: &str) -> Value {
    let catalog = app.catalog();
    let Ok(control) = catalog.get_control(code) else { return Value::UNDEFINED };
    let facets = control.facets.iter().filter(|_| 1 < control.facets.len());
    let facets: Vec<_> = facets.map(|it| [it.name.clone(), it.says.clone()]).collect();
    let platforms = ControlPart::platforms(control).into_iter();
    let platforms: Vec<_> =
        platforms.map(|it| [it.to_owned(), platform_name(it).to_owned()]).collect();
    context! { facets, platforms }
}

/// The name of a framework in an answer that has only its id.
fn framework_name(app: &App, id: &str) -> String {
    let catalog = app.catalog();
    let found = id.parse().ok().and_then(|it| catalog.find_framework(it));
    found.map_or_else(|| id.to_owned(), |it| it.name.clone())
}

/// The name of a client in an answer that has only its id.
fn client_name(app: &App, id: &str) -> String {
    let found = id.parse().ok().and_then(|it| app.clients.directory.find(it));
    found.map_or_else(|| id.to_owned(), |it| it.name.clone())
}

/// A line of points, each `[time, value from 0 to 100]`.
fn line(points: &[(String, i64)], marks: &[String]) -> Result<Value, Error> {
    let mut known = Vec::new();
    for (at, value) in points {
        known.push((time(at)?.s(), *value));
    }
    let marks = marks.iter().map(|it| Ok(time(it)?.s())).collect::<Result<Vec<_>, Error>>()?;
    Ok(Value::from_safe_string(chart::line(&known, &marks)))
}
