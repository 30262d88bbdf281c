//! How many accounts have all rights.

use super::account::Account;
use super::group::Members;
use crate::clock::Time;
use crate::connect::reading::{Judged, JudgedStatus};
use crate::engine::fact::failing_line;

const N_MIN: usize = 2;
const N_MAX: usize = 4;
const GROUPS: &str = "Domain Admins, Enterprise Admins, Schema Admins or Administrators";

/// ID-07. `None`: some members are not in the lists, so that they cannot be counted.
pub(super) fn few(users: &[Account], members: &Members, at: Time) -> Option<Judged> {
    if !members.unread.is_empty() {
        return None;
    }
    let is_top = |it: &&Account| it.is_enabled(at) && members.accounts.contains_key(&it.id);
    let names: Vec<&str> = users.iter().filter(is_top).map(|it| it.user.as_str()).collect();
    let n = names.len();
    let (status, advice) = if N_MAX < n {
        let advice = "Keep two to four. Take the others out of these groups and delegate the rights that they need.";
        (JudgedStatus::NonCompliant, advice)
    } else if n < N_MIN {
        let advice =
            "Add a second one for emergencies, so that one lockout does not stop the business.";
        (JudgedStatus::NonCompliant, advice)
    } else {
        (JudgedStatus::Compliant, "")
    };
    let count = if n == 1 {
        "1 enabled account is".to_owned()
    } else {
        format!("{n} enabled accounts are")
    };
    let findings = format!(
        "{}\n{count} in {GROUPS}, directly or through other groups. {advice}",
        failing_line(&names, n)
    );
    Some(Judged::whole("ID-07", "domain_administrators", status, findings.trim()))
}

/// What to know of members that are not in the lists.
pub(super) fn unread(members: &Members) -> Option<String> {
    let names: Vec<&str> = members.unread.iter().map(String::as_str).collect();
    let n = names.len();
    (0 < n).then(|| {
        format!(
            "{n} of the members of {GROUPS} cannot be read, so administrators are not counted. They may belong to another domain: {}",
            failing_line(&names, n)
        )
    })
}
