//! Location of the blocks of a file: file offsets against addresses, and the sizes of the fragments.
//!
//! Three things show a fragmented file at a glance: the strip of the file is dark where its fragments are small, the line of
//! addresses breaks into pieces, and the column of the disk is pale where other blocks lie between those of the file.

mod overview;
mod strip;

pub use overview::{LayoutOverview, LayoutRow, layout_overview, layout_svg};
pub(super) use strip::{AddressAxis, offset_axis, outline};

use super::axes::{LABEL_SIZE, TICK_SIZE, words};
use super::material::View;
use super::{PAGE_HEIGHT, PAGE_WIDTH, PLOT_LEFT, Subject, page};
use crate::fonts::{self, Weight};
use crate::palette::Palette;
use crate::scene::{Anchor, Fill, Image, Mark, Rect, Scene, Stroke};
use crate::{Format, Scale, Style, units};
use iosonar_layout::Map;
use iosonar_plaintext::maps::{counted, counts, fragments, place, spread, sums, travel};
use iosonar_text::shown;
use strip::{Piece, fragment_color, largeness, pieces, share_color};

/// The strip of the file.
const STRIP: Rect = Rect { x: PLOT_LEFT, y: 150, w: 1080, h: 34 };
/// File offsets against addresses.
const PLOT: Rect = Rect { x: PLOT_LEFT, y: 212, w: 1080, h: PAGE_HEIGHT as i32 - 212 - page::BOTTOM - 64 };
/// The range of addresses, and the file's share of it.
const DISK: Rect = Rect { x: 1206, y: PLOT.y, w: 44, h: PLOT.h };
/// The whole file system.
const WHOLE: Rect = Rect { x: 1282, y: PLOT.y, w: 22, h: PLOT.h };
/// Left edge of the text at the right.
const SIDE: i32 = 1336;

/// The picture of a map whose rows were kept, as a file. `subject` has the command, the tool and cautions; its other words are
/// those of the map.
pub fn layout_picture(map: &Map, subject: &Subject, format: Format, style: &Style) -> Vec<u8> {
    file_of(&draw(map, subject, style), format, style)
}

fn file_of(scene: &Scene, format: Format, style: &Style) -> Vec<u8> {
    match format {
        Format::Svg => crate::svg::svg(scene).into_bytes(),
        Format::Png if style.scale == Scale::Double => crate::raster::png(&scene.doubled()),
        Format::Png => crate::raster::png(scene),
    }
}

fn draw(map: &Map, subject: &Subject, style: &Style) -> Scene {
    let how = [Some(counts(map)), Some(sums(map))].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let remark = map.volume.addresses.remark().map(|remark| format!(". {remark}")).unwrap_or_default();
    // A map has no detectors, so the absence of cautions means nothing.
    let subject = Subject { what: place(map) + &remark, how, is_unexamined: true, ..subject.clone() };
    let material = super::Material { subject: &subject, run: None, demand: None };
    let view = View::new(&material, style);
    let mut scene = Scene::new(PAGE_WIDTH, PAGE_HEIGHT, view.palette.background);
    let title = format!("Blocks of {}", shown(&map.path));
    let room = f64::from(PAGE_WIDTH) - 48.0;
    page::head(&mut scene, &view, &fonts::fit(&title, 22.0, Weight::Bold, room));
    let sheet = Sheet::new(map, view.palette);
    strip::key(&mut scene, view.palette, PLOT_LEFT, &[&map.figures]);
    sheet.strip(&mut scene);
    if sheet.pieces.iter().any(|piece| piece.extent.address.is_some()) {
        sheet.plot(&mut scene);
        sheet.disk(&mut scene);
        sheet.whole(&mut scene);
    } else {
        page::nothing(&mut scene, &view, PLOT, "Nothing to show: no block of the file has an address.");
    }
    sheet.sizes(&mut scene);
    page::bottom(&mut scene, &view, &[PLOT]);
    scene.facts = super::facts(&title, &subject);
    scene
}

/// Input of all parts of the picture.
struct Sheet<'a> {
    map: &'a Map,
    palette: &'static Palette,
    pieces: Vec<Piece>,
    /// End of the file's last block.
    end: u64,
    /// The visible addresses.
    from: u64,
    to: u64,
}

impl<'a> Sheet<'a> {
    fn new(map: &'a Map, palette: &'static Palette) -> Sheet<'a> {
        let rows = map.rows.as_deref().unwrap_or_default();
        let pieces = pieces(rows);
        let end = strip::end_of(rows);
        let places = || pieces.iter().filter_map(|p| Some((p.extent.address?, p.length_on_disk())));
        let from = places().map(|(address, _)| address).min().unwrap_or(0);
        let to = places().map(|(address, length)| address.saturating_add(length)).max().unwrap_or(1);
        Sheet { map, palette, pieces, end, from, to: to.max(from + 1) }
    }

    /// Pixel column of an offset in the file.
    fn x(&self, offset: u64) -> i32 {
        strip::column(offset, self.end, PLOT.w)
    }

    /// Pixel row of an address, from the top of the plot: low addresses are above, as in the list.
    fn y(&self, address: u64) -> i32 {
        let share = address.saturating_sub(self.from) as f64 / (self.to - self.from) as f64;
        ((share * f64::from(PLOT.h - 1)) as i32).clamp(0, PLOT.h - 1)
    }

    /// The file from its start to its end.
    fn strip(&self, scene: &mut Scene) {
        let p = self.palette;
        strip::strip(scene, p, &self.pieces, self.end, STRIP);
        scene.text(words("file", STRIP.x - 10, STRIP.y + 22, LABEL_SIZE, p, Anchor::End));
    }

    /// Draws a line for each extent, from its offset in the file to its address on the disk.
    fn plot(&self, scene: &mut Scene) {
        let p = self.palette;
        offset_axis(scene, p, PLOT, self.end, |offset| self.x(offset));
        self.addresses(scene);
        let mut image = Image {
            x: PLOT.x,
            y: PLOT.y,
            width: PLOT.w as u32,
            height: PLOT.h as u32,
            pixels: vec![0; (PLOT.w * PLOT.h) as usize],
            palette: strip::colors(p),
        };
        let mut dot = |x: i32, y: i32, color: u8| {
            for (x, y) in [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)] {
                if (0..PLOT.w).contains(&x) && (0..PLOT.h).contains(&y) {
                    image.pixels[(y * PLOT.w + x) as usize] = color;
                }
            }
        };
        for piece in &self.pieces {
            let Some(address) = piece.extent.address else { continue };
            let (x, y) = (self.x(piece.extent.offset), self.y(address));
            let right = self.x(piece.extent.end() - 1);
            let below = self.y(address.saturating_add(piece.length_on_disk() - 1));
            let steps = (right - x).max(below - y).max(0);
            for step in 0..=steps {
                let part = |length: i32| if steps == 0 { 0 } else { length * step / steps };
                dot(x + part(right - x), y + part(below - y), piece.color());
            }
        }
        scene.marks.push(Mark::Image(image));
        outline(scene, p, PLOT);
    }

    /// Grid and ticks of addresses, and the borders of allocation groups.
    fn addresses(&self, scene: &mut Scene) {
        let p = self.palette;
        let axis = AddressAxis::of(self.from..self.to);
        axis.draw(scene, p, PLOT, |address| self.y(address));
        let label = match axis.base {
            0 => "address".to_string(),
            base => format!("address from {} on ({base} bytes)", units::bytes(base)),
        };
        let mut label = words(label, 26, PLOT.y + PLOT.h / 2, LABEL_SIZE, p, Anchor::Middle);
        label.upright = true;
        scene.text(label);
        let Some(groups) = self.map.volume.groups else { return };
        for group in groups.of(self.from).0 + 1..=groups.of(self.to - 1).0 {
            let y = PLOT.y + self.y(group * groups.bytes);
            scene.horizontal(y, (PLOT.x, PLOT.right() - 1), Stroke::dashed(p.axis, 1));
        }
    }

    /// Draws the file's share of each part of the range of addresses.
    fn disk(&self, scene: &mut Scene) {
        let p = self.palette;
        let shares = strip::shares(&self.pieces, self.from..self.to, PLOT.h);
        for (row, share) in shares.into_iter().enumerate().filter(|(_, share)| *share > 0.0) {
            let area = Rect { y: DISK.y + row as i32, h: 1, ..DISK };
            scene.area(area, Fill::Solid(share_color(p, share)));
        }
        outline(scene, p, DISK);
        above(scene, p, DISK, ["share of".into(), "this file".into()]);
    }

    /// Draws the location of the file in the whole file system.
    fn whole(&self, scene: &mut Scene) {
        let p = self.palette;
        let Some(bytes) = self.map.volume.bytes.filter(|bytes| *bytes >= self.to) else { return };
        let y = |address: u64| WHOLE.y + (address as f64 / bytes as f64 * f64::from(WHOLE.h - 1)) as i32;
        for place in self.pieces.iter().filter_map(|piece| piece.extent.place()) {
            let (top, bottom) = (y(place.start), y(place.end - 1));
            scene.area(Rect { y: top, h: bottom - top + 1, ..WHOLE }, Fill::Solid(p.read));
        }
        if let Some(groups) = self.map.volume.groups.filter(|groups| groups.count <= 64) {
            for group in 1..groups.count {
                let y = y((group * groups.bytes).min(bytes));
                scene.horizontal(y, (WHOLE.x, WHOLE.right() - 1), Stroke::solid(p.axis, 1));
            }
        }
        outline(scene, p, WHOLE);
        above(scene, p, WHOLE, ["file system".into(), units::bytes(bytes)]);
    }

    /// Draws figures, and the number of bytes in records of each size.
    fn sizes(&self, scene: &mut Scene) {
        let p = self.palette;
        let f = &self.map.figures;
        let groups = self.map.volume.groups;
        let groups = groups.map(|groups| format!("{} of {} groups used", f.groups_used(), groups.count));
        let beyond = (f.beyond_bytes > 0).then(|| format!("{} beyond the end", units::bytes(f.beyond_bytes)));
        let lines = [
            Some(fragments(f)),
            Some(counted(f.records, "mapping record")),
            groups,
            Some(travel(self.map)),
            beyond,
            spread(self.map).map(|spread| format!("record sizes: {spread}")),
        ];
        let mut y = STRIP.y + 4;
        for (number, line) in lines.into_iter().flatten().enumerate() {
            let (size, weight) = if number == 0 { (18.0, Weight::Bold) } else { (13.0, Weight::Regular) };
            for part in fonts::wrap(&line, size, weight, 244.0) {
                let mut text = words(part, SIDE, y, size, p, Anchor::Start);
                text.weight = weight;
                scene.text(text);
                y += 19;
            }
        }
        y += 18;
        let classes = f.sizes.classes();
        let most = classes.iter().map(|class| class.bytes).max().unwrap_or(1).max(1);
        for class in classes.iter().take(18) {
            let name = format!("from {}", units::bytes(class.from_bytes));
            scene.text(words(name, SIDE + 96, y + 10, TICK_SIZE, p, Anchor::End));
            let w = (class.bytes as f64 / most as f64 * 60.0).ceil() as i32;
            let color = fragment_color(p, 1.0 - largeness(class.from_bytes));
            let bar = Rect { x: SIDE + 104, y, w, h: 12 };
            scene.area(bar, Fill::Solid(color));
            outline(scene, p, bar);
            let count = units::grouped(class.extents);
            scene.text(words(count, bar.right() + 8, y + 10, TICK_SIZE, p, Anchor::Start));
            y += 21;
        }
    }
}

/// Two lines above a column.
fn above(scene: &mut Scene, p: &'static Palette, column: Rect, lines: [String; 2]) {
    for (line, y) in lines.into_iter().zip([22, 7]) {
        let x = column.x + column.w / 2;
        scene.text(words(line, x, column.y - y, TICK_SIZE, p, Anchor::Middle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_layout::{Addresses, Extent, Groups, Scan, Volume};
    use std::sync::Arc;

    fn map(size: u64, extents: &[(u64, u64, u64, u32)]) -> Map {
        let groups = Some(Groups { count: 4, bytes: 1 << 28 });
        let volume = Volume {
            kind: "xfs".into(),
            mount_point: Some("/mnt".into()),
            source: Some("/dev/sdx".into()),
            block_bytes: 4096,
            groups,
            bytes: Some(1 << 30),
            addresses: Addresses::Device,
        };
        let mut scan = Scan::new(size, 4096, groups, true);
        extents.iter().for_each(|(o, p, l, f)| scan.add(Extent::new(*o, *p, *l, *f)));
        let (figures, rows) = scan.finish();
        let (rows, beyond) = rows.unzip();
        let (path, volume) = ("a\x1bb".into(), Arc::new(volume));
        Map { path, volume, size, extent_size_hint: 0, is_synced: true, figures, rows, beyond }
    }

    fn scene(map: &Map) -> Scene {
        draw(map, &Subject { command: "iosonar layout map".into(), ..Subject::default() }, &Style::default())
    }

    fn interleaved() -> Map {
        let block = |n: u64| (n * 4096, (1 << 20) + n * 8192, 4096, 0);
        map(16 << 20, &(0..4096).map(block).collect::<Vec<_>>())
    }

    #[test]
    fn text_never_overlaps_or_leaves_the_page() {
        let kinds = [0, 0x800, 0x8, 0x7, 0x200];
        let mixed: Vec<_> = (0..40u64)
            .map(|n| (n << 20, (90 - n) << 22, 4096 << (n % 9), kinds[n as usize % kinds.len()]))
            .collect();
        for map in [interleaved(), map(64 << 20, &mixed), map(1 << 30, &[]), map(0, &[])] {
            let scene = scene(&map);
            let texts: Vec<_> = scene.texts().map(|text| (text.bounds(), &text.text)).collect();
            for (i, (bounds, text)) in texts.iter().enumerate() {
                assert!(bounds.x >= 0 && bounds.right() <= PAGE_WIDTH as i32, "{text}: {bounds:?}");
                let other = texts[i + 1..].iter().find(|(other, _)| bounds.overlaps(other));
                assert!(other.is_none(), "'{text}' and {other:?}");
            }
        }
    }

    #[test]
    fn omits_cautions_when_not_checked() {
        assert!(scene(&interleaved()).texts().all(|text| text.text != "No cautions."));
    }

    #[test]
    fn parts_of_a_fragment_show_its_total_size() {
        let map = map(
            1 << 20,
            &[(0, 1 << 20, 4096, 0), (4096, (1 << 20) + 4096, 8192, 0x800), (12_288, 1 << 26, 4096, 0)],
        );
        let pieces = pieces(map.rows.as_deref().unwrap());
        assert_eq!(pieces.iter().map(|piece| piece.fragment).collect::<Vec<_>>(), [12_288, 12_288, 4096]);
        assert_eq!(pieces.iter().map(|piece| piece.is_first).collect::<Vec<_>>(), [true, false, true]);
    }

    /// The strip of a fragmented file is darker than that of a whole one, and its disk is paler.
    #[test]
    fn fragmented_file_is_drawn_differently() {
        let fill_at = |scene: &Scene, place: Rect| {
            scene.marks.iter().find_map(|mark| match mark {
                Mark::Area { area, fill: Fill::Solid(color) } if area.overlaps(&place) => Some(*color),
                _ => None,
            })
        };
        let strip = Rect { x: STRIP.x + 500, w: 1, ..STRIP };
        let disk = Rect { y: DISK.y + 300, h: 1, ..DISK };
        let (fragmented, whole) =
            (scene(&interleaved()), scene(&map(16 << 20, &[(0, 1 << 20, 16 << 20, 0)])));
        let background = fragmented.background;
        let contrast =
            |scene: &Scene, place| fill_at(scene, place).expect("a colour there").contrast(background);
        assert!(contrast(&fragmented, strip) > 2.0 * contrast(&whole, strip));
        assert!(contrast(&whole, disk) > 2.0 * contrast(&fragmented, disk));
    }

    #[test]
    fn writes_svg_and_png_with_escaped_names() {
        let subject = Subject::default();
        let svg = layout_picture(&interleaved(), &subject, Format::Svg, &Style::default());
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.starts_with("<svg ") && !svg.contains('\x1b') && svg.contains("4 096 fragments"));
        let png = layout_picture(&interleaved(), &subject, Format::Png, &Style::default());
        assert!(png.starts_with(b"\x89PNG") && png.len() < 200_000, "{}", png.len());
    }
}
