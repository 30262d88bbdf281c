//! Which subjects of checks there are once in each region, although they have one id.

use super::finding::Finding;

/// Providers whose reports say in which region something is.
const PROVIDERS: &[&str] = &["aws", "gcp"];
/// The region of what is in none.
const NOWHERE: &[&str] = &["", "global"];
/// Services of AWS that are the same in all regions. Reports give them the region from which the tool asked.
const GLOBAL: &[&str] = &[
    "account",
    "budgets",
    "cloudfront",
    "fms",
    "globalaccelerator",
    "iam",
    "organizations",
    "route53",
    "s3",
    "shield",
    "support",
    "trustedadvisor",
    "waf",
];

/// The region that belongs to the identity of what a finding is about, unless it is an asset, which is one thing wherever it is
/// named. `None`: its id says enough.
pub(super) fn of<'a>(finding: &Finding<'a>) -> Option<&'a str> {
    let region = finding.region.trim();
    let is_regional = PROVIDERS.contains(&finding.provider) && !NOWHERE.contains(&region);
    let is_said = is_global(finding) || region_of_arn(finding.resource_uid) == Some(region);
    Some(region).filter(|_| is_regional && !is_said)
}

/// The id of a check begins with its service: `ec2_ebs_default_encryption`, `EC2.7`.
fn is_global(finding: &Finding) -> bool {
    let service = finding.check.split(['_', '.']).next().unwrap_or_default();
    finding.provider == "aws" && GLOBAL.iter().any(|it| it.eq_ignore_ascii_case(service))
}

fn region_of_arn(id: &str) -> Option<&str> {
    id.trim().strip_prefix("arn:").and_then(|it| it.split(':').nth(2))
}
