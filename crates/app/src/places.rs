//! Names for parts of a target: from a file that the user wrote, or from the partitions that a run has recorded.

use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_host::{TargetFacts, TargetKind};
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_plan::ByteSize;
use iosonar_text::shown;
use iosonar_view::report::NamedRange;
use std::path::Path;

/// More places would be useless, and fill the page.
const MOST_PLACES: usize = 10_000;
/// Larger numbers are not exact in a browser.
const LARGEST_PLACE: u64 = 1 << 53;

/// Reads lines of start, length and name; empty lines and those after `#` are ignored.
///
/// # Errors
/// The file cannot be read, or a line is malformed; the message has its number.
pub fn read(path: &Path) -> Result<Vec<NamedRange>, Failure> {
    let refused = |why: String| Failure::refused(anyhow!("--places {}: {why}", shown(&path)));
    let text = read_text(path, TEXT_LIMIT).map_err(|error| refused(error.to_string()))?;
    let lines =
        text.lines().enumerate().filter(|(_, line)| !matches!(line.trim().chars().next(), None | Some('#')));
    let places: Vec<NamedRange> = lines
        .map(|(i, line)| place(line).map_err(|why| refused(format!("line {}: {why}", i + 1))))
        .collect::<Result<_, _>>()?;
    match places.len() {
        0 => Err(refused("there is no line in it; lines are like 1GiB 512MiB data/ibdata1".into())),
        n if n > MOST_PLACES => {
            Err(refused(format!("{n} places are more than {MOST_PLACES}; remove short ones")))
        }
        _ => Ok(places),
    }
}

fn place(line: &str) -> Result<NamedRange, String> {
    let lacks = "it needs a start, a length and a name, for example 1GiB 512MiB data/ibdata1";
    // Columns may be aligned with blanks.
    let (begin, rest) = line.trim().split_once(char::is_whitespace).ok_or(lacks)?;
    let (length, name) = rest.trim_start().split_once(char::is_whitespace).ok_or(lacks)?;
    let size = |text: &str| text.parse::<ByteSize>().map_err(|error| format!("{text}: {error}"));
    let place = sensible(name.trim(), size(begin)?.0, size(length)?.0);
    place.ok_or("a place has at least one byte, and ends before 8 PiB".into())
}

fn sensible(name: &str, begin: u64, length: u64) -> Option<NamedRange> {
    let end = begin.checked_add(length).filter(|end| *end <= LARGEST_PLACE && length > 0)?;
    Some(NamedRange { name: name.to_string(), bytes: begin..end })
}

/// The partitions of the only target of a run. Several targets have no common places, and archives of earlier versions list no partitions.
pub fn of_partitions(targets: &[TargetFacts]) -> Vec<NamedRange> {
    let [TargetFacts { kind: TargetKind::BlockDevice(device), .. }] = targets else {
        return Vec::new();
    };
    let places = device.partitions.iter().filter_map(|p| sensible(&p.name, p.start, p.size));
    places.take(MOST_PLACES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_start_length_and_name() {
        let told = place("  1GiB   512MiB\tdata/ibdata1 of mysql ").unwrap();
        let expected =
            NamedRange { name: "data/ibdata1 of mysql".into(), bytes: 1 << 30..(1 << 30) + (512 << 20) };
        assert_eq!(told, expected);
    }

    #[test]
    fn errors_name_the_invalid_field() {
        for (line, words) in [
            ("1GiB 5", "a name"),
            ("x 5 name", "x: "),
            ("1 0 name", "at least one byte"),
            ("9007199254740993 1 name", "8 PiB"),
        ] {
            let why = place(line).unwrap_err();
            assert!(why.contains(words), "{line}: {why}");
        }
    }
}
