//! Finds sections of the guides by their words.

use super::guide;

/// A longer query is refused.
pub(super) const QUERY_CHARS_MAX: usize = 100;
/// A query with more words is refused.
const N_WORDS_MAX: usize = 8;
/// More sections are not listed.
pub(super) const N_RESULTS_MAX: usize = 30;
/// Of a long block, so much is shown around the first word.
const EXCERPT_CHARS: usize = 240;

/// The sections of all guides.
pub(super) struct Index(Vec<IndexedSection>);

/// A section, and its words in lower case.
pub(super) struct IndexedSection {
    /// The name of the guide. The index has none.
    pub(super) guide: &'static str,
    pub(super) guide_title: &'static str,
    pub(super) anchor: String,
    pub(super) title: String,
    blocks: Vec<String>,
    title_folded: String,
    blocks_folded: Vec<String>,
}

/// A section that was found.
pub(super) struct Found<'a> {
    pub(super) section: &'a IndexedSection,
    /// Where the words are, as HTML.
    pub(super) excerpt: String,
}

/// The words that a section must have, in lower case.
pub(super) struct Query(Vec<String>);

impl Query {
    /// # Errors
    /// The rule that the text breaks.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if QUERY_CHARS_MAX < text.chars().count() {
            return Err(format!("Search for at most {QUERY_CHARS_MAX} characters."));
        }
        let words: Vec<String> = text.split_whitespace().map(fold).collect();
        match words.len() {
            0 => Err("Enter a word, such as proxy or backup.".to_owned()),
            1..=N_WORDS_MAX => Ok(Self(words)),
            _ => Err(format!("Search for at most {N_WORDS_MAX} words.")),
        }
    }
}

/// Of the same length in bytes, so that places in it are places in the text.
fn fold(text: &str) -> String {
    text.to_ascii_lowercase()
}

impl Index {
    /// `guides`: names and texts.
    pub(super) fn of(guides: impl Iterator<Item = (&'static str, &'static str)>) -> Self {
        let sections = guides.flat_map(|(name, text)| {
            guide::sections(text).into_iter().map(move |it| IndexedSection {
                guide: name,
                guide_title: guide::title(text),
                anchor: it.anchor,
                title_folded: fold(&it.title),
                title: it.title,
                blocks_folded: it.blocks.iter().map(|it| fold(it)).collect(),
                blocks: it.blocks,
            })
        });
        Self(sections.collect())
    }

    /// The sections that have every word, in their title or below it: first those with most of the words in the title, then
    /// those that say them most often. At most one more than are listed.
    pub(super) fn find(&self, Query(words): &Query) -> Vec<Found<'_>> {
        let mut found: Vec<_> =
            self.0.iter().filter_map(|it| Some((it.rank(words)?, it))).collect();
        // Equal ones keep their order.
        found.sort_by_key(|it| std::cmp::Reverse(it.0));
        found.truncate(N_RESULTS_MAX + 1);
        let found = found.into_iter();
        found.map(|(_, section)| Found { section, excerpt: section.excerpt(words) }).collect()
    }
}

impl IndexedSection {
    /// How well it fits. `None`: a word is missing.
    fn rank(&self, words: &[String]) -> Option<(usize, usize)> {
        let says = |word: &String| self.blocks_folded.iter().filter(|it| it.contains(word)).count();
        let (mut n_in_title, mut n_blocks) = (0, 0);
        for word in words {
            let (is_in_title, n) = (self.title_folded.contains(word), says(word));
            if !is_in_title && n == 0 {
                return None;
            }
            n_in_title += usize::from(is_in_title);
            n_blocks += n;
        }
        Some((n_in_title, n_blocks))
    }

    /// The block with most of the words, cut around the first of them, with marks on all.
    fn excerpt(&self, words: &[String]) -> String {
        let n_words = |folded: &String| words.iter().filter(|it| folded.contains(*it)).count();
        // Of equal ones, the first.
        let best = (0..self.blocks.len()).rev().max_by_key(|it| n_words(&self.blocks_folded[*it]));
        let Some(best) = best else { return String::new() };
        let (text, folded) = (&self.blocks[best], &self.blocks_folded[best]);
        let first = words.iter().filter_map(|it| folded.find(it)).min().unwrap_or(0);
        let from = text.floor_char_boundary(first.saturating_sub(EXCERPT_CHARS / 4));
        let to = text.floor_char_boundary((from + EXCERPT_CHARS).min(text.len()));
        let (start, end) =
            (if from == 0 { "" } else { "… " }, if to == text.len() { "" } else { " …" });
        format!("{start}{}{end}", marked(&text[from..to], &folded[from..to], words))
    }
}

/// A text as HTML, with marks on words. `folded`: the text in lower case, of the same length.
fn marked(text: &str, folded: &str, words: &[String]) -> String {
    let mut html = String::new();
    let mut at = 0;
    loop {
        let next = words.iter().filter_map(|it| Some((folded[at..].find(it)? + at, it.len())));
        // Of those that begin together, the longest.
        let Some((from, n)) = next.min_by_key(|it| (it.0, std::cmp::Reverse(it.1))) else {
            return html + &guide::escaped(&text[at..]);
        };
        html += &guide::escaped(&text[at..from]);
        html += "<mark>";
        html += &guide::escaped(&text[from..from + n]);
        html += "</mark>";
        at = from + n;
    }
}
