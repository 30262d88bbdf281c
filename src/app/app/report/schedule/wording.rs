//! What the message says that carries a report.

use crate::app::report::document::Document;
use crate::app::report::document::language::{minute, say};
use crate::clock::Time;
use crate::clock::zone::Zone;
use crate::paper::Language;
use crate::store::global::report::schedule::{Period, ReportSchedule, Rhythm};

const WEEKDAYS: [(&str, &str); 7] = [
    ("Monday", "lundi"),
    ("Tuesday", "mardi"),
    ("Wednesday", "mercredi"),
    ("Thursday", "jeudi"),
    ("Friday", "vendredi"),
    ("Saturday", "samedi"),
    ("Sunday", "dimanche"),
];

/// The text of the message. `link`: where the console shows what it is about.
pub(super) fn text(
    schedule: &ReportSchedule,
    document: &Document,
    link: Option<&str>,
    (slot, now): (Time, Time),
) -> String {
    let (language, zone) = (schedule.language, Zone::named(&schedule.rhythm.zone));
    let zone = zone.unwrap_or_default();
    let (title, at) = (&document.name, minute(language, &zone, now));
    let mut parts = vec![
        say!(language, "{title}, as of {at}", "{title}, en date du {at}"),
        document.summary.join(" "),
        say!(
            language,
            "The report is attached as a PDF file. It ends with a signature, which “posture report verify FILE” checks.",
            "Le rapport est joint en fichier PDF. Il se termine par une signature, que «\u{a0}posture report verify \
             FICHIER\u{a0}» vérifie."
        ),
    ];
    if schedule.next.n_missed != 0 {
        let (due, n) = (minute(language, &zone, slot), schedule.next.n_missed);
        parts.push(say!(
            language,
            "This report was due on {due}. Due times that passed since then without a message of their own: {n}.",
            "Ce rapport était dû le {due}. Échéances passées depuis sans message distinct\u{a0}: {n}."
        ));
    }
    if let Some(link) = link {
        parts.push(say!(language, "In the console: {link}", "Dans la console\u{a0}: {link}"));
    }
    let (author, when) = (&document.author, rhythm(language, &schedule.rhythm));
    parts.push(say!(
        language,
        "{author} sends this report {when}. To stop it, write to {author}.",
        "{author} envoie ce rapport {when}. Pour ne plus le recevoir, écrivez à {author}."
    ));
    format!("{}\n", parts.join("\n\n"))
}

/// When a schedule is due, in words.
fn rhythm(language: Language, it: &Rhythm) -> String {
    let (day, hour, zone) = (it.day, it.hour, &it.zone);
    match it.every {
        Period::Week => {
            let (english, french) = WEEKDAYS[usize::from(day.clamp(1, 7)) - 1];
            say!(
                language,
                "every {english} at {hour}:00 ({zone})",
                "chaque {french} à {hour}\u{a0}h ({zone})"
            )
        }
        Period::Month => say!(
            language,
            "every month on day {day} at {hour}:00 ({zone})",
            "chaque mois, le {day}, à {hour}\u{a0}h ({zone})"
        ),
        Period::Quarter => say!(
            language,
            "every quarter on day {day} of its first month at {hour}:00 ({zone})",
            "chaque trimestre, le {day} de son premier mois, à {hour}\u{a0}h ({zone})"
        ),
    }
}
