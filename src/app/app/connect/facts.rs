//! From what was read to what is ingested.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::app::intake::list::{Lists, Shrinking};
use crate::app::intake::run::{Intake, NewRun};
use crate::app::intake::source::Run;
use crate::clock::Time;
use crate::connect::reading::{Group, Judged, JudgedStatus};
use crate::engine::asset::Seen;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{N_FAILING_MAX, Observation, Subject, subject_hash};
use crate::engine::memory::{Extent, Memory, NamedSubject};
use crate::engine::severity::Severity;
use crate::id::ImportId;
use crate::import::fold::Folded;
use crate::import::fold::outcome::SubjectOutcomes;
use crate::store::per_client::roster::ListKind;

/// What the catalog calls all tools that are read by a mapping.
const MAPPING: &str = "mapping";
/// What the records of runs say instead of a file's format.
const FORMAT: &str = "connection";

/// A run of a connection, as records name it.
#[derive(Clone, Copy)]
pub(super) struct RunLabel<'a> {
    pub source: &'a str,
    /// The connection's name.
    pub name: &'a str,
    pub at: Time,
}

impl RunLabel<'_> {
    /// What some groups say. `complete`: it is all that there is in their scopes.
    pub(super) fn intake(
        self,
        catalog: &Catalog,
        groups: &[&Group],
        complete: bool,
        run: Run,
    ) -> Intake {
        let id = ImportId::random();
        let observations = self.observations(catalog, groups, id);
        let assets: Vec<Seen> =
            groups.iter().flat_map(|it| it.assets.iter().flatten()).cloned().collect();
        let new = NewRun {
            id,
            name: self.name.to_owned(),
            format: FORMAT.to_owned(),
            digest: Sha256::digest(id.as_bytes()).into(), // No two runs are the same file.
            source: self.source.to_owned(),
            by: "connection".to_owned(),
            at: self.at,
        };
        let folded = Folded {
            scans: Vec::new(),
            leavers: Vec::new(),
            n_records: (observations.len() + assets.len()) as u64,
            observations,
            assets,
            outcomes: SubjectOutcomes::default(),
            silent: Vec::new(),
            skipped: BTreeMap::new(),
            scopes: groups.iter().map(|it| it.scope.clone()).collect(),
            observed_from: Some(self.at),
            observed_to: Some(self.at),
            file_observed_at: None,
        };
        let mut intake = Intake { run, ..Intake::of(new, folded) };
        intake.import.complete = complete;
        // A list that shrank was doubted before.
        intake.speaking_of(if complete { Extent::All } else { Extent::Counted })
    }

    /// What a group says that lists accounts, apps or assets.
    pub(super) fn listed(self, catalog: &Catalog, group: &Group) -> Intake {
        let intake = self.intake(catalog, &[group], group.is_whole, Run::Quiet);
        Intake { lists: Some(self.lists(group)), ..intake }
    }

    /// Only that lists of these kinds were read, which are not believed yet.
    pub(super) fn doubted(self, catalog: &Catalog, group: &Group, kinds: &[ListKind]) -> Intake {
        let nothing = Group { scope: group.scope.clone(), ..Group::default() };
        let intake = self.intake(catalog, &[&nothing], false, Run::Quiet);
        let Lists { identities, apps, assets, .. } = self.lists(group);
        let is_doubted = |kind| kinds.contains(&kind);
        let lists = Lists {
            identities: identities.filter(|_| is_doubted(ListKind::Identities)),
            apps: apps.filter(|_| is_doubted(ListKind::Apps)),
            assets: assets.filter(|_| is_doubted(ListKind::Assets)),
            ..self.lists(group)
        };
        Intake { lists: Some(lists), ..intake }
    }

    pub(super) fn lists(self, group: &Group) -> Lists {
        let ids = |all: &Vec<Seen>| all.iter().map(|it| it.external_id.clone()).collect();
        Lists {
            scope: group.scope.clone(),
            at: self.at,
            complete: true,
            shrinking: Shrinking::DoubtedIfEmpty,
            identities: group.accounts.clone(),
            apps: group.apps.clone(),
            assets: group.assets.as_ref().filter(|_| group.is_whole).map(ids),
            leavers: None,
        }
    }

    fn observations(
        self,
        catalog: &Catalog,
        groups: &[&Group],
        import: ImportId,
    ) -> Vec<Observation> {
        let of_group = |group: &&Group| {
            let scope = group.scope.clone();
            let judged = group.observations.clone();
            judged.into_iter().filter_map(move |it| self.observation(catalog, &scope, it, import))
        };
        groups.iter().flat_map(of_group).collect()
    }

    /// The facets that a mapping of a tool shows. What other connections show is in the catalog under their names.
    fn facets(self, catalog: &Catalog, control: usize) -> Vec<String> {
        let sources = &catalog.shown_by_sources;
        let shown = sources.get(MAPPING).filter(|_| !sources.contains_key(self.source));
        let shown = shown.and_then(|it| it.get(&control)).into_iter().flat_map(|it| it.iter());
        shown.map(|it| catalog.controls[control].facets[it].name.clone()).collect()
    }

    /// `None`: it is not a fact about the control.
    fn observation(
        self,
        catalog: &Catalog,
        scope: &str,
        it: Judged,
        import: ImportId,
    ) -> Option<Observation> {
        let verdict = it.verdict()?;
        let mut failing: Vec<u64> =
            it.count.iter().flat_map(|it| &it.failing).map(|it| subject_hash(it)).collect();
        let names = failing.iter().zip(it.count.iter().flat_map(|it| &it.names));
        let names = names.map(|(hash, name)| NamedSubject { hash: *hash, name: name.clone() });
        let memory = Memory { names: names.collect(), ..Memory::default() }.into();
        failing.sort_unstable();
        failing.truncate(N_FAILING_MAX);
        let control = *catalog.controls_named(it.control).first()?;
        Some(Observation {
            subject: Subject::Control(it.control.to_owned()),
            source: self.source.to_owned(),
            scope: scope.to_owned(),
            check: it.check,
            observed_at: self.at,
            valid_until: None,
            import,
            verdict,
            accepted: 0,
            severity: Severity::Medium,
            title: catalog.controls[control].title.clone(),
            findings: Some(it.findings),
            remediation: None,
            failing,
            memory,
            facets: self.facets(catalog, control),
            platform: None,
        })
    }
}

/// Something is said of a control.
pub(super) fn is_judged(group: &Group) -> bool {
    group.observations.iter().any(|it| it.status != JudgedStatus::NotApplicable)
}

/// It lists accounts, apps or assets.
pub(super) fn is_listed(group: &Group) -> bool {
    group.accounts.is_some() || group.apps.is_some() || group.assets.is_some()
}
