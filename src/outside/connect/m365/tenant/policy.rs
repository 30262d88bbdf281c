//! Policies: Conditional Access, security defaults, authentication methods, invitations and consent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::field::{Field, Rows, Words, lenient, row};

row! {
    /// Of `/policies/identitySecurityDefaultsEnforcementPolicy`.
    SecurityDefaults {
        is_enabled: Option<bool>,
    }

    /// Of `/identity/conditionalAccess/policies`.
    Policy {
        id: Option<String>,
        display_name: Option<String>,
        /// `enabled`, `disabled` or `enabledForReportingButNotEnforced`.
        state: Option<String>,
        created_date_time: Option<String>,
        modified_date_time: Option<String>,
        conditions: Conditions,
        /// `None`: it decides only how long sessions last and the like.
        grant_controls: Option<GrantControls>,
    }

    PolicyUsers {
        include_users: Words,
        exclude_users: Words,
        include_groups: Words,
        exclude_groups: Words,
        include_roles: Words,
        exclude_roles: Words,
        include_guests_or_external_users: Value,
        exclude_guests_or_external_users: Value,
    }

    PolicyApplications {
        include_applications: Words,
        exclude_applications: Words,
        include_user_actions: Words,
        application_filter: Value,
    }

    GrantControls {
        /// `OR` or `AND`.
        operator: Option<String>,
        built_in_controls: Words,
        custom_authentication_factors: Words,
        terms_of_use: Words,
        authentication_strength: Option<AuthenticationStrength>,
    }

    AuthenticationStrength {
        /// Each is one method, or several with commas between them that are used together.
        allowed_combinations: Rows<String>,
    }

    /// Of `/policies/authorizationPolicy`.
    AuthorizationPolicy {
        allow_invites_from: Option<String>,
        guest_user_role_id: Option<String>,
        default_user_role_permissions: DefaultPermissions,
    }

    DefaultPermissions {
        allowed_to_create_apps: Option<bool>,
        /// `None`: unknown.
        permission_grant_policies_assigned: Option<Words>,
    }

    /// Of `/policies/authenticationMethodsPolicy`.
    MethodsPolicy {
        /// Null: there is nothing to migrate.
        policy_migration_state: Field<String>,
        authentication_method_configurations: Rows<MethodConfiguration>,
    }

    MethodConfiguration {
        /// `Sms`, `Voice`, `Email`, `Fido2`, `MicrosoftAuthenticator` and others.
        id: Option<String>,
        state: Option<String>,
        is_software_oath_enabled: Option<bool>,
        feature_settings: FeatureSettings,
    }

    FeatureSettings {
        display_app_information_required_state: Feature,
        display_location_information_required_state: Feature,
    }

    Feature {
        state: Option<String>,
        include_target: FeatureTarget,
    }

    FeatureTarget {
        id: Option<String>,
    }

    /// Of `/policies/adminConsentRequestPolicy`.
    ConsentRequestPolicy {
        is_enabled: Option<bool>,
    }
}

/// When a policy of Conditional Access applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Conditions {
    #[serde(deserialize_with = "lenient")]
    pub users: PolicyUsers,
    #[serde(deserialize_with = "lenient")]
    pub applications: PolicyApplications,
    #[serde(deserialize_with = "lenient")]
    pub client_app_types: Words,
    #[serde(deserialize_with = "lenient")]
    pub user_risk_levels: Words,
    #[serde(deserialize_with = "lenient")]
    pub sign_in_risk_levels: Words,
    #[serde(deserialize_with = "lenient")]
    pub agent_id_risk_levels: Words,
    #[serde(deserialize_with = "lenient")]
    pub authentication_flows: AuthenticationFlows,
    #[serde(deserialize_with = "lenient")]
    pub client_applications: ClientApplications,
    /// All others, among them those that are not yet known.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

row! {
    AuthenticationFlows {
        /// `deviceCodeFlow`, `authenticationTransfer`, `none`.
        transfer_methods: Words,
    }

    ClientApplications {
        include_service_principals: Words,
        include_agent_id_service_principals: Words,
    }
}
