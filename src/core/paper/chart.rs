//! The shapes of charts, without units: both formats draw the same ones.

use super::{Bar, LineChart, N_PARTS};

/// How a part of a bar is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Solid,
    Striped,
    Crossed,
    Empty,
}

pub(super) const FILLS: [Fill; N_PARTS] = [Fill::Solid, Fill::Striped, Fill::Crossed, Fill::Empty];

/// Red, green and blue of the parts. Each differs from its neighbors in brightness, too.
pub(super) const COLORS: [[u8; 3]; N_PARTS] =
    [[0x1b, 0x6e, 0x4b], [0xb3, 0x6b, 0x00], [0xa3, 0x1d, 0x2b], [0x76, 0x7e, 0x8a]];
/// Of the line.
pub(super) const LINE_COLOR: [u8; 3] = [0x1f, 0x4f, 0x8f];
pub(super) const MARK_COLOR: [u8; 3] = [0x5a, 0x66, 0x72];

/// The values that have a line of their own across the chart: where grades begin.
pub(super) const LEVELS: [u8; 5] = [0, 60, 70, 80, 90];

/// The parts of a bar that are not 0: their index, and from where to where they reach in a bar of this length.
pub(super) fn segments(bar: &Bar, length: u32) -> Vec<(usize, u32, u32)> {
    let total: u64 = bar.counts.iter().copied().map(u64::from).sum();
    let mut found = Vec::new();
    let (mut sum, mut from) = (0, 0);
    for (part, count) in bar.counts.into_iter().enumerate().filter(|(_, count)| *count != 0) {
        sum += u64::from(count);
        let to = u32::try_from(sum * u64::from(length) / total).expect("a part of the length");
        found.push((part, from, to));
        from = to;
    }
    found
}

/// The points of a line in a field of this width and height: from the left, and from the bottom.
pub(super) fn line(chart: &LineChart, width: u32, height: u32) -> Vec<(u32, u32)> {
    let (Some((first, _)), Some((last, _))) = (chart.points.first(), chart.points.last()) else {
        return Vec::new();
    };
    let point =
        |(day, value): &(u32, u8)| (across((*first, *last), *day, width), up(*value, height));
    chart.points.iter().map(point).collect()
}

/// Where the marks of a line chart are in a field of this width.
pub(super) fn marks(chart: &LineChart, width: u32) -> Vec<u32> {
    let (Some((first, _)), Some((last, _))) = (chart.points.first(), chart.points.last()) else {
        return Vec::new();
    };
    let shown = chart.marks.iter().filter(|it| (first..=last).contains(it));
    shown.map(|it| across((*first, *last), *it, width)).collect()
}

fn across((first, last): (u32, u32), day: u32, width: u32) -> u32 {
    let n_days = u64::from(last - first).max(1);
    let x = u64::from(day - first) * u64::from(width) / n_days;
    u32::try_from(x).expect("a part of the width")
}

/// How high a value is in a field of this height.
pub(super) fn up(value: u8, height: u32) -> u32 {
    u32::from(value.min(100)) * height / 100
}
