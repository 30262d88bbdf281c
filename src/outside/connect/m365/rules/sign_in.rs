//! Policies about sign-ins: legacy protocols (ID-06), device codes and transfer (ID-39), risk (ID-17), and policies that only
//! report (ID-16).

use super::conditional_access::{Demand, Standing, name, standing};
use super::{license, mfa};
use crate::clock::Time;
use crate::connect::m365::tenant::{Moment, Policy, Tenant};
use crate::connect::reading::JudgedStatus::{
    self, Compliant, NonCompliant, NotApplicable, Partial,
};
use crate::connect::reading::{Judged, Member, Sight};

/// Longer than this, a policy is not being tried.
const REPORT_ONLY_DAYS_MAX: i64 = 30;

/// ID-06, where security defaults are on.
pub(super) fn legacy_by_defaults(tenant: &Tenant, _: Time) -> Option<Judged> {
    let findings = "Security defaults are on: they block sign-ins by legacy protocols.";
    mfa::are_defaults_on(tenant)?
        .then(|| Judged::whole("ID-06", "security_defaults", Compliant, findings))
}

/// ID-06, where security defaults are off.
pub(super) fn legacy_by_policy(tenant: &Tenant, _: Time) -> Option<Judged> {
    if mfa::are_defaults_on(tenant)? {
        return None;
    }
    let (status, findings) = match standing(tenant, &[Demand::LegacyBlocked])? {
        Standing::Full(it) => {
            let left_out = mfa::left_out(tenant, &it.excluded);
            let says = "blocks legacy authentication for every account";
            (Compliant, format!("The policy \"{}\" {says}.{left_out}", it.name()))
        }
        Standing::Partly(it) => {
            let says = "blocks legacy authentication for all users and applications, but";
            let advice = "Close the gap.";
            (Partial, format!("The policy \"{}\" {says} {}. {advice}", it.name(), it.gaps()))
        }
        Standing::Unknown => return None,
        Standing::No => {
            let findings = "No enforced policy blocks legacy authentication. Add one for all users and all applications that blocks the \
                            client app types Exchange ActiveSync and other clients.";
            (NonCompliant, findings.to_owned())
        }
    };
    Some(Judged::whole("ID-06", "conditional_access", status, findings))
}

/// One of two things that a control asks for.
fn half(standing: &Standing) -> Option<JudgedStatus> {
    match standing {
        Standing::Full(_) => Some(Compliant),
        Standing::Partly(_) => Some(Partial),
        Standing::No => Some(NonCompliant),
        Standing::Unknown => None,
    }
}

/// Tells what a policy does, or that none does it, as a sentence.
fn sentence(standing: &Standing, what: &str) -> String {
    match standing {
        Standing::Full(it) => format!("The policy \"{}\" {what}.", it.name()),
        Standing::Partly(it) => {
            format!("The policy \"{}\" {what}, but {}.", it.name(), it.gaps())
        }
        Standing::No | Standing::Unknown => format!("No enforced policy {what}."),
    }
}

fn both(first: JudgedStatus, second: JudgedStatus) -> JudgedStatus {
    if first == second { first } else { Partial }
}

/// ID-17. Without Entra ID P2 nothing is rated, and nothing is said.
pub(super) fn risk(tenant: &Tenant, _: Time) -> Option<Judged> {
    if !license::has_p2(tenant)? {
        return None;
    }
    let users = standing(tenant, &[Demand::RiskyUsersBlocked, Demand::RiskyUsersChangePassword])?;
    let sign_ins = standing(tenant, &[Demand::RiskySignInsBlocked])?;
    let with_mfa = standing(tenant, &[Demand::RiskySignInsNeedMfa])?;
    let (sign_ins, of_sign_ins, what) = match half(&sign_ins)? {
        NonCompliant => {
            let of_mfa = half(&with_mfa)?;
            let of_mfa = if of_mfa == NonCompliant { NonCompliant } else { Partial };
            (with_mfa, of_mfa, "asks for no more than a second factor at sign-ins at high risk")
        }
        status @ (Compliant | Partial | NotApplicable) => {
            (sign_ins, status, "blocks sign-ins at high risk")
        }
    };
    let what = if of_sign_ins == NonCompliant { "blocks sign-ins at high risk" } else { what };
    let of_users = half(&users)?;
    let mut findings = format!(
        "{} {}",
        sentence(&users, "blocks users at high risk or has them change their password"),
        sentence(&sign_ins, what)
    );
    let status = both(of_users, of_sign_ins);
    if status != Compliant {
        findings.push_str(
            " Add policies for all users and all applications: for high user risk that requires a password change, and for high \
             sign-in risk that blocks.",
        );
    }
    Some(Judged::whole("ID-17", "risk_policies", status, findings))
}

/// ID-39. Whether tokens are bound to devices cannot be read, so it is partly met at most.
pub(super) fn token_theft(tenant: &Tenant, _: Time) -> Option<Judged> {
    let codes = standing(tenant, &[Demand::DeviceCodeBlocked])?;
    let transfer = standing(tenant, &[Demand::TransferBlocked])?;
    let status = both(half(&codes)?, half(&transfer)?);
    let findings = format!(
        "{} {} Whether sign-ins are bound to devices was not read: require token protection.",
        sentence(&codes, "blocks device code sign-in"),
        sentence(&transfer, "blocks the transfer of sign-ins")
    );
    Some(if status == Compliant {
        Judged::part("ID-39", "authentication_flows", Sight::Facets, findings)
    } else {
        Judged::whole("ID-39", "authentication_flows", status, findings)
    })
}

/// ID-16.
pub(super) fn report_only(tenant: &Tenant, at: Time) -> Option<Judged> {
    let all = tenant.policies.as_deref()?;
    let policies: Vec<&Policy> =
        all.iter().filter(|it| it.state.as_deref() != Some("disabled")).collect();
    if policies.is_empty() {
        let findings = "There is no Conditional Access policy that is on or only reports.";
        return Some(Judged::whole("ID-16", "report_only", NotApplicable, findings));
    }
    let members = policies.into_iter().map(|it| {
        let passes = match it.state.as_deref() {
            Some("enabled") => Some(true),
            Some("enabledForReportingButNotEnforced") => {
                let dates = [&it.modified_date_time, &it.created_date_time];
                let since = dates.into_iter().find_map(|it| Moment::time(it.as_deref()));
                since.map(|it| at < it.plus_days(REPORT_ONLY_DAYS_MAX))
            }
            _ => None,
        };
        Member { id: it.id.as_deref().unwrap_or_default(), name: name(it), passes }
    });
    let what = "They have only reported for more than 30 days, and stop no one. Turn each of them on, or delete it.";
    Judged::population("ID-16", "report_only", members, what)
}
