//! Records that are shown and decide no control: MTA-STS, TLS reports, CAA and DNSSEC.
//!
//! The policy file of MTA-STS, which is fetched over HTTPS, is not read. DNSSEC is told by the records that sign the domain:
//! whether a resolver has validated them is not asked.

use super::answer::{Halt, RecordKind, Sheet};
use super::domain::{Domain, above};
use super::ruling::Ruling;
use super::tag;
use crate::text::line;

const NOTE_CHARS_MAX: usize = 300;

pub(super) fn mta_sts(domain: &Domain, sheet: &Sheet) -> Result<Ruling, Halt> {
    let records = with_version(sheet, &format!("_mta-sts.{domain}"), "STSv1")?;
    let text = match records[..] {
        [] => "not published".to_owned(),
        [one] => match tag::tags(one).and_then(|it| tag::value(&it, "id").map(str::to_owned)) {
            Some(id) => format!("published with id {}; the policy file is not read", line(&id, 40)),
            None => "published without an id, so that senders ignore it".to_owned(),
        },
        _ => "published more than once, so that senders ignore it".to_owned(),
    };
    Ok(Ruling::noted(records.len(), "mta_sts", text))
}

pub(super) fn tls_rpt(domain: &Domain, sheet: &Sheet) -> Result<Ruling, Halt> {
    let records = with_version(sheet, &format!("_smtp._tls.{domain}"), "TLSRPTv1")?;
    let text = match records[..] {
        [] => "not published".to_owned(),
        [one] => line(one, NOTE_CHARS_MAX),
        _ => "published more than once, so that senders ignore it".to_owned(),
    };
    Ok(Ruling::noted(records.len(), "tls_rpt", text))
}

/// The records of the nearest name that has any hold for a domain (RFC 8659).
pub(super) fn caa(domain: &Domain, sheet: &Sheet) -> Result<Ruling, Halt> {
    let names = std::iter::once(domain.as_str()).chain(above(domain.as_str()));
    for name in names.filter(|it| it.contains('.')) {
        let records = sheet.look(RecordKind::Caa, name)?;
        if !records.is_empty() {
            let text = format!("{name}: {}", records.join(", "));
            return Ok(Ruling::noted(records.len(), "caa", line(&text, NOTE_CHARS_MAX)));
        }
    }
    let text = "none: every authority may issue certificates".to_owned();
    Ok(Ruling::noted(0, "caa", text))
}

pub(super) fn dnssec(domain: &Domain, sheet: &Sheet) -> Result<Ruling, Halt> {
    let name = domain.as_str();
    let (ds, keys) = (sheet.look(RecordKind::Ds, name), sheet.look(RecordKind::Dnskey, name));
    let (ds, keys) = (ds?, keys?);
    let text = match (ds.is_empty(), keys.is_empty()) {
        (true, true) => "not signed at this name",
        (true, false) => "signed, but the parent has no DS record, so that no one can tell",
        (false, true) => "broken: the parent has a DS record, and the domain has no keys",
        (false, false) => "signed",
    };
    Ok(Ruling::noted(ds.len() + keys.len(), "dnssec", text.to_owned()))
}

fn with_version<'a>(sheet: &Sheet<'a>, name: &str, version: &str) -> Result<Vec<&'a str>, Halt> {
    let records = sheet.look(RecordKind::Txt, name)?;
    Ok(records.iter().map(String::as_str).filter(|it| tag::has_version(it, version)).collect())
}
