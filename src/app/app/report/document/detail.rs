//! The rest of the report about one client: what is not assessed, where the rest comes from, and how to check it.

use std::cmp::Reverse;

use super::language::{counted, date, heading, health, minute, number, of, result, say, severity};
use super::standing::{ControlStanding, SourceStanding, Standing};
use crate::clock::zone::Zone;
use crate::paper::signature::PublicKey;
use crate::paper::{Block, Column, Language, Table};

/// The controls that are named before the appendix.
const N_UNASSESSED_NAMED: usize = 12;

pub(super) fn unassessed(language: Language, it: &Standing) -> Vec<Block> {
    let mut all: Vec<_> = it.not_assessed().collect();
    all.sort_by_key(|it| Reverse((it.is_in_scope, it.severity)));
    let heading = heading(language, "What is not assessed", "Ce qui n’est pas évalué");
    if all.is_empty() {
        let none = of(
            language,
            "Every control that applies is assessed.",
            "Chaque contrôle qui s’applique est évalué.",
        );
        return vec![heading, Block::Text(none.to_owned())];
    }
    let (n, total) = (all.len(), it.n_applicable());
    let (n, total) = (number(language, n as u64), number(language, total as u64));
    let intro = say!(
        language,
        "{n} of {total} controls that apply are not assessed: no source has reported about them lately and nobody \
         attested them. Whether they are met is unknown. They count as zero in every score, because a gap that \
         nobody looks for is found by others first.",
        "Contrôles qui s’appliquent sans être évalués\u{a0}: {n} sur {total}. Aucune source n’en a rendu compte \
         récemment et personne ne les a attestés. On ne sait pas s’ils sont respectés. Ils comptent pour zéro dans \
         chaque pointage, car une faille que personne ne cherche est d’abord trouvée par d’autres."
    );
    let n_in_scope = all.iter().filter(|it| it.is_in_scope).count() as u64;
    let is_split = n_in_scope != 0 && n_in_scope != all.len() as u64;
    let in_scope = is_split.then(|| {
        let n = counted(language, n_in_scope, ["is", "are"], ["est demandé", "sont demandés"]);
        Block::Text(say!(
            language,
            "Of them, {n} asked for by a framework in scope, and listed first.",
            "Parmi eux, {n} par un référentiel visé, en tête de liste."
        ))
    });
    let row = |it: &&ControlStanding| {
        vec![it.code.clone(), it.title.clone(), severity(language, it.severity).to_owned()]
    };
    let table = Table {
        columns: vec![
            Column::left(of(language, "Control", "Contrôle"), 14),
            Column::left(of(language, "What it asks for", "Ce qu’il demande"), 66),
            Column::left(of(language, "Severity", "Gravité"), 20),
        ],
        rows: all.iter().take(N_UNASSESSED_NAMED).map(row).collect(),
    };
    let mut blocks = vec![heading, Block::Text(intro)];
    blocks.extend(in_scope);
    blocks.push(Block::Table(table));
    let n_more = all.len().saturating_sub(N_UNASSESSED_NAMED);
    if n_more != 0 {
        let n = counted(
            language,
            n_more as u64,
            ["more is", "more are"],
            ["autre figure", "autres figurent"],
        );
        blocks.push(Block::Note(say!(language, "{n} in the appendix.", "{n} en annexe.")));
    }
    blocks
}

pub(super) fn sources(language: Language, zone: &Zone, all: &[SourceStanding]) -> Vec<Block> {
    let heading = heading(language, "Sources", "Sources");
    if all.is_empty() {
        let none = of(
            language,
            "No source has reported about the client.",
            "Aucune source n’a rendu compte du client.",
        );
        return vec![heading, Block::Text(none.to_owned())];
    }
    let row = |it: &SourceStanding| {
        let state = it
            .state
            .map_or(of(language, "On occasion", "Occasionnelle"), |it| health(language, it));
        let at = minute(language, zone, it.last_seen_at);
        let seen = match it.declared.map(|it| it.file_observed_at) {
            None => at,
            Some(None) => say!(language, "{at}, declared current", "{at}, déclaré à jour"),
            Some(Some(file)) => {
                let file = date(language, zone, file);
                say!(
                    language,
                    "{at}, declared current; the file is of {file}",
                    "{at}, déclaré à jour; le fichier date du {file}"
                )
            }
        };
        vec![it.name.clone(), seen, state.to_owned()]
    };
    let table = Table {
        columns: vec![
            Column::left("Source", 36),
            Column::left(of(language, "Last reported", "Dernière lecture"), 36),
            Column::left(of(language, "State", "État"), 28),
        ],
        rows: all.iter().map(row).collect(),
    };
    vec![heading, Block::Table(table)]
}

/// Every control: first those that a framework in scope asks for.
pub(super) fn appendix(language: Language, it: &Standing) -> Vec<Block> {
    let heading = heading(language, "Appendix: all controls", "Annexe\u{a0}: tous les contrôles");
    let (asked, others): (Vec<_>, Vec<_>) = it.controls.iter().partition(|it| it.is_in_scope);
    if asked.is_empty() || others.is_empty() {
        return vec![heading, controls(language, &it.controls.iter().collect::<Vec<_>>())];
    }
    let first = of(
        language,
        "Controls that a framework in scope asks for:",
        "Contrôles demandés par un référentiel visé\u{a0}:",
    );
    let then = of(
        language,
        "Controls that none of them asks for. They count in the score:",
        "Contrôles qu’aucun d’eux ne demande. Ils comptent dans le pointage\u{a0}:",
    );
    vec![
        heading,
        Block::Text(first.to_owned()),
        controls(language, &asked),
        Block::Text(then.to_owned()),
        controls(language, &others),
    ]
}

fn controls(language: Language, all: &[&ControlStanding]) -> Block {
    let row = |it: &&ControlStanding| {
        vec![
            it.code.clone(),
            it.title.clone(),
            severity(language, it.severity).to_owned(),
            result(language, it.status, it.partial_because).to_owned(),
            it.score.map_or_else(|| "–".to_owned(), |it| it.to_string()),
        ]
    };
    Block::Table(Table {
        columns: vec![
            Column::left(of(language, "Control", "Contrôle"), 13),
            Column::left(of(language, "What it asks for", "Ce qu’il demande"), 47),
            Column::left(of(language, "Severity", "Gravité"), 13),
            Column::left(of(language, "Status", "État"), 17),
            Column::right(of(language, "Score", "Pointage"), 10),
        ],
        rows: all.iter().map(row).collect(),
    })
}

pub(super) fn method(language: Language, it: &Standing) -> Vec<Block> {
    let mut blocks = vec![
        heading(language, "How to read this report", "Comment lire ce rapport"),
        Block::Text(of(
            language,
            "A control is compliant only while a source has seen so, or a person attested it, and that has not \
             expired. What is not assessed is never counted as good. The score is the mean of the controls that \
             apply, by severity. Coverage is the share of them, by weight, that is assessed: a score says as much as \
             its coverage.",
            "Un contrôle n’est conforme que tant qu’une source l’a constaté ou qu’une personne l’a attesté et que ce \
             constat n’a pas expiré. Ce qui n’est pas évalué ne compte jamais comme bon. Le pointage est la moyenne \
             des contrôles qui s’appliquent, pondérée selon leur gravité. La couverture est la part pondérée de ces \
             contrôles qui est évaluée\u{a0}: un pointage ne vaut que par sa couverture.",
        ).to_owned()),
    ];
    if it.loss.is_some() {
        blocks.push(Block::Text(of(
            language,
            "Amounts are estimates in US dollars, from the client’s size and industry and from its open risks. They \
             compare risks with each other; they are no offer and no forecast of a single year.",
            "Les montants sont des estimations en dollars américains, fondées sur la taille et le secteur du client \
             et sur ses risques ouverts. Ils servent à comparer les risques entre eux; ils ne constituent ni \
             une offre ni la prévision d’une année donnée.",
        ).to_owned()));
    }
    blocks.extend(names(language));
    blocks
}

/// How to read a report about a framework.
pub(super) fn reading(language: Language) -> Vec<Block> {
    let mut blocks = vec![
        heading(language, "How to read this report", "Comment lire ce rapport"),
        Block::Text(
            of(
                language,
                "A requirement is compliant only while every control that decides it is, as a source has seen or a \
                 person attested, and that has not expired. What is not assessed is never counted as good.",
                "Une exigence n’est conforme que tant que chaque contrôle qui en décide l’est, comme une source l’a \
                 constaté ou une personne l’a attesté, et que ce constat n’a pas expiré. Ce qui n’est pas évalué ne \
                 compte jamais comme bon.",
            )
            .to_owned(),
        ),
    ];
    blocks.extend(names(language));
    blocks
}

/// What a French report has in English. `None`: the report is English.
fn names(language: Language) -> Option<Block> {
    let note = "Les titres des exigences et les noms des référentiels viennent du catalogue, qui les tient en \
                anglais. Ce que disent les outils reste dans leurs mots.";
    (language == Language::French).then(|| Block::Text(note.to_owned()))
}

pub(super) fn signature(language: Language, author: &str, key: PublicKey) -> Vec<Block> {
    let (hex, fingerprint) = (key.hex(), key.fingerprint());
    vec![
        heading(language, "Signature", "Signature"),
        Block::Text(say!(
            language,
            "This file ends with a signature (Ed25519) by {author}. To check that nobody changed it, run “posture \
             report verify FILE” on any computer, and compare the key with the one that {author} names.",
            "Ce fichier se termine par une signature (Ed25519) de {author}. Pour vérifier que personne ne l’a \
             modifié, lancez «\u{a0}posture report verify FICHIER\u{a0}» sur n’importe quel ordinateur et comparez \
             la clé avec celle que {author} indique."
        )),
        Block::Note(say!(
            language,
            "Fingerprint of the key: {fingerprint}",
            "Empreinte de la clé\u{a0}: {fingerprint}"
        )),
        Block::Note(say!(language, "Public key: {hex}", "Clé publique\u{a0}: {hex}")),
    ]
}
