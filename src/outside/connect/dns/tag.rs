//! Lists of tags such as `v=DMARC1; p=reject`, which DMARC, DKIM, MTA-STS and TLS reports have in common.

/// The tags, and the parts that are none.
type LooseTags<'a> = (Vec<(&'a str, &'a str)>, Vec<&'a str>);

/// The tags in their order, names and values trimmed. `None` if a part is no `name=value`, or a name is there twice.
pub(super) fn tags(text: &str) -> Option<Vec<(&str, &str)>> {
    tags_behind(None, text).map(|it| it.0)
}

/// The tags, and the parts that are none. Those are allowed behind the tag `decisive` alone.
pub(super) fn loose_tags<'a>(decisive: &str, text: &'a str) -> Option<LooseTags<'a>> {
    tags_behind(Some(decisive), text)
}

fn tags_behind<'a>(decisive: Option<&str>, text: &'a str) -> Option<LooseTags<'a>> {
    let (mut tags, mut others) = (Vec::<(&str, &str)>::new(), Vec::new());
    for part in text.split(';').map(str::trim).filter(|it| !it.is_empty()) {
        match tag(part) {
            Some((name, _)) if tags.iter().any(|it| it.0 == name) => return None,
            Some(tag) => tags.push(tag),
            None if tags.iter().any(|it| Some(it.0) == decisive) => others.push(part),
            None => return None,
        }
    }
    Some((tags, others))
}

fn tag(part: &str) -> Option<(&str, &str)> {
    let (name, value) = part.split_once('=').map(|(name, value)| (name.trim(), value.trim()))?;
    let is_name = !name.is_empty()
        && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'));
    is_name.then_some((name, value))
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
