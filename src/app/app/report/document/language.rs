//! What both languages of a document say, side by side: a text without its translation does not compile.

use crate::clock::Time;
use crate::clock::zone::Zone;
use crate::engine::fact::Status;
use crate::engine::posture::{PartialBecause, result_words};
use crate::engine::severity::Severity;
use crate::paper::{Block, Language, N_PARTS};
use crate::store::per_client::roster::HealthState;

/// The same text in English and in French, with the values that are in scope.
macro_rules! say {
    ($language:expr, $english:literal, $french:literal $(,)?) => {
        match $language {
            $crate::paper::Language::English => format!($english),
            $crate::paper::Language::French => format!($french),
        }
    };
}
pub(in crate::app::report) use say;

const MONTHS: [(&str, &str); 12] = [
    ("January", "janvier"),
    ("February", "février"),
    ("March", "mars"),
    ("April", "avril"),
    ("May", "mai"),
    ("June", "juin"),
    ("July", "juillet"),
    ("August", "août"),
    ("September", "septembre"),
    ("October", "octobre"),
    ("November", "novembre"),
    ("December", "décembre"),
];

/// A whole number: `12,345` or `12 345`.
pub(super) fn number(language: Language, number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index != 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push_str(match language {
                Language::English => ",",
                Language::French => "\u{a0}",
            });
        }
        shown.push(digit);
    }
    shown
}

/// US dollars: `$12,345` or `12 345 $`.
pub(super) fn dollars(language: Language, amount: u64) -> String {
    let amount = number(language, amount);
    say!(language, "${amount}", "{amount}\u{a0}$")
}

pub(super) fn percent(language: Language, share: u8) -> String {
    say!(language, "{share}%", "{share}\u{a0}%")
}

/// The day there: `November 27, 2026` or `27 novembre 2026`.
pub(super) fn date(language: Language, zone: &Zone, at: Time) -> String {
    let local = zone.local(at).day();
    let (year, month, day) = (local.year(), local.month(), local.day());
    let (english, french) = MONTHS[usize::try_from(month - 1).unwrap_or(0)];
    match language {
        Language::English => format!("{english} {day}, {year}"),
        Language::French if day == 1 => format!("1er {french} {year}"),
        Language::French => format!("{day} {french} {year}"),
    }
}

/// The day there with hours and minutes, and how far clocks are from UTC.
pub(in crate::app::report) fn minute(language: Language, zone: &Zone, at: Time) -> String {
    let (day, local) = (date(language, zone, at), zone.local(at));
    let ((hours, minutes), offset) = (local.hours_and_minutes(), local.offset());
    match language {
        Language::English => format!("{day}, {hours:02}:{minutes:02} {offset}"),
        Language::French => format!("{day}, {hours}\u{a0}h\u{a0}{minutes:02} {offset}"),
    }
}

/// A number with its noun: one, and many. French takes one for none, too.
pub(super) fn counted(language: Language, n: u64, english: [&str; 2], french: [&str; 2]) -> String {
    let noun = match language {
        Language::English => english[usize::from(n != 1)],
        Language::French => french[usize::from(1 < n)],
    };
    format!("{} {noun}", number(language, n))
}

pub(super) fn severity(language: Language, it: Severity) -> &'static str {
    let (english, french) = match it {
        Severity::Critical => ("Critical", "Critique"),
        Severity::High => ("High", "Élevée"),
        Severity::Medium => ("Medium", "Moyenne"),
        Severity::Low => ("Low", "Faible"),
    };
    of(language, english, french)
}

/// The result of a control or a requirement.
pub(in crate::app::report) const fn result(
    language: Language,
    it: Status,
    why: Option<PartialBecause>,
) -> &'static str {
    let (english, french) = result_words(it, why);
    of(language, english, french)
}

pub(super) fn health(language: Language, it: HealthState) -> &'static str {
    let (english, french) = match it {
        HealthState::Healthy => ("Reports as usual", "Transmet normalement"),
        HealthState::Degraded => ("Its last run was not complete", "Dernière lecture incomplète"),
        HealthState::Failing => ("Its runs fail", "Ses lectures échouent"),
        HealthState::Silent => ("Overdue", "En retard"),
    };
    of(language, english, french)
}

pub(super) const fn of<'t>(language: Language, english: &'t str, french: &'t str) -> &'t str {
    match language {
        Language::English => english,
        Language::French => french,
    }
}

pub(super) fn heading(language: Language, english: &str, french: &str) -> Block {
    Block::Heading(of(language, english, french).to_owned())
}

pub(super) fn note(language: Language, english: &str, french: &str) -> Block {
    Block::Note(of(language, english, french).to_owned())
}

/// The parts of bars of requirements.
pub(super) fn parts(language: Language) -> [String; N_PARTS] {
    [
        of(language, "Compliant", "Conformes"),
        of(language, "Partly met", "Conformes en partie"),
        of(language, "Not compliant", "Non conformes"),
        of(language, "Not assessed", "Non évaluées"),
    ]
    .map(str::to_owned)
}
