//! The runs of the tools: what each reports about a client, as it is ingested.

use std::collections::{BTreeMap, BTreeSet};

use super::cloud::{self, Cloud};
use super::portfolio::DemoClient;
use super::review::{self, Visit};
use super::{account, device, network};
use crate::app::intake::list::Lists;
use crate::app::intake::run::{Discovery, Intake, NewRun};
use crate::app::intake::source::Run;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::error::Result;
use crate::id::ImportId;
use crate::import::fold::Folded;
use crate::import::fold::outcome::SubjectOutcomes;

/// Which tool reports which controls of a client. Indices into the catalog.
#[derive(Debug)]
pub(super) struct Duties {
    device: Vec<usize>,
    review: Vec<usize>,
}

impl Duties {
    /// Every control that applies is reported by one tool that sees all of it, or else by a person.
    pub(super) fn of(client: &DemoClient, catalog: &Catalog) -> Self {
        let mut taken: BTreeSet<usize> =
            Cloud::Suite.controls(client, catalog).into_iter().collect();
        if client.has_aws {
            taken.extend(Cloud::Aws.controls(client, catalog));
        }
        taken.extend(account::CONTROLS.iter().filter_map(|it| catalog.find_control(it)));
        let controls = catalog.controls.iter().enumerate();
        let rest = controls.filter(|(_, it)| !client.lacks(&it.platforms));
        let rest = rest.filter(|(index, _)| !taken.contains(index));
        let (device, review): (Vec<_>, Vec<_>) = rest.partition(|(_, it)| device::reports(it));
        let indices = |all: Vec<(usize, _)>| all.into_iter().map(|it| it.0).collect();
        Self { device: indices(device), review: indices(review) }
    }

    /// Controls that only a person can decide.
    pub(super) fn review(&self) -> &[usize] {
        &self.review
    }
}

/// A run of a tool at one client.
pub(super) struct ToolRun<'a> {
    pub(super) client: &'static DemoClient,
    pub(super) catalog: &'a Catalog,
    pub(super) duties: &'a Duties,
    pub(super) week: u64,
    pub(super) at: Time,
    /// When the history begins.
    pub(super) started: Time,
}

impl ToolRun<'_> {
    /// The remote-management tool. It lists all machines, when asked for them.
    pub(super) fn device(&self, has_assets: bool) -> Intake {
        let import = ImportId::random();
        let scope = device::scope(self.client);
        let controls = (self.catalog, self.duties.device.as_slice());
        let observations = device::observe(self.client, controls, (self.week, self.at), import);
        let assets = if has_assets { device::assets(self.client, self.week) } else { Vec::new() };
        let ids = assets.iter().map(|it| it.external_id.clone()).collect();
        let lists = Lists { assets: has_assets.then_some(ids), ..self.lists(scope.clone()) };
        let folded = Folded { observations, assets, ..self.folded(scope) };
        self.intake(import, (device::SOURCE, "facts", String::new()), folded, Some(lists))
    }

    /// The connector of the cloud's directory.
    pub(super) fn accounts(&self) -> Intake {
        let scope = account::scope(self.client);
        let origin = (account::source(self.client), "facts", String::new());
        let folded = self.folded(scope.clone());
        if let Some(reason) = account::failure(self.client, self.week) {
            let message = Some(reason.to_owned());
            let intake = self.intake(ImportId::random(), origin, folded, None);
            return Intake { run: Run::Failed { message }, ..intake };
        }
        let moment = (self.week, self.at);
        let identities = account::identities(self.client, self.catalog, moment, self.started);
        let apps = account::apps(self.client, self.week);
        let n_records = (identities.len() + apps.len()) as u64;
        let lists = Lists { identities: Some(identities), apps: Some(apps), ..self.lists(scope) };
        let folded = Folded { n_records, ..folded };
        self.intake(ImportId::random(), origin, folded, Some(lists))
    }

    /// Prowler.
    pub(super) fn cloud(&self, cloud: Cloud) -> Result<Intake> {
        let import = ImportId::random();
        let folded = cloud.read(self.client, self.catalog, (self.week, self.at), import)?;
        let scope = cloud.scope(self.client).replace('/', "-");
        let name = format!("prowler-output-{scope}-{}.ocsf.json", self.date());
        Ok(self.intake(import, (cloud::TOOL, "prowler-ocsf", name), folded, None))
    }

    /// The scan of the main site.
    pub(super) fn network(&self) -> Result<Intake> {
        let import = ImportId::random();
        let moment = (self.week, self.at);
        let folded = network::read(self.client, self.catalog, moment, import)?;
        let name = format!("{}-{}.xml", network::site(self.client), self.date());
        let intake = self.intake(import, (network::TOOL, "nmap", name), folded, None);
        Ok(Intake { discovery: Discovery::OfKnownSource, ..intake })
    }

    /// The adviser's visit.
    pub(super) fn review(&self, (before, is_whole): (Option<u64>, bool)) -> Intake {
        let import = ImportId::random();
        let visit = Visit { week: self.week, before, is_whole, at: self.at };
        let controls = (self.catalog, self.duties.review.as_slice());
        let observations = review::observe(self.client, controls, visit, import);
        let evidence = review::evidence(self.client, controls, visit);
        let folded = Folded { observations, ..self.folded(review::SCOPE.to_owned()) };
        let origin = (review::SOURCE, "facts", String::new());
        Intake { evidence, ..self.intake(import, origin, folded, None) }
    }

    fn date(&self) -> String {
        self.at.to_string().chars().take(10).filter(char::is_ascii_digit).collect()
    }

    fn lists(&self, scope: String) -> Lists {
        Lists { scope, at: self.at, complete: true, ..Lists::default() }
    }

    fn folded(&self, scope: String) -> Folded {
        Folded {
            outcomes: SubjectOutcomes::default(),
            scans: Vec::new(),
            leavers: Vec::new(),
            observations: Vec::new(),
            assets: Vec::new(),
            silent: Vec::new(),
            skipped: BTreeMap::new(),
            n_records: 0,
            scopes: vec![scope],
            observed_from: Some(self.at),
            observed_to: Some(self.at),
            file_observed_at: None,
        }
    }

    fn intake(
        &self,
        id: ImportId,
        (source, format, name): (&str, &str, String),
        folded: Folded,
        lists: Option<Lists>,
    ) -> Intake {
        let mut digest = [0; 32];
        digest[..16].copy_from_slice(id.as_bytes());
        let run = NewRun {
            id,
            name,
            format: format.to_owned(),
            digest,
            source: source.to_owned(),
            by: "demo".to_owned(),
            at: self.at,
        };
        let n_rows = folded.observations.len() + folded.assets.len();
        let n_records = folded.n_records.max(n_rows as u64);
        let intake = Intake::of(run, Folded { n_records, ..folded });
        Intake { seen_at: self.at, lists, ..intake }
    }
}
