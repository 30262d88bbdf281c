//! Controls of which one failure is enough: which failures are that one.

use posture_core::catalog::embedded;

/// Gaps of controls of which one failure is enough, whose failure is not one of these: tool, check or all of the tool with `*`,
/// control, and why.
const GAPS_NOT_FATAL: [(&str, &str, &str, &str); 17] = [
    ("maester", "*", "ID-35", "hardening that opens no path by itself"),
    ("pingcastle", "*", "ID-35", "beyond its level 1, the threats to the whole domain"),
    ("securescore", "*", "ID-35", "hardening, or one of several attributes"),
    ("zero-trust", "21985", "ID-35", "single sign-on that nobody uses"),
    ("powerpipe", "fsbp:ec2_19", "NET-01", "ports of mail and of the web, too"),
    ("prowler", HIGH_RISK_PORTS, "NET-01", "ports of mail and of the web, too"),
    ("securityhub", "EC2.19", "NET-01", "ports of mail and of the web, too"),
    ("powerpipe", "fsbp:s3_19", "CLD-05", "a setting that would allow it"),
    (
        "prowler",
        "monitor_storage_account_with_activity_logs_is_private",
        "CLD-05",
        "a setting that would allow it",
    ),
    ("prowler", "s3_access_point_public_access_block", "CLD-05", "a setting that would allow it"),
    (
        "prowler",
        "s3_multi_region_access_point_public_access_block",
        "CLD-05",
        "a setting that would allow it",
    ),
    (
        "prowler",
        "storage_blob_public_access_level_is_disabled",
        "CLD-05",
        "a setting that would allow it",
    ),
    ("securityhub", "S3.19", "CLD-05", "a setting that would allow it"),
    ("defender-cloud", "*", "CLD-01", "accounts that only read, too"),
    ("defender-cloud", "*", "CLD-10", "access that is not just in time, too"),
    ("prowler", "compute_instance_serial_ports_in_use", "CLD-10", "a console, and no port"),
    (
        "prowler",
        "postgresql_flexible_server_allow_access_services_disabled",
        "CLD-24",
        "all of Azure, and not the internet",
    ),
];
const HIGH_RISK_PORTS: &str =
    "ec2_securitygroup_allow_ingress_from_internet_to_high_risk_tcp_ports";

#[test]
fn a_gap_of_a_control_of_which_one_failure_is_enough_says_of_which_facet() {
    let catalog = embedded().unwrap();
    let mut excused = GAPS_NOT_FATAL.to_vec();
    let mut silent = Vec::new();
    for (control, checks) in catalog.controls.iter().zip(catalog.checks_of_controls()) {
        if control.any_facets().is_empty() {
            continue;
        }
        for it in checks.iter().filter(|it| it.fails.is_empty()) {
            let code = control.code.as_str();
            let is_it = |(tool, check, of, _): &(&str, &str, &str, &str)| {
                *tool == it.tool && (*check == "*" || *check == it.check) && *of == code
            };
            if GAPS_NOT_FATAL.iter().any(is_it) {
                excused.retain(|it| !is_it(it));
            } else {
                silent.push(format!("{code}: {} {}", it.tool, it.check));
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
    assert_eq!(excused, [], "these say it");
}
