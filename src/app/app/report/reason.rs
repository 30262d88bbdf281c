//! Why a requirement is not compliant, in words of both languages.

use super::because::{Reason, Unassessed};
use super::document;
use super::question::in_words;
use crate::engine::fact::Status;
use crate::engine::posture::PartialBecause;
use crate::paper::Language;

/// How many controls one sentence names.
const N_NAMED_MAX: usize = 3;

impl Reason {
    /// One sentence, without a period.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        match language {
            Language::English => self.english(),
            Language::French => self.french(),
        }
    }

    /// The sentence as people read it: the words of the API's statuses and questions are replaced.
    #[must_use]
    pub fn readable(&self, language: Language) -> String {
        match (self, language) {
            (Self::Unanswered { question, codes }, _) => {
                let question = in_words(question, language).to_owned();
                Self::Unanswered { question, codes: codes.clone() }.text(language)
            }
            (Self::Failing { name, status, why, score }, Language::English) => {
                format!("{}: {}, score {score}", name.english, words(language, *status, *why))
            }
            (_, Language::English | Language::French) => self.text(language),
        }
    }

    fn english(&self) -> String {
        match self {
            Self::Failing { name, status, why, score } => {
                // The API's own word, unless it would read as if something failed.
                let words = match why {
                    Some(PartialBecause::Unseen | PartialBecause::Claimed) => {
                        words(Language::English, *status, *why)
                    }
                    Some(PartialBecause::Failing) | None => status.as_str().to_owned(),
                };
                format!("{}: {words}, score {score}", name.english)
            }
            Self::Outdated { name, days } => format!("{}: not seen in the last {days} days", name.english),
            Self::Unassessed { name, why } => {
                let why = match why {
                    Unassessed::Unseen => "",
                    Unassessed::WasWorse => "; its last result was worse",
                    Unassessed::ShowsTooLittle => "; what passes shows too little",
                };
                format!("{}: not assessed{why}", name.english)
            }
            Self::Unanswered { question, codes } => {
                let (shown, more) = named(codes);
                let shown = match (codes.len(), more) {
                    (1, _) => format!("{shown} is"),
                    (_, 0) => format!("{shown} are"),
                    (_, more) => format!("{shown} and {more} more are"),
                };
                format!("{question}: used or not? {shown} not assessed")
            }
            Self::NoControl => "no control is mapped to this requirement: a person must attest it, with evidence".to_owned(),
            Self::OnlySupported => {
                "the controls that apply only support this requirement: a person must attest it, with evidence".to_owned()
            }
            Self::EvidenceTooOld => "evidence is needed that is newer than what is there".to_owned(),
        }
    }

    fn french(&self) -> String {
        match self {
            Self::Failing { name, status, why, score } => {
                let status = words(Language::French, *status, *why);
                format!("{}\u{a0}: {status}, pointage de {score}", name.french)
            }
            Self::Outdated { name, days } => {
                format!("{}\u{a0}: rien n’a été vu depuis {days} jours", name.french)
            }
            Self::Unassessed { name, why } => {
                let why = match why {
                    Unassessed::Unseen => "",
                    Unassessed::WasWorse => "; le dernier résultat était pire",
                    Unassessed::ShowsTooLittle => "; ce qui réussit en montre trop peu",
                };
                format!("{}\u{a0}: non évalué{why}", name.french)
            }
            Self::Unanswered { question, codes } => {
                let (shown, more) = named(codes);
                let shown = match (codes.len(), more) {
                    (1, _) => format!("{shown} n’est pas évalué"),
                    (_, 0) => format!("{shown} ne sont pas évalués"),
                    (_, more) => format!("{shown} et {more} de plus ne sont pas évalués"),
                };
                format!("{question}\u{a0}: utilisé ou non? {shown}")
            }
            Self::NoControl => {
                "aucun contrôle n’est associé à cette exigence\u{a0}: une personne doit l’attester, avec une preuve".to_owned()
            }
            Self::OnlySupported => {
                "les contrôles qui s’appliquent ne font qu’appuyer cette exigence\u{a0}: une personne doit l’attester, avec une preuve"
                    .to_owned()
            }
            Self::EvidenceTooOld => "il faut une preuve plus récente que celles qui existent".to_owned(),
        }
    }
}

/// The result of a control, as it stands in a sentence.
fn words(language: Language, status: Status, why: Option<PartialBecause>) -> String {
    document::language::result(language, status, why).to_lowercase()
}

/// The first codes, and how many more there are.
fn named(codes: &[String]) -> (String, usize) {
    let shown = codes[..codes.len().min(N_NAMED_MAX)].join(", ");
    (shown, codes.len().saturating_sub(N_NAMED_MAX))
}
