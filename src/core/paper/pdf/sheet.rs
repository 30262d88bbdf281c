//! The pages of a document before they are drawn: what is where, and what it is in the order of reading.
//!
//! Lengths are whole thousandths of a point, from the upper left corner.

use krilla::tagging::TagKind;

use super::font::{Fonts, Weight};
use crate::paper::chart::Fill;

/// Letter.
pub(super) const WIDTH: i32 = 612_000;
pub(super) const HEIGHT: i32 = 792_000;
pub(super) const LEFT: i32 = 54_000;
pub(super) const TOP: i32 = 60_000;
pub(super) const BOTTOM: i32 = HEIGHT - 62_000;
/// Of a line of text.
pub(super) const FIELD: i32 = WIDTH - 2 * LEFT;

pub(super) const INK: [u8; 3] = [0x1b, 0x1f, 0x24];
pub(super) const MUTED: [u8; 3] = [0x52, 0x5b, 0x66];
pub(super) const RULE: [u8; 3] = [0xc9, 0xd0, 0xd8];
pub(super) const SHADE: [u8; 3] = [0xf0, 0xf3, 0xf6];
pub(super) const ACCENT: [u8; 3] = [0x1f, 0x4f, 0x8f];

pub(super) enum Mark {
    /// `y`: of the line on which the letters stand.
    Text {
        x: i32,
        y: i32,
        style: Style,
        text: String,
    },
    Area {
        x: i32,
        y: i32,
        width: i32,
        height: i32,
        fill: Fill,
        color: [u8; 3],
    },
    Line {
        points: Vec<(i32, i32)>,
        width: i32,
        color: [u8; 3],
    },
    /// The logo.
    Picture {
        x: i32,
        y: i32,
        width: i32,
        height: i32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) weight: Weight,
    pub(super) size: i32,
    pub(super) color: [u8; 3],
}

impl Style {
    pub(super) const fn regular(size: i32) -> Self {
        Self { weight: Weight::Regular, size, color: INK }
    }

    pub(super) const fn bold(size: i32) -> Self {
        Self { weight: Weight::Bold, size, color: INK }
    }

    pub(super) const fn in_color(self, color: [u8; 3]) -> Self {
        Self { color, ..self }
    }

    /// From line to line.
    pub(super) const fn leading(self) -> i32 {
        self.size * 7 / 5
    }

    /// From the upper edge of a line to where its letters stand.
    pub(super) const fn rise(self) -> i32 {
        self.size * 107 / 100
    }
}

/// What a mark is to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Decoration.
    None,
    Header,
    Footer,
    /// The leaf with this number.
    Leaf(usize),
}

/// The order of reading.
pub(super) enum Tag {
    Leaf(usize),
    Group(TagKind, Vec<Tag>),
}

/// A heading for the outline.
pub(super) struct Anchor {
    pub(super) text: String,
    pub(super) page: usize,
    pub(super) y: i32,
}

pub(super) struct Sheets<'f> {
    pub(super) fonts: &'f Fonts,
    pub(super) pages: Vec<Vec<(Part, Mark)>>,
    pub(super) tags: Vec<Tag>,
    pub(super) anchors: Vec<Anchor>,
    /// Where the next block begins.
    pub(super) y: i32,
    n_leaves: usize,
}

impl<'f> Sheets<'f> {
    pub(super) fn new(fonts: &'f Fonts) -> Self {
        let (tags, anchors) = (Vec::new(), Vec::new());
        Self { fonts, pages: vec![Vec::new()], tags, anchors, y: TOP, n_leaves: 0 }
    }

    pub(super) fn turn_page(&mut self) {
        self.pages.push(Vec::new());
        self.y = TOP;
    }

    /// Begins another page unless this much fits.
    pub(super) fn keep(&mut self, height: i32) {
        if BOTTOM < self.y + height && TOP < self.y {
            self.turn_page();
        }
    }

    pub(super) fn put(&mut self, part: Part, mark: Mark) {
        let page = self.pages.last_mut().expect("there is a first page");
        page.push((part, mark));
    }

    /// Takes all of the page for decoration that is not read.
    pub(super) fn decorate(&mut self) {
        let page = self.pages.last_mut().expect("there is a first page");
        for (part, _) in page {
            *part = Part::None;
        }
    }

    pub(super) fn next_leaf(&mut self) -> usize {
        self.n_leaves += 1;
        self.n_leaves - 1
    }

    pub(super) fn lines(&self, text: &str, style: Style, width: i32) -> Vec<String> {
        self.fonts.face(style.weight).lines(text, style.size, width)
    }

    pub(super) fn width(&self, text: &str, style: Style) -> i32 {
        self.fonts.face(style.weight).width(text, style.size)
    }

    /// Puts one line whose upper edge is at `y`, and returns its leaf.
    pub(super) fn put_line(&mut self, x: i32, y: i32, style: Style, text: String) -> Tag {
        let leaf = self.next_leaf();
        let y = y + style.rise();
        self.put(Part::Leaf(leaf), Mark::Text { x, y, style, text });
        Tag::Leaf(leaf)
    }

    /// Puts a text in lines from here on, over as many pages as it takes. Returns their leaves.
    pub(super) fn put_text(&mut self, x: i32, width: i32, style: Style, text: &str) -> Vec<Tag> {
        let mut leaves = Vec::new();
        for mut line in self.lines(text, style, width) {
            self.keep(style.leading());
            // What comes after it is another word.
            line.push(' ');
            leaves.push(self.put_line(x, self.y, style, line));
            self.y += style.leading();
        }
        leaves
    }

    pub(super) fn rule(&mut self, y: i32) {
        self.rule_between((LEFT, LEFT + FIELD), y);
    }

    pub(super) fn rule_between(&mut self, (from, to): (i32, i32), y: i32) {
        let points = vec![(from, y), (to, y)];
        self.put(Part::None, Mark::Line { points, width: 500, color: RULE });
    }
}
