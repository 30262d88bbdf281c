//! A document as PDF, tagged for those who have it read to them (PDF/UA-1).

mod block;
mod draw;
mod font;
mod sheet;
mod table;

use std::collections::BTreeMap;

use krilla::configure::{Accessibility, ConfigurationBuilder};
use krilla::destination::XyzDestination;
use krilla::error::KrillaError;
use krilla::geom::Point;
use krilla::image::Image;
use krilla::metadata::{DateTime, Metadata};
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::{Document, SerializeSettings};

use self::draw::{draw, points, tree};
use self::font::Fonts;
use self::sheet::{Anchor, BOTTOM, FIELD, HEIGHT, LEFT, MUTED, Mark, Part, Sheets, Style, WIDTH};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::paper::Paper;

const FOOT: Style = Style::regular(8_000).in_color(MUTED);

/// Writes a document as PDF.
///
/// # Errors
/// `Internal` if it does not obey the rules of accessible documents.
pub fn write(paper: &Paper) -> Result<Vec<u8>> {
    let fonts = Fonts::read();
    let logo = paper.logo.as_ref().and_then(|it| it.pixels());
    let logo = logo.map(|it| {
        let colors = it.colors.chunks_exact(3).zip(it.opacity);
        let pixels = colors.flat_map(|(color, opacity)| [color[0], color[1], color[2], opacity]);
        (Image::from_rgba8(pixels.collect(), it.width, it.height), (it.width, it.height))
    });
    let mut sheets = Sheets::new(&fonts);
    block::put_all(&mut sheets, paper, logo.as_ref().map(|it| it.1));
    put_margins(&mut sheets, paper);

    let configuration =
        ConfigurationBuilder::new().with_accessibility_validator(Accessibility::UA1).finish();
    let configuration = configuration.map_err(|it| Error::internal(format!("{it:?}")))?;
    let settings = SerializeSettings { configuration, ..SerializeSettings::default() };
    let mut document = Document::new_with(settings);
    let mut leaves = BTreeMap::new();
    for page in &sheets.pages {
        let size = PageSettings::from_wh(points(WIDTH), points(HEIGHT));
        let mut sheet = document.start_page_with(size.expect("a page has a size"));
        let mut surface = sheet.surface();
        draw(&mut surface, (&fonts, logo.as_ref().map(|it| &it.0)), page, &mut leaves);
        surface.finish();
        sheet.finish();
    }
    document.set_metadata(metadata(paper));
    document.set_outline(outline(&sheets.anchors));
    document.set_tag_tree(tree(sheets.tags, &mut leaves, paper.language.as_str()));
    document.finish().map_err(|it| refused(&it))
}

fn refused(error: &KrillaError) -> Error {
    Error::internal(format!("the document cannot be written as PDF: {error:?}"))
}

fn metadata(paper: &Paper) -> Metadata {
    Metadata::new()
        .title(paper.name())
        .language(paper.language.as_str().to_owned())
        .authors(vec![paper.author.clone()])
        .creator("Posture".to_owned())
        .creation_date(date(paper.created))
}

fn date(at: Time) -> DateTime {
    let text = at.to_string();
    let number = |from: usize, to: usize| text[from..to].parse::<u8>().unwrap_or(0);
    DateTime::new(text[..4].parse().unwrap_or(0))
        .month(number(5, 7))
        .day(number(8, 10))
        .hour(number(11, 13))
        .minute(number(14, 16))
        .second(number(17, 19))
        .utc_offset_hour(0)
        .utc_offset_minute(0)
}

fn outline(anchors: &[Anchor]) -> Outline {
    let mut outline = Outline::new();
    for it in anchors {
        let place = XyzDestination::new(it.page, Point::from_xy(points(LEFT), points(it.y)));
        outline.push_child(OutlineNode::new(it.text.clone(), place));
    }
    outline
}

/// The foot of every page, and the head of all but the first.
fn put_margins(sheets: &mut Sheets<'_>, paper: &Paper) {
    let n_pages = sheets.pages.len();
    for page in 0..n_pages {
        let number = format!("{} / {n_pages}", page + 1);
        let right = LEFT + FIELD - sheets.width(&number, FOOT);
        let y = BOTTOM + 30_000;
        let by = short(sheets, &format!("{} · {}", paper.author, paper.date), FIELD * 3 / 4);
        let foot = [(LEFT, by), (right, number)];
        let mut marks: Vec<(Part, Mark)> = foot
            .map(|(x, text)| (Part::Footer, Mark::Text { x, y, style: FOOT, text }))
            .into_iter()
            .collect();
        if page != 0 {
            let text = short(sheets, &paper.name(), FIELD);
            marks.push((Part::Header, Mark::Text { x: LEFT, y: 40_000, style: FOOT, text }));
        }
        sheets.pages[page].extend(marks);
    }
}

/// The first line of a text, with a sign that it goes on.
fn short(sheets: &Sheets<'_>, text: &str, width: i32) -> String {
    let mut lines = sheets.lines(text, FOOT, width - sheets.width(" …", FOOT));
    let goes_on = 1 < lines.len();
    let first = lines.swap_remove(0);
    if goes_on { format!("{first} …") } else { first }
}
