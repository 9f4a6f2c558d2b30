//! Commands in pages and help texts, to be run by tests.

/// A command shown to users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Page or help text that contains it.
    pub place: String,
    /// The whole line, without comments.
    pub command: String,
}

/// Program name, which precedes each command.
const PROGRAM: &str = "iosonar ";

/// Commands in the code blocks of a page. A backslash at the end of a line joins the next one; a comment follows ` # `.
pub fn in_markdown(place: &str, page: &str) -> Vec<Shown> {
    let mut is_code = false;
    let mut code = String::new();
    for line in page.lines() {
        match line.trim_start().starts_with("```") {
            true => is_code = !is_code,
            false if is_code => code = code + line + "\n",
            false => {}
        }
    }
    // A drawing may contain the program's name, too, but not at the start of a line.
    let is_code = |line: &&str| !line.starts_with(' ') || code.contains(&format!("\\\n{line}"));
    let lines: String = code.lines().filter(is_code).map(|line| line.to_owned() + "\n").collect();
    shown(place, &lines, " # ")
}

/// Commands below `Examples:` and the like. A comment follows two spaces or is on a separate line.
pub fn in_help(place: &str, help: &str) -> Vec<Shown> {
    let mut is_example = false;
    let mut code = String::new();
    for line in help.lines() {
        is_example = ["Example:", "Examples:", "Start here:"].contains(&line)
            || is_example && (line.starts_with(' ') || line.is_empty());
        if is_example && !line.trim_start().starts_with("# ") {
            code = code + line.trim_start() + "\n";
        }
    }
    shown(place, &code, "  ")
}

fn shown(place: &str, code: &str, remark: &str) -> Vec<Shown> {
    let whole = code.replace(" \\\n", " ");
    let command = |line: &str| {
        let line = line.split(remark).next().unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let is_ours = |line: &String| line.starts_with(PROGRAM) || line.contains(&format!("| {PROGRAM}"));
    let commands = whole.lines().map(command).filter(is_ours);
    commands.map(|command| Shown { place: place.into(), command }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extracts_whole_commands_without_comments() {
        let page = "text `iosonar show`\n```sh\niosonar run a \\\n        --rw read  # reads\n iosonar ┐\nzcat x | iosonar info -\n```\n";
        let found: Vec<String> = in_markdown("p", page).into_iter().map(|shown| shown.command).collect();
        assert_eq!(found, ["iosonar run a --rw read", "zcat x | iosonar info -"]);
        let help = "iosonar x\nExamples:\n  iosonar a b   what it does\n  iosonar c \\\n      d\n      # a remark\nend\n  iosonar e\n";
        let found: Vec<String> = in_help("h", help).into_iter().map(|shown| shown.command).collect();
        assert_eq!(found, ["iosonar a b", "iosonar c d"]);
    }
}
