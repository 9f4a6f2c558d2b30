//! A picture as a list of marks in pixels, before it is drawn as PNG or SVG.
//!
//! Time series have lines parallel to the axes only: their values are shown as steps, and nothing is smoothed. Slanted
//! lines join values at separate sizes, in cuts through a matrix and on its surface.

use crate::fonts::{self, ASCENT, DESCENT, Weight};
use crate::palette::Rgb;
use iosonar_text::one_line;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A figure shown by words.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its path in `iosonar show --json`; otherwise (`demand.`, `findings.`, `correlations.`) in `iosonar analyze --json`.
    /// `picture.`: counted for this picture alone.
    pub path: String,
    /// Its value there, not rounded.
    pub value: Value,
}

/// Words, and the figures in them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Caption {
    /// The words.
    pub text: String,
    /// The figures in them.
    pub figures: Vec<Figure>,
}

impl Caption {
    /// Adds a figure of the words.
    pub fn of(mut self, path: impl Into<String>, value: impl Into<Value>) -> Caption {
        self.figures.push(Figure { path: path.into(), value: value.into() });
        self
    }

    /// Words with one figure.
    pub fn figure(text: impl Into<String>, path: impl Into<String>, value: impl Into<Value>) -> Caption {
        Caption::from(text.into()).of(path, value)
    }

    /// Wraps the words into lines that are no wider than `room`.
    pub fn wrapped(self, size: f64, weight: Weight, room: f64) -> Vec<Caption> {
        let lines = fonts::wrap(&self.text, size, weight, room);
        lines.into_iter().map(|text| Caption { text, figures: self.figures.clone() }).collect()
    }
}

impl From<String> for Caption {
    fn from(text: String) -> Caption {
        Caption { text, figures: Vec::new() }
    }
}

impl From<&String> for Caption {
    fn from(text: &String) -> Caption {
        text.clone().into()
    }
}

impl From<&str> for Caption {
    fn from(text: &str) -> Caption {
        text.to_string().into()
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Background.
    pub background: Rgb,
    /// The marks, from back to front.
    pub marks: Vec<Mark>,
    /// Metadata of the file: keyword (Latin-1, below 80 characters) and text.
    pub facts: Vec<(String, String)>,
    /// Requests in the counts that it was drawn from; absent if it shows no counts of requests.
    pub counted: Option<u64>,
    /// Start and end of the visible time, in nanoseconds since the start of the run; absent without one.
    pub shown_ns: Option<(u64, u64)>,
    /// Pixels of one unit of width: dashes, hatches.
    pub scale: i32,
}

/// A rectangle in pixels, y downward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width.
    pub w: i32,
    /// Height.
    pub h: i32,
}

impl Rect {
    fn doubled(&self) -> Rect {
        Rect { x: self.x * 2, y: self.y * 2, w: self.w * 2, h: self.h * 2 }
    }

    /// First pixel column after it.
    pub fn right(&self) -> i32 {
        self.x + self.w
    }

    /// First pixel row below it.
    pub fn bottom(&self) -> i32 {
        self.y + self.h
    }

    /// Whether the two share a pixel.
    pub fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }
}

/// One mark.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A filled area.
    Area {
        /// Where.
        area: Rect,
        /// How.
        fill: Fill,
    },
    /// A line parallel to an axis.
    Rule {
        /// Where.
        line: Line,
        /// How.
        stroke: Stroke,
    },
    /// A step line: level `y` from each `x` to the next.
    Steps {
        /// Left end and level of each step, x ascending.
        points: Vec<(i32, i32)>,
        /// Where the last step ends.
        end: i32,
        /// How.
        stroke: Stroke,
    },
    /// A filled area with straight edges.
    Polygon {
        /// Its corners, in order.
        points: Vec<(i32, i32)>,
        /// Colour inside.
        fill: Rgb,
        /// Colour of a thin line around it.
        edge: Option<Rgb>,
    },
    /// Straight lines from each point to the next.
    Polyline {
        /// The points, in order.
        points: Vec<(i32, i32)>,
        /// How.
        stroke: Stroke,
    },
    /// A rectangle that stands for one value.
    Cell(Cell),
    /// Words.
    Text(Text),
    /// Coloured pixels.
    Image(Image),
    /// Slanted crosses, on the background so that they are seen in front of anything.
    Crosses {
        /// Their middles.
        at: Vec<(i32, i32)>,
        /// Pixels from the middle to an end, along each axis.
        arm: i32,
        /// Their colour.
        color: Rgb,
        /// The colour around them.
        halo: Rgb,
    },
    /// Large slanted words over everything, which let the picture through.
    Stamp {
        /// The words.
        text: String,
        /// The middle.
        center: (i32, i32),
        /// Size in pixels.
        size: f64,
        /// Colour.
        color: Rgb,
    },
}

impl Mark {
    fn doubled(&self) -> Mark {
        let two = |(a, b): (i32, i32)| (a * 2, b * 2);
        let wide = |stroke: &Stroke| Stroke { width: stroke.width * 2, ..*stroke };
        match self {
            Mark::Area { area, fill } => Mark::Area { area: area.doubled(), fill: *fill },
            Mark::Rule { line, stroke } => {
                // An odd width sits on its pixel, an even one between two.
                let odd = stroke.width % 2;
                let line = match *line {
                    // The last pixel is part of a line, so twice its length ends one further.
                    Line::Horizontal { y, x } => {
                        Line::Horizontal { y: y * 2 + odd, x: (x.0 * 2, x.1 * 2 + 1) }
                    }
                    Line::Vertical { x, y } => Line::Vertical { x: x * 2 + odd, y: (y.0 * 2, y.1 * 2 + 1) },
                };
                Mark::Rule { line, stroke: wide(stroke) }
            }
            Mark::Steps { points, end, stroke } => {
                let odd = stroke.width % 2;
                let points = points.iter().map(|(x, y)| (x * 2 + odd, y * 2 + odd)).collect();
                Mark::Steps { points, end: end * 2 + odd, stroke: wide(stroke) }
            }
            Mark::Polygon { points, fill, edge } => {
                Mark::Polygon { points: points.iter().copied().map(two).collect(), fill: *fill, edge: *edge }
            }
            Mark::Polyline { points, stroke } => {
                let odd = stroke.width % 2;
                let points = points.iter().map(|(x, y)| (x * 2 + odd, y * 2 + odd)).collect();
                Mark::Polyline { points, stroke: wide(stroke) }
            }
            Mark::Cell(cell) => Mark::Cell(Cell {
                area: cell.area.doubled(),
                label: cell.label.as_ref().map(Text::doubled),
                ..cell.clone()
            }),
            Mark::Text(t) => Mark::Text(t.doubled()),
            Mark::Image(image) => Mark::Image(image.doubled()),
            Mark::Crosses { at, arm, color, halo } => {
                let at = at.iter().map(|(x, y)| (x * 2 + 1, y * 2 + 1)).collect();
                Mark::Crosses { at, arm: arm * 2, color: *color, halo: *halo }
            }
            Mark::Stamp { text, center, size, color } => {
                Mark::Stamp { text: text.clone(), center: two(*center), size: size * 2.0, color: *color }
            }
        }
    }
}

impl Image {
    /// Each pixel becomes two by two.
    fn doubled(&self) -> Image {
        let wide: Vec<u8> = self.pixels.iter().flat_map(|p| [*p, *p]).collect();
        let rows = wide.chunks_exact((self.width as usize * 2).max(1));
        Image {
            x: self.x * 2,
            y: self.y * 2,
            width: self.width * 2,
            height: self.height * 2,
            pixels: rows.flat_map(|row| [row, row]).flatten().copied().collect(),
            palette: self.palette.clone(),
        }
    }
}

/// A rectangle that stands for one value: a vector picture names the value, and may link it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Where.
    pub area: Rect,
    /// Its colour.
    pub color: Rgb,
    /// Name of the value, for programs that read the picture.
    pub key: String,
    /// The value, not rounded.
    pub value: f64,
    /// Tooltip.
    pub hint: String,
    /// Colour of slanted lines in it; `None` without them.
    pub hatch: Option<Rgb>,
    /// Link target of the cell.
    pub link: Option<String>,
    /// Text in it.
    pub label: Option<Text>,
}

impl Cell {
    /// The area around its label: slanted lines stop there, so that they do not cross the words.
    pub fn label_ground(&self) -> Option<Rect> {
        let bounds = self.label.as_ref()?.bounds();
        let wide = Rect { x: bounds.x - 3, y: bounds.y, w: bounds.w + 6, h: bounds.h };
        let (x, y) = (wide.x.max(self.area.x), wide.y.max(self.area.y));
        let (right, bottom) = (wide.right().min(self.area.right()), wide.bottom().min(self.area.bottom()));
        Some(Rect { x, y, w: right - x, h: bottom - y })
    }
}

/// Slanted lines in an area, at places that do not depend on the area: those of neighbours continue each other.
pub fn hatch_lines(area: Rect) -> Vec<[(i32, i32); 2]> {
    let first = (area.x + area.y).div_euclid(HATCH) + 1;
    let last = (area.right() + area.bottom() - 1).div_euclid(HATCH);
    let line = |number: i32| {
        let sum = number * HATCH;
        let (left, right) = (area.x.max(sum - area.bottom()), area.right().min(sum - area.y));
        [(left, sum - left), (right, sum - right)]
    };
    (first..=last).map(line).collect()
}

/// How areas are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Wholly.
    Solid(Rgb),
    /// With slanted lines.
    Hatch(Rgb),
}

/// A line parallel to an axis; ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// From `x.0` to `x.1`.
    Horizontal {
        /// Height.
        y: i32,
        /// Both ends, left first.
        x: (i32, i32),
    },
    /// From `y.0` to `y.1`.
    Vertical {
        /// Place.
        x: i32,
        /// Both ends, upper first.
        y: (i32, i32),
    },
}

/// How lines are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stroke {
    /// Colour.
    pub color: Rgb,
    /// Width in pixels.
    pub width: i32,
    /// Interrupted.
    pub dashed: bool,
}

/// Pixels from one slanted line to the next, along each axis.
pub const HATCH: i32 = 6;

/// Length of a dash and of the gap after it, in pixels.
pub const DASH: i32 = 6;

impl Stroke {
    /// An uninterrupted line.
    pub fn solid(color: Rgb, width: i32) -> Stroke {
        Stroke { color, width, dashed: false }
    }

    /// An interrupted line.
    pub fn dashed(color: Rgb, width: i32) -> Stroke {
        Stroke { color, width, dashed: true }
    }
}

/// The part of a text at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// Words at a point of their base line.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// The words.
    pub text: String,
    /// Position of the anchor.
    pub x: i32,
    /// Base line; for upright text the position of the anchor along it.
    pub y: i32,
    /// Height of the em square in pixels.
    pub size: f64,
    /// Regular or bold.
    pub weight: Weight,
    /// Colour.
    pub color: Rgb,
    /// Anchor.
    pub anchor: Anchor,
    /// Turned by a quarter, running from below to above.
    pub upright: bool,
    /// The figures in the words.
    pub figures: Vec<Figure>,
}

impl Text {
    fn doubled(&self) -> Text {
        Text { x: self.x * 2, y: self.y * 2, size: self.size * 2.0, ..self.clone() }
    }

    /// Width in pixels along the base line.
    pub fn width(&self) -> f64 {
        fonts::width(&self.text, self.size, self.weight)
    }

    /// Pixels from the start of the text to its anchor.
    pub fn anchor_offset(&self) -> f64 {
        match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.width() / 2.0,
            Anchor::End => self.width(),
        }
    }

    /// The pixels that it may touch.
    pub fn bounds(&self) -> Rect {
        let (width, offset) = (self.width().ceil() as i32, self.anchor_offset().ceil() as i32);
        let (up, down) = ((self.size * ASCENT).ceil() as i32, (self.size * DESCENT).ceil() as i32);
        if self.upright {
            Rect { x: self.x - up, y: self.y - (width - offset), w: up + down, h: width }
        } else {
            Rect { x: self.x - offset, y: self.y - up, w: width, h: up + down }
        }
    }
}

/// Pixels with a palette; index 0 lets through what is below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// One index for each pixel, row by row.
    pub pixels: Vec<u8>,
    /// Colours; the first is never shown.
    pub palette: Vec<Rgb>,
}

impl Scene {
    /// An empty picture.
    pub fn new(width: u32, height: u32, background: Rgb) -> Scene {
        Scene {
            width,
            height,
            background,
            marks: Vec::new(),
            facts: Vec::new(),
            counted: None,
            shown_ns: None,
            scale: 1,
        }
    }

    /// Fills an area. One that continues the last to the right becomes part of it, which keeps step areas small.
    pub fn area(&mut self, area: Rect, fill: Fill) {
        if area.w <= 0 || area.h <= 0 {
            return;
        }
        if let Some(Mark::Area { area: last, fill: same }) = self.marks.last_mut()
            && *same == fill
            && (last.y, last.h, last.right()) == (area.y, area.h, area.x)
        {
            last.w += area.w;
            return;
        }
        self.marks.push(Mark::Area { area, fill });
    }

    /// Draws a horizontal line.
    pub fn horizontal(&mut self, y: i32, x: (i32, i32), stroke: Stroke) {
        self.marks.push(Mark::Rule { line: Line::Horizontal { y, x }, stroke });
    }

    /// Draws a vertical line.
    pub fn vertical(&mut self, x: i32, y: (i32, i32), stroke: Stroke) {
        self.marks.push(Mark::Rule { line: Line::Vertical { x, y }, stroke });
    }

    /// Draws a step line.
    pub fn steps(&mut self, points: Vec<(i32, i32)>, end: i32, stroke: Stroke) {
        if !points.is_empty() {
            self.marks.push(Mark::Steps { points, end, stroke });
        }
    }

    /// Draws straight lines from each point to the next.
    pub fn polyline(&mut self, points: Vec<(i32, i32)>, stroke: Stroke) {
        if points.len() > 1 {
            self.marks.push(Mark::Polyline { points, stroke });
        }
    }

    /// Fills the area between the corners.
    pub fn polygon(&mut self, points: Vec<(i32, i32)>, fill: Rgb, edge: Option<Rgb>) {
        if points.len() > 2 {
            self.marks.push(Mark::Polygon { points, fill, edge });
        }
    }

    /// Writes words; an empty text is skipped.
    pub fn text(&mut self, mut text: Text) {
        if let Cow::Owned(shown) = one_line(&text.text) {
            text.text = shown;
        }
        if !text.text.is_empty() {
            self.marks.push(Mark::Text(text));
        }
    }

    /// Enlarges smaller words to this size.
    pub fn enlarge_texts(&mut self, least: f64) {
        for mark in &mut self.marks {
            if let Mark::Text(text) = mark {
                text.size = text.size.max(least);
            }
        }
    }

    /// The same picture with twice as many pixels in each direction.
    pub fn doubled(&self) -> Scene {
        Scene {
            width: self.width * 2,
            height: self.height * 2,
            scale: self.scale * 2,
            marks: self.marks.iter().map(Mark::doubled).collect(),
            facts: self.facts.clone(),
            ..*self
        }
    }

    /// Draws a cross at each place.
    pub fn crosses(&mut self, at: Vec<(i32, i32)>, arm: i32, color: Rgb) {
        if !at.is_empty() {
            self.marks.push(Mark::Crosses { at, arm, color, halo: self.background });
        }
    }

    /// Every figure in words of the picture, by its path.
    pub fn figures(&self) -> BTreeMap<&str, &Value> {
        self.texts().flat_map(|t| &t.figures).map(|f| (f.path.as_str(), &f.value)).collect()
    }

    /// Every text of the picture, stamps excepted.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.marks.iter().filter_map(|m| match m {
            Mark::Text(t) => Some(t),
            Mark::Cell(cell) => cell.label.as_ref(),
            _ => None,
        })
    }
}
