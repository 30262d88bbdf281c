//! What a run would say, without a run.

use super::registry::Turn;
use crate::app::App;
use crate::app::intake::derived;
use crate::auth::caller::Caller;
use crate::connect::reading::{Group, Judged, Reading, Sight};
use crate::engine::fact::{ControlVerdict, DERIVED_CHECK, Status};
use crate::engine::identity;
use crate::error::{Error, Result};
use crate::id::{ClientId, ConnectionId};

/// What can be read now, and what that decides.
pub struct Trial {
    pub reading: Reading,
    /// Of each group of the reading, what a run would say of controls.
    pub controls: Vec<Vec<Foreseen>>,
    /// The same of each organization.
    pub org_controls: Vec<Vec<Foreseen>>,
}

/// What a run would say of a control.
pub struct Foreseen {
    pub control: &'static str,
    pub check: String,
    pub status: Status,
    /// Empty: there is nothing to say.
    pub findings: String,
}

impl App {
    /// Reads everything, and keeps nothing of it.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it is being tested, or too many others are; `Unavailable` if it takes too long.
    pub async fn test_connection(&self, by: &Caller, id: ConnectionId) -> Result<Trial> {
        let found = self.get_connection(by, id).await?;
        let place = self.connects.testing.begin(Turn { is_unwell: false, ..Turn::of(&found) });
        if place.is_none() {
            let rule = "it is being tested, or too many others are; try again when that has ended";
            return Err(Error::conflict(rule));
        }
        let reading = self.read_environment(id).await?;
        let client = found.connection.client;
        let of_groups = |groups: &[Group]| {
            let all = groups.iter().map(|it| self.foreseen(client, it));
            all.collect::<Result<Vec<_>>>()
        };
        let controls = of_groups(&reading.groups)?;
        let orgs = reading.orgs.iter().flatten().map(|it| of_groups(&it.groups));
        let org_controls = orgs.map(|it| Ok(it?.into_iter().flatten().collect()));
        let org_controls = org_controls.collect::<Result<_>>()?;
        Ok(Trial { reading, controls, org_controls })
    }

    fn foreseen(&self, client: Option<ClientId>, group: &Group) -> Result<Vec<Foreseen>> {
        let mut all: Vec<Foreseen> = group.observations.iter().map(Foreseen::of).collect();
        if let (Some(client), Some(accounts)) = (client, &group.accounts) {
            let days = self.roster_rules(client)?.dormant_after_days;
            let catalog = self.catalog();
            let max_age_days = |code: &str| catalog.find_max_age_days(code).unwrap_or_default();
            let verdicts = identity::verdicts(accounts, self.clock.now(), days, max_age_days);
            all.extend(verdicts.iter().filter_map(Foreseen::of_accounts));
        }
        Ok(all)
    }
}

impl Foreseen {
    fn of(it: &Judged) -> Self {
        Self {
            control: it.control,
            check: it.check.clone(),
            status: match (it.sight, it.verdict()) {
                (Sight::Facets, _) => Status::Partial,
                (Sight::Whole | Sight::Short, verdict) => {
                    verdict.and_then(|it| it.status(false)).unwrap_or(Status::NotApplicable)
                }
            },
            findings: it.findings.clone(),
        }
    }

    fn of_accounts(it: &ControlVerdict<'_>) -> Option<Self> {
        Some(Self {
            control: it.code,
            check: DERIVED_CHECK.to_owned(),
            status: it.verdict.status(false)?,
            findings: derived::findings(it).unwrap_or_default(),
        })
    }
}
