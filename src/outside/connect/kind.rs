//! The kinds of connections: what each one reads, and what an operator enters for it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use crate::connect::dns::Domain;
use crate::connect::google::ServiceAccount;
use crate::connect::mapping::{self, Base, Mapping, Proof};
use crate::egress::{Fingerprint, TrustedRoots, is_url};
use crate::error::{Error, Result};

/// Longer values are refused. The longest are keys in JSON and certificates in PEM.
pub const VALUE_BYTES_MAX: usize = 16 * 1_024;

/// A kind of connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Also the name of the source of its facts.
    pub name: Cow<'static, str>,
    pub title: Cow<'static, str>,
    pub scope: KindScope,
    /// It was made by what the vendor wrote. No answer of a real system was seen.
    pub is_unproven: bool,
    pub fields: Cow<'static, [Field]>,
}

/// Whose environment it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindScope {
    /// One client's.
    Client,
    /// The managed service provider's own tool, which sees many clients.
    Provider,
}

/// What an operator enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: Cow<'static, str>,
    pub help: Cow<'static, str>,
    /// It is kept sealed, and never shown.
    pub is_secret: bool,
    pub is_required: bool,
    pub rule: FieldRule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldRule {
    /// One line.
    Text,
    /// A domain, or an id as 8-4-4-4-12 hexadecimal digits.
    Tenant,
    Domain,
    /// An address of mail.
    Email,
    /// The whole key file of a Google service account, as JSON.
    ServiceAccountKey,
    /// `https://` or `http://`, without a path.
    Origin,
    OneOf(Vec<Cow<'static, str>>),
    /// A host name or an IP address.
    Host,
    Port,
    /// Certificates of authorities, in PEM.
    Authorities,
    /// SHA-256 of a certificate.
    Fingerprint,
    /// Ids with commas between.
    Ids,
    /// The number of an AWS account.
    AwsAccount,
    /// The name of a role in an AWS account, such as `arn:aws:iam::123456789012:role/Posture`.
    AwsRole,
}

impl FieldRule {
    /// It says where secrets are sent, or how that place proves to be the right one.
    #[must_use]
    pub const fn is_place(&self) -> bool {
        match self {
            Self::Origin
            | Self::OneOf(_)
            | Self::Host
            | Self::Port
            | Self::Authorities
            | Self::Fingerprint => true,
            Self::Text
            | Self::Tenant
            | Self::Domain
            | Self::Email
            | Self::ServiceAccountKey
            | Self::Ids
            | Self::AwsAccount
            | Self::AwsRole => false,
        }
    }
}

impl Field {
    const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    const fn optional(mut self) -> Self {
        self.is_required = false;
        self
    }
}

const fn field(name: &'static str, help: &'static str, rule: FieldRule) -> Field {
    let (name, help) = (Cow::Borrowed(name), Cow::Borrowed(help));
    Field { name, help, is_secret: false, is_required: true, rule }
}

/// Of the kind that reads the DNS. Its domains are not among its fields.
pub const DNS: &str = "dns";
pub const GOOGLE: &str = "google";
pub const M365: &str = "m365";
pub const AWS: &str = "aws";
pub const AD: &str = "ad";
pub const AZURE: &str = "azure";

/// The kinds that use the managed service provider's app at Microsoft.
#[must_use]
pub fn uses_microsoft_app(kind: &str) -> bool {
    matches!(kind, M365 | AZURE)
}

const BUILT_IN: &[Kind] = &[
    Kind {
        name: Cow::Borrowed(DNS),
        title: Cow::Borrowed("DNS"),
        scope: KindScope::Client,
        is_unproven: false,
        fields: Cow::Borrowed(&[]),
    },
    Kind {
        name: Cow::Borrowed(M365),
        title: Cow::Borrowed("Microsoft 365"),
        scope: KindScope::Client,
        is_unproven: false,
        fields: Cow::Borrowed(&[field(
            "tenant",
            "A domain of the client's tenant, or the tenant's id.",
            FieldRule::Tenant,
        )]),
    },
    Kind {
        name: Cow::Borrowed(GOOGLE),
        title: Cow::Borrowed("Google Workspace"),
        scope: KindScope::Client,
        is_unproven: false,
        fields: Cow::Borrowed(&[
            field("domain", "A domain of the client's Google Workspace.", FieldRule::Domain),
            field(
                "admin",
                "The address of a super administrator of the client, in whose name it is read.",
                FieldRule::Email,
            ),
            field(
                "service_account_key",
                "The JSON key file of the service account.",
                FieldRule::ServiceAccountKey,
            )
            .secret(),
        ]),
    },
    Kind {
        name: Cow::Borrowed(AWS),
        title: Cow::Borrowed("AWS"),
        scope: KindScope::Client,
        is_unproven: false,
        fields: Cow::Borrowed(&[
            field(
                "role_arn",
                "The role to use in the client's account, like arn:aws:iam::123456789012:role/Posture. \
                 Its trust policy asks for the connection's id as ExternalId.",
                FieldRule::AwsRole,
            )
            .optional(),
            field(
                "account_id",
                "The 12 digits of the account. Needed without a role: the access key then belongs to the account itself.",
                FieldRule::AwsAccount,
            )
            .optional(),
            field(
                "access_key_id",
                "The access key of your own IAM user that may use the role.",
                FieldRule::Text,
            )
            .secret(),
            field("secret_access_key", "The secret of that access key.", FieldRule::Text).secret(),
        ]),
    },
    Kind {
        name: Cow::Borrowed(AD),
        title: Cow::Borrowed("Active Directory"),
        scope: KindScope::Client,
        is_unproven: false,
        fields: Cow::Borrowed(&[
            field("host", "The name or IP address of a domain controller.", FieldRule::Host),
            field("port", "Of LDAP over TLS. Default: 636.", FieldRule::Port).optional(),
            field("user", "An ordinary account of the domain, like reader@acme.example.", FieldRule::Text),
            field("password", "The password of that account.", FieldRule::Text).secret(),
            field(
                "ca",
                "The certificate of the authority that issued the domain controller's, in PEM. Without it, a public authority has to.",
                FieldRule::Authorities,
            )
            .optional(),
            field(
                "fingerprint",
                "SHA-256 of the domain controller's own certificate, which is then accepted whoever issued it.",
                FieldRule::Fingerprint,
            )
            .optional(),
        ]),
    },
    Kind {
        name: Cow::Borrowed(AZURE),
        title: Cow::Borrowed("Azure"),
        scope: KindScope::Client,
        is_unproven: false,
        fields: Cow::Borrowed(&[
            field(
                "tenant",
                "A domain of the client's tenant, or the tenant's id.",
                FieldRule::Tenant,
            ),
            field(
                "subscriptions",
                "Ids of subscriptions, with commas between. Default: all that the app sees.",
                FieldRule::Ids,
            )
            .optional(),
        ]),
    },
];

/// The kinds that this release carries.
#[must_use]
pub fn kinds() -> Vec<Kind> {
    let declared = mapping::embedded().iter().map(|it| Kind::declared(it));
    BUILT_IN.iter().cloned().chain(declared).collect()
}

/// A kind that no mapping declares.
#[must_use]
pub fn find_built_in(name: &str) -> Option<Kind> {
    BUILT_IN.iter().find(|it| it.name == name).cloned()
}

/// What an operator entered, by name.
pub type Values = BTreeMap<String, String>;

impl Kind {
    /// The kind that a mapping declares.
    #[must_use]
    pub fn declared(mapping: &Mapping) -> Self {
        let place = match &mapping.base {
            Base::Regions(regions) => {
                let names = regions.iter().map(|(name, _)| Cow::Owned(name.clone())).collect();
                let help = "Where your account is, as in the address of the tool.";
                field(mapping::REGION, help, FieldRule::OneOf(names))
            }
            Base::Own { help } => {
                let help = Cow::Owned(help.clone());
                Field { help, ..field(mapping::ORIGIN, "", FieldRule::Origin) }
            }
        };
        let entered = mapping.inputs.iter().map(|it| Field {
            name: Cow::Owned(it.name.clone()),
            help: Cow::Owned(format!("{}. {}", it.title, it.help)),
            is_secret: it.is_secret,
            is_required: true,
            rule: FieldRule::Text,
        });
        Self {
            name: Cow::Owned(mapping.kind.clone()),
            title: Cow::Owned(mapping.title.clone()),
            scope: KindScope::Provider,
            is_unproven: mapping.proof == Proof::Specification,
            fields: std::iter::once(place).chain(entered).collect(),
        }
    }

    fn find(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|it| it.name == name)
    }

    /// Checks values, and sorts them into those that everybody may see and those that are secret.
    ///
    /// # Errors
    /// `Invalid` about `settings.<name>`.
    pub fn sort(&self, values: Values) -> Result<(Values, Values)> {
        let (mut shown, mut secret) = (Values::new(), Values::new());
        for (name, value) in values {
            let refused =
                |rule: String| Err(Error::invalid_field(format!("settings.{name}"), rule));
            let Some(field) = self.find(&name) else {
                let names: Vec<&str> = self.fields.iter().map(|it| &*it.name).collect();
                return refused(match names.as_slice() {
                    [] => format!("is not known; {} has only `domains` (`--domain`)", self.name),
                    _ => format!("is not known; {} has {}", self.name, names.join(", ")),
                });
            };
            let value = match field.rule.check(&value) {
                Ok(value) => value,
                Err(rule) => return refused(rule),
            };
            let to = if field.is_secret { &mut secret } else { &mut shown };
            to.insert(name, value);
        }
        Ok((shown, secret))
    }

    /// Takes out the optional settings that are blank, and returns their names.
    pub fn take_cleared(&self, values: &mut Values) -> Vec<String> {
        let is_cleared = |name: &str, value: &str| {
            value.trim().is_empty() && self.find(name).is_some_and(|it| !it.is_required)
        };
        values.extract_if(.., |name, value| is_cleared(name, value)).map(|it| it.0).collect()
    }

    /// # Errors
    /// `Invalid` about the first setting that is missing.
    pub fn require(&self, shown: &Values, secret: &Values) -> Result<()> {
        let is_missing = |it: &&Field| {
            it.is_required && !shown.contains_key(&*it.name) && !secret.contains_key(&*it.name)
        };
        match self.fields.iter().find(is_missing) {
            Some(it) => {
                let rule = format!("is required: {}", it.help);
                Err(Error::invalid_field(format!("settings.{}", it.name), rule))
            }
            None => Ok(()),
        }
    }
}

impl FieldRule {
    /// Returns the value as it is kept, or the rule that it breaks.
    pub fn check(&self, value: &str) -> std::result::Result<String, String> {
        let value = value.trim();
        if value.is_empty() || VALUE_BYTES_MAX < value.len() {
            return Err(format!("must be 1 to {VALUE_BYTES_MAX} bytes"));
        }
        match self {
            Self::Text if value.chars().any(char::is_control) => Err("must be one line".to_owned()),
            Self::Text => Ok(value.to_owned()),
            Self::Tenant if is_id(value) => Ok(value.to_ascii_lowercase()),
            Self::Tenant => match Domain::parse(value) {
                Ok(domain) => Ok(domain.as_str().to_owned()),
                Err(_) => Err("must be a domain of the tenant, or the tenant's id".to_owned()),
            },
            Self::Domain => match Domain::parse(value) {
                Ok(domain) => Ok(domain.as_str().to_owned()),
                Err(_) => Err("must be a domain, like acme.example".to_owned()),
            },
            Self::Email if is_email(value) => Ok(value.to_lowercase()),
            Self::Email => Err("must be an address, like admin@acme.example".to_owned()),
            Self::ServiceAccountKey => ServiceAccount::parse(value).map(|_| value.to_owned()),
            Self::Origin => {
                let origin = value.trim_end_matches('/');
                let path = origin.split_once("://").map_or("/", |(_, rest)| rest);
                if !is_url(origin) || path.contains(['/', '?']) {
                    return Err("must be a URL without a path, like https://rmm.example".to_owned());
                }
                Ok(origin.to_owned())
            }
            Self::Host if is_host(value) => Ok(value.to_owned()),
            Self::Host => Err("must be a host name or an IP address".to_owned()),
            Self::Port => match value.parse::<u16>() {
                Ok(1..) => Ok(value.to_owned()),
                Ok(0) | Err(_) => Err("must be a port from 1 to 65535".to_owned()),
            },
            Self::Authorities => match TrustedRoots::parse(value.as_bytes()) {
                Ok(_) => Ok(value.to_owned()),
                Err(error) => Err(error.message().to_owned()),
            },
            Self::Fingerprint => match value.parse::<Fingerprint>() {
                Ok(it) => Ok(it.to_string()),
                Err(error) => Err(error.message().to_owned()),
            },
            Self::Ids => {
                let ids: Vec<String> =
                    value.split(',').map(|it| it.trim().to_ascii_lowercase()).collect();
                if !ids.iter().all(|it| is_id(it)) {
                    return Err("must be ids with commas between".to_owned());
                }
                Ok(ids.join(","))
            }
            Self::AwsAccount if is_account(value) => Ok(value.to_owned()),
            Self::AwsAccount => Err("must be the 12 digits of an account".to_owned()),
            Self::AwsRole if is_role(value) => Ok(value.to_owned()),
            Self::AwsRole => {
                Err("must be a role, like arn:aws:iam::123456789012:role/Posture".to_owned())
            }
            Self::OneOf(words) if words.iter().any(|it| it == value) => Ok(value.to_owned()),
            Self::OneOf(words) => Err(format!("must be one of {}", words.join(", "))),
        }
    }
}

fn is_email(text: &str) -> bool {
    let is_name =
        |it: &str| !it.is_empty() && !it.contains(|it: char| it.is_whitespace() || it.is_control());
    text.split_once('@')
        .is_some_and(|(name, domain)| is_name(name) && Domain::parse(domain).is_ok())
}

/// 8-4-4-4-12 hexadecimal digits.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|it| it == b'-' || it.is_ascii_hexdigit())
}

fn is_host(text: &str) -> bool {
    let is_name = !text.contains(['/', '?', '#', ':']) && is_url(&format!("https://{text}/"));
    is_name || text.parse::<Ipv6Addr>().is_ok()
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|it| it.is_ascii_digit())
}

fn is_role(text: &str) -> bool {
    let rest = text.strip_prefix("arn:aws:iam::").and_then(|it| it.split_once(":role/"));
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"+=,.@_/-".contains(&it);
    rest.is_some_and(|(account, name)| {
        is_account(account) && (1..=512).contains(&name.len()) && name.bytes().all(is_plain)
    })
}
