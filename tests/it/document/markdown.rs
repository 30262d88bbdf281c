//! Reads the documents of the project: their headings, links and code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

pub(super) struct Document {
    /// From the top of the repository.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// The anchors of the headings, as the hosting page makes them.
    pub(super) anchors: Vec<String>,
    pub(super) links: Vec<String>,
    /// Language and text.
    pub(super) blocks: Vec<(String, String)>,
    /// Code inside of sentences.
    pub(super) spans: Vec<String>,
}

impl Document {
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The texts of the code blocks in a language.
    pub(super) fn blocks_in(&self, language: &str) -> impl Iterator<Item = &str> {
        let blocks = self.blocks.iter().filter(move |it| it.0 == language);
        blocks.map(|it| it.1.as_str())
    }
}

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// README, and what is in `.github` and `assets/docs`.
pub(super) fn documents() -> Vec<Document> {
    let mut paths = vec![PathBuf::from("README.md")];
    for folder in [".github", "assets/docs"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name();
            let path = Path::new(folder).join(name);
            if path.extension().is_some_and(|it| it == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    assert!(15 < paths.len(), "{paths:?}");
    paths.into_iter().map(read).collect()
}

pub(super) fn document(path: &str) -> Document {
    read(path.into())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest passes as it is")]
fn read(path: PathBuf) -> Document {
    let text = std::fs::read_to_string(root().join(&path)).unwrap();
    let (mut headings, mut links) = (Vec::new(), Vec::new());
    let (mut blocks, mut spans) = (Vec::new(), Vec::new());
    let (mut in_heading, mut in_block) = (false, false);
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                in_heading = true;
                headings.push(String::new());
            }
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                in_block = true;
                blocks.push((language.to_string(), String::new()));
            }
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Start(Tag::Link { dest_url, .. }) => links.push(dest_url.to_string()),
            Event::Text(part) if in_block => blocks.last_mut().unwrap().1.push_str(&part),
            Event::Text(part) if in_heading => headings.last_mut().unwrap().push_str(&part),
            Event::Code(part) => {
                if in_heading {
                    headings.last_mut().unwrap().push_str(&part);
                }
                spans.push(part.to_string());
            }
            _ => (),
        }
    }
    let anchors = anchors(&headings);
    Document { path, text, anchors, links, blocks, spans }
}

fn anchors(headings: &[String]) -> Vec<String> {
    let mut n_seen = BTreeMap::new();
    let mut anchors = Vec::new();
    for heading in headings {
        let mut anchor = String::new();
        for it in heading.to_lowercase().chars() {
            match it {
                ' ' => anchor.push('-'),
                '-' | '_' => anchor.push(it),
                it if it.is_alphanumeric() => anchor.push(it),
                _ => (),
            }
        }
        let n = n_seen.entry(anchor.clone()).or_insert(0);
        anchors.push(if *n == 0 { anchor } else { format!("{anchor}-{n}") });
        *n += 1;
    }
    anchors
}
