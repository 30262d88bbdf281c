//! The references of rules, as the catalog knows them: `nist-800-53:AC-2(3)` and `nist-800-171:3.1.8`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Which control of NIST SP 800-53 each item of the Control Correlation Identifier list of DISA is a part of.
const CCI_CSV: &str = include_str!("../../../../assets/catalog/cci_nist_800_53.csv");

static BY_CCI: LazyLock<HashMap<u32, &str>> = LazyLock::new(|| {
    let rows = CCI_CSV.lines().skip(1).filter_map(|it| it.split_once(','));
    rows.filter_map(|(cci, control)| Some((number(cci)?, control.trim_matches('"')))).collect()
});

/// Of an identifier such as `CCI-000044`. `None`: it is none, or of no control.
pub(in crate::import) fn of_cci(text: &str) -> Option<String> {
    of_nist_800_53(BY_CCI.get(&number(text)?)?)
}

fn number(cci: &str) -> Option<u32> {
    cci.trim().strip_prefix("CCI-")?.parse().ok()
}

/// Of a part of a control such as `AC-7(a)`, `AC-7 a`, `AC-2(7)(b)`, `AC-6 (1)` or `AU-12.1(iv)`: its family, its number, and
/// the number of an enhancement if one comes next.
pub(in crate::import) fn of_nist_800_53(text: &str) -> Option<String> {
    let text = text.trim();
    let (family, rest) = text.split_at_checked(2)?;
    let rest = rest.strip_prefix('-')?;
    let (number, rest) = digits(rest)?;
    if !family.bytes().all(|it| it.is_ascii_uppercase()) {
        return None;
    }
    let enhancement = rest.trim_start().strip_prefix('(').and_then(digits);
    let enhancement = enhancement.filter(|it| it.1.starts_with(')')).map(|it| it.0);
    Some(match enhancement {
        Some(it) => format!("nist-800-53:{family}-{number}({it})"),
        None => format!("nist-800-53:{family}-{number}"),
    })
}

/// Of a part of a control as OSCAL names it, such as `ac-6.1_obj` (of AC-6(1)), `ac-1.a.1_obj.2` or `au-1_smt.a`.
pub(super) fn of_oscal(target: &str) -> Option<String> {
    let control = target.trim().split('_').next()?.to_ascii_uppercase();
    let mut parts = control.split('.');
    let (base, enhancement) = (parts.next()?, parts.next().and_then(digits));
    match enhancement.filter(|it| it.1.is_empty()) {
        Some((number, _)) => of_nist_800_53(&format!("{base}({number})")),
        None => of_nist_800_53(base),
    }
}

/// Of a requirement such as `3.1.8`.
pub(in crate::import) fn of_nist_800_171(text: &str) -> Option<String> {
    let text = text.trim();
    let mut parts = text.split('.');
    let (chapter, family, number) = (parts.next()?, parts.next()?, parts.next()?);
    let is_number = |it: &str| digits(it).is_some_and(|it| it.1.is_empty());
    let is_requirement =
        chapter == "3" && is_number(family) && is_number(number) && parts.next().is_none();
    is_requirement.then(|| format!("nist-800-171:{text}"))
}

/// The one to three digits, without leading zeros, that a text begins with, and the rest of it.
fn digits(text: &str) -> Option<(&str, &str)> {
    let n = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(n);
    let digits = digits.trim_start_matches('0');
    (1..=3).contains(&digits.len()).then_some((digits, rest))
}
