//! Titles and recommendations of tools in plain words: without commands to the reader, and without Markdown.

/// Marks that are no part of a title, and the beginnings that turn a statement into a command. Longer ones come first.
const LEADS: [&str; 5] = ["[DEPRECATED]", "Ensure that ", "Ensure ", "Check if ", "Check that "];
const BULLETS: [&str; 3] = ["- ", "* ", "• "];

/// Returns the statement of a title, for example "The audit log is on" of "Ensure that the audit log is on."
pub(in crate::import) fn title(text: &str) -> String {
    let whole = text.trim();
    let mut rest = whole;
    for lead in LEADS {
        let begins = rest.get(..lead.len()).is_some_and(|it| it.eq_ignore_ascii_case(lead));
        if begins && !rest[lead.len()..].trim().is_empty() {
            rest = rest[lead.len()..].trim_start();
        }
    }
    let has_lead = rest.len() < whole.len();
    let rest = rest.strip_suffix('.').filter(|it| !it.is_empty()).unwrap_or(rest);
    if !has_lead {
        return rest.to_owned(); // It may be an identifier.
    }
    let mut characters = rest.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

/// Returns a text without Markdown: list bullets, bold type, code and links. Addresses of links stay.
pub(in crate::import) fn paragraph(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.trim();
        inline(BULLETS.iter().find_map(|it| line.strip_prefix(it)).unwrap_or(line).trim_start())
    });
    lines.filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n")
}

fn inline(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['*', '`', '[']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((code, after)) = rest.strip_prefix('`').and_then(|it| it.split_once('`')) {
            plain.push_str(code);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("**") {
            rest = after;
        } else if let Some((text, url, after)) = link(rest) {
            plain.extend([text, " (", url, ")"]);
            rest = after;
        } else {
            plain.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    plain + rest
}

/// Returns text and address of the link that a text starts with, and what follows.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    // Each search ends at the next bracket, so that many brackets take no longer than other text.
    let text = text.strip_prefix('[')?;
    let (name, after) = text.split_at(text.find(['[', ']'])?);
    let after = after.strip_prefix("](")?;
    let (url, after) = after.split_at(after.find([')', '[', ' '])?);
    Some((name, url, after.strip_prefix(')')?))
}
