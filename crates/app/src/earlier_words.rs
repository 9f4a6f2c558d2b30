//! Earlier names of commands, which still work and which help does not list.

use std::ffi::OsString;

/// The words of an earlier name, and those of the command that took its place.
const EARLIER: [(&[&str], &[&str]); 9] = [
    (&["generate"], &["load", "generate"]),
    (&["filter"], &["load", "filter"]),
    (&["derive"], &["load", "derive"]),
    (&["judge"], &["explain", "--again", "--brief"]),
    (&["layout", "evict"], &["cache", "evict"]),
    (&["layout", "cached"], &["cache", "count"]),
    (&["export"], &["convert"]),
    (&["import", "iozone"], &["convert", "--from", "iozone"]),
    (&["import"], &["convert", "--from", "result"]),
];

/// A command line with the present name of its command.
pub fn renamed(mut args: Vec<OsString>) -> Vec<OsString> {
    let is_help = args.get(1).is_some_and(|word| word == "help");
    let at = if is_help { 2 } else { 1 };
    if args.get(at).is_some_and(|word| word == "import") {
        put_iozone_first(&mut args[at + 1..]);
    }
    let starts_with =
        |earlier: &[&str]| args.get(at..at + earlier.len()).is_some_and(|words| words == earlier);
    let found = EARLIER.iter().find(|(earlier, _)| starts_with(earlier));
    if let Some((earlier, present)) = found {
        // Help is of commands, without options.
        let present = present.iter().take_while(|word| !is_help || !word.starts_with('-'));
        args.splice(at..at + earlier.len(), present.map(OsString::from));
    }
    args
}

/// Moves the word `iozone` of `import` before the options: it is the first word that is neither an option nor the value of one, and a file
/// follows.
fn put_iozone_first(words: &mut [OsString]) {
    const WITH_VALUE: [&str; 3] = ["-o", "--out", "--spool-limit"];
    let mut is_value = false;
    let mut plain = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_option = !is_value && word.as_encoded_bytes().starts_with(b"-") && word != "-";
        if !is_option && !is_value {
            plain.push(at);
        }
        is_value = is_option && WITH_VALUE.iter().any(|option| word == option);
    }
    if let [first, _, ..] = plain[..]
        && words[first] == "iozone"
    {
        words[..=first].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_words_of_the_command_alone() {
        let renamed = |words: &str| {
            let words = words.split(' ').map(OsString::from).collect();
            renamed(words).iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(renamed("iosonar layout evict x"), "iosonar cache evict x");
        assert_eq!(renamed("iosonar judge r --json"), "iosonar explain --again --brief r --json");
        assert_eq!(renamed("iosonar import iozone x"), "iosonar convert --from iozone x");
        assert_eq!(renamed("iosonar import x -o y"), "iosonar convert --from result x -o y");
        for (options, iozone) in
            [("-o x.json", true), ("--out=x", true), ("--spool-limit 1G -o -", true), ("-o", false)]
        {
            let (from, rest) = if iozone { ("iozone", "x") } else { ("result", "iozone x") };
            let present = format!("iosonar convert --from {from} {options} {rest}");
            assert_eq!(renamed(&format!("iosonar import {options} iozone x")), present);
        }
        assert_eq!(renamed("iosonar help judge"), "iosonar help explain");
        assert_eq!(renamed("iosonar help import"), "iosonar help convert");
        for present in ["iosonar", "iosonar help", "iosonar layout map filter", "iosonar show generate"] {
            assert_eq!(renamed(present), present);
        }
    }
}
