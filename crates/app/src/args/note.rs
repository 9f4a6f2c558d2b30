//! Options of `note`.

use clap::Args;
use iosonar_plan::Nanos;
use std::path::PathBuf;

/// Options of `note`.
#[derive(Debug, Args)]
#[command(after_help = "\
Notes are kept in DIR/notes.jsonl. They are shown by 'show', and on the page of 'report'. Records and figures never change.

Examples:
  iosonar note first --at 18.8-19.9 'the cache of the array was full'
  iosonar note first --at 500ms-1.2s 'a backup started'       times with units
  iosonar note first --list                                   the notes with their numbers
  iosonar note first                                          the same")]
pub struct NoteArgs {
    /// Directory of a result
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Text of a new note, at most 500 characters
    #[arg(value_name = "TEXT", requires = "at", conflicts_with_all = ["list", "remove"])]
    pub text: Option<String>,
    /// Set the time of the note, since the start of the run: T1-T2, or one moment
    #[arg(long, value_name = "T1-T2", value_parser = moments, requires = "text")]
    pub at: Option<(Nanos, Nanos)>,
    /// Print the notes with their numbers
    #[arg(long, conflicts_with = "remove")]
    pub list: bool,
    /// Remove note N of the list
    #[arg(long, value_name = "N")]
    pub remove: Option<usize>,
}

/// A part of the time, as in links of the page, or a moment.
fn moments(text: &str) -> Result<(Nanos, Nanos), String> {
    let (from, to) = text.split_once("..").or_else(|| text.split_once('-')).unwrap_or((text, text));
    let time = |text: &str| text.trim().parse::<Nanos>().map_err(|error| error.to_string());
    let (from, to) = (time(from)?, time(to)?);
    if from <= to { Ok((from, to)) } else { Err(format!("the note ends at {to}, which is before {from}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_a_range_or_a_moment() {
        let ms = |from: u64, to: u64| Ok((Nanos(from * 1_000_000), Nanos(to * 1_000_000)));
        for (text, want) in [
            ("18.8-19.9", ms(18_800, 19_900)),
            ("500ms-1.2s", ms(500, 1_200)),
            ("1s..2s", ms(1_000, 2_000)),
            ("3", ms(3_000, 3_000)),
        ] {
            assert_eq!(moments(text), want, "{text}");
        }
        assert!(moments("2-1").unwrap_err().contains("before 2s"));
        assert!(moments("soon").is_err() && moments("-1").is_err() && moments("1-").is_err());
    }
}
