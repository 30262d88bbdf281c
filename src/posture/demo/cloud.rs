//! What Prowler sees of the clients' clouds.

use std::collections::BTreeMap;

use super::person;
use super::portfolio::{DemoClient, Suite};
use super::view::{self, Gap};
use crate::clock::Time;
use crate::engine::asset::{AssetType, ReportedFields, Seen};
use crate::engine::catalog::Catalog;
use crate::engine::catalog::facet::FacetSet;
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::id::ImportId;
use crate::import::fold::{Fold, Folded, ImportOrigin};
use crate::import::{Check, CheckOutcome, CheckSubject, Record};

/// The tool's name in the catalog, and the source's.
pub(super) const TOOL: &str = "prowler";

/// What a check looks at.
#[derive(Clone, Copy, Debug)]
enum Subjects {
    Tenant,
    Users,
    Administrators,
    /// These, at every client.
    Named(&'static [&'static str]),
    /// Resources of this form in the cloud account: `{}` stands for the client.
    Resources(&'static [&'static str]),
}

impl Subjects {
    fn of(self, client: &DemoClient) -> Vec<String> {
        match self {
            Self::Tenant => vec![client.domain()],
            Self::Users => {
                (0..person::n_accounts(client)).map(|it| person::account(client, it)).collect()
            }
            Self::Administrators => person::administrators(client),
            Self::Named(names) => names.iter().map(|it| (*it).to_owned()).collect(),
            Self::Resources(forms) => {
                forms.iter().map(|it| it.replace("{}", &client.short())).collect()
            }
        }
    }
}

use Subjects::{Administrators, Named, Resources, Tenant, Users};

/// A check by its id, its title and what it looks at.
type CloudCheck = (&'static str, &'static str, Subjects);

const APPS: Subjects =
    Named(&["Backup Sync", "Calendly Connector", "HR Importer", "Scanner Mailer", "Zapier"]);
const MAILBOXES: Subjects = Named(&["accounts", "info", "reception", "service"]);
const SITES: Subjects = Named(&["Board papers", "Finance", "HR", "Projects", "Shared documents"]);

const MICROSOFT: [CloudCheck; 42] = [
    ("entra_users_mfa_enabled", "All users must use MFA", Users),
    (
        "entra_admin_users_phishing_resistant_mfa_enabled",
        "Administrators sign in with phishing-resistant MFA",
        Administrators,
    ),
    (
        "entra_authentication_method_sms_voice_disabled",
        "SMS and voice calls are not accepted as MFA factors",
        Tenant,
    ),
    ("entra_legacy_authentication_blocked", "Legacy authentication is blocked", Tenant),
    (
        "admincenter_users_between_two_and_four_global_admins",
        "There are two to four global administrators",
        Tenant,
    ),
    ("entra_admin_users_cloud_only", "Administrators have cloud-only accounts", Administrators),
    ("entra_access_review_guest_users_configured", "Guests are reviewed", Tenant),
    ("entra_policy_guest_invite_only_for_admin_roles", "Only administrators invite guests", Tenant),
    ("admincenter_settings_password_never_expire", "Passwords do not expire by age", Tenant),
    ("entra_identity_protection_sign_in_risk_enabled", "Risky sign-ins are challenged", Tenant),
    ("entra_emergency_access_exclusion", "Emergency accounts are excluded from policies", Tenant),
    ("entra_app_registration_credential_not_expired", "App credentials have not expired", APPS),
    (
        "entra_policy_admin_self_service_password_reset_disabled",
        "Administrators cannot reset their own password",
        Tenant,
    ),
    (
        "entra_app_registration_no_unused_privileged_permissions",
        "Apps use every privileged permission that they hold",
        APPS,
    ),
    ("entra_password_protection_lockout_threshold_limited", "Smart lockout is strict", Tenant),
    (
        "entra_conditional_access_policy_sign_in_frequency_all_users",
        "Sessions need a fresh sign-in",
        Tenant,
    ),
    (
        "entra_conditional_access_policy_device_code_flow_blocked",
        "Device code sign-in is blocked",
        Tenant,
    ),
    ("entra_policy_restricts_user_consent_for_apps", "Users cannot consent to apps", Tenant),
    ("entra_admin_consent_workflow_enabled", "Users can ask an administrator for apps", Tenant),
    (
        "exchange_mailbox_policy_additional_storage_restricted",
        "Outlook does not attach third-party storage",
        Tenant,
    ),
    ("teams_meeting_anonymous_user_join_disabled", "Anonymous people cannot join meetings", Tenant),
    ("defender_domain_dkim_enabled", "DKIM signs outgoing mail", Tenant),
    ("defender_domain_dmarc_records_published", "DMARC rejects forged mail", Tenant),
    (
        "exchange_transport_rules_mail_forwarding_disabled",
        "No rule forwards mail to outside addresses",
        Named(&["Copy invoices to scanner", "Forward to personal mail", "Vendor notices"]),
    ),
    (
        "defender_antispam_outbound_policy_forwarding_disabled",
        "Mailboxes cannot forward mail to outside addresses",
        Tenant,
    ),
    ("defender_safe_attachments_policy_enabled", "Attachments are opened in a sandbox", Tenant),
    ("defender_safelinks_policy_enabled", "Links are checked when they are clicked", Tenant),
    (
        "defender_atp_safe_attachments_and_docs_configured",
        "Files in SharePoint and Teams are opened in a sandbox",
        Tenant,
    ),
    ("defender_antiphishing_policy_configured", "Impersonation protection is on", Tenant),
    ("exchange_user_mailbox_auditing_enabled", "Mailbox auditing is on", Users),
    ("exchange_shared_mailbox_sign_in_disabled", "Shared mailboxes cannot sign in", MAILBOXES),
    (
        "exchange_application_access_policy_restricts_mailbox_apps",
        "Apps reach only the mailboxes that they need",
        APPS,
    ),
    (
        "entra_managed_device_required_for_authentication",
        "Sign-in requires a managed device",
        Tenant,
    ),
    (
        "sharepoint_onedrive_sync_restricted_unmanaged_devices",
        "Unmanaged devices cannot sync OneDrive",
        Tenant,
    ),
    ("sharepoint_external_sharing_restricted", "No site allows \"Anyone\" links", SITES),
    ("sharepoint_guest_sharing_restricted", "Guests cannot share what they do not own", Tenant),
    ("teams_external_file_sharing_restricted", "Teams uses approved file storage only", Tenant),
    ("admincenter_groups_not_public_visibility", "Groups are private", SITES),
    ("purview_audit_log_search_enabled", "The audit log is on", Tenant),
    (
        "defender_malware_policy_notifications_internal_users_malware_enabled",
        "Malware in mail is reported to the help desk",
        Tenant,
    ),
    ("entra_user_with_vm_access_has_mfa", "Remote access requires MFA", Administrators),
    ("teams_external_domains_restricted", "Chat is limited to known domains", Tenant),
];

const GOOGLE: [CloudCheck; 22] = [
    ("security_2sv_enforced", "2-Step Verification is enforced", Users),
    ("security_2sv_hardware_keys_admins", "Super admins use security keys", Administrators),
    ("directory_super_admin_count", "There are two to four super admins", Tenant),
    (
        "directory_super_admin_only_admin_roles",
        "Super admin accounts are used for nothing else",
        Administrators,
    ),
    ("security_less_secure_apps_disabled", "Less secure apps are blocked", Tenant),
    ("security_password_policy_strong", "Passwords have at least 12 characters", Tenant),
    ("security_super_admin_recovery_disabled", "Super admins cannot recover by phone", Tenant),
    ("security_session_duration_limited", "Web sessions end after a day", Tenant),
    ("security_app_access_restricted", "Users cannot connect unknown apps", Tenant),
    ("marketplace_apps_access_restricted", "Marketplace apps need approval", Tenant),
    ("gmail_auto_forwarding_disabled", "Automatic forwarding is off", Tenant),
    (
        "gmail_anomalous_attachment_protection_enabled",
        "Unusual attachments are quarantined",
        Tenant,
    ),
    ("gmail_pop_imap_access_disabled", "POP and IMAP are off", Users),
    ("gmail_domain_spoofing_protection_enabled", "Look-alike domains are quarantined", Tenant),
    ("gmail_enhanced_pre_delivery_scanning_enabled", "Suspicious mail is scanned again", Tenant),
    ("drive_sharing_allowlisted_domains", "Drive shares with known domains only", Tenant),
    ("drive_external_sharing_warn_users", "Drive warns before sharing outside", Tenant),
    ("drive_shared_drive_members_only_access", "Shared drives are for members only", SITES),
    ("groups_view_conversations_restricted", "Group conversations are private", SITES),
    ("security_dlp_drive_rules_configured", "Rules protect sensitive files in Drive", Tenant),
    ("rules_suspicious_login_alert_configured", "Suspicious logins raise an alert", Tenant),
    ("rules_leaked_password_alert_configured", "Leaked passwords raise an alert", Tenant),
];

const BUCKETS: Subjects = Resources(&[
    "s3://{}-prod-assets",
    "s3://{}-db-backups",
    "s3://{}-invoices",
    "s3://{}-access-logs",
    "s3://{}-public-site",
]);
const INSTANCES: Subjects = Resources(&["{}-web-1", "{}-web-2", "{}-jump-1", "{}-batch-1"]);
const DATABASES: Subjects = Resources(&["{}-orders-db", "{}-reporting-db"]);
const IAM_USERS: Subjects = Resources(&["deploy-bot", "{}-admin", "legacy-export", "j.castillo"]);
const VOLUMES: Subjects = Resources(&["vol-{}-web-1", "vol-{}-web-2", "vol-{}-batch-1"]);
const SNAPSHOTS: Subjects = Resources(&["snap-{}-web-1", "snap-{}-batch-1"]);
const KEYS: Subjects = Resources(&["{}-data", "{}-backup"]);
const ALB: Subjects = Resources(&["{}-shop-alb"]);
const REPOSITORIES: Subjects = Resources(&["{}-app"]);
const IAM_GROUPS: Subjects = Resources(&["developers", "readers"]);
const IAM_ROLES: Subjects = Resources(&["{}-deploy", "{}-export"]);
const GROUPS: Subjects = Resources(&["sg-{}-web", "sg-{}-jump", "sg-{}-db"]);

const AWS: [CloudCheck; 48] = [
    ("iam_root_mfa_enabled", "The root user has MFA", Tenant),
    ("iam_no_root_access_key", "The root user has no access key", Tenant),
    ("iam_user_mfa_enabled_console_access", "Console users have MFA", IAM_USERS),
    ("iam_user_hardware_mfa_enabled", "IAM users have hardware MFA", IAM_USERS),
    ("iam_rotate_access_key_90_days", "Access keys are younger than 90 days", IAM_USERS),
    ("iam_user_administrator_access_policy", "No IAM user is an administrator", IAM_USERS),
    ("iam_group_administrator_access_policy", "No IAM group is an administrator", IAM_GROUPS),
    ("iam_role_administratoraccess_policy", "No IAM role is an administrator", IAM_ROLES),
    ("s3_bucket_public_access", "Buckets are not public", BUCKETS),
    ("s3_account_level_public_access_blocks", "The account blocks public buckets", Tenant),
    ("s3_bucket_default_encryption", "Buckets encrypt by default", BUCKETS),
    ("s3_bucket_secure_transport_policy", "Buckets refuse plain HTTP", BUCKETS),
    ("s3_bucket_object_versioning", "Buckets keep versions", BUCKETS),
    ("cloudtrail_multi_region_enabled", "CloudTrail records all regions", Tenant),
    ("cloudtrail_log_file_validation_enabled", "CloudTrail files are signed", Tenant),
    ("cloudtrail_cloudwatch_logging_enabled", "CloudTrail events can raise alarms", Tenant),
    ("cloudwatch_alarm_actions_enabled", "Alarms tell somebody", Tenant),
    ("guardduty_is_enabled", "GuardDuty is on", Tenant),
    ("guardduty_s3_protection_enabled", "GuardDuty watches S3", Tenant),
    ("guardduty_ec2_malware_protection_enabled", "GuardDuty looks for malware", Tenant),
    ("ec2_instance_port_ssh_exposed_to_internet", "SSH is closed to the internet", INSTANCES),
    ("ec2_instance_port_rdp_exposed_to_internet", "RDP is closed to the internet", INSTANCES),
    ("ec2_instance_port_mysql_exposed_to_internet", "MySQL is closed to the internet", INSTANCES),
    ("ec2_instance_imdsv2_enabled", "Instances require IMDSv2", INSTANCES),
    ("ec2_ami_public", "Images are not public", Resources(&["ami-{}-web"])),
    ("ec2_ebs_public_snapshot", "Snapshots are not public", SNAPSHOTS),
    ("ec2_securitygroup_default_restrict_traffic", "Default security groups allow nothing", GROUPS),
    (
        "ec2_networkacl_allow_ingress_any_port",
        "Network ACLs do not let in every port",
        Resources(&["acl-{}-main"]),
    ),
    (
        "ec2_securitygroup_allow_wide_open_public_ipv4",
        "Security groups are not open to everyone",
        GROUPS,
    ),
    ("ec2_ebs_volume_encryption", "Volumes are encrypted", VOLUMES),
    ("ec2_instance_secrets_user_data", "User data contains no secrets", INSTANCES),
    (
        "ec2_launch_template_no_secrets",
        "Launch templates contain no secrets",
        Resources(&["lt-{}-web"]),
    ),
    ("rds_instance_no_public_access", "Databases are private", DATABASES),
    ("rds_instance_storage_encrypted", "Databases are encrypted", DATABASES),
    ("rds_instance_backup_enabled", "Databases are backed up", DATABASES),
    ("rds_instance_multi_az", "Databases run in two zones", DATABASES),
    ("rds_instance_minor_version_upgrade_enabled", "Databases upgrade by themselves", DATABASES),
    ("rds_instance_deprecated_engine_version", "Database versions are supported", DATABASES),
    ("elbv2_waf_acl_attached", "A firewall protects the load balancer", ALB),
    ("elbv2_ssl_listeners", "The load balancer requires TLS", ALB),
    ("elbv2_insecure_ssl_ciphers", "The load balancer uses current TLS", ALB),
    ("elbv2_is_in_multiple_az", "The load balancer runs in two zones", ALB),
    ("kms_cmk_rotation_enabled", "Keys rotate", KEYS),
    ("kms_key_not_publicly_accessible", "Keys are not public", KEYS),
    ("vpc_flow_logs_enabled", "Flow logs are on", Resources(&["vpc-{}-main"])),
    ("config_recorder_all_regions_enabled", "AWS Config records all regions", Tenant),
    ("ecr_repositories_scan_images_on_push_enabled", "Images are scanned", REPOSITORIES),
    ("ecr_repository_image_no_secrets", "Images contain no secrets", REPOSITORIES),
];

/// A cloud that Prowler looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cloud {
    Suite,
    Aws,
}

impl Cloud {
    fn checks(self, client: &DemoClient) -> &'static [CloudCheck] {
        match (self, client.suite) {
            (Self::Aws, _) => &AWS,
            (Self::Suite, Suite::Microsoft) => &MICROSOFT,
            (Self::Suite, Suite::Google) => &GOOGLE,
        }
    }

    pub(super) fn scope(self, client: &DemoClient) -> String {
        match (self, client.suite) {
            (Self::Aws, _) => format!("aws/{}", client.aws_account()),
            (Self::Suite, Suite::Microsoft) => format!("m365/{}", client.domain()),
            (Self::Suite, Suite::Google) => format!("google/{}", client.domain()),
        }
    }

    /// Indices of the controls of which it shows all.
    pub(super) fn controls(self, client: &DemoClient, catalog: &Catalog) -> Vec<usize> {
        let mut shown: BTreeMap<usize, FacetSet> = BTreeMap::new();
        for (check, ..) in self.checks(client) {
            for link in catalog.links_of_check(TOOL, check).iter().filter(|it| !it.needs_others) {
                let all = shown.entry(link.control).or_default();
                *all = all.with(link.shows);
            }
        }
        let is_whole =
            |(control, it): &(usize, FacetSet)| *it == catalog.controls[*control].all_facets();
        shown.into_iter().filter(is_whole).map(|it| it.0).collect()
    }

    /// What one run of Prowler finds.
    pub(super) fn read(
        self,
        client: &DemoClient,
        catalog: &Catalog,
        (week, at): (u64, Time),
        import: ImportId,
    ) -> Result<Folded> {
        let mut fold = Fold::new(ImportOrigin::at(TOOL, TOOL, import, at));
        let scope = self.scope(client);
        for (check, title, subjects) in self.checks(client) {
            let links = catalog.links_of_check(TOOL, check);
            let control = links.first().map(|it| &catalog.controls[it.control]);
            let severity = control.map_or(Severity::High, |it| it.severity);
            let gap = control.and_then(|it| Gap::of(client, it, week));
            let names = subjects.of(client);
            let failing = view::failing(client, check, gap, names.len());
            for (index, name) in names.into_iter().enumerate() {
                let fails =
                    failing.binary_search(&index).is_ok() || control.is_none() && index == 1;
                fold.add(Record::Check(Check {
                    scope: scope.clone(),
                    tool: None,
                    check: (*check).to_owned(),
                    outcome: if fails { CheckOutcome::Fail } else { CheckOutcome::Pass },
                    severity,
                    title: (*title).to_owned(),
                    remediation: None,
                    detail: None,
                    subject: CheckSubject::of(name.clone(), name),
                    observed_at: Some(at),
                }))?;
            }
        }
        if self == Self::Aws {
            resources(client, &scope).into_iter().try_for_each(|it| fold.add(Record::Asset(it)))?;
        }
        Ok(fold.finish())
    }
}

/// The resources in the AWS account that live long.
fn resources(client: &DemoClient, scope: &str) -> Vec<Seen> {
    let of = |subjects: Subjects, asset_type: AssetType, category: &str| -> Vec<Seen> {
        let seen = |name: String| Seen {
            external_id: name.clone(),
            name,
            category: Some(category.to_owned()),
            asset_type,
            is_managed: true,
            hostname: None,
            ip: None,
            mac: None,
            serial: None,
            scope: scope.to_owned(),
            seen_at: None,
            reported: ReportedFields {
                is_critical: Some(asset_type == AssetType::Database),
                ..ReportedFields::default()
            },
        };
        subjects.of(client).into_iter().map(seen).collect()
    };
    let instances = of(INSTANCES, AssetType::VirtualMachine, "ec2");
    let buckets = of(BUCKETS, AssetType::CloudResource, "s3");
    [instances, buckets, of(DATABASES, AssetType::Database, "rds")].concat()
}
