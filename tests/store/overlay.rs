//! Closures of one group see the rows as those before them left them, and nothing of those that failed.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use posture_core::clock::Time;
use posture_core::engine::event::EventKind;
use posture_core::engine::posture::Score;
use posture_core::error::{Code, Error, Result};
use posture_core::id::{ClientId, EventId, IngestionId, KeyId, ScoreId};
use posture_store::store::global::client::{Client, ClientState};
use posture_store::store::global::ingestion::{Ingestion, IngestionStatus};
use posture_store::store::per_client::asset::AssetFilter;
use posture_store::store::per_client::posture::ScoreEntry;
use posture_store::store::{Batch, Store};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{count_assets, memory, mixed, n_mixed, new_asset, noon, some_client};

/// What one commit holds, before further closures wait for the next.
const GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;

type Closure<T> = Box<dyn FnMut(&mut Batch) -> Result<T> + Send>;

/// Runs closures as one group, in this order.
fn together<T: Send + 'static>(store: &Store, closures: Vec<Closure<T>>) -> Vec<Result<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (started, starts) = channel();
        let (tell, told) = channel();
        let wait = move |_: &mut Batch| {
            started.send(()).expect("the test waits for it");
            told.recv_timeout(Duration::from_mins(1)).expect("the test tells");
            Ok(())
        };
        let mut before = Box::pin(store.write(wait));
        assert!((&mut before).now_or_never().is_none(), "it is held");
        starts.recv_timeout(Duration::from_mins(1)).expect("it runs, and alone");
        let mut writes: Vec<_> = closures.into_iter().map(|it| Box::pin(store.write(it))).collect();
        for write in &mut writes {
            assert!(write.now_or_never().is_none(), "it waits behind");
        }
        tell.send(()).expect("it waits");
        before.await.unwrap();
        join_all(writes).await
    })
}

#[test]
fn a_closure_that_panics_after_writing_leaves_nothing_and_its_neighbors_share_a_commit() {
    let store = memory();
    let client = some_client(1);
    let n_before = store.health().n_commits;
    let write = |name: &'static str| -> Closure<usize> {
        Box::new(move |batch| {
            let mut rows = batch.client(client);
            mixed(&mut rows, name)?;
            Ok(rows.figures()?.n_assets as usize)
        })
    };
    let spoil: Closure<usize> = Box::new(move |batch| {
        mixed(&mut batch.client(client), "two")?;
        panic!("asked to panic");
    });
    let refuse: Closure<usize> = Box::new(move |batch| {
        mixed(&mut batch.client(client), "three")?;
        Err(Error::conflict("asked to refuse"))
    });
    let answers = together(&store, vec![write("one"), spoil, refuse, write("four")]);
    let codes: Vec<_> = answers.iter().map(|it| it.as_ref().map_err(|it| it.code)).collect();
    assert_eq!(codes, [Ok(&1), Err(Code::Internal), Err(Code::Conflict), Ok(&2)]);
    let health = store.health();
    assert_eq!((health.n_commits, health.n_writes), (n_before + 1, 2));
    for (name, n_rows) in [("one", 6), ("two", 0), ("three", 0), ("four", 6)] {
        assert_eq!(n_mixed(&store, client, name), n_rows, "{name}");
    }
    let rows = store.client_store(client);
    assert_eq!(count_assets(&rows, &AssetFilter::default()).unwrap(), 2);
    rows.write_now(|batch| batch.add_asset(new_asset("two"))).expect("the name is free");
}

#[test]
fn a_group_that_wrote_much_is_committed_before_the_rest_runs() {
    const ROW_BYTES: usize = 200 * 1024;
    let n_in_commit = GROUP_BYTES_MAX / ROW_BYTES;
    for (n_rows, n_commits) in [(n_in_commit, 1), (n_in_commit + 2, 2)] {
        let store = memory();
        let write = |number: usize| -> Closure<()> {
            let settings = format!("{{\"note\":\"{}\"}}", "n".repeat(ROW_BYTES));
            let id = some_client(u8::try_from(number).expect("few"));
            Box::new(move |batch| batch.put_client(&client_row(id, settings.clone())))
        };
        let answers = together(&store, (0..n_rows).map(write).collect());
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(store.health().n_commits, n_commits, "{n_rows} rows");
        assert_eq!(store.snapshot().unwrap().list_clients().unwrap().len(), n_rows);
    }
}

fn client_row(id: ClientId, settings: String) -> Client {
    Client {
        id,
        name: "client".to_owned(),
        industry: None,
        employee_count: None,
        settings,
        state: ClientState::Active,
        created_at: noon(),
        updated_at: noon(),
    }
}

/// One thing that a closure does. Clients, keys, files and days are numbers.
#[derive(Clone, Debug)]
enum Step {
    PutDay {
        client: u8,
        day: u8,
        score: u8,
    },
    ListDays {
        client: u8,
        limit: u32,
    },
    PutFile {
        owner: u8,
        id: u8,
        has_ended: bool,
    },
    RemoveFile {
        owner: u8,
        id: u8,
    },
    FindFile {
        owner: u8,
        id: u8,
    },
    /// Some of them, from the first one on.
    ListFiles {
        owner: u8,
    },
    ListOpenFiles,
    AddEvent {
        client: u8,
    },
    /// Backwards.
    NewestEvents {
        client: Option<u8>,
        limit: usize,
    },
    EventsAfter {
        client: Option<u8>,
        after: u64,
        limit: usize,
    },
    EraseEvents {
        client: u8,
        n_max: usize,
    },
    /// Empties the client's tables and then deletes them.
    Erase {
        client: u8,
        n_max: usize,
    },
}

#[derive(Clone, Copy, Debug)]
enum End {
    Done,
    Refused,
    Panicked,
}

/// The rows as they are to be.
#[derive(Clone, Debug, Default)]
struct Model {
    /// By client, then newest first.
    days: BTreeMap<(u8, std::cmp::Reverse<u8>), u8>,
    files: BTreeMap<(u8, u8), bool>,
    events: BTreeMap<u64, u8>,
    n_events: u64,
}

impl Model {
    fn take(&mut self, step: &Step) -> String {
        let of = |client: &Option<u8>, it: &u8| client.is_none_or(|client| client == *it);
        match step {
            Step::PutDay { client, day, score } => {
                self.days.insert((*client, std::cmp::Reverse(*day)), *score);
                String::new()
            }
            Step::ListDays { client, limit } => {
                let days = self.days.iter().filter(|(key, _)| key.0 == *client);
                let days = days.map(|(key, score)| (key.1.0, *score)).take(*limit as usize);
                format!("{:?}", days.collect::<Vec<_>>())
            }
            Step::PutFile { owner, id, has_ended } => {
                self.files.insert((*owner, *id), *has_ended);
                String::new()
            }
            Step::RemoveFile { owner, id } => {
                format!("{:?}", self.files.remove(&(*owner, *id)).is_some())
            }
            Step::FindFile { owner, id } => format!("{:?}", self.files.get(&(*owner, *id))),
            Step::ListFiles { owner } => {
                let files = self.files.iter().filter(|(key, _)| key.0 == *owner);
                format!("{:?}", files.map(|(key, it)| (key.1, *it)).rev().collect::<Vec<_>>())
            }
            Step::ListOpenFiles => {
                let mut open: Vec<_> =
                    self.files.iter().filter(|it| !it.1).map(|it| (it.0.1, it.0.0)).collect();
                open.sort_by_key(|it| it.0);
                format!("{open:?}")
            }
            Step::AddEvent { client } => {
                self.n_events += 1;
                self.events.insert(self.n_events, *client);
                format!("{}", self.n_events)
            }
            Step::NewestEvents { client, limit } => {
                let events = self.events.iter().rev().filter(|(_, it)| of(client, it));
                let mut newest: Vec<u64> = events.map(|it| *it.0).take(*limit).collect();
                newest.reverse();
                format!("{newest:?}")
            }
            Step::EventsAfter { client, after, limit } => {
                let events = self.events.range(after + 1..).filter(|(_, it)| of(client, it));
                format!("{:?}", events.map(|it| *it.0).take(*limit).collect::<Vec<_>>())
            }
            Step::EraseEvents { client, n_max } => {
                format!("{}", self.erase_events(*client, *n_max))
            }
            Step::Erase { client, n_max } => {
                let days = self.days.keys().filter(|it| it.0 == *client).take(*n_max);
                let days: Vec<_> = days.copied().collect();
                self.days.retain(|it, _| !days.contains(it));
                let left = n_max - days.len();
                let has_more = left == 0 || left == self.erase_events(*client, left);
                format!("{has_more}")
            }
        }
    }

    fn erase_events(&mut self, client: u8, n_max: usize) -> usize {
        let gone = self.events.iter().filter(|it| *it.1 == client).take(n_max);
        let gone: Vec<u64> = gone.map(|it| *it.0).collect();
        self.events.retain(|it, _| !gone.contains(it));
        gone.len()
    }
}

fn day_of(entry: &ScoreEntry) -> u8 {
    let micros = entry.calculated_at.micros() - noon().micros();
    u8::try_from(micros / Time::EPOCH.plus_days(1).micros()).expect("a day of the test")
}

fn day_entry(day: u8, overall: u8) -> ScoreEntry {
    let categories = vec![("Identity".to_owned(), overall)];
    let score =
        Score { overall, categories, n_total: 3, n_compliant: 1, n_partial: 1, n_non_compliant: 1 };
    ScoreEntry { id: ScoreId::random(), score, calculated_at: noon().plus_days(day.into()) }
}

fn file(owner: u8, id: u8, has_ended: bool) -> Ingestion {
    Ingestion {
        id: IngestionId::from_bytes([id; 16]),
        owner: KeyId::from_bytes([owner; 16]),
        client: None,
        status: if has_ended { IngestionStatus::Completed } else { IngestionStatus::Pending },
        file_name: "findings.json".to_owned(),
        content_at: 0,
        n_content_bytes: 0,
        n_total: 0,
        n_invalid: 0,
        message: None,
        import: None,
        by: "key".to_owned(),
        requested_at: noon(),
        started_at: None,
        completed_at: None,
    }
}

/// Does the step and says what it saw.
fn take(batch: &mut Batch, step: &Step) -> Result<String> {
    let ids = |client: &Option<u8>| client.map(|it| [some_client(it)]);
    let has_ended = |it: &Ingestion| it.status.has_ended();
    Ok(match step {
        Step::PutDay { client, day, score } => {
            batch.client(some_client(*client)).put_day(&day_entry(*day, *score))?;
            String::new()
        }
        Step::ListDays { client, limit } => {
            let days = batch.client(some_client(*client)).list_days(*limit)?;
            let days = days.iter().map(|it| (day_of(it), it.score.overall));
            format!("{:?}", days.collect::<Vec<_>>())
        }
        Step::PutFile { owner, id, has_ended } => {
            batch.put_ingestion(&file(*owner, *id, *has_ended))?;
            String::new()
        }
        Step::RemoveFile { owner, id } => {
            let file = file(*owner, *id, true);
            format!("{:?}", batch.remove_ingestion(file.owner, file.id)?)
        }
        Step::FindFile { owner, id } => {
            let file = file(*owner, *id, true);
            let found = batch.find_ingestion(file.owner, file.id)?;
            format!("{:?}", found.as_ref().map(has_ended))
        }
        Step::ListFiles { owner } => {
            let files = batch.list_ingestions(KeyId::from_bytes([*owner; 16]))?;
            let files = files.iter().map(|it| (it.id.as_bytes()[0], has_ended(it)));
            format!("{:?}", files.collect::<Vec<_>>())
        }
        Step::ListOpenFiles => {
            let files = batch.list_open_ingestions()?;
            let files = files.iter().map(|it| (it.id.as_bytes()[0], it.owner.as_bytes()[0]));
            format!("{:?}", files.collect::<Vec<_>>())
        }
        Step::AddEvent { client } => {
            let (id, kind) = (EventId::random(), EventKind::AssetDiscovered);
            let mut rows = batch.client(some_client(*client));
            format!("{}", rows.add_event(id, kind, noon(), |_| Ok("{}".to_owned()))?)
        }
        Step::NewestEvents { client, limit } => {
            let clients = ids(client);
            let clients = clients.as_ref().map(<[ClientId; 1]>::as_slice);
            let events =
                batch
                    .list_newest_events((*limit, 3, usize::MAX), (clients, None, None), |_| true)?;
            format!("{:?}", events.iter().map(|it| it.sequence).collect::<Vec<_>>())
        }
        Step::EventsAfter { client, after, limit } => {
            let clients = ids(client);
            let clients = clients.as_ref().map(<[ClientId; 1]>::as_slice);
            let events = batch.list_events(*after, *limit, clients)?;
            format!("{:?}", events.iter().map(|it| it.sequence).collect::<Vec<_>>())
        }
        Step::EraseEvents { client, n_max } => {
            format!("{}", batch.erase_client_events(some_client(*client), *n_max)?)
        }
        Step::Erase { client, n_max } => {
            format!("{}", batch.erase_client_chunk(some_client(*client), *n_max)?)
        }
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let client = || 1..3_u8;
    let file = || (1..4_u8, 1..6_u8);
    let some = || prop::option::of(1..3_u8);
    prop_oneof![
        4 => (client(), 0..9_u8, 0..100_u8)
            .prop_map(|(client, day, score)| Step::PutDay { client, day, score }),
        2 => (client(), 1..9_u32).prop_map(|(client, limit)| Step::ListDays { client, limit }),
        4 => (file(), any::<bool>())
            .prop_map(|((owner, id), has_ended)| Step::PutFile { owner, id, has_ended }),
        3 => file().prop_map(|(owner, id)| Step::RemoveFile { owner, id }),
        1 => file().prop_map(|(owner, id)| Step::FindFile { owner, id }),
        2 => (1..4_u8).prop_map(|owner| Step::ListFiles { owner }),
        1 => Just(Step::ListOpenFiles),
        4 => client().prop_map(|client| Step::AddEvent { client }),
        2 => (some(), 1..9_usize)
            .prop_map(|(client, limit)| Step::NewestEvents { client, limit }),
        2 => (some(), 0..20_u64, 1..9_usize)
            .prop_map(|(client, after, limit)| Step::EventsAfter { client, after, limit }),
        2 => (client(), 1..5_usize)
            .prop_map(|(client, n_max)| Step::EraseEvents { client, n_max }),
        2 => (client(), select(vec![1, 3, 100]))
            .prop_map(|(client, n_max)| Step::Erase { client, n_max }),
    ]
}

fn any_closure() -> impl Strategy<Value = (Vec<Step>, End)> {
    let end = prop_oneof![4 => Just(End::Done), 1 => Just(End::Refused), 1 => Just(End::Panicked)];
    (vec(any_step(), 1..12), end)
}

/// What is seen of all rows.
fn all_reads() -> Vec<Step> {
    let of_clients = [1, 2].into_iter().flat_map(|client| {
        let limit = 100;
        [
            Step::ListDays { client, limit: 100 },
            Step::NewestEvents { client: Some(client), limit },
            Step::EventsAfter { client: Some(client), after: 0, limit },
        ]
    });
    let files = (1..4).map(|owner| Step::ListFiles { owner });
    let newest = Step::NewestEvents { client: None, limit: 100 };
    of_clients.chain(files).chain([Step::ListOpenFiles, newest]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn closures_see_what_was_kept_before_them_and_what_they_wrote(
        groups in vec(vec(any_closure(), 1..6), 1..5),
    ) {
        let store = memory();
        let mut model = Model::default();
        for group in groups {
            // Whatever a closure sees in its last run counts, also if it fails then.
            let seen = Arc::new(Mutex::new(BTreeMap::new()));
            let mut expected = Vec::new();
            let mut closures: Vec<Closure<()>> = Vec::new();
            for (index, (steps, end)) in group.into_iter().enumerate() {
                let mut after = model.clone();
                expected.push(steps.iter().map(|it| after.take(it)).collect::<Vec<_>>());
                if let End::Done = end {
                    model = after;
                }
                let seen = seen.clone();
                closures.push(Box::new(move |batch| {
                    let all = steps.iter().map(|it| take(batch, it)).collect::<Result<Vec<_>>>()?;
                    seen.lock().unwrap().insert(index, all);
                    match end {
                        End::Done => Ok(()),
                        End::Refused => Err(Error::conflict("asked to refuse")),
                        End::Panicked => panic!("asked to panic"),
                    }
                }));
            }
            drop(together(&store, closures));
            let seen: Vec<_> = seen.lock().unwrap().values().cloned().collect();
            prop_assert_eq!(seen, expected);
            // What was committed is the same.
            let stored = store.write_now(|batch| {
                all_reads().iter().map(|it| take(batch, it)).collect::<Result<Vec<_>>>()
            });
            let kept: Vec<_> = all_reads().iter().map(|it| model.clone().take(it)).collect();
            prop_assert_eq!(stored.unwrap(), kept);
        }
    }
}
