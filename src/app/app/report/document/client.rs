//! The report about one client: its blocks, in the order in which they are read.

use super::language::{counted, date, dollars, heading, note, number, of, parts, say, severity};
use super::standing::{FrameworkStanding, N_RISKS_NAMED, QUARTER_DAYS, Standing};
use super::{Front, Letterhead, contradiction, detail, subject, summary};
use crate::clock::zone::Zone;
use crate::engine::risk::split_remediation;
use crate::engine::severity::Severity;
use crate::page::Page;
use crate::paper::signature::PublicKey;
use crate::paper::{Bar, Bars, Block, Column, Language, LineChart, Paper, Table};
use crate::store::per_client::posture::{Acceptance, OpenRisk};

/// The steps that are named first.
const N_STEPS: usize = 5;

/// Writes the report as a document.
pub(super) fn paper(
    it: &Standing,
    letterhead: &Letterhead,
    language: Language,
    key: PublicKey,
) -> Paper {
    let mut blocks = summary::blocks(language, it);
    blocks.extend(trend(language, it));
    blocks.extend(frameworks(language, it));
    blocks.extend(quarter(language, it));
    blocks.extend(risks(language, it));
    blocks.extend(contradiction::blocks(language, &it.zone, &it.contradictions));
    blocks.extend(steps(language, it));
    blocks.extend(detail::unassessed(language, it));
    blocks.extend(detail::sources(language, &it.zone, &it.sources));
    blocks.extend(detail::appendix(language, it));
    blocks.extend(detail::method(language, it));
    let title =
        of(language, "Security and compliance report", "Rapport de sécurité et de conformité");
    Front {
        language,
        letterhead,
        now: it.now,
        zone: &it.zone,
        title: title.to_owned(),
        subject: it.client.name.clone(),
        details: Vec::new(),
    }
    .paper(blocks, key)
}

fn trend(language: Language, it: &Standing) -> Vec<Block> {
    let mut blocks = vec![heading(language, "Score over time", "Évolution du pointage")];
    let (Some(first), Some(last)) = (it.days.first(), it.days.last()) else {
        let none = of(language, "There is no score yet.", "Il n’y a pas encore de pointage.");
        return [blocks, vec![Block::Text(none.to_owned())]].concat();
    };
    // Scores are kept by days in UTC.
    let day = |at| date(language, &Zone::UTC, at);
    let (from, to) = (day(first.0), day(last.0));
    if first.0.day() == last.0.day() {
        let (score, day) = (first.1, to);
        blocks.push(Block::Text(say!(
            language,
            "There is one day with a score so far: {score} on {day}. A line will be drawn from the second day on.",
            "Il n’y a qu’un jour avec un pointage jusqu’à maintenant\u{a0}: {score} le {day}. Une courbe sera \
             tracée à partir du deuxième jour."
        )));
        return blocks;
    }
    let (start, end) = (first.1, last.1);
    blocks.push(Block::Line(LineChart {
        title: of(language, "Score over time", "Évolution du pointage").to_owned(),
        alternative: if it.rules_changed_at.is_empty() {
            say!(
                language,
                "The score went from {start} on {from} to {end} on {to}, of 100.",
                "Le pointage est passé de {start} le {from} à {end} le {to}, sur 100."
            )
        } else {
            say!(
                language,
                "The score was {start} on {from} and is {end} on {to}, of 100; the rules of assessment changed in between.",
                "Le pointage était de {start} le {from} et est de {end} le {to}, sur 100; les règles d’évaluation ont \
                 changé entre-temps."
            )
        },
        points: it.days.iter().map(|(at, score)| (at.day(), *score)).collect(),
        days: [from, to],
        marks: it.rules_changed_at.iter().map(|it| it.day()).collect(),
    }));
    if !it.rules_changed_at.is_empty() {
        blocks.push(note(
            language,
            "A dashed line is where the rules of assessment changed: what is before it and what is after it cannot be \
             compared.",
            "Un trait tireté marque un changement des règles d’évaluation\u{a0}: ce qui précède et ce qui suit ne se \
             comparent pas.",
        ));
    }
    blocks.push(note(
        language,
        "The last score of each day. The lines are where grades begin: D at 60, C at 70, B at 80, A at 90.",
        "Le dernier pointage de chaque jour. Les lignes marquent le début des cotes\u{a0}: D à 60, C à 70, B à 80, A \
         à 90.",
    ));
    blocks
}

fn frameworks(language: Language, it: &Standing) -> Vec<Block> {
    let mut blocks = vec![heading(language, "Frameworks", "Référentiels")];
    if it.frameworks.is_empty() {
        let none = of(language, "No framework is in scope.", "Aucun référentiel n’est visé.");
        return [blocks, vec![Block::Text(none.to_owned())]].concat();
    }
    let bar = |it: &FrameworkStanding| {
        let s = it.summary;
        let (name, readiness) = (&it.name, s.readiness);
        Bar {
            name: format!("{name} · {readiness}/100"),
            counts: [s.passed, s.partial, s.failed, s.total - s.passed - s.partial - s.failed],
        }
    };
    blocks.push(Block::Bars(Bars {
        heading: of(language, "Framework · readiness", "Référentiel · préparation").to_owned(),
        parts: parts(language),
        bars: it.frameworks.iter().map(bar).collect(),
    }));
    blocks.push(note(
        language,
        "Requirements that apply to the client, by status. Readiness is the mean score of the requirements: what is \
         not assessed counts as zero.",
        "Exigences qui s’appliquent au client, selon leur état. La préparation est le pointage moyen des \
         exigences\u{a0}: ce qui n’est pas évalué compte pour zéro.",
    ));
    if let Some(sprs) = it.frameworks.iter().find_map(|it| it.summary.sprs) {
        blocks.push(Block::Text(say!(
            language,
            "The SPRS score of CMMC Level 2 is {sprs} on a scale from -203 to 110. The readiness of that level follows it.",
            "Le pointage SPRS du niveau 2 de CMMC est de {sprs}, sur une échelle de -203 à 110. La préparation de ce \
             niveau en découle."
        )));
    }
    blocks
}

fn since_when(language: Language, is_cut: bool, since: &str) -> String {
    if is_cut {
        return say!(
            language,
            "Since {since}, when the rules of assessment changed:",
            "Depuis le {since}, quand les règles d’évaluation ont changé\u{a0}:"
        );
    }
    say!(language, "Since {since}:", "Depuis le {since}\u{a0}:")
}

fn quarter(language: Language, it: &Standing) -> Vec<Block> {
    let start = it.now.plus_days(-QUARTER_DAYS);
    let since = date(language, &it.zone, it.quarter.rules_changed_at.unwrap_or(start));
    let mut items = Vec::new();
    items.extend(summary::score_change(language, it));
    let q = &it.quarter;
    items.push(if q.n_opened == 0 {
        of(language, "No risk appeared.", "Aucun risque n’est apparu.").to_owned()
    } else {
        let french = ["risque est apparu", "risques sont apparus"];
        let n = counted(language, q.n_opened, ["risk", "risks"], french);
        say!(language, "{n} appeared.", "{n}.")
    });
    items.push(if q.n_fixed == 0 {
        of(language, "No risk was fixed.", "Aucun risque n’a été corrigé.").to_owned()
    } else {
        let french = ["risque a été corrigé", "risques ont été corrigés"];
        let n = counted(language, q.n_fixed, ["risk was", "risks were"], french);
        say!(language, "{n} fixed.", "{n}.")
    });
    if q.n_accepted != 0 {
        let n = counted(
            language,
            q.n_accepted,
            ["risk was", "risks were"],
            ["risque a été accepté", "risques ont été acceptés"],
        );
        items.push(say!(language, "{n} accepted for a time.", "{n} pour un temps."));
    }
    if q.n_gone != 0 {
        let n = counted(
            language,
            q.n_gone,
            ["risk", "risks"],
            ["risque ne s’applique plus", "risques ne s’appliquent plus"],
        );
        items.push(say!(language, "{n} no longer applied.", "{n}."));
    }
    let mut blocks = vec![
        heading(
            language,
            "What changed in the last quarter",
            "Ce qui a changé au dernier trimestre",
        ),
        Block::Text(since_when(language, q.rules_changed_at.is_some(), &since)),
        Block::List(items),
    ];
    if q.requirements.is_empty() {
        blocks.push(Block::Text(of(
            language,
            "No requirement of a framework in scope became compliant or stopped being so.",
            "Aucune exigence d’un référentiel visé n’est devenue conforme ni n’a cessé de l’être.",
        ).to_owned()));
        return blocks;
    }
    let row = |(name, better, worse): &(String, u64, u64)| {
        vec![name.clone(), number(language, *better), number(language, *worse)]
    };
    blocks.push(Block::Table(Table {
        columns: vec![
            Column::left(of(language, "Framework", "Référentiel"), 60),
            Column::right(of(language, "Newly compliant", "Nouvellement conformes"), 20),
            Column::right(of(language, "No longer compliant", "Ne sont plus conformes"), 20),
        ],
        rows: q.requirements.iter().map(row).collect(),
    }));
    blocks
}

fn risks(language: Language, it: &Standing) -> Vec<Block> {
    let mut blocks = vec![heading(language, "Top risks", "Principaux risques")];
    if it.risks.is_empty() {
        blocks.push(Block::Text(
            of(
                language,
                "No risk is open. This speaks only of what is assessed.",
                "Aucun risque n’est ouvert. Cela ne vaut que pour ce qui est évalué.",
            )
            .to_owned(),
        ));
    } else {
        let zone = &it.zone;
        let row = |it: &OpenRisk| {
            let exposure = it.risk.dollar_impact;
            let unverified = of(language, "not verified lately", "non vérifié récemment");
            let title = &it.risk.title;
            vec![
                if it.risk.verified { title.clone() } else { format!("{title} ({unverified})") },
                severity(language, it.risk.severity).to_owned(),
                date(language, zone, it.opened_at),
                exposure.map_or_else(
                    || of(language, "unknown", "inconnue").to_owned(),
                    |it| dollars(language, it),
                ),
            ]
        };
        blocks.push(Block::Table(Table {
            columns: vec![
                Column::left(of(language, "Risk", "Risque"), 50),
                Column::left(of(language, "Severity", "Gravité"), 11),
                Column::left(of(language, "Open since", "Depuis le"), 20),
                Column::right(of(language, "Saves a year", "Économie par an"), 19),
            ],
            rows: it.risks.iter().map(row).collect(),
        }));
    }
    let n_others = it.n_risks_open().saturating_sub(u64::from(N_RISKS_NAMED));
    if n_others != 0 {
        let n = counted(
            language,
            n_others,
            ["other risk is", "other risks are"],
            ["autre risque est ouvert", "autres risques sont ouverts"],
        );
        blocks.push(Block::Text(say!(language, "{n} open.", "{n}.")));
    }
    blocks.extend(accepted(language, it));
    blocks.extend(muted(language, it));
    blocks.extend(subject::decisions(language, it));
    blocks.push(note(
        language,
        "Saves a year: what fixing the risk alone is expected to save, in US dollars. One alone saves little \
         while others stay open; all together save the exposure of the summary. It is unknown for findings without a \
         control and for clients whose number of employees is unknown.",
        "Économie par an\u{a0}: ce que la correction de ce seul risque devrait faire économiser, en dollars américains. \
         L’économie d’un seul est faible tant que d’autres restent ouverts; celle de tous ensemble est l’exposition du \
         sommaire. Elle est inconnue pour les constats sans contrôle et pour les clients dont le nombre d’employés \
         est inconnu.",
    ));
    blocks
}

/// What is accepted for a time, by whom and why.
fn accepted(language: Language, it: &Standing) -> Vec<Block> {
    let Page { items, total, .. } = &it.accepted;
    if items.is_empty() {
        return Vec::new();
    }
    let n = counted(
        language,
        *total,
        ["risk is", "risks are"],
        ["risque est accepté", "risques sont acceptés"],
    );
    let intro = say!(
        language,
        "{n} accepted for a time and not among the open ones. Accepting changes no score: what is wrong still counts.",
        "{n} pour un temps, hors du nombre des risques ouverts. Cela ne change aucun pointage\u{a0}: ce qui ne va pas \
         compte toujours."
    );
    let zone = &it.zone;
    let row = |it: &OpenRisk| {
        let said = it.accepted.as_ref();
        vec![
            it.risk.title.clone(),
            severity(language, it.risk.severity).to_owned(),
            said.map_or_else(String::new, |it| date(language, zone, it.until)),
            said.map_or_else(String::new, |Acceptance { by, reason, .. }| {
                say!(language, "{by}: {reason}", "{by}\u{a0}: {reason}")
            }),
        ]
    };
    let table = Table {
        columns: vec![
            Column::left(of(language, "Accepted risk", "Risque accepté"), 40),
            Column::left(of(language, "Severity", "Gravité"), 11),
            Column::left(of(language, "Until", "Jusqu’au"), 17),
            Column::left(of(language, "By whom and why", "Par qui et pourquoi"), 32),
        ],
        rows: items.iter().map(row).collect(),
    };
    let mut blocks = vec![Block::Text(intro), Block::Table(table)];
    let n_more = total.saturating_sub(items.len() as u64);
    if n_more != 0 {
        let french = ["autre risque est accepté", "autres risques sont acceptés"];
        let n = counted(language, n_more, ["other risk is", "other risks are"], french);
        blocks.push(Block::Text(say!(language, "{n} accepted.", "{n}.")));
    }
    blocks
}

/// What is muted in the tools that see it: it fails, and its risk is accepted there.
fn muted(language: Language, it: &Standing) -> Vec<Block> {
    let Page { items, total, .. } = &it.muted;
    if items.is_empty() {
        return Vec::new();
    }
    let n = counted(
        language,
        *total,
        ["risk is", "risks are"],
        ["risque est masqué", "risques sont masqués"],
    );
    let intro = say!(
        language,
        "{n} muted in the tool that sees what fails, or accepted subject by subject, and not among the open ones. What is muted did not \
         pass: it counts in every score.",
        "{n} dans l’outil qui voit l’échec, ou accepté sujet par sujet, hors du nombre des risques ouverts. Ce qui est masqué n’a pas \
         réussi\u{a0}: cela compte dans chaque pointage."
    );
    let zone = &it.zone;
    let row = |it: &OpenRisk| {
        let severity = severity(language, it.risk.severity).to_owned();
        vec![it.risk.title.clone(), severity, date(language, zone, it.opened_at)]
    };
    let table = Table {
        columns: vec![
            Column::left(of(language, "Muted risk", "Risque masqué"), 65),
            Column::left(of(language, "Severity", "Gravité"), 13),
            Column::left(of(language, "Since", "Depuis le"), 22),
        ],
        rows: items.iter().map(row).collect(),
    };
    let mut blocks = vec![Block::Text(intro), Block::Table(table)];
    let n_more = total.saturating_sub(items.len() as u64);
    if n_more != 0 {
        let french = ["autre risque est masqué", "autres risques sont masqués"];
        let n = counted(language, n_more, ["other risk is", "other risks are"], french);
        blocks.push(Block::Text(say!(language, "{n} muted.", "{n}.")));
    }
    blocks
}

/// What fixing helps most, then what nobody looks at.
fn steps(language: Language, it: &Standing) -> Vec<Block> {
    let mut items = Vec::new();
    for risk in it.risks.iter().take(N_STEPS) {
        let title = &risk.risk.title;
        let control = risk.risk.control_code().and_then(|code| it.control(code));
        let saved = risk.risk.dollar_impact.map_or_else(String::new, |amount| {
            let amount = dollars(language, amount);
            say!(
                language,
                " Saves about {amount} a year.",
                " Économie\u{a0}: environ {amount} par an."
            )
        });
        items.push(match control {
            Some(control) => {
                let what = &control.remediation;
                say!(language, "{title}: {what}{saved}", "{title}\u{a0}: {what}{saved}")
            }
            None => match split_remediation(&risk.risk.description) {
                // As the tool says it, in its language.
                Some((_, what)) => say!(language, "{title}: {what}", "{title}\u{a0}: {what}"),
                None => say!(language, "Fix “{title}”.", "Corrigez «\u{a0}{title}\u{a0}»."),
            },
        });
    }
    let urgent = it.not_assessed().filter(|it| Severity::High <= it.severity).count();
    if urgent != 0 {
        let n =
            counted(language, urgent as u64, ["control", "controls"], ["contrôle", "contrôles"]);
        items.push(say!(
            language,
            "Have {n} of critical or high severity assessed: connect a source that sees them, or attest them with \
             evidence.",
            "Faites évaluer {n} de gravité critique ou élevée\u{a0}: connectez une source qui les voit ou attestez-les \
             avec une preuve."
        ));
    }
    let n_late = it.sources.iter().filter(|it| it.is_late()).count();
    if n_late != 0 {
        let n = counted(language, n_late as u64, ["source", "sources"], ["source", "sources"]);
        items.push(say!(
            language,
            "Bring {n} back that fail or are overdue: what they saw expires.",
            "Rétablissez {n} en échec ou en retard\u{a0}: ce qu’elles ont vu expire."
        ));
    }
    if !it.questions.is_empty() {
        let n = counted(
            language,
            it.questions.len() as u64,
            ["question", "questions"],
            ["question", "questions"],
        );
        items.push(say!(
            language,
            "Answer {n} about what the client uses: requirements wait for the answers.",
            "Répondez à {n} sur ce que le client utilise\u{a0}: des exigences attendent les réponses."
        ));
    }
    if items.is_empty() {
        items.push(
            of(
                language,
                "Nothing is open. Keep the sources reporting and the evidence current.",
                "Rien n’est en suspens. Gardez les sources actives et les preuves à jour.",
            )
            .to_owned(),
        );
    }
    vec![heading(language, "What to do next", "Prochaines étapes"), Block::List(items)]
}
