//! `.cklb` checklists of STIG Viewer 3, about one host: the same as `.ckl`, in JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use serde::Deserialize;

use super::host::Host;
use super::reference::of_cci;
use super::result::{Rule, RuleResult, Run};
use crate::error::{Error, Result};
use crate::import::about::no_result;
use crate::import::document::{Brief, Rows, parse};
use crate::import::text::OrSkipped;
use crate::import::{CheckOutcome, Record};

const WHAT: &str = "STIG Viewer 3";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Checklist {
    target_data: Target,
    /// `None`: it has none.
    stigs: Option<Rows<Guide, 100>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Target {
    host_name: Brief,
    fqdn: Brief,
    ip_address: Brief,
    mac_address: Brief,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Guide {
    stig_id: Brief,
    rules: Rows<Row, 2_000>,
}

/// A rule with its result.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Row {
    /// With `_rule` at its end, as in `.ckl`.
    rule_id_src: Brief,
    rule_id: Brief,
    rule_title: Brief,
    severity: Brief,
    fix_text: Brief,
    ccis: Rows<Brief, 100>,
    status: Brief,
    finding_details: Brief,
    overrides: Overrides,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Overrides {
    severity: Option<SeverityOverride>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SeverityOverride {
    severity: Brief,
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let list: Checklist = parse(input, WHAT)?;
    let Some(guides) = list.stigs else {
        return Err(Error::invalid(format!("not a checklist of {WHAT}: it has no stigs")));
    };
    let mut host = Host {
        name: list.target_data.host_name.0.trim().to_owned(),
        fqdn: list.target_data.fqdn.0.trim().to_owned(),
        ..Host::default()
    };
    host.take_ip(&list.target_data.ip_address.0);
    host.take_mac(&list.target_data.mac_address.0);
    let mut rules = BTreeMap::new();
    let mut runs = BTreeMap::<String, Run>::new();
    for guide in guides.0 {
        let by = guide.stig_id.0.trim();
        let by = if by.is_empty() { "stig" } else { by };
        let run = runs.entry(by.to_owned()).or_insert_with(|| Run {
            host: host.clone(),
            by: by.to_owned(),
            ..Run::default()
        });
        for row in guide.rules.0 {
            let (id, rule, result) = row.understand();
            run.add(id.clone(), result);
            rules.insert(id, rule);
        }
    }
    let mut at = 0;
    runs.values().try_for_each(|run| run.tell(&rules, &mut at, records))
}

impl Row {
    fn understand(self) -> (String, Rule, RuleResult) {
        let known = [self.rule_id_src.0, self.rule_id.0];
        let id = known.into_iter().find(|it| !it.trim().is_empty()).unwrap_or_default();
        let result = RuleResult {
            outcome: outcome(&self.status.0),
            severity: self.overrides.severity.unwrap_or_default().severity.0,
            references: BTreeSet::new(),
            detail: self.finding_details.0,
        };
        let rule = Rule {
            title: self.rule_title.0,
            severity: self.severity.0,
            repair: self.fix_text.0,
            references: self.ccis.0.iter().filter_map(|it| of_cci(&it.0)).collect(),
        };
        (id, rule, result)
    }
}

fn outcome(status: &str) -> OrSkipped<CheckOutcome> {
    match status.trim() {
        "not_a_finding" => Ok(CheckOutcome::Pass),
        "open" => Ok(CheckOutcome::Fail),
        it @ "not_applicable" => Err(no_result(it, "the rule does not apply to the host")),
        it @ "not_reviewed" => Err(no_result(it, "nobody has checked it yet")),
        it => Err(no_result(it, "not a result")),
    }
}
