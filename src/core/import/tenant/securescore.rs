//! Microsoft's secure score, as Microsoft Graph returns it: `/security/secureScores`, alone or with the control profiles.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;

use crate::clock::Time;
use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::import::about::{About, Told, guid};
use crate::import::document::{Brief, Rows, parse};
use crate::import::{CheckOutcome, Record, markup, moment, plain};

const WHAT: &str = "Microsoft's secure score";
/// At least so many points make a control important. Microsoft gives up to ten.
const HIGH_POINTS: f64 = 8.0;
/// States of a control that a person set.
const CLAIMED: [&str; 3] = ["Ignored", "ThirdParty", "Reviewed"];

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Report {
    value: Rows<Score, 400>,
    secure_score: Scores,
    profiles: Profiles,
    /// Of a single score.
    azure_tenant_id: Brief,
    created_date_time: Brief,
    control_scores: Rows<ControlScore, 500>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Scores {
    value: Rows<Score, 400>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Profiles {
    value: Rows<Profile, 2_000>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Score {
    azure_tenant_id: Brief,
    created_date_time: Brief,
    control_scores: Rows<ControlScore, 500>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ControlScore {
    control_name: Brief,
    score_in_percentage: Option<f64>,
    implementation_status: Brief,
    /// How many users or devices it is about. Some controls do not say.
    total: Brief,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Profile {
    id: Brief,
    title: Brief,
    remediation: Brief,
    max_score: Option<f64>,
    control_state_updates: Rows<StateUpdate, 100>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StateUpdate {
    state: Brief,
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let report: Report = parse(input, WHAT)?;
    let single = Score {
        azure_tenant_id: report.azure_tenant_id,
        created_date_time: report.created_date_time,
        control_scores: report.control_scores,
    };
    let listed = report.value.0.into_iter().chain(report.secure_score.value.0);
    let scores = listed.chain([single]).filter(|it| !it.control_scores.0.is_empty());
    let newest = newest(scores.collect())?;
    let profiles: BTreeMap<&str, &Profile> =
        report.profiles.value.0.iter().map(|it| (&*it.id.0, it)).collect();
    let tenant = tenant(&newest.azure_tenant_id.0);
    let about = About::new("m365", &tenant, &[], time(&newest))?;
    for (at, control) in (1..).zip(&newest.control_scores.0) {
        let profile = profiles.get(&*control.control_name.0).copied();
        let percent = match control.score_in_percentage {
            Some(percent) if control.total.0.trim() != "0" => percent,
            found => {
                let reason =
                    if found.is_some() { "nothing to check" } else { "missing scoreInPercentage" };
                let name = &control.control_name.0;
                about.tell(at, name, Err(reason.to_owned()), records)?;
                continue;
            }
        };
        let outcome = match profile.and_then(|it| it.control_state_updates.0.last()) {
            // Points for what somebody said are not what Microsoft saw.
            Some(it) if CLAIMED.contains(&&*it.state.0) => CheckOutcome::Accepted,
            _ if 100.0 <= percent => CheckOutcome::Pass,
            _ => CheckOutcome::Fail,
        };
        let title = profile.map_or(String::new(), |it| plain::title(&it.title.0));
        let repair = profile.map_or(String::new(), |it| markup::plain(&it.remediation.0));
        let is_high = profile.and_then(|it| it.max_score).is_some_and(|it| HIGH_POINTS <= it);
        let status = markup::plain(&control.implementation_status.0);
        let detail = format!("{percent:.0} % of the points. {}", status.trim());
        let told = Told {
            outcome,
            severity: if is_high { Severity::High } else { Severity::Medium },
            title: &title,
            remediation: &repair,
            detail: detail.trim(),
        };
        about.tell(at, &control.control_name.0, Ok(told), records)?;
    }
    Ok(())
}

/// The newest score. All of them are of one tenant.
fn newest(scores: Vec<Score>) -> Result<Score> {
    let first = scores.first().map(|it| tenant(&it.azure_tenant_id.0));
    if scores.iter().any(|it| Some(tenant(&it.azure_tenant_id.0)) != first) {
        let rule = "the file has the scores of several tenants; import those of each tenant for its client";
        return Err(Error::invalid(rule));
    }
    if 1 < scores.len() && scores.iter().any(|it| time(it).is_none()) {
        let rule = "the file has several scores, and not all of them have a createdDateTime that can be read; import the newest alone";
        return Err(Error::invalid(rule));
    }
    scores.into_iter().max_by_key(time).ok_or_else(|| {
        Error::invalid(
            "the file has no score of a control; export /security/secureScores, not the control profiles alone",
        )
    })
}

fn tenant(id: &str) -> String {
    guid(id).unwrap_or_else(|| id.trim().to_lowercase())
}

fn time(score: &Score) -> Option<Time> {
    moment::of_text(&score.created_date_time.0)
}
