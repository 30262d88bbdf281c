//! Which of the resources that Prowler names are assets, and of what type.
//!
//! Prowler's own resource type belongs to the check, not to the resource (a trail may be called an S3 bucket), so the type
//! comes from the id wherever that has it: the ARN of aws, the resource id of azure. The tables below are complete: what
//! they do not list is a subject of checks, not an asset. Deliberately left out are the account itself and its settings;
//! snapshots, images, backups, launch templates, task definitions, pods and others that are created and removed
//! automatically; and what only defines permissions or watches: policies, roles, groups, access keys of users, security
//! groups, network ACLs, subnets, trails, detectors, alarms.

use std::borrow::Cow;

use crate::engine::asset::AssetType::{
    self, CloudResource, Container, Database, FileShare, Identity, Mailbox, Server, VirtualMachine,
};
use crate::engine::asset::{ReportedFields, Seen};
use crate::import::CheckSubject;
use crate::import::prowler::finding::Finding;
use crate::import::text::{self, NAME_CHARS_MAX};

/// Service and kind of an ARN (`arn:<partition>:<service>:<region>:<account>:<kind>/<id>`, or `:`
/// before the id). An empty kind: the whole last part is the id.
const AWS: &[(&str, &str, AssetType)] = &[
    ("acm", "certificate", CloudResource),
    ("amplify", "apps", CloudResource),
    ("apigateway", "apis", CloudResource),
    ("apigateway", "restapis", CloudResource),
    ("appsync", "apis", CloudResource),
    ("cloudfront", "distribution", CloudResource),
    ("codebuild", "project", CloudResource),
    ("dms", "rep", CloudResource),
    ("dynamodb", "table", Database),
    ("ec2", "instance", VirtualMachine),
    ("ec2", "transit-gateway", CloudResource),
    ("ec2", "volume", CloudResource),
    ("ec2", "vpc", CloudResource),
    ("ecr", "repository", CloudResource),
    ("ecs", "cluster", Container),
    ("ecs", "service", Container),
    ("eks", "cluster", Container),
    ("elasticache", "cluster", Database),
    ("elasticache", "replicationgroup", Database),
    ("elasticbeanstalk", "environment", CloudResource),
    ("elasticfilesystem", "file-system", FileShare),
    ("elasticloadbalancing", "loadbalancer", CloudResource),
    ("elasticmapreduce", "cluster", CloudResource),
    ("es", "domain", Database),
    ("firehose", "deliverystream", CloudResource),
    ("fsx", "file-system", FileShare),
    ("iam", "user", Identity),
    ("kafka", "cluster", CloudResource),
    ("kinesis", "stream", CloudResource),
    ("kms", "key", CloudResource),
    ("lambda", "function", CloudResource),
    ("lightsail", "Database", Database),
    ("lightsail", "Instance", VirtualMachine),
    ("memorydb", "cluster", Database),
    ("mq", "broker", CloudResource),
    ("network-firewall", "firewall", CloudResource),
    ("rds", "cluster", Database),
    ("rds", "db", Database),
    ("redshift", "cluster", Database),
    ("route53", "hostedzone", CloudResource),
    ("s3", "", CloudResource),
    ("sagemaker", "notebook-instance", CloudResource),
    ("secretsmanager", "secret", CloudResource),
    ("sns", "", CloudResource),
    ("sqs", "", CloudResource),
    ("storagegateway", "gateway", CloudResource),
    ("storagegateway", "share", FileShare),
    ("transfer", "server", CloudResource),
    ("workspaces", "workspace", VirtualMachine),
];

/// Provider and type of an azure resource id, in lower case.
const AZURE: &[(&str, AssetType)] = &[
    ("microsoft.apimanagement/service", CloudResource),
    ("microsoft.cache/redis", Database),
    ("microsoft.cognitiveservices/accounts", CloudResource),
    ("microsoft.compute/disks", CloudResource),
    ("microsoft.compute/virtualmachines", VirtualMachine),
    ("microsoft.compute/virtualmachinescalesets", CloudResource),
    ("microsoft.containerinstance/containergroups", Container),
    ("microsoft.containerregistry/registries", CloudResource),
    ("microsoft.containerservice/managedclusters", Container),
    ("microsoft.databricks/workspaces", CloudResource),
    ("microsoft.dbformariadb/servers", Database),
    ("microsoft.dbformysql/flexibleservers", Database),
    ("microsoft.dbformysql/servers", Database),
    ("microsoft.dbforpostgresql/flexibleservers", Database),
    ("microsoft.dbforpostgresql/servers", Database),
    ("microsoft.documentdb/databaseaccounts", Database),
    ("microsoft.keyvault/vaults", CloudResource),
    ("microsoft.machinelearningservices/workspaces", CloudResource),
    ("microsoft.network/applicationgateways", CloudResource),
    ("microsoft.network/azurefirewalls", CloudResource),
    ("microsoft.network/bastionhosts", CloudResource),
    ("microsoft.network/loadbalancers", CloudResource),
    ("microsoft.network/virtualnetworkgateways", CloudResource),
    ("microsoft.network/virtualnetworks", CloudResource),
    ("microsoft.search/searchservices", CloudResource),
    ("microsoft.sql/managedinstances", Database),
    ("microsoft.sql/servers", Database),
    ("microsoft.sql/servers/databases", Database),
    ("microsoft.storage/storageaccounts", CloudResource),
    ("microsoft.storage/storageaccounts/fileservices/shares", FileShare),
    ("microsoft.web/sites", CloudResource),
];

/// Resource types of gcp, whose ids do not have the type.
const GCP: &[(&str, AssetType)] = &[
    ("bigquery.googleapis.com/Dataset", Database),
    ("cloudfunctions.googleapis.com/Function", CloudResource),
    ("compute.googleapis.com/Instance", VirtualMachine),
    ("compute.googleapis.com/Network", CloudResource),
    ("container.googleapis.com/Cluster", Container),
    ("dataproc.googleapis.com/Cluster", CloudResource),
    ("dns.googleapis.com/ManagedZone", CloudResource),
    ("iam.googleapis.com/ServiceAccount", Identity),
    ("notebooks.googleapis.com/Instance", CloudResource),
    ("secretmanager.googleapis.com/Secret", CloudResource),
    ("sqladmin.googleapis.com/Instance", Database),
    ("storage.googleapis.com/Bucket", CloudResource),
];

/// Checks whose resource is a user or a mailbox although neither its type (`NotDefined`) nor its id says so.
const BY_CHECK: &[(&str, &str, AssetType)] = &[
    ("azure", "entra_non_privileged_user_has_mfa", Identity),
    ("azure", "entra_privileged_user_has_mfa", Identity),
    ("azure", "entra_user_with_recent_sign_in", Identity),
    ("azure", "entra_user_with_vm_access_has_mfa", Identity),
    ("m365", "admincenter_users_admins_reduced_license_footprint", Identity),
    ("m365", "entra_users_mfa_capable", Identity),
    ("m365", "exchange_mailbox_audit_bypass_disabled", Mailbox),
    ("m365", "exchange_mailbox_primary_smtp_uses_custom_domain", Mailbox),
    ("m365", "exchange_shared_mailbox_sign_in_disabled", Mailbox),
    ("m365", "exchange_user_mailbox_auditing_enabled", Mailbox),
];

/// The resource of a finding as an asset. `None`: it is none.
pub(in crate::import) fn asset(
    finding: &Finding,
    subject: &CheckSubject,
    scope: &str,
) -> Option<Seen> {
    asset_type(finding).map(|asset_type| Seen {
        external_id: subject.id.clone(),
        name: subject.name.clone(),
        category: text::some_line(finding.service, NAME_CHARS_MAX),
        asset_type,
        is_managed: false,
        hostname: None,
        ip: None,
        mac: None,
        serial: None,
        scope: scope.to_owned(),
        seen_at: finding.observed_at,
        reported: ReportedFields::default(),
    })
}

/// `None`: it is only a subject of checks.
fn asset_type(finding: &Finding) -> Option<AssetType> {
    let uid = finding.resource_uid.trim();
    if uid.is_empty() || uid == finding.account || uid == finding.organization {
        return None;
    }
    let by_check = || {
        let of_check = |it: &&(&str, &str, AssetType)| {
            it.0.eq_ignore_ascii_case(finding.provider) && it.1 == finding.check
        };
        BY_CHECK.iter().find(of_check).map(|it| it.2)
    };
    match finding.provider {
        "aws" => aws(uid),
        "azure" => azure(uid).or_else(by_check),
        "gcp" => GCP.iter().find(|it| it.0 == finding.resource_type).map(|it| it.1),
        "kubernetes" => matches!(finding.resource_type, "Node").then_some(Server),
        _ => by_check(),
    }
}

/// The id of a resource for all tools: in lower case where the provider ignores case and writes one id in several ways.
pub(in crate::import) fn external_id<'a>(provider: &str, uid: &'a str) -> Cow<'a, str> {
    let uid = uid.trim();
    if provider == "azure" && is_azure_id(uid) {
        Cow::Owned(uid.to_lowercase())
    } else {
        Cow::Borrowed(uid)
    }
}

fn aws(arn: &str) -> Option<AssetType> {
    let mut parts = arn.splitn(6, ':');
    if parts.next() != Some("arn") {
        return None;
    }
    let [_partition, service, _region, account] =
        [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    let resource = parts.next()?.trim_start_matches('/');
    let (kind, id) = match resource.find([':', '/']) {
        Some(end) => (&resource[..end], &resource[end + 1..]),
        None => ("", resource),
    };
    let nested = service == "apigateway" && id.contains('/');
    // An ARN with the account in place of a bucket stands for the account's settings of S3.
    let setting = service == "s3" && !account.is_empty();
    if id.is_empty() || nested || setting {
        return None;
    }
    AWS.iter().find(|it| it.0 == service && it.1 == kind).map(|it| it.2)
}

fn is_azure_id(uid: &str) -> bool {
    uid.get(..15).is_some_and(|it| it.eq_ignore_ascii_case("/subscriptions/"))
}

fn azure(uid: &str) -> Option<AssetType> {
    if !is_azure_id(uid) {
        return None;
    }
    let uid = uid.to_lowercase();
    let (_, resource) = uid.rsplit_once("/providers/")?;
    // Namespace, then type and name alternately.
    let parts: Vec<&str> = resource.split('/').collect();
    let (namespace, rest) = parts.split_first()?;
    if !rest.len().is_multiple_of(2) || rest.iter().any(|it| it.is_empty()) {
        return None;
    }
    let kind = rest.iter().step_by(2).fold((*namespace).to_owned(), |kind, it| kind + "/" + it);
    AZURE.iter().find(|it| it.0 == kind).map(|it| it.1)
}
