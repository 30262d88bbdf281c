//! Rows as Google sends them. A field that is absent, null or of another type is unknown, and never fails its row.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::clock::Time;

/// A field that is `None` if it is not of its type.
pub(super) fn lenient<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Value::deserialize(from).map(|it| serde_json::from_value(it).ok())
}

/// An identifier. Google writes large numbers as strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                Err(serde::de::Error::custom("not an identifier"))
            }
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A number, which may be written as a string.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
        let number = number.filter(|it: &f64| it.is_finite());
        number.map(Self).ok_or_else(|| serde::de::Error::custom("not a number"))
    }
}

/// A date-time in the form of RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Time);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

macro_rules! row {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            $($(#[$of])* #[serde(deserialize_with = "lenient")] pub $field: Option<$type>,)*
        }
    };
}

row!(Customer { id: String, customer_domain: String });

row!(User {
    id: Key,
    primary_email: String,
    name: UserName,
    /// It is a super administrator.
    is_admin: bool,
    /// It holds another role of an administrator.
    is_delegated_admin: bool,
    #[serde(rename = "isEnrolledIn2Sv")]
    is_enrolled_in_2sv: bool,
    #[serde(rename = "isEnforcedIn2Sv")]
    is_enforced_in_2sv: bool,
    is_guest_user: bool,
    is_mailbox_setup: bool,
    suspended: bool,
    archived: bool,
    /// 1970: never.
    last_login_time: Moment,
    creation_time: Moment,
    org_unit_path: String,
});

row!(UserName { full_name: String });

row!(Role { role_id: Key, role_name: String, is_super_admin_role: bool });

row!(RoleAssignment {
    role_id: Key,
    assigned_to: Key,
    /// `user` or `group`.
    assignee_type: String,
    /// `CUSTOMER` or `ORG_UNIT`.
    scope_type: String,
});

row!(
    /// Of `orgunits` with `type=ALL_INCLUDING_PARENT`: without the top unit, nothing is known of inheritance.
    OrgUnit {
        org_unit_id: String,
        org_unit_path: String,
        parent_org_unit_id: String,
        parent_org_unit_path: String,
    }
);

row!(
    /// A setting of an organizational unit or a group.
    Policy {
        policy_query: PolicyQuery,
        setting: Setting,
    }
);

row!(PolicyQuery {
    /// In CEL.
    query: String,
    org_unit: String,
    group: String,
    sort_order: Number,
});

row!(Setting {
    /// Such as `settings/security.password`.
    #[serde(rename = "type")]
    kind: String,
    value: serde_json::Map<String, Value>,
});

row!(MobileDevice {
    resource_id: String,
    serial_number: String,
    model: String,
    os: String,
    status: String,
    device_compromised_status: String,
    last_sync: Moment,
    email: Vec<String>,
    wifi_mac_address: String,
});

row!(ChromeDevice {
    device_id: String,
    serial_number: String,
    model: String,
    os_version: String,
    status: String,
    last_sync: Moment,
    mac_address: String,
    ethernet_mac_address: String,
});

row!(Domain {
    domain_name: String,
    is_primary: bool,
    verified: bool,
    domain_aliases: Vec<DomainAlias>,
});

row!(
    /// Another name of a domain.
    DomainAlias {
        domain_alias_name: String,
    }
);

row!(SsoAssignment { target_org_unit: String, target_group: String, sso_mode: String });

row!(
    /// A row of the Reports API.
    Activity {
        id: ActivityId,
        actor: Actor,
        events: Vec<Event>,
    }
);

row!(ActivityId { time: Moment, application_name: String });

row!(Actor { email: String });

row!(Event {
    name: String,
    parameters: Vec<Parameter>,
});

row!(Parameter {
    name: String,
    value: String,
    multi_value: Vec<String>,
});

impl User {
    /// It can sign in.
    pub(super) fn is_active(&self) -> bool {
        self.suspended != Some(true) && self.archived != Some(true)
    }

    pub(super) fn is_super(&self) -> bool {
        self.is_admin == Some(true)
    }

    /// It is an administrator of any kind.
    pub(super) fn is_any_admin(&self) -> bool {
        self.is_super() || self.is_delegated_admin == Some(true)
    }

    pub(super) fn email(&self) -> &str {
        self.primary_email.as_deref().unwrap_or_default()
    }
}

impl Event {
    pub(super) fn parameter(&self, name: &str) -> Option<&Parameter> {
        let mut all = self.parameters.iter().flatten();
        all.find(|it| it.name.as_deref() == Some(name))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.parameter(name)?.value.as_deref()
    }
}
