//! What the claims of an identity provider grant.

use crate::id::ClientId;
use crate::oidc::Claims;
use crate::store::global::user::Role;

/// The value of [`OidcGrants::clients_claim`] that stands for all clients.
pub const ALL_CLIENTS: &str = "*";

/// Which claims grant what.
#[derive(Clone, Debug)]
pub struct OidcGrants {
    pub roles_claim: String,
    /// The values that grant each role. The highest role that is granted counts.
    pub roles: [(Role, Vec<String>); 3],
    /// The claim with the ids of the only clients that a viewer or analyst may see. `None`: administrators set them.
    pub clients_claim: Option<String>,
    /// The provider asks everyone for a second factor, whatever its claims say.
    pub provider_requires_mfa: bool,
    /// Values of `amr` that say that a second factor was used.
    pub amr_values: Vec<String>,
    /// Values of `acr` that say so.
    pub acr_values: Vec<String>,
}

/// What a person may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Granted {
    pub(super) role: Role,
    /// `None`: what an administrator set.
    pub(super) clients: Option<Vec<ClientId>>,
    /// The provider vouches for a second factor.
    pub(super) has_second_factor: bool,
}

/// Why a person may do nothing: what to tell that person.
pub(super) type Denied = String;

impl OidcGrants {
    /// `is_client` says whether there is such a client.
    pub(super) fn grant(
        &self,
        claims: &Claims,
        name: &str,
        is_client: impl Fn(ClientId) -> bool,
    ) -> Result<Granted, Denied> {
        let role = self.role(claims).ok_or_else(|| self.no_role(name))?;
        Ok(Granted {
            role,
            clients: self.clients(claims, role, name, is_client)?,
            has_second_factor: self.has_second_factor(claims),
        })
    }

    fn role(&self, claims: &Claims) -> Option<Role> {
        // Anyone could claim an address that nobody verified.
        if self.roles_claim == "email" && !claims.has_good_email() {
            return None;
        }
        let held = claims.values(&self.roles_claim);
        let is_granted = |values: &[String]| values.iter().any(|it| held.contains(&it.as_str()));
        self.roles.iter().filter(|it| is_granted(&it.1)).map(|it| it.0).max()
    }

    fn no_role(&self, name: &str) -> Denied {
        let claim = &self.roles_claim;
        format!(
            "{name} knows you, but grants you no role here: no value of its claim `{claim}` is one of oidc.admin_values, \
             oidc.analyst_values or oidc.viewer_values of the configuration. An administrator can have {name} send such a value \
             for you, or add one that it sends."
        )
    }

    /// An administrator always sees all clients.
    fn clients(
        &self,
        claims: &Claims,
        role: Role,
        name: &str,
        is_client: impl Fn(ClientId) -> bool,
    ) -> Result<Option<Vec<ClientId>>, Denied> {
        let Some(claim) = &self.clients_claim else { return Ok(None) };
        let values = claims.values(claim);
        if role == Role::Admin || values.contains(&ALL_CLIENTS) {
            return Ok(Some(Vec::new()));
        }
        let known = values.iter().filter_map(|it| it.parse().ok()).filter(|it| is_client(*it));
        let mut clients: Vec<ClientId> = known.collect();
        clients.sort_unstable();
        clients.dedup();
        // None at all must not come to mean all of them.
        if clients.is_empty() {
            return Err(format!(
                "{name} knows you, but grants you no client here: its claim `{claim}` has the id of none. An administrator can \
                 have {name} send the ids of your clients, or `{ALL_CLIENTS}` for all."
            ));
        }
        Ok(Some(clients))
    }

    fn has_second_factor(&self, claims: &Claims) -> bool {
        let has = |claim: &str, values: &[String]| {
            let said = claims.values(claim);
            values.iter().any(|it| said.contains(&it.as_str()))
        };
        self.provider_requires_mfa || has("amr", &self.amr_values) || has("acr", &self.acr_values)
    }
}
