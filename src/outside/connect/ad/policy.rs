//! The password policies of a domain: the one for all, and those for some accounts.

use super::message::Entry;
use super::value::{bits, boolean, bytes, number, text};

pub(super) const DOMAIN_ATTRIBUTES: [&str; 6] = [
    "objectSid",
    "minPwdLength",
    "pwdHistoryLength",
    "pwdProperties",
    "lockoutThreshold",
    "ms-DS-MachineAccountQuota",
];

pub(super) const SETTINGS_ATTRIBUTES: [&str; 6] = [
    "name",
    "msDS-MinimumPasswordLength",
    "msDS-PasswordHistoryLength",
    "msDS-PasswordReversibleEncryptionEnabled",
    "msDS-LockoutThreshold",
    "msDS-PSOAppliesTo",
];

/// Of `pwdProperties`.
const REVERSIBLE: u32 = 0x10;

/// What holds for passwords.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordRules {
    pub length_min: i64,
    /// Former passwords that may not be used again.
    pub n_remembered: i64,
    pub is_reversible: bool,
    /// 0: wrong passwords never lock an account.
    pub n_wrong_max: i64,
}

/// The policy of the domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainPolicy {
    pub rules: PasswordRules,
    /// Computers that any account may add to the domain. `None`: unknown.
    pub n_computers_to_add: Option<i64>,
}

/// A policy for some accounts, which takes the place of the domain's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordSettings {
    pub name: String,
    pub rules: PasswordRules,
    /// It is assigned to an account or a group.
    pub is_assigned: bool,
}

/// # Errors
/// The attribute that the domain lacks.
pub(super) fn domain_policy(entry: &Entry) -> Result<DomainPolicy, &'static str> {
    Ok(DomainPolicy {
        rules: PasswordRules {
            length_min: number(entry, "minpwdlength").ok_or("minPwdLength")?,
            n_remembered: number(entry, "pwdhistorylength").ok_or("pwdHistoryLength")?,
            is_reversible: bits(entry, "pwdproperties").ok_or("pwdProperties")? & REVERSIBLE != 0,
            n_wrong_max: number(entry, "lockoutthreshold").ok_or("lockoutThreshold")?,
        },
        n_computers_to_add: number(entry, "ms-ds-machineaccountquota"),
    })
}

/// # Errors
/// The attribute that it lacks.
pub(super) fn password_settings(entry: &Entry) -> Result<PasswordSettings, &'static str> {
    Ok(PasswordSettings {
        name: text(entry, "name").ok_or("name")?,
        rules: PasswordRules {
            length_min: number(entry, "msds-minimumpasswordlength")
                .ok_or("msDS-MinimumPasswordLength")?,
            n_remembered: number(entry, "msds-passwordhistorylength")
                .ok_or("msDS-PasswordHistoryLength")?,
            is_reversible: boolean(entry, "msds-passwordreversibleencryptionenabled")
                .ok_or("msDS-PasswordReversibleEncryptionEnabled")?,
            n_wrong_max: number(entry, "msds-lockoutthreshold").ok_or("msDS-LockoutThreshold")?,
        },
        is_assigned: bytes(entry, "msds-psoappliesto").is_some(),
    })
}
