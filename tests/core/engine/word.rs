//! What people read for a result.

use std::collections::BTreeSet;

use posture_core::engine::fact::Status;
use posture_core::engine::posture::{PartialBecause, result_words};

#[test]
fn each_result_has_words_of_its_own_and_not_seen_is_not_failing() {
    let partial = PartialBecause::ALL.map(|it| result_words(Status::Partial, Some(it)));
    assert_eq!(partial.map(|it| it.0), ["Partly met", "Met where seen", "Said, not shown"]);
    assert_eq!(result_words(Status::Partial, None), partial[0], "a requirement has no reason");
    let others = Status::ALL.into_iter().filter(|it| *it != Status::Partial);
    let others = others.map(|it| result_words(it, None));
    let all: Vec<_> = others.chain(partial).collect();
    let english: BTreeSet<_> = all.iter().map(|it| it.0).collect();
    let french: BTreeSet<_> = all.iter().map(|it| it.1).collect();
    assert_eq!((english.len(), french.len()), (all.len(), all.len()));
}
