//! Blocks of counts and of requests in the page. The form is described in `docs/page.md`.

use super::numbers::{self, Checked, Counts};
use super::points::PointBlock;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use iosonar_analyze::demand::SeekMap;
use iosonar_analyze::{Class, Correlation, CountGrid, SLOTS, TILE_COLUMNS};
use iosonar_plan::Op;
use std::io::{self, Read, Write};

/// A block is closed when its values take this many bytes before compression; compressed and in base64 it then
/// stays below 1 MiB.
const BLOCK_BYTES: usize = 512 << 10;
/// Counts of a tile.
const TILE_VALUES: usize = TILE_COLUMNS * SLOTS;

/// Writes the blocks of one run.
pub(super) struct Blocks<'a> {
    pub(super) out: &'a mut dyn Write,
    /// 0 for A, 1 for B.
    pub(super) run: usize,
}

impl Blocks<'_> {
    /// Counts over time and duration.
    pub(super) fn grid(&mut self, id: &str, grid: &CountGrid) -> io::Result<()> {
        for class in Class::ALL {
            self.tiles(id, class, grid.tiles(), |tile, counts| {
                for slot in 0..SLOTS {
                    match grid.row(class, tile, slot) {
                        Some(row) => row.iter().for_each(|count| counts.push((*count).into())),
                        None => counts.push_zeros(TILE_COLUMNS as u64),
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Counts over another quantity and duration.
    pub(super) fn relation(&mut self, id: &str, relation: &Correlation) -> io::Result<()> {
        let columns = relation.columns();
        for class in Class::ALL {
            self.tiles(id, class, columns.div_ceil(TILE_COLUMNS), |tile, counts| {
                let count = |column: usize, slot| match tile * TILE_COLUMNS + column {
                    column if column < columns => relation.count(column, slot)[class.index()],
                    _ => 0,
                };
                row_major(count, counts);
            })?;
        }
        Ok(())
    }

    /// Counts over time and place.
    pub(super) fn seek(&mut self, map: &SeekMap) -> io::Result<()> {
        for (class, op) in [(Class::Read, Op::Read), (Class::Write, Op::Write)] {
            self.tiles("seek", class, map.columns.div_ceil(TILE_COLUMNS), |tile, counts| {
                let count = |column, slot: usize| match slot.checked_sub(1) {
                    Some(row) => u64::from(map.count(tile * TILE_COLUMNS + column, row, op)),
                    None => 0,
                };
                row_major(count, counts);
            })?;
        }
        Ok(())
    }

    /// Numbers over time.
    pub(super) fn series(&mut self, id: &str, columns: &[u64]) -> io::Result<()> {
        let mut counts = Counts::default();
        columns.iter().for_each(|n| counts.push(*n));
        counts.flush();
        if counts.sum == 0 { Ok(()) } else { self.counts(&format!("series/{id}"), 0, counts) }
    }

    /// Requests.
    pub(super) fn points(&mut self, block: &PointBlock) -> io::Result<()> {
        writeln!(
            self.out,
            "<script type=\"application/x-iosonar-points\" data-run=\"{}\" data-n=\"{}\" data-from-us=\"{}\" \
             data-to-us=\"{}\" data-unit=\"{}\" data-crc32=\"{:08x}\">{}</script>",
            self.run,
            block.count,
            block.from_us,
            block.to_us,
            block.unit,
            block.crc32,
            STANDARD.encode(&block.deflated)
        )
    }

    fn tiles(
        &mut self,
        id: &str,
        class: Class,
        tiles: usize,
        fill: impl Fn(usize, &mut Counts),
    ) -> io::Result<()> {
        let kind = format!("grid/{id}/{}", class.name());
        let (mut first, mut counts) = (0, Counts::default());
        for tile in 0..tiles {
            fill(tile, &mut counts);
            // A run of zeros ends with its tile, so that each tile can be read by itself.
            counts.flush();
            if counts.bytes.len() >= BLOCK_BYTES || tile + 1 == tiles {
                let done = std::mem::take(&mut counts);
                if done.sum > 0 {
                    self.counts(&kind, first, done)?;
                }
                first = tile + 1;
            }
        }
        Ok(())
    }

    fn counts(&mut self, kind: &str, first_tile: usize, counts: Counts) -> io::Result<()> {
        let Checked { deflated, crc32 } = numbers::deflate(&counts.bytes);
        writeln!(
            self.out,
            "<script type=\"application/x-iosonar-grid\" data-run=\"{}\" data-k=\"{kind}\" \
             data-tile=\"{first_tile}\" data-n=\"{}\" data-crc32=\"{crc32:08x}\">{}</script>",
            self.run,
            counts.sum,
            STANDARD.encode(deflated)
        )
    }
}

/// The counts of a tile in the order of the block, as for grids: slot after slot, column after column within a slot. Rows far
/// from the bands become one long run of zeros.
fn row_major(count: impl Fn(usize, usize) -> u64, counts: &mut Counts) {
    for slot in 0..SLOTS {
        (0..TILE_COLUMNS).for_each(|column| counts.push(count(column, slot)));
    }
}

/// Why a block is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockError {
    /// Not base64.
    Base64,
    /// Not a deflate stream.
    Deflate,
    /// The check sum differs.
    Checksum,
    /// A number is cut off, or there are more than `most` of them.
    Values,
}

/// Decodes the numbers of a block: `text` is the content of the element, `crc32` its `data-crc32`. Refuses to unpack more
/// than `most` numbers.
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
        let (value, run) = match number(&mut rest)? {
            0 => (0, number(&mut rest)?.saturating_add(1)),
            n => (n, 1),
        };
        if run > (most - values.len()) as u64 {
            return Err(BlockError::Values);
        }
        values.resize(values.len() + run as usize, value);
    }
    Ok(values)
}

fn number(bytes: &mut &[u8]) -> Result<u64, BlockError> {
    numbers::read_varint(bytes).ok_or(BlockError::Values)
}

/// The tiles of a decoded grid block, each `TILE_COLUMNS` columns of `SLOTS` counts, column after column.
pub fn grid_tiles(values: &[u64]) -> Vec<Vec<u64>> {
    let slots = SLOTS;
    let tile =
        |values: &[u64]| (0..values.len()).map(|i| values[i % slots * TILE_COLUMNS + i / slots]).collect();
    values.chunks_exact(TILE_VALUES).map(tile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::TimeAxis;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Blocks<'_>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut Blocks { out: &mut out, run: 0 }).unwrap();
        String::from_utf8(out).unwrap()
    }

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
    fn grid_round_trips_exactly() {
        let mut g = CountGrid::new(TimeAxis::new(99_999, 1024));
        for i in 0..30_000u64 {
            let class = if i % 7 == 0 { Class::WritePushed } else { Class::Read };
            g.add(class, i * i % 40_000, i * i * i % 200_000_000_000);
        }
        let html = written(|blocks| blocks.grid("latency.start", &g));
        let blocks = parse(&html);
        assert_eq!(blocks.iter().map(|b| b.2).sum::<u64>(), 30_000);
        for class in Class::ALL {
            let kind = format!("grid/latency.start/{}", class.name());
            let tiles: Vec<(usize, Vec<u64>)> = blocks
                .iter()
                .filter(|b| b.0 == kind)
                .flat_map(|b| grid_tiles(&b.3).into_iter().enumerate().map(|(i, t)| (b.1 + i, t)))
                .collect();
            assert_eq!(tiles.iter().flat_map(|t| &t.1).sum::<u64>(), g.total(class), "{kind}");
            for (tile, counts) in tiles {
                let stored = |i| u64::from(g.count(class, tile * TILE_COLUMNS + i / SLOTS, i % SLOTS));
                assert!(counts == (0..TILE_VALUES).map(stored).collect::<Vec<_>>(), "{kind} tile {tile}");
            }
        }
    }

    #[test]
    fn detects_damage() {
        let html = written(|blocks| blocks.series("x.requests", &[1, 2, 3, 0, 0, 4]));
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
        fn any_numbers_round_trip(numbers in prop::collection::vec(prop_oneof![Just(0u64), 0u64..300, 0u64..1 << 40], 0..300)) {
            let html = written(|blocks| blocks.series("x.bytes", &numbers));
            let decoded = if html.is_empty() { vec![0; numbers.len()] } else { parse(&html).remove(0).3 };
            prop_assert_eq!(decoded, numbers);
        }
    }
}
