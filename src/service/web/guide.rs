//! A guide: Markdown of ours as HTML.

use std::collections::BTreeMap;

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

/// A guide that was rendered.
pub(super) struct Guide {
    pub(super) html: String,
    /// The anchor and the title of each section, in order.
    pub(super) sections: Vec<(String, String)>,
}

/// Renders Markdown. `address` says where a link leads from the page; a link without an address becomes plain text.
///
/// Headings have the anchors that GitHub gives them. HTML in the Markdown is shown as text, and images as their text.
pub(super) fn render(markdown: &str, address: impl Fn(&str) -> Option<String>) -> Guide {
    let mut events = Vec::new();
    let mut slugs = Slugs::default();
    let mut sections = Vec::new();
    // Where the heading that is open begins, and whether the link that is open has an address.
    let (mut heading_at, mut is_linked) = (0, true);
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                heading_at = events.len();
                events.push(event);
            }
            Event::End(TagEnd::Heading(level)) => {
                let title = text_of(&events[heading_at + 1..]);
                let slug = slugs.give(&title);
                events[heading_at] = Event::Start(heading(level, &slug));
                events.push(raw(format!(
                    "<a class=\"anchor\" href=\"#{slug}\" aria-label=\"Link to this section\">#</a>"
                )));
                events.push(event);
                if level == HeadingLevel::H2 {
                    sections.push((slug, title));
                }
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = address(&dest_url);
                is_linked = dest_url.is_some();
                if let Some(dest_url) = dest_url.map(CowStr::from) {
                    events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                }
            }
            Event::End(TagEnd::Link) if !is_linked => (),
            Event::Start(Tag::Table(_)) => {
                events.push(raw("<div class=\"table\" tabindex=\"0\">".to_owned()));
                events.push(event);
            }
            Event::End(TagEnd::Table) => {
                events.push(event);
                events.push(raw("</div>\n".to_owned()));
            }
            // A block that scrolls in a narrow window can be scrolled by keys.
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(it) => escaped(it.split(' ').next().unwrap_or_default()),
                    CodeBlockKind::Indented => String::new(),
                };
                let class = if language.is_empty() {
                    String::new()
                } else {
                    format!(" class=\"language-{language}\"")
                };
                events.push(raw(format!("<pre tabindex=\"0\"><code{class}>")));
            }
            Event::End(TagEnd::CodeBlock) => events.push(raw("</code></pre>\n".to_owned())),
            Event::Html(text) | Event::InlineHtml(text) => events.push(Event::Text(text)),
            // The marks of an image, and what comes of extensions that are not enabled.
            Event::Start(Tag::Image { .. })
            | Event::End(TagEnd::Image)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => (),
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule => events.push(event),
        }
    }
    let mut html = String::new();
    html::push_html(&mut html, events.into_iter());
    // A column without a title has no header to be read out.
    Guide { html: html.replace("<th></th>", "<td></td>"), sections }
}

/// What is below one heading of a guide, down to the next one of any level.
pub(super) struct Section {
    pub(super) anchor: String,
    pub(super) title: String,
    /// As plain text: paragraphs, items of lists, rows of tables, blocks of code.
    pub(super) blocks: Vec<String>,
}

/// The sections of a guide, in order.
pub(super) fn sections(markdown: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut slugs = Slugs::default();
    let mut text = String::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                text.push_str(&part);
            }
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::TableCell) => text.push(' '),
            Event::End(TagEnd::Heading(_)) => {
                let title = std::mem::take(&mut text);
                let anchor = slugs.give(&title);
                sections.push(Section { anchor, title, blocks: Vec::new() });
            }
            Event::Start(Tag::Item)
            | Event::End(
                TagEnd::Paragraph
                | TagEnd::Item
                | TagEnd::TableHead
                | TagEnd::TableRow
                | TagEnd::CodeBlock,
            ) => {
                let block = std::mem::take(&mut text);
                let words: Vec<_> = block.split_whitespace().collect();
                if let Some(section) = sections.last_mut().filter(|_| !words.is_empty()) {
                    section.blocks.push(words.join(" "));
                }
            }
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => (),
        }
    }
    sections
}

/// The title of a guide: its first line.
pub(super) fn title(markdown: &str) -> &str {
    markdown.lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// A text as HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut html = String::new();
    html::push_html(&mut html, std::iter::once(Event::Text(text.into())));
    html
}

fn raw(html: String) -> Event<'static> {
    Event::InlineHtml(html.into())
}

fn heading(level: HeadingLevel, slug: &str) -> Tag<'static> {
    let id = Some(slug.to_owned().into());
    Tag::Heading { level, id, classes: Vec::new(), attrs: Vec::new() }
}

fn text_of(events: &[Event<'_>]) -> String {
    let mut text = String::new();
    for event in events {
        if let Event::Text(part) | Event::Code(part) = event {
            text.push_str(part);
        }
    }
    text
}

/// Makes the anchors of one page.
#[derive(Default)]
struct Slugs {
    n_given: BTreeMap<String, u32>,
}

impl Slugs {
    /// The anchor of the next heading: in lower case, without punctuation, with a hyphen for each space. A heading that
    /// repeats an earlier one gets a number.
    fn give(&mut self, title: &str) -> String {
        let lower = title.to_lowercase();
        let kept = lower.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        let slug: String = kept.map(|it| if it == ' ' { '-' } else { it }).collect();
        let n_given = self.n_given.entry(slug.clone()).or_default();
        *n_given += 1;
        match *n_given {
            1 => slug,
            n => format!("{slug}-{}", n - 1),
        }
    }
}
