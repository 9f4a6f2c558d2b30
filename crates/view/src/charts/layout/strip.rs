//! Shared parts of pictures of layouts: the strip of a file, the colours of fragments, and shares of a range of addresses.

use super::super::axes::{LABEL_SIZE, TICK_SIZE, words};
use crate::palette::{Palette, Rgb};
use crate::scene::{Anchor, Fill, Rect, Scene, Stroke};
use crate::units;
use iosonar_layout::{Extent, Figures, Kind, Row, fragments};
use std::ops::Range;

/// Fragments of this size and smaller are darkest, in bytes.
const SMALL: f64 = 4096.0;
/// Fragments of this size and larger are palest, in bytes.
const LARGE: f64 = 67_108_864.0;
/// Shades of fragments, beside transparent pixels.
const SHADES: usize = 48;

/// An extent, and the size of the fragment that it is part of.
pub(super) struct Piece {
    pub(super) extent: Extent,
    pub(super) fragment: u64,
    /// Whether a fragment starts with it.
    pub(super) is_first: bool,
}

impl Piece {
    /// Length in bytes. That of an encoded extent is unknown: it is shown as a point.
    pub(super) fn length_on_disk(&self) -> u64 {
        if self.extent.kind == Kind::Encoded { 1 } else { self.extent.length }
    }

    /// Its colour, by number.
    pub(super) fn color(&self) -> u8 {
        let number = match self.extent.kind {
            Kind::Written | Kind::Unwritten => {
                1 + (largeness(self.fragment) * (SHADES - 1) as f64).round() as usize
            }
            Kind::Encoded => SHADES + 1,
            Kind::Delalloc => SHADES + 2,
            Kind::Inline | Kind::Unknown => SHADES + 3,
        };
        number as u8
    }
}

/// Extents in the order of the file, each with the size of its fragment.
pub(super) fn pieces(rows: &[Row]) -> Vec<Piece> {
    let (extents, fragments) = fragments(rows);
    let mut last = None;
    let piece = |(extent, number): (Extent, Option<usize>)| {
        let is_first = number.is_none() || number != last;
        last = number.or(last);
        Piece { extent, fragment: number.map_or(extent.length, |number| fragments[number].bytes), is_first }
    };
    extents.into_iter().map(piece).collect()
}

/// End of the last block of a file, in its offsets; above 0.
pub(super) fn end_of(rows: &[Row]) -> u64 {
    rows.last().map_or(1, |row| row.offset() + row.length()).max(1)
}

/// 0 for the smallest fragments, 1 for the largest.
pub(super) fn largeness(bytes: u64) -> f64 {
    ((bytes as f64).max(SMALL).log2() - SMALL.log2()).min(LARGE.log2() - SMALL.log2())
        / (LARGE / SMALL).log2()
}

/// The colour of fragments: the smaller, the more it differs from the background. `smallness` is from 0 to 1.
pub(super) fn fragment_color(p: &Palette, smallness: f64) -> Rgb {
    // The palest shades would be invisible as lines.
    p.shade(0.25 + 0.75 * smallness)
}

/// Colours by number: those of fragments from the smallest to the largest, then those of other kinds.
pub(super) fn colors(p: &Palette) -> Vec<Rgb> {
    let shade = |n: usize| fragment_color(p, 1.0 - n as f64 / (SHADES - 1) as f64);
    let others = [p.actual, p.write, p.bad];
    [p.background].into_iter().chain((0..SHADES).map(shade)).chain(others).collect()
}

/// Draws the colours, and their meaning. Other kinds than fragments are named if `figures` have them.
pub(super) fn key(scene: &mut Scene, p: &'static Palette, left: i32, figures: &[&Figures]) {
    let colors = colors(p);
    scene.text(words("size of the fragment", left, 116, 13.0, p, Anchor::Start));
    let bar = Rect { x: left + 150, y: 104, w: 384, h: 14 };
    for (n, color) in colors[1..=SHADES].iter().enumerate() {
        let x = bar.x + n as i32 * bar.w / SHADES as i32;
        scene.area(Rect { x, w: bar.w / SHADES as i32, ..bar }, Fill::Solid(*color));
    }
    outline(scene, p, bar);
    for size in [4096u64, 65_536, 1 << 20, 1 << 26] {
        let x = bar.x + (largeness(size) * f64::from(bar.w)) as i32;
        let text = match size {
            4096 => "4 KiB".to_string(),
            67_108_864 => "64 MiB and more".to_string(),
            size => units::bytes(size).replace(".00", "").replace(".0", ""),
        };
        scene.text(words(text, x, bar.bottom() + 15, TICK_SIZE, p, Anchor::Middle));
    }
    let has = |kinds: &[Kind]| figures.iter().any(|f| kinds.iter().any(|kind| f.bytes_of(*kind) > 0));
    let kinds = [
        ("hole", figures.iter().any(|f| f.hole_bytes > 0), None),
        ("unwritten", has(&[Kind::Unwritten]), None),
        ("encoded", has(&[Kind::Encoded]), Some(SHADES + 1)),
        ("delalloc", has(&[Kind::Delalloc]), Some(SHADES + 2)),
        ("inline, unknown", has(&[Kind::Inline, Kind::Unknown]), Some(SHADES + 3)),
    ];
    let mut x = bar.right() + 90;
    for (name, _, color) in kinds.into_iter().filter(|(_, is_present, _)| *is_present) {
        let area = Rect { x, y: 104, w: 14, h: 14 };
        match (name, color) {
            (_, Some(color)) => scene.area(area, Fill::Solid(colors[color])),
            ("hole", None) => {}
            (_, None) => {
                scene.area(area, Fill::Solid(colors[SHADES / 2]));
                scene.area(area, Fill::Hatch(p.background));
            }
        }
        outline(scene, p, area);
        let text = words(name, x + 22, 116, 13.0, p, Anchor::Start);
        x = text.bounds().right() + 26;
        scene.text(text);
    }
}

/// Pixel column of an offset in a file that ends at `end`, in a strip of this width.
pub(super) fn column(offset: u64, end: u64, width: i32) -> i32 {
    (offset.min(end) as f64 / end as f64 * f64::from(width)) as i32
}

/// A thin gap separates neighbouring fragments if both have at least this many columns.
const TOLD_APART: i32 = 4;

/// Draws a file from its start to its end: each column has the colour of the most of it, holes are empty.
pub(super) fn strip(scene: &mut Scene, p: &'static Palette, pieces: &[Piece], end: u64, at: Rect) {
    let mut columns = vec![[0u64; SHADES + 4]; at.w as usize];
    let mut unwritten = vec![false; at.w as usize];
    for piece in pieces {
        let (from, to) = (column(piece.extent.offset, end, at.w), column(piece.extent.end() - 1, end, at.w));
        for x in from..=to.min(at.w - 1) {
            columns[x as usize][usize::from(piece.color())] += piece.extent.length / (to - from + 1) as u64;
            unwritten[x as usize] |= piece.extent.kind == Kind::Unwritten;
        }
    }
    let colors = colors(p);
    for (x, column) in columns.iter().enumerate() {
        let most = (0..column.len()).max_by_key(|color| column[*color]).filter(|color| column[*color] > 0);
        let area = Rect { x: at.x + x as i32, w: 1, ..at };
        most.into_iter().for_each(|color| scene.area(area, Fill::Solid(colors[color])));
    }
    // After all colours, so that hatches are one area each.
    for x in (0..unwritten.len()).filter(|x| unwritten[*x]) {
        scene.area(Rect { x: at.x + x as i32, w: 1, ..at }, Fill::Hatch(p.background));
    }
    gaps(scene, p, pieces, end, at);
    outline(scene, p, at);
}

/// Draws gaps between consecutive fragments that are wide enough: with equal sizes, they have one colour.
fn gaps(scene: &mut Scene, p: &'static Palette, pieces: &[Piece], end: u64, at: Rect) {
    let column = |offset: u64| column(offset, end, at.w);
    let starts: Vec<i32> =
        pieces.iter().filter(|piece| piece.is_first).map(|p| column(p.extent.offset)).collect();
    let last = pieces.last().map(|piece| column(piece.extent.end()));
    let ends: Vec<i32> = starts.iter().skip(1).copied().chain(last).collect();
    for (fragments, end) in starts.windows(2).zip(ends.iter().skip(1)) {
        let is_wide = fragments[1] - fragments[0] >= TOLD_APART && end - fragments[1] >= TOLD_APART;
        if is_wide {
            scene.area(Rect { x: at.x + fragments[1], w: 1, ..at }, Fill::Solid(p.background));
        }
    }
}

/// A file's share of each part of a range of addresses: one share for each of `parts` equal parts.
pub(super) fn shares(pieces: &[Piece], addresses: Range<u64>, parts: i32) -> Vec<f64> {
    let mut shares = vec![0f64; parts as usize];
    let each = (addresses.end - addresses.start) as f64 / f64::from(parts);
    for place in pieces.iter().filter_map(|piece| piece.extent.place()) {
        let at = |address: u64| address.saturating_sub(addresses.start) as f64 / each;
        let (from, to) = (at(place.start), at(place.end));
        for part in from as usize..=(to as usize).min(shares.len() - 1) {
            let covered = to.min(part as f64 + 1.0) - from.max(part as f64);
            shares[part] += covered.max(0.0);
        }
    }
    shares
}

/// The colour of a share above 0.
pub(super) fn share_color(p: &Palette, share: f64) -> Rgb {
    // A share above zero must be visible.
    p.background.mix(p.read, 0.12 + 0.88 * share.min(1.0))
}

/// Ticks of an axis of addresses.
pub(in crate::charts) struct AddressAxis {
    /// The address that ticks count from: 0, or the start of the range.
    pub(in crate::charts) base: u64,
    /// Addresses, and the words at them.
    pub(in crate::charts) ticks: Vec<(u64, String)>,
}

impl AddressAxis {
    /// The axis of a range.
    pub(in crate::charts) fn of(addresses: Range<u64>) -> AddressAxis {
        let Range { start: from, end: to } = addresses;
        // Where the range is small and far from the start, all ticks would look alike.
        let is_relative = from / 16 > to - from;
        let base = if is_relative { from } else { 0 };
        let sign = if is_relative { "+" } else { "" };
        let tick = |tick: u64| (base + tick, format!("{sign}{}", units::bytes(tick)));
        AddressAxis { base, ticks: ticks(from - base, to - base).map(tick).collect() }
    }

    /// Draws grid and ticks; `y` is the height of an address below the upper edge of the plot.
    pub(in crate::charts) fn draw(
        &self,
        scene: &mut Scene,
        p: &'static Palette,
        plot: Rect,
        y: impl Fn(u64) -> i32,
    ) {
        for (address, text) in &self.ticks {
            let y = plot.y + y(*address);
            scene.horizontal(y, (plot.x, plot.right() - 1), Stroke::solid(p.grid, 1));
            scene.text(words(text, plot.x - 8, y + 4, TICK_SIZE, p, Anchor::End));
        }
    }
}

/// Draws grid, ticks and label of offsets in a file of `end` bytes; `x` is the distance of an offset from the left edge.
pub(in crate::charts) fn offset_axis(
    scene: &mut Scene,
    p: &'static Palette,
    plot: Rect,
    end: u64,
    x: impl Fn(u64) -> i32,
) {
    for tick in ticks(0, end) {
        let x = plot.x + x(tick);
        scene.vertical(x, (plot.y, plot.bottom() - 1), Stroke::solid(p.grid, 1));
        scene.text(words(units::bytes(tick), x, plot.bottom() + 18, TICK_SIZE, p, Anchor::Middle));
    }
    let x = plot.x + plot.w / 2;
    scene.text(words("offset in the file", x, plot.bottom() + 36, LABEL_SIZE, p, Anchor::Middle));
}

/// Multiples of a power of two in a range, at most eight.
fn ticks(from: u64, to: u64) -> impl Iterator<Item = u64> {
    let step = ((to - from) / 6).max(1).next_power_of_two();
    let first = from.checked_next_multiple_of(step).unwrap_or(to);
    std::iter::successors(Some(first), move |tick| tick.checked_add(step)).take_while(move |tick| *tick < to)
}

/// Draws a thin line around an area.
pub(in crate::charts) fn outline(scene: &mut Scene, p: &'static Palette, area: Rect) {
    let stroke = Stroke::solid(p.axis, 1);
    let (x, y) = ((area.x - 1, area.right()), (area.y - 1, area.bottom()));
    [y.0, y.1].into_iter().for_each(|y| scene.horizontal(y, x, stroke));
    [x.0, x.1].into_iter().for_each(|x| scene.vertical(x, y, stroke));
}
