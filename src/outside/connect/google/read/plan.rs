//! What is asked of Google. Only the fields that are used, so that the rest of what Google keeps of people stays there.

use std::borrow::Cow;
use std::time::Duration;

use crate::connect::call::{Call, Collection, Pace, Pager};
use crate::connect::google::snapshot::StreamKind;

/// One call, or one page after another.
pub(super) struct Plan {
    pub kind: StreamKind,
    pub url: &'static str,
    /// Where the rows are.
    pub rows_at: &'static str,
    pub shape: Shape,
    /// A member that every row has. If no row has it, Google has changed, and nothing is concluded.
    pub always: &'static str,
    /// Every organization has at least one row.
    pub is_never_empty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All pages of a list.
    Rows,
    /// The first page of a list whose newest row comes first.
    Newest,
    Object,
}

const fn plan(
    kind: StreamKind,
    url: &'static str,
    rows_at: &'static str,
    always: &'static str,
) -> Plan {
    Plan { kind, url, rows_at, shape: Shape::Rows, always, is_never_empty: false }
}

impl Plan {
    const fn of(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    const fn never_empty(mut self) -> Self {
        self.is_never_empty = true;
        self
    }
}

/// One query a second for each organization.
const POLICY_API: Pace = Pace { class: "policies", gap: Duration::from_millis(1_100) };

/// In this order. The first two say whose organization it is.
pub(super) const PLANS: &[Plan] = &[
    plan(
        StreamKind::Customer,
        "https://admin.googleapis.com/admin/directory/v1/customers/my_customer?fields=id,customerDomain",
        "",
        "customerDomain",
    )
    .of(Shape::Object),
    plan(
        StreamKind::Domains,
        "https://admin.googleapis.com/admin/directory/v1/customer/my_customer/domains\
         ?fields=domains(domainName,isPrimary,verified,domainAliases/domainAliasName)",
        "/domains",
        "domainName",
    )
    .never_empty(),
    plan(
        StreamKind::Users,
        "https://admin.googleapis.com/admin/directory/v1/users?customer=my_customer&maxResults=500&projection=basic\
         &fields=nextPageToken,users(id,primaryEmail,name/fullName,isAdmin,isDelegatedAdmin,isEnrolledIn2Sv,isEnforcedIn2Sv,\
         isGuestUser,isMailboxSetup,suspended,archived,lastLoginTime,creationTime,orgUnitPath)",
        "/users",
        "isEnrolledIn2Sv",
    )
    .never_empty(),
    plan(
        StreamKind::OrgUnits,
        "https://admin.googleapis.com/admin/directory/v1/customer/my_customer/orgunits?type=allIncludingParent\
         &fields=organizationUnits(orgUnitId,orgUnitPath,parentOrgUnitId,parentOrgUnitPath)",
        "/organizationUnits",
        "orgUnitId",
    )
    .never_empty(),
    plan(
        StreamKind::Roles,
        "https://admin.googleapis.com/admin/directory/v1/customer/my_customer/roles?maxResults=100\
         &fields=nextPageToken,items(roleId,roleName,isSuperAdminRole)",
        "/items",
        "roleName",
    )
    .never_empty(),
    plan(
        StreamKind::RoleAssignments,
        "https://admin.googleapis.com/admin/directory/v1/customer/my_customer/roleassignments?maxResults=200\
         &fields=nextPageToken,items(roleId,assignedTo,assigneeType,scopeType)",
        "/items",
        "assignedTo",
    )
    .never_empty(),
    plan(
        StreamKind::SsoAssignments,
        "https://cloudidentity.googleapis.com/v1/inboundSsoAssignments?pageSize=100",
        "/inboundSsoAssignments",
        "ssoMode",
    ),
    // Without a filter: one that names all families is not understood everywhere.
    plan(
        StreamKind::Policies,
        "https://cloudidentity.googleapis.com/v1/policies?pageSize=100",
        "/policies",
        "setting",
    )
    .never_empty(),
    plan(
        StreamKind::TokenEvents,
        "https://admin.googleapis.com/admin/reports/v1/activity/users/all/applications/token?eventName=authorize&maxResults=1000\
         &fields=nextPageToken,items(id(time,applicationName),actor/email,events(name,parameters(name,value,multiValue)))",
        "/items",
        "events",
    ),
    plan(
        StreamKind::TokenEvents,
        "https://admin.googleapis.com/admin/reports/v1/activity/users/all/applications/token?eventName=revoke&maxResults=1000\
         &fields=nextPageToken,items(id(time,applicationName),actor/email,events(name,parameters(name,value,multiValue)))",
        "/items",
        "events",
    ),
    plan(
        StreamKind::TwoStepRemovals,
        "https://admin.googleapis.com/admin/reports/v1/activity/users/all/applications/user_accounts?eventName=2sv_disable\
         &maxResults=1000&fields=nextPageToken,items(id(time,applicationName),actor/email,events/name)",
        "/items",
        "id",
    ),
    plan(
        StreamKind::AuditEvents,
        "https://admin.googleapis.com/admin/reports/v1/activity/users/all/applications/login?maxResults=100\
         &fields=nextPageToken,items(id(time,applicationName),actor/email,events/name)",
        "/items",
        "id",
    )
    .of(Shape::Newest),
    plan(
        StreamKind::AuditEvents,
        "https://admin.googleapis.com/admin/reports/v1/activity/users/all/applications/admin?maxResults=100\
         &fields=nextPageToken,items(id(time,applicationName),actor/email,events/name)",
        "/items",
        "id",
    )
    .of(Shape::Newest),
    plan(
        StreamKind::MobileDevices,
        "https://admin.googleapis.com/admin/directory/v1/customer/my_customer/devices/mobile?projection=FULL&maxResults=100\
         &fields=nextPageToken,mobiledevices(resourceId,serialNumber,model,os,status,deviceCompromisedStatus,lastSync,email,\
         wifiMacAddress)",
        "/mobiledevices",
        "resourceId",
    ),
    plan(
        StreamKind::ChromeDevices,
        "https://admin.googleapis.com/admin/directory/v1/customer/my_customer/devices/chromeos?projection=FULL&maxResults=300\
         &fields=nextPageToken,chromeosdevices(deviceId,serialNumber,model,osVersion,status,lastSync,macAddress,\
         ethernetMacAddress)",
        "/chromeosdevices",
        "deviceId",
    ),
];

impl Plan {
    pub(super) fn call(&self) -> Call {
        let permission = Cow::Borrowed(self.kind.oauth_scope());
        let pace = if self.kind == StreamKind::Policies { POLICY_API } else { Pace::NONE };
        Call { pace, permission, ..Call::get(self.url) }
    }

    /// Google leaves out a list that has no rows, and the token after the last page.
    pub(super) fn collection(&self) -> Collection<'static> {
        let (at, parameter) = (Cow::Borrowed("/nextPageToken"), Cow::Borrowed("pageToken"));
        let pager = Pager::Token { at, parameter };
        Collection { pager, may_lack_rows: true, ..Collection::whole(self.call(), self.rows_at) }
    }

    pub(super) fn first_page(&self) -> Collection<'static> {
        Collection { pager: Pager::Whole, ..self.collection() }
    }
}
