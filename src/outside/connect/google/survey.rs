//! One question to the settings of every active user.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::row::User;
use super::setting::Field;
use super::tenant::{Place, Settings, Tenant};
use crate::connect::reading::{Judged, JudgedStatus, Member, Sight};

/// Findings name so many units or groups.
const N_NAMED_MAX: usize = 5;

/// Whom a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Everyone,
    Admins,
    SuperAdmins,
    /// Everyone but the super administrators.
    Others,
}

/// A question that settings answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) control: &'static str,
    pub(super) check: &'static str,
    pub(super) who: Who,
    /// Those for whom it is off are not asked about.
    pub(super) service: Option<Field>,
    /// The types of the settings that decide.
    pub(super) kinds: &'static [&'static str],
    /// `None`: unknown.
    pub(super) passes: fn(Settings<'_>) -> Option<bool>,
    /// What is wrong where it fails, as the beginning of a sentence that names the places.
    pub(super) gap: &'static str,
    /// What to do, as sentences.
    pub(super) remedy: &'static str,
}

/// The answers.
#[derive(Debug)]
pub(super) struct Survey<'t> {
    pub(super) members: Vec<(&'t Place<'t>, &'t User, Option<bool>)>,
    /// Groups whose members, or some of them, have less than their unit.
    pub(super) weak_groups: Vec<&'t str>,
}

impl Who {
    fn includes(self, place: &Place<'_>) -> bool {
        match self {
            Self::Everyone => true,
            Self::Admins => place.is_admin,
            Self::SuperAdmins => place.is_super,
            Self::Others => !place.is_super,
        }
    }
}

impl Question {
    /// `None`: it cannot be asked.
    pub(super) fn ask<'t>(&self, tenant: &'t Tenant<'t>) -> Option<Survey<'t>> {
        let places = tenant.places.as_ref().filter(|_| tenant.has_policies())?;
        let groups = tenant.groups(self.kinds);
        let mut weak_groups = Vec::new();
        let mut members = Vec::new();
        for place in places.iter().filter(|it| self.who.includes(it)) {
            let settings = tenant.settings(place);
            if self.is_off(settings) {
                continue;
            }
            let passes = (self.passes)(settings);
            members.extend(place.users.iter().map(|it| (place, *it, passes)));
            if passes == Some(true) {
                let weak =
                    groups.iter().filter(|it| (self.passes)(settings.in_group(it)) != passes);
                weak_groups.extend(weak.copied());
            }
        }
        weak_groups.sort_unstable();
        weak_groups.dedup();
        Some(Survey { members, weak_groups })
    }

    /// Returns true if the service is off for all here.
    fn is_off(&self, here: Settings<'_>) -> bool {
        let Some(service) = self.service else { return false };
        let of_service = here.tenant.groups(&[service.kind]);
        here.is_on(&service) == Some(false)
            && of_service.iter().all(|it| here.in_group(it).is_on(&service) == Some(false))
    }
}

impl Survey<'_> {
    /// `None`: nothing is known that decides.
    pub(super) fn judge(&self, question: &Question) -> Option<Judged> {
        let members = self.members.iter().map(|(_, user, passes)| Member {
            id: user.id.as_ref().map_or("", |it| &it.0),
            name: user.email(),
            passes: *passes,
        });
        let Question { control, check, gap, remedy, .. } = *question;
        let groups = self.groups_text();
        let what = format!("{gap} in {}.{groups} {remedy}", self.failing_places());
        let judged = Judged::population(control, check, members, &what)?;
        if judged.status != JudgedStatus::Compliant || self.weak_groups.is_empty() {
            return Some(judged);
        }
        let n = self.members.len();
        let findings = format!(
            "The organizational units of all {n} accounts pass.{groups} Check who is in there. {remedy}"
        );
        Some(Judged::part(control, check, Sight::Short, findings))
    }

    /// Empty, or a sentence behind a space.
    fn groups_text(&self) -> String {
        if self.weak_groups.is_empty() {
            return String::new();
        }
        let named = named(self.weak_groups.iter().map(|it| (*it).to_owned()).collect());
        format!(" Groups with a weaker setting of their own, by their identifiers: {named}.")
    }

    fn failing_places(&self) -> String {
        let mut n_users: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, _, _) in self.members.iter().filter(|it| it.2 == Some(false)) {
            *n_users.entry(place.path).or_default() += 1;
        }
        let mut places: Vec<_> = n_users.into_iter().collect();
        places.sort_by_key(|(_, n)| Reverse(*n));
        named(places.into_iter().map(|(path, n)| format!("{path} ({n})")).collect())
    }
}

fn named(mut all: Vec<String>) -> String {
    let n_more = all.len().saturating_sub(N_NAMED_MAX);
    all.truncate(N_NAMED_MAX);
    let line = all.join(", ");
    if n_more == 0 { line } else { format!("{line} and {n_more} more") }
}
