//! HTML in the texts of tools, as plain text.

/// Tags within a sentence.
const INLINE: [&str; 8] = ["a", "b", "i", "em", "u", "strong", "span", "code"];

/// The text without its tags. The references that tools write for their characters are resolved.
pub(super) fn plain(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        // A mark of comparison is no tag.
        let is_tag = tag.starts_with(|it: char| it.is_ascii_alphabetic() || it == '/' || it == '!');
        match tag.split_once('>') {
            Some((tag, after)) if is_tag => {
                let name = tag.trim_start_matches('/');
                let name = name.split(|it: char| !it.is_ascii_alphanumeric()).next();
                if !name.is_some_and(|it| INLINE.contains(&it)) && !text.ends_with(' ') {
                    text.push(' ');
                }
                rest = after;
            }
            _ => {
                text.push('<');
                rest = tag;
            }
        }
    }
    text.push_str(rest);
    let characters = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    characters.into_iter().fold(text, |text, (name, it)| text.replace(name, it))
}
