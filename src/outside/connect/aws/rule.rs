//! Rules on an AWS account.

use super::account::{
    AccessKey, Account, Bucket, Database, IngressRule, LastUse, Region, Trail, User,
};
use crate::clock::Time;
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use crate::connect::reading::{Judged, Member};

/// As the credential report calls it.
const ROOT: &str = "<root_account>";
const KEY_AGE_DAYS_MAX: i64 = 90;
const KEY_UNUSED_DAYS_MAX: i64 = 45;
/// SSH, RDP, and `WinRM` without and with TLS.
const ADMIN_PORTS: [i32; 4] = [22, 3389, 5985, 5986];
const OTHERS_UNREAD: &str = "Databases outside RDS were not read.";
const SNAPSHOTS_UNREAD: &str = "Whether snapshots of disks and databases are public was not read.";
const EVERYONE: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// Judges an account at a time. The same account always gives the same verdicts.
#[must_use]
pub fn judge(account: &Account, at: Time) -> Vec<Judged> {
    [
        root_mfa(account),
        root_keys(account),
        console_mfa(account),
        key_age(account, at),
        storage(account),
        trail(account),
        detection(account),
        ports(account),
        volumes(account),
        private_databases(account),
        encrypted_databases(account),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn whole(control: &'static str, check: &str, passes: bool, texts: [&str; 2]) -> Judged {
    let [good, bad] = texts;
    let (status, text) = if passes { (Compliant, good) } else { (NonCompliant, bad) };
    Judged::whole(control, check, status, text)
}

fn root_mfa(account: &Account) -> Option<Judged> {
    let texts = [
        "The root user has MFA.",
        "The root user has no MFA. Sign in as root, and register a security key or an authenticator app.",
    ];
    account.summary?.has_mfa.map(|it| whole("CLD-01", "root_mfa", it, texts))
}

fn root_keys(account: &Account) -> Option<Judged> {
    let texts = [
        "The root user has no access keys.",
        "The root user has access keys. Replace them with a role that has only the rights it needs, then delete them.",
    ];
    account.summary?.n_access_keys.map(|it| whole("CLD-02", "root_access_keys", it == 0, texts))
}

fn console_mfa(account: &Account) -> Option<Judged> {
    let users = account.users.as_ref()?.iter().filter(|it| it.name != ROOT);
    let members = users.filter(|it| it.has_password != Some(false)).map(|it| Member {
        id: &it.arn,
        name: &it.name,
        passes: if it.has_password.is_some() { it.has_mfa } else { None },
    });
    Judged::population(
        "CLD-03",
        "console_mfa",
        members,
        "These users sign in to the console without MFA. Require it, or remove their console passwords.",
    )
}

fn key_age(account: &Account, at: Time) -> Option<Judged> {
    let users = account.users.as_ref()?.iter();
    let of_user = |it: &User| {
        let answers: Vec<_> = it.keys.iter().filter_map(|key| is_fresh(key, at)).collect();
        match (answers.is_empty(), answers.contains(&Some(false)), answers.contains(&None)) {
            (true, _, _) => None,
            (false, true, _) => Some(Some(false)),
            (false, false, true) => Some(None),
            (false, false, false) => Some(Some(true)),
        }
    };
    let members = users
        .filter_map(|it| of_user(it).map(|passes| Member { id: &it.arn, name: &it.name, passes }));
    Judged::population(
        "CLD-04",
        "access_keys",
        members,
        "These users have access keys older than 90 days, or not used for 45 days. Rotate the keys, and disable those that \
         no one uses.",
    )
}

/// `None`: there is no such key, or it is disabled. `Some(None)`: unknown.
fn is_fresh(key: &AccessKey, at: Time) -> Option<Option<bool>> {
    match key.is_active {
        Some(false) => return None,
        None => return Some(None),
        Some(true) => (),
    }
    let Some(made_at) = key.made_at else { return Some(None) };
    let last_used = match key.last_used {
        LastUse::Unknown => None,
        LastUse::Never => Some(made_at),
        LastUse::At(time) => Some(time),
    };
    if made_at.plus_days(KEY_AGE_DAYS_MAX) < at {
        return Some(Some(false));
    }
    Some(last_used.map(|it| at <= it.plus_days(KEY_UNUSED_DAYS_MAX)))
}

fn storage(account: &Account) -> Option<Judged> {
    if account.public_access?.is_all_on() {
        let findings = "Block Public Access is on for the whole account.";
        let judged = Judged::whole("CLD-05", "public_storage", Compliant, findings);
        return Some(judged.at_most_partial(SNAPSHOTS_UNREAD));
    }
    let buckets = account.buckets.as_ref()?;
    let members =
        buckets.iter().map(|it| Member { id: &it.name, name: &it.name, passes: is_private(it) });
    let judged = Judged::population(
        "CLD-05",
        "public_storage",
        members,
        "The policies of these buckets admit everyone. Turn on Block Public Access for the account, except where a bucket \
         must be public.",
    );
    judged.map(|it| it.at_most_partial(SNAPSHOTS_UNREAD)).or_else(|| {
        let findings = "There is no bucket, but Block Public Access is off for the account, so that the next one may be public. \
                        Turn it on.";
        buckets.is_empty().then(|| Judged::whole("CLD-05", "public_storage", Partial, findings))
    })
}

/// `None`: unknown. Access control lists are not read.
fn is_private(bucket: &Bucket) -> Option<bool> {
    if bucket.public_access?.is_all_on() {
        return Some(true);
    }
    let is_open = bucket.is_policy_public? && !bucket.public_access?.restrict_buckets;
    is_open.then_some(false)
}

fn trail(account: &Account) -> Option<Judged> {
    let trails = account.trails.as_ref()?;
    let everywhere = || trails.iter().filter(|it| it.is_multi_region != Some(false));
    let judged = |status, findings: &str| Some(Judged::whole("CLD-06", "trail", status, findings));
    let is = |multi_region, logging| {
        move |it: &&Trail| it.is_multi_region == multi_region && it.is_logging == logging
    };
    let mut running = trails.iter().filter(is(Some(true), Some(true))).peekable();
    if running.peek().is_some() {
        return if running.any(|it| it.is_validated == Some(true)) {
            judged(Compliant, "A trail records all regions, and its files are validated.")
        } else {
            let findings = "A trail records all regions, but its files are not validated. Turn on log file validation.";
            judged(Partial, findings)
        };
    }
    if everywhere().any(|it| it.is_logging != Some(false)) {
        return None;
    }
    if trails.iter().any(|it| it.is_logging == Some(true)) {
        let findings = "Trails record some regions only. Make one that applies to all regions.";
        return judged(Partial, findings);
    }
    if trails.iter().any(|it| it.is_logging.is_none()) {
        return None;
    }
    let findings = "No trail is recording. Turn on a CloudTrail trail for all regions, and protect the bucket that it writes to.";
    judged(NonCompliant, findings)
}

fn detection(account: &Account) -> Option<Judged> {
    let regions = in_use(account)?;
    let members: Option<Vec<_>> = regions
        .iter()
        .map(|it| {
            let detectors = it.detectors.as_ref()?;
            let passes = if detectors.contains(&Some(true)) {
                Some(true)
            } else if detectors.contains(&None) {
                None
            } else {
                Some(false)
            };
            Some(Member { id: &it.name, name: &it.name, passes })
        })
        .collect();
    Judged::population(
        "CLD-07",
        "guardduty",
        members?,
        "GuardDuty is off in these regions, which are in use. Turn it on for all regions.",
    )
    .map(|it| {
        it.at_most_partial("Its protection plans for the types of resources in use were not read.")
    })
}

fn volumes(account: &Account) -> Option<Judged> {
    let regions = in_use(account)?;
    let members: Option<Vec<_>> = regions
        .iter()
        .map(|it| {
            let passes = Some(it.encrypts_volumes?);
            Some(Member { id: &it.name, name: &it.name, passes })
        })
        .collect();
    Judged::population(
        "CLD-12",
        "volume_encryption",
        members?,
        "New EBS volumes are not encrypted by default in these regions, which are in use. Turn on EBS encryption by default.",
    )
    .map(|it| it.at_most_partial("Existing volumes, snapshots, buckets and file systems were not read."))
}

/// The regions in which something was made. `None`: unknown.
fn in_use(account: &Account) -> Option<Vec<&Region>> {
    let regions = account.regions.as_ref()?;
    let used: Option<Vec<_>> = regions.iter().map(|it| Some((it, it.is_in_use()?))).collect();
    Some(used?.into_iter().filter(|it| it.1).map(|it| it.0).collect())
}

fn ports(account: &Account) -> Option<Judged> {
    let regions = account.regions.as_ref()?;
    let groups: Option<Vec<_>> = regions.iter().map(|it| it.security_groups.as_ref()).collect();
    let members = groups?.into_iter().flatten().map(|it| Member {
        id: &it.id,
        name: &it.name,
        passes: Some(!it.rules.iter().any(opens_admin_port)),
    });
    Judged::population(
        "CLD-10",
        "admin_ports",
        members,
        "These security groups open SSH, RDP or WinRM to the whole internet. Limit the rules to known addresses, or use \
         Session Manager or a VPN.",
    )
}

fn opens_admin_port(rule: &IngressRule) -> bool {
    let is_open = rule.ranges.iter().any(|it| EVERYONE.contains(&it.as_str()));
    let has_ports = match (rule.protocol.as_str(), rule.ports) {
        ("-1", _) | ("tcp" | "6", None) => true,
        ("tcp" | "6" | "udp" | "17", Some((from, to))) => {
            from == -1 || ADMIN_PORTS.iter().any(|it| (from..=to).contains(it))
        }
        _ => false,
    };
    is_open && has_ports
}

fn databases<'a>(
    account: &'a Account,
    passes: fn(&Database) -> Option<bool>,
) -> Option<Vec<Member<'a>>> {
    let regions = account.regions.as_ref()?;
    let lists: Option<Vec<_>> = regions.iter().map(|it| it.databases.as_ref()).collect();
    let member = |it: &'a Database| Member { id: &it.arn, name: &it.name, passes: passes(it) };
    Some(lists?.into_iter().flatten().map(member).collect())
}

fn private_databases(account: &Account) -> Option<Judged> {
    Judged::population(
        "CLD-24",
        "private_databases",
        databases(account, |it| it.is_public.map(|it| !it))?,
        "These RDS databases have a public endpoint. Turn off public access, and connect through the VPC.",
    )
    .map(|it| it.at_most_partial(OTHERS_UNREAD))
}

fn encrypted_databases(account: &Account) -> Option<Judged> {
    Judged::population(
        "CLD-25",
        "encrypted_databases",
        databases(account, |it| it.is_encrypted)?,
        "The storage of these RDS databases is not encrypted. Restore an encrypted copy of a snapshot, and switch over.",
    )
    .map(|it| it.at_most_partial(OTHERS_UNREAD))
}
