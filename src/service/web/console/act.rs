//! Entries of the audit log, in words.

use std::collections::BTreeMap;

use super::oidc::RETURN;
use super::passkey::Step;
use super::session::{CONFIRM, SESSIONS, SIGN_IN};

/// What an act was. `summaries`: those of the operations. An act that has no words is shown by its name.
pub(super) fn in_words(summaries: &BTreeMap<String, String>, action: &str) -> String {
    let of_console =
        OF_CONSOLE.iter().find(|it| action.split_once(' ').is_some_and(|(_, path)| it.0 == path));
    let found = of_console.map(|it| it.1).or_else(|| summaries.get(action).map(String::as_str));
    found.unwrap_or(action).to_owned()
}

/// What is done on pages without an operation.
const OF_CONSOLE: [(&str, &str); 8] = [
    (SIGN_IN, "Sign in to the console"),
    (RETURN, "Sign in to the console at the identity provider"),
    (CONFIRM, "Give the password again"),
    (SESSIONS, "End a session of the console"),
    (Step::SignIn.path(), "Sign in to the console with a passkey"),
    (Step::Confirm.path(), "Use a passkey again"),
    (Step::Add.path(), "Add a passkey"),
    (Step::Remove.path(), "Remove a passkey"),
];

/// All acts that change something, by their names, with their words, in the order of the words. Others are in the log only
/// where they were refused.
pub(super) fn all(summaries: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let own = OF_CONSOLE.iter().map(|(path, words)| {
        let method = if *path == RETURN { "GET" } else { "POST" };
        (format!("{method} {path}"), (*words).to_owned())
    });
    let changes = summaries.clone().into_iter().filter(|it| !it.0.starts_with("GET "));
    let mut all: Vec<_> = changes.chain(own).collect();
    all.sort_by(|a, b| a.1.cmp(&b.1));
    all
}

/// The id of the API key in the path of a request.
pub(super) fn key(about: &str) -> Option<&str> {
    about.strip_prefix("/api/keys/")?.split('/').next()
}

/// The id of the client in the path of a request, and what else the path says.
pub(super) fn about(about: &str) -> (Option<&str>, &str) {
    let of_client =
        about.strip_prefix("/api/clients/").or_else(|| about.strip_prefix("/api/v1/clients/"));
    match of_client.map(|it| it.split_once('/').unwrap_or((it, ""))) {
        Some((client, rest)) if uuid::Uuid::try_parse(client).is_ok() => (Some(client), rest),
        Some(_) | None => (None, about.strip_prefix("/api/").unwrap_or(about)),
    }
}
