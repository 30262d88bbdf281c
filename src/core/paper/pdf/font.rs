//! The fonts of a PDF, how wide texts are in them, and where lines end.
//!
//! Lengths are whole thousandths of a point.

use krilla::text::{Font, GlyphId, KrillaGlyph};
use ttf_parser::Face as FontFile;

const REGULAR: &[u8] = include_bytes!("../../../../assets/report/IBMPlexSans-Regular.ttf");
const SEMIBOLD: &[u8] = include_bytes!("../../../../assets/report/IBMPlexSans-SemiBold.ttf");
/// Units of both fonts in the size of a letter.
const UNITS_PER_EM: i32 = 1_000;
/// What is wider fits nowhere. Others are added to it.
const WIDEST: i32 = 1_000_000_000;
/// Shown for what the fonts do not have.
const UNKNOWN: char = '\u{FFFD}';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

pub(super) struct Fonts {
    regular: Face,
    bold: Face,
}

impl Fonts {
    pub(super) fn read() -> Self {
        Self { regular: Face::read(REGULAR), bold: Face::read(SEMIBOLD) }
    }

    pub(super) const fn face(&self, weight: Weight) -> &Face {
        match weight {
            Weight::Regular => &self.regular,
            Weight::Bold => &self.bold,
        }
    }
}

pub(super) struct Face {
    file: FontFile<'static>,
    pub(super) font: Font,
}

impl Face {
    fn read(bytes: &'static [u8]) -> Self {
        let file = FontFile::parse(bytes, 0).expect("the font is a valid file");
        assert!(i32::from(file.units_per_em()) == UNITS_PER_EM, "the unit of the font");
        let font = Font::new(bytes.into(), 0).expect("the font is a valid file");
        Self { file, font }
    }

    fn glyph(&self, letter: char) -> ttf_parser::GlyphId {
        let found = self.file.glyph_index(letter).or_else(|| self.file.glyph_index(UNKNOWN));
        found.expect("the font has the letter for unknown ones")
    }

    /// Returns true if the font has every letter of a text.
    pub(super) fn shows(&self, text: &str) -> bool {
        text.chars().all(|it| self.file.glyph_index(it).is_some())
    }

    fn advance(&self, letter: char) -> u16 {
        self.file.glyph_hor_advance(self.glyph(letter)).unwrap_or(0)
    }

    pub(super) fn width(&self, text: &str, size: i32) -> i32 {
        let units: i64 = text.chars().map(|it| i64::from(self.advance(it))).sum();
        let width = units * i64::from(size) / i64::from(UNITS_PER_EM);
        i32::try_from(width).unwrap_or(WIDEST).min(WIDEST)
    }

    /// The glyphs of a line, one for each letter.
    #[expect(clippy::float_arithmetic, reason = "the library takes parts of the size")]
    pub(super) fn glyphs(&self, text: &str) -> Vec<KrillaGlyph> {
        let glyph = |(at, letter): (usize, char)| {
            let id = GlyphId::new(self.glyph(letter).0.into());
            let advance = f32::from(self.advance(letter)) / 1_000.0;
            KrillaGlyph::new(id, advance, 0.0, 0.0, 0.0, at..at + letter.len_utf8(), None)
        };
        text.char_indices().map(glyph).collect()
    }

    /// Divides a text into lines of at most this width: at spaces, and a word that is wider than a line at any letter.
    pub(super) fn lines(&self, text: &str, size: i32, width: i32) -> Vec<String> {
        let mut lines = vec![String::new()];
        for word in text.split(' ').filter(|it| !it.is_empty()) {
            let line = lines.last_mut().expect("there is a first line");
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if self.width(&longer, size) <= width {
                *line = longer;
                continue;
            }
            if line.is_empty() {
                lines.pop();
            }
            lines.extend(self.pieces(word, size, width));
        }
        lines
    }

    /// A word in pieces of at most this width.
    fn pieces(&self, word: &str, size: i32, width: i32) -> Vec<String> {
        let mut pieces = vec![String::new()];
        for letter in word.chars() {
            let piece = pieces.last_mut().expect("there is a first piece");
            piece.push(letter);
            if width < self.width(piece, size) && 1 < piece.chars().count() {
                piece.pop();
                pieces.push(letter.to_string());
            }
        }
        pieces
    }
}
