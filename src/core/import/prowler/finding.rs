//! A finding of Prowler, independent of its file format.

use crate::clock::Time;

/// One check on one resource. Texts are empty where the file has none.
#[derive(Debug, Default)]
pub(in crate::import) struct Finding<'a> {
    /// `aws`, `azure`, `gcp`, `m365`, `kubernetes`, ...
    pub(in crate::import) provider: &'a str,
    /// Account, subscription, project, tenant domain, customer or cluster.
    pub(in crate::import) account: &'a str,
    /// The organization above the account; for m365 the tenant's GUID.
    pub(in crate::import) organization: &'a str,
    pub(in crate::import) check: &'a str,
    pub(in crate::import) status: &'a str,
    pub(in crate::import) muted: bool,
    pub(in crate::import) severity: &'a str,
    pub(in crate::import) title: &'a str,
    pub(in crate::import) remediation: &'a str,
    pub(in crate::import) detail: &'a str,
    pub(in crate::import) service: &'a str,
    /// The type that the check is about. The resource itself may be of another type.
    pub(in crate::import) resource_type: &'a str,
    pub(in crate::import) resource_uid: &'a str,
    pub(in crate::import) resource_name: &'a str,
    pub(in crate::import) region: &'a str,
    pub(in crate::import) observed_at: Option<Time>,
}
