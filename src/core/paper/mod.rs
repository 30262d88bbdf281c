//! Documents for people: one description, shown as HTML and as PDF, and the signature at the end of the file; tables.

mod chart;
pub mod html;
mod logo;
pub mod pdf;
pub mod signature;
pub mod table;

use std::sync::Arc;

use bincode::{Decode, Encode};

use crate::clock::Time;
pub use logo::{LOGO_BYTES_MAX, Logo};

/// The language of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Language {
    English,
    French,
}

impl Language {
    pub const ALL: [Self; 2] = [Self::English, Self::French];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::French => "fr",
        }
    }
}

/// A document, in the order in which it is read. Every text is plain.
#[derive(Clone, Debug)]
pub struct Paper {
    pub language: Language,
    pub title: String,
    /// Whom it is about.
    pub subject: String,
    /// Who hands it out.
    pub author: String,
    /// Below the title, one line each.
    pub details: Vec<String>,
    pub created: Time,
    /// [`Self::created`] as the reader writes it.
    pub date: String,
    pub logo: Option<Arc<Logo>>,
    pub blocks: Vec<Block>,
}

impl Paper {
    /// What the document is called where there is one line for it.
    #[must_use]
    pub fn name(&self) -> String {
        let (title, subject) = (&self.title, &self.subject);
        match self.language {
            Language::English => format!("{title}: {subject}"),
            Language::French => format!("{title}\u{a0}: {subject}"),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Block {
    Heading(String),
    Text(String),
    /// Numbers to see first.
    Figures(Vec<Figure>),
    /// Before or after what it explains, in small letters.
    Note(String),
    List(Vec<String>),
    Table(Table),
    Bars(Bars),
    Line(LineChart),
}

/// One number to see first.
#[derive(Clone, Debug)]
pub struct Figure {
    pub label: String,
    pub value: String,
    /// What the number is to be read with. May be empty.
    pub note: String,
}

/// Rows under headings, which are repeated on every page.
#[derive(Clone, Debug)]
pub struct Table {
    pub columns: Vec<Column>,
    /// Each has a cell for each column.
    pub rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub heading: String,
    /// How wide it is, compared with the other ones.
    pub share: u16,
    pub align: Align,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    /// For numbers.
    Right,
}

impl Column {
    pub fn left(heading: impl Into<String>, share: u16) -> Self {
        Self { heading: heading.into(), share, align: Align::Left }
    }

    pub fn right(heading: impl Into<String>, share: u16) -> Self {
        Self { heading: heading.into(), share, align: Align::Right }
    }
}

/// A bar for each thing, divided into the same parts, with their numbers beside it.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The heading above the names of the bars.
    pub heading: String,
    /// The name of each part.
    pub parts: [String; N_PARTS],
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug)]
pub struct Bar {
    pub name: String,
    pub counts: [u32; N_PARTS],
}

/// How many parts a bar has. Each is filled in its own way, which can be told apart without color.
pub const N_PARTS: usize = 4;

/// A number from 0 to 100 over time.
#[derive(Clone, Debug)]
pub struct LineChart {
    pub title: String,
    /// What it shows, in a sentence, for those who do not see it.
    pub alternative: String,
    /// Days and values, by day. At least two.
    pub points: Vec<(u32, u8)>,
    /// The first and the last day, as the reader writes them.
    pub days: [String; 2],
    /// Days, between the first and the last, at which a dashed line goes down.
    pub marks: Vec<u32>,
}
