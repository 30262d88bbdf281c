//! The executive summary of the report about a client: a few figures, and what they mean in sentences.

use super::language::{counted, date, dollars, heading, number, of, percent, say};
use super::standing::{FrameworkStanding, QUARTER_DAYS, Standing};
use crate::app::report::posture::COVERAGE_MIN;
use crate::clock::zone::Zone;
use crate::engine::posture::ExpectedLoss;
use crate::paper::{Block, Figure, Language};

pub(super) fn blocks(language: Language, it: &Standing) -> Vec<Block> {
    let mut blocks = vec![
        heading(language, "Executive summary", "Sommaire exécutif"),
        Block::Figures(figures(language, it)),
        Block::Text(score(language, it)),
    ];
    let change = score_change(language, it);
    blocks.extend(change.map(Block::Text));
    blocks.push(Block::Text(frameworks(language, it)));
    blocks.push(Block::Text(risks(language, it)));
    blocks.push(Block::Text(cost(language, it)));
    blocks.extend(first_step(language, it).map(Block::Text));
    blocks
}

/// The summary in a few sentences, for a message that carries the document.
pub(super) fn sentences(language: Language, it: &Standing) -> Vec<String> {
    let mut all = vec![score(language, it)];
    all.extend(score_change(language, it));
    all.push(risks(language, it));
    all.extend(first_step(language, it));
    all
}

fn figures(language: Language, it: &Standing) -> Vec<Figure> {
    let unknown = || of(language, "unknown", "inconnue").to_owned();
    let score = it.score.as_ref();
    let coverage = percent(language, it.coverage);
    let [critical, high, ..] = it.n_risks;
    let critical = counted(language, critical, ["critical"; 2], ["critique", "critiques"]);
    let high = counted(language, high, ["high"; 2], ["élevé", "élevés"]);
    let provisional = it.coverage < COVERAGE_MIN;
    vec![
        Figure {
            label: of(language, "Score", "Pointage").to_owned(),
            value: score.map_or_else(
                || of(language, "none", "aucun").to_owned(),
                |it| format!("{} / 100", it.overall),
            ),
            note: score.map_or_else(String::new, |it| {
                let grade = it.grade();
                if provisional {
                    say!(language, "Grade {grade}, provisional", "Cote {grade}, provisoire")
                } else {
                    say!(language, "Grade {grade}", "Cote {grade}")
                }
            }),
        },
        Figure {
            label: of(language, "Coverage", "Couverture").to_owned(),
            value: coverage,
            note: of(language, "of the controls that apply", "des contrôles qui s’appliquent")
                .to_owned(),
        },
        Figure {
            label: of(language, "Open risks", "Risques ouverts").to_owned(),
            value: number(language, it.n_risks_open()),
            note: format!("{critical}, {high}"),
        },
        Figure {
            label: of(language, "Exposure a year", "Exposition par an").to_owned(),
            value: it.loss.map_or_else(unknown, |it| dollars(language, it.exposure())),
            note: of(language, "US dollars, estimated", "dollars américains, estimation")
                .to_owned(),
        },
    ]
}

fn score(language: Language, it: &Standing) -> String {
    let name = &it.client.name;
    let Some(score) = &it.score else {
        return say!(
            language,
            "{name} has no score yet: no source has reported about it, and nobody has attested anything.",
            "{name} n’a pas encore de pointage\u{a0}: aucune source n’en a rendu compte et personne n’a rien attesté."
        );
    };
    let (overall, grade) = (score.overall, score.grade());
    let coverage = percent(language, it.coverage);
    let said = say!(
        language,
        "{name} scores {overall} of 100, a grade of {grade}. {coverage} of the controls that apply, by weight, are \
         assessed; the rest counts as zero until somebody looks.",
        "{name} obtient un pointage de {overall} sur 100, soit la cote {grade}. {coverage} des contrôles qui \
         s’appliquent, en tenant compte de leur poids, sont évalués; le reste compte pour zéro tant que \
         personne ne regarde."
    );
    if COVERAGE_MIN <= it.coverage {
        return said;
    }
    let least = percent(language, COVERAGE_MIN);
    say!(
        language,
        "{said} The score is provisional, because less than {least} is assessed.",
        "{said} Le pointage est provisoire, car moins de {least} est évalué."
    )
}

/// How the score moved in the quarter. `None`: there is none.
pub(super) fn score_change(language: Language, it: &Standing) -> Option<String> {
    let now = it.score.as_ref()?.overall;
    let (at, before) = it.quarter.start?;
    let rules_changed_at = it.quarter.rules_changed_at;
    // Scores are kept by days in UTC.
    let zone = if rules_changed_at.is_some() { &it.zone } else { &Zone::UTC };
    let day = date(language, zone, at);
    let is_shorter = it.now.plus_days(-QUARTER_DAYS) <= at;
    let step = now.abs_diff(before);
    let points = counted(language, step.into(), ["point", "points"], ["point", "points"]);
    let is_of_today = is_shorter && at.day() == it.now.day();
    Some(if is_of_today && rules_changed_at.is_some() {
        say!(
            language,
            "The rules of assessment changed today, so there is nothing to compare the score with.",
            "Les règles d’évaluation ont changé aujourd’hui\u{a0}: il n’y a rien à quoi comparer le pointage."
        )
    } else if is_of_today {
        say!(
            language,
            "The first score is of today, so there is nothing to compare it with.",
            "Le premier pointage date d’aujourd’hui\u{a0}: il n’y a rien à quoi le comparer."
        )
    } else if before < now {
        say!(
            language,
            "The score rose by {points}, from {before} on {day} to {now}.",
            "Le pointage a monté de {points}, de {before} le {day} à {now}."
        )
    } else if now < before {
        say!(
            language,
            "The score fell by {points}, from {before} on {day} to {now}.",
            "Le pointage a baissé de {points}, de {before} le {day} à {now}."
        )
    } else {
        say!(
            language,
            "The score is {now}, as on {day}.",
            "Le pointage est de {now}, comme le {day}."
        )
    })
}

fn frameworks(language: Language, it: &Standing) -> String {
    let by_readiness = |it: &&FrameworkStanding| it.summary.readiness;
    let best = it.frameworks.iter().rev().max_by_key(by_readiness);
    let Some(best) = best.filter(|it| it.summary.readiness != 0) else {
        return of(
            language,
            "No framework in scope shows any readiness yet.",
            "Aucun référentiel visé ne montre encore de préparation.",
        )
        .to_owned();
    };
    let is_full =
        |it: &&FrameworkStanding| it.summary.total != 0 && it.summary.passed == it.summary.total;
    let (name, readiness) = (&best.name, best.summary.readiness);
    if let [only] = it.frameworks.as_slice() {
        let (passed, total) = (number(language, only.summary.passed.into()), only.summary.total);
        let total = number(language, total.into());
        return say!(
            language,
            "{name} is in scope. Its readiness is {readiness} of 100: {passed} of {total} requirements are compliant.",
            "Le référentiel {name} est visé. Sa préparation est de {readiness} sur 100\u{a0}: {passed} de ses {total} \
             exigences sont respectées."
        );
    }
    let n = it.frameworks.iter().filter(is_full).count() as u64;
    let all = counted(
        language,
        it.frameworks.len() as u64,
        ["framework is", "frameworks are"],
        ["référentiel est visé", "référentiels sont visés"],
    );
    let full = if n == 0 {
        of(
            language,
            "none has every requirement compliant",
            "aucun n’a toutes ses exigences conformes",
        )
        .to_owned()
    } else {
        counted(
            language,
            n,
            ["has every requirement compliant", "have every requirement compliant"],
            ["a toutes ses exigences conformes", "ont toutes leurs exigences conformes"],
        )
    };
    say!(
        language,
        "{all} in scope, and {full}. The furthest along is {name}, with a readiness of {readiness} of 100.",
        "{all}, et {full}. Le plus avancé est {name}, avec une préparation de {readiness} sur 100."
    )
}

fn risks(language: Language, it: &Standing) -> String {
    let n = it.n_risks_open();
    let [critical, high, ..] = it.n_risks;
    if n == 0 {
        return of(
            language,
            "No risk is open among what is assessed.",
            "Aucun risque n’est ouvert parmi ce qui est évalué.",
        )
        .to_owned();
    }
    let all = counted(
        language,
        n,
        ["risk is open", "risks are open"],
        ["risque est ouvert", "risques sont ouverts"],
    );
    let or_none = |n| match n {
        0 => of(language, "none", "aucun").to_owned(),
        _ => number(language, n),
    };
    let (critical, high) = (or_none(critical), or_none(high));
    say!(
        language,
        "{all}: {critical} critical, {high} high.",
        "{all}\u{a0}: {critical} de gravité critique, {high} de gravité élevée."
    )
}

fn cost(language: Language, it: &Standing) -> String {
    let Some(loss) = it.loss else {
        return of(
            language,
            "What incidents would cost is not estimated, because the number of employees is unknown or nothing was \
             assessed.",
            "Le coût des incidents n’est pas estimé, car le nombre d’employés est inconnu ou rien n’a été évalué.",
        )
        .to_owned();
    };
    let ExpectedLoss { base, now } = loss;
    let exposure = dollars(language, loss.exposure());
    let (base, now) = (dollars(language, base), dollars(language, now));
    say!(
        language,
        "Incidents are expected to cost {now} a year with the gaps that are known, and {base} if every control were met. \
         The difference, {exposure} a year, is what these gaps cost. What nobody has looked at is not in it.",
        "Avec les lacunes connues, les incidents devraient coûter {now} par an, et {base} si chaque contrôle était \
         respecté. La différence, {exposure} par an, est le coût de ces lacunes. Ce que personne n’a regardé \
         n’y figure pas."
    )
}

/// The worst risk, which is the one to fix first.
fn first_step(language: Language, it: &Standing) -> Option<String> {
    let title = &it.risks.first()?.risk.title;
    Some(say!(
        language,
        "The first gap to close is “{title}”.",
        "La première lacune à combler est «\u{a0}{title}\u{a0}»."
    ))
}
