//! Reads a tenant, one collection after another.

mod area;
mod mailbox;
mod plan;
mod registration;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::plan::{
    APP_ROLES, ORGANIZATION, P2_PLANS, PLANS, Plan, REGISTRATIONS, Shape, USERS,
    USERS_WITHOUT_SIGN_INS, members,
};
use super::rules::has_p2;
use super::tenant::{Source, Tenant};
use crate::connect::call::{Api, Auth, Cause, Rows, TokenSource, Unread};
use crate::connect::microsoft::{AppKey, MicrosoftApp, token_source};
use crate::connect::reading::{Reading, Stream, StreamState};

/// Members of more groups are not read.
const N_GROUPS_MAX: usize = 300;

struct Reader<'a> {
    api: &'a Api,
    tokens: TokenSource,
    graph: &'static str,
    tenant: Tenant,
    streams: BTreeMap<Source, Stream>,
}

/// Reads everything that rules need. Takes no longer than the API's deadline.
///
/// `name`: the id of the tenant, or a domain of it.
pub async fn read(api: &Api, app: &MicrosoftApp, key: &Arc<AppKey>, name: &str) -> Reading {
    let graph = app.cloud.graph();
    let tokens = token_source(app, Arc::clone(key), name, graph);
    let (tenant, streams) = (Tenant::default(), BTreeMap::new());
    let mut reader = Reader { api, tokens, graph, tenant, streams };
    if let Err(unread) = reader.check_tenant(name).await {
        return unread.reading();
    }
    reader.read_all().await;
    let Reader { tenant, streams, .. } = reader;
    area::reading(&tenant, streams, api.now())
}

impl Reader<'_> {
    /// Refuses another tenant than the one that is meant.
    async fn check_tenant(&mut self, name: &str) -> Result<(), Unread> {
        let read = self.rows(&ORGANIZATION).await;
        let organization = read.rows.first().cloned().unwrap_or_default();
        let id = organization["id"].as_str().unwrap_or_default().to_owned();
        let domains = organization["verifiedDomains"].as_array().into_iter().flatten();
        let is_domain =
            |it: &Value| it["name"].as_str().is_some_and(|it| it.eq_ignore_ascii_case(name));
        let is_meant = id.eq_ignore_ascii_case(name) || domains.into_iter().any(is_domain);
        if let Some(unread) = read.unread.clone() {
            // Without this permission the token alone says which tenant it is.
            if unread.cause != Cause::Stream || unread.state != StreamState::Denied {
                return Err(unread);
            }
        } else if !is_meant {
            return Err(Unread::credential(format!(
                "the token is for the tenant {id}, which does not have {name}; check the setting tenant"
            )));
        }
        self.keep(Source::Organization, &ORGANIZATION, read);
        Ok(())
    }

    async fn read_all(&mut self) {
        for plan in PLANS {
            let read = self.rows(plan).await;
            self.keep(plan.source, plan, read);
        }
        for plan in P2_PLANS {
            let read = if has_p2(&self.tenant) == Some(false) {
                let unread = Unread::unlicensed("it needs Microsoft Entra ID P2");
                Rows { rows: Vec::new(), unread: Some(unread) }
            } else {
                self.rows(plan).await
            };
            self.keep(plan.source, plan, read);
        }
        self.read_app_roles().await;
        self.read_users().await;
        self.read_registrations().await;
        self.read_groups().await;
        self.read_mailboxes().await;
    }

    async fn rows(&self, plan: &Plan) -> Rows {
        let auth = Auth::Bearer(&self.tokens);
        if plan.shape != Shape::Object {
            return self.api.read(&plan.collection(self.graph), &auth).await;
        }
        let read = async { self.api.call(&plan.call(self.graph), &auth).await?.json() };
        match read.await {
            // Some objects have been seen in a list.
            Ok(Value::Object(object)) => {
                let row = match object.get("value") {
                    Some(Value::Array(rows)) => rows.first().cloned().unwrap_or_default(),
                    Some(_) | None => Value::Object(object),
                };
                Rows { rows: vec![row], unread: None }
            }
            Ok(_) => Rows {
                rows: Vec::new(),
                unread: Some(Unread::failed("the answer is not a JSON object")),
            },
            Err(unread) => Rows { rows: Vec::new(), unread: Some(unread) },
        }
    }

    /// Without Entra ID P1, Graph refuses the whole call that asks for sign-ins.
    async fn read_users(&mut self) {
        let with = self.rows(&USERS).await;
        if with.unread.as_ref().is_none_or(|it| it.state != StreamState::Unlicensed) {
            return self.keep(Source::Users, &USERS, with);
        }
        let without = self.rows(&USERS_WITHOUT_SIGN_INS).await;
        self.keep(Source::Users, &USERS_WITHOUT_SIGN_INS, without);
    }

    /// Of the services that the tenant has, and always of Microsoft Graph.
    async fn read_app_roles(&mut self) {
        let known = self.tenant.service_principals.as_deref();
        let has = |app: &str| {
            known.is_none_or(|all| all.iter().any(|it| it.app_id.as_deref() == Some(app)))
        };
        let (graph, others) = APP_ROLES.split_first().expect("Microsoft Graph is one");
        let plans = std::iter::once(graph).chain(others.iter().filter(|it| has(it.0)));
        let plans: Vec<&Plan> = plans.map(|it| &it.1).collect();
        let mut all = Rows { rows: Vec::new(), unread: None };
        for plan in plans {
            let read = self.rows(plan).await;
            all.rows.extend(read.rows);
            all.unread = all.unread.or(read.unread);
        }
        self.keep(Source::AppRoles, &graph.1, all);
    }

    /// The report needs Entra ID P1.
    async fn read_registrations(&mut self) {
        let mut read = self.rows(&REGISTRATIONS).await;
        if let (Some(unread), Some(users)) = (&read.unread, &self.tenant.users)
            && unread.state == StreamState::Unlicensed
        {
            let found = registration::read(self.api, &self.tokens, self.graph, users, unread).await;
            read = match found {
                Ok(rows) => Rows { rows, unread: None },
                Err(unread) => Rows { rows: Vec::new(), unread: Some(unread) },
            };
        }
        self.keep(Source::Registrations, &REGISTRATIONS, read);
    }

    /// Members of the groups that hold roles or that policies name.
    async fn read_groups(&mut self) {
        let source = Source::GroupMembers;
        let groups = referenced_groups(&self.tenant);
        if N_GROUPS_MAX < groups.len() {
            let unread = Unread::failed(format!(
                "roles and policies name {} groups, more than {N_GROUPS_MAX}",
                groups.len()
            ));
            return self.note(source, unread.stream(source.as_str()));
        }
        let mut found = BTreeMap::new();
        let mut n_rows = 0;
        for group in groups {
            let read =
                self.api.read(&members(self.graph, &group), &Auth::Bearer(&self.tokens)).await;
            match read.unread {
                // A policy keeps the ids of groups that were deleted, which have no members.
                Some(unread) if unread.reason.contains("Request_ResourceNotFound") => {
                    found.insert(group, Vec::new());
                }
                Some(unread) => return self.note(source, unread.stream(source.as_str())),
                None => {
                    n_rows += read.rows.len() as u64;
                    let ids = read.rows.iter().filter_map(|it| it["id"].as_str());
                    found.insert(group, ids.map(str::to_owned).collect());
                }
            }
        }
        self.tenant.group_members = Some(found);
        self.note(source, complete(source, n_rows));
    }

    async fn read_mailboxes(&mut self) {
        let source = Source::Mailboxes;
        match mailbox::read(self.api, &self.tokens, self.graph).await {
            Ok(mailboxes) => {
                self.note(source, complete(source, mailboxes.len() as u64));
                self.tenant.mailboxes = Some(mailboxes);
            }
            Err(unread) => self.note(source, unread.stream(source.as_str())),
        }
    }

    fn note(&mut self, source: Source, stream: Stream) {
        self.streams.insert(source, stream);
    }

    /// Keeps what was read, if it was read to the end and looks as it should.
    fn keep(&mut self, source: Source, plan: &Plan, read: Rows) {
        let read = read.having(plan.always);
        let read = if plan.is_never_empty { read.never_empty() } else { read };
        self.note(source, read.stream(source.as_str()));
        if read.unread.is_none() {
            put(&mut self.tenant, source, read.rows);
        }
    }
}

/// The groups that hold roles or may activate them, and those that policies name, as far as these were read: what follows from a
/// group follows from what names it too.
fn referenced_groups(tenant: &Tenant) -> BTreeSet<String> {
    let assigned = tenant.role_assignments.iter().flatten();
    let assigned = assigned.map(|it| (&it.principal, &it.principal_id));
    let eligible = tenant.role_eligibilities.iter().flatten();
    let eligible = eligible.map(|it| (&it.principal, &it.principal_id));
    let holders = assigned.chain(eligible).filter_map(|(principal, id)| {
        principal.as_ref().filter(|it| it.is_group()).and(id.as_deref())
    });
    let policies = tenant.policies.iter().flatten().map(|it| &it.conditions.users);
    let named = policies.flat_map(|it| it.include_groups.iter().chain(it.exclude_groups.iter()));
    holders.chain(named).filter(|it| is_id(it)).map(str::to_owned).collect()
}

/// It can stand in a path.
fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
}

fn complete(source: Source, n_rows: u64) -> Stream {
    let (name, reason) = (source.as_str().to_owned(), String::new());
    Stream { name, state: StreamState::Complete, reason, n_rows }
}

fn list<T: DeserializeOwned>(rows: Vec<Value>) -> Option<Vec<T>> {
    rows.into_iter().map(|it| serde_json::from_value(it).ok()).collect()
}

fn first<T: DeserializeOwned>(rows: Vec<Value>) -> Option<T> {
    rows.into_iter().next().and_then(|it| serde_json::from_value(it).ok())
}

fn put(tenant: &mut Tenant, source: Source, rows: Vec<Value>) {
    match source {
        Source::Organization => tenant.organization = first(rows),
        Source::Skus => tenant.skus = list(rows),
        Source::Users => tenant.users = list(rows),
        Source::Registrations => tenant.registrations = list(rows),
        Source::RoleDefinitions => tenant.role_definitions = list(rows),
        Source::RoleAssignments => tenant.role_assignments = list(rows),
        Source::RoleEligibilities => tenant.role_eligibilities = list(rows),
        Source::RoleSchedules => tenant.role_schedules = list(rows),
        Source::RolePolicies => tenant.role_policies = list(rows),
        Source::SecurityDefaults => tenant.security_defaults = first(rows),
        Source::Policies => tenant.policies = list(rows),
        Source::Authorization => tenant.authorization = first(rows),
        Source::Methods => tenant.methods = first(rows),
        Source::ConsentRequests => tenant.consent_requests = first(rows),
        Source::Classifications => tenant.classifications = list(rows),
        Source::AppManagement => tenant.app_management = first(rows),
        Source::Score => tenant.score = first(rows),
        Source::ScoreProfiles => tenant.score_profiles = list(rows),
        Source::ServicePrincipals => tenant.service_principals = list(rows),
        Source::Grants => tenant.grants = list(rows),
        Source::AppRoles => tenant.app_roles = list(rows),
        Source::Applications => tenant.applications = list(rows),
        Source::Domains => tenant.domains = list(rows),
        Source::ManagedDevices => tenant.managed_devices = list(rows),
        Source::CompliancePolicies => tenant.compliance_policies = list(rows),
        Source::SharePoint => tenant.sharepoint = first(rows),
        Source::Audits => tenant.audits = list(rows),
        Source::GroupMembers | Source::Mailboxes => (), // Read in ways of their own.
    }
}
