//! Reads an organization, one list after another.

mod answer;
mod area;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::answer::no_scope;
use self::plan::{PLANS, Plan, Shape};
use super::row::Domain;
use super::service_account::ServiceAccount;
use super::snapshot::{Snapshot, StreamKind};
use crate::connect::call::{Api, Auth, Cause, Rows, TokenSource, Unread};
use crate::connect::reading::{Reading, Stream, StreamState};

pub use answer::DIALECT;

/// The organization to read.
#[derive(Clone, Copy, Debug)]
pub struct Workspace<'a> {
    /// One of its domains.
    pub domain: &'a str,
    /// The address of the administrator in whose name it is read.
    pub admin: &'a str,
    /// The names of the apps that the client approved, in lower case.
    pub sanctioned_apps: &'a [String],
}

struct Reader<'a> {
    api: &'a Api,
    /// By OAuth scope, so that one that is missing costs only its own streams.
    tokens: BTreeMap<&'static str, TokenSource>,
    snapshot: Snapshot,
    streams: BTreeMap<StreamKind, Stream>,
    /// Streams whose scope the client did not let the service account use.
    unauthorized: BTreeSet<StreamKind>,
}

/// Reads everything that rules need. Takes no longer than the API's deadline.
pub async fn read(api: &Api, account: &Arc<ServiceAccount>, workspace: Workspace<'_>) -> Reading {
    let source = |scope| (scope, ServiceAccount::token_source(account, workspace.admin, scope));
    let mut reader = Reader {
        api,
        tokens: StreamKind::oauth_scopes().into_iter().map(source).collect(),
        snapshot: Snapshot::default(),
        streams: BTreeMap::new(),
        unauthorized: BTreeSet::new(),
    };
    if let Err(unread) = reader.check_organization(workspace).await {
        return unread.reading();
    }
    for kind in StreamKind::ALL {
        if !reader.streams.contains_key(&kind) {
            let read = reader.rows(kind).await;
            reader.keep(kind, read);
        }
    }
    if reader.unauthorized.len() == StreamKind::ALL.len() {
        return unauthorized().reading();
    }
    area::reading(&reader.snapshot, reader.streams, workspace.sanctioned_apps, api.now())
}

impl Reader<'_> {
    /// Refuses another organization than the one that is meant.
    async fn check_organization(&mut self, workspace: Workspace<'_>) -> Result<(), Unread> {
        let Workspace { domain, admin, .. } = workspace;
        for kind in [StreamKind::Customer, StreamKind::Domains] {
            let read = self.rows(kind).await;
            // Without this permission, the rest can still be read.
            let is_fatal = |it: &&Unread| match it.cause {
                Cause::Credential => true,
                Cause::Stream => it.state != StreamState::Denied,
                Cause::Consent => false,
            };
            if let Some(unread) = read.unread.as_ref().filter(is_fatal) {
                return Err(unread.clone());
            }
            self.keep(kind, read);
        }
        let own = self.snapshot.customer.as_ref().and_then(|it| it.customer_domain.as_deref());
        let all = self.snapshot.domains.as_deref();
        let is_same = |it: &str| it.eq_ignore_ascii_case(domain);
        if own.is_some_and(is_same) || all.is_some_and(|all| names(all).any(is_same)) {
            return Ok(());
        }
        let of_admin = admin.rsplit('@').next().unwrap_or_default();
        let which = match (own, all) {
            // The administrator's own address says whose organization it is.
            (_, None) if is_same(of_admin) => return Ok(()),
            (_, None) => return Err(self.unknown_organization(workspace)),
            (Some(own), Some(_)) => format!("{admin} is of the organization {own}"),
            (None, Some(_)) => format!("{admin} is of an organization"),
        };
        Err(Unread::credential(format!(
            "{which}, which does not have the domain {domain}; check the settings domain and admin"
        )))
    }

    fn unknown_organization(&self, Workspace { domain, admin, .. }: Workspace<'_>) -> Unread {
        if self.unauthorized.len() == self.streams.len() {
            return unauthorized();
        }
        let why = self.streams.get(&StreamKind::Domains).map_or("", |it| it.reason.as_str());
        let reason =
            format!("it is unknown whether {admin} is of the organization of {domain}: {why}");
        Unread { state: StreamState::Denied, ..Unread::failed(reason) }
    }

    /// All rows of a stream, which may come from several lists.
    async fn rows(&self, kind: StreamKind) -> Rows {
        let mut rows = Vec::new();
        for plan in PLANS.iter().filter(|it| it.kind == kind) {
            let read = self.list(plan).await.having(plan.always);
            rows.extend(read.rows);
            if read.unread.is_some() {
                return Rows { rows, unread: read.unread };
            }
        }
        Rows { rows, unread: None }
    }

    async fn list(&self, plan: &Plan) -> Rows {
        let auth = Auth::Bearer(&self.tokens[plan.kind.oauth_scope()]);
        let read = match plan.shape {
            Shape::Rows => self.api.read(&plan.collection(), &auth).await,
            Shape::Newest => {
                let read = self.api.read(&plan.first_page(), &auth).await;
                // A page may have no rows although others follow.
                let is_empty = read.rows.is_empty() && read.unread.is_none();
                if is_empty { self.api.read(&plan.collection(), &auth).await } else { read }
            }
            Shape::Object => {
                let read = async { self.api.call(&plan.call(), &auth).await?.json() };
                match read.await {
                    Ok(object) => Rows { rows: vec![object], unread: None },
                    Err(unread) => Rows { rows: Vec::new(), unread: Some(unread) },
                }
            }
        };
        if plan.is_never_empty { read.never_empty() } else { read }
    }

    /// Keeps what was read, if it was read to the end and looks as it should.
    fn keep(&mut self, kind: StreamKind, mut read: Rows) {
        if read.unread.as_ref().is_some_and(|it| it.cause == Cause::Consent) {
            self.unauthorized.insert(kind);
            read.unread = Some(no_scope(kind.oauth_scope()));
        }
        self.streams.insert(kind, read.stream(kind.as_str()));
        if read.unread.is_none() {
            put(&mut self.snapshot, kind, read.rows);
        }
    }
}

fn unauthorized() -> Unread {
    Unread::consent(
        "an administrator of the client has not authorized the service account yet; send them the consent link. \
         It can take up to 24 hours to work",
    )
}

fn names(domains: &[Domain]) -> impl Iterator<Item = &str> {
    domains.iter().flat_map(|it| {
        let aliases = it.domain_aliases.iter().flatten();
        it.domain_name
            .as_deref()
            .into_iter()
            .chain(aliases.filter_map(|it| it.domain_alias_name.as_deref()))
    })
}

fn all<T: DeserializeOwned>(rows: Vec<Value>) -> Option<Vec<T>> {
    rows.into_iter().map(|it| serde_json::from_value(it).ok()).collect()
}

fn put(to: &mut Snapshot, kind: StreamKind, rows: Vec<Value>) {
    match kind {
        StreamKind::Customer => to.customer = all(rows).and_then(|it| it.into_iter().next()),
        StreamKind::Users => to.users = all(rows),
        StreamKind::Roles => to.roles = all(rows),
        StreamKind::RoleAssignments => to.role_assignments = all(rows),
        StreamKind::OrgUnits => to.org_units = all(rows),
        StreamKind::Policies => to.policies = all(rows),
        StreamKind::SsoAssignments => to.sso_assignments = all(rows),
        StreamKind::MobileDevices => to.mobile_devices = all(rows),
        StreamKind::ChromeDevices => to.chrome_devices = all(rows),
        StreamKind::Domains => to.domains = all(rows),
        StreamKind::TokenEvents => to.token_events = all(rows),
        StreamKind::TwoStepRemovals => to.two_step_removals = all(rows),
        StreamKind::AuditEvents => to.audit_events = all(rows),
    }
}
