//! The report about one client and one framework: each requirement with its status and why. For ISO 27001 it is the
//! statement of applicability, for CMMC Level 2 the worksheet of the SPRS score.

use super::language::{counted, date, heading, number, of, percent, result, say};
use super::standing::SourceStanding;
use super::{Front, Letterhead, contradiction, detail};
use crate::app::report::framework::{FrameworkReport, ReportedRequirement};
use crate::clock::zone::Zone;
use crate::engine::fact::{RowDecision, RowDecisionKind, Status};
use crate::engine::framework::FrameworkId;
use crate::engine::readiness::sprs_lost;
use crate::paper::signature::PublicKey;
use crate::paper::{Bar, Bars, Block, Column, Figure, Language, Paper, Table};

/// What kind of document a framework asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Requirements,
    /// ISO 27001 (6.1.3 d): which controls apply, why, and whether they are in place.
    Applicability,
    /// The points that each practice costs.
    Sprs,
}

impl Kind {
    fn of(id: FrameworkId) -> Self {
        if id == FrameworkId::Iso27001 {
            Self::Applicability
        } else if id == FrameworkId::CmmcL2 {
            Self::Sprs
        } else {
            Self::Requirements
        }
    }

    const fn title(self, language: Language) -> &'static str {
        match self {
            Self::Requirements => of(language, "Compliance report", "Rapport de conformité"),
            Self::Applicability => {
                of(language, "Statement of applicability", "Déclaration d’applicabilité")
            }
            Self::Sprs => of(
                language,
                "Compliance report and SPRS worksheet",
                "Rapport de conformité et feuille de calcul SPRS",
            ),
        }
    }
}

/// Writes the report as a document.
pub(super) fn paper(
    (it, sources, contradicted): (&FrameworkReport, &[SourceStanding], &[contradiction::Named]),
    letterhead: &Letterhead,
    language: Language,
    key: PublicKey,
) -> Paper {
    let kind = Kind::of(it.framework.id);
    let (framework, version) = (&it.framework.name, &it.framework.version);
    let version =
        say!(language, "{framework}, version {version}", "{framework}, version {version}");
    let mut blocks = summary(language, it);
    blocks.push(heading(language, "Requirements", "Exigences"));
    match kind {
        Kind::Requirements => blocks.push(Block::Table(requirements(language, it))),
        Kind::Applicability => blocks.push(Block::Table(applicability(language, it))),
        Kind::Sprs => {
            blocks.push(Block::Table(requirements(language, it)));
            blocks.extend(sprs(language, it));
        }
    }
    blocks.extend(contradiction::blocks(language, &it.zone, contradicted));
    blocks.extend(detail::sources(language, &it.zone, sources));
    blocks.extend(detail::reading(language));
    Front {
        language,
        letterhead,
        now: it.now,
        zone: &it.zone,
        title: kind.title(language).to_owned(),
        subject: it.client.name.clone(),
        details: vec![version],
    }
    .paper(blocks, key)
}

fn summary(language: Language, it: &FrameworkReport) -> Vec<Block> {
    let s = it.summary;
    let unassessed = s.total - s.passed - s.partial - s.failed;
    let assessed = (u64::from(s.total - unassessed) * 100).checked_div(u64::from(s.total));
    let assessed = percent(language, assessed.and_then(|it| u8::try_from(it).ok()).unwrap_or(0));
    let total = number(language, s.total.into());
    let figure =
        |label: &str, value: String, note: String| Figure { label: label.to_owned(), value, note };
    let passed = number(language, s.passed.into());
    let of_total = say!(language, "of {total} that apply", "sur {total} qui s’appliquent");
    let mut figures = vec![
        figure(
            of(language, "Readiness", "Préparation"),
            format!("{} / 100", s.readiness),
            String::new(),
        ),
        figure(of(language, "Compliant", "Conformes"), passed.clone(), of_total),
        figure(
            of(language, "Assessed", "Évaluées"),
            assessed,
            of(language, "of the requirements", "des exigences").to_owned(),
        ),
    ];
    figures.extend(s.sprs.map(|it| figure("SPRS", it.to_string(), String::new())));
    let (framework, sentence) = (&it.framework.name, sentence(language, it));
    let bar = Bar { name: framework.clone(), counts: [s.passed, s.partial, s.failed, unassessed] };
    vec![
        heading(language, "Summary", "Sommaire"),
        Block::Figures(figures),
        Block::Text(sentence),
        Block::Bars(Bars {
            heading: of(language, "Framework", "Référentiel").to_owned(),
            parts: super::language::parts(language),
            bars: vec![bar],
        }),
    ]
}

/// The summary in sentences.
pub(super) fn sentence(language: Language, it: &FrameworkReport) -> String {
    let (s, name) = (it.summary, &it.client.name);
    let unassessed = s.total - s.passed - s.partial - s.failed;
    let (total, passed) = (number(language, s.total.into()), number(language, s.passed.into()));
    let rest = if unassessed == 0 {
        of(language, "All of them are assessed", "Toutes sont évaluées").to_owned()
    } else {
        let french = ["n’est pas évaluée", "ne sont pas évaluées"];
        let n =
            counted(language, unassessed.into(), ["is not assessed", "are not assessed"], french);
        say!(language, "{n}, which counts as zero", "{n}, ce qui compte pour zéro")
    };
    let (framework, readiness) = (&it.framework.name, s.readiness);
    say!(
        language,
        "{name} meets {passed} of the {total} requirements of {framework} that apply. {rest}. Its readiness is \
         {readiness} of 100.",
        "{name} respecte {passed} des {total} exigences de {framework} qui s’appliquent. {rest}. Sa préparation est de \
         {readiness} sur 100."
    )
}

fn requirements(language: Language, it: &FrameworkReport) -> Table {
    let row = |requirement: &ReportedRequirement| {
        let row = it.row(requirement);
        vec![
            row.reference.clone(),
            row.title.clone(),
            result(language, requirement.outcome.status, requirement.partial_because).to_owned(),
            score(requirement),
            because(language, &it.zone, requirement),
        ]
    };
    Table {
        columns: vec![
            Column::left(of(language, "Requirement", "Exigence"), 13),
            Column::left(of(language, "Title", "Titre"), 27),
            Column::left(of(language, "Status", "État"), 13),
            Column::right(of(language, "Score", "Pointage"), 9),
            Column::left(of(language, "Because", "Motif"), 38),
        ],
        rows: it.requirements.iter().map(row).collect(),
    }
}

fn score(requirement: &ReportedRequirement) -> String {
    match requirement.outcome.status {
        Status::Compliant | Status::Partial | Status::NonCompliant => {
            requirement.outcome.score.to_string()
        }
        Status::NotAssessed | Status::NotApplicable => "–".to_owned(),
    }
}

fn readable(language: Language, it: &ReportedRequirement) -> Vec<String> {
    it.because.iter().map(|it| it.readable(language)).collect()
}

/// What keeps a requirement from being compliant, and what a person decided about it.
fn because(language: Language, zone: &Zone, it: &ReportedRequirement) -> String {
    let mut all = readable(language, it);
    all.extend(it.decision.as_ref().map(|it| decision(language, zone, it)));
    if all.is_empty() { "–".to_owned() } else { all.join(". ") }
}

fn decision(language: Language, zone: &Zone, it: &RowDecision) -> String {
    let RowDecision { reason, by, at, .. } = it;
    let at = date(language, zone, *at);
    match &it.kind {
        RowDecisionKind::OutOfScope => say!(
            language,
            "Out of scope, says {by} on {at}: {reason}",
            "Hors de portée, selon {by} le {at}\u{a0}: {reason}"
        ),
        RowDecisionKind::Attested { evidence } => say!(
            language,
            "Attested by {by} on {at}: {reason} [{evidence}]",
            "Attesté par {by} le {at}\u{a0}: {reason} [{evidence}]"
        ),
    }
}

fn applicability(language: Language, it: &FrameworkReport) -> Table {
    let row = |requirement: &ReportedRequirement| {
        let row = it.row(requirement);
        let applies = requirement.outcome.status != Status::NotApplicable;
        let controls = it.controls_of(requirement).map(|(it, _)| it.outcome.code.as_str());
        let controls = controls.collect::<Vec<_>>().join(", ");
        vec![
            row.reference.clone(),
            row.title.clone(),
            if applies { of(language, "Yes", "Oui") } else { of(language, "No", "Non") }.to_owned(),
            justification(language, &it.zone, requirement, applies),
            result(language, requirement.outcome.status, requirement.partial_because).to_owned(),
            if controls.is_empty() { "–".to_owned() } else { controls },
        ]
    };
    Table {
        columns: vec![
            Column::left(of(language, "Control", "Mesure"), 10),
            Column::left(of(language, "Title", "Titre"), 22),
            Column::left(of(language, "Applies", "Applicable"), 11),
            Column::left(of(language, "Justification and gaps", "Justification et lacunes"), 29),
            Column::left(of(language, "Status", "État"), 12),
            Column::left(of(language, "Answered by", "Contrôles"), 16),
        ],
        rows: it.requirements.iter().map(row).collect(),
    }
}

/// Why a control of the standard applies or does not, and what is missing.
fn justification(
    language: Language,
    zone: &Zone,
    it: &ReportedRequirement,
    applies: bool,
) -> String {
    let decided = it.decision.as_ref().map(|it| decision(language, zone, it));
    if !applies {
        return decided.unwrap_or_else(|| {
            of(
                language,
                "Nothing that it asks for is in use, says the profile",
                "Rien de ce qu’elle vise n’est utilisé, selon le profil",
            )
            .to_owned()
        });
    }
    let by_default = of(
        language,
        "Applies by default: nobody decided otherwise",
        "S’applique par défaut\u{a0}: personne n’en a décidé autrement",
    );
    let mut all = vec![decided.unwrap_or_else(|| by_default.to_owned())];
    all.extend(readable(language, it));
    all.join(". ")
}

fn sprs(language: Language, it: &FrameworkReport) -> Vec<Block> {
    let status_of =
        |index: usize| it.controls.get(&index).map_or(Status::NotAssessed, |it| it.outcome.status);
    let lost = |requirement: &ReportedRequirement| {
        sprs_lost(it.row(requirement), requirement.outcome.status, status_of)
    };
    let total: u32 = it.requirements.iter().map(lost).sum();
    let row = |requirement: &ReportedRequirement| {
        let row = it.row(requirement);
        let weight = row.sprs.map_or_else(|| "–".to_owned(), |it| it.weight.to_string());
        vec![
            row.reference.clone(),
            row.title.clone(),
            result(language, requirement.outcome.status, requirement.partial_because).to_owned(),
            weight,
            lost(requirement).to_string(),
        ]
    };
    let table = Table {
        columns: vec![
            Column::left(of(language, "Practice", "Pratique"), 18),
            Column::left(of(language, "Title", "Titre"), 44),
            Column::left(of(language, "Status", "État"), 16),
            Column::right(of(language, "Points", "Points"), 10),
            Column::right(of(language, "Lost", "Perdus"), 12),
        ],
        rows: it.requirements.iter().map(row).collect(),
    };
    let sum = it.summary.sprs.map_or_else(
        || {
            say!(
                language,
                "{total} points are lost. There is no SPRS score: a system security plan (CA.L2-3.12.4) comes first.",
                "{total} points sont perdus. Il n’y a pas de pointage SPRS\u{a0}: il faut d’abord un plan de \
                 sécurité du système (CA.L2-3.12.4)."
            )
        },
        |score| {
            say!(
                language,
                "110 points less the {total} that are lost make the SPRS score: {score}.",
                "110 points moins les {total} perdus donnent le pointage SPRS\u{a0}: {score}."
            )
        },
    );
    vec![
        heading(language, "SPRS worksheet", "Feuille de calcul SPRS"),
        Block::Text(sum),
        Block::Table(table),
    ]
}
