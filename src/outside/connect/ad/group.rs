//! The groups with all rights, and who is in them.

use std::collections::{BTreeMap, BTreeSet};

use super::account::{Account, Computer};
use super::message::Entry;
use super::value::{bits, sid, text};

pub(super) const GROUP_ATTRIBUTES: [&str; 4] =
    ["objectSid", "groupType", "sAMAccountName", "member"];
pub(super) const ADMINISTRATORS: &str = "S-1-5-32-544";
pub(super) const RID_DOMAIN_ADMINS: u32 = 512;
/// Only the first domain of a forest has the last two.
pub(super) const RIDS: [u32; 3] = [RID_DOMAIN_ADMINS, 518, 519];
/// Of `groupType`. Members of another kind of group get no rights by it.
const IS_SECURITY: u32 = 0x8000_0000;

/// A group with all rights, or one that is in such a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryGroup {
    pub dn: String,
    pub name: String,
    pub sid: String,
    pub is_security: bool,
    /// The names of the objects that are listed in it.
    pub members: Vec<String>,
}

/// # Errors
/// The attribute that it lacks.
pub(super) fn group(entry: &Entry) -> Result<DirectoryGroup, &'static str> {
    let members = entry.attributes.get("member").into_iter().flatten();
    Ok(DirectoryGroup {
        dn: entry.dn.clone(),
        name: text(entry, "samaccountname").ok_or("sAMAccountName")?,
        sid: sid(entry, "objectsid").ok_or("objectSid")?,
        is_security: bits(entry, "grouptype").ok_or("groupType")? & IS_SECURITY != 0,
        members: members.map(|it| String::from_utf8_lossy(it).into_owned()).collect(),
    })
}

impl DirectoryGroup {
    /// It has all rights on its own.
    pub(super) fn is_top(&self) -> bool {
        self.sid == ADMINISTRATORS || self.rid().is_some_and(|it| RIDS.contains(&it))
    }

    /// `None`: a group that every computer has.
    fn rid(&self) -> Option<u32> {
        let (_, rid) = self.sid.strip_prefix("S-1-5-21-")?.rsplit_once('-')?;
        rid.parse().ok()
    }
}

/// Who is in the groups with all rights, directly or through others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    /// The names of these groups by the id of the account.
    pub(super) accounts: BTreeMap<String, BTreeSet<String>>,
    pub(super) computers: BTreeSet<String>,
    /// Objects that are not in the lists: of other domains, or hidden.
    pub(super) unread: BTreeSet<String>,
}

/// Follows groups of groups, in whatever circle they are.
pub(super) fn members(
    groups: &[DirectoryGroup],
    accounts: &[Account],
    computers: Option<&[Computer]>,
) -> Members {
    let groups_by_name: BTreeMap<String, &DirectoryGroup> =
        groups.iter().map(|it| (it.dn.to_lowercase(), it)).collect();
    let accounts_by_name: BTreeMap<String, &Account> =
        accounts.iter().map(|it| (it.dn.to_lowercase(), it)).collect();
    let computers: BTreeSet<String> =
        computers.unwrap_or_default().iter().map(|it| it.dn.to_lowercase()).collect();
    let mut found = Members::default();
    for top in groups.iter().filter(|it| it.is_top()) {
        let (mut open, mut seen) = (vec![top], BTreeSet::from([&top.dn]));
        let mut add = |account: &Account| {
            let groups = found.accounts.entry(account.id.clone()).or_default();
            groups.insert(top.name.clone());
        };
        while let Some(group) = open.pop() {
            let primary = accounts.iter().filter(|it| Some(it.primary_group_rid) == group.rid());
            primary.for_each(&mut add);
            for name in &group.members {
                let name = name.to_lowercase();
                if let Some(account) = accounts_by_name.get(&name) {
                    add(account);
                } else if let Some(inner) = groups_by_name.get(&name) {
                    if inner.is_security && seen.insert(&inner.dn) {
                        open.push(inner);
                    }
                } else if computers.contains(&name) {
                    found.computers.insert(name);
                } else {
                    found.unread.insert(name);
                }
            }
        }
    }
    found
}
