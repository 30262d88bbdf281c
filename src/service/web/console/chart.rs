//! Charts as SVG, readable without color and with a text for those who do not see them.

use std::fmt::Write as _;

/// Of a bar, in the units of its picture.
const BAR: (i64, i64) = (240, 14);
const LINE: (i64, i64) = (240, 60);
/// Where grades begin: each has a line across the chart.
const LEVELS: [i64; 4] = [60, 70, 80, 90];

/// A whole number with a comma before each group of three digits.
pub(super) fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    if n < 0 { format!("-{shown}") } else { shown }
}

/// A bar that is divided as the numbers are. The stylesheet fills each part in its own way, by its name.
pub(super) fn bar(parts: &[(String, i64)]) -> String {
    let total: i64 = parts.iter().map(|it| it.1.max(0)).sum();
    let (width, height) = BAR;
    let text: Vec<_> = parts
        .iter()
        .filter(|it| 0 < it.1)
        .map(|(name, n)| format!("{} {name}", grouped(*n)))
        .collect();
    let text = if text.is_empty() { "nothing".to_owned() } else { text.join(", ") };
    let mut svg = picture("bar", BAR, &text);
    let (mut sum, mut from) = (0, 0);
    for (name, n) in parts.iter().filter(|it| 0 < it.1) {
        sum += n;
        let to = sum * width / total;
        let class = class(name);
        let _ = write!(
            svg,
            r#"<rect class="part {class}" x="{from}" y="0" width="{}" height="{height}"/>"#,
            to - from
        );
        from = to;
    }
    svg + "</svg>"
}

/// Values from 0 to 100 over time, the oldest first: seconds and value. `marks`: when what follows could no longer be compared
/// with what is before, which a dashed line shows.
pub(super) fn line(points: &[(i64, i64)], marks: &[i64]) -> String {
    let (width, height) = LINE;
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return String::new();
    };
    let span = (last.0 - first.0).max(1);
    let place = |it: &(i64, i64)| {
        let x = (it.0 - first.0) * (width - 4) / span + 2;
        let y = height - 4 - it.1.clamp(0, 100) * (height - 8) / 100 + 2;
        (x, y)
    };
    let lowest = points.iter().map(|it| it.1).min().unwrap_or_default();
    let highest = points.iter().map(|it| it.1).max().unwrap_or_default();
    let text = format!("from {} to {}, lowest {lowest}, highest {highest}", first.1, last.1);
    let mut svg = picture("line", LINE, &text);
    for level in LEVELS {
        let (_, y) = place(&(first.0, level));
        let _ = write!(svg, r#"<path class="level" d="M0 {y}h{width}"/>"#);
    }
    let shown = marks.iter().filter(|it| (first.0..=last.0).contains(it));
    for (x, _) in shown.map(|it| place(&(*it, 0))) {
        let _ = write!(svg, r#"<path class="mark" d="M{x} 0v{height}"/>"#);
    }
    let drawn: Vec<_> = points.iter().map(place).map(|(x, y)| format!("{x},{y}")).collect();
    let (x, y) = place(last);
    let _ =
        write!(svg, r#"<polyline points="{}"/><circle cx="{x}" cy="{y}" r="2"/>"#, drawn.join(" "));
    svg + "</svg>"
}

fn picture(class: &str, (width, height): (i64, i64), text: &str) -> String {
    let text = escaped(text);
    format!(
        r#"<svg class="chart {class}" viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" aria-label="{text}">
<title>{text}</title>"#
    )
}

/// The name of a part as the stylesheet knows it.
fn class(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// A text as HTML, also between quotation marks.
pub(super) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            _ => html.push(it),
        }
    }
    html
}
