//! What the guides say: their commands, their tables, and what is code in their sentences.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// `assets/docs/connect.md`.
pub static CONNECT: LazyLock<Chapter> = LazyLock::new(|| Chapter::read("connect.md"));
/// `assets/docs/install.md`.
pub static INSTALL: LazyLock<Chapter> = LazyLock::new(|| Chapter::read("install.md"));

/// A guide, or what is below some of its headings.
pub struct Chapter {
    text: String,
}

impl Chapter {
    fn read(file: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/docs").join(file);
        Self { text: std::fs::read_to_string(path).unwrap() }
    }

    /// What is below these headings, up to the next one that is not below them.
    pub fn below(&self, headings: &[&str]) -> Self {
        Self { text: headings.iter().map(|it| self.below_one(it)).collect() }
    }

    fn below_one(&self, heading: &str) -> String {
        let (mut text, mut level, mut in_block) = (String::new(), 0, false);
        for line in self.text.lines() {
            in_block ^= line.trim_start().starts_with("```");
            let (marks, title) = line.split_once(' ').unwrap_or((line, ""));
            let is_heading = !in_block && !marks.is_empty() && marks.chars().all(|it| it == '#');
            if is_heading && level == 0 && title == heading {
                level = marks.len();
            } else if is_heading && marks.len() <= level {
                break;
            } else if level != 0 {
                text.extend([line, "\n"]);
            }
        }
        assert_ne!(level, 0, "no heading `{heading}`");
        text
    }

    /// The texts of the code blocks in a language.
    pub fn blocks(&self, language: &str) -> Vec<String> {
        let fence = format!("\n```{language}\n");
        let blocks = self.text.split(&*fence).skip(1);
        blocks.map(|it| it.split("\n```").next().unwrap().to_owned()).collect()
    }

    /// What is code in its sentences and tables.
    pub fn spans(&self) -> BTreeSet<String> {
        spans(&self.text)
    }

    /// The cells below this heading of a table, of all its tables that have it.
    pub fn column(&self, heading: &str) -> Vec<String> {
        let (mut found, mut at) = (Vec::new(), None::<usize>);
        for line in self.text.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            if !line.starts_with('|') {
                at = None;
            } else if let Some(column) = at {
                found.extend(cells.get(column).map(|it| (*it).to_owned()));
            } else {
                let is_it = |it: &&str| it.eq_ignore_ascii_case(heading);
                // Of another table, no row has so many cells.
                at = Some(cells.iter().position(is_it).unwrap_or(usize::MAX));
            }
        }
        found
    }

    /// What is code in these columns.
    pub fn names(&self, headings: &[&str]) -> BTreeSet<String> {
        let cells = headings.iter().flat_map(|it| self.column(it));
        cells.flat_map(|it| spans(&it)).collect()
    }

    /// The controls that its tables say are decided.
    pub fn controls(&self) -> BTreeSet<String> {
        let cells = ["decides", "controls"].into_iter().flat_map(|it| self.column(it));
        let words = cells.flat_map(|it| words(&it).map(str::to_owned).collect::<Vec<_>>());
        words.filter(|it| is_control(it)).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| it != '-' && !it.is_ascii_alphanumeric())
}

fn is_control(word: &str) -> bool {
    let (area, number) = word.split_once('-').unwrap_or_default();
    let is_number = number.len() == 2 && number.bytes().all(|it| it.is_ascii_digit());
    is_number && (2..=3).contains(&area.len()) && area.bytes().all(|it| it.is_ascii_uppercase())
}

fn spans(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|it| !it.trim_start().starts_with("```"));
    let all = lines.flat_map(|it| it.split('`').skip(1).step_by(2));
    all.map(str::to_owned).collect()
}
