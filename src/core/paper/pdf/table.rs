//! Tables, and bars, which are tables with a drawing in a column.

use krilla::tagging::{TableHeaderScope, Tag as Kind};

use super::sheet::{BOTTOM, FIELD, LEFT, MUTED, Mark, Part, SHADE, Sheets, Style, TOP, Tag};
use crate::paper::chart::{COLORS, FILLS, Fill, segments};
use crate::paper::{Align, Bars, Column, N_PARTS, Table};

const HEAD: Style = Style::bold(8_500).in_color(MUTED);
const CELL: Style = Style::regular(9_000);
/// Left and right of what is in a cell.
const PAD_X: i32 = 5_000;
/// Above and below it.
const PAD_Y: i32 = 3_500;
const BAR_HEIGHT: i32 = 9_000;
const SWATCH: i32 = 7_000;
/// Shares of the columns of bars: the name, the bar, and each number.
const NAME_SHARE: u16 = 30;
const BAR_SHARE: u16 = 34;
const NUMBER_SHARE: u16 = 14;

/// The left edge and the width of each column.
fn places(columns: &[Column]) -> Vec<(i32, i32)> {
    let total: i32 = columns.iter().map(|it| i32::from(it.share)).sum();
    let mut sum = 0;
    let place = |it: &Column| {
        let from = FIELD * sum / total;
        sum += i32::from(it.share);
        (LEFT + from, FIELD * sum / total - from)
    };
    columns.iter().map(place).collect()
}

/// A column with its place.
struct Placed<'t> {
    columns: &'t [Column],
    places: Vec<(i32, i32)>,
}

impl<'t> Placed<'t> {
    fn of(columns: &'t [Column]) -> Self {
        Self { columns, places: places(columns) }
    }

    fn wrapped<'c>(
        &self,
        sheets: &Sheets<'_>,
        style: Style,
        cells: impl Iterator<Item = &'c str>,
    ) -> Vec<Vec<String>> {
        let places = self.places.iter();
        places
            .zip(cells)
            .map(|((_, width), it)| sheets.lines(it, style, width - 2 * PAD_X))
            .collect()
    }

    /// Puts lines of each cell from `y` on. Returns the leaves of each cell.
    fn put(
        &self,
        sheets: &mut Sheets<'_>,
        y: i32,
        style: Style,
        cells: &[&[String]],
    ) -> Vec<Vec<Tag>> {
        let mut leaves = Vec::new();
        for ((column, (x, width)), lines) in self.columns.iter().zip(&self.places).zip(cells) {
            let mut of_cell = Vec::new();
            for (index, line) in lines.iter().enumerate().filter(|(_, it)| !it.is_empty()) {
                let start = match column.align {
                    Align::Left => x + PAD_X,
                    Align::Right => x + width - PAD_X - sheets.width(line, style),
                };
                let top = y + style.leading() * i32::try_from(index).unwrap_or(0);
                of_cell.push(sheets.put_line(start, top, style, format!("{line} ")));
            }
            leaves.push(of_cell);
        }
        leaves
    }

    /// Puts the headings, and returns how they are read.
    fn put_head(&self, sheets: &mut Sheets<'_>) -> Tag {
        let headings = self.columns.iter().map(|it| it.heading.as_str());
        let wrapped = self.wrapped(sheets, HEAD, headings);
        let n_lines = wrapped.iter().map(Vec::len).max().unwrap_or(1);
        let height = HEAD.leading() * i32::try_from(n_lines).unwrap_or(1) + 2 * PAD_Y;
        let y = sheets.y;
        sheets.put(Part::None, shade(y, height));
        sheets.y += height;
        let lines: Vec<&[String]> = wrapped.iter().map(Vec::as_slice).collect();
        let cells = self.put(sheets, y + PAD_Y, HEAD, &lines);
        let cell = |it| Tag::Group(Kind::TH(TableHeaderScope::Column).into(), it);
        Tag::Group(Kind::TR.into(), cells.into_iter().map(cell).collect())
    }

    /// Goes on at the next page, below the headings. They were read before, so they are decoration there.
    fn turn_page(&self, sheets: &mut Sheets<'_>) {
        sheets.turn_page();
        drop(self.put_head(sheets));
        sheets.decorate();
    }
}

/// A row that is being put: each cell's lines, and the first one that is not put yet.
fn put_row(
    sheets: &mut Sheets<'_>,
    placed: &Placed<'_>,
    cells: &[Vec<String>],
    draw: &mut dyn FnMut(&mut Sheets<'_>, i32),
) -> Tag {
    let n_lines = cells.iter().map(Vec::len).max().unwrap_or(1);
    let height = |n: usize| CELL.leading() * i32::try_from(n).unwrap_or(i32::MAX) + 2 * PAD_Y;
    let is_short = height(n_lines) < (BOTTOM - TOP) / 2;
    if BOTTOM < sheets.y + if is_short { height(n_lines) } else { height(2) } {
        placed.turn_page(sheets);
    }
    let mut of_cells: Vec<Vec<Tag>> = cells.iter().map(|_| Vec::new()).collect();
    let mut from = 0;
    while from < n_lines {
        let room = (BOTTOM - sheets.y - 2 * PAD_Y) / CELL.leading();
        let n = usize::try_from(room).unwrap_or(1).max(1).min(n_lines - from);
        let part = |it: &'_ Vec<String>| from.min(it.len())..(from + n).min(it.len());
        let lines: Vec<&[String]> = cells.iter().map(|it| &it[part(it)]).collect();
        let y = sheets.y + PAD_Y;
        let leaves = placed.put(sheets, y, CELL, &lines);
        of_cells.iter_mut().zip(leaves).for_each(|(all, more)| all.extend(more));
        if from == 0 {
            draw(sheets, y);
        }
        sheets.y += height(n);
        sheets.rule(sheets.y);
        from += n;
        if from < n_lines {
            placed.turn_page(sheets);
        }
    }
    let cell = |(index, leaves)| {
        let kind =
            if index == 0 { Kind::TH(TableHeaderScope::Row).into() } else { Kind::TD.into() };
        Tag::Group(kind, leaves)
    };
    Tag::Group(Kind::TR.into(), of_cells.into_iter().enumerate().map(cell).collect())
}

pub(super) fn put_table(sheets: &mut Sheets<'_>, table: &Table) {
    let placed = Placed::of(&table.columns);
    sheets.keep(3 * (CELL.leading() + 2 * PAD_Y));
    let head = placed.put_head(sheets);
    let mut rows = Vec::new();
    for row in &table.rows {
        let cells = placed.wrapped(sheets, CELL, row.iter().map(String::as_str));
        rows.push(put_row(sheets, &placed, &cells, &mut |_, _| ()));
    }
    end(sheets, head, rows);
}

/// The table is complete.
fn end(sheets: &mut Sheets<'_>, head: Tag, rows: Vec<Tag>) {
    let head = Tag::Group(Kind::THead.into(), vec![head]);
    let body = Tag::Group(Kind::TBody.into(), rows);
    sheets.tags.push(Tag::Group(Kind::Table.into(), vec![head, body]));
    sheets.y += 8_000;
}

pub(super) fn put_bars(sheets: &mut Sheets<'_>, bars: &Bars) {
    let mut columns =
        vec![Column::left(bars.heading.clone(), NAME_SHARE), Column::left("", BAR_SHARE)];
    columns.extend(bars.parts.iter().map(|it| Column::right(it.clone(), NUMBER_SHARE)));
    let placed = Placed::of(&columns);
    sheets.keep(5 * (CELL.leading() + 2 * PAD_Y));
    let mut head = placed.put_head(sheets);
    put_legend(sheets, &placed);
    let (x, width) = placed.places[1];
    let (x, length) = (x + PAD_X, u32::try_from(width - 2 * PAD_X).unwrap_or(0));
    let mut rows = Vec::new();
    for bar in &bars.bars {
        let mut texts = vec![bar.name.clone(), String::new()];
        texts.extend(bar.counts.iter().map(u32::to_string));
        let cells = placed.wrapped(sheets, CELL, texts.iter().map(String::as_str));
        let mut draw = |sheets: &mut Sheets<'_>, y: i32| {
            for (part, from, to) in segments(bar, length) {
                let (from, to) = (i32::try_from(from), i32::try_from(to));
                let (from, to) = (from.unwrap_or(0), to.unwrap_or(0));
                let area = Mark::Area {
                    x: x + from,
                    y: y + 2_000,
                    width: to - from,
                    height: BAR_HEIGHT,
                    fill: FILLS[part],
                    color: COLORS[part],
                };
                sheets.put(Part::None, area);
            }
        };
        rows.push(put_row(sheets, &placed, &cells, &mut draw));
    }
    // Without the column of drawings: its numbers are beside it.
    rows.iter_mut().for_each(without_bar);
    without_bar(&mut head);
    end(sheets, head, rows);
}

fn without_bar(row: &mut Tag) {
    if let Tag::Group(_, cells) = row {
        cells.remove(1);
    }
}

/// How each part is filled, above its numbers.
fn put_legend(sheets: &mut Sheets<'_>, placed: &Placed<'_>) {
    let (y, height) = (sheets.y, SWATCH + PAD_Y);
    sheets.put(Part::None, shade(y, height));
    for part in 0..N_PARTS {
        let (x, width) = placed.places[part + 2];
        let x = x + width - PAD_X - 2 * SWATCH;
        let (fill, color) = (FILLS[part], COLORS[part]);
        let area = Mark::Area { x, y, width: 2 * SWATCH, height: SWATCH, fill, color };
        sheets.put(Part::None, area);
    }
    sheets.y += height;
}

/// The background of headings.
const fn shade(y: i32, height: i32) -> Mark {
    Mark::Area { x: LEFT, y, width: FIELD, height, fill: Fill::Solid, color: SHADE }
}
