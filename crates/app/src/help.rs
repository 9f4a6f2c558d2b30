//! Help texts at the width of the terminal.
//!
//! The texts are written with one line for each paragraph, row or example. [`fill`] breaks these lines where the
//! terminal ends, so that they look right at every width.

use crate::args::Cli;
use clap::{Command, CommandFactory};

/// Columns where nothing tells the width.
const USUAL: usize = 100;
/// The narrowest and the widest help: words need some room, and eyes lose the line in long ones.
const LEAST: usize = 40;
const MOST: usize = 120;

/// Columns for help: `COLUMNS`, or else those of the terminal.
pub fn width() -> usize {
    let named = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || iosonar_os::terminal_columns().map(usize::from);
    named.or_else(terminal).unwrap_or(USUAL).clamp(LEAST, MOST)
}

/// The command line, with help for a terminal of `width` columns.
pub fn command(width: usize) -> Command {
    let command = filled(Cli::command().term_width(width), width);
    let groups = fill(&groups(&command), width);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\n\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Commands by what people want to do. A test holds that each command is in one group.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Measure", &["doctor", "fill", "run", "knee", "matrix", "calibrate"]),
    ("Record and replay", &["record", "replay", "check", "verify"]),
    ("Look", &["show", "live", "plot", "report", "analyze", "note", "collect"]),
    ("Compare and judge", &["compare", "explain"]),
    ("Files", &["layout", "cache"]),
    ("Traces and loads", &["info", "convert", "load"]),
    ("Other tools' command lines", &["xdd", "iozone", "blkreplay"]),
];

/// A line for each command, below the heading of its group.
fn groups(command: &Command) -> String {
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let column = names.map(|name| name.len()).max().unwrap_or(0);
    let row = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        format!("\n  {name:column$}  {}", about.map(ToString::to_string).unwrap_or_default())
    };
    let group = |(heading, names): &(&str, &[&str])| {
        format!("{heading}:{}", names.iter().map(row).collect::<String>())
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
}

fn filled(command: Command, width: usize) -> Command {
    let after = command.get_after_help().map(|text| fill(&text.to_string(), width));
    let after_long = command.get_after_long_help().map(|text| fill(&text.to_string(), width));
    let mut command = command.mut_subcommands(|sub| filled(sub, width));
    if let Some(text) = after {
        command = command.after_help(text);
    }
    match after_long {
        Some(text) => command.after_long_help(text),
        None => command,
    }
}

/// `text` with no line longer than `width`. A line goes on below its own text: a row of two columns (parted by two
/// spaces) below its second one, another indented line deeper than it starts.
///
/// Lines below `Examples:` and the like are commands. They are broken with a backslash, so that they can still be pasted; a
/// remark after one goes to a line of its own.
pub fn fill(text: &str, width: usize) -> String {
    let mut filled = String::with_capacity(text.len() + text.len() / 16);
    let mut examples = false;
    for line in text.lines() {
        let is_heading = !line.starts_with(' ') && line.ends_with(':');
        examples = is_heading && HEADINGS.contains(&line) || examples && line.starts_with(' ');
        match examples && !is_heading {
            true => example(&mut filled, line, width),
            false => paragraph(&mut filled, line, width),
        }
    }
    // Whoever prints it ends the last line.
    if !text.ends_with('\n') {
        filled.pop();
    }
    filled
}

/// What commands stand below.
const HEADINGS: [&str; 3] = ["Examples:", "Example:", "Start here:"];

/// Spaces at the start of `line`.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Where the second column of a row starts: after the first two spaces in its text.
fn second_column(line: &str) -> Option<usize> {
    let indent = indent_of(line);
    let gap = indent + line[indent..].find("  ")?;
    Some(gap + indent_of(&line[gap..]))
}

/// From this indent on a line is below another one already.
const DEEP: usize = 6;

fn paragraph(filled: &mut String, line: &str, width: usize) {
    let indent = indent_of(line);
    // A second column that leaves no room for words is none.
    let column = second_column(line).filter(|column| column + LEAST / 2 <= width);
    let hanging = column.unwrap_or(if (1..DEEP).contains(&indent) { indent + 4 } else { indent });
    let fixed = column.unwrap_or(indent);
    break_words(filled, &line[..fixed], &line[fixed..], hanging, width, "");
}

fn example(filled: &mut String, line: &str, width: usize) {
    let indent = indent_of(line);
    if line.chars().count() <= width {
        filled.push_str(line);
        filled.push('\n');
        return;
    }
    let (command, remark) = second_column(line).map_or((line, ""), |column| line.split_at(column));
    break_words(filled, &line[..indent], command.trim(), indent + 4, width, " \\");
    if !remark.is_empty() {
        let below = " ".repeat(indent + 4) + "# ";
        break_words(filled, &below, remark, indent + 6, width, "");
    }
}

/// The words of `text` after `first`, on lines of up to `width` columns; those after the first one are indented by
/// `hanging`. Each line that goes on ends with `mark`.
fn break_words(filled: &mut String, first: &str, text: &str, hanging: usize, width: usize, mark: &str) {
    let mut line = first.to_string();
    let mut has_words = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let columns = line.chars().count() + usize::from(has_words) + word.chars().count() + mark.len();
        if has_words && columns > width {
            filled.push_str(&line);
            filled.push_str(mark);
            filled.push('\n');
            line = " ".repeat(hanging);
            has_words = false;
        }
        if has_words {
            line.push(' ');
        }
        line.push_str(word);
        has_words = true;
    }
    filled.push_str(line.trim_end());
    filled.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
One paragraph of words that do not fit into forty columns. It goes on.

  --timing  exact: a completion ends what it covers, and no more
  FILE. What this is stands in a line of its own

Examples:
  iosonar convert a b
  iosonar convert --at issue --timing exact sda db.iosonar   then: report
Behind them comes a paragraph that has to be broken.";

    #[test]
    fn lines_are_broken_below_their_own_text() {
        assert_eq!(
            fill(TEXT, 40),
            "\
One paragraph of words that do not fit
into forty columns. It goes on.

  --timing  exact: a completion ends
            what it covers, and no more
  FILE. What this is stands in a line of
      its own

Examples:
  iosonar convert a b
  iosonar convert --at issue --timing \\
      exact sda db.iosonar
      # then: report
Behind them comes a paragraph that has
to be broken."
        );
        assert_eq!(fill(TEXT, 120), TEXT);
    }

    #[test]
    fn lists_each_command_in_one_group_on_sixty_lines() {
        let mut command = command(100);
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        listed.sort_unstable();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut known: Vec<&str> = shown.map(Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(listed, known);
        let help = command.render_help().to_string();
        assert!(help.lines().count() <= 60, "{help}");
        assert!(help.contains("\n  fill ") && help.contains("\nOptions:\n  -h"), "{help}");
    }

    /// Every help of every command: no line is too long, and none ends although the next word had room.
    #[test]
    fn every_help_fits_every_width() {
        fn check(command: &mut Command, width: usize) {
            let long = command.render_long_help().to_string();
            for line in long.lines() {
                // Usage stays one line, and so does an option with what it takes, or a name that is longer.
                let text = line.trim_start();
                let breaks = text.contains(' ') && !text.starts_with("Usage:") && !text.starts_with('-');
                assert!(
                    line.chars().count() <= width || !breaks,
                    "{} at {width}: {line}",
                    command.get_name()
                );
            }
            for sub in command.get_subcommands_mut() {
                check(sub, width);
            }
        }
        for width in [60, 80, 100, 120] {
            let mut command = command(width);
            command.build();
            check(&mut command, width);
        }
    }
}
