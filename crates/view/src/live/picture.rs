//! A frame as a picture: saved by the key `s` beside the text.

use super::cells::{Cell, Frame, Ink};
use super::ramp::{self, Ramp};
use crate::fonts::Weight;
use crate::palette::Rgb;
use crate::raster;
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke, Text};

/// Pixels of a cell.
const WIDE: i32 = 8;
/// See `WIDE`; a multiple of eight, as bars are drawn in eighths.
const HIGH: i32 = 16;
const SIZE: f64 = 12.5;
/// Base line of a text below the upper edge of its cell.
const BASE: i32 = 12;

impl Frame {
    /// Converts the frame to a PNG file, in its colours.
    pub fn to_png(&self) -> Vec<u8> {
        let palette = Ramp::palette();
        let size = |cells: usize, pixels: i32| cells as u32 * pixels as u32;
        let (width, height) = (size(self.columns(), WIDE), size(self.rows().len(), HIGH));
        let mut scene = Scene::new(width.max(1), height.max(1), palette.background);
        for (row, cells) in self.rows().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                let area = Rect { x: column as i32 * WIDE, y: row as i32 * HIGH, w: WIDE, h: HIGH };
                if let Some(ground) = color(cell.ground) {
                    scene.area(area, Fill::Solid(ground));
                }
                draw(&mut scene, area, cell, color(cell.ink).unwrap_or(palette.text));
            }
        }
        raster::png(&scene)
    }
}

/// The terminal's default colours have no value.
fn color(ink: Ink) -> Option<Rgb> {
    match ink {
        Ink::Plain => None,
        Ink::True(color) => Some(color),
        Ink::Indexed(n) | Ink::Basic(n) => Some(ramp::color_of(n)),
    }
}

/// Bars and lines fill their cells exactly, which characters of a font would not.
fn draw(scene: &mut Scene, area: Rect, cell: &Cell, ink: Rgb) {
    let Rect { x, y, w, h } = area;
    let (middle_x, middle_y) = (x + w / 2, y + h / 2);
    let solid = Stroke::solid(ink, 1);
    match cell.glyph {
        ' ' => {}
        '▀' => scene.area(Rect { h: h / 2, ..area }, Fill::Solid(ink)),
        bar @ '▁'..='█' => {
            let part = h / 8 * (bar as i32 - '▁' as i32 + 1);
            scene.area(Rect { y: y + h - part, h: part, ..area }, Fill::Solid(ink));
        }
        '─' => scene.horizontal(middle_y, (x, x + w - 1), solid),
        '┄' => scene.horizontal(middle_y, (x, x + w / 2), solid),
        '│' => scene.vertical(middle_x, (y, y + h - 1), solid),
        '┤' => {
            scene.vertical(middle_x, (y, y + h - 1), solid);
            scene.horizontal(middle_y, (x, middle_x), solid);
        }
        '└' => {
            scene.vertical(middle_x, (y, middle_y), solid);
            scene.horizontal(middle_y, (middle_x, x + w - 1), solid);
        }
        dots @ '\u{2800}'..='\u{28ff}' => braille(scene, area, dots, ink),
        glyph => scene.text(Text {
            text: glyph.to_string(),
            x: middle_x,
            y: y + BASE,
            size: SIZE,
            weight: Weight::Regular,
            color: ink,
            anchor: Anchor::Middle,
            upright: false,
            figures: Vec::new(),
        }),
    }
}

/// Dots 1 to 8 are bits 0 to 7: 1, 2, 3 and 7 on the left, 4, 5, 6 and 8 on the right, from above.
const DOTS: [(i32, i32); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];

fn braille(scene: &mut Scene, area: Rect, glyph: char, ink: Rgb) {
    let bits = glyph as u32 - 0x2800;
    for (_, (column, row)) in DOTS.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1) {
        let (w, h) = (area.w / 2, area.h / 4);
        scene
            .area(Rect { x: area.x + column * w + 1, y: area.y + row * h + 1, w: 2, h: 2 }, Fill::Solid(ink));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(frame: &Frame) -> (u32, Vec<[u8; 3]>) {
        let png = frame.to_png();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let channels = info.line_size / info.width as usize;
        (info.width, bytes.chunks_exact(channels).map(|p| [p[0], p[1], p[2]]).collect())
    }

    #[test]
    fn cells_have_their_colours() {
        let mut frame = Frame::new(3, 2);
        let (red, blue) = (Rgb(200, 10, 20), Rgb(20, 10, 200));
        frame.set(1, 0, Cell { glyph: '▀', ink: Ink::True(red), ground: Ink::True(blue) });
        frame.set(2, 1, Cell { glyph: '▂', ink: Ink::Indexed(46), ground: Ink::Plain });
        let (width, pixels) = pixels(&frame);
        let at = |x: u32, y: u32| pixels[(y * width + x) as usize];
        assert_eq!((width, pixels.len()), (24, 24 * 32));
        assert_eq!([at(9, 2), at(9, 12)], [[200, 10, 20], [20, 10, 200]]);
        let Rgb(r, g, b) = Ramp::palette().background;
        // Index 46 is pure green; a bar of two eighths.
        assert_eq!([at(20, 27), at(20, 28), at(2, 2)], [[r, g, b], [0, 255, 0], [r, g, b]]);
    }

    #[test]
    fn every_character_of_the_view_is_drawn() {
        for glyph in "aµ─│┄└┤▀▁▄█⠉⠒⠤⣀".chars() {
            let mut frame = Frame::new(1, 1);
            frame.set(0, 0, Cell { glyph, ink: Ink::True(Rgb(255, 255, 255)), ground: Ink::Plain });
            let (_, pixels) = pixels(&frame);
            assert!(pixels.iter().any(|p| p[0] > 100), "{glyph} leaves nothing");
        }
    }
}
