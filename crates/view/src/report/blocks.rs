//! Data blocks: exact counts in the page. The form is described in `docs/diagrams.md`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use iosonar_analyze::{Class, CountGrid, CountSeries, Diagrams, Occupancy, ROWS, Scope, TILE_COLUMNS};
use std::fmt::Write as _;
use std::io::{Read, Write as _};

/// A block is closed when its values take this many bytes before compression; compressed and in base64 it then
/// stays below 1 MiB.
const BLOCK_BYTES: usize = 512 << 10;
/// Counts of a tile.
const TILE_VALUES: usize = TILE_COLUMNS * (ROWS + 2);

/// All blocks of a run as HTML.
pub(super) fn all(diagrams: &Diagrams) -> String {
    let mut out = String::new();
    grid(&mut out, "latency", &diagrams.latency);
    grid(&mut out, "delay", &diagrams.delay);
    counts(&mut out, "demanded", &diagrams.demanded.scope(Scope::All));
    counts(&mut out, "delivered-read", &diagrams.delivered.scope(Scope::Read));
    counts(&mut out, "delivered-write", &diagrams.delivered.scope(Scope::Write));
    occupancy(&mut out, "in-flight-read", &diagrams.in_flight.scope(Scope::Read));
    occupancy(&mut out, "in-flight-write", &diagrams.in_flight.scope(Scope::Write));
    occupancy(&mut out, "waiting", &diagrams.waiting.scope(Scope::All));
    out
}

fn grid(out: &mut String, name: &str, grid: &CountGrid) {
    for class in Class::ALL {
        let kind = format!("grid/{name}/{}", class.name());
        let (mut first, mut values) = (0, Values::default());
        for tile in 0..grid.tiles() {
            match grid.tile(class, tile) {
                Some(counts) => row_major(counts).for_each(|n| values.push(n)),
                None => values.push_zeros(TILE_VALUES as u64),
            }
            // A run of zeros ends with its tile, so that each tile can be read by itself.
            values.flush();
            if values.bytes.len() >= BLOCK_BYTES || tile + 1 == grid.tiles() {
                let done = std::mem::take(&mut values);
                if done.sum > 0 {
                    write(out, &kind, grid.axis().width_ns(), first, done);
                }
                first = tile + 1;
            }
        }
    }
}

/// The counts of a tile in the order of the block: row after row, column after column within a row. Rows far
/// from the bands become one long run of zeros.
fn row_major(tile: &[u32]) -> impl Iterator<Item = u64> {
    let slots = ROWS + 2;
    (0..slots)
        .flat_map(move |slot| (0..TILE_COLUMNS).map(move |column| u64::from(tile[column * slots + slot])))
}

fn counts(out: &mut String, name: &str, series: &CountSeries) {
    for (what, columns) in [("requests", &series.requests), ("bytes", &series.bytes)] {
        list(out, &format!("series/{name}/{what}"), series.axis().width_ns(), columns);
    }
}

fn occupancy(out: &mut String, name: &str, occupancy: &Occupancy) {
    // No run that a program lives through comes near the end of 64 bits.
    let integral = occupancy.integral_ns().into_iter().map(|ns| u64::try_from(ns).unwrap_or(u64::MAX));
    list(
        out,
        &format!("series/{name}/request-ns"),
        occupancy.axis().width_ns(),
        &integral.collect::<Vec<_>>(),
    );
}

fn list(out: &mut String, kind: &str, width_ns: u64, columns: &[u64]) {
    let mut values = Values::default();
    columns.iter().for_each(|n| values.push(*n));
    values.flush();
    if values.sum > 0 {
        write(out, kind, width_ns, 0, values);
    }
}

fn write(out: &mut String, kind: &str, width_ns: u64, first: usize, values: Values) {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(&values.bytes).expect("writing to memory does not fail");
    let packed = deflate.finish().expect("writing to memory does not fail");
    let crc = crc32fast::hash(&values.bytes);
    _ = writeln!(
        out,
        "<script type=\"application/x-iosonar-grid\" data-k=\"{kind}\" data-width-ns=\"{width_ns}\" \
         data-tile=\"{first}\" data-n=\"{}\" data-crc32=\"{crc:08x}\">{}</script>",
        values.sum,
        STANDARD.encode(packed)
    );
}

/// Numbers as variable-length integers, runs of zeros as a zero and their length less one.
#[derive(Default)]
struct Values {
    bytes: Vec<u8>,
    zeros: u64,
    sum: u64,
}

impl Values {
    fn push(&mut self, n: u64) {
        if n == 0 {
            self.zeros += 1;
            return;
        }
        self.flush();
        self.varint(n);
        self.sum += n;
    }

    fn push_zeros(&mut self, count: u64) {
        self.zeros += count;
    }

    fn flush(&mut self) {
        if self.zeros > 0 {
            let run = std::mem::take(&mut self.zeros);
            self.varint(0);
            self.varint(run - 1);
        }
    }

    /// Seven bits a byte, lowest first; the highest bit says that more follow (LEB128).
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }
}

/// Why a block cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockError {
    /// It is no base64.
    Base64,
    /// It does not inflate.
    Deflate,
    /// The check sum differs.
    Checksum,
    /// A number is cut off, or there are more than `most` of them.
    Values,
}

/// The numbers of a block: `text` is the content of the element, `crc32` its `data-crc32`. Refuses to unpack
/// more than `most` numbers.
pub fn decode_block(text: &str, crc32: u32, most: usize) -> Result<Vec<u64>, BlockError> {
    let packed = STANDARD.decode(text.trim()).map_err(|_| BlockError::Base64)?;
    let mut bytes = Vec::new();
    // A number takes at most ten bytes, a run of zeros one more.
    let limit = most as u64 * 11;
    DeflateDecoder::new(packed.as_slice())
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|_| BlockError::Deflate)?;
    if crc32fast::hash(&bytes) != crc32 {
        return Err(BlockError::Checksum);
    }
    let mut rest = bytes.as_slice();
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (value, run) = match varint(&mut rest)? {
            0 => (0, varint(&mut rest)?.saturating_add(1)),
            n => (n, 1),
        };
        if run > (most - values.len()) as u64 {
            return Err(BlockError::Values);
        }
        values.resize(values.len() + run as usize, value);
    }
    Ok(values)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, BlockError> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(BlockError::Values)?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(n);
        }
    }
    Err(BlockError::Values)
}

/// The tiles of a decoded grid block, each `TILE_COLUMNS` columns of `ROWS + 2` counts, column after column as
/// in [`CountGrid::tile`].
pub fn grid_tiles(values: &[u64]) -> Vec<Vec<u64>> {
    let slots = ROWS + 2;
    let tile =
        |values: &[u64]| (0..values.len()).map(|i| values[i % slots * TILE_COLUMNS + i / slots]).collect();
    values.chunks_exact(TILE_VALUES).map(tile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::TimeAxis;
    use proptest::prelude::*;

    fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
        let begin = element.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
        element[begin..].split('"').next().unwrap()
    }

    /// Every block as (kind, first tile, sum, numbers).
    fn parse(html: &str) -> Vec<(String, usize, u64, Vec<u64>)> {
        html.lines()
            .map(|line| {
                let text = line.split_once('>').unwrap().1.strip_suffix("</script>").unwrap();
                let crc = u32::from_str_radix(attribute(line, "data-crc32"), 16).unwrap();
                let values = decode_block(text, crc, 1 << 26).unwrap();
                let number = |name| attribute(line, name).parse::<u64>().unwrap();
                (
                    attribute(line, "data-k").to_string(),
                    number("data-tile") as usize,
                    number("data-n"),
                    values,
                )
            })
            .collect()
    }

    #[test]
    fn a_grid_comes_back_exactly() {
        let mut g = CountGrid::new(TimeAxis::new(99_999, 1024));
        for i in 0..30_000u64 {
            let class = if i % 7 == 0 { Class::WritePushed } else { Class::Read };
            g.add(class, i * i % 40_000, i * i * i % 200_000_000_000);
        }
        let mut html = String::new();
        grid(&mut html, "latency", &g);
        let blocks = parse(&html);
        assert_eq!(blocks.iter().map(|b| b.2).sum::<u64>(), 30_000);
        for class in Class::ALL {
            let kind = format!("grid/latency/{}", class.name());
            let tiles: Vec<(usize, Vec<u64>)> = blocks
                .iter()
                .filter(|b| b.0 == kind)
                .flat_map(|b| grid_tiles(&b.3).into_iter().enumerate().map(|(i, t)| (b.1 + i, t)))
                .collect();
            assert_eq!(tiles.iter().flat_map(|t| &t.1).sum::<u64>(), g.total(class), "{kind}");
            for (tile, counts) in tiles {
                let stored = g
                    .tile(class, tile)
                    .map_or(vec![0; TILE_VALUES], |t| t.iter().map(|n| u64::from(*n)).collect());
                assert!(counts == stored, "{kind} tile {tile}");
            }
        }
    }

    #[test]
    fn damage_is_noticed() {
        let mut html = String::new();
        list(&mut html, "series/x/requests", 1, &[1, 2, 3, 0, 0, 4]);
        let (_, _, sum, values) = parse(&html).remove(0);
        assert_eq!((sum, values), (10, vec![1, 2, 3, 0, 0, 4]));
        let text = html.split_once('>').unwrap().1.split('<').next().unwrap();
        let crc = u32::from_str_radix(attribute(&html, "data-crc32"), 16).unwrap();
        assert_eq!(decode_block(text, crc ^ 1, 100), Err(BlockError::Checksum));
        assert_eq!(decode_block(text, crc, 5), Err(BlockError::Values));
        assert_eq!(decode_block("!", crc, 100), Err(BlockError::Base64));
    }

    proptest! {
        #[test]
        fn any_numbers_come_back(numbers in prop::collection::vec(prop_oneof![Just(0u64), 0u64..300, 0u64..1 << 40], 0..300)) {
            let mut html = String::new();
            list(&mut html, "series/x/bytes", 1, &numbers);
            let decoded = if html.is_empty() { vec![0; numbers.len()] } else { parse(&html).remove(0).3 };
            prop_assert_eq!(decoded, numbers);
        }
    }
}
