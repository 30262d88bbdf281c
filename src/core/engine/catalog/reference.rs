//! Checks that are known by what they refer to: the rules of SCAP content, which each publisher names as it likes and maps
//! to controls of NIST.
//!
//! The name of such a check ends with its references: `accounts_tmout [nist-800-171:3.1.11 nist-800-53:AC-12]`.

use std::collections::BTreeSet;

const START: &str = " [";
const END: char = ']';
/// Before the GUID of a control of Microsoft's secure score for Azure, in a reference to it.
pub const AZURE_SCORE: &str = "azure-score:";

/// The name of a rule with its references, none of which has a space.
#[must_use]
pub fn with_references(rule: &str, references: &BTreeSet<String>) -> String {
    if references.is_empty() {
        return rule.to_owned();
    }
    let all: Vec<&str> = references.iter().map(String::as_str).collect();
    format!("{rule}{START}{}{END}", all.join(" "))
}

/// What the name of a check refers to.
pub fn references(check: &str) -> impl Iterator<Item = &str> {
    let listed = check.strip_suffix(END).and_then(|it| it.rsplit_once(START));
    listed.into_iter().flat_map(|(_, all)| all.split(' '))
}
