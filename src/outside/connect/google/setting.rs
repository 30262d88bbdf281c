//! The settings that rules look at, and what holds where nobody set them.
//!
//! Reducers and defaults are those of Google's "Policy API concepts" (sections "Reducers for settings" and "Default field
//! values", <https://cloud.google.com/identity/docs/concepts/policy-api-concepts>), as of 2026. Two-step verification has
//! none there: it is off in a new organization. A setting without a default is unknown where nobody set it.

/// One field of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The type of the setting, without `settings/`.
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
    /// True: a policy without this field leaves it to the next one below. False: it does not.
    pub(super) merges: bool,
    pub(super) default: Option<Fixed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    Flag(bool),
    Word(&'static str),
}

const fn field(kind: &'static str, name: &'static str) -> Field {
    Field { kind, name, merges: false, default: None }
}

impl Field {
    const fn merging(self) -> Self {
        Self { merges: true, ..self }
    }

    const fn flag(self, default: bool) -> Self {
        Self { default: Some(Fixed::Flag(default)), ..self }
    }

    const fn word(self, default: &'static str) -> Self {
        Self { default: Some(Fixed::Word(default)), ..self }
    }
}

pub(super) const TWO_STEP_ALLOWED: Field =
    field("security.two_step_verification_enrollment", "allowEnrollment").flag(true);
pub(super) const TWO_STEP_FROM: Field =
    field("security.two_step_verification_enforcement", "enforcedFrom")
        .word("1970-01-01T00:00:00Z");
pub(super) const TWO_STEP_FACTORS: Field =
    field("security.two_step_verification_enforcement_factor", "allowedSignInFactorSet")
        .word("ALL");

pub(super) const LESS_SECURE_APPS: Field =
    field("security.less_secure_apps", "allowLessSecureApps").merging().flag(false);
pub(super) const SUPER_ADMIN_RECOVERY: Field =
    field("security.super_admin_account_recovery", "enableAccountRecovery").merging().flag(false);
pub(super) const USER_RECOVERY: Field =
    field("security.user_account_recovery", "enableAccountRecovery").merging().flag(false);

pub(super) const PASSWORD_LENGTH: Field = field("security.password", "minimumLength");
pub(super) const PASSWORD_STRENGTH: Field = field("security.password", "allowedStrength");
pub(super) const PASSWORD_REUSE: Field = field("security.password", "allowReuse");
pub(super) const PASSWORD_EXPIRY: Field = field("security.password", "expirationDuration");
pub(super) const PASSWORD_AT_SIGN_IN: Field =
    field("security.password", "enforceRequirementsAtLogin");

pub(super) const THIRD_PARTY_APPS: Field =
    field("api_controls.unconfigured_third_party_apps", "accessLevel").merging();
pub(super) const GOOGLE_SERVICES: Field = field("api_controls.google_services", "services");
pub(super) const MARKETPLACE: Field =
    field("workspace_marketplace.apps_access_options", "accessLevel").word("ALLOW_ALL");

pub(super) const GMAIL: Field = field("gmail.service_status", "serviceState");
pub(super) const AUTO_FORWARDING: Field =
    field("gmail.auto_forwarding", "enableAutoForwarding").flag(true);
pub(super) const PRE_DELIVERY_SCAN: Field = field(
    "gmail.enhanced_pre_delivery_message_scanning",
    "enableImprovedSuspiciousContentDetection",
);
pub(super) const ALLOWED_IPS: &str = "gmail.email_spam_filter_ip_allowlist";
pub(super) const SPAM_OVERRIDES: &str = "gmail.spam_override_lists";
pub(super) const RULE_STATES: &str = "gmail.rule_states";

const ATTACHMENTS: &str = "gmail.email_attachment_safety";
pub(super) const ATTACHMENT_PROTECTIONS: [Field; 3] = [
    field(ATTACHMENTS, "enableEncryptedAttachmentProtection"),
    field(ATTACHMENTS, "enableAttachmentWithScriptsProtection"),
    field(ATTACHMENTS, "enableAnomalousAttachmentProtection"),
];
pub(super) const ATTACHMENT_ACTIONS: [Field; 3] = [
    field(ATTACHMENTS, "encryptedAttachmentProtectionConsequence"),
    field(ATTACHMENTS, "attachmentWithScriptsProtectionConsequence"),
    field(ATTACHMENTS, "anomalousAttachmentProtectionConsequence"),
];

const LINKS: &str = "gmail.links_and_external_images";
pub(super) const LINK_PROTECTIONS: [Field; 3] = [
    field(LINKS, "enableShortenerScanning"),
    field(LINKS, "enableExternalImageScanning"),
    field(LINKS, "enableAggressiveWarningsOnUntrustedLinks").flag(false),
];

const SPOOFING: &str = "gmail.spoofing_and_authentication";
pub(super) const SPOOFING_PROTECTIONS: [Field; 5] = [
    field(SPOOFING, "detectDomainNameSpoofing"),
    field(SPOOFING, "detectEmployeeNameSpoofing"),
    field(SPOOFING, "detectDomainSpoofingFromUnauthenticatedSenders"),
    field(SPOOFING, "detectUnauthenticatedEmails"),
    field(SPOOFING, "detectGroupsSpoofing"),
];
pub(super) const SPOOFING_ACTIONS: [Field; 5] = [
    field(SPOOFING, "domainNameSpoofingConsequence"),
    field(SPOOFING, "employeeNameSpoofingConsequence"),
    field(SPOOFING, "domainSpoofingConsequence"),
    field(SPOOFING, "unauthenticatedEmailConsequence"),
    field(SPOOFING, "groupsSpoofingConsequence"),
];

pub(super) const DRIVE: Field = field("drive_and_docs.service_status", "serviceState");
const DRIVE_SHARING: &str = "drive_and_docs.external_sharing";
pub(super) const DRIVE_MODE: Field = field(DRIVE_SHARING, "externalSharingMode").word("ALLOWED");
pub(super) const DRIVE_PUBLISHING: Field = field(DRIVE_SHARING, "allowPublishingFiles").flag(true);
pub(super) const DRIVE_VISITORS: Field = field(DRIVE_SHARING, "allowNonGoogleInvites").flag(true);
pub(super) const DRIVE_LISTED_VISITORS: Field =
    field(DRIVE_SHARING, "allowNonGoogleInvitesInAllowlistedDomains").flag(false);

pub(super) const CALENDAR: Field = field("calendar.service_status", "serviceState");
pub(super) const PRIMARY_CALENDAR: Field =
    field("calendar.primary_calendar_max_allowed_external_sharing", "maxAllowedExternalSharing")
        .merging()
        .word("EXTERNAL_FREE_BUSY_ONLY");
pub(super) const SECONDARY_CALENDAR: Field =
    field("calendar.secondary_calendar_max_allowed_external_sharing", "maxAllowedExternalSharing")
        .merging()
        .word("EXTERNAL_ALL_INFO_READ_ONLY");

pub(super) const CHAT: Field = field("chat.service_status", "serviceState");
pub(super) const CHAT_FILES: Field = field("chat.chat_file_sharing", "externalFileSharing");
pub(super) const CHAT_OUTSIDE: Field =
    field("chat.external_chat_restriction", "allowExternalChat").merging().flag(false);

pub(super) const GROUPS: Field = field("groups_for_business.service_status", "serviceState");
const GROUPS_SHARING: &str = "groups_for_business.groups_sharing";
pub(super) const GROUPS_ACCESS: Field =
    field(GROUPS_SHARING, "collaborationCapability").merging().word("DOMAIN_USERS_ONLY");
pub(super) const GROUPS_OUTSIDERS: Field =
    field(GROUPS_SHARING, "ownersCanAllowExternalMembers").merging().flag(false);

pub(super) const DLP_RULES: &str = "rule.dlp";
