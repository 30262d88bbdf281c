//! Draws laid out pages into a PDF.

use std::collections::BTreeMap;

use krilla::color::rgb;
use krilla::geom::{Path, PathBuilder, Point, Rect, Size, Transform};
use krilla::image::Image;
use krilla::num::NormalizedF32;
use krilla::paint::{Fill as Paint, FillRule, Stroke};
use krilla::surface::Surface;
use krilla::tagging::{
    Artifact, ArtifactType, ContentTag, Identifier, Node, SpanTag, TagGroup, TagTree,
};

use super::font::Fonts;
use super::sheet::{Mark, Part, Tag};
use crate::paper::chart::Fill;

/// From line to line of a pattern.
const STRIPE: i32 = 3_000;

/// Thousandths of a point as points.
#[expect(clippy::float_arithmetic, reason = "the library takes points")]
#[expect(clippy::cast_precision_loss, reason = "a page is far shorter than 16,777 points")]
pub(super) fn points(length: i32) -> f32 {
    length as f32 / 1_000.0
}

/// Draws a page, and adds what its leaves are called.
pub(super) fn draw(
    surface: &mut Surface<'_>,
    (fonts, logo): (&Fonts, Option<&Image>),
    page: &[(Part, Mark)],
    leaves: &mut BTreeMap<usize, Vec<Identifier>>,
) {
    for group in page.chunk_by(|(one, _), (other, _)| one == other) {
        let tag = match group[0].0 {
            Part::None => ContentTag::Artifact(Artifact::with_kind(ArtifactType::Layout)),
            Part::Header => ContentTag::Artifact(Artifact::with_kind(ArtifactType::Header)),
            Part::Footer => ContentTag::Artifact(Artifact::with_kind(ArtifactType::Footer)),
            Part::Leaf(_) => leaf(&group[0].1, fonts),
        };
        let identifier = surface.start_tagged(tag);
        for (_, mark) in group {
            put(surface, fonts, logo, mark);
        }
        surface.end_tagged();
        if let Part::Leaf(leaf) = group[0].0 {
            leaves.entry(leaf).or_default().push(identifier);
        }
    }
}

/// How a leaf is read. A line of which the font does not have every letter says what it is.
fn leaf<'m>(mark: &'m Mark, fonts: &Fonts) -> ContentTag<'m> {
    let Mark::Text { style, text, .. } = mark else { return ContentTag::Other };
    let is_shown = fonts.face(style.weight).shows(text);
    let actual = Some(text.as_str()).filter(|_| !is_shown);
    ContentTag::Span(SpanTag::empty().with_actual_text(actual))
}

fn put(surface: &mut Surface<'_>, fonts: &Fonts, logo: Option<&Image>, mark: &Mark) {
    match mark {
        Mark::Text { x, y, style, text } => {
            let face = fonts.face(style.weight);
            surface.set_fill(Some(paint(style.color)));
            surface.set_stroke(None);
            let start = Point::from_xy(points(*x), points(*y));
            let (glyphs, font, size) = (face.glyphs(text), face.font.clone(), points(style.size));
            surface.draw_glyphs(start, &glyphs, font, text, size, false);
        }
        Mark::Line { points, width, color } => stroke(surface, points, *width, *color),
        Mark::Area { x, y, width, height, fill, color } => {
            area(surface, (*x, *y, *width, *height), *fill, *color);
        }
        Mark::Picture { x, y, width, height } => {
            let Some(image) = logo else { return };
            let size = Size::from_wh(points(*width), points(*height));
            surface.push_transform(&Transform::from_translate(points(*x), points(*y)));
            surface.draw_image(image.clone(), size.expect("a logo has a size"));
            surface.pop();
        }
    }
}

fn paint(color: [u8; 3]) -> Paint {
    let [red, green, blue] = color;
    let paint = rgb::Color::new(red, green, blue).into();
    Paint { paint, opacity: NormalizedF32::ONE, rule: FillRule::NonZero }
}

fn stroke(surface: &mut Surface<'_>, line: &[(i32, i32)], width: i32, color: [u8; 3]) {
    let [red, green, blue] = color;
    let paint = rgb::Color::new(red, green, blue).into();
    surface.set_fill(None);
    surface.set_stroke(Some(Stroke { paint, width: points(width), ..Stroke::default() }));
    let mut builder = PathBuilder::new();
    for (index, (x, y)) in line.iter().enumerate() {
        if index == 0 {
            builder.move_to(points(*x), points(*y));
        } else {
            builder.line_to(points(*x), points(*y));
        }
    }
    if let Some(path) = builder.finish() {
        surface.draw_path(&path);
    }
}

fn rectangle((x, y, width, height): (i32, i32, i32, i32)) -> Option<Path> {
    let rect = Rect::from_xywh(points(x), points(y), points(width), points(height))?;
    let mut builder = PathBuilder::new();
    builder.push_rect(rect);
    builder.finish()
}

fn area(surface: &mut Surface<'_>, place: (i32, i32, i32, i32), fill: Fill, color: [u8; 3]) {
    let Some(path) = rectangle(place) else { return };
    let (x, y, width, height) = place;
    if fill == Fill::Solid {
        surface.set_fill(Some(paint(color)));
        surface.set_stroke(None);
        surface.draw_path(&path);
        return;
    }
    surface.push_clip_path(&path, &FillRule::NonZero);
    let mut offset = -height;
    while offset < width {
        if matches!(fill, Fill::Striped | Fill::Crossed) {
            let line = [(x + offset, y + height), (x + offset + height, y)];
            stroke(surface, &line, 900, color);
        }
        if fill == Fill::Crossed {
            let line = [(x + offset, y), (x + offset + height, y + height)];
            stroke(surface, &line, 900, color);
        }
        offset += STRIPE;
    }
    surface.pop();
    let (right, bottom) = (x + width, y + height);
    let outline = [(x, y), (right, y), (right, bottom), (x, bottom), (x, y)];
    stroke(surface, &outline, 600, color);
}

/// The order of reading, with what was drawn in the place of leaves.
pub(super) fn tree(
    tags: Vec<Tag>,
    leaves: &mut BTreeMap<usize, Vec<Identifier>>,
    language: &str,
) -> TagTree {
    let mut tree = TagTree::new().with_lang(Some(language.to_owned()));
    tags.into_iter().flat_map(|it| nodes(it, leaves)).for_each(|it| tree.push(it));
    tree
}

fn nodes(tag: Tag, leaves: &mut BTreeMap<usize, Vec<Identifier>>) -> Vec<Node> {
    match tag {
        Tag::Leaf(leaf) => {
            leaves.remove(&leaf).unwrap_or_default().into_iter().map(Node::Leaf).collect()
        }
        Tag::Group(kind, children) => {
            let children = children.into_iter().flat_map(|it| nodes(it, leaves)).collect();
            vec![Node::Group(TagGroup::with_children(kind, children))]
        }
    }
}
