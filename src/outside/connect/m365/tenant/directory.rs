//! The organization, its licenses, users, what they registered, domains and mailboxes.

use super::field::{Field, Rows, Words, row};

row! {
    /// Of `/organization`.
    Organization {
        id: Option<String>,
        display_name: Option<String>,
    }

    /// Of `/subscribedSkus`.
    Sku {
        sku_id: Option<String>,
        capability_status: Option<String>,
        service_plans: Rows<ServicePlan>,
    }

    ServicePlan {
        service_plan_id: Option<String>,
        service_plan_name: Option<String>,
        provisioning_status: Option<String>,
    }

    /// Of `/users`.
    User {
        #[serde(rename = "@odata.type")]
        odata_type: Option<String>,
        id: Option<String>,
        user_principal_name: Option<String>,
        display_name: Option<String>,
        user_type: Option<String>,
        account_enabled: Option<bool>,
        created_date_time: Option<String>,
        assigned_licenses: Rows<AssignedLicense>,
        /// Null: it has never been synchronized.
        on_premises_sync_enabled: Field<bool>,
        is_resource_account: Option<bool>,
        employee_hire_date: Option<String>,
        sign_in_activity: Option<SignInActivity>,
    }

    AssignedLicense {
        sku_id: Option<String>,
    }

    SignInActivity {
        last_successful_sign_in_date_time: Option<String>,
        last_sign_in_date_time: Option<String>,
        last_non_interactive_sign_in_date_time: Option<String>,
    }

    /// Of `/reports/authenticationMethods/userRegistrationDetails`.
    Registration {
        id: Option<String>,
        is_mfa_registered: Option<bool>,
        /// `None`: unknown.
        methods_registered: Option<Words>,
    }

    /// Of `/domains`.
    Domain {
        id: Option<String>,
        is_verified: Option<bool>,
        is_root: Option<bool>,
        authentication_type: Option<String>,
        /// Null: the default of 90 days.
        password_validity_period_in_days: Field<i64>,
    }

    /// Of the report on mailbox usage, by its headings.
    Mailbox {
        user_principal_name: Option<String>,
        display_name: Option<String>,
        is_deleted: Option<bool>,
        /// `Shared` and `User`, or with `Mailbox` behind it. The report has not always had it.
        recipient_type: Option<String>,
    }
}
