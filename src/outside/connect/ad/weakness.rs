//! Weaknesses of a domain that attackers look for.
//!
//! That a domain lacks these does not show that it is hardened, so a rule that finds nothing says nothing.

use super::account::{Account, AccountFlags, AccountKind, Computer, RID_KRBTGT};
use super::group::Members;
use super::policy::DomainPolicy;
use crate::clock::Time;
use crate::connect::reading::{Judged, JudgedStatus, Member};

const HARDENED: &str = "ID-35";
const KRBTGT_DAYS_MAX: i64 = 180;
const SERVICE_PASSWORD_DAYS_MAX: i64 = 365;

/// A rule about each of some accounts.
struct Rule {
    control: &'static str,
    check: &'static str,
    is_weak: fn(AccountFlags) -> bool,
    /// What is wrong and what to do.
    what: &'static str,
}

const DELEGATION: &str = "They keep the tickets of everyone who signs in to them. Whoever takes over one can act as a domain \
                          administrator. Replace unconstrained delegation by constrained or resource-based delegation.";

const RULES: [Rule; 4] = [
    Rule {
        control: "ID-15",
        check: "password_not_required",
        is_weak: AccountFlags::needs_no_password,
        what: "They may have an empty password. Clear the flag PASSWD_NOTREQD and set a password.",
    },
    Rule {
        control: HARDENED,
        check: "kerberos_preauthentication",
        is_weak: AccountFlags::needs_no_preauthentication,
        what: "Anyone can ask for a ticket of these accounts and guess the password offline. Clear \"Do not require Kerberos \
               preauthentication\".",
    },
    Rule {
        control: HARDENED,
        check: "reversible_passwords",
        is_weak: AccountFlags::has_reversible_password,
        what: "Their passwords are stored so that they can be decrypted. Clear \"Store password using reversible encryption\" and change \
               the passwords.",
    },
    Rule {
        control: HARDENED,
        check: "unconstrained_delegation_accounts",
        is_weak: AccountFlags::has_unconstrained_delegation,
        what: DELEGATION,
    },
];

/// The verdict only if it is a gap.
fn gap<'a>(
    control: &'static str,
    check: &str,
    members: impl IntoIterator<Item = Member<'a>>,
    what: &str,
) -> Option<Judged> {
    let judged = Judged::population(control, check, members, what);
    judged.filter(|it| it.status == JudgedStatus::NonCompliant)
}

fn member(account: &Account, passes: Option<bool>) -> Member<'_> {
    Member { id: &account.id, name: &account.user, passes }
}

pub(super) fn of_accounts(users: &[Account], at: Time) -> Vec<Judged> {
    let enabled = || users.iter().filter(|it| it.is_enabled(at));
    let by_flags = RULES.iter().filter_map(|rule| {
        let members = enabled().map(|it| member(it, Some(!(rule.is_weak)(it.flags))));
        gap(rule.control, rule.check, members, rule.what)
    });
    let services = enabled().filter(|it| it.is_service && it.kind == AccountKind::User);
    let services = services.map(|it| {
        let until = it.password_set_at.map(|it| it.plus_days(SERVICE_PASSWORD_DAYS_MAX));
        member(it, until.map(|until| at <= until))
    });
    let old = gap(
        "ID-28",
        "service_account_passwords",
        services,
        "Their passwords are older than a year, and anyone in the domain can ask for tickets to guess them offline. Use group managed \
         service accounts, or set long random passwords and change them on a schedule.",
    );
    by_flags.chain(old).chain(krbtgt(users, at)).collect()
}

/// Who knows its password makes tickets for every account. `None`: it is young enough, or its age is unknown.
fn krbtgt(users: &[Account], at: Time) -> Option<Judged> {
    let set_at = users.iter().find(|it| it.rid == RID_KRBTGT)?.password_set_at?;
    let days = at.s_since(set_at) / 86_400;
    (KRBTGT_DAYS_MAX < days).then(|| {
        let findings = format!(
            "The password of krbtgt is {days} days old. Whoever once stole it can make tickets for every account. Change it twice, a day \
             apart, and then at least every {KRBTGT_DAYS_MAX} days."
        );
        Judged::whole(HARDENED, "krbtgt_password", JudgedStatus::NonCompliant, findings)
    })
}

pub(super) fn of_administrators(users: &[Account], members: &Members, at: Time) -> Vec<Judged> {
    let is_top = |it: &&Account| {
        it.is_enabled(at) && it.kind == AccountKind::User && members.accounts.contains_key(&it.id)
    };
    let found = gap(
        HARDENED,
        "administrators_with_service_names",
        users.iter().filter(is_top).map(|it| member(it, Some(!it.is_service))),
        "Anyone in the domain can ask for tickets of these administrators and guess the passwords offline. Run the services under other \
         accounts, and remove the service principal names.",
    );
    found.into_iter().collect()
}

/// Domain controllers need what is a weakness of other computers.
pub(super) fn of_computers(computers: &[Computer]) -> Option<Judged> {
    let is_judged = |it: &&Computer| !it.flags.is_disabled() && !it.flags.is_domain_controller();
    let members = computers.iter().filter(is_judged).map(|it| Member {
        id: &it.id,
        name: &it.name,
        passes: Some(!it.flags.has_unconstrained_delegation()),
    });
    gap(HARDENED, "unconstrained_delegation_computers", members, DELEGATION)
}

pub(super) fn of_policy(policy: &DomainPolicy) -> Vec<Judged> {
    let weak = |check: &str, findings: String| {
        Judged::whole(HARDENED, check, JudgedStatus::NonCompliant, findings)
    };
    let quota = policy.n_computers_to_add.filter(|it| 0 < *it).map(|n| {
        let advice =
            "Set ms-DS-MachineAccountQuota to 0 and let only those who install computers add them.";
        weak(
            "machine_account_quota",
            format!(
                "Any account can add {n} computers to the domain, which helps attackers. {advice}"
            ),
        )
    });
    let reversible = policy.rules.is_reversible.then(|| {
        let advice = "Turn off \"Store passwords using reversible encryption\" in the Default Domain Policy.";
        weak("reversible_password_policy", format!("The domain stores passwords so that they can be decrypted. {advice}"))
    });
    quota.into_iter().chain(reversible).collect()
}
