//! Help and manual page, both generated from the table of options.

use crate::options::{Opt, Scope, TABLE};
use std::fmt::Write;

/// Lists every option in one line: spellings, arguments, effect.
pub fn full_help() -> String {
    let mut text = String::from(
        "xdd [option]...\n\nOptions are read from left to right, and later ones win. \
         With [target N] after its name, an option applies to target N only; targets are numbered from 0.\n\n",
    );
    for option in TABLE {
        let _ = writeln!(text, "  {}: {}", synopsis(option), option.brief);
    }
    text += "\nExit codes: 0 fine; 1 requests failed, or the run broke; 2 refused; 3 nothing was verified; 4 the figures are fake; 5 data \
             was not what was written; 128+n signal n.\n";
    text
}

/// All spellings of an option.
fn spellings(option: &Opt) -> Vec<String> {
    let one = option.names.iter().map(|name| format!("-{name}"));
    let two = option.names.iter().filter(|_| option.scope == Scope::Ours).map(|name| format!("--{name}"));
    one.chain(two).collect()
}

/// Arguments of an option.
fn arguments(option: &Opt) -> String {
    let target = if option.scope == Scope::Each { " [target N]" } else { "" };
    let args = option.args;
    format!("{target}{}{args}", if args.is_empty() { "" } else { " " })
}

fn synopsis(option: &Opt) -> String {
    format!("{}{}", spellings(option).join(", "), arguments(option))
}

/// Manual page in roff.
pub fn man_page() -> String {
    let mut page = String::from(
        ".TH XDD 1 \"\" iosonar\n.SH NAME\nxdd \\- exact I/O on many targets at once\n.SH SYNOPSIS\n.B xdd\n",
    );
    for option in TABLE {
        let _ = writeln!(
            page,
            ".br\n[\\fB{}\\fR{}]",
            roff(&format!("-{}", option.names[0])),
            roff(&arguments(option))
        );
    }
    page += ".SH DESCRIPTION\n";
    page += &paragraph(
        "XDD reads and writes devices and files with requests of a fixed size and measures them. Options are read from left \
         to right, and later ones win, also a later one for all targets over an earlier one for one target. An option \
         with [target N] right after its name holds for target N alone; without it, for all targets, also those that are \
         named later. A block is 1024 bytes unless -blocksize says otherwise.",
    );
    page += ".SH OPTIONS\n";
    for option in TABLE {
        let names: Vec<String> =
            spellings(option).iter().map(|name| format!("\\fB{}\\fR", roff(name))).collect();
        let _ = writeln!(page, ".TP\n{}{}", names.join(", "), roff(&arguments(option)));
        page += &paragraph(&format!("{} {}", option.brief, option.text));
    }
    page += ".SH EXIT STATUS\n";
    page += &paragraph(
        "0: everything was done and was right. 1: I/O failed, or the run was aborted. 2: the command line is wrong; no target \
         was touched. 5: data was not what it should be.",
    );
    page
}

/// A line of text that `man` fills.
fn paragraph(text: &str) -> String {
    roff(text.trim()) + "\n"
}

/// Escapes text for roff.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_man_page_list_every_option() {
        let (help, page) = (full_help(), man_page());
        for option in TABLE {
            for name in spellings(option) {
                let has =
                    |line: &str| line.split(": ").next().unwrap().split([' ', ',']).any(|word| word == name);
                assert_eq!(help.lines().filter(|line| has(line)).count(), 1, "{name}");
                assert!(page.contains(&format!("\\fB{}\\fR", roff(&name))), "{name}");
            }
        }
        assert!(help.contains("--show-plan") && !help.contains("--op"));
        assert_eq!(page.lines().filter(|line| *line == ".TP").count(), TABLE.len());
        assert_eq!(roff(".a-\\"), "\\&.a\\-\\e");
    }
}
