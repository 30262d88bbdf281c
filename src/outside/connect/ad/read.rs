//! Reads a domain from one of its domain controllers.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::account::{
    ACCOUNT_ATTRIBUTES, Account, COMPUTER_ATTRIBUTES, Computer, RID_ADMINISTRATOR, RID_KRBTGT,
    account, computer,
};
use super::config::{AdConfig, PORT};
use super::directory::{Directory, StreamName};
use super::filter::Filter;
use super::group::{ADMINISTRATORS, GROUP_ATTRIBUTES, RID_DOMAIN_ADMINS, RIDS, group};
use super::message::{Depth, Entry, Search};
use super::policy::{DOMAIN_ATTRIBUTES, SETTINGS_ATTRIBUTES, domain_policy, password_settings};
use super::session::{Found, Session};
use super::value::{raw, sid, sid_bytes, sids};
use crate::connect::reading::StreamState;
use crate::egress::Egress;
use crate::engine::identity::LastSignIn;

/// The ports of the global catalog, which holds every object and lacks most attributes.
const GLOBAL_CATALOG_PORTS: [u16; 2] = [3268, 3269];
/// `sAMAccountType` of the accounts of people and of services that use such accounts.
const USER_ACCOUNT: &str = "805306368";

/// Reads all streams over one connection. `deadline`: of everything together.
///
/// Cannot fail as a whole: what could not be read is in the streams.
pub async fn read(config: &AdConfig, egress: &Egress, deadline: Instant) -> Directory {
    let (mut session, domain) = match open(config, egress, deadline).await {
        Ok(opened) => opened,
        Err(why) => return Directory::unread(&why),
    };
    let mut directory = Directory::new(&domain.base);
    let policy = session.object(&domain.base, &DOMAIN_ATTRIBUTES).await;
    let domain_sid = policy.rows.first().and_then(|it| sid(it, "objectsid"));
    directory.policy = directory
        .take(StreamName::Policy, policy, domain_policy, |_, _| ())
        .and_then(|it| it.into_iter().next());
    let found = session.all(&users_of(&domain.base)).await;
    directory.users = directory.take(StreamName::Users, found, account, doubt_users);
    let found = groups(&mut session, &domain, domain_sid.as_deref()).await;
    directory.groups = directory.take(StreamName::Groups, found, group, |_, _| ());
    let found = session.all(&computers_of(&domain.base)).await;
    directory.computers = directory.take(StreamName::Computers, found, computer, doubt_computers);
    let found = settings(&mut session, &domain, domain_sid.as_deref()).await;
    directory.password_settings =
        directory.take(StreamName::PasswordSettings, found, password_settings, |_, _| ());
    session.end().await;
    directory
}

/// Where in the directory the domain is.
struct Domain {
    base: String,
    /// It is the first of its forest, so that it has the groups of the forest.
    is_root: bool,
    /// The SIDs of all groups that the account is in.
    token: Vec<String>,
}

async fn open(
    config: &AdConfig,
    egress: &Egress,
    deadline: Instant,
) -> Result<(Session, Domain), String> {
    let AdConfig { host, port, user, password, trust } = config;
    // Without either, servers accept anyone, and show nothing.
    if user.is_empty() || password.is_empty() {
        return Err("the user name or the password is missing".to_owned());
    }
    if GLOBAL_CATALOG_PORTS.contains(port) {
        return Err(format!(
            "port {port} is that of the global catalog, which lacks most attributes; use {PORT}"
        ));
    }
    let stream = egress.connect(host, *port, trust, deadline).await;
    let stream = stream.map_err(|error| error.message().to_owned())?;
    let mut session = Session::sign_in(stream, user, password).await?;
    let attributes = ["defaultNamingContext", "rootDomainNamingContext", "tokenGroups"];
    let found = session.object("", &attributes).await;
    if !found.is_complete() {
        return Err(found.reason);
    }
    let base = found.rows.first().and_then(|it| raw(it, "defaultnamingcontext"));
    let root = found.rows.first().and_then(|it| raw(it, "rootdomainnamingcontext"));
    let (Some(base), Some(root)) = (base, root) else {
        return Err("the server is not a domain controller of Active Directory".to_owned());
    };
    let is_root = base.eq_ignore_ascii_case(&root);
    let token = found.rows.first().map(|it| sids(it, "tokengroups")).unwrap_or_default();
    Ok((session, Domain { base, is_root, token }))
}

fn users_of(base: &str) -> Search<'_> {
    let filter = Filter::Any(vec![
        Filter::equal("sAMAccountType", USER_ACCOUNT),
        Filter::equal("objectClass", "msDS-ManagedServiceAccount"),
        Filter::equal("objectClass", "msDS-GroupManagedServiceAccount"),
    ]);
    Search { base, depth: Depth::Subtree, filter, attributes: &ACCOUNT_ATTRIBUTES }
}

fn computers_of(base: &str) -> Search<'_> {
    let filter = Filter::equal("objectCategory", "computer");
    Search { base, depth: Depth::Subtree, filter, attributes: &COMPUTER_ATTRIBUTES }
}

/// A list that lacks what every domain has, or a field that every domain fills, is not all that there is.
fn doubt_users(found: &mut Found, users: &[Account]) {
    let has = |rid| users.iter().any(|it| it.rid == rid);
    if !has(RID_ADMINISTRATOR) || !has(RID_KRBTGT) {
        found.less(
            "the built-in accounts Administrator and krbtgt are not visible, so others may be hidden, too; \
             let the account read the whole domain"
                .to_owned(),
        );
    }
    let n = users.len();
    let absent =
        |name| format!("the account may not read {name}: it is absent from all {n} accounts");
    if users.iter().all(|it| it.last_sign_in == LastSignIn::Unknown) {
        found.less(absent("lastLogonTimestamp and lastLogon"));
    }
    if users.iter().all(|it| it.password_set_at.is_none()) {
        found.less(absent("pwdLastSet"));
    }
    // krbtgt has one in every domain.
    if !users.iter().any(|it| it.is_service) {
        found.less(absent("servicePrincipalName"));
    }
}

fn doubt_computers(found: &mut Found, computers: &[Computer]) {
    if !computers.iter().any(|it| it.flags.is_domain_controller()) {
        found.less(
            "no domain controller is visible, so other computers may be hidden, too; let the account read the whole domain"
                .to_owned(),
        );
    }
    let n = computers.len();
    if computers.iter().all(|it| it.last_seen == LastSignIn::Unknown) {
        let why = "the account may not read lastLogonTimestamp and lastLogon";
        found.less(format!("{why}: they are absent from all {n} computers"));
    }
    if computers.iter().all(|it| it.os.is_none()) {
        let why = "the account may not read operatingSystem";
        found.less(format!("{why}: it is absent from all {n} computers"));
    }
}

/// The groups with all rights, and all groups in these.
async fn groups(session: &mut Session, domain: &Domain, domain_sid: Option<&str>) -> Found {
    let base = domain.base.as_str();
    let rids = if domain.is_root { &RIDS[..] } else { &[RID_DOMAIN_ADMINS] };
    let of_domain =
        domain_sid.into_iter().flat_map(|it| rids.iter().map(move |rid| format!("{it}-{rid}")));
    let wanted: Vec<String> = of_domain.chain([ADMINISTRATORS.to_owned()]).collect();
    let equal = |it: &String| sid_bytes(it).map(|it| Filter::Equal("objectSid", it));
    let filter = Filter::Any(wanted.iter().filter_map(equal).collect());
    let attributes = &GROUP_ATTRIBUTES;
    let mut found = session.all(&Search { base, depth: Depth::Subtree, filter, attributes }).await;
    if domain_sid.is_none() {
        found.less("the account may not read the SID of the domain".to_owned());
    }
    if found.rows.len() < wanted.len() {
        found.less("some of the built-in administrator groups are not visible".to_owned());
    }
    let mut all: BTreeMap<String, Entry> = BTreeMap::new();
    for top in std::mem::take(&mut found.rows) {
        let filter = Filter::All(vec![
            Filter::equal("objectCategory", "group"),
            Filter::Chain("memberOf", top.dn.clone()),
        ]);
        let inner = session.all(&Search { base, depth: Depth::Subtree, filter, attributes }).await;
        if !inner.is_complete() {
            found.less_as(inner.state, inner.reason);
        }
        all.extend([top].into_iter().chain(inner.rows).map(|it| (it.dn.to_lowercase(), it)));
    }
    for mut it in all.into_values() {
        if let Err(why) = session.complete(&mut it, "member").await {
            found.less(why);
        }
        found.rows.push(it);
    }
    // Administrators always holds at least the account with this name.
    if !found.rows.iter().any(|it| it.attributes.get("member").is_some_and(|it| !it.is_empty())) {
        found.less("the account may not read the members of the administrator groups".to_owned());
    }
    found
}

/// Policies for some accounts. By default only Domain Admins see them, and others see none instead of an error, so that none
/// counts as none only for them.
async fn settings(session: &mut Session, domain: &Domain, domain_sid: Option<&str>) -> Found {
    let base = format!("CN=Password Settings Container,CN=System,{}", domain.base);
    let filter = Filter::equal("objectClass", "msDS-PasswordSettings");
    let attributes = &SETTINGS_ATTRIBUTES;
    let mut found =
        session.all(&Search { base: &base, depth: Depth::Subtree, filter, attributes }).await;
    let admins = domain_sid.map(|it| format!("{it}-{RID_DOMAIN_ADMINS}"));
    let is_admin = admins.is_some_and(|it| domain.token.contains(&it));
    if found.is_hidden || found.is_complete() && found.rows.is_empty() && !is_admin {
        found.state = StreamState::Denied;
        found.reason = format!(
            "no fine-grained password policy is visible, and the account cannot tell whether there are any; \
             let it read all objects in {base}"
        );
    }
    found
}
