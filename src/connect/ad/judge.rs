//! All rules on one domain: from what was read to groups of facts.

use super::account::{Account, AccountKind};
use super::directory::{Directory, StreamName};
use super::group::{self, Members};
use super::{admin, password, weakness};
use crate::clock::Time;
use crate::connect::reading::{Group, Judged, Stream};
use crate::engine::identity::{Identity, LastSignIn};

/// Judges a domain as it was at this moment: accounts and administrators, computers, policies.
///
/// A rule of which a list was not read completely says nothing.
#[must_use]
pub fn judge(directory: &Directory, at: Time) -> Vec<Group> {
    let Directory { users, groups, computers, policy, password_settings, .. } = directory;
    let members = users.as_deref().zip(groups.as_deref());
    let members =
        members.map(|(users, groups)| group::members(groups, users, computers.as_deref()));
    let mut accounts = Vec::new();
    if let Some(users) = users {
        accounts.extend(weakness::of_accounts(users, at));
        if let Some(members) = &members {
            accounts.extend(admin::few(users, members, at));
            accounts.extend(weakness::of_administrators(users, members, at));
        }
    }
    let of_computers = computers.iter().filter_map(|it| weakness::of_computers(it));
    let mut policies = Vec::new();
    if let Some(policy) = policy {
        policies.extend(password::of(policy, password_settings.as_deref()));
        policies.extend(weakness::of_policy(policy));
    }
    let names = [StreamName::Users, StreamName::Groups];
    let mut directory_group = facts(directory, "directory", &names, accounts);
    directory_group.accounts =
        users.as_deref().zip(members.as_ref()).map(|(users, of)| identities(users, of, at));
    if !directory.domain.is_empty() {
        directory_group.notes.push(("domain".to_owned(), directory.domain.clone()));
    }
    if let Some(note) = members.as_ref().and_then(admin::unread) {
        directory_group.notes.push(("administrators".to_owned(), note));
    }
    vec![
        directory_group,
        facts(directory, "computers", &[StreamName::Computers], of_computers.collect()),
        facts(directory, "policy", &[StreamName::Policy, StreamName::PasswordSettings], policies),
    ]
}

fn facts(
    directory: &Directory,
    scope: &str,
    streams: &[StreamName],
    observations: Vec<Judged>,
) -> Group {
    let is_of = |it: &&Stream| streams.iter().any(|name| name.as_str() == it.name);
    let streams = directory.streams.iter().filter(is_of).cloned().collect();
    Group { scope: scope.to_owned(), streams, observations, ..Group::default() }
}

/// The accounts of people, and of services that use such accounts. Active Directory knows no second factor.
fn identities(users: &[Account], members: &Members, at: Time) -> Vec<Identity> {
    let of_people = users.iter().filter(|it| it.kind == AccountKind::User);
    let identity = |it: &Account| {
        let roles: Vec<String> =
            members.accounts.get(&it.id).into_iter().flatten().cloned().collect();
        Identity {
            external_id: it.id.clone(),
            user: it.user.clone(),
            display_name: it.display_name.clone(),
            is_guest: false,
            is_admin: !roles.is_empty(),
            roles,
            mfa: None,
            mfa_enforced: None,
            is_enabled: it.is_enabled(at),
            created_at: it.created_at,
            last_sign_in: match it.last_sign_in {
                LastSignIn::At(time) => LastSignIn::At(time.min(at)),
                other @ (LastSignIn::Never | LastSignIn::Unknown) => other,
            },
        }
    };
    of_people.map(identity).collect()
}
