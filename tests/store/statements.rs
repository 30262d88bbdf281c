//! The log of statements: what it says that counts is what all of it comes to.

use posture_core::engine::fact::Status;
use posture_core::id::ClientId;
use posture_store::store::per_client::statement::{
    Author, Channel, Content, Deed, StatedAnswer, StatementRecord, Topic, standing,
};

use crate::harness::backend::Random;
use crate::{memory, noon};

fn record(number: u64, topic: &Topic, deed: Deed) -> StatementRecord {
    let author = Author { by: "Ada".to_owned(), account: String::new(), channel: Channel::Api };
    let (topic, reason) = (topic.clone(), format!("record {number}"));
    StatementRecord { number, recorded_at: noon(), topic, deed, reason, author, batch: None }
}

fn stated() -> Deed {
    Deed::State(Content {
        answer: StatedAnswer::Status(Status::Partial),
        from: noon(),
        until: None,
        evidence: None,
        overrides: false,
        supersedes: None,
        wording: None,
    })
}

#[test]
fn what_stands_is_what_the_log_comes_to() {
    let store = memory();
    let topics = [Topic::Control("GOV-14".to_owned()), Topic::Profile("aws".to_owned())];
    let mut n_standing = 0;
    for seed in 1..=300_u64 {
        let rows = store.client_store(ClientId::from_bytes(u128::from(seed).to_be_bytes()));
        let mut random = Random::from_seed(seed);
        for number in 1..=12 {
            let topic = &topics[usize::try_from(random.below(2)).unwrap()];
            let snapshot = rows.snapshot().unwrap();
            let about = snapshot.list_statements_about(topic).unwrap();
            let undoable = about.iter().filter(|it| {
                let is_undone = |other: &&StatementRecord| {
                    matches!(other.deed, Deed::Undo { record } if record == it.number)
                };
                !matches!(it.deed, Deed::Undo { .. }) && about.iter().find(is_undone).is_none()
            });
            let undoable: Vec<u64> = undoable.map(|it| it.number).collect();
            let deed = match (random.below(4), standing(&about)) {
                (0, Some(it)) => Deed::Withdraw { statement: it.number },
                (1 | 2, _) if !undoable.is_empty() => {
                    let which = random.below(undoable.len() as u64);
                    Deed::Undo { record: undoable[usize::try_from(which).unwrap()] }
                }
                _ => stated(),
            };
            let restored = match deed {
                Deed::Undo { record } => {
                    let mut rest = about.clone();
                    rest.retain(|it| it.number != record);
                    standing(&rest).map(|it| it.number)
                }
                Deed::State(_) | Deed::Withdraw { .. } => None,
            };
            let new = record(number, topic, deed);
            rows.write_now(move |batch| batch.add_statement(&new, restored)).unwrap();
            let snapshot = rows.snapshot().unwrap();
            for topic in &topics {
                let all = snapshot.list_statements_about(topic).unwrap();
                let found = snapshot.find_standing_statement(topic).unwrap();
                assert_eq!(found, standing(&all).map(|it| it.number), "seed {seed}: {all:#?}");
                n_standing += u64::from(found.is_some());
            }
        }
    }
    assert!(1_000 < n_standing, "{n_standing}");
}
