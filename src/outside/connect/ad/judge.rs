//! All rules on one domain: from what was read to groups of facts.

use super::account::{Account, AccountKind};
use super::directory::{Directory, StreamName};
use super::group::{self, Members};
use super::{admin, device, password, weakness};
use crate::clock::Time;
use crate::connect::reading::{Group, Judged, Stream, StreamState};
use crate::engine::identity::{Identity, LastSignIn, UserType};

/// Judges a domain as it was at this moment: accounts and administrators, computers, policies.
///
/// A rule of which a list was not read completely says nothing, and other rules about its control say only what fails.
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
    let mut computers_group = facts(directory, COMPUTERS, &[], of_computers(directory, at));
    let assets = computers.as_deref().map(|it| device::assets(it, at, COMPUTERS.0));
    computers_group.assets = assets;
    let (mut policies, mut passwords) = (Vec::new(), Vec::new());
    if let Some(policy) = policy {
        // The policies for some accounts are read by administrators alone, so that what the domain's says stands apart.
        match password_settings.as_deref() {
            None => policies.extend(password::of(policy, None)),
            settings @ Some(_) => passwords.extend(password::of(policy, settings)),
        }
        policies.extend(weakness::of_policy(policy));
    }
    // Without the computers, members that are computers look like hidden ones.
    let mut directory_group = facts(directory, DIRECTORY, &[StreamName::Computers], accounts);
    directory_group.accounts =
        users.as_deref().zip(members.as_ref()).map(|(users, of)| identities(users, of, at));
    if !directory.domain.is_empty() {
        directory_group.notes.push(("domain".to_owned(), directory.domain.clone()));
    }
    if let Some(note) = members.as_ref().and_then(admin::unread) {
        directory_group.notes.push(("administrators".to_owned(), note));
    }
    let mut all = vec![
        directory_group,
        computers_group,
        facts(directory, POLICY, &[], policies),
        facts(directory, PASSWORD_SETTINGS, &[StreamName::Policy], passwords),
    ];
    let is_unread = |streams: &[StreamName]| streams.iter().any(|it| !directory.has(*it));
    let unread = JOINED.iter().filter(|it| is_unread(it.1)).map(|it| it.0).collect();
    for group in &mut all {
        group.show_only_gaps(&unread);
    }
    all
}

/// The controls with checks of several streams, and all streams of each.
const JOINED: [(&str, &[StreamName]); 2] = [
    ("ID-15", &[StreamName::Users, StreamName::Policy, StreamName::PasswordSettings]),
    ("ID-35", &[StreamName::Users, StreamName::Groups, StreamName::Computers, StreamName::Policy]),
];

/// The parts of a domain that are read on their own, and their streams.
type Part = (&'static str, &'static [StreamName]);

const DIRECTORY: Part = ("directory", &[StreamName::Users, StreamName::Groups]);
const COMPUTERS: Part = ("computers", &[StreamName::Computers]);
const POLICY: Part = ("policy", &[StreamName::Policy]);
const PASSWORD_SETTINGS: Part = ("password_settings", &[StreamName::PasswordSettings]);

fn of_computers(directory: &Directory, at: Time) -> Vec<Judged> {
    let Some(computers) = &directory.computers else { return Vec::new() };
    weakness::of_computers(computers).into_iter().chain(device::judge(computers, at)).collect()
}

/// `also`: streams of other parts that its rules need.
fn facts(
    directory: &Directory,
    (scope, own): Part,
    also: &[StreamName],
    observations: Vec<Judged>,
) -> Group {
    let of = |names: &[StreamName]| -> Vec<Stream> {
        let is_of = |it: &&Stream| names.iter().any(|name| name.as_str() == it.name);
        directory.streams.iter().filter(is_of).cloned().collect()
    };
    let (streams, others) = (of(own), of(also));
    let is_whole = streams.iter().chain(&others).all(|it| it.state == StreamState::Complete);
    Group { scope: scope.to_owned(), is_whole, streams, observations, ..Group::default() }
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
            // A domain says nothing about people of other organizations.
            user_type: UserType::Unknown,
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
            listed_at: None,
            mfa_known_at: None,
        }
    };
    of_people.map(identity).collect()
}
