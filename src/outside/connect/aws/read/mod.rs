//! Reads an account, one service after another, and judges it.

mod identity;
mod region;
mod request;
mod session;
mod storage;
mod trail;

use self::session::Session;
use super::account::Account;
use super::config::AwsConfig;
use super::rule::judge;
use crate::connect::call::{Api, Unread};
use crate::connect::reading::{Group, Reading, Stream, StreamState};

/// The parts of an account that are read on their own, and the controls that each decides.
const IDENTITY: (&str, &[&str]) = ("identity", &["CLD-01", "CLD-02", "CLD-03", "CLD-04"]);
const STORAGE: (&str, &[&str]) = ("storage", &["CLD-05"]);
const TRAILS: (&str, &[&str]) = ("trails", &["CLD-06"]);
const REGIONS: (&str, &[&str]) = ("regions", &["CLD-07", "CLD-10", "CLD-12", "CLD-24", "CLD-25"]);

/// Reads everything that rules need. Takes no longer than the API's deadline.
pub async fn read(api: &Api, config: &AwsConfig) -> Reading {
    match Session::open(api, config).await {
        Ok(mut session) => read_all(&mut session).await,
        Err(unread) => unopened(unread, config),
    }
}

/// Whoever sets the role up looks for the `ExternalId`.
fn unopened(unread: Unread, config: &AwsConfig) -> Reading {
    let mut reading = unread.reading();
    reading.groups[0].notes = notes(config);
    reading
}

fn notes(config: &AwsConfig) -> Vec<(String, String)> {
    let mut notes = vec![("account".to_owned(), config.account.clone())];
    if config.role_arn.is_some() {
        notes.push(("external_id".to_owned(), config.external_id.clone()));
    }
    notes
}

async fn read_all(session: &mut Session<'_>) -> Reading {
    let (summary, of_summary) = identity::read_summary(session).await;
    let (users, of_users) = identity::read_users(session).await;
    let storage = storage::read(session).await;
    let (names, of_names) = region::names(session).await;
    let (trails, of_trails) = trail::read(session, names.as_deref()).await;
    let (regions, mut of_regions) = region::read(session, names.as_deref()).await;
    of_regions.insert(0, of_names);
    let account = Account {
        summary,
        users,
        public_access: storage.public_access,
        buckets: storage.buckets,
        trails,
        regions,
    };
    let judged = judge(&account, session.api.now());
    let group = |(scope, controls): (&str, &[&str]), streams: Vec<Stream>| Group {
        scope: scope.to_owned(),
        is_whole: streams.iter().all(|it| it.state == StreamState::Complete),
        streams,
        observations: judged.iter().filter(|it| controls.contains(&it.control)).cloned().collect(),
        ..Group::default()
    };
    let mut groups = vec![
        group(IDENTITY, vec![of_summary, of_users]),
        group(STORAGE, storage.streams),
        group(TRAILS, vec![of_trails]),
        group(REGIONS, of_regions),
    ];
    groups[0].notes = notes(session.config);
    Reading { groups, ..Reading::default() }
}
