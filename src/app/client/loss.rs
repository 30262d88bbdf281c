//! Estimates what a year without any control would cost a client: the documented model behind `dollarImpact`.
//!
//! annual loss = chance of a serious incident in a year, by industry (percent)
//!             x (employees x records per employee x cost of a record
//!                + hours of outage x cost of an hour x employees / employees that the hour's cost is for)

use crate::app::client::settings::Defaults;
use crate::store::global::client::Client;

/// Records about people that a client holds for each of its employees.
const RECORDS_PER_EMPLOYEE: u64 = 50;
/// How long work stops after a serious incident.
const OUTAGE_HOURS: u64 = 72;
/// `downtime_cost_per_hour` is for an organization of this many employees.
const DOWNTIME_EMPLOYEES: u64 = 100;
/// Chance of a serious incident in a year, in percent, of industries that are hit more than others.
const CHANCES: [(&str, u64); 8] = [
    ("healthcare", 12),
    ("finance", 11),
    ("financial services", 11),
    ("education", 10),
    ("government", 10),
    ("legal", 9),
    ("manufacturing", 9),
    ("retail", 8),
];
const CHANCE: u64 = 7;

/// Dollars per year. `None`: the client's size or industry, or a cost, is unknown.
#[must_use]
pub fn annual_loss(client: &Client, defaults: &Defaults) -> Option<u64> {
    let employees = u64::from(client.employee_count?);
    let industry = client.industry.as_ref()?.to_lowercase();
    let chance = CHANCES.iter().find(|(it, _)| *it == industry).map_or(CHANCE, |(_, it)| *it);
    let records =
        employees.saturating_mul(RECORDS_PER_EMPLOYEE).saturating_mul(defaults.record_cost?);
    let outage =
        OUTAGE_HOURS.saturating_mul(defaults.downtime_cost_per_hour?).saturating_mul(employees)
            / DOWNTIME_EMPLOYEES;
    Some(records.saturating_add(outage).saturating_mul(chance) / 100)
}
