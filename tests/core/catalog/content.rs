//! What this release's catalogue holds: the frameworks' own references, all of them, each answered by controls.

use std::collections::{BTreeMap, BTreeSet};

use posture_core::catalog::embedded;
use posture_core::engine::catalog::{Catalog, CheckLink};
use posture_core::engine::framework::{
    ControlRole, Framework, FrameworkId, FrameworkRow, Level, Mapping, ReadinessRule,
};
use posture_core::engine::severity::Severity;

/// A serious check that fails must show in each of these.
pub(super) const SECURITY: [FrameworkId; 7] = [
    FrameworkId::Soc2,
    FrameworkId::Hipaa,
    FrameworkId::Iso27001,
    FrameworkId::NistCsf,
    FrameworkId::PciDss,
    FrameworkId::Cjis,
    FrameworkId::CmmcL2,
];
/// Controls of high or critical severity that a framework has no row for, and why.
const WITHOUT_ROW: [(FrameworkId, &str, &str); 2] = [
    (FrameworkId::Hipaa, "DEV-07", "the rule has no standard on source code"),
    (FrameworkId::PciDss, "DAT-20", "card data may not be in mail and shared files"),
];
/// How many of the mapped checks decide only controls that are on no row, in tenths of a percent. A number may fall.
const WITHOUT_ROW_PERMILLE: [(FrameworkId, usize); 7] = [
    (FrameworkId::Soc2, 36),
    (FrameworkId::Hipaa, 79),
    (FrameworkId::Iso27001, 14),
    (FrameworkId::NistCsf, 19),
    (FrameworkId::PciDss, 65),
    (FrameworkId::Cjis, 19),
    (FrameworkId::CmmcL2, 71),
];
/// Checks of Prowler whose pass proves little: nothing was there to look at, or something narrower than the control
/// was.
const PASS_PROVES_LITTLE: [&str; 32] = [
    "acm_certificates_with_secure_key_algorithms",
    "apiserver_strong_ciphers_only",
    "apitoken_not_super_admin",
    "artifacts_container_analysis_enabled",
    "awslambda_function_using_cross_account_layers",
    "backup_plans_exist",
    "backup_vaults_exist",
    "cloudformation_stack_cdktoolkit_bootstrap_version",
    "defender_assessments_vm_endpoint_protection_installed",
    "defender_ensure_system_updates_are_applied",
    "directoryservice_radius_server_security_protocol",
    "dynamodb_table_cross_account_access",
    "ec2_ebs_volume_protected_by_backup_plan",
    "ec2_ebs_volume_snapshots_exists",
    "elb_desync_mitigation_mode",
    "entra_app_registration_no_unused_privileged_permissions",
    "entra_directory_sync_object_takeover_blocked",
    "entra_policy_default_user_cannot_read_bitlocker_keys",
    "entra_seamless_sso_disabled",
    "gcr_container_scanning_enabled",
    "groups_creation_restricted",
    "guardduty_no_high_severity_findings",
    "iam_administrator_access_with_mfa",
    "iam_inline_policy_no_full_access_to_kms",
    "iam_policy_no_full_access_to_kms",
    "kubelet_strong_ciphers_only",
    "lightsail_instance_automated_snapshots",
    "organization_members_mfa_required",
    "s3_bucket_cross_account_access",
    "s3_bucket_shadow_resource_vulnerability",
    "storage_cross_tenant_replication_disabled",
    "vm_backup_enabled",
];
/// Critical checks of Prowler that decide only controls of lower severity, and why.
const CRITICAL_FOR_PROWLER_ALONE: [(&str, &str); 1] = [(
    "teams_meeting_external_lobby_bypass_disabled",
    "a guest sees one meeting, and no account or file",
)];
/// Frameworks with fewer rows may share a control by more of them.
const N_ROWS_CAPPED: usize = 20;
/// Of the rows, that one control may decide.
const SHARE_MAX_PERCENT: usize = 20;

/// Lists of identifiers, one a line, as their publishers have them.
macro_rules! list {
    ($name:literal) => {
        include_str!(concat!("../../data/frameworks/", $name, ".txt"))
    };
}

fn published(id: FrameworkId) -> Vec<(&'static str, &'static str)> {
    let list = match id {
        FrameworkId::Soc2 => list!("SOC2"),
        FrameworkId::Hipaa => list!("HIPAA"),
        FrameworkId::PciDss => list!("PCI_DSS"),
        FrameworkId::NistCsf => list!("NIST_CSF"),
        FrameworkId::Iso27001 => list!("ISO_27001"),
        FrameworkId::Cjis => list!("CJIS"),
        FrameworkId::CmmcL1 => list!("CMMC_L1"),
        FrameworkId::CmmcL2 => list!("CMMC_L2"),
        FrameworkId::Ferpa => list!("FERPA"),
        FrameworkId::Pipeda => list!("PIPEDA"),
        FrameworkId::Loi25 => list!("LOI_25"),
        FrameworkId::CisV8 => list!("CIS_V8"),
        FrameworkId::CyberEssentials => list!("CYBER_ESSENTIALS"),
        FrameworkId::Essential8 => list!("ESSENTIAL_8"),
        FrameworkId::Gdpr => list!("GDPR"),
        FrameworkId::Nis2 => list!("NIS2"),
        FrameworkId::Nist80053 => list!("NIST_800_53"),
        FrameworkId::Nist800171 => list!("NIST_800_171_R3"),
        FrameworkId::Own(_) => panic!("{id:?} is not published"),
    };
    list.lines().map(|it| it.split_once(' ').unwrap()).collect()
}

fn real() -> Catalog {
    embedded().unwrap_or_else(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", problems.join("\n"))
    })
}

#[test]
fn the_catalogue_of_this_release_loads() {
    let catalog = real();
    let frameworks: Vec<_> = catalog.frameworks.iter().map(|it| it.id).collect();
    assert_eq!(frameworks, FrameworkId::EMBEDDED);
    assert_eq!(frameworks[..11], FrameworkId::CONTRACT);
    assert_eq!((catalog.categories.len(), catalog.controls.len()), (12, 252));
    assert!(
        catalog.tools["prowler"].checks.len() > 100,
        "{}",
        catalog.tools["prowler"].checks.len()
    );
    for tool in [
        "nmap",
        "prowler",
        "scuba",
        "maester",
        "lynis",
        "securescore",
        "pingcastle",
        "xccdf",
        "zero-trust",
        "defender-cloud",
        "scoutsuite",
        "wazuh-sca",
        "kube-bench",
        "hardeningkitty",
        "securityhub",
        "powerpipe",
        "sarif",
        "oscal",
    ] {
        assert!(catalog.tools.contains_key(tool), "{tool}");
    }
    let decided = |it: &posture_core::engine::framework::Framework| {
        it.rows.iter().any(|row| row.controls.iter().any(|it| it.role == ControlRole::Decides))
    };
    assert!(catalog.frameworks.iter().all(decided), "a framework no control decides any row of");
}

/// Short words that are in nearly every English text, and in no French one.
const ENGLISH: [&str; 5] = [" the ", " with ", " that ", " is ", "Turn on"];

#[test]
fn every_control_is_there_in_french() {
    let catalog = real();
    for it in &catalog.controls {
        let french = it.french.as_ref().unwrap_or_else(|| panic!("{}", it.code));
        for (text, english) in [
            (&french.title, &it.title),
            (&french.gap, &it.gap),
            (&french.remediation, &it.remediation),
        ] {
            assert!(text != english, "{}: {text}", it.code);
            let found = ENGLISH.into_iter().find(|word| text.contains(word));
            assert_eq!(found, None, "{}: {text}", it.code);
        }
    }
}

#[test]
fn controls_of_powerpipe_decide_what_those_of_security_hub_with_the_same_ids_do() {
    let catalog = embedded().unwrap();
    let of_hub = catalog.tools["securityhub"].checks.iter();
    let of_hub = of_hub.map(|(id, links)| {
        (format!("fsbp:{}", id.to_lowercase().replace('.', "_")), format!("{links:?}"))
    });
    let of_powerpipe = catalog.tools["powerpipe"].checks.iter();
    let of_powerpipe = of_powerpipe.map(|(id, links)| (id.clone(), format!("{links:?}")));
    assert_eq!(of_powerpipe.collect::<BTreeMap<_, _>>(), of_hub.collect::<BTreeMap<_, _>>());
}

#[test]
fn frameworks_have_the_contract_s_names_and_the_product_s_readiness_rules() {
    let names = [
        "SOC 2 Type II",
        "HIPAA Security Rule",
        "PCI DSS v4.0",
        "NIST Cybersecurity Framework",
        "ISO/IEC 27001:2022",
        "CJIS Security Policy",
        "CMMC Level 1",
        "CMMC Level 2",
        "FERPA (34 CFR Part 99)",
        "PIPEDA (Canada)",
        "Quebec Law 25",
    ];
    let catalog = real();
    for (id, name) in FrameworkId::CONTRACT.into_iter().zip(names) {
        assert_eq!(catalog.find_framework(id).unwrap().name, name);
        let expected = if id == FrameworkId::CmmcL1 {
            ReadinessRule::CompliantShare
        } else if id == FrameworkId::CmmcL2 {
            ReadinessRule::Sprs
        } else {
            ReadinessRule::Mean
        };
        assert_eq!(catalog.find_framework(id).unwrap().readiness, expected, "{name}");
    }
    let gates = |id| catalog.find_framework(id).unwrap().rows.iter().filter(|it| it.gate).count();
    assert!(0 < gates(FrameworkId::Hipaa) && 0 < gates(FrameworkId::CmmcL2));
}

#[test]
fn rows_are_the_published_references_in_order() {
    let catalog = real();
    for framework in &catalog.frameworks {
        let ours = framework.rows.iter().map(|it| (it.level.as_str(), it.reference.as_str()));
        // FERPA's checklist is ours, beside the regulation's rows.
        let ours: Vec<_> = ours.filter(|(_, it)| !it.starts_with("CHECKLIST-")).collect();
        assert_eq!(ours, published(framework.id), "{}", framework.name);
    }
    let ferpa = catalog.find_framework(FrameworkId::Ferpa).unwrap();
    let n_checklist = ferpa.rows.iter().filter(|it| it.reference.starts_with("CHECKLIST-")).count();
    assert!((12..=20).contains(&n_checklist), "{n_checklist}");
}

#[test]
fn rows_are_in_the_published_groups() {
    let catalog = real();
    for (id, list) in [
        (FrameworkId::CisV8, list!("CIS_V8_groups")),
        (FrameworkId::Essential8, list!("ESSENTIAL_8_groups")),
    ] {
        let framework = catalog.find_framework(id).unwrap();
        let line = |row: &FrameworkRow| {
            let groups = row.groups.iter().map(|it| framework.groups[*it].as_str());
            [row.reference.as_str()].into_iter().chain(groups).collect::<Vec<_>>().join(" ")
        };
        let ours: Vec<_> = framework.rows.iter().map(line).collect();
        assert_eq!(ours, list.lines().collect::<Vec<_>>(), "{}", framework.name);
    }
}

#[test]
fn ferpa_cites_only_paragraphs_that_exist() {
    let citations: BTreeSet<&str> = list!("FERPA_citations").lines().collect();
    for row in &real().find_framework(FrameworkId::Ferpa).unwrap().rows {
        let is_known = citations.contains(row.reference.as_str());
        assert!(is_known || row.reference.starts_with("CHECKLIST-"), "{}", row.reference);
    }
}

#[test]
fn every_row_has_a_control_and_every_control_a_row() {
    let catalog = real();
    let mut used = BTreeSet::new();
    for framework in &catalog.frameworks {
        for row in &framework.rows {
            assert!(!row.controls.is_empty(), "{} {}", framework.name, row.reference);
            used.extend(row.controls.iter().map(|it| it.control));
        }
    }
    let orphans = (0..catalog.controls.len()).filter(|it| !used.contains(it));
    let orphans: Vec<_> = orphans.map(|it| &catalog.controls[it].code).collect();
    assert!(orphans.is_empty(), "{orphans:?}");
}

/// The detail rows where there are any, else all.
fn counted(framework: &Framework) -> Vec<&posture_core::engine::framework::FrameworkRow> {
    let has_details = framework.rows.iter().any(|it| it.level == Level::Detail);
    let level = if has_details { Level::Detail } else { Level::Requirement };
    framework.rows.iter().filter(|it| it.level == level).collect()
}

#[test]
fn no_control_is_stretched_over_a_framework() {
    let catalog = real();
    for framework in &catalog.frameworks {
        let rows = counted(framework);
        if rows.len() <= N_ROWS_CAPPED {
            continue;
        }
        let mut uses: BTreeMap<usize, usize> = BTreeMap::new();
        // A support is an indicator, and no quota keeps a true one out.
        let decides = |it: &&Mapping| it.role == ControlRole::Decides;
        for it in rows.iter().flat_map(|it| &it.controls).filter(decides) {
            *uses.entry(it.control).or_default() += 1;
        }
        for (control, n) in uses {
            let control = &catalog.controls[control];
            let most = rows.len() * SHARE_MAX_PERCENT / 100;
            assert!(
                n <= most,
                "{}: {} is on {n} rows, at most {most}",
                framework.name,
                control.code
            );
        }
    }
}

/// How many rows each framework has that nothing decides: a person must attest them with evidence. A number may fall.
const UNDECIDED: [(FrameworkId, usize); 11] = [
    (FrameworkId::Soc2, 0),
    (FrameworkId::Hipaa, 2),
    (FrameworkId::PciDss, 21),
    (FrameworkId::NistCsf, 1),
    (FrameworkId::Iso27001, 1),
    (FrameworkId::Cjis, 21),
    (FrameworkId::CmmcL1, 0),
    (FrameworkId::CmmcL2, 3),
    (FrameworkId::Ferpa, 0),
    (FrameworkId::Pipeda, 0),
    (FrameworkId::Loi25, 2),
];

#[test]
fn few_rows_have_only_indicators() {
    let catalog = real();
    for (id, most) in UNDECIDED {
        let rows = catalog.find_framework(id).unwrap().rows.iter();
        let undecided =
            rows.filter(|it| it.controls.iter().all(|it| it.role != ControlRole::Decides));
        let undecided: Vec<_> = undecided.map(|it| it.reference.as_str()).collect();
        assert!(undecided.len() <= most, "{}: {undecided:?}", id.as_str());
    }
}

#[test]
fn sprs_weights_are_the_published_ones() {
    let catalog = real();
    let rows = &catalog.find_framework(FrameworkId::CmmcL2).unwrap().rows;
    let lines: Vec<_> = list!("CMMC_L2_SPRS").lines().collect();
    assert_eq!(rows.len(), lines.len());
    for (row, line) in rows.iter().zip(lines) {
        let sprs = row.sprs.filter(|it| 0 < it.weight);
        let shown = |it: Option<u8>| it.map_or("-".to_owned(), |it| it.to_string());
        let (weight, partial) = (sprs.map(|it| it.weight), sprs.and_then(|it| it.partial));
        assert_eq!(line, format!("{} {} {}", row.reference, shown(weight), shown(partial)));
    }
}

#[test]
fn no_text_repeats_the_name_it_stands_under() {
    let catalog = real();
    for row in catalog.frameworks.iter().flat_map(|it| &it.rows) {
        assert_ne!(row.title.to_lowercase(), row.description.to_lowercase(), "{}", row.reference);
    }
    let mut texts = BTreeSet::new();
    for control in &catalog.controls {
        for text in [&control.title, &control.requires, &control.risk, &control.remediation] {
            assert!(texts.insert(text), "{}: {text:?} stands elsewhere too", control.code);
        }
    }
}

fn used(framework: &Framework) -> BTreeSet<usize> {
    framework.rows.iter().flat_map(|it| &it.controls).map(|it| it.control).collect()
}

#[test]
fn every_serious_technical_control_is_on_a_row_of_each_security_framework() {
    let catalog = real();
    for id in SECURITY {
        let used = used(catalog.find_framework(id).unwrap());
        let absent: Vec<&str> = catalog
            .controls
            .iter()
            .enumerate()
            .filter(|(index, it)| {
                it.is_automatic() && Severity::High <= it.severity && !used.contains(index)
            })
            .map(|(_, it)| it.code.as_str())
            .collect();
        let excused = WITHOUT_ROW.iter().filter(|it| it.0 == id).map(|it| it.1);
        assert_eq!(absent, excused.collect::<Vec<_>>(), "{}", id.as_str());
    }
}

#[test]
fn few_mapped_checks_reach_no_row_of_a_security_framework() {
    let catalog = real();
    for (id, most) in WITHOUT_ROW_PERMILLE {
        let used = used(catalog.find_framework(id).unwrap());
        let checks = || catalog.tools.values().flat_map(|it| it.checks.values());
        let lost = checks().filter(|it| it.iter().all(|it| !used.contains(&it.control))).count();
        let permille = lost * 1_000 / checks().count();
        assert!(permille <= most, "{}: {permille} of 1,000 checks", id.as_str());
    }
}

#[test]
fn a_rule_decides_the_controls_of_all_its_references_each_once() {
    let catalog = real();
    let codes = |check: &str| {
        let links = catalog.links_of_check("xccdf", check);
        let code = |it: &CheckLink| {
            let mark = if it.shows_only_gaps() { " (gaps)" } else { "" };
            format!("{}{mark}", catalog.controls[it.control].code)
        };
        links.iter().map(code).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(codes("a_rule [nist-800-53:AC-7]"), "ID-25 (gaps)");
    assert_eq!(codes("a_rule [nist-800-171:3.1.8 nist-800-53:AC-7]"), "ID-25 (gaps)");
    assert_eq!(codes("a_rule [nist-800-53:AC-12 nist-800-53:AC-7]"), "ID-25 (gaps), ID-26 (gaps)");
    for nothing in ["nist-800-53:AC-7", "AC-7", "a_rule [nist-800-53:AC-7(3)]", "a_rule []", "]"] {
        assert_eq!(codes(nothing), "", "{nothing}");
    }
}

/// How long the log is kept has to be attested.
#[test]
fn that_the_audit_log_is_on_shows_too_little_of_its_control() {
    let catalog = real();
    let index = catalog.controls.iter().position(|it| it.code == "LOG-01").unwrap();
    let kept = catalog.controls[index].find_facet("kept").unwrap();
    let links = catalog.tools.values().flat_map(|it| it.checks.values().flatten());
    let whole: Vec<bool> =
        links.filter(|it| it.control == index).map(|it| it.shows.has(kept)).collect();
    assert!(5 < whole.len() && !whole.contains(&true), "{whole:?}");
}

#[test]
fn a_check_whose_pass_proves_little_makes_no_serious_control_compliant() {
    let catalog = real();
    for check in PASS_PROVES_LITTLE {
        let decides = catalog.links_of_check("prowler", check);
        let decides = decides.iter().filter(|it| !it.shows_only_gaps());
        let serious = decides.map(|it| &catalog.controls[it.control]);
        let serious = serious.filter(|it| Severity::High <= it.severity);
        let codes: Vec<&str> = serious.map(|it| it.code.as_str()).collect();
        assert_eq!(codes, [""; 0], "{check}");
    }
}

#[test]
fn a_control_asks_for_no_more_checks_than_there_are() {
    let catalog = real();
    for (control, checks) in catalog.controls.iter().zip(catalog.checks_of_controls()) {
        let n_deciding = checks.iter().filter(|it| !it.shows.is_empty()).count();
        let is_met = usize::from(control.n_checks_min) <= n_deciding;
        let is_free = control.n_checks_min == 1 || control.open_findings.is_some();
        assert!(is_met || is_free, "{}: {n_deciding} checks", control.code);
    }
}

#[test]
fn a_critical_check_of_prowler_opens_a_serious_risk() {
    let catalog = real();
    let checks = include_str!("../../data/prowler_critical_checks.txt").lines();
    let understated = checks.filter(|check| {
        let controls = catalog.links_of_check("prowler", check);
        // Without a control, the finding is a risk of its own severity.
        let is_serious = |it: &CheckLink| Severity::High <= catalog.controls[it.control].severity;
        !controls.is_empty() && !controls.iter().any(is_serious)
    });
    let excused = CRITICAL_FOR_PROWLER_ALONE.iter().map(|it| it.0);
    assert_eq!(understated.collect::<Vec<_>>(), excused.collect::<Vec<_>>());
}
