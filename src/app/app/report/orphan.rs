//! What people said about something that this release no longer has.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::known;
use super::known::Nothing;
use crate::app::App;
use crate::app::assessment::statement::Statements;
use crate::engine::catalog::Catalog;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::Snapshot;
use crate::store::global::alert::AlertCondition;

/// How many orphans are listed.
pub const N_ORPHANS_SHOWN: usize = 100;

/// A statement or rule that counts for nothing, because what it is about is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// `None`: an alert rule.
    pub client: Option<ClientId>,
    pub kind: &'static str,
    /// The code of the control, or the framework with the reference.
    pub about: String,
}

/// The first orphans, and how many there are.
#[derive(Clone, Debug, Default)]
pub struct Orphans {
    pub shown: Vec<Orphan>,
    pub n: u64,
}

impl Orphans {
    fn add(&mut self, client: Option<ClientId>, kind: &'static str, about: String) {
        self.n += 1;
        if self.shown.len() < N_ORPHANS_SHOWN {
            self.shown.push(Orphan { client, kind, about });
        }
    }

    fn add_of(&mut self, catalog: &Catalog, client: ClientId, said: &Statements) {
        let is_gone = |code: &String| catalog.find_control(code).is_none();
        let attested = said.attested.iter().map(|it| &it.attestation.control);
        let evidence = said.evidence.iter().map(|it| &it.control);
        for code in attested.filter(|it| is_gone(it)) {
            self.add(Some(client), "attestation", code.clone());
        }
        for code in evidence.filter(|it| is_gone(it)) {
            self.add(Some(client), "evidence", code.clone());
        }
        for it in &said.decisions {
            let framework = catalog.find_framework(it.framework);
            if framework.and_then(|framework| framework.find_row(&it.reference)).is_none() {
                let about = format!("{} {}", it.framework.as_str(), it.reference);
                self.add(Some(client), "decision", about);
            }
        }
    }
}

/// Changes with what the frameworks of a catalog are. Its controls are those of the release.
fn digest(catalog: &Catalog) -> u64 {
    let mut hasher = DefaultHasher::new();
    catalog.frameworks.iter().for_each(|it| it.digest.hash(&mut hasher));
    hasher.finish()
}

impl App {
    /// Lists statements about controls and requirements that the catalog no longer has, of all clients, and alert rules
    /// about them.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn orphans(self: &Arc<Self>) -> Result<Orphans> {
        let catalog = self.catalog();
        let nothing = Nothing::Orphan(digest(&catalog));
        let clients = self.clients.directory.list().into_iter().map(|it| it.id);
        let clients = clients.map(|it| (it, known::version(&self.store, it)));
        let clients = clients.filter(|it| !self.known.has_nothing(it.0, nothing, it.1));
        let (clients, app): (Vec<_>, _) = (clients.collect(), Arc::clone(self));
        let list = move |snapshot: &Snapshot| {
            let mut orphans = Orphans::default();
            for rule in snapshot.list_alert_rules()? {
                let gone = match rule.condition {
                    AlertCondition::ControlFailing { control } => {
                        catalog.find_control(&control).is_none().then_some(control)
                    }
                    AlertCondition::ReadinessBelow { framework, .. } => {
                        let is_gone = catalog.find_framework(framework).is_none();
                        is_gone.then(|| framework.as_str().to_owned())
                    }
                    AlertCondition::ScoreBelow { .. }
                    | AlertCondition::OpenRisksAtLeast { .. }
                    | AlertCondition::SourceSilent { .. }
                    | AlertCondition::TasksOverdueAtLeast { .. }
                    | AlertCondition::DecisionContradicted => None,
                };
                if let Some(about) = gone {
                    orphans.add(None, "alert_rule", about);
                }
            }
            for (client, version) in clients {
                let n_before = orphans.n;
                let said = Statements::read(&snapshot.client(client), &catalog)?;
                orphans.add_of(&catalog, client, &said);
                if orphans.n == n_before {
                    app.known.keep_nothing(client, nothing, version);
                }
            }
            Ok(orphans)
        };
        self.store.read(list).await
    }
}
