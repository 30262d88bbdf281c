//! The report about all clients: its blocks, in the order in which they are read.

use std::cmp::Reverse;

use super::language::{counted, date, dollars, heading, note, number, of, percent, say};
use super::portfolio_standing::{ClientLine, PortfolioStanding};
use super::standing::QUARTER_DAYS;
use super::{Front, Letterhead};
use crate::app::report::kpi::{GRADES, Mean};
use crate::app::report::posture::COVERAGE_MIN;
use crate::engine::severity::Severity;
use crate::paper::signature::PublicKey;
use crate::paper::{Block, Column, Figure, Language, Paper, Table};

/// The clients that are named as needing attention.
const N_ATTENTION: usize = 20;
/// The clients that are named as having gained most, and as having lost most.
const N_MOVED: usize = 5;

/// Writes the report as a document.
pub(super) fn paper(
    it: &PortfolioStanding,
    letterhead: &Letterhead,
    language: Language,
    key: PublicKey,
) -> Paper {
    let mut blocks = summary(language, it);
    blocks.extend(clients(language, it));
    blocks.extend(quarter(language, it));
    blocks.extend(attention(language, it));
    blocks.extend(steps(language, it));
    blocks.extend(reading(language));
    Front {
        language,
        letterhead,
        now: it.now,
        zone: &it.zone,
        title: of(language, "Portfolio report", "Rapport de portefeuille").to_owned(),
        subject: n_clients(language, it.clients.len()),
        details: Vec::new(),
    }
    .paper(blocks, key)
}

fn n_clients(language: Language, n: usize) -> String {
    counted(language, n as u64, ["client", "clients"], ["client", "clients"])
}

/// The mean, rounded down. `None`: of nothing.
fn mean(all: impl Iterator<Item = u8>) -> Option<u8> {
    all.collect::<Mean>().value()
}

fn score(it: &ClientLine) -> Option<u8> {
    it.score.as_ref().map(|it| it.overall)
}

fn critical(it: &ClientLine) -> u64 {
    it.figures.n_risks[Severity::Critical as usize].into()
}

/// A client of which too little is assessed for its score to be final.
fn is_provisional(it: &ClientLine) -> bool {
    it.score.is_some() && it.figures.coverage < COVERAGE_MIN
}

fn summary(language: Language, it: &PortfolioStanding) -> Vec<Block> {
    vec![
        heading(language, "Executive summary", "Sommaire exécutif"),
        Block::Figures(figures(language, it)),
        Block::Text(sentences(language, it).join(" ")),
    ]
}

fn figures(language: Language, it: &PortfolioStanding) -> Vec<Figure> {
    let all = &it.clients;
    let figure =
        |label: &str, value: String, note: String| Figure { label: label.to_owned(), value, note };
    let n_unscored = all.iter().filter(|it| it.score.is_none()).count() as u64;
    let unscored = if n_unscored == 0 {
        of(language, "all with a score", "tous avec un pointage").to_owned()
    } else {
        let n = number(language, n_unscored);
        say!(language, "{n} without a score", "{n} sans pointage")
    };
    let none = || of(language, "none", "aucun").to_owned();
    let coverage = percent(language, mean(all.iter().map(|it| it.figures.coverage)).unwrap_or(0));
    let n_with = all.iter().filter(|it| critical(it) != 0).count();
    let with = n_clients(language, n_with);
    let exposure = all.iter().map(|it| it.figures.exposure).fold(0, u64::saturating_add);
    vec![
        figure("Clients", number(language, all.len() as u64), unscored),
        figure(
            of(language, "Mean score", "Pointage moyen"),
            mean(all.iter().filter_map(score)).map_or_else(none, |it| format!("{it} / 100")),
            say!(language, "{coverage} assessed on average", "{coverage} d’évalué en moyenne"),
        ),
        figure(
            of(language, "Critical risks", "Risques critiques"),
            number(language, all.iter().map(critical).sum()),
            say!(language, "at {with}", "chez {with}"),
        ),
        figure(
            of(language, "Exposure a year", "Exposition par an"),
            dollars(language, exposure),
            of(language, "US dollars, as far as known", "dollars américains, si connue").to_owned(),
        ),
    ]
}

/// The summary in sentences, for the document and for a message that carries it.
pub(super) fn sentences(language: Language, it: &PortfolioStanding) -> Vec<String> {
    let all = &it.clients;
    let Some(mean_now) = mean(all.iter().filter_map(score)) else {
        return vec![
            of(
                language,
                "No client has a score yet: nothing was observed or attested.",
                "Aucun client n’a encore de pointage\u{a0}: rien n’a été constaté ni attesté.",
            )
            .to_owned(),
        ];
    };
    let n_scored = n_clients(language, all.iter().filter(|it| it.score.is_some()).count());
    let mut said = vec![say!(
        language,
        "The mean score of {n_scored} is {mean_now} of 100.",
        "Le pointage moyen de {n_scored} est de {mean_now} sur 100."
    )];
    let both = || all.iter().filter(|line| line.moved(it.now).is_some());
    let before = mean(both().filter_map(|line| line.before(it.now)));
    if let (Some(before), Some(now)) = (before, mean(both().filter_map(score))) {
        let n = n_clients(language, both().count());
        said.push(say!(
            language,
            "For {n} with a score at the start of the quarter, or of the rules that hold now, it went from {before} to {now}.",
            "Pour {n} ayant un pointage au début du trimestre, ou des règles actuelles, il est passé de {before} à {now}."
        ));
    }
    said.push(grades(language, it));
    let n = all.iter().filter(|it| it.weight != [0; 5]).count() as u64;
    said.push(if n == 0 {
        of(language, "No client needs attention.", "Aucun client ne demande d’attention.")
            .to_owned()
    } else {
        let french = ["client demande", "clients demandent"];
        let n = counted(language, n, ["client needs", "clients need"], french);
        say!(language, "{n} attention.", "{n} de l’attention.")
    });
    said
}

/// How many clients have each grade.
fn grades(language: Language, it: &PortfolioStanding) -> String {
    let count = |grade: &&str| {
        let of_it = it.clients.iter().filter_map(|it| it.score.as_ref());
        let n = of_it.filter(|it| it.grade() == *grade).count();
        (n != 0).then(|| format!("{} {grade}", number(language, n as u64)))
    };
    let all = GRADES.iter().filter_map(count).collect::<Vec<_>>().join(", ");
    say!(language, "By grade: {all}.", "Selon la cote\u{a0}: {all}.")
}

/// One line for each client.
fn clients(language: Language, it: &PortfolioStanding) -> Vec<Block> {
    let heading = heading(language, "All clients", "Tous les clients");
    if it.clients.is_empty() {
        let none = of(language, "There is no client.", "Il n’y a aucun client.");
        return vec![heading, Block::Text(none.to_owned())];
    }
    let row = |line: &ClientLine| {
        let score = line.score.as_ref().map_or_else(
            || "–".to_owned(),
            |it| {
                let mark = if is_provisional(line) { "*" } else { "" };
                format!("{}\u{a0}{}{mark}", it.overall, it.grade())
            },
        );
        vec![
            line.name.clone(),
            score,
            line.moved(it.now).map_or_else(|| "–".to_owned(), signed),
            percent(language, line.figures.coverage),
            number(language, critical(line)),
            line.worst.as_ref().map_or_else(
                || "–".to_owned(),
                |(name, readiness)| format!("{name} · {readiness}/100"),
            ),
        ]
    };
    let table = Table {
        columns: vec![
            Column::left("Client", 28),
            Column::right(of(language, "Score", "Pointage"), 13),
            Column::right(of(language, "Quarter", "Trimestre"), 13),
            Column::right(of(language, "Coverage", "Couverture"), 14),
            Column::right(of(language, "Critical risks", "Risques critiques"), 12),
            Column::left(of(language, "Weakest framework", "Référentiel le plus faible"), 32),
        ],
        rows: it.clients.iter().map(row).collect(),
    };
    let mut blocks = vec![heading, Block::Table(table)];
    if it.clients.iter().any(is_provisional) {
        let least = percent(language, COVERAGE_MIN);
        blocks.push(Block::Note(say!(
            language,
            "* Provisional: less than {least} of the controls, by weight, is assessed.",
            "* Provisoire\u{a0}: moins de {least} des contrôles, selon leur poids, est évalué."
        )));
    }
    blocks.push(note(
        language,
        "Quarter: how far the score moved since its start, or since the rules of assessment changed in it; a dash if \
         there was no score then. Weakest framework: of those in scope for the client, the one with the lowest \
         readiness.",
        "Trimestre\u{a0}: de combien le pointage a bougé depuis son début, ou depuis que les règles d’évaluation y ont \
         changé; un tiret s’il n’y avait alors pas de pointage. Référentiel le plus faible\u{a0}: parmi ceux qui sont \
         visés pour le client, celui dont la préparation est la plus basse.",
    ));
    blocks
}

/// With its sign, as numbers that differ from others are written.
fn signed(step: i16) -> String {
    match step {
        0 => "0".to_owned(),
        1.. => format!("+{step}"),
        ..0 => format!("\u{2212}{}", step.unsigned_abs()),
    }
}

fn quarter(language: Language, it: &PortfolioStanding) -> Vec<Block> {
    let since = date(language, &it.zone, it.now.plus_days(-QUARTER_DAYS));
    let moved = |line: &ClientLine| line.moved(it.now);
    let count = |is_it: &dyn Fn(i16) -> bool| {
        it.clients.iter().filter_map(moved).filter(|step| is_it(*step)).count()
    };
    let (up, down) = (count(&|step| 0 < step), count(&|step| step < 0));
    let (up, down) = (n_clients(language, up), n_clients(language, down));
    let n_new = it.clients.iter().filter(|it| it.score.is_some() && moved(it).is_none()).count();
    let sum = |n: &dyn Fn(&ClientLine) -> u64| {
        number(language, it.clients.iter().map(n).fold(0, u64::saturating_add))
    };
    let opened = sum(&|it| it.quarter.n_opened);
    let fixed = sum(&|it| it.quarter.n_fixed);
    let mut items = vec![
        say!(
            language,
            "Scores rose at {up} and fell at {down}.",
            "Le pointage a monté chez {up} et baissé chez {down}."
        ),
        say!(
            language,
            "Risks that appeared: {opened}. Risks that were fixed: {fixed}.",
            "Risques apparus\u{a0}: {opened}. Risques corrigés\u{a0}: {fixed}."
        ),
    ];
    if n_new != 0 {
        let n = n_clients(language, n_new);
        items.push(say!(
            language,
            "First score since then: {n}.",
            "Premier pointage depuis\u{a0}: {n}."
        ));
    }
    if it.clients.iter().any(|it| it.quarter.rules_changed_at.is_some()) {
        items.push(
            of(
                language,
                "The rules of assessment changed in the quarter: scores and risks are compared from then on.",
                "Les règles d’évaluation ont changé au cours du trimestre\u{a0}: les pointages et les risques sont \
                 comparés depuis lors.",
            )
            .to_owned(),
        );
    }
    let mut blocks = vec![
        heading(
            language,
            "What changed in the last quarter",
            "Ce qui a changé au dernier trimestre",
        ),
        Block::Text(say!(language, "Since {since}:", "Depuis le {since}\u{a0}:")),
        Block::List(items),
    ];
    blocks.extend(moved_most(language, it).map(Block::Table));
    blocks
}

/// The clients that gained most, and those that lost most.
fn moved_most(language: Language, it: &PortfolioStanding) -> Option<Table> {
    let now = it.now;
    let mut steps: Vec<(i16, &ClientLine)> =
        it.clients.iter().filter_map(|it| Some((it.moved(now)?, it))).collect();
    steps.retain(|it| it.0 != 0);
    steps.sort_by_key(|(step, line)| (Reverse(*step), line.name.as_str()));
    let most = steps.iter().take_while(|it| 0 < it.0).take(N_MOVED);
    let least = steps.iter().rev().take_while(|it| it.0 < 0).take(N_MOVED);
    let row = |(step, line): &(i16, &ClientLine)| {
        let shown = |it: Option<u8>| it.map_or_else(|| "–".to_owned(), |it| it.to_string());
        vec![line.name.clone(), shown(line.before(now)), shown(score(line)), signed(*step)]
    };
    let rows: Vec<_> = most.chain(least).map(row).collect();
    (!rows.is_empty()).then(|| Table {
        columns: vec![
            Column::left(of(language, "Moved most", "Plus grands mouvements"), 58),
            Column::right(of(language, "Score then", "Pointage d’alors"), 16),
            Column::right(of(language, "Score now", "Pointage actuel"), 14),
            Column::right(of(language, "Change", "Écart"), 12),
        ],
        rows,
    })
}

/// Why a client needs attention, most important first.
fn reasons(language: Language, it: &ClientLine) -> String {
    let [critical, sources, overdue, below, high] = it.weight;
    let say = |n: u32, english: [&str; 2], french: [&str; 2]| {
        (n != 0).then(|| counted(language, n.into(), english, french))
    };
    let score = it.score.as_ref().filter(|_| below != 0).map(|it| it.overall);
    let all = [
        say(
            critical,
            ["critical risk", "critical risks"],
            ["risque critique", "risques critiques"],
        ),
        say(
            sources,
            ["source failing or silent", "sources failing or silent"],
            ["source en échec ou muette", "sources en échec ou muettes"],
        ),
        say(overdue, ["task overdue", "tasks overdue"], ["tâche en retard", "tâches en retard"]),
        score.map(|it| say!(language, "score {it}", "pointage de {it}")),
        say(high, ["high risk", "high risks"], ["risque élevé", "risques élevés"]),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The clients that need attention, most urgent first.
fn urgent(it: &PortfolioStanding) -> Vec<&ClientLine> {
    let mut all: Vec<_> = it.clients.iter().filter(|it| it.weight != [0; 5]).collect();
    all.sort_by_key(|it| (Reverse(it.weight), it.name.as_str()));
    all
}

fn attention(language: Language, it: &PortfolioStanding) -> Vec<Block> {
    let heading = heading(language, "Who needs attention, and why", "Qui demande de l’attention");
    let all = urgent(it);
    if all.is_empty() {
        let none = of(
            language,
            "No client has a critical or high risk, an overdue task, a failing source or a low score.",
            "Aucun client n’a de risque critique ou élevé, de tâche en retard, de source en échec ni de pointage bas.",
        );
        return vec![heading, Block::Text(none.to_owned())];
    }
    let row = |it: &&ClientLine| vec![it.name.clone(), reasons(language, it)];
    let table = Table {
        columns: vec![
            Column::left("Client", 34),
            Column::left(of(language, "Why", "Pourquoi"), 66),
        ],
        rows: all.iter().take(N_ATTENTION).map(row).collect(),
    };
    let mut blocks = vec![heading, Block::Table(table)];
    let n_more = all.len().saturating_sub(N_ATTENTION);
    if n_more != 0 {
        let french = ["autre client en demande", "autres clients en demandent"];
        let n =
            counted(language, n_more as u64, ["other client needs", "other clients need"], french);
        blocks.push(Block::Note(say!(language, "{n} attention, too.", "{n} aussi.")));
    }
    blocks
}

fn steps(language: Language, it: &PortfolioStanding) -> Vec<Block> {
    let at = |is_it: &dyn Fn(&ClientLine) -> bool| it.clients.iter().filter(|it| is_it(it)).count();
    let mut items = Vec::new();
    if let Some(first) = urgent(it).first().filter(|it| critical(it) != 0) {
        let n = it.clients.iter().map(critical).sum();
        let n = counted(
            language,
            n,
            ["critical risk", "critical risks"],
            ["risque critique", "risques critiques"],
        );
        let (name, clients) = (&first.name, n_clients(language, at(&|it| critical(it) != 0)));
        items.push(say!(
            language,
            "Close {n} at {clients}; begin with {name}.",
            "Corriger {n} chez {clients}, en commençant par {name}."
        ));
    }
    let n_sources = |it: &ClientLine| it.figures.n_failing_sources + it.figures.n_silent_sources;
    let mut step = |n: usize, sentence: &dyn Fn(String) -> String| {
        if n != 0 {
            items.push(sentence(n_clients(language, n)));
        }
    };
    step(at(&|it| n_sources(it) != 0), &|clients| {
        say!(
            language,
            "Bring back the sources that fail or are silent at {clients}: what they saw expires.",
            "Rétablir les sources en échec ou muettes chez {clients}\u{a0}: ce qu’elles ont vu expire."
        )
    });
    step(at(&|it| it.figures.n_overdue_tasks != 0), &|clients| {
        say!(
            language,
            "Finish or postpone the overdue tasks at {clients}.",
            "Terminer ou reporter les tâches en retard chez {clients}."
        )
    });
    step(at(&is_provisional), &|clients| {
        say!(
            language,
            "Have more assessed at {clients}, whose scores are provisional: connect sources, or attest controls with \
             evidence.",
            "Faire évaluer davantage chez {clients}, dont le pointage est provisoire\u{a0}: brancher des sources ou \
             attester des contrôles avec une preuve."
        )
    });
    step(at(&|it| it.score.is_none()), &|clients| {
        say!(
            language,
            "Bring in first facts about {clients} without a score.",
            "Apporter de premiers faits sur {clients} sans pointage."
        )
    });
    if items.is_empty() {
        let none = of(
            language,
            "Nothing is open. Keep the sources reporting and the evidence current.",
            "Rien n’est en suspens. Gardez les sources actives et les preuves à jour.",
        );
        items.push(none.to_owned());
    }
    vec![heading(language, "What to do next", "Prochaines étapes"), Block::List(items)]
}

fn reading(language: Language) -> Vec<Block> {
    let text = of(
        language,
        "A score is the mean of the controls that apply to a client, by severity, from 0 to 100; what is not assessed \
         counts as zero. Coverage is the share of these controls, by weight, that is assessed: a score says as much as \
         its coverage. Risks that were accepted for a time are not counted. Amounts are estimates in US dollars and \
         leave out clients whose number of employees is unknown.",
        "Un pointage est la moyenne des contrôles qui s’appliquent à un client, pondérée selon leur gravité, de 0 à \
         100; ce qui n’est pas évalué compte pour zéro. La couverture est la part pondérée de ces contrôles qui est \
         évaluée\u{a0}: un pointage ne vaut que par sa couverture. Les risques acceptés pour un temps ne sont pas \
         comptés. Les montants sont des estimations en dollars américains et laissent de côté les clients dont le \
         nombre d’employés est inconnu.",
    );
    vec![
        heading(language, "How to read this report", "Comment lire ce rapport"),
        Block::Text(text.to_owned()),
    ]
}
