//! Parses lines of IOzone's outputs: heads and rows of its table, and figures of its throughput mode.

use crate::columns::{Column, Unit, columns};
use std::borrow::Cow;

/// End of the file size column in IOzone's table.
const FILE_END: usize = 16;
/// Maximum number of digits of IOzone's figures, unless columns touch.
const DIGITS: usize = 9;
/// Maximum distance between the ends of a figure and its head.
const NEAR: usize = 3;

/// Head of a table.
#[derive(Debug)]
pub(crate) struct Head {
    /// Its columns, in order.
    columns: Vec<&'static Column>,
    /// End positions of the words of the head.
    heads: Vec<usize>,
    /// End positions of the figures, if the head's form determines them.
    ends: Option<Vec<usize>>,
    /// End positions of the file size and record size columns.
    sizes: [usize; 2],
    /// Unknown column; it and all later ones are ignored.
    pub(crate) unknown: Option<String>,
}

/// Row of a table.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    /// File size in KiB.
    pub(crate) file: u64,
    /// Record size in KiB.
    pub(crate) record: u64,
    /// Figures by test.
    pub(crate) figures: Vec<(&'static str, u64)>,
}

/// Words of a line, with their end positions.
fn words(line: &str) -> Vec<(&str, usize)> {
    let base = line.as_ptr() as usize;
    line.split_ascii_whitespace().map(|word| (word, word.as_ptr() as usize - base + word.len())).collect()
}

/// Restores lost leading blanks, so that the first word ends at `end`.
fn aligned(line: &str, end: usize) -> Cow<'_, str> {
    match words(line).first() {
        Some((_, found)) if *found < end => Cow::Owned(format!("{:width$}{line}", "", width = end - found)),
        _ => Cow::Borrowed(line),
    }
}

impl Head {
    /// Parses the head of a table: `kB  reclen write ...`; `None` for other lines.
    pub(crate) fn of(line: &str) -> Option<Head> {
        let line = &*aligned(line, FILE_END);
        let words = words(line);
        let [(kb, file), (reclen, record), rest @ ..] = &words[..] else { return None };
        if !line.is_ascii() || !kb.eq_ignore_ascii_case("kb") || *reclen != "reclen" {
            return None;
        }
        let mut all = columns(|_| true).into_iter();
        let (mut found, mut heads, mut unknown) = (Vec::new(), Vec::new(), None);
        for (word, end) in rest {
            match all.find(|column| column.head == *word) {
                Some(column) => {
                    found.push(column);
                    heads.push(*end);
                }
                None => {
                    unknown = Some(word.to_string());
                    break;
                }
            }
        }
        let ends = ends(&found, &heads, *record);
        (!found.is_empty()).then_some(Head { columns: found, heads, ends, sizes: [*file, *record], unknown })
    }

    /// Parses a row below this head. Columns may touch, so the position of a figure determines its test. If blanks were
    /// lost, the number of figures determines it: that of the columns, or of the tests `selected` by the command.
    pub(crate) fn row(&self, line: &str, selected: &[&str]) -> Option<Row> {
        if !line.is_ascii() {
            return None;
        }
        self.by_columns(&aligned(line, self.sizes[0])).or_else(|| self.by_count(line, selected))
    }

    fn by_columns(&self, line: &str) -> Option<Row> {
        let [file, record] = self.sizes;
        let (file_text, record_text) = (line.get(..file)?, line.get(file..record.min(line.len()))?);
        let (file, record_size) = (number(file_text)??, number(record_text)??);
        // A digit there means that the columns are elsewhere.
        let rest = line.get(record.min(line.len())..)?;
        let figures = match &self.ends {
            Some(ends) => by_position(rest, record, ends).or_else(|| self.by_heads(rest, record)),
            None => self.by_heads(rest, record),
        }?;
        let figures = self.columns.iter().zip(figures);
        let figures = figures.filter_map(|(column, figure)| Some((column.test, figure?))).collect();
        Some(Row { file, record: record_size, figures })
    }

    /// Parses a row by the order of its numbers alone.
    fn by_count(&self, line: &str, selected: &[&str]) -> Option<Row> {
        let figure = |word: &str| number(word)?.filter(|_| word.len() <= DIGITS);
        let numbers: Option<Vec<u64>> = line.split_ascii_whitespace().map(figure).collect();
        let numbers = numbers?;
        let [file, record, figures @ ..] = &numbers[..] else { return None };
        let tests: Vec<&'static str> = match figures.len() {
            // The columns after an unknown one are unknown, so a full row cannot be distinguished from a partial one.
            count if count == self.columns.len() && self.unknown.is_none() => {
                self.columns.iter().map(|column| column.test).collect()
            }
            count if count > 0 && count == selected.len() => {
                let of = |test: &&str| self.columns.iter().find(|column| column.test == *test);
                selected.iter().map(|test| of(test).map(|column| column.test)).collect::<Option<_>>()?
            }
            _ => return None,
        };
        Some(Row {
            file: *file,
            record: *record,
            figures: tests.into_iter().zip(figures.iter().copied()).collect(),
        })
    }

    /// Separate figures belong to the nearest head; a full row needs no positions.
    fn by_heads(&self, rest: &str, start: usize) -> Option<Vec<Option<u64>>> {
        let mut figures = vec![None; self.columns.len()];
        let words = words(rest);
        // The columns after an unknown one are unknown, so a full row cannot be distinguished from a partial one.
        let is_full = words.len() == self.columns.len() && self.unknown.is_none();
        let mut next = 0;
        for (place, (word, end)) in words.iter().enumerate() {
            let figure = number(word)?.filter(|_| word.len() <= DIGITS)?;
            let column = match is_full {
                true => place,
                false => nearest(&self.heads, start + end)?,
            };
            if column < next {
                return None;
            }
            figures[column] = Some(figure);
            next = column + 1;
        }
        Some(figures)
    }
}

/// Returns the head that ends nearest, if it is near enough.
fn nearest(heads: &[usize], end: usize) -> Option<usize> {
    let (place, head) = heads.iter().enumerate().min_by_key(|(_, head)| head.abs_diff(end))?;
    (head.abs_diff(end) <= NEAR).then_some(place)
}

/// End positions of the figures. IOzone's heads are not aligned with its figures, but its widths are known; iosonar's are.
fn ends(columns: &[&Column], heads: &[usize], start: usize) -> Option<Vec<usize>> {
    let mut end = start;
    let end_of = |column: &&Column| {
        end += column.width();
        end
    };
    let fixed: Vec<usize> = columns.iter().map(end_of).collect();
    match (fixed.get(..3), heads.get(..3)) {
        (Some([write, rewrite, read]), Some([first, second, third])) => {
            if first == write && second == rewrite && third + 1 == *read {
                Some(fixed)
            } else {
                // Each head ends with its column, and columns are at least 9 wide.
                let widths = heads.windows(2).map(|pair| pair[1] - pair[0]);
                (first.saturating_sub(start) >= 9 && widths.into_iter().all(|width| width >= 9))
                    .then(|| heads.to_vec())
            }
        }
        _ => None,
    }
}

/// Figures that end where their columns end; `None` if there is text elsewhere.
fn by_position(rest: &str, start: usize, ends: &[usize]) -> Option<Vec<Option<u64>>> {
    let rest = rest.trim_end();
    let mut from = 0;
    let mut figures = Vec::new();
    for end in ends {
        let to = end.checked_sub(start)?;
        let text = rest.get(from.min(rest.len())..to.min(rest.len()))?;
        let is_cut = to > rest.len() && !text.trim().is_empty();
        if is_cut || text.ends_with(' ') && !text.trim().is_empty() {
            return None;
        }
        figures.push(number(text)?);
        from = to;
    }
    rest.get(from.min(rest.len())..)?.trim().is_empty().then_some(figures)
}

/// Parses a number or blanks; `None` for anything else.
fn number(text: &str) -> Option<Option<u64>> {
    let text = text.trim();
    match text.is_empty() {
        true => Some(None),
        false => text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten().map(Some),
    }
}

/// Line of throughput mode.
#[derive(Debug, PartialEq)]
pub(crate) enum Throughput {
    /// File and record size in KiB, for the following lines.
    Sizes(u64, u64),
    /// Test, number of its streams, rate and unit.
    Rate(&'static str, u32, f64, Unit),
    /// Rate in an unknown unit.
    OtherUnit(String),
    /// Unreadable line of this kind.
    Unreadable,
}

impl Throughput {
    /// Parses a line; `None` for other lines.
    pub(crate) fn of(line: &str) -> Option<Throughput> {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Each ").filter(|rest| rest.contains(" writes a ")) {
            return Some(sizes(rest).unwrap_or(Throughput::Unreadable));
        }
        let rest = line.strip_prefix("Children see throughput for")?;
        Some(rate(rest).unwrap_or(Throughput::Unreadable))
    }
}

/// Parses `process writes a 8192 kByte file in 64 kByte records`.
fn sizes(text: &str) -> Option<Throughput> {
    let size = |text: &str| {
        let (number, unit) = text.split_once(' ')?;
        number.parse().ok().filter(|_| unit.eq_ignore_ascii_case("kbyte"))
    };
    let (file, record) = text.split_once(" writes a ")?.1.split_once(" file in ")?;
    Some(Throughput::Sizes(size(file)?, size(record.strip_suffix(" records")?)?))
}

/// Parses `  2 initial writers = 297794.00 kB/sec`.
fn rate(text: &str) -> Option<Throughput> {
    let (who, figure) = text.split_once('=')?;
    let (streams, who) = who.trim().split_once(char::is_whitespace)?;
    let mut words = figure.split_whitespace();
    let (value, unit) = (words.next()?, words.next()?);
    let Some(unit) = Unit::named(unit) else { return Some(Throughput::OtherUnit(unit.into())) };
    let column = columns(|_| true).into_iter().find(|column| column.streams == who.trim())?;
    let value: f64 = value.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)?;
    Some(Throughput::Rate(column.test, streams.parse().ok().filter(|streams| *streams > 0)?, value, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread";

    #[test]
    fn recognizes_headings_of_other_formats() {
        assert_eq!(Head::of(HEAD).unwrap().ends.unwrap()[..4], [33, 42, 51, 60]);
        assert!(Head::of("kB reclen").is_none());
        assert!(Head::of("a line").is_none());
        let old = "              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   fwrite frewrite   fread  freread";
        let head = Head::of(old).unwrap();
        assert_eq!((head.columns.len(), head.ends.is_none()), (13, true));
        let row = head
            .row("            4096       4  427020 1225530                   2207280 1139560", &[])
            .unwrap();
        let names: Vec<&str> = row.figures.iter().map(|(test, _)| *test).collect();
        assert_eq!(names, ["write", "rewrite", "random_read", "random_write"]);
        // Touching columns of unknown width are not figures.
        assert_eq!(head.row("            4096       4  4270201225530122", &[]), None);
    }

    #[test]
    fn splits_touching_columns_by_position() {
        let head = Head::of(&format!("{HEAD}   pwrite repwrite   pread  repread")).unwrap();
        let blank = " ".repeat(143 - 24);
        let line = format!("            1024      64{blank} 12345678 1466831811018226 20000000");
        let row = head.row(&line, &[]).unwrap();
        assert_eq!(
            row.figures,
            [
                ("pwrite", 12_345_678),
                ("repwrite", 14_668_318),
                ("pread", 11_018_226),
                ("repread", 20_000_000)
            ]
        );
        let row = head.row("         1048576   16384123456789987654321  7654321", &[]).unwrap();
        assert_eq!((row.file, row.record), (1_048_576, 16_384));
        assert_eq!(row.figures, [("write", 123_456_789), ("rewrite", 987_654_321), ("read", 7_654_321)]);
        assert_eq!(head.row("            1024      64  12 34", &[]), None);
        assert_eq!(head.row("            1024      64   327041  48x5258", &[]), None);
        assert_eq!(head.row("            1024      64", &[]).unwrap().figures, []);
    }

    #[test]
    fn reads_throughput_mode_lines() {
        for (line, wanted) in [
            ("\tEach process writes a 8192 kByte file in 64 kByte records", Throughput::Sizes(8192, 64)),
            ("\tEach thread writes a 512 Kbyte file in 4 Kbyte records", Throughput::Sizes(512, 4)),
            ("\tEach process writes a lot", Throughput::Unreadable),
            (
                "\tChildren see throughput for  2 initial writers \t=  297794.00 kB/sec",
                Throughput::Rate("write", 2, 297_794.0, Unit::KibPerSecond),
            ),
            (
                "Children see throughput for 16 re-readers = 5.50 KB/sec",
                Throughput::Rate("reread", 16, 5.5, Unit::KibPerSecond),
            ),
            (
                "Children see throughput for 1 readers = 5.50 ops/sec",
                Throughput::Rate("read", 1, 5.5, Unit::OpsPerSecond),
            ),
            ("Children see throughput for 1 readers = 5.50 MB/sec", Throughput::OtherUnit("MB/sec".into())),
            ("Children see throughput for 1 dancers = 5.50 kB/sec", Throughput::Unreadable),
            ("Children see throughput for 1 readers = nan kB/sec", Throughput::Unreadable),
        ] {
            assert_eq!(Throughput::of(line), Some(wanted), "{line}");
        }
        assert_eq!(Throughput::of("\tParent sees throughput for  2 readers \t=  225248.12 kB/sec"), None);
    }
}
