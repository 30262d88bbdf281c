//! A document as a page of HTML that needs nothing from anywhere else and runs nothing.

use std::fmt::Write as _;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::chart::{
    COLORS, FILLS, Fill, LEVELS, LINE_COLOR, MARK_COLOR, line, marks, segments, up,
};
use super::{Align, Bars, Block, Column, Figure, LineChart, N_PARTS, Paper, Table};

const STYLE: &str = include_str!("../../../assets/report/paper.css");
/// Wherever the page is opened, it loads nothing and runs nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
/// The field of a chart, and what is left and below of it.
const CHART: (u32, u32) = (600, 160);
const SCALE: u32 = 28;
const DAYS: u32 = 22;
/// The length and the height of a bar.
const BAR: (u32, u32) = (200, 12);

/// Writes a document as HTML.
#[must_use]
pub fn write(paper: &Paper) -> Vec<u8> {
    let mut page = String::from("<!doctype html>\n");
    let (language, title) = (paper.language.as_str(), text(&paper.name()));
    let _ = writeln!(page, "<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">");
    let _ = writeln!(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width\">\n");
    let _ = writeln!(page, "<title>{title}</title>");
    let _ = writeln!(page, "<meta name=\"author\" content=\"{}\">", text(&paper.author));
    let _ = writeln!(page, "<style>\n{STYLE}</style>\n</head>\n<body>");
    put_head(&mut page, paper);
    page.push_str("<main>\n");
    put_patterns(&mut page);
    paper.blocks.iter().for_each(|it| put_block(&mut page, it));
    let (author, date) = (text(&paper.author), text(&paper.date));
    let _ = writeln!(page, "</main>\n<footer>{author} · {date}</footer>\n</body>\n</html>");
    page.into_bytes()
}

/// A text with what HTML would read as its own replaced. Control characters are left out: no text needs them.
fn text(plain: &str) -> String {
    let mut escaped = String::with_capacity(plain.len());
    for it in plain.chars().filter(|it| !it.is_control()) {
        match it {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn color([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn put_head(page: &mut String, paper: &Paper) {
    page.push_str("<header>\n");
    let author = text(&paper.author);
    if let Some(logo) = &paper.logo {
        let (kind, data) = (logo.kind.media_type(), BASE64_STANDARD.encode(&logo.bytes));
        let _ = writeln!(page, "<img src=\"data:{kind};base64,{data}\" alt=\"{author}\">");
    } else {
        let _ = writeln!(page, "<p class=\"author\">{author}</p>");
    }
    let _ = writeln!(page, "<h1>{}</h1>", text(&paper.title));
    let _ = writeln!(page, "<p class=\"subject\">{}</p>", text(&paper.subject));
    for detail in &paper.details {
        let _ = writeln!(page, "<p class=\"detail\">{}</p>", text(detail));
    }
    page.push_str("</header>\n");
}

/// The patterns of [`Fill`], which every drawing of the page may name.
fn put_patterns(page: &mut String) {
    page.push_str(
        "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>",
    );
    for (part, fill) in FILLS.into_iter().enumerate() {
        let lines = match fill {
            Fill::Solid | Fill::Empty => continue,
            Fill::Striped => "M0 6 6 0",
            Fill::Crossed => "M0 6 6 0M0 0 6 6",
        };
        let color = color(COLORS[part]);
        let _ = write!(
            page,
            "<pattern id=\"part{part}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <path d=\"{lines}\" stroke=\"{color}\" stroke-width=\"1.6\"/></pattern>"
        );
    }
    page.push_str("</defs></svg>\n");
}

fn put_block(page: &mut String, block: &Block) {
    let _ = match block {
        Block::Heading(it) => writeln!(page, "<h2>{}</h2>", text(it)),
        Block::Text(it) => writeln!(page, "<p>{}</p>", text(it)),
        Block::Note(it) => writeln!(page, "<p class=\"note\">{}</p>", text(it)),
        Block::Figures(all) => {
            put_figures(page, all);
            Ok(())
        }
        Block::List(items) => {
            page.push_str("<ul>\n");
            for it in items {
                let _ = writeln!(page, "<li>{}</li>", text(it));
            }
            writeln!(page, "</ul>")
        }
        Block::Table(it) => {
            put_table(page, it);
            Ok(())
        }
        Block::Bars(it) => {
            put_bars(page, it);
            Ok(())
        }
        Block::Line(it) => {
            put_chart(page, it);
            Ok(())
        }
    };
}

fn put_figures(page: &mut String, figures: &[Figure]) {
    page.push_str("<dl class=\"figures\">\n");
    for it in figures {
        let (label, value) = (text(&it.label), text(&it.value));
        let _ = write!(page, "<div><dt>{label}</dt><dd class=\"value\">{value}</dd>");
        if !it.note.is_empty() {
            let _ = write!(page, "<dd class=\"note\">{}</dd>", text(&it.note));
        }
        page.push_str("</div>\n");
    }
    page.push_str("</dl>\n");
}

const fn class(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"number\"",
    }
}

fn put_headings(page: &mut String, columns: &[Column]) {
    page.push_str("<table class=\"shared\">\n<colgroup>");
    for it in columns {
        let _ = write!(page, "<col style=\"width:{}%\">", it.share);
    }
    page.push_str("</colgroup>\n<thead><tr>");
    for it in columns {
        let class = class(it.align);
        let _ = write!(page, "<th scope=\"col\"{class}>{}</th>", text(&it.heading));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
}

fn put_table(page: &mut String, table: &Table) {
    put_headings(page, &table.columns);
    for row in &table.rows {
        page.push_str("<tr>");
        for (index, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
            let (class, cell) = (class(column.align), text(cell));
            let _ = if index == 0 {
                write!(page, "<th scope=\"row\"{class}>{cell}</th>")
            } else {
                write!(page, "<td{class}>{cell}</td>")
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n");
}

/// How a part of a bar is filled.
fn paint(part: usize) -> String {
    let color = color(COLORS[part]);
    match FILLS[part] {
        Fill::Solid => format!("fill=\"{color}\""),
        Fill::Striped | Fill::Crossed => format!("fill=\"url(#part{part})\" stroke=\"{color}\""),
        Fill::Empty => format!("fill=\"#fff\" stroke=\"{color}\""),
    }
}

fn put_bars(page: &mut String, bars: &Bars) {
    let (length, height) = BAR;
    page.push_str("<table>\n<thead><tr>");
    let heading = text(&bars.heading);
    // The numbers beside a bar say the same.
    let _ = write!(page, "<th scope=\"col\">{heading}</th><td aria-hidden=\"true\"></td>");
    for part in 0..N_PARTS {
        let (name, paint) = (text(&bars.parts[part]), paint(part));
        let _ = write!(
            page,
            "<th scope=\"col\" class=\"number\">{name}<svg class=\"swatch\" viewBox=\"0 0 24 12\" aria-hidden=\"true\">\
             <rect x=\"1\" y=\"1\" width=\"22\" height=\"10\" {paint}/></svg></th>"
        );
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for bar in &bars.bars {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", text(&bar.name));
        let _ = write!(
            page,
            "<td aria-hidden=\"true\"><svg viewBox=\"-1 0 {} {}\">",
            length + 2,
            height + 2
        );
        for (part, from, to) in segments(bar, length) {
            let (width, paint) = (to - from, paint(part));
            let _ = write!(
                page,
                "<rect x=\"{from}\" y=\"1\" width=\"{width}\" height=\"{height}\" {paint}/>"
            );
        }
        page.push_str("</svg></td>");
        for count in bar.counts {
            let _ = write!(page, "<td class=\"number\">{count}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n");
}

fn put_chart(page: &mut String, chart: &LineChart) {
    let (width, height) = CHART;
    let (all, alternative) = ((width + SCALE + 4, height + DAYS + 6), text(&chart.alternative));
    let _ = write!(
        page,
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"trend trend-text\">\
         <title id=\"trend\">{}</title><desc id=\"trend-text\">{alternative}</desc>",
        all.0,
        all.1,
        text(&chart.title),
    );
    let down = |value: u32| height + 6 - value;
    for level in LEVELS.into_iter().chain([100]) {
        let (y, right) = (down(up(level, height)), SCALE + width);
        let _ = write!(
            page,
            "<path d=\"M{SCALE} {y}H{right}\" stroke=\"#c9d0d8\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{level}</text>",
            SCALE - 5,
            y + 4,
        );
    }
    for x in marks(chart, width) {
        let (x, top, bottom) = (SCALE + x, down(height), down(0));
        let _ = write!(
            page,
            "<path d=\"M{x} {top}V{bottom}\" stroke=\"{}\" stroke-dasharray=\"4 3\"/>",
            color(MARK_COLOR)
        );
    }
    let points = line(chart, width, height).into_iter();
    let points: Vec<String> =
        points.map(|(x, value)| format!("{},{}", SCALE + x, down(value))).collect();
    let [first, last] = &chart.days;
    let y = height + DAYS;
    let _ = writeln!(
        page,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"/>\
         <text x=\"{SCALE}\" y=\"{y}\">{}</text><text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{}</text></svg>",
        points.join(" "),
        color(LINE_COLOR),
        text(first),
        SCALE + width,
        text(last),
    );
}
