//! Directory roles, who holds them, and the rules of Privileged Identity Management.

use super::field::{Field, Rows, Words, row};

row! {
    /// Of `/roleManagement/directory/roleDefinitions`.
    RoleDefinition {
        id: Option<String>,
        /// The same in every tenant, unlike the id of a role of the tenant's own.
        template_id: Option<String>,
        display_name: Option<String>,
    }

    /// Of `/roleManagement/directory/roleAssignments`, with its principal.
    RoleAssignment {
        principal_id: Option<String>,
        role_definition_id: Option<String>,
        directory_scope_id: Option<String>,
        principal: Option<Principal>,
    }

    Principal {
        #[serde(rename = "@odata.type")]
        odata_type: Option<String>,
        display_name: Option<String>,
    }

    /// Of `/roleManagement/directory/roleAssignmentScheduleInstances` and `roleEligibilityScheduleInstances`, with its principal.
    RoleSchedule {
        principal_id: Option<String>,
        role_definition_id: Option<String>,
        principal: Option<Principal>,
        /// `Assigned` or `Activated`.
        assignment_type: Option<String>,
        /// Null: it was assigned outside Privileged Identity Management.
        start_date_time: Field<String>,
        /// Null: it does not end.
        end_date_time: Field<String>,
    }

    /// Of `/policies/roleManagementPolicyAssignments`, with the rules of the policy: what Privileged Identity Management asks for.
    RolePolicy {
        role_definition_id: Option<String>,
        policy: RolePolicyRules,
    }

    RolePolicyRules {
        rules: Rows<RoleRule>,
    }

    RoleRule {
        id: Option<String>,
        setting: Option<ApprovalSetting>,
        notification_type: Option<String>,
        notification_recipients: Words,
    }

    ApprovalSetting {
        is_approval_required: Option<bool>,
    }
}

impl Principal {
    #[must_use]
    pub fn is_group(&self) -> bool {
        self.odata_type.as_deref() == Some("#microsoft.graph.group")
    }
}
