//! What was read of an AWS account.

use crate::clock::Time;

/// `None`: not read completely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub summary: Option<Summary>,
    /// The rows of the credential report, with that of the root user.
    pub users: Option<Vec<User>>,
    /// Of the account. Without any, all are off.
    pub public_access: Option<PublicAccess>,
    pub buckets: Option<Vec<Bucket>>,
    pub trails: Option<Vec<Trail>>,
    /// All that are enabled.
    pub regions: Option<Vec<Region>>,
}

/// Of `GetAccountSummary`, about the root user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    pub has_mfa: Option<bool>,
    pub n_access_keys: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub arn: String,
    /// It can sign in to the console. The root user always can.
    pub has_password: Option<bool>,
    pub has_mfa: Option<bool>,
    pub keys: Vec<AccessKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessKey {
    pub is_active: Option<bool>,
    pub made_at: Option<Time>,
    pub last_used: LastUse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastUse {
    Unknown,
    Never,
    At(Time),
}

/// A Block Public Access setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "S3 has these four")]
pub struct PublicAccess {
    pub block_acls: bool,
    pub ignore_acls: bool,
    pub block_policy: bool,
    pub restrict_buckets: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub name: String,
    pub public_access: Option<PublicAccess>,
    /// Its policy admits everyone. Without a policy: false.
    pub is_policy_public: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trail {
    pub name: String,
    pub arn: String,
    pub is_multi_region: Option<bool>,
    pub is_validated: Option<bool>,
    /// Of `GetTrailStatus`.
    pub is_logging: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    pub name: String,
    /// Of `GuardDuty`: whether each is enabled. `None` in the list: unknown.
    pub detectors: Option<Vec<Option<bool>>>,
    pub security_groups: Option<Vec<SecurityGroup>>,
    pub databases: Option<Vec<Database>>,
    pub encrypts_volumes: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityGroup {
    pub id: String,
    pub name: String,
    /// Rules for what comes in.
    pub rules: Vec<IngressRule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressRule {
    /// `tcp`, `udp`, a number, or `-1` for all.
    pub protocol: String,
    /// `None`: all.
    pub ports: Option<(i32, i32)>,
    /// IPv4 and IPv6 ranges.
    pub ranges: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    pub arn: String,
    pub name: String,
    pub is_public: Option<bool>,
    pub is_encrypted: Option<bool>,
}

impl PublicAccess {
    #[must_use]
    pub const fn is_all_on(self) -> bool {
        self.block_acls && self.ignore_acls && self.block_policy && self.restrict_buckets
    }
}

impl Region {
    /// Returns true if something was made there. `None`: unknown.
    pub(super) fn is_in_use(&self) -> Option<bool> {
        let groups = self.security_groups.as_ref()?;
        let databases = self.databases.as_ref()?;
        Some(!databases.is_empty() || groups.iter().any(|it| it.name != "default"))
    }
}
