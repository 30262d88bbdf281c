//! DKIM (EML-02): the keys with which a domain's mail is signed.
//!
//! A key has a selector, and the DNS does not list them: only those that services commonly use can be asked for. So a key that
//! is found proves signing, and no key proves nothing, except where the MX records show a suite whose selectors are known.

mod key;

use super::answer::{Halt, RecordKind, Sheet};
use super::domain::Domain;
use super::mail::{Mail, Suite};
use super::ruling::Ruling;
use super::spf;
use crate::connect::reading::JudgedStatus::{
    self, Compliant, NonCompliant, NotApplicable, Partial,
};
use key::{Key, N_BITS_GOOD, N_BITS_MIN};

/// Those of common services and of guides: Microsoft 365, Google, Mailchimp, Twilio, Mandrill, Proton, Zoho, Fastmail, iCloud,
/// Mailjet, Klaviyo, Campaign Monitor, and what administrators choose.
const SELECTORS: &[&str] = &[
    "selector1",
    "selector2",
    "google",
    "default",
    "dkim",
    "dkim1",
    "dkim2",
    "mail",
    "email",
    "smtp",
    "k1",
    "k2",
    "k3",
    "s1",
    "s2",
    "key1",
    "key2",
    "mandrill",
    "mxvault",
    "protonmail",
    "protonmail2",
    "protonmail3",
    "zoho",
    "zmail",
    "fm1",
    "fm2",
    "fm3",
    "sig1",
    "mailjet",
    "kl",
    "kl2",
    "litesrv",
    "cm",
    "everlytickey1",
    "everlytickey2",
    "s1024",
    "s2048",
    "mta",
];

/// A selector and the best of its keys.
type Found = (&'static str, Key);

pub(super) fn rule(domain: &Domain, sheet: &Sheet) -> Result<Ruling, Halt> {
    let mail = Mail::read(domain, sheet)?;
    let sends_nothing = spf::sends_nothing(domain, sheet)?;
    let nothing = |n_rows: usize, how: &str| {
        let findings = format!(
            "{domain} {how} and sends none (\"v=spf1 -all\"), so that there is nothing to sign."
        );
        Ok(Ruling::judged(n_rows, NotApplicable, findings))
    };
    if sends_nothing && mail.is_null {
        return nothing(0, "takes no mail (null MX)");
    }
    if sends_nothing && mail.names_no_server() {
        return nothing(0, "names no mail server (no MX)");
    }
    let suite = mail.signing_suite();
    let Keys { found, unread } = keys(domain, suite, sheet)?;
    let is_withdrawn = |it: &Found| it.1 == Key::Withdrawn;
    if sends_nothing && found.len() == SELECTORS.len() && found.iter().all(is_withdrawn) {
        return nothing(found.len(), "has withdrawn the keys of all selectors");
    }
    let n_all = SELECTORS.len();
    let unread =
        unread.map(|it| format!("{} of {n_all} common selectors were not read: {}", it.0, it.1));
    let n = found.len();
    let judged = judge(domain, &found, suite);
    let Some(unread) = unread else {
        return Ok(if let Some((status, findings)) = judged {
            Ruling::judged(n, status, findings)
        } else {
            let why = format!("{domain} may sign with another, which the DNS does not list");
            let text = format!("no key under {n_all} common selectors; {why}");
            Ruling::noted(n, "dkim", text)
        });
    };
    let is_signed = !signing(&found, suite).is_empty();
    let mut ruling = match judged.and_then(|it| doubted(it, is_signed)) {
        Some((status, findings)) => Ruling::judged(n, status, format!("{findings} {unread}.")),
        None => Ruling::partial(n, unread.clone()),
    };
    ruling.notes.push(("dkim_unread", unread));
    Ok(ruling)
}

/// What a verdict comes to while selectors were not read: one of them may have a key with which others can sign.
fn doubted(
    (status, findings): (JudgedStatus, String),
    is_signed: bool,
) -> Option<(JudgedStatus, String)> {
    match status {
        NonCompliant => Some((status, findings)),
        Compliant | Partial | NotApplicable => is_signed.then_some((Partial, findings)),
    }
}

struct Keys {
    found: Vec<Found>,
    /// How many selectors were not read, and why the first was not.
    unread: Option<(usize, String)>,
}

/// A selector that is only a guess may be delegated to a server that is gone, which keeps the rest from being fully met. Those
/// of the suite must be read, and so must at least one.
fn keys(domain: &Domain, suite: Option<&Suite>, sheet: &Sheet) -> Result<Keys, Halt> {
    let at = |selector: &str| format!("{selector}._domainkey.{domain}");
    for selector in SELECTORS {
        sheet.find(RecordKind::Txt, &at(selector));
    }
    let mut keys = Keys { found: Vec::new(), unread: None };
    for selector in SELECTORS {
        let is_guess = suite.is_none_or(|it| !it.selectors.contains(selector));
        match sheet.look(RecordKind::Txt, &at(selector)) {
            Ok(records) => {
                let best = records.iter().filter_map(|it| key::parse(it)).min();
                keys.found.extend(best.map(|it| (*selector, it)));
            }
            Err(Halt::Failed(why)) if is_guess => {
                keys.unread.get_or_insert((0, why)).0 += 1;
            }
            Err(halt) => return Err(halt),
        }
    }
    match keys.unread {
        Some((n, why)) if n == SELECTORS.len() => Err(Halt::Failed(why)),
        _ => Ok(keys),
    }
}

/// `None` if what was found proves nothing.
fn judge(
    domain: &Domain,
    found: &[Found],
    suite: Option<&Suite>,
) -> Option<(JudgedStatus, String)> {
    let usable: Vec<&Found> = usable(found).collect();
    let signing = signing(found, suite);
    let best = signing.iter().map(|it| &it.1).min();
    if let Some((selector, Key::Short { n_bits })) = found.iter().find(|it| is_short(&it.1)) {
        let what = format!("{selector}._domainkey.{domain} is an RSA key of {n_bits} bits");
        let why = format!("receivers refuse fewer than {N_BITS_MIN}, and others can sign with it");
        let status = if best.is_some() { Partial } else { NonCompliant };
        return Some((
            status,
            format!("{what}: {why}. Replace it by a key of {N_BITS_GOOD} bits."),
        ));
    }
    match (best, suite) {
        (Some(Key::Weak { n_bits }), _) => {
            let what =
                format!("{domain} has DKIM keys of at most {n_bits} bits ({})", list(&signing));
            let why = format!("Replace them by keys of {N_BITS_GOOD} bits.");
            Some((Partial, format!("{what}. {why}")))
        }
        (Some(_), _) => {
            let what = format!("{domain} publishes valid DKIM keys under {}", list(&signing));
            Some((Compliant, format!("{what}.")))
        }
        (None, Some(suite)) => Some(unsigned(domain, suite, found, &usable)),
        (None, None) => {
            let test = found.iter().find(|it| it.1 == Key::Test)?;
            let what = format!("{}._domainkey.{domain} is a key in test mode (t=y)", test.0);
            let why = "receivers treat its mail as unsigned";
            Some((Partial, format!("{what}: {why}. Remove t=y from the record.")))
        }
    }
}

fn usable(found: &[Found]) -> impl Iterator<Item = &Found> {
    found.iter().filter(|it| matches!(it.1, Key::Good | Key::Weak { .. }))
}

/// Those with which the mail is signed: of a suite, its own.
fn signing<'a>(found: &'a [Found], suite: Option<&Suite>) -> Vec<&'a Found> {
    let is_of_suite = |it: &&Found| suite.is_none_or(|suite| suite.selectors.contains(&it.0));
    usable(found).filter(is_of_suite).collect()
}

/// The suite that takes all mail signs none of it.
fn unsigned(
    domain: &Domain,
    suite: &Suite,
    found: &[Found],
    usable: &[&Found],
) -> (JudgedStatus, String) {
    let name = suite.name;
    let selectors = suite.selectors.join(" and ");
    let of_suite = found.iter().filter(|it| suite.selectors.contains(&it.0));
    let own = of_suite.min_by_key(|it| &it.1);
    let state = match own {
        None => "there is no key".to_owned(),
        Some((selector, Key::Withdrawn)) => format!("the key of {selector} is withdrawn"),
        Some((selector, Key::Unusable(why))) => format!("{selector} cannot be used: {why}"),
        Some((selector, Key::Test)) => {
            let why = format!("the key of {selector} is in test mode (t=y)");
            return (
                Partial,
                format!("The mail of {domain} is with {name}, and {why}. Remove t=y."),
            );
        }
        Some((selector, Key::Good | Key::Weak { .. } | Key::Short { .. })) => {
            unreachable!("{selector} is judged before")
        }
    };
    let says = format!(
        "The MX records of {domain} lead to {name}, which signs with {selectors}, and {state}"
    );
    if usable.is_empty() {
        return (NonCompliant, format!("{says}. {}", suite.advice));
    }
    let others = format!("Only mail of other services is signed ({})", list(usable));
    (Partial, format!("{says}. {others}. {}", suite.advice))
}

fn is_short(key: &Key) -> bool {
    matches!(key, Key::Short { .. })
}

fn list(found: &[&Found]) -> String {
    let names: Vec<&str> = found.iter().map(|it| it.0).collect();
    names.join(", ")
}
