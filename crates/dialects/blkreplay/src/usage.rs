//! Usage of the command line.

use crate::options::{Opt, Origin, TABLE, Takes};
use std::fmt::Write;

/// Spelling of an option with its argument.
pub(crate) fn synopsis(option: &Opt) -> String {
    let name = option.name;
    match option.takes {
        Takes::Nothing => format!("--{name}"),
        Takes::Value(value) => format!("--{name}={value}"),
        Takes::Maybe(value) => format!("--{name}[={value}]"),
    }
}

/// Lists every option with its default.
pub fn usage() -> String {
    let mut text = String::from(
        "blkreplay [OPTION]... DEVICE <LOAD >RESULT\n\n\
         Replays a load from standard input, plain or gzip, on DEVICE, a block device or a file. The result goes to \
         standard output, everything else to standard error.\n\n\
         A value follows its option, with or without '=': --threads=64, --threads64. Later options win. \
         Times are in seconds (0.5) or have a unit (500ms).\n\n",
    );
    for origin in [Origin::Original, Origin::Ours] {
        if origin == Origin::Ours {
            text += "\nOptions that blkreplay does not have:\n\n";
        }
        for option in TABLE.iter().filter(|option| option.origin == origin) {
            let default = match option.default {
                "" => String::new(),
                default => format!(" [default: {default}]"),
            };
            let _ = writeln!(text, "  {}{default}\n        {}", synopsis(option), option.help);
        }
    }
    text += "\nExit codes: 0 fine; 1 requests failed, or the run broke; 2 refused; 3 nothing was verified; 4 the figures are fake; 5 data was \
             not what was written; 128+n signal n.\n";
    text
}

/// The option probably meant by an unknown name (without dashes).
pub(crate) fn meant_by(name: &str) -> Option<&'static Opt> {
    /// Maximum number of typing errors.
    const FEW: usize = 2;
    let name: String = name.chars().take(40).collect::<String>().to_lowercase().replace('_', "-");
    let name = name.trim_start_matches('-');
    let mistakes = |option: &Opt| match name.starts_with(option.name) {
        true => FEW.min(distance(name, option.name)),
        false => distance(name, option.name),
    };
    let ranked = TABLE.iter().map(|option| (mistakes(option), option));
    // Of several names that are a prefix of it, the longest.
    let best = ranked.min_by_key(|(mistakes, option)| (*mistakes, usize::MAX - option.name.len()));
    best.filter(|(mistakes, _)| *mistakes <= FEW).map(|(_, option)| option)
}

/// Number of letters to change, add or remove (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_names_every_option_once_with_its_default() {
        let text = usage();
        for option in TABLE {
            let line = format!("  {}", synopsis(option));
            let is_its = |l: &&str| *l == line || l.starts_with(&format!("{line} ["));
            let lines: Vec<&str> = text.lines().filter(is_its).collect();
            assert_eq!(lines.len(), 1, "{line}");
            assert_eq!(lines[0].contains("[default: "), !option.default.is_empty(), "{line}");
        }
        assert!(text.contains("--threads=N [default: 1024]") && text.contains("--dry-run [default: off]"));
    }

    #[test]
    fn suggests_options_for_typos() {
        for (typed, meant) in [
            ("thread", Some("threads")),
            ("strongXYZ", Some("strong")),
            ("dry_run", Some("dry-run")),
            ("Replay-Start", Some("replay-start")),
            ("with-particle", Some("with-partial")),
            ("with-dropx", Some("with-drop")),
            ("no-o-directory", Some("no-o-direct")),
            ("", None),
            ("nonsense", None),
        ] {
            assert_eq!(meant_by(typed).map(|option| option.name), meant, "{typed}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
