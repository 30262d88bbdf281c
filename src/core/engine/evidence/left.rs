//! What people say is not meant or gone.

use std::collections::{BTreeMap, BTreeSet};

use super::current::Current;
use super::place::Place;
use super::sight::{Sights, newest};
use crate::engine::estate::MemberDecision;
use crate::engine::fact::Facts;
use crate::engine::horizon::Horizon;

/// The decisions that take members out, those that count now.
#[derive(Debug, Default)]
pub(in crate::engine) struct Left<'a> {
    decisions: Vec<&'a MemberDecision>,
    by_name: BTreeMap<&'a str, usize>,
}

impl<'a> Left<'a> {
    /// A member that a person calls gone is back once something of it is seen after that.
    pub(in crate::engine) fn of(
        facts: &Facts<'a>,
        sights: &Sights<'a>,
        horizon: &mut Horizon,
    ) -> Self {
        let mut left = Self::default();
        for it in &facts.estate.members {
            it.until.into_iter().for_each(|end| horizon.see(end));
            if it.until.is_none_or(|end| !horizon.is_past(end)) {
                left.add(it);
            }
        }
        if left.decisions.is_empty() {
            return left;
        }
        let back: BTreeSet<usize> = sights
            .0
            .iter()
            .filter_map(|(place, sight)| {
                let at = left.find(*place)?;
                let decision = left.decisions[at];
                let is_after = newest(sight).is_some_and(|(_, seen)| decision.at < seen);
                (decision.is_retired && is_after).then_some(at)
            })
            .collect();
        let mut kept = Self::default();
        for (at, it) in left.decisions.iter().enumerate() {
            if !back.contains(&at) {
                kept.add(it);
            }
        }
        kept
    }

    fn add(&mut self, decision: &'a MemberDecision) {
        let at = self.decisions.len();
        self.by_name.extend(decision.names.iter().map(|it| (it.as_str(), at)));
        self.decisions.push(decision);
    }

    pub(super) fn find(&self, place: Place<'_>) -> Option<usize> {
        let name = match place {
            Place::Client | Place::Platform { account: None, .. } => return None,
            Place::Platform { platform, account: Some(account) } => format!("{platform}/{account}"),
            Place::Device(name) | Place::Domain(name) => name.to_lowercase(),
        };
        self.by_name.get(name.as_str()).copied()
    }

    /// Source and scope of what was seen of the members.
    pub(in crate::engine) fn places_in(
        &self,
        current: &[Current<'_>],
    ) -> BTreeSet<(String, String)> {
        if self.decisions.is_empty() {
            return BTreeSet::new();
        }
        // Lists do not name a platform: their place is what their scope says.
        let seen = current.iter().filter(|it| it.worst.platform.is_none());
        let left = seen.filter(|it| self.find(it.place).is_some()).map(|it| it.worst);
        left.map(|it| (it.source.clone(), it.scope.clone())).collect()
    }

    /// Drops what was seen of the members.
    pub(in crate::engine) fn drop_from(&self, current: &mut Vec<Current<'_>>) {
        if !self.decisions.is_empty() {
            current.retain(|it| self.find(it.place).is_none());
        }
    }

    /// A decision is about the device of these names.
    pub(super) fn has(&self, names: &[String]) -> bool {
        let found = names.first().and_then(|it| self.by_name.get(it.as_str()));
        found.is_some_and(|at| self.decisions[*at].names == names)
    }

    pub(super) fn count(&self, over: impl Fn(&MemberDecision) -> u32) -> u32 {
        self.decisions.iter().map(|it| over(it)).sum()
    }
}
