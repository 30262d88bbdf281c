//! What was read of a Google Workspace: a list for each stream.

use super::row::{
    Activity, ChromeDevice, Customer, Domain, MobileDevice, OrgUnit, Policy, Role, RoleAssignment,
    SsoAssignment, User,
};

/// `None`: not read completely.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub customer: Option<Customer>,
    pub users: Option<Vec<User>>,
    pub roles: Option<Vec<Role>>,
    pub role_assignments: Option<Vec<RoleAssignment>>,
    pub org_units: Option<Vec<OrgUnit>>,
    /// Of all families.
    pub policies: Option<Vec<Policy>>,
    pub sso_assignments: Option<Vec<SsoAssignment>>,
    pub mobile_devices: Option<Vec<MobileDevice>>,
    pub chrome_devices: Option<Vec<ChromeDevice>>,
    pub domains: Option<Vec<Domain>>,
    /// Events `authorize` and `revoke` of the application `token`, as far back as they are kept.
    pub token_events: Option<Vec<Activity>>,
    /// Events `2sv_disable` of the application `user_accounts`.
    pub two_step_removals: Option<Vec<Activity>>,
    /// The newest events of the applications `login` and `admin`. One page of each is enough.
    pub audit_events: Option<Vec<Activity>>,
}

/// A list that is read on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamKind {
    Customer,
    Users,
    Roles,
    RoleAssignments,
    OrgUnits,
    Policies,
    SsoAssignments,
    MobileDevices,
    ChromeDevices,
    Domains,
    TokenEvents,
    TwoStepRemovals,
    AuditEvents,
}

impl StreamKind {
    pub const ALL: [Self; 13] = [
        Self::Customer,
        Self::Users,
        Self::Roles,
        Self::RoleAssignments,
        Self::OrgUnits,
        Self::Policies,
        Self::SsoAssignments,
        Self::MobileDevices,
        Self::ChromeDevices,
        Self::Domains,
        Self::TokenEvents,
        Self::TwoStepRemovals,
        Self::AuditEvents,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Users => "users",
            Self::Roles => "roles",
            Self::RoleAssignments => "role_assignments",
            Self::OrgUnits => "org_units",
            Self::Policies => "policies",
            Self::SsoAssignments => "sso_assignments",
            Self::MobileDevices => "mobile_devices",
            Self::ChromeDevices => "chrome_devices",
            Self::Domains => "domains",
            Self::TokenEvents => "token_events",
            Self::TwoStepRemovals => "two_step_removals",
            Self::AuditEvents => "audit_events",
        }
    }

    /// All OAuth scopes, each once.
    #[must_use]
    pub fn oauth_scopes() -> Vec<&'static str> {
        let mut scopes: Vec<&str> = Vec::new();
        for it in Self::ALL {
            if !scopes.contains(&it.oauth_scope()) {
                scopes.push(it.oauth_scope());
            }
        }
        scopes
    }

    /// The OAuth scope that it needs. All of them can only read.
    #[must_use]
    pub const fn oauth_scope(self) -> &'static str {
        match self {
            Self::Customer => "https://www.googleapis.com/auth/admin.directory.customer.readonly",
            Self::Users => "https://www.googleapis.com/auth/admin.directory.user.readonly",
            Self::Roles | Self::RoleAssignments => {
                "https://www.googleapis.com/auth/admin.directory.rolemanagement.readonly"
            }
            Self::OrgUnits => "https://www.googleapis.com/auth/admin.directory.orgunit.readonly",
            Self::Policies => "https://www.googleapis.com/auth/cloud-identity.policies.readonly",
            Self::SsoAssignments => {
                "https://www.googleapis.com/auth/cloud-identity.inboundsso.readonly"
            }
            Self::MobileDevices => {
                "https://www.googleapis.com/auth/admin.directory.device.mobile.readonly"
            }
            Self::ChromeDevices => {
                "https://www.googleapis.com/auth/admin.directory.device.chromeos.readonly"
            }
            Self::Domains => "https://www.googleapis.com/auth/admin.directory.domain.readonly",
            Self::TokenEvents | Self::TwoStepRemovals | Self::AuditEvents => {
                "https://www.googleapis.com/auth/admin.reports.audit.readonly"
            }
        }
    }
}

impl Snapshot {
    /// Returns true if all of these were read completely.
    #[must_use]
    pub fn has(&self, streams: &[StreamKind]) -> bool {
        streams.iter().all(|it| match it {
            StreamKind::Customer => self.customer.is_some(),
            StreamKind::Users => self.users.is_some(),
            StreamKind::Roles => self.roles.is_some(),
            StreamKind::RoleAssignments => self.role_assignments.is_some(),
            StreamKind::OrgUnits => self.org_units.is_some(),
            StreamKind::Policies => self.policies.is_some(),
            StreamKind::SsoAssignments => self.sso_assignments.is_some(),
            StreamKind::MobileDevices => self.mobile_devices.is_some(),
            StreamKind::ChromeDevices => self.chrome_devices.is_some(),
            StreamKind::Domains => self.domains.is_some(),
            StreamKind::TokenEvents => self.token_events.is_some(),
            StreamKind::TwoStepRemovals => self.two_step_removals.is_some(),
            StreamKind::AuditEvents => self.audit_events.is_some(),
        })
    }
}
