//! What is asked of Microsoft Graph, and what each call needs.

use std::borrow::Cow;
use std::time::Duration;

use crate::connect::call::{Call, Collection, Letters, Pace, Pager};
use crate::connect::m365::tenant::Source;

/// One collection or object of Graph.
pub(super) struct Plan {
    pub source: Source,
    /// Below `/v1.0`.
    pub path: &'static str,
    pub permission: &'static str,
    pub pace: Pace,
    pub shape: Shape,
    /// A member that every row has. If no row has it, Graph has changed, and nothing is concluded.
    pub always: &'static str,
    /// Every tenant has at least one row.
    pub is_never_empty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All pages of a list.
    Rows,
    /// The first page of a list whose newest row comes first.
    FirstPage,
    Object,
}

const fn pace(class: &'static str, gap_ms: u64) -> Pace {
    Pace { class, gap: Duration::from_millis(gap_ms) }
}

/// Conditional Access is read once a second at most, by all apps together, and refusals do not say when to come back.
const CONDITIONAL_ACCESS: Pace = pace("conditional access", 1_100);
/// Five requests in ten seconds.
const REPORTS: Pace = pace("reports", 2_000);
const SCORE: Pace = pace("secure score", 400);

const fn plan(
    source: Source,
    path: &'static str,
    permission: &'static str,
    shape: Shape,
    always: &'static str,
) -> Plan {
    Plan { source, path, permission, pace: Pace::NONE, shape, always, is_never_empty: false }
}

impl Plan {
    const fn paced(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    const fn never_empty(mut self) -> Self {
        self.is_never_empty = true;
        self
    }
}

use Shape::{FirstPage, Object, Rows};

/// Everything that is read by one call, or page by page. In this order.
pub(super) const PLANS: &[Plan] = &[
    plan(Source::Skus, "/subscribedSkus", "Organization.Read.All", Rows, "servicePlans"),
    plan(
        Source::SecurityDefaults,
        "/policies/identitySecurityDefaultsEnforcementPolicy",
        "Policy.Read.All",
        Object,
        "isEnabled",
    ),
    plan(
        Source::Policies,
        "/identity/conditionalAccess/policies",
        "Policy.Read.All",
        Rows,
        "conditions",
    )
    .paced(CONDITIONAL_ACCESS),
    plan(
        Source::Authorization,
        "/policies/authorizationPolicy",
        "Policy.Read.All",
        Object,
        "defaultUserRolePermissions",
    ),
    plan(
        Source::Methods,
        "/policies/authenticationMethodsPolicy",
        "Policy.Read.All",
        Object,
        "authenticationMethodConfigurations",
    ),
    plan(
        Source::ConsentRequests,
        "/policies/adminConsentRequestPolicy",
        "Policy.Read.All",
        Object,
        "isEnabled",
    ),
    plan(
        Source::AppManagement,
        "/policies/defaultAppManagementPolicy",
        "Policy.Read.All",
        Object,
        "isEnabled",
    ),
    plan(
        Source::RoleDefinitions,
        "/roleManagement/directory/roleDefinitions?$select=id,templateId,displayName",
        "RoleManagement.Read.Directory",
        Rows,
        "templateId",
    )
    .never_empty(),
    plan(
        Source::RoleAssignments,
        "/roleManagement/directory/roleAssignments?$expand=principal",
        "RoleManagement.Read.Directory",
        Rows,
        "principalId",
    ),
    plan(Source::Domains, "/domains", "Domain.Read.All", Rows, "isVerified").never_empty(),
    plan(
        Source::Score,
        "/security/secureScores?$top=1",
        "SecurityEvents.Read.All",
        FirstPage,
        "maxScore",
    )
    .paced(SCORE),
    plan(
        Source::ScoreProfiles,
        "/security/secureScoreControlProfiles",
        "SecurityEvents.Read.All",
        Rows,
        "id",
    )
    .paced(SCORE),
    plan(
        Source::ServicePrincipals,
        "/servicePrincipals?$select=id,appId,displayName,appOwnerOrganizationId,\
         servicePrincipalType,accountEnabled,verifiedPublisher,appRoles",
        "Application.Read.All",
        Rows,
        "appId",
    )
    .never_empty(),
    plan(Source::Grants, "/oauth2PermissionGrants", "Directory.Read.All", Rows, "clientId"),
    plan(
        Source::Classifications,
        "/servicePrincipals(appId='00000003-0000-0000-c000-000000000000')/delegatedPermissionClassifications",
        "Policy.Read.PermissionGrant",
        Rows,
        "classification",
    ),
    plan(
        Source::Applications,
        "/applications?$select=id,appId,displayName,passwordCredentials,keyCredentials",
        "Application.Read.All",
        Rows,
        "keyCredentials",
    ),
    plan(
        Source::ManagedDevices,
        "/deviceManagement/managedDevices?$select=id,deviceName,operatingSystem,osVersion,complianceState,isEncrypted,\
         jailBroken,lastSyncDateTime,serialNumber,ethernetMacAddress,wiFiMacAddress",
        "DeviceManagementManagedDevices.Read.All",
        Rows,
        "lastSyncDateTime",
    ),
    plan(
        Source::CompliancePolicies,
        "/deviceManagement/deviceCompliancePolicies?$select=id",
        "DeviceManagementConfiguration.Read.All",
        Rows,
        "id",
    ),
    plan(
        Source::SharePoint,
        "/admin/sharepoint/settings",
        "SharePointTenantSettings.Read.All",
        Object,
        "sharingCapability",
    ),
    plan(
        Source::Audits,
        "/auditLogs/directoryAudits?$top=20",
        "AuditLog.Read.All",
        FirstPage,
        "activityDateTime",
    )
    .paced(REPORTS),
];

/// What only tenants with Entra ID P2 have.
pub(super) const P2_PLANS: &[Plan] = &[
    plan(
        Source::RoleEligibilities,
        "/roleManagement/directory/roleEligibilityScheduleInstances?$expand=principal",
        "RoleEligibilitySchedule.Read.Directory",
        Rows,
        "principalId",
    ),
    plan(
        Source::RoleSchedules,
        "/roleManagement/directory/roleAssignmentScheduleInstances?$expand=principal",
        "RoleAssignmentSchedule.Read.Directory",
        Rows,
        "principalId",
    ),
    plan(
        Source::RolePolicies,
        "/policies/roleManagementPolicyAssignments?$filter=scopeId%20eq%20'/'%20and%20scopeType%20eq%20'DirectoryRole'\
         &$expand=policy($expand=rules)",
        "RoleManagementPolicy.Read.Directory",
        Rows,
        "roleDefinitionId",
    ),
];

/// First, because nothing is read of another tenant than the one that is meant.
pub(super) const ORGANIZATION: Plan = plan(
    Source::Organization,
    "/organization?$select=id,displayName,verifiedDomains",
    "Organization.Read.All",
    FirstPage,
    "verifiedDomains",
);

pub(super) const REGISTRATIONS: Plan = plan(
    Source::Registrations,
    "/reports/authenticationMethods/userRegistrationDetails",
    "AuditLog.Read.All",
    Rows,
    "isMfaRegistered",
)
.paced(REPORTS)
.never_empty();

const fn app_roles(path: &'static str) -> Plan {
    plan(Source::AppRoles, path, "Application.Read.All", Rows, "appRoleId")
}

/// Who holds permissions of the services that have a client's data: Microsoft Graph, Exchange Online, `SharePoint` Online and the
/// management API of Office 365. A tenant need not have the others.
pub(super) const APP_ROLES: [(&str, Plan); 4] = [
    (
        "00000003-0000-0000-c000-000000000000",
        app_roles(
            "/servicePrincipals(appId='00000003-0000-0000-c000-000000000000')/appRoleAssignedTo",
        ),
    ),
    (
        "00000002-0000-0ff1-ce00-000000000000",
        app_roles(
            "/servicePrincipals(appId='00000002-0000-0ff1-ce00-000000000000')/appRoleAssignedTo",
        ),
    ),
    (
        "00000003-0000-0ff1-ce00-000000000000",
        app_roles(
            "/servicePrincipals(appId='00000003-0000-0ff1-ce00-000000000000')/appRoleAssignedTo",
        ),
    ),
    (
        "c5393580-f805-4401-95e8-94b7a6ef2fc2",
        app_roles(
            "/servicePrincipals(appId='c5393580-f805-4401-95e8-94b7a6ef2fc2')/appRoleAssignedTo",
        ),
    ),
];

pub(super) const USERS: Plan = plan(
    Source::Users,
    "/users?$select=id,userPrincipalName,displayName,userType,accountEnabled,createdDateTime,\
     assignedLicenses,onPremisesSyncEnabled,isResourceAccount,employeeHireDate,signInActivity&$top=100",
    "User.Read.All and AuditLog.Read.All",
    Rows,
    "accountEnabled",
)
.never_empty();

/// Of tenants without Entra ID P1, which refuse the whole call if it asks for sign-ins.
pub(super) const USERS_WITHOUT_SIGN_INS: Plan = plan(
    Source::Users,
    "/users?$select=id,userPrincipalName,displayName,userType,accountEnabled,createdDateTime,\
     assignedLicenses,onPremisesSyncEnabled,isResourceAccount,employeeHireDate&$top=100",
    "User.Read.All",
    Rows,
    "accountEnabled",
)
.never_empty();

pub(super) const MAILBOX_REPORT: &str = "/reports/getMailboxUsageDetail(period='D30')";

impl Plan {
    pub(super) fn call(&self, graph: &str) -> Call {
        let url = format!("{graph}/v1.0{}", self.path);
        Call { pace: self.pace, permission: Cow::Borrowed(self.permission), ..Call::get(url) }
    }

    pub(super) fn collection(&self, graph: &str) -> Collection<'static> {
        let pager = match self.shape {
            Shape::Rows => {
                Pager::Link { at: Cow::Borrowed("/@odata.nextLink"), letters: Letters::Exact }
            }
            Shape::FirstPage | Shape::Object => Pager::Whole,
        };
        Collection { pager, ..Collection::whole(self.call(graph), "/value") }
    }
}

/// The members of a group, also of the groups in it.
pub(super) fn members(graph: &str, group: &str) -> Collection<'static> {
    let url = format!("{graph}/v1.0/groups/{group}/transitiveMembers?$select=id&$top=999");
    let permission = Cow::Borrowed("GroupMember.Read.All");
    let call = Call { permission, ..Call::get(url) };
    let pager = Pager::Link { at: Cow::Borrowed("/@odata.nextLink"), letters: Letters::Exact };
    Collection { pager, ..Collection::whole(call, "/value") }
}

/// What a person registered to sign in with. Microsoft documents no limit.
pub(super) fn methods(graph: &str, user: &str) -> Collection<'static> {
    let url = format!("{graph}/v1.0/users/{user}/authentication/methods");
    let permission = Cow::Borrowed("UserAuthenticationMethod.Read.All");
    let call = Call { permission, pace: pace("authentication methods", 100), ..Call::get(url) };
    let pager = Pager::Link { at: Cow::Borrowed("/@odata.nextLink"), letters: Letters::Exact };
    Collection { pager, ..Collection::whole(call, "/value") }
}

/// The report on mailboxes. Its answer leads to a file.
pub(super) fn mailbox_report(graph: &str) -> Call {
    let url = format!("{graph}/v1.0{MAILBOX_REPORT}");
    Call { pace: REPORTS, permission: Cow::Borrowed("Reports.Read.All"), ..Call::get(url) }
}
