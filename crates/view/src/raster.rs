//! Draws a scene as PNG: own rasteriser, the same bytes for the same scene on every machine.

use crate::fonts::{self, Weight};
use crate::palette::Rgb;
use crate::scene::{Cell, DASH, Fill, HATCH, Image, Line, Mark, Rect, Scene, Stroke, Text};

/// Number of tones of text edges, so that a picture needs few colours.
const TONES: f32 = 3.0;
/// Slope of a stamp: sine and cosine of about 22 degrees.
const SLANT: (f64, f64) = (0.375, 0.927);

/// The scene as a PNG file.
pub fn png(scene: &Scene) -> Vec<u8> {
    let mut canvas = Canvas::new(scene);
    scene.marks.iter().for_each(|m| canvas.draw(m));
    encode(&canvas, &scene.facts)
}

/// An image alone as a PNG file, with its first colour transparent.
pub fn image_png(image: &Image) -> Vec<u8> {
    let palette: Vec<u8> = image.palette.iter().flat_map(|c| [c.0, c.1, c.2]).collect();
    let mut out = Vec::new();
    let mut encoder = encoder(&mut out, image.width, image.height, png::ColorType::Indexed);
    encoder.set_palette(palette);
    encoder.set_trns(vec![0u8]);
    write(encoder, &image.pixels);
    out
}

struct Canvas {
    width: i32,
    height: i32,
    /// Pixels of one unit of width.
    scale: i32,
    pixels: Vec<Rgb>,
}

impl Canvas {
    fn new(scene: &Scene) -> Canvas {
        let pixels = vec![scene.background; scene.width as usize * scene.height as usize];
        Canvas { width: scene.width as i32, height: scene.height as i32, scale: scene.scale, pixels }
    }

    fn draw(&mut self, mark: &Mark) {
        match mark {
            Mark::Area { area, fill: Fill::Solid(color) } => self.fill(*area, |_, _| true, *color),
            Mark::Area { area, fill: Fill::Hatch(color) } => self.hatch(*area, *color),
            Mark::Rule { line, stroke } => self.rule(*line, *stroke),
            Mark::Steps { points, end, stroke } => self.steps(points, *end, *stroke),
            Mark::Polygon { points, fill, edge } => {
                self.polygon(points, *fill);
                if let (Some(color), Some(first)) = (edge, points.first()) {
                    let around: Vec<(i32, i32)> = points.iter().chain([first]).copied().collect();
                    self.polyline(&around, Stroke::solid(*color, self.scale));
                }
            }
            Mark::Polyline { points, stroke } => self.polyline(points, *stroke),
            Mark::Cell(cell) => self.cell(cell),
            Mark::Text(text) => self.text(text),
            Mark::Image(image) => self.image(image),
            Mark::Crosses { at, arm, color, halo } => {
                let scale = self.scale;
                at.iter().for_each(|at| self.cross(*at, *arm, scale, *halo));
                at.iter().for_each(|at| self.cross(*at, *arm, 0, *color));
            }
            Mark::Stamp { text, center, size, color } => self.stamp(text, *center, *size, *color),
        }
    }

    fn pixel(&mut self, x: i32, y: i32) -> Option<&mut Rgb> {
        let inside = (0..self.width).contains(&x) && (0..self.height).contains(&y);
        inside.then(|| &mut self.pixels[(y * self.width + x) as usize])
    }

    fn set(&mut self, x: i32, y: i32, color: Rgb) {
        if let Some(pixel) = self.pixel(x, y) {
            *pixel = color;
        }
    }

    fn fill(&mut self, area: Rect, on: impl Fn(i32, i32) -> bool, color: Rgb) {
        for y in area.y.max(0)..area.bottom().min(self.height) {
            for x in area.x.max(0)..area.right().min(self.width) {
                if on(x, y) {
                    self.set(x, y, color);
                }
            }
        }
    }

    fn hatch(&mut self, area: Rect, color: Rgb) {
        let scale = self.scale;
        self.fill(area, |x, y| (x + y) % (HATCH * scale) < scale, color);
    }

    fn cell(&mut self, cell: &Cell) {
        self.fill(cell.area, |_, _| true, cell.color);
        if let Some(color) = cell.hatch {
            self.hatch(cell.area, color);
            cell.label_ground().iter().for_each(|ground| self.fill(*ground, |_, _| true, cell.color));
        }
        cell.label.iter().for_each(|label| self.text(label));
    }

    /// Draws both diagonals, two pixels wide; `around`: additional pixels on each side.
    fn cross(&mut self, (x, y): (i32, i32), arm: i32, around: i32, color: Rgb) {
        for along in -arm - around..=arm + around {
            for across in -around..=around + self.scale {
                self.set(x + along + across, y + along, color);
                self.set(x - along + across, y + along, color);
            }
        }
    }

    fn rule(&mut self, line: Line, stroke: Stroke) {
        let half = stroke.width / 2;
        let dash = DASH * self.scale;
        let on = |along: i32| !stroke.dashed || along.rem_euclid(2 * dash) < dash;
        match line {
            Line::Horizontal { y, x } => {
                let area = Rect { x: x.0, y: y - half, w: x.1 - x.0 + 1, h: stroke.width };
                self.fill(area, |px, _| on(px - x.0), stroke.color);
            }
            Line::Vertical { x, y } => {
                let area = Rect { x: x - half, y: y.0, w: stroke.width, h: y.1 - y.0 + 1 };
                self.fill(area, |_, py| on(py - y.0), stroke.color);
            }
        }
    }

    /// Walks along the line pixel by pixel, so that dashes continue around corners.
    fn steps(&mut self, points: &[(i32, i32)], end: i32, stroke: Stroke) {
        let mut walked = 0;
        let dash = DASH * self.scale;
        let mut brush = |canvas: &mut Canvas, x: i32, y: i32| {
            if !stroke.dashed || walked % (2 * dash) < dash {
                let area = Rect {
                    x: x - stroke.width / 2,
                    y: y - stroke.width / 2,
                    w: stroke.width,
                    h: stroke.width,
                };
                canvas.fill(area, |_, _| true, stroke.color);
            }
            walked += 1;
        };
        for (i, (x, y)) in points.iter().enumerate() {
            let next = points.get(i + 1);
            let to = next.map_or(end, |n| n.0);
            (*x..to).for_each(|px| brush(self, px, *y));
            let Some((_, level)) = next else { continue };
            if level > y {
                (*y..*level).for_each(|py| brush(self, to, py));
            } else {
                (level + 1..=*y).rev().for_each(|py| brush(self, to, py));
            }
        }
    }

    /// Fills the pixels whose middles lie inside: neighbours that share an edge share no pixel, and leave no gap.
    fn polygon(&mut self, points: &[(i32, i32)], color: Rgb) {
        let top = points.iter().map(|p| p.1).min().unwrap_or(0).max(0);
        let bottom = points.iter().map(|p| p.1).max().unwrap_or(0).min(self.height);
        for y in top..bottom {
            let middle = f64::from(y) + 0.5;
            let mut crossings: Vec<f64> = Vec::new();
            for (i, a) in points.iter().enumerate() {
                let b = points[(i + 1) % points.len()];
                let (upper, lower) = if a.1 < b.1 { (*a, b) } else { (b, *a) };
                if (f64::from(upper.1)..f64::from(lower.1)).contains(&middle) {
                    let share = (middle - f64::from(upper.1)) / f64::from(lower.1 - upper.1);
                    crossings.push(f64::from(upper.0) + share * f64::from(lower.0 - upper.0));
                }
            }
            crossings.sort_by(f64::total_cmp);
            for pair in crossings.chunks_exact(2) {
                let [from, to] = [pair[0], pair[1]].map(|x| (x - 0.5).ceil() as i32);
                self.fill(Rect { x: from, y, w: to - from, h: 1 }, |_, _| true, color);
            }
        }
    }

    /// Walks along the lines pixel by pixel (Bresenham), so that dashes continue around corners.
    fn polyline(&mut self, points: &[(i32, i32)], stroke: Stroke) {
        let (half, dash) = (stroke.width / 2, DASH * self.scale);
        let mut walked = 0;
        for pair in points.windows(2) {
            let ((mut x, mut y), to) = (pair[0], pair[1]);
            let (dx, dy) = ((to.0 - x).abs(), -(to.1 - y).abs());
            let (right, down) = ((to.0 - x).signum(), (to.1 - y).signum());
            let mut error = dx + dy;
            loop {
                if !stroke.dashed || walked % (2 * dash) < dash {
                    let area = Rect { x: x - half, y: y - half, w: stroke.width, h: stroke.width };
                    self.fill(area, |_, _| true, stroke.color);
                }
                if (x, y) == to {
                    break;
                }
                walked += 1;
                let twice = 2 * error;
                if twice >= dy {
                    error += dy;
                    x += right;
                }
                if twice <= dx {
                    error += dx;
                    y += down;
                }
            }
        }
    }

    fn ink(&mut self, x: i32, y: i32, color: Rgb, coverage: f32) {
        let tone = (coverage * TONES).round() / TONES;
        if tone > 0.0
            && let Some(pixel) = self.pixel(x, y)
        {
            *pixel = pixel.mix(color, f64::from(tone));
        }
    }

    fn text(&mut self, text: &Text) {
        let offset = text.anchor_offset().round() as i32;
        fonts::draw(&text.text, text.size, text.weight, |dx, dy, coverage| {
            let along = dx - offset;
            let (x, y) =
                if text.upright { (text.x + dy, text.y - along) } else { (text.x + along, text.y + dy) };
            self.ink(x, y, text.color, coverage);
        });
    }

    fn image(&mut self, image: &Image) {
        for (i, index) in image.pixels.iter().enumerate() {
            if *index != 0 {
                let (x, y) = (i as u32 % image.width, i as u32 / image.width);
                self.set(image.x + x as i32, image.y + y as i32, image.palette[usize::from(*index)]);
            }
        }
    }

    /// Draws the words level into a mask and looks each pixel of the picture up in it. Every other pixel stays as it is, so
    /// that the picture shows through without new colours.
    fn stamp(&mut self, text: &str, center: (i32, i32), size: f64, color: Rgb) {
        let width = fonts::width(text, size, Weight::Bold).ceil() as i32;
        let height = size.ceil() as i32;
        let mut mask = vec![false; (width * height) as usize];
        let base = (size * 0.8) as i32;
        fonts::draw(text, size, Weight::Bold, |x, y, coverage| {
            let y = y + base;
            if coverage > 0.5 && (0..width).contains(&x) && (0..height).contains(&y) {
                mask[(y * width + x) as usize] = true;
            }
        });
        let reach = width / 2 + height;
        for y in (center.1 - reach).max(0)..(center.1 + reach).min(self.height) {
            for x in (center.0 - reach).max(0)..(center.0 + reach).min(self.width) {
                let (dx, dy) = (f64::from(x - center.0), f64::from(y - center.1));
                let along = (dx * SLANT.1 - dy * SLANT.0 + f64::from(width) / 2.0).floor() as i32;
                let across = (dx * SLANT.0 + dy * SLANT.1 + f64::from(height) / 2.0).floor() as i32;
                let inside = (0..width).contains(&along) && (0..height).contains(&across);
                if inside && (x + y) % 2 == 0 && mask[(across * width + along) as usize] {
                    self.set(x, y, color);
                }
            }
        }
    }
}

fn encode(canvas: &Canvas, facts: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    let (width, height) = (canvas.width as u32, canvas.height as u32);
    let (colour_type, palette, data) = match indexed(&canvas.pixels) {
        Some((palette, data)) => (png::ColorType::Indexed, Some(palette), data),
        None => (png::ColorType::Rgb, None, canvas.pixels.iter().flat_map(|c| [c.0, c.1, c.2]).collect()),
    };
    let mut encoder = encoder(&mut out, width, height, colour_type);
    if let Some(palette) = palette {
        encoder.set_palette(palette);
    }
    for (keyword, text) in facts {
        encoder.add_itxt_chunk(keyword.clone(), text.clone()).expect("the keyword is short Latin-1");
    }
    write(encoder, &data);
    out
}

/// Palette in order of colour and one index for each pixel; `None` above 256 colours.
fn indexed(pixels: &[Rgb]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut known = Known::new();
    let mut data = Vec::with_capacity(pixels.len());
    let mut last = None;
    for pixel in pixels {
        // Most pixels equal their predecessor.
        let index = match last {
            Some((same, index)) if same == *pixel => index,
            _ => known.index(*pixel)?,
        };
        last = Some((*pixel, index));
        data.push(index);
    }
    let mut order: Vec<usize> = (0..known.colors.len()).collect();
    order.sort_by_key(|i| known.colors[*i]);
    let mut place = [0u8; 256];
    order.iter().enumerate().for_each(|(to, from)| place[*from] = to as u8);
    data.iter_mut().for_each(|index| *index = place[usize::from(*index)]);
    Some((
        order.iter().flat_map(|i| [known.colors[*i].0, known.colors[*i].1, known.colors[*i].2]).collect(),
        data,
    ))
}

/// Up to 256 colours and their indices: a table with open addressing, never more than a sixteenth full.
struct Known {
    colors: Vec<Rgb>,
    /// Index of a colour plus one; 0 is free.
    table: Vec<u16>,
}

impl Known {
    const SLOTS: usize = 4096;

    fn new() -> Known {
        Known { colors: Vec::new(), table: vec![0; Known::SLOTS] }
    }

    /// The index of a colour in order of first appearance; `None` for the 257th.
    fn index(&mut self, color: Rgb) -> Option<u8> {
        let code = u32::from(color.0) << 16 | u32::from(color.1) << 8 | u32::from(color.2);
        let mut slot = (code.wrapping_mul(0x9E37_79B1) >> 20) as usize;
        loop {
            match usize::from(self.table[slot]) {
                0 if self.colors.len() == 256 => return None,
                0 => {
                    self.colors.push(color);
                    self.table[slot] = self.colors.len() as u16;
                    return Some((self.colors.len() - 1) as u8);
                }
                place if self.colors[place - 1] == color => return Some((place - 1) as u8),
                _ => slot = (slot + 1) % Known::SLOTS,
            }
        }
    }
}

fn encoder(
    out: &mut Vec<u8>,
    width: u32,
    height: u32,
    colour_type: png::ColorType,
) -> png::Encoder<'static, &mut Vec<u8>> {
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(colour_type);
    encoder.set_depth(png::BitDepth::Eight);
    // A sixth of the time of the highest level, for a few percent of the size.
    encoder.set_compression(png::Compression::Balanced);
    // Filters help photographs; indexed flat areas compress best as they are.
    encoder.set_filter(png::Filter::NoFilter);
    encoder
}

fn write(encoder: png::Encoder<'_, &mut Vec<u8>>, data: &[u8]) {
    let mut writer = encoder.write_header().expect("writing to memory does not fail");
    writer.write_image_data(data).expect("there is one value for each pixel");
    writer.finish().expect("writing to memory does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUND: Rgb = Rgb(255, 255, 255);
    const RED: Rgb = Rgb(255, 0, 0);
    const BLUE: Rgb = Rgb(0, 0, 255);

    fn drawn(fill: impl FnOnce(&mut Scene)) -> (Scene, Canvas) {
        let mut scene = Scene::new(20, 20, GROUND);
        fill(&mut scene);
        let mut canvas = Canvas::new(&scene);
        scene.marks.iter().for_each(|m| canvas.draw(m));
        (scene, canvas)
    }

    fn count(canvas: &Canvas, color: Rgb) -> usize {
        canvas.pixels.iter().filter(|p| **p == color).count()
    }

    #[test]
    fn adjacent_polygons_have_no_overlap_or_gap() {
        let (scene, canvas) = drawn(|scene| {
            scene.polygon(vec![(2, 2), (18, 2), (2, 18)], RED, None);
            scene.polygon(vec![(18, 2), (18, 18), (2, 18)], BLUE, None);
        });
        assert_eq!(count(&canvas, RED) + count(&canvas, BLUE), 256);
        let (_, only) = drawn(|scene| scene.polygon(vec![(2, 2), (18, 2), (2, 18)], RED, None));
        assert_eq!(count(&only, RED), count(&canvas, RED));
        let twice = scene.doubled();
        let mut canvas = Canvas::new(&twice);
        twice.marks.iter().for_each(|m| canvas.draw(m));
        assert_eq!(count(&canvas, RED) + count(&canvas, BLUE), 1024);
    }

    #[test]
    fn polygons_draw_edges_and_are_clipped() {
        let (_, canvas) =
            drawn(|scene| scene.polygon(vec![(-9, -9), (40, 5), (10, 10), (-9, 40)], RED, Some(BLUE)));
        assert!(count(&canvas, BLUE) > 10 && count(&canvas, RED) > 10);
    }

    #[test]
    fn lines_join_their_points_in_any_direction() {
        for to in [(3, 12), (15, 1), (1, 1), (19, 19), (10, 2), (2, 10)] {
            let line = |points| drawn(|scene| scene.polyline(points, Stroke::solid(RED, 1))).1;
            let canvas = line(vec![(10, 10), to]);
            let steps = (to.0 - 10i32).abs().max((to.1 - 10i32).abs()) as usize + 1;
            assert_eq!(count(&canvas, RED), steps, "{to:?}");
            assert_eq!(canvas.pixels[(to.1 * 20 + to.0) as usize], RED);
        }
        let (scene, dashed) = drawn(|scene| scene.polyline(vec![(0, 3), (19, 3)], Stroke::dashed(RED, 1)));
        assert_eq!(count(&dashed, RED), 6 + 6);
        let twice = scene.doubled();
        let mut canvas = Canvas::new(&twice);
        twice.marks.iter().for_each(|m| canvas.draw(m));
        assert!(count(&canvas, RED) >= 4 * 11, "{}", count(&canvas, RED));
    }
}
