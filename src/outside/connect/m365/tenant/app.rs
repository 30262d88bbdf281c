//! Applications: what has access, what it may do, and with what it signs in.

use super::field::{Field, Rows, row};

row! {
    /// Of `/servicePrincipals`.
    ServicePrincipal {
        id: Option<String>,
        app_id: Option<String>,
        display_name: Option<String>,
        app_owner_organization_id: Option<String>,
        service_principal_type: Option<String>,
        account_enabled: Option<bool>,
        verified_publisher: Field<VerifiedPublisher>,
        app_roles: Rows<AppRole>,
    }

    /// Without any value: the publisher is not verified.
    VerifiedPublisher {
        display_name: Option<String>,
        verified_publisher_id: Option<String>,
    }

    AppRole {
        id: Option<String>,
        value: Option<String>,
    }

    /// Of `/oauth2PermissionGrants`: a permission to act for users.
    PermissionGrant {
        client_id: Option<String>,
        /// `AllPrincipals` or `Principal`.
        consent_type: Option<String>,
        principal_id: Option<String>,
        /// Names of permissions, separated by spaces.
        scope: Option<String>,
    }

    /// Of `appRoleAssignedTo` of a service: a permission to act without a user.
    AppRoleAssignment {
        principal_id: Option<String>,
        app_role_id: Option<String>,
        /// The service, by the id of its service principal.
        resource_id: Option<String>,
    }

    /// Of `/applications`: the tenant's own.
    Application {
        id: Option<String>,
        app_id: Option<String>,
        display_name: Option<String>,
        password_credentials: Rows<Credential>,
        key_credentials: Rows<Credential>,
    }

    Credential {
        start_date_time: Option<String>,
        end_date_time: Option<String>,
    }

    /// Of `/servicePrincipals/{id of Microsoft Graph}/delegatedPermissionClassifications`.
    PermissionClassification {
        permission_name: Option<String>,
        classification: Option<String>,
    }

    /// Of `/policies/defaultAppManagementPolicy`.
    AppManagementPolicy {
        is_enabled: Option<bool>,
        application_restrictions: CredentialRestrictions,
        service_principal_restrictions: CredentialRestrictions,
    }

    CredentialRestrictions {
        password_credentials: Rows<CredentialRestriction>,
        key_credentials: Rows<CredentialRestriction>,
    }

    CredentialRestriction {
        restriction_type: Option<String>,
        state: Option<String>,
        /// As in ISO 8601: `P180D`.
        max_lifetime: Option<String>,
        restrict_for_apps_created_after_date_time: Option<String>,
    }
}

impl ServicePrincipal {
    /// Returns the name of one of its permissions for applications.
    #[must_use]
    pub fn role_value(&self, role: &str) -> Option<&str> {
        let role = self.app_roles.0.iter().find(|it| it.id.as_deref() == Some(role))?;
        role.value.as_deref()
    }
}

impl PermissionGrant {
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scope.as_deref().unwrap_or_default().split_whitespace()
    }

    #[must_use]
    pub fn is_tenant_wide(&self) -> bool {
        self.consent_type.as_deref() != Some("Principal")
    }
}

impl Application {
    pub fn credentials(&self) -> impl Iterator<Item = &Credential> {
        self.password_credentials.0.iter().chain(&self.key_credentials.0)
    }
}

impl AppManagementPolicy {
    /// Returns the lists of restrictions on passwords, for applications and for service principals.
    #[must_use]
    pub fn on_passwords(&self) -> [&[CredentialRestriction]; 2] {
        [&self.application_restrictions, &self.service_principal_restrictions]
            .map(|it| it.password_credentials.0.as_slice())
    }

    /// As [`Self::on_passwords`], on certificates.
    #[must_use]
    pub fn on_keys(&self) -> [&[CredentialRestriction]; 2] {
        [&self.application_restrictions, &self.service_principal_restrictions]
            .map(|it| it.key_credentials.0.as_slice())
    }
}
