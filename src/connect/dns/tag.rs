//! Lists of tags such as `v=DMARC1; p=reject`, which DMARC, DKIM, MTA-STS and TLS reports have in common.

/// The tags in their order, names and values trimmed. `None` if a part is no `name=value`, or a name is there twice.
pub(super) fn tags(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut tags: Vec<(&str, &str)> = Vec::new();
    let parts = text.split(';').map(str::trim).filter(|it| !it.is_empty());
    for part in parts {
        let (name, value) =
            part.split_once('=').map(|(name, value)| (name.trim(), value.trim()))?;
        let is_name = !name.is_empty()
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'));
        if !is_name || tags.iter().any(|it| it.0 == name) {
            return None;
        }
        tags.push((name, value));
    }
    Some(tags)
}

pub(super) fn value<'a>(tags: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    tags.iter().find(|it| it.0 == name).map(|it| it.1)
}

/// Returns true if the text begins with this version, as a tag of its own.
pub(super) fn has_version(text: &str, version: &str) -> bool {
    let first = text.split(';').next().unwrap_or_default();
    let tag = first.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    tag == Some(("v", version))
}
