//! What was read of a tenant: a field for each collection of Graph, which is `None` unless it was read completely.

mod app;
mod device;
mod directory;
mod field;
mod policy;
mod role;
mod service;

use std::collections::BTreeMap;

pub use app::{
    AppManagementPolicy, AppRoleAssignment, Application, Credential, CredentialRestriction,
    PermissionClassification, PermissionGrant, ServicePrincipal,
};
pub use device::{CompliancePolicy, ManagedDevice};
pub use directory::{Domain, Mailbox, Organization, Registration, Sku, User};
pub use field::{Field, Moment, Rows, Words};
pub use policy::{
    AuthorizationPolicy, Conditions, ConsentRequestPolicy, GrantControls, MethodConfiguration,
    MethodsPolicy, Policy, PolicyUsers, SecurityDefaults,
};
pub use role::{Principal, RoleAssignment, RoleDefinition, RolePolicy, RoleRule, RoleSchedule};
pub use service::{
    ControlProfile, ControlScore, DirectoryAudit, SecureScore, SharePointSettings, thousandths,
};

/// The collections of Graph that rules need, each with its type: the fields of [`Tenant`], and [`Source`].
macro_rules! sources {
    ($($(#[$note:meta])* $field:ident $variant:ident $name:literal $type:ty,)*) => {
        /// `None`: not read completely.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Tenant {
            $($(#[$note])* pub $field: Option<$type>,)*
        }

        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Source {
            $($variant,)*
        }

        impl Source {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name of its stream: as in Graph, if it has one there.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl Tenant {
            /// Returns true if this was read completely.
            #[must_use]
            pub const fn has(&self, source: Source) -> bool {
                match source {
                    $(Source::$variant => self.$field.is_some(),)*
                }
            }
        }
    };
}

sources! {
    organization Organization "organization" Organization,
    skus Skus "subscribedSkus" Vec<Sku>,
    users Users "users" Vec<User>,
    registrations Registrations "userRegistrationDetails" Vec<Registration>,
    role_definitions RoleDefinitions "roleDefinitions" Vec<RoleDefinition>,
    role_assignments RoleAssignments "roleAssignments" Vec<RoleAssignment>,
    role_eligibilities RoleEligibilities "roleEligibilityScheduleInstances" Vec<RoleSchedule>,
    role_schedules RoleSchedules "roleAssignmentScheduleInstances" Vec<RoleSchedule>,
    role_policies RolePolicies "roleManagementPolicyAssignments" Vec<RolePolicy>,
    /// By the id of a group: the ids of its members, also of those in groups below it. Of each group that holds a role or may, or that
    /// a policy of Conditional Access names.
    group_members GroupMembers "transitiveMembers" BTreeMap<String, Vec<String>>,
    security_defaults SecurityDefaults "identitySecurityDefaultsEnforcementPolicy" SecurityDefaults,
    policies Policies "conditionalAccessPolicies" Vec<Policy>,
    authorization Authorization "authorizationPolicy" AuthorizationPolicy,
    methods Methods "authenticationMethodsPolicy" MethodsPolicy,
    consent_requests ConsentRequests "adminConsentRequestPolicy" ConsentRequestPolicy,
    classifications Classifications "delegatedPermissionClassifications" Vec<PermissionClassification>,
    app_management AppManagement "defaultAppManagementPolicy" AppManagementPolicy,
    /// The newest.
    score Score "secureScores" SecureScore,
    score_profiles ScoreProfiles "secureScoreControlProfiles" Vec<ControlProfile>,
    service_principals ServicePrincipals "servicePrincipals" Vec<ServicePrincipal>,
    grants Grants "oauth2PermissionGrants" Vec<PermissionGrant>,
    app_roles AppRoles "appRoleAssignedTo" Vec<AppRoleAssignment>,
    applications Applications "applications" Vec<Application>,
    domains Domains "domains" Vec<Domain>,
    mailboxes Mailboxes "mailboxUsageDetail" Vec<Mailbox>,
    managed_devices ManagedDevices "managedDevices" Vec<ManagedDevice>,
    compliance_policies CompliancePolicies "deviceCompliancePolicies" Vec<CompliancePolicy>,
    sharepoint SharePoint "sharepointSettings" SharePointSettings,
    /// Those of the last 30 days, or as far back as the tenant keeps them.
    audits Audits "directoryAudits" Vec<DirectoryAudit>,
}
