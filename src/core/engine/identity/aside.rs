//! Which conditions of accounts are set aside: a person says that the account is no member of the controls that it breaks, that
//! they are met, or that nothing of its tenant is meant. So alarms agree with controls.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::catalog::Catalog;
use crate::engine::event::EventKind;
use crate::engine::evidence::current::Current;
use crate::engine::evidence::subject::{SubjectRulings, known_failing};
use crate::engine::fact::{N_FAILING_MAX, Status, Subject, subject_hash};

/// The conditions that lists of accounts and apps open, and the controls that an account breaks that has one, if it is a member.
/// None: it tells what happened, and no control is about that.
const BROKEN_BY: [(EventKind, &[&str]); 5] = [
    (EventKind::AdminMfaMissing, &["ID-03"]),
    (EventKind::MfaDisabled, &["ID-02", "ID-03"]),
    (EventKind::DormantAccountDetected, &["ID-11"]),
    (EventKind::PrivilegeEscalation, &[]),
    (EventKind::ShadowItDetected, &[]),
];

/// Source and scope.
type Place = (String, String);

/// What a condition is about.
#[derive(Clone, Copy, Debug)]
pub struct ConditionSubject<'a> {
    pub source: &'a str,
    pub scope: &'a str,
    /// The name that the account signs in with. `None`: it is about something else.
    pub user: Option<&'a str>,
}

/// What people and controls say of the accounts that lists show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountStandings {
    /// Nothing of these is meant.
    left: BTreeSet<Place>,
    /// By the code of a control.
    controls: BTreeMap<&'static str, ControlStanding>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ControlStanding {
    is_met: bool,
    places: BTreeMap<Place, PlaceStanding>,
}

/// The accounts that fail of one list, by their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PlaceStanding {
    counted: BTreeSet<u64>,
    /// They are meant to be so.
    intended: BTreeSet<u64>,
    /// More fail than are known one by one.
    is_cut: bool,
}

impl PlaceStanding {
    fn is_failing(&self, account: u64) -> bool {
        self.is_cut || self.counted.contains(&account) || self.intended.contains(&account)
    }

    fn is_intended(&self, account: u64) -> bool {
        self.intended.contains(&account) && !self.counted.contains(&account)
    }
}

/// Returns the controls that a condition of this type breaks. `None`: no list opens it.
#[must_use]
pub fn broken_by(kind: &str) -> Option<&'static [&'static str]> {
    BROKEN_BY.iter().find(|it| it.0.as_str() == kind).map(|it| it.1)
}

impl AccountStandings {
    /// `left`: source and scope of what is not meant. `status_of`: of a control, by its index, as are the rulings.
    pub(in crate::engine) fn of(
        catalog: &Catalog,
        left: BTreeSet<Place>,
        (current, rulings): (&[Current<'_>], &[Option<SubjectRulings<'_>>]),
        status_of: impl Fn(usize) -> Status,
    ) -> Self {
        let mut all = Self { left, controls: BTreeMap::new() };
        let codes: BTreeSet<&'static str> = BROKEN_BY.iter().flat_map(|it| it.1).copied().collect();
        for code in codes {
            let Some(index) = catalog.find_control(code) else { continue };
            let is_met = status_of(index) == Status::Compliant;
            all.controls.insert(code, ControlStanding { is_met, places: BTreeMap::new() });
        }
        for it in current.iter().filter(|it| it.worst.is_derived()) {
            let Subject::Control(code) = &it.worst.subject else { continue };
            let Some(standing) = all.controls.get_mut(code.as_str()) else { continue };
            let index = catalog.find_control(code);
            let rulings = index.and_then(|it| rulings.get(it)).and_then(Option::as_ref);
            let place = (it.worst.source.clone(), it.worst.scope.clone());
            let place = standing.places.entry(place).or_default();
            for seen in it.failing() {
                let intended = rulings.map(|it| it.intended(seen)).unwrap_or_default();
                let failing = known_failing(seen).into_keys();
                place.counted.extend(failing.filter(|it| !intended.contains(it)));
                place.intended.extend(intended);
                place.is_cut |= N_FAILING_MAX <= seen.failing.len();
            }
        }
        all
    }

    /// Returns true if nothing is set aside.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let has = |it: &PlaceStanding, is_met| {
            !it.intended.is_empty() || is_met && !it.counted.is_empty()
        };
        let decides = |it: &ControlStanding| it.places.values().any(|place| has(place, it.is_met));
        self.left.is_empty() && !self.controls.values().any(decides)
    }

    /// Returns true if a condition of this type is set aside: each control that the account breaks is met, or does not count it.
    #[must_use]
    pub fn set_aside(&self, kind: &str, about: ConditionSubject<'_>) -> bool {
        let Some(codes) = broken_by(kind) else { return false };
        let place = (about.source.to_owned(), about.scope.to_owned());
        if self.left.contains(&place) {
            return true;
        }
        let Some(account) = about.user.map(subject_hash) else { return false };
        let broken = codes.iter().filter_map(|it| {
            let control = self.controls.get(it)?;
            let place = control.places.get(&place)?;
            place.is_failing(account).then(|| control.is_met || place.is_intended(account))
        });
        let (n, n_answered) =
            broken.fold((0, 0), |(n, answered), it| (n + 1, answered + u32::from(it)));
        n != 0 && n == n_answered
    }
}
