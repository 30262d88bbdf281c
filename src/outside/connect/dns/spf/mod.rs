//! SPF (EML-01): which servers may send mail for a domain, and what receivers do with other mail (RFC 7208).

mod record;
mod walk;

use super::answer::{Halt, RecordKind, Sheet};
use super::domain::Domain;
use super::ruling::{Ruling, quoted};
use crate::connect::reading::JudgedStatus::{self, Compliant, NonCompliant, Partial};
use record::Qualifier;
use walk::{End, N_LOOKUPS_MAX, Stop, Walk};

const TO_PUBLISH: &str = "Publish one TXT record that names the services that send its mail and ends in -all, or \
                          \"v=spf1 -all\" if the domain sends no mail.";
const TO_REPAIR: &str =
    "Receivers then ignore the whole record. Repair it, and keep -all at its end.";
const TO_FAIL: &str = "End it with -all once the DMARC reports show no missing sender.";

pub(super) fn rule(domain: &Domain, sheet: &Sheet) -> Result<Ruling, Halt> {
    let found = records(domain, sheet)?;
    let (status, findings) = match found[..] {
        [] => (NonCompliant, format!("{domain} publishes no SPF record. {TO_PUBLISH}")),
        [one] => match judge(domain, one, sheet) {
            Ok(Some(judged)) => judged,
            Ok(None) => {
                let why = "its redirect has a macro, so that its end depends on the mail";
                return Ok(Ruling::partial(1, format!("the SPF record of {domain}: {why}")));
            }
            Err(Stop::Halt(halt)) => return Err(halt),
            Err(Stop::Broken(why)) => {
                (NonCompliant, format!("{domain} publishes {}: {why}. {TO_REPAIR}", quoted(one)))
            }
        },
        [first, second, ..] => {
            let what = format!("{} SPF records, among them", found.len());
            let both = format!("{} and {}", quoted(first), quoted(second));
            let advice = "Receivers then ignore all of them. Join them into one.";
            (NonCompliant, format!("{domain} publishes {what} {both}. {advice}"))
        }
    };
    Ok(Ruling::judged(found.len(), status, findings))
}

/// Returns true if the record says that the domain sends no mail at all.
pub(super) fn sends_nothing(domain: &Domain, sheet: &Sheet) -> Result<bool, Halt> {
    let found = records(domain, sheet)?;
    let [one] = found[..] else { return Ok(false) };
    Ok(one.trim_end().eq_ignore_ascii_case("v=spf1 -all"))
}

fn records<'a>(domain: &Domain, sheet: &Sheet<'a>) -> Result<Vec<&'a str>, Halt> {
    let records = sheet.look(RecordKind::Txt, domain.as_str())?;
    Ok(records.iter().map(String::as_str).filter(|it| record::is_spf(it)).collect())
}

/// `None` if what the record comes to depends on the mail.
fn judge(
    domain: &Domain,
    text: &str,
    sheet: &Sheet,
) -> Result<Option<(JudgedStatus, String)>, Stop> {
    let mut walk = Walk::new(sheet);
    let end = walk.record(domain.as_str(), text)?;
    let says = format!("{domain} publishes {}", quoted(text));
    if let Some(term) = walk.open {
        let why = format!("\"{term}\" lets anyone send in its name");
        return Ok(Some((NonCompliant, format!("{says}: {why}. Name only its own senders."))));
    }
    let n_lookups = walk.n_lookups;
    let mut cost = format!("It needs {n_lookups} of at most {N_LOOKUPS_MAX} look-ups.");
    if walk.has_macro {
        cost.push_str(" An include with a macro was not followed.");
    }
    let judged = match end {
        End::All(Qualifier::Fail) => (Compliant, format!("{says}, which ends in -all. {cost}")),
        End::All(Qualifier::SoftFail) => {
            let why = "it ends in ~all, so that forged mail is only marked";
            (Partial, format!("{says}: {why}. {TO_FAIL} {cost}"))
        }
        End::All(Qualifier::Neutral) => {
            let why = "it ends in ?all, so that nothing is said of forged mail";
            (NonCompliant, format!("{says}: {why}. {TO_FAIL}"))
        }
        End::All(Qualifier::Pass) => {
            let why = "it ends in +all, so that anyone may send in its name";
            (NonCompliant, format!("{says}: {why}. {TO_FAIL}"))
        }
        End::Open => {
            let why =
                "it ends in neither all nor a redirect, so that nothing is said of forged mail";
            (NonCompliant, format!("{says}: {why}. {TO_FAIL}"))
        }
        End::Unknown => return Ok(None),
    };
    Ok(Some(judged))
}
