//! Draws a scene as SVG: words and lines as vectors, density as one embedded PNG.

use crate::fonts::Weight;
use crate::palette::Rgb;
use crate::raster;
use crate::scene::{
    Anchor, Cell, DASH, Fill, HATCH, Image, Line, Mark, Rect, Scene, Stroke, Text, hatch_lines,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use iosonar_text::{lines, one_line};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Fonts in order of preference; the first is the one that widths were computed with.
const FAMILY: &str = "DejaVu Sans, Verdana, Arial, sans-serif";

/// The scene as an SVG file.
pub fn svg(scene: &Scene) -> String {
    let mut out = String::new();
    let (w, h) = (scene.width, scene.height);
    _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"{FAMILY}\" shape-rendering=\"crispEdges\" role=\"img\">"
    );
    facts(&mut out, &scene.facts);
    hatches(&mut out, scene);
    _ = writeln!(out, "<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>", scene.background.css());
    scene.marks.iter().for_each(|m| mark(&mut out, m));
    out.push_str("</svg>\n");
    out
}

/// Text for XML and HTML on one line: names in it are escaped as everywhere (`iosonar_text::one_line`), and markup characters as
/// XML has them.
pub fn escape(text: &str) -> String {
    markup(&one_line(text))
}

/// Like [`escape`], for a text that has line ends.
pub(crate) fn escape_lines(text: &str) -> String {
    markup(&lines(text))
}

fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

fn facts(out: &mut String, facts: &[(String, String)]) {
    if let Some((_, title)) = facts.iter().find(|(k, _)| k == "Title") {
        _ = writeln!(out, "<title>{}</title>", escape(title));
    }
    out.push_str("<metadata>\n");
    for (keyword, text) in facts {
        _ = writeln!(out, "{}: {}", escape(keyword), escape(text));
    }
    out.push_str("</metadata>\n");
}

fn hatch_id(color: Rgb) -> String {
    format!("hatch{}", &color.css()[1..])
}

fn hatches(out: &mut String, scene: &Scene) {
    let colors: BTreeSet<Rgb> = scene
        .marks
        .iter()
        .filter_map(|m| match m {
            Mark::Area { fill: Fill::Hatch(color), .. } => Some(*color),
            _ => None,
        })
        .collect();
    for color in colors {
        _ = writeln!(
            out,
            "<defs><pattern id=\"{}\" width=\"{HATCH}\" height=\"{HATCH}\" patternUnits=\"userSpaceOnUse\">\
             <path d=\"M0 {HATCH}L{HATCH} 0\" stroke=\"{}\" stroke-width=\"1\"/></pattern></defs>",
            hatch_id(color),
            color.css()
        );
    }
}

fn mark(out: &mut String, mark: &Mark) {
    match mark {
        Mark::Area { area, fill } => rect(out, area, fill),
        Mark::Rule { line, stroke } => rule(out, *line, *stroke),
        Mark::Steps { points, end, stroke } => steps(out, points, *end, *stroke),
        Mark::Polygon { points, fill, edge } => polygon(out, points, *fill, *edge),
        Mark::Polyline { points, stroke } => polyline(out, points, *stroke),
        Mark::Cell(c) => cell(out, c),
        Mark::Text(t) => text(out, t),
        Mark::Image(i) => image(out, i),
        Mark::Crosses { at, arm, color, halo } => crosses(out, at, *arm, [*halo, *color]),
        Mark::Stamp { text, center: (x, y), size, color } => {
            _ = writeln!(
                out,
                "<text transform=\"translate({x} {y}) rotate(-22)\" text-anchor=\"middle\" dy=\"0.3em\" \
                 font-size=\"{size}\" font-weight=\"bold\" fill=\"{}\" fill-opacity=\"0.5\">{}</text>",
                color.css(),
                escape(text)
            );
        }
    }
}

fn rect(out: &mut String, area: &Rect, fill: &Fill) {
    let paint = match fill {
        Fill::Solid(color) => color.css(),
        Fill::Hatch(color) => format!("url(#{})", hatch_id(*color)),
    };
    let Rect { x, y, w, h } = area;
    _ = writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{paint}\"/>");
}

fn stroke_attributes(stroke: Stroke) -> String {
    let dash = if stroke.dashed { format!(" stroke-dasharray=\"{DASH}\"") } else { String::new() };
    format!("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dash}", stroke.color.css(), stroke.width)
}

fn rule(out: &mut String, line: Line, stroke: Stroke) {
    // Odd widths sit on pixel centres.
    let middle = |at: i32| f64::from(at) + f64::from(stroke.width % 2) * 0.5;
    let path = match line {
        Line::Horizontal { y, x } => format!("M{} {}H{}", x.0, middle(y), x.1 + 1),
        Line::Vertical { x, y } => format!("M{} {}V{}", middle(x), y.0, y.1 + 1),
    };
    _ = writeln!(out, "<path d=\"{path}\" {}/>", stroke_attributes(stroke));
}

fn steps(out: &mut String, points: &[(i32, i32)], end: i32, stroke: Stroke) {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        _ = if i == 0 { write!(path, "M{x} {y}") } else { write!(path, "H{x}V{y}") };
    }
    _ = writeln!(out, "<path d=\"{path}H{end}\" {}/>", stroke_attributes(stroke));
}

fn places(points: &[(i32, i32)], shift: f64) -> String {
    let pairs: Vec<String> =
        points.iter().map(|(x, y)| format!("{},{}", f64::from(*x) + shift, f64::from(*y) + shift)).collect();
    pairs.join(" ")
}

fn polygon(out: &mut String, points: &[(i32, i32)], fill: Rgb, edge: Option<Rgb>) {
    let edge = edge
        .map(|c| format!(" stroke=\"{}\" stroke-linejoin=\"round\" shape-rendering=\"auto\"", c.css()))
        .unwrap_or_default();
    let (places, fill) = (places(points, 0.0), fill.css());
    _ = writeln!(out, "<polygon points=\"{places}\" fill=\"{fill}\"{edge}/>");
}

fn polyline(out: &mut String, points: &[(i32, i32)], stroke: Stroke) {
    // Odd widths sit on pixel centres.
    let places = places(points, f64::from(stroke.width % 2) * 0.5);
    let attributes = stroke_attributes(stroke);
    _ = writeln!(
        out,
        "<polyline points=\"{places}\" {attributes} stroke-linejoin=\"round\" shape-rendering=\"auto\"/>"
    );
}

/// The label is part of the link: otherwise it would cover the middle of the clickable area.
fn cell(out: &mut String, c: &Cell) {
    if let Some(link) = &c.link {
        _ = writeln!(out, "<a href=\"{}\">", escape(link));
    }
    let Rect { x, y, w, h } = c.area;
    _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{}\" data-cell=\"{}\" \
         data-value=\"{}\"{}><title>{}</title></rect>",
        c.color.css(),
        escape(&c.key),
        c.value,
        if c.hatch.is_some() { " data-hatched=\"true\"" } else { "" },
        escape(&c.hint)
    );
    if let Some(color) = c.hatch {
        hatch(out, c, color);
    }
    if let Some(label) = &c.label {
        text(out, label);
    }
    if c.link.is_some() {
        out.push_str("</a>\n");
    }
}

/// Lines and no pattern: a page has several pictures, of which some are hidden, and a pattern of a hidden one is not drawn.
fn hatch(out: &mut String, c: &Cell, color: Rgb) {
    let mut path = String::new();
    for [from, to] in hatch_lines(c.area) {
        _ = write!(path, "M{} {}L{} {}", from.0, from.1, to.0, to.1);
    }
    let color = color.css();
    _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" shape-rendering=\"auto\" pointer-events=\"none\"/>"
    );
    if let Some(ground) = c.label_ground() {
        rect(out, &ground, &Fill::Solid(c.color));
    }
}

/// Draws wide crosses in the halo colour, then narrow ones in their own.
fn crosses(out: &mut String, at: &[(i32, i32)], arm: i32, colors: [Rgb; 2]) {
    let mut path = String::new();
    for (x, y) in at {
        let (left, top, side) = (x - arm, y - arm, 2 * arm);
        _ = write!(path, "M{left} {top}l{side} {side}m0 -{side}l-{side} {side}");
    }
    let id = format!("crosses{}", out.len());
    _ = writeln!(out, "<defs><path id=\"{id}\" d=\"{path}\" fill=\"none\" shape-rendering=\"auto\"/></defs>");
    for (color, width) in colors.into_iter().zip([4, 2]) {
        _ = writeln!(out, "<use href=\"#{id}\" stroke=\"{}\" stroke-width=\"{width}\"/>", color.css());
    }
}

/// The figures in words, as an attribute: `path=value`, one after the other.
fn figures(t: &Text) -> String {
    if t.figures.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = t.figures.iter().map(|f| format!("{}={}", f.path, f.value)).collect();
    format!(" data-figures=\"{}\"", escape(&pairs.join(" ")))
}

fn text(out: &mut String, t: &Text) {
    let anchor = match t.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let weight = if t.weight == Weight::Bold { " font-weight=\"bold\"" } else { "" };
    let place = if t.upright {
        format!("transform=\"translate({} {}) rotate(-90)\"", t.x, t.y)
    } else {
        format!("x=\"{}\" y=\"{}\"", t.x, t.y)
    };
    // The length keeps the layout with a substitute font.
    _ = writeln!(
        out,
        "<text {place} text-anchor=\"{anchor}\" font-size=\"{}\"{weight} fill=\"{}\" textLength=\"{:.1}\" \
         lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"{}>{}</text>",
        t.size,
        t.color.css(),
        t.width(),
        figures(t),
        escape(&t.text)
    );
}

fn image(out: &mut String, i: &Image) {
    _ = writeln!(
        out,
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" image-rendering=\"pixelated\" \
         href=\"data:image/png;base64,{}\"/>",
        i.x,
        i.y,
        i.width,
        i.height,
        STANDARD.encode(raster::image_png(i))
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_slanted_marks_as_vectors() {
        let mut scene = Scene::new(20, 20, Rgb(255, 255, 255));
        scene.polygon(vec![(1, 1), (9, 2), (4, 9)], Rgb(1, 2, 3), Some(Rgb(4, 5, 6)));
        scene.polyline(vec![(0, 0), (5, 7)], Stroke::dashed(Rgb(7, 8, 9), 2));
        scene.polyline(vec![(0, 0)], Stroke::solid(Rgb(7, 8, 9), 2));
        let svg = svg(&scene);
        assert!(svg.contains("<polygon points=\"1,1 9,2 4,9\" fill=\"#010203\" stroke=\"#040506\""), "{svg}");
        assert!(svg.contains("<polyline points=\"0,0 5,7\" fill=\"none\" stroke=\"#070809\""), "{svg}");
        assert_eq!(svg.matches("<polyline").count(), 1, "one point is no line");
    }

    #[test]
    fn a_cell_is_linked_with_its_label() {
        let cell = Cell {
            area: Rect { x: 0, y: 0, w: 9, h: 9 },
            color: Rgb(1, 2, 3),
            key: "8192:4096".into(),
            value: 1.5,
            hint: "a < b".into(),
            hatch: None,
            link: Some("x?a=1&b=2".into()),
            label: None,
        };
        let hatched = Cell { hatch: Some(Rgb(4, 5, 6)), ..cell.clone() };
        let mut scene = Scene::new(20, 20, Rgb(255, 255, 255));
        scene.marks.push(Mark::Cell(cell));
        assert!(!super::svg(&scene).contains("<path"));
        scene.marks[0] = Mark::Cell(hatched);
        let svg = super::svg(&scene);
        assert!(svg.contains("<path d=\"M0 6L6 0M3 9L9 3\" fill=\"none\" stroke=\"#040506\""), "{svg}");
        assert!(svg.contains("data-hatched=\"true\""), "{svg}");
        assert!(svg.contains("<a href=\"x?a=1&amp;b=2\">\n<rect x=\"0\""), "{svg}");
        assert!(
            svg.contains(
                "data-cell=\"8192:4096\" data-value=\"1.5\" data-hatched=\"true\"><title>a &lt; b</title>"
            ),
            "{svg}"
        );
    }
}
