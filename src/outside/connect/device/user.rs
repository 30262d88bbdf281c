//! The people who can sign in to a tool that manages clients (ID-21).

use crate::connect::reading::{Judged, Member};

/// An account of the MSP in one of its tools. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUser {
    pub id: String,
    pub name: String,
    pub enabled: Option<bool>,
    /// It signs in elsewhere, where the tool does not see whether MFA is required.
    pub is_external: Option<bool>,
    pub mfa: Option<bool>,
}

/// Judges all accounts of the MSP in a tool. It holds for every client that the tool manages.
///
/// `tool`: its name for people. `None`: nothing is known that decides.
#[must_use]
pub fn judge_users(users: &[ToolUser], tool: &str) -> Option<Judged> {
    let members = users.iter().filter(|it| it.enabled != Some(false));
    let members = members.map(|it| Member { id: &it.id, name: &it.name, passes: passes(it) });
    let what = format!(
        "These people can sign in to {tool} without MFA. Require MFA of every technician, and disable accounts that no \
         one uses."
    );
    Judged::population("ID-21", "technicians", members, &what)
}

fn passes(user: &ToolUser) -> Option<bool> {
    let is_certain = user.enabled == Some(true) && user.is_external == Some(false);
    user.mfa.filter(|has| *has || is_certain)
}
