//! What a year is expected to cost a client that meets everything: the base of the documented model behind
//! `dollarImpact`.
//!
//! base = incidents per 1,000 clients and year, by industry, / 1,000
//!        x employees
//!        x (records per employee, by industry, x cost of a record
//!           + hours of downtime x cost of an hour / employees that the hour's cost is for)

use std::collections::{BTreeMap, BTreeSet};

use crate::store::global::client::Client;

/// `downtime_cost_per_hour` is for an organization of this many employees.
const DOWNTIME_EMPLOYEES: u128 = 100;

/// A number for each industry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByIndustry {
    /// By name in lower case.
    pub named: BTreeMap<String, u64>,
    /// For any other industry, and an unknown one.
    pub default: u64,
}

impl ByIndustry {
    fn of(&self, industry: Option<&str>) -> u128 {
        let named = industry.and_then(|it| self.named.get(&it.to_lowercase()));
        u128::from(*named.unwrap_or(&self.default))
    }
}

/// The inputs of the model that are not the client's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossModel {
    /// Serious incidents in a year of 1,000 clients that meet everything.
    pub incidents_per_1000: ByIndustry,
    /// Records about people that a client holds.
    pub records_per_employee: ByIndustry,
    /// Dollars for each record.
    pub record_cost: u64,
    /// How long work stops after a serious incident.
    pub downtime_hours: u64,
    /// Dollars for an organization of 100 employees.
    pub downtime_cost_per_hour: u64,
}

impl LossModel {
    /// The industries with a number of their own, in lower case. All others have the same.
    #[must_use]
    pub fn industries(&self) -> Vec<String> {
        let named =
            self.incidents_per_1000.named.keys().chain(self.records_per_employee.named.keys());
        named.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Dollars per year, rounded down. `None`: the client's size is unknown.
    #[must_use]
    pub fn base_loss(&self, client: &Client) -> Option<u64> {
        let industry = client.industry.as_deref();
        let employees = u128::from(client.employee_count?);
        let records = self.records_per_employee.of(industry) * u128::from(self.record_cost);
        let downtime = u128::from(self.downtime_hours) * u128::from(self.downtime_cost_per_hour);
        // In hundredths of a dollar and in thousandths, so that only the end is rounded.
        let cost = employees * (records * DOWNTIME_EMPLOYEES + downtime);
        let loss = cost * self.incidents_per_1000.of(industry) / (DOWNTIME_EMPLOYEES * 1_000);
        Some(u64::try_from(loss).unwrap_or(u64::MAX))
    }
}

/// Those of `posture.toml.example`.
impl Default for LossModel {
    fn default() -> Self {
        let named =
            |all: &[(&str, u64)]| all.iter().map(|(it, n)| ((*it).to_owned(), *n)).collect();
        Self {
            incidents_per_1000: ByIndustry {
                named: named(&[
                    ("education", 7),
                    ("finance", 8),
                    ("financial services", 8),
                    ("government", 7),
                    ("healthcare", 9),
                    ("legal", 6),
                    ("manufacturing", 6),
                    ("retail", 6),
                ]),
                default: 5,
            },
            records_per_employee: ByIndustry { named: named(&[("healthcare", 100)]), default: 50 },
            record_cost: 160,
            downtime_hours: 72,
            downtime_cost_per_hour: 5_000,
        }
    }
}
