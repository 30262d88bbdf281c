//! Tries a batch: what it would find at each client. Nothing is stored.

use super::{NewBatch, Step, check, estate, run};
use crate::app::App;
use crate::app::assessment::statement::Statements;
use crate::auth::caller::Caller;
use crate::engine::catalog::Catalog;
use crate::engine::fact::Status;
use crate::error::{Code, Result};
use crate::id::ClientId;
use crate::store::per_client::statement::Topic;
use crate::store::{ClientSnapshot, Snapshot};

/// What a batch would find at a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    pub client: ClientId,
    pub name: String,
    /// Of the control or requirement, as it is now.
    pub status: Option<Status>,
    /// How many of a kind of the estate are known.
    pub n_known: Option<u32>,
    /// Something was stated about it, which the batch would take the place of.
    pub replaces: bool,
    /// Why it would state nothing.
    pub refused: Option<String>,
}

impl App {
    /// Says what a batch would find.
    ///
    /// # Errors
    /// As [`App::begin_batch`].
    pub async fn try_batch(&self, caller: &Caller, new: NewBatch) -> Result<Vec<Trial>> {
        check(&self.catalog(), &new, self.clock.now())?;
        let clients = self.chosen_clients(caller, &new.chosen)?;
        let named = clients.into_iter().map(|id| {
            let client = self.clients.directory.find(id);
            (id, client.map_or_else(String::new, |it| it.name.clone()))
        });
        let named: Vec<(ClientId, String)> = named.collect();
        let catalog = self.catalog();
        let step = Step::of(new.deed, new.author);
        let new_days = self.options.settings.new_member_days;
        let now = self.clock.now();
        let read = move |snapshot: &Snapshot| {
            let mut trials = Vec::with_capacity(named.len());
            for (client, name) in named {
                let rows = snapshot.client(client);
                let (status, n_known, refused) = (None, None, None);
                let mut trial = Trial { client, name, status, n_known, replaces: false, refused };
                trial.find(&rows, &catalog, &step)?;
                if let Step::SayWhole { kind, .. } = &step {
                    let (n_known, _) = estate::known_now(&rows, *kind, (new_days, now))?;
                    trial.n_known = Some(n_known);
                }
                trials.push(trial);
            }
            Ok(trials)
        };
        caller.acting_on(&self.store).read(read).await
    }
}

impl Trial {
    fn find(&mut self, rows: &ClientSnapshot, catalog: &Catalog, step: &Step) -> Result<()> {
        match step {
            Step::Attest { control, .. } => {
                self.status = status_of(rows, control)?;
                let said = Statements::read(rows, catalog)?.attested;
                self.replaces = said.iter().any(|it| it.attestation.control == *control);
            }
            Step::Decide { requirement: (framework, reference), .. } => {
                let framework = catalog.get_framework(*framework)?;
                let row = framework.get_row(reference)?;
                self.status = Some(rows.framework_outcome(framework)?.rows[row].status);
                let said = Statements::read(rows, catalog)?.decisions;
                self.replaces = said.iter().any(|it| it.is_about(framework.id, reference));
            }
            Step::Accept { control, .. } => {
                self.status = status_of(rows, control)?;
                let open = run::open_risk(rows, control)?;
                self.replaces = open.as_ref().is_some_and(|it| it.accepted.is_some());
                self.refused = open.is_none().then(|| run::no_risk(control));
            }
            Step::SayWhole { kind, .. } => {
                let said = Statements::read(rows, catalog)?.estate;
                self.replaces = said.iter().any(|it| it.topic == Topic::Whole(*kind));
            }
            Step::DecideMember(new) => {
                let said = Statements::read(rows, catalog)?.estate;
                match estate::topics_of(rows, &new.members, &said) {
                    Ok((topics, _)) => {
                        let is_said = |topic: &Topic| said.iter().any(|it| it.topic == *topic);
                        self.replaces = topics.iter().any(|it| is_said(&it.0));
                    }
                    Err(error) if error.code == Code::Invalid => {
                        self.refused = Some(error.message().to_owned());
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

fn status_of(rows: &ClientSnapshot, control: &str) -> Result<Option<Status>> {
    let outcomes = rows.list_control_outcomes()?;
    Ok(outcomes.iter().find(|it| it.code == control).map(|it| it.status))
}
