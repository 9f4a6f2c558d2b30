//! Maps of files as text: every extent of one, or a line for each of many.

use iosonar_layout::{Extent, Figures, Kind, Map, Row, Sizes, Volume};
use iosonar_text::shown;
use iosonar_text::units::{bytes, grouped};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Unit of offsets, addresses and lengths in a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapUnit {
    /// 512 bytes, like xfs_bmap.
    Sectors,
    /// Blocks of the file system, like filefrag.
    Blocks,
    /// Bytes.
    Bytes,
}

impl MapUnit {
    fn size(self, volume: &Volume) -> u64 {
        match self {
            MapUnit::Sectors => 512,
            MapUnit::Blocks => volume.block_bytes.max(1),
            MapUnit::Bytes => 1,
        }
    }

    fn sentence(self, volume: &Volume) -> String {
        match self {
            MapUnit::Bytes => "Offsets, addresses and lengths are in bytes.".into(),
            MapUnit::Sectors => "Offsets, addresses and lengths are in sectors of 512 bytes.".into(),
            MapUnit::Blocks => {
                format!("Offsets, addresses and lengths are in blocks of {} bytes.", volume.block_bytes)
            }
        }
    }
}

/// Writes a map: its file, the extents if they were kept, and the figures.
///
/// # Errors
/// Errors of `out`.
pub fn map(map: &Map, unit: MapUnit, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", headline(map))?;
    map.volume.addresses.remark().map_or(Ok(()), |remark| writeln!(out, "  {remark}"))?;
    if let Some(rows) = &map.rows {
        writeln!(out, "  {}", unit.sentence(&map.volume))?;
        let beyond = map.beyond.as_deref().unwrap_or_default();
        let table = Table::of(map, rows, beyond, unit);
        table.head(out)?;
        rows.iter().enumerate().try_for_each(|(number, row)| table.row(out, number, row))?;
        if !beyond.is_empty() {
            writeln!(out, "  Beyond the end of the file, preallocated, no data:")?;
            let numbers = rows.len()..;
            let mut lines = numbers.zip(beyond);
            lines.try_for_each(|(number, extent)| table.row(out, number, &Row::Extent(*extent)))?;
        }
    }
    out.write_all(figures(map).as_bytes())
}

/// The file, its size and its file system.
pub fn headline(map: &Map) -> String {
    format!("{}: {}", shown(&map.path), place(map))
}

/// Size and file system of a file.
pub fn place(map: &Map) -> String {
    format!("{} ({} bytes), {}", bytes(map.size), map.size, file_system(&map.volume))
}

/// A file system: its type, its device, its mount point, and its groups.
pub fn file_system(volume: &Volume) -> String {
    let Volume { kind, source, mount_point, groups, .. } = volume;
    let source = source.as_ref().map(|source| format!(" on {}", shown(source))).unwrap_or_default();
    let mounted =
        mount_point.as_ref().map(|path| format!(", mounted at {}", shown(path))).unwrap_or_default();
    let groups =
        groups.map(|groups| format!(", {} allocation groups of {}", groups.count, bytes(groups.bytes)));
    format!("{}{source}{mounted}{}", shown(kind), groups.unwrap_or_default())
}

/// Widths of the columns of a map.
struct Table<'a> {
    volume: &'a Volume,
    unit: u64,
    number: usize,
    offset: usize,
    address: usize,
    group: Option<(usize, usize)>,
    length: usize,
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// `from..to`, both included.
fn range(from: u64, length: u64, unit: u64) -> String {
    let last = (from + length).div_ceil(unit).saturating_sub(1).max(from / unit);
    format!("{}..{last}", from / unit)
}

impl<'a> Table<'a> {
    fn of(map: &'a Map, rows: &[Row], beyond: &[Extent], unit: MapUnit) -> Table<'a> {
        let unit = unit.size(&map.volume);
        let extents = || {
            let inside = rows.iter().filter_map(|row| match row {
                Row::Extent(extent) => Some(extent),
                Row::Hole { .. } => None,
            });
            inside.chain(beyond)
        };
        let end = beyond.last().map(Extent::end).or(rows.last().map(|row| row.offset() + row.length()));
        let highest = extents().filter_map(|e| Some(e.address? + e.length)).max().unwrap_or(0);
        let longest = rows.iter().map(Row::length).chain(beyond.iter().map(|e| e.length)).max().unwrap_or(0);
        let pair = |number: u64| 2 * digits(number / unit) + 2;
        let group = map.volume.groups;
        Table {
            volume: &map.volume,
            unit,
            number: digits((rows.len() + beyond.len()) as u64).max(3),
            offset: (pair(end.unwrap_or(0)) + 3).max(11),
            address: pair(highest).max(11),
            group: group.map(|group| (digits(group.count).max(2), (pair(group.bytes) + 2).max(9))),
            length: digits(longest / unit).max(6),
        }
    }

    fn head(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = format!(
            "  {:>number$}: {:<offset$} {:<address$}",
            "EXT",
            "FILE-OFFSET",
            "BLOCK-RANGE",
            number = self.number,
            offset = self.offset,
            address = self.address
        );
        if let Some((group, place)) = self.group {
            let _ = write!(line, " {:>group$} {:<place$}", "AG", "AG-OFFSET");
        }
        writeln!(out, "{line} {:>length$} FLAGS", "TOTAL", length = self.length)
    }

    fn row(&self, out: &mut dyn Write, number: usize, row: &Row) -> io::Result<()> {
        let (address, in_group, words) = match row {
            Row::Hole { .. } => ("hole".to_string(), None, String::new()),
            Row::Extent(extent) => (self.address_of(extent), self.group_of(extent), extent.words()),
        };
        let mut line = format!(
            "  {number:>width$}: {:<offset$} {address:<addresses$}",
            format!("[{}]:", range(row.offset(), row.length(), self.unit)),
            width = self.number,
            offset = self.offset,
            addresses = self.address
        );
        if let Some((group, place)) = self.group {
            let (number, range) = in_group.unwrap_or_default();
            let _ = write!(line, " {number:>group$} {range:<place$}");
        }
        let length = row.length().div_ceil(self.unit);
        let _ = write!(line, " {length:>width$} {words}", width = self.length);
        writeln!(out, "{}", line.trim_end())
    }

    /// Its range of addresses, or a word if it has no address.
    fn address_of(&self, extent: &Extent) -> String {
        match extent.address {
            None => extent.kind.name().to_string(),
            // Its length on the device is unknown.
            Some(address) if extent.kind == Kind::Encoded => format!("{}..", address / self.unit),
            Some(address) => range(address, extent.length, self.unit),
        }
    }

    fn group_of(&self, extent: &Extent) -> Option<(String, String)> {
        let (group, place) = self.volume.groups?.of(extent.address?);
        Some((group.to_string(), format!("({})", range(place, extent.length, self.unit))))
    }
}

/// `1 hole`, `2 000 holes`.
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// The two counts, in words.
pub fn counts(map: &Map) -> String {
    let f = &map.figures;
    let note = match f.bytes_of(Kind::Encoded) + f.bytes_of(Kind::Inline) + f.bytes_of(Kind::Delalloc) {
        0 => "",
        _ => {
            "; inline and delalloc extents are no fragments, and of encoded ones those are that cannot follow each other"
        }
    };
    format!(
        "{}, {} (parts that are contiguous on the device){note}",
        counted(f.records, "mapping record"),
        fragments(f)
    )
}

/// `4 fragments`; `at least 297 fragments` if lengths on the device are unknown.
pub fn fragments(f: &Figures) -> String {
    let count = counted(f.least_fragments(), "fragment");
    if f.may_have_more_fragments() { format!("at least {count}") } else { count }
}

/// Sums of the kinds that occur.
pub fn sums(map: &Map) -> String {
    let f = &map.figures;
    let kinds = Kind::ALL.map(|kind| (kind.name().to_string(), f.bytes_of(kind)));
    let holes = (format!("in {}", counted(f.holes, "hole")), f.hole_bytes);
    let shared = ("shared (part of the others)".to_string(), f.shared_bytes);
    let all = kinds.into_iter().chain([holes, shared]).filter(|(_, sum)| *sum > 0);
    let words: Vec<String> = all.map(|(name, sum)| format!("{} {name}", bytes(sum))).collect();
    if words.is_empty() { "nothing allocated".into() } else { words.join(", ") }
}

/// Sizes of the records.
pub fn spread(map: &Map) -> Option<String> {
    spread_of(&map.figures.sizes)
}

/// Sizes in a few figures; `None` without any.
pub fn spread_of(sizes: &Sizes) -> Option<String> {
    Some(format!(
        "smallest {}, median {}, mean {}, largest {}",
        bytes(sizes.min()?),
        bytes(sizes.median()?),
        bytes(sizes.mean()?.round() as u64),
        bytes(sizes.max()?)
    ))
}

/// Head travel between the records.
pub fn travel(map: &Map) -> String {
    let f = &map.figures;
    format!("{} between extents, {}", bytes(f.gap_bytes), counted(f.backward_jumps, "backward jump"))
}

fn figures(map: &Map) -> String {
    let f = &map.figures;
    let mut text = format!("  {}\n", counts(map));
    let mut line = |name: &str, value: String| _ = writeln!(text, "  {name:<14} {value}");
    line("bytes", sums(map));
    if f.beyond_bytes > 0 {
        line("beyond the end", format!("{} preallocated, no data", bytes(f.beyond_bytes)));
    }
    spread(map).into_iter().for_each(|spread| line("record sizes", spread));
    if f.fragments > 0 {
        line("gaps", travel(map));
    }
    if let Some(groups) = map.volume.groups {
        line("groups used", format!("{} of {}", f.groups_used(), groups.count));
    }
    if map.extent_size_hint > 0 {
        line("extent size", format!("{} (hint)", bytes(map.extent_size_hint)));
    }
    if f.records > 1 {
        for class in f.sizes.classes() {
            let name = format!("from {}", bytes(class.from_bytes));
            line(&name, format!("{}, {}", counted(class.extents, "record"), bytes(class.bytes)));
        }
    }
    text
}

/// The number of fragments for a table: with `+` if there may be more.
fn least(f: &Figures) -> String {
    let more = if f.may_have_more_fragments() { "+" } else { "" };
    format!("{}{more}", f.least_fragments())
}

/// Writes a line for each map, in their order, at most `most` of them, and the sum.
///
/// # Errors
/// Errors of `out`.
pub fn maps(maps: &[Map], most: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "FRAGMENTS   RECORDS        SIZE  MEAN FRAGMENT  BACKWARD  FILE")?;
    for map in maps.iter().take(most) {
        let f = &map.figures;
        let mean = f.mean_fragment().map_or("-".into(), |mean| bytes(mean.round() as u64));
        let name = shown(&map.path).to_string();
        writeln!(
            out,
            "{:>9} {:>9}  {:>10}  {mean:>13}  {:>8}  {name}",
            least(f),
            f.records,
            bytes(map.size),
            f.backward_jumps
        )?;
    }
    if maps.len() > most {
        let more = counted((maps.len() - most) as u64, "more file");
        writeln!(out, "and {more}; --top {} prints all", maps.len())?;
    }
    let sum = |of: fn(&Map) -> u64| maps.iter().fold(0u64, |sum, map| sum.saturating_add(of(map)));
    writeln!(
        out,
        "{}, {}: {}, {}; {} in more than one fragment",
        counted(maps.len() as u64, "file"),
        bytes(sum(|map| map.size)),
        counted(sum(|map| map.figures.records), "mapping record"),
        counted(sum(|map| map.figures.least_fragments()), "fragment"),
        counted(maps.iter().filter(|map| map.figures.least_fragments() > 1).count() as u64, "file")
    )?;
    let mut remarks: Vec<&str> = maps.iter().filter_map(|map| map.volume.addresses.remark()).collect();
    remarks.dedup();
    remarks.sort_unstable();
    remarks.dedup();
    remarks.iter().try_for_each(|remark| writeln!(out, "{remark}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_layout::{Addresses, Groups, Scan};
    use std::sync::Arc;

    fn map(kind: &str, size: u64, extents: &[(u64, u64, u64, u32)]) -> Map {
        let groups = (kind == "xfs").then_some(Groups { count: 4, bytes: 1 << 20 });
        let volume = Volume {
            kind: kind.into(),
            mount_point: Some("/mnt".into()),
            source: Some("/dev/sdx".into()),
            block_bytes: 4096,
            groups,
            bytes: None,
            addresses: Addresses::of(kind),
        };
        let mut scan = Scan::new(size, 4096, groups, true);
        extents.iter().for_each(|(o, p, l, f)| scan.add(Extent::new(*o, *p, *l, *f)));
        let (figures, rows) = scan.finish();
        let (rows, beyond) = rows.unzip();
        let (path, volume) = ("a\x1bb\n".into(), Arc::new(volume));
        Map { path, volume, size, extent_size_hint: 0, is_synced: true, figures, rows, beyond }
    }

    fn text(map: &Map, unit: MapUnit) -> String {
        let mut out = Vec::new();
        super::map(map, unit, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn map_format_matches_xfs_bmap() {
        let map = map("xfs", 12_288, &[(0, (1 << 20) + 8192, 4096, 0x2000), (8192, 65_536, 8192, 0x800)]);
        let text = text(&map, MapUnit::Sectors);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2..7],
            [
                "  EXT: FILE-OFFSET BLOCK-RANGE AG AG-OFFSET     TOTAL FLAGS",
                "    0: [0..7]:     2064..2071   1 (16..23)          8 shared",
                "    1: [8..15]:    hole                             8",
                "    2: [16..23]:   128..135     0 (128..135)        8 unwritten",
                "  Beyond the end of the file, preallocated, no data:"
            ]
            .map(|line| line),
            "{text}"
        );
        assert_eq!(lines[7], "    3: [24..31]:   136..143     0 (136..143)        8 unwritten");
        assert!(lines[0].starts_with("a\\u{1b}b\\n: 12.0 KiB (12288 bytes), xfs on /dev/sdx"), "{text}");
        assert!(text.contains("2 mapping records, 2 fragments") && text.contains("2 of 4"));
    }

    #[test]
    fn extents_without_blocks_show_a_word_as_address() {
        let map =
            map("btrfs", 16_384, &[(0, 0, 4096, 0x7), (4096, 0, 500, 0x200), (8192, 1 << 20, 8192, 0x8)]);
        let text = text(&map, MapUnit::Blocks);
        assert!(text.contains("[0..0]:     delalloc"), "{text}");
        assert!(text.contains("[1..1]:     inline"), "{text}");
        assert!(text.contains("[2..3]:     256.. "), "{text}");
        assert!(text.contains("logical addresses of btrfs") && text.contains("are no fragments"), "{text}");
    }

    #[test]
    fn shows_first_files_and_counts_all() {
        let all = [map("ext4", 4096, &[(0, 8192, 4096, 0)]), map("btrfs", 0, &[])];
        let mut out = Vec::new();
        super::maps(&all, 1, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("and 1 more file; --top 2 prints all"), "{text}");
        assert!(text.contains("2 files, 4.00 KiB: 1 mapping record, 1 fragment; 0 files in more"), "{text}");
    }
}
