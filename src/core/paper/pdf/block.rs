//! The blocks of a document, one after the other.

use std::num::NonZeroU16;

use krilla::tagging::{ListNumbering, Tag as Kind};

use super::sheet::{ACCENT, FIELD, LEFT, MUTED, Mark, Part, RULE, SHADE, Sheets, Style, Tag};
use super::table::{put_bars, put_table};
use crate::paper::chart::{Fill, LEVELS, LINE_COLOR, MARK_COLOR, line, marks, up};
use crate::paper::{Block, Figure, LineChart, Paper};

const TITLE: Style = Style::bold(22_000);
const SUBJECT: Style = Style::regular(15_000);
const HEADING: Style = Style::bold(13_000).in_color(ACCENT);
const BODY: Style = Style::regular(10_000);
const NOTE: Style = Style::regular(8_500).in_color(MUTED);
const VALUE: Style = Style::bold(19_000);
const LABEL: Style = Style::bold(8_500).in_color(MUTED);

const LOGO_HEIGHT: i32 = 40_000;
const LOGO_WIDTH_MAX: i32 = 190_000;
const INDENT: i32 = 14_000;
const GAP: i32 = 7_000;
/// What has to fit below a heading: the head of a table and its first rows.
const KEPT: i32 = 120_000;
const CHART_HEIGHT: i32 = 120_000;
/// Left of a chart, for the numbers of its lines.
const SCALE: i32 = 24_000;

pub(super) fn put_all(sheets: &mut Sheets<'_>, paper: &Paper, logo: Option<(u32, u32)>) {
    put_head(sheets, paper, logo);
    for block in &paper.blocks {
        match block {
            Block::Heading(text) => put_heading(sheets, text),
            Block::Text(text) => put_paragraph(sheets, BODY, text),
            Block::Note(text) => put_paragraph(sheets, NOTE, text),
            Block::Figures(all) => put_figures(sheets, all),
            Block::List(items) => put_list(sheets, items),
            Block::Table(it) => put_table(sheets, it),
            Block::Bars(it) => put_bars(sheets, it),
            Block::Line(it) => put_chart(sheets, it),
        }
    }
}

fn put_head(sheets: &mut Sheets<'_>, paper: &Paper, logo: Option<(u32, u32)>) {
    if let Some((width, height)) = logo {
        put_logo(sheets, (i64::from(width), i64::from(height)), &paper.author);
    } else {
        let author = sheets.put_text(LEFT, FIELD, LABEL, &paper.author);
        sheets.tags.push(Tag::Group(Kind::P.into(), author));
        sheets.y += GAP;
    }
    let first = NonZeroU16::MIN;
    let (page, y) = (0, sheets.y);
    let title = sheets.put_text(LEFT, FIELD, TITLE, &paper.title);
    sheets.tags.push(Tag::Group(Kind::Hn(first, Some(paper.title.clone())).into(), title));
    sheets.anchors.push(super::Anchor { text: paper.name(), page, y });
    let subject = sheets.put_text(LEFT, FIELD, SUBJECT, &paper.subject);
    sheets.tags.push(Tag::Group(Kind::P.into(), subject));
    sheets.y += 3_000;
    for detail in &paper.details {
        let detail = sheets.put_text(LEFT, FIELD, NOTE, detail);
        sheets.tags.push(Tag::Group(Kind::P.into(), detail));
    }
    sheets.y += GAP;
    let y = sheets.y;
    let points = vec![(LEFT, y), (LEFT + FIELD, y)];
    sheets.put(Part::None, Mark::Line { points, width: 1_500, color: ACCENT });
    sheets.y += GAP;
}

fn put_logo(sheets: &mut Sheets<'_>, (width, height): (i64, i64), author: &str) {
    // As high as it may be, unless it is too wide then.
    let (wide, high) = (i64::from(LOGO_WIDTH_MAX), i64::from(LOGO_HEIGHT));
    let (width, height) = if width * high <= height * wide {
        ((width * high / height).max(1), high)
    } else {
        (wide, (height * wide / width).max(1))
    };
    let (width, height) = (i32::try_from(width), i32::try_from(height));
    let (width, height) = (width.unwrap_or(LOGO_WIDTH_MAX), height.unwrap_or(LOGO_HEIGHT));
    let (leaf, y) = (sheets.next_leaf(), sheets.y);
    sheets.put(Part::Leaf(leaf), Mark::Picture { x: LEFT, y, width, height });
    let figure = Kind::Figure(Some(author.to_owned()));
    sheets.tags.push(Tag::Group(figure.into(), vec![Tag::Leaf(leaf)]));
    sheets.y += height + 2 * GAP;
}

fn put_heading(sheets: &mut Sheets<'_>, text: &str) {
    // A heading stays with what follows.
    sheets.keep(HEADING.leading() + KEPT);
    sheets.y += 10_000;
    let (page, y) = (sheets.pages.len() - 1, sheets.y);
    sheets.anchors.push(super::Anchor { text: text.to_owned(), page, y });
    let level = NonZeroU16::MIN.saturating_add(1);
    let lines = sheets.put_text(LEFT, FIELD, HEADING, text);
    sheets.tags.push(Tag::Group(Kind::Hn(level, Some(text.to_owned())).into(), lines));
    sheets.y += 3_000;
}

fn put_paragraph(sheets: &mut Sheets<'_>, style: Style, text: &str) {
    let lines = sheets.put_text(LEFT, FIELD, style, text);
    sheets.tags.push(Tag::Group(Kind::P.into(), lines));
    sheets.y += GAP * 5 / 7;
}

fn put_list(sheets: &mut Sheets<'_>, items: &[String]) {
    let mut all = Vec::new();
    for item in items {
        sheets.keep(BODY.leading());
        let y = sheets.y;
        let label = vec![sheets.put_line(LEFT + 3_000, y, BODY, "• ".to_owned())];
        let body = sheets.put_text(LEFT + INDENT, FIELD - INDENT, BODY, item);
        let parts = vec![Tag::Group(Kind::Lbl.into(), label), Tag::Group(Kind::LBody.into(), body)];
        all.push(Tag::Group(Kind::LI.into(), parts));
        sheets.y += 2_500;
    }
    sheets.tags.push(Tag::Group(Kind::L(ListNumbering::Disc).into(), all));
    sheets.y += GAP * 3 / 7;
}

/// Side by side, in boxes of the same size.
fn put_figures(sheets: &mut Sheets<'_>, figures: &[Figure]) {
    let Ok(n) = i32::try_from(figures.len()) else { return };
    if n == 0 {
        return;
    }
    let (pad, gap) = (9_000, 8_000);
    let width = (FIELD - gap * (n - 1)) / n;
    let notes: Vec<Vec<String>> =
        figures.iter().map(|it| sheets.lines(&it.note, NOTE, width - 2 * pad)).collect();
    let n_lines = notes.iter().map(Vec::len).max().unwrap_or(0);
    let lines = NOTE.leading() * i32::try_from(n_lines).unwrap_or(0);
    let height = LABEL.leading() + VALUE.leading() + lines + 2 * pad;
    sheets.keep(height);
    let top = sheets.y;
    for ((index, figure), note) in (0..n).zip(figures).zip(notes) {
        let x = LEFT + index * (width + gap);
        let shade = Mark::Area { x, y: top, width, height, fill: Fill::Solid, color: SHADE };
        sheets.put(Part::None, shade);
        let x = x + pad;
        let mut y = top + pad;
        let mut leaves = vec![sheets.put_line(x, y, LABEL, format!("{} ", figure.label))];
        y += LABEL.leading();
        leaves.push(sheets.put_line(x, y, VALUE, format!("{} ", figure.value)));
        y += VALUE.leading();
        for line in note {
            leaves.push(sheets.put_line(x, y, NOTE, format!("{line} ")));
            y += NOTE.leading();
        }
        sheets.tags.push(Tag::Group(Kind::P.into(), leaves));
    }
    sheets.y += height + GAP;
}

/// The dashes of a mark in a chart, and from one to the next.
const DASH: i32 = 4_000;
const DASH_STEP: usize = 7_000;

fn put_chart(sheets: &mut Sheets<'_>, chart: &LineChart) {
    sheets.keep(CHART_HEIGHT + 30_000);
    let (left, top, width) = (LEFT + SCALE, sheets.y + 6_000, FIELD - SCALE);
    let leaf = sheets.next_leaf();
    let part = Part::Leaf(leaf);
    let field = (width.unsigned_abs(), CHART_HEIGHT.unsigned_abs());
    let bottom = top + CHART_HEIGHT;
    let down = |up: u32| bottom - i32::try_from(up).unwrap_or(0);
    for level in LEVELS.into_iter().chain([100]) {
        let y = down(up(level, field.1));
        let points = vec![(left, y), (left + width, y)];
        sheets.put(part, Mark::Line { points, width: 500, color: RULE });
        let text = level.to_string();
        let x = left - 5_000 - sheets.width(&text, NOTE);
        sheets.put(part, Mark::Text { x, y: y + 3_000, style: NOTE, text });
    }
    for x in marks(chart, field.0) {
        let x = left + i32::try_from(x).unwrap_or(0);
        for y in (top..bottom).step_by(DASH_STEP) {
            let points = vec![(x, y), (x, (y + DASH).min(bottom))];
            sheets.put(part, Mark::Line { points, width: 700, color: MARK_COLOR });
        }
    }
    let points = line(chart, field.0, field.1).into_iter();
    let points = points.map(|(x, up)| (left + i32::try_from(x).unwrap_or(0), down(up))).collect();
    sheets.put(part, Mark::Line { points, width: 1_800, color: LINE_COLOR });
    let [first, last] = &chart.days;
    let y = bottom + 13_000;
    let x = left + width - sheets.width(last, NOTE);
    sheets.put(part, Mark::Text { x: left, y, style: NOTE, text: first.clone() });
    sheets.put(part, Mark::Text { x, y, style: NOTE, text: last.clone() });
    let figure = Kind::Figure(Some(chart.alternative.clone()));
    sheets.tags.push(Tag::Group(figure.into(), vec![Tag::Leaf(leaf)]));
    sheets.y = bottom + 26_000;
}
