//! What a client is asked about what it uses, in words.

use crate::app::report::question::QUESTIONS;

/// The questions of a client's profile: their names in the API, and their words.
pub(super) fn questions() -> Vec<(&'static str, &'static str)> {
    QUESTIONS.iter().map(|it| (it.name, it.english)).collect()
}

/// A reason that begins with the name of a question, as in `aws: used or not?`, with its words in place of the name.
pub(super) fn in_words(reason: &str) -> String {
    let asked = reason.split_once(':').and_then(|(name, rest)| {
        let question = QUESTIONS.iter().find(|it| it.name == name)?;
        Some(format!("{}:{rest}", question.english))
    });
    asked.unwrap_or_else(|| reason.to_owned())
}
