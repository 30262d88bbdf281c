//! Imports: import a file, list imports, undo an import.

use std::collections::BTreeMap;
use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::api::edge::caller::By;
use crate::api::edge::right::{View, ViewCompliance, Work};
use crate::api::manage::client::observations::ObservationView;
use crate::api::wire::param::{FormatWord, Id, Limit, Offset, Raw, Text, TrueWord, cut, no_moment};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null, PageReply, Rendered};
use crate::api::wire::upload::{FileBody, Received};
use crate::api::wire::view::{StatusView, Uid, When};
use crate::api::wire::{body, param, reply};
use crate::api::{Group, Web};
use crate::app::intake::file::{FILE_BYTES_MAX, ImportRequest, Imported, KnownImport, ObservedAt};
use crate::app::intake::push::{FACTS_BYTES_MAX, FactsBody, Push};
use crate::app::intake::upload::Upload;
use crate::engine::catalog::Catalog;
use crate::engine::fact::Status;
use crate::error::{Error, Result};
use crate::id::ImportId;
use crate::import::Format;
use crate::import::inventory::Columns;
use crate::page::Page;
use crate::store::per_client::columns::ColumnPairs;
use crate::store::per_client::import::{Dating, Import, ImportAge, PostureChange};
use crate::store::per_client::roster::ListKind;
use crate::store::{ClientSnapshot, ClientStore};

/// One import of a file, push of facts, or scan.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Import")]
#[serde(rename_all = "camelCase")]
pub struct ImportView {
    id: Uid,
    /// The name of the file where it came from. Empty: unknown.
    file_name: String,
    /// The format of the file; `facts` for pushed facts, `scan` for a network scan.
    format: String,
    source: String,
    /// The first 100 parts of the client that it is about: accounts, tenants, hosts.
    scopes: Vec<String>,
    /// How many parts of the client it is about.
    scope_count: u32,
    observed_from: Null<When>,
    observed_to: Null<When>,
    /// Who imported it gave the time of the observations, whatever date the file has. Null: a release that did not keep it
    /// made the import.
    observed_at_given: Null<bool>,
    /// The newest time in the file itself. Null: it has none, or a release that did not keep it made the import.
    file_observed_at: Null<When>,
    /// Records read.
    records: u64,
    /// Observations that were stored: one per check and scope.
    facts: u32,
    /// How many of these were older than their controls allow when they were imported: they did not count. Null: a release
    /// that did not keep it made the import.
    facts_outdated: Null<u32>,
    assets_added: u32,
    assets_updated: u32,
    skipped: Vec<SkippedView>,
    /// The import covered its scopes in full: what it did not contain was treated as removed.
    complete: bool,
    by: String,
    at: When,
    undone_at: Null<When>,
}

/// Records that were not used, and why.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Skipped")]
pub struct SkippedView {
    reason: String,
    count: u32,
}

impl ImportView {
    pub fn of(import: Import, age: Option<ImportAge>) -> Self {
        let skipped = |(reason, count)| SkippedView { reason, count };
        Self {
            id: Uid::of(import.id.as_bytes()),
            file_name: import.file_name,
            format: import.format,
            source: import.source,
            scopes: import.scopes,
            scope_count: import.n_scopes,
            observed_from: import.observed_from.map(When).into(),
            observed_to: import.observed_to.map(When).into(),
            observed_at_given: age.map(|it| it.dating != Dating::File).into(),
            file_observed_at: age.and_then(|it| it.file_observed_at).map(When).into(),
            records: import.n_records,
            facts: import.n_facts,
            facts_outdated: age.map(|it| it.n_outdated).into(),
            assets_added: import.n_assets_new,
            assets_updated: import.n_assets_updated,
            skipped: import.skipped.into_iter().map(skipped).collect(),
            complete: import.complete,
            by: import.by,
            at: When(import.at),
            undone_at: import.retracted_at.map(When).into(),
        }
    }
}

/// What an import, or undoing it, changed.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ImportOutcome")]
#[serde(rename_all = "camelCase")]
pub struct OutcomeView {
    import: ImportView,
    /// The same bytes were imported before, in this import. Nothing changed.
    already_imported: bool,
    /// The import is complete and has far fewer checks than before: what it lacks counts as gone once a second one agrees.
    held: bool,
    /// How many subjects failed before and were not looked at: they still fail, until a file names them as passing, or one that
    /// is complete lacks them.
    not_looked_at: u64,
    changed: ChangedView,
}

/// How the posture changed.
#[derive(Default, JsonSchema, Serialize)]
#[schemars(rename = "PostureChange")]
#[serde(rename_all = "camelCase")]
pub struct ChangedView {
    /// Controls whose status changed.
    controls: u32,
    /// Frameworks whose readiness changed.
    frameworks: u32,
    risks_opened: u32,
    risks_closed: u32,
    /// The overall score before. Null if it did not move.
    score_before: Null<u8>,
    /// The overall score now. Null if it did not move.
    score_after: Null<u8>,
    /// Events that were announced.
    events: u32,
}

impl ChangedView {
    pub(in crate::api::manage) fn of(announced: &PostureChange) -> Self {
        Self {
            controls: u32::try_from(announced.controls.len()).unwrap_or(u32::MAX),
            frameworks: announced.n_frameworks,
            risks_opened: announced.n_risks_opened,
            risks_closed: announced.n_risks_closed,
            score_before: announced.score_before.into(),
            score_after: announced.score_after.into(),
            events: announced.n_events,
        }
    }
}

impl OutcomeView {
    fn of(it: Imported) -> Self {
        match it {
            Imported::Changed(outcome) => Self {
                held: outcome.moved.get(&ListKind::Observations).is_some_and(|it| it.is_held),
                not_looked_at: outcome.n_carried,
                changed: ChangedView::of(&outcome.announced),
                import: ImportView::of(outcome.import, outcome.age),
                already_imported: false,
            },
            Imported::Known(known) => {
                let (import, age) = *known;
                Self {
                    import: ImportView::of(import, age),
                    already_imported: true,
                    held: false,
                    not_looked_at: 0,
                    changed: ChangedView::default(),
                }
            }
        }
    }
}

/// An import, and what it changed when it was made.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ImportDetail")]
#[serde(rename_all = "camelCase")]
pub struct DetailView {
    import: ImportView,
    /// Null: a release that did not keep it made the import.
    changed: Null<ChangedView>,
    /// The controls whose status it changed.
    controls: Vec<ControlChangeView>,
}

/// A control whose status an import changed.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ControlChange")]
#[serde(rename_all = "camelCase")]
pub struct ControlChangeView {
    control_code: String,
    /// Null: the catalog no longer has the control.
    title: Null<String>,
    status_before: StatusView,
    status_after: StatusView,
}

impl DetailView {
    fn of(catalog: &Catalog, (import, age): KnownImport, change: Option<PostureChange>) -> Self {
        let changed = change.as_ref().map(ChangedView::of).into();
        let control = |(code, before, after): (String, Status, Status)| {
            let found = catalog.find_control(&code);
            ControlChangeView {
                title: found.map(|it| catalog.controls[it].title.clone()).into(),
                control_code: code,
                status_before: StatusView(before),
                status_after: StatusView(after),
            }
        };
        let controls = change.map(|it| it.controls).unwrap_or_default();
        let controls = controls.into_iter().map(control).collect();
        Self { import: ImportView::of(import, age), changed, controls }
    }
}

pub struct Imports;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Imports {
    /// Import a file
    ///
    /// The body is the file itself, up to 256 MiB. A file is imported completely or not at all. Importing the same bytes again
    /// changes nothing, and the response says so.
    #[oai(path = "/clients/:clientId/imports", method = "post", operation_id = "add_import")]
    async fn add_import(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Default: detected from the beginning of the file. `facts` is not detected.
        format: Query<Option<Raw<FormatWord>>>,
        /// The name of the source. Default: the name of the tool. Required for `kube-bench`, `hardeningkitty` and `sarif`, whose
        /// files do not say what they are about.
        source: Query<Option<Raw<Text>>>,
        /// Which columns of an inventory or a list of people who left are what: an object from fields to names of columns, such as
        /// `{"name": "Asset Name"}`. Kept for the next list of the source. Default: those kept, or else by usual names.
        columns: Query<Option<Raw<Text>>>,
        /// The name of the file, for the list of imports.
        #[oai(name = "fileName")]
        file_name: Query<Option<Raw<Text>>>,
        /// When the observations were made: `file` (default) as the file says, `now`, or a date-time.
        #[oai(name = "observedAt")]
        observed_at: Query<Option<Raw<Text>>>,
        /// Import a file again that was imported before.
        again: Query<Option<Raw<TrueWord>>>,
        /// The file covers the scopes in it in full: what it does not contain is treated as removed.
        complete: Query<Option<Raw<TrueWord>>>,
        /// The tenants, accounts or domains in the file are this client's, although one belongs to another client, or the client
        /// has another one so far.
        bind: Query<Option<Raw<TrueWord>>>,
        file: FileBody,
    ) -> Result<Data<OutcomeView>, Failure> {
        let text = |it: Option<Raw<Text>>| it.map(|it| it.text);
        let format = format.0.map(|it| it.text);
        if format.as_deref() == Some("facts") {
            let own = [
                ("source", source.0.is_some()),
                ("columns", columns.0.is_some()),
                ("complete", complete.0.is_some()),
                ("bind", bind.0.is_some()),
            ];
            if let Some((name, _)) = own.iter().find(|(_, is_given)| *is_given) {
                let rule = "must be in the facts body instead";
                return Err(Error::invalid_field(*name, rule).into());
            }
            let order = FactsOrder {
                file_name: text(file_name.0).unwrap_or_default(),
                observed_at: observed(text(observed_at.0).as_deref())?,
                again: param::only_true("again", again.0.as_ref())?,
            };
            let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
            let upload = file.receive(&web.app, &by.0, FACTS_BYTES_MAX).await?;
            return Ok(Data::of(&import_facts(&web, &by, &rows, order, upload).await?));
        }
        let format = format.map(|it| format_named(&it)).transpose()?;
        let order = ImportRequest {
            file_name: text(file_name.0).unwrap_or_default(),
            format,
            source: text(source.0).map(source_name).transpose()?,
            columns: text(columns.0).map(|it| column_pairs(&it)).transpose()?,
            observed_at: observed(text(observed_at.0).as_deref())?,
            again: param::only_true("again", again.0.as_ref())?,
            complete: param::only_true("complete", complete.0.as_ref())?,
            bind: param::only_true("bind", bind.0.as_ref())?,
            reach: by.0.allowed_clients().map(<[_]>::to_vec),
            by: by.0.name(),
        };
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let upload = file.receive(&web.app, &by.0, FILE_BYTES_MAX).await?;
        Ok(Data::of(&OutcomeView::of(web.app.import_file(&rows, order, upload.reader()?).await?)))
    }

    /// List a client's imports
    ///
    /// Newest first. Scope: `read:compliance`.
    #[oai(path = "/clients/:clientId/imports", method = "get", operation_id = "list_imports")]
    async fn list_imports(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::PageReply<ImportView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let read = move |it: &ClientSnapshot| {
            let Page { items, total, cut } = it.page_imports(cut)?;
            let items = items.into_iter().map(|import| {
                let age = it.find_import_age(import.id)?;
                Ok(ImportView::of(import, age))
            });
            Ok(Page { items: items.collect::<Result<_>>()?, total, cut })
        };
        Ok(reply::PageReply::rendered(Rendered::page(&rows.read(read).await?)))
    }

    /// Get an import
    ///
    /// Also one that was undone. It says scores and risks as well, so that no scope of a key covers it.
    #[oai(
        path = "/clients/:clientId/imports/:importId",
        method = "get",
        operation_id = "get_import"
    )]
    async fn get_import(
        &self,
        web: Held<&Arc<Web>>,
        by: By<View>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "importId")] import_id: Path<Raw<Id>>,
    ) -> Result<Data<DetailView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let id = import_id.read::<ImportId>()?;
        let find = move |it: &ClientSnapshot| {
            let age = it.find_import_age(id)?;
            let import = it.find_import(id)?.map(|it| (it, age));
            Ok((import, it.find_import_change(id)?))
        };
        let (known, change) = rows.read(find).await?;
        let known = known.ok_or_else(|| Error::not_found("import not found"))?;
        Ok(Data::of(&DetailView::of(&web.app.catalog(), known, change)))
    }

    /// List what an undone import showed
    ///
    /// The observations that it had, which no longer count, until its retention ends. Empty for an import that counts: what it
    /// shows is among the observations of the client. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/imports/:importId/observations",
        method = "get",
        operation_id = "list_undone_observations"
    )]
    async fn list_undone_observations(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "importId")] import_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<PageReply<ObservationView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let id = import_id.read::<ImportId>()?;
        let n_max =
            usize::try_from(cut.offset).unwrap_or(usize::MAX).saturating_add(cut.limit as usize);
        let read = move |it: &ClientSnapshot| {
            it.find_import(id)?.ok_or_else(|| Error::not_found("import not found"))?;
            Ok((it.list_undone(id, n_max)?, it.count_undone(id)?))
        };
        let (found, total) = rows.read(read).await?;
        let (catalog, now) = (web.app.catalog(), web.app.clock.now());
        let shown = found.into_iter().skip(usize::try_from(cut.offset).unwrap_or(usize::MAX));
        let items = shown.map(|it| ObservationView::of(it, false, &catalog, now)).collect();
        Ok(PageReply::rendered(Rendered::page(&Page { items, total, cut })))
    }

    /// Undo an import
    ///
    /// Removes the facts of an import and reassesses the client: what it replaced or removed counts again. Accounts are as
    /// the lists before it said. Assets and apps that it found stay. Who undid it and why is a statement of kind `import`.
    #[oai(
        path = "/clients/:clientId/imports/:importId",
        method = "delete",
        operation_id = "undo_import"
    )]
    async fn undo_import(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "importId")] import_id: Path<Raw<Id>>,
        /// Why, up to 1,000 characters.
        reason: Query<Option<Raw<Text>>>,
    ) -> Result<Data<OutcomeView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let reason = reason.0.map(|it| it.text).unwrap_or_default();
        let import = import_id.read::<ImportId>()?;
        let outcome = web.app.undo_import(&by.0, &rows, import, reason).await?;
        Ok(Data::of(&OutcomeView::of(Imported::Changed(Box::new(outcome)))))
    }
}

/// How to import a file of facts.
struct FactsOrder {
    file_name: String,
    observed_at: ObservedAt,
    again: bool,
}

async fn import_facts(
    web: &Web,
    by: &By<Work>,
    rows: &ClientStore,
    order: FactsOrder,
    upload: Upload,
) -> Result<OutcomeView> {
    if let ObservedAt::At(_) = order.observed_at {
        return Err(Error::invalid_field("observedAt", "must be in the facts body instead"));
    }
    let (app, client, by) = (Arc::clone(&web.app), rows.id(), by.0.name());
    let FactsOrder { file_name, observed_at, again } = order;
    let read = move |bytes: &[u8]| {
        let facts = body::read::<FactsBody>(bytes)?;
        let body = if observed_at == ObservedAt::Now { facts.observed_now() } else { facts };
        let digest = Sha256::digest(bytes).into();
        app.check_push(client, Push { body, file_name, digest, by, once: None, is_file: true })
    };
    let received = Received::OnDisk(upload);
    let push = received.read_with(&web.app, read).await?;
    Ok(OutcomeView::of(web.app.import_facts(rows, push, again).await?))
}

fn format_named(word: &str) -> Result<Format> {
    word.parse().map_err(|error: Error| error.about("format"))
}

fn column_pairs(text: &str) -> Result<ColumnPairs> {
    let all: BTreeMap<String, String> = serde_json::from_str(text).map_err(|_| {
        let rule =
            "must be an object from fields to names of columns, such as {\"name\": \"Asset Name\"}";
        Error::invalid_field("columns", rule)
    })?;
    let pairs: ColumnPairs = all.into_iter().collect();
    Columns::of(&pairs).map_err(|error| error.about("columns"))?;
    Ok(pairs)
}

fn observed(text: Option<&str>) -> Result<ObservedAt> {
    match text {
        None | Some("file") => Ok(ObservedAt::File),
        Some("now") => Ok(ObservedAt::Now),
        Some(time) => time.parse().map(ObservedAt::At).map_err(|_| {
            let rule = "must be file, now, or a date-time such as 2026-11-20T08:00:00Z";
            no_moment("observedAt", time, rule)
        }),
    }
}

/// A source with a longer name is refused.
const SOURCE_CHARS_MAX: usize = 200;

fn source_name(name: String) -> Result<String> {
    if name.trim().is_empty() || SOURCE_CHARS_MAX < name.chars().count() {
        let rule = format!("must be 1 to {SOURCE_CHARS_MAX} characters");
        return Err(Error::invalid_field("source", rule));
    }
    Ok(name)
}
