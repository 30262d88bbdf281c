//! What the managed service provider registers with Microsoft, and what each permission is for.

/// An application permission of Microsoft Graph.
pub struct AppPermission {
    pub name: &'static str,
    /// What is read with it.
    pub purpose: &'static str,
    /// Some may prefer to do without.
    pub is_optional: bool,
}

/// The app of Microsoft Graph itself.
pub const GRAPH_APP: &str = "00000003-0000-0000-c000-000000000000";

const fn permission(name: &'static str, purpose: &'static str) -> AppPermission {
    AppPermission { name, purpose, is_optional: false }
}

/// All of them only read.
pub const PERMISSIONS: [AppPermission; 19] = [
    permission("Organization.Read.All", "Which tenant it is, and its licenses."),
    permission("User.Read.All", "Accounts."),
    permission(
        "AuditLog.Read.All",
        "When people signed in last, which MFA methods they registered, and whether there is an audit log.",
    ),
    permission(
        "Policy.Read.All",
        "Conditional Access, security defaults, methods of sign-in, consent settings.",
    ),
    permission("RoleManagement.Read.Directory", "Who is an administrator."),
    permission(
        "RoleEligibilitySchedule.Read.Directory",
        "Who may become an administrator, with Entra ID P2.",
    ),
    permission(
        "RoleAssignmentSchedule.Read.Directory",
        "Who is an administrator for a time, with Entra ID P2.",
    ),
    permission(
        "RoleManagementPolicy.Read.Directory",
        "What is asked of those who become administrators, with Entra ID P2.",
    ),
    permission("GroupMember.Read.All", "Members of the groups that policies and roles name."),
    permission("Application.Read.All", "Apps, their permissions, and the dates of their secrets."),
    permission("Directory.Read.All", "What users consented to."),
    permission("Policy.Read.PermissionGrant", "Which permissions count as low risk."),
    permission("DeviceManagementManagedDevices.Read.All", "Devices of Intune."),
    permission(
        "DeviceManagementConfiguration.Read.All",
        "Whether there are compliance policies for them.",
    ),
    permission("Domain.Read.All", "The password policy of each domain."),
    permission(
        "SecurityEvents.Read.All",
        "Microsoft's secure score, and what it says of the protection of mail.",
    ),
    permission("SharePointTenantSettings.Read.All", "Sharing with outsiders."),
    permission("Reports.Read.All", "Which mailboxes are shared."),
    AppPermission {
        is_optional: true,
        ..permission(
            "UserAuthenticationMethod.Read.All",
            "Of tenants without Entra ID P1, which have no report: what each person registered to sign in with. \
             Leave it out if you do not want the app to see telephone numbers.",
        )
    },
];
