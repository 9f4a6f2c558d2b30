//! Commands that repeat a run or a study with options changed.

/// A command as typed, in words that keep their quotes.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    words: Vec<String>,
}

impl Command {
    /// The command of a verb: `run`, `layout run`. `None` if it is one of another verb, has an option in a form that cannot be changed with
    /// certainty, or is no plain text.
    pub(crate) fn of(command: &str, verb: &str) -> Option<Command> {
        let mut words = words_of(command);
        let length = verb.split(' ').count();
        let is_verb =
            words.len() > length && verb.split(' ').eq(words[1..=length].iter().map(String::as_str));
        let is_joined = |word: &String| word.starts_with("-o") && word.len() > 2;
        let is_quoted_result =
            words.windows(2).any(|pair| pair[0].starts_with("-o") && pair[1].contains('\''));
        let is_plain = command.chars().all(|c| matches!(c, ' '..='~'));
        if !is_verb || words.iter().any(is_joined) || is_quoted_result || !is_plain {
            return None;
        }
        words[0] = "iosonar".into();
        Some(Command { words })
    }

    /// Whether an option is there, alone or with `=` and a value.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.words.iter().any(|word| word.split('=').next() == Some(option))
    }

    /// Sets the value of an option with one of these names, which is appended under the first name if it is missing.
    pub(crate) fn set(mut self, names: &[&str], value: &str) -> Command {
        if !change(&mut self.words, names, |_| value.into()) {
            self.words.extend(names.first().map(|name| name.to_string()));
            self.words.push(value.into());
        }
        self
    }

    /// Adds an option without a value.
    pub(crate) fn with(mut self, option: &str) -> Command {
        if !self.has(option) {
            self.words.push(option.into());
        }
        self
    }

    /// The command with another result, as a result is never replaced: its name ends with `suffix`.
    pub(crate) fn text(mut self, suffix: &str) -> String {
        change(&mut self.words, &["-o", "--out"], |out| format!("{}-{suffix}", out.trim_end_matches('/')));
        self.words.join(" ")
    }
}

/// The command of a run with another queue depth and another result; `None` if it is no command of `run` or `replay`, runs a plan, which
/// takes no depth, or cannot be changed.
pub(crate) fn with_depth(command: &str, depth: u32) -> Option<String> {
    let is_plan = |command: &Command| command.words.get(2).is_some_and(|word| !word.starts_with('-'));
    let run = Command::of(command, "run").filter(|command| !is_plan(command));
    let command = run.or_else(|| Command::of(command, "replay"))?;
    Some(command.set(&["--depth", "--iodepth"], &depth.to_string()).text(&format!("depth{depth}")))
}

/// Changes the value of an option that is written as two words or with `=`; whether it was there.
fn change(words: &mut [String], names: &[&str], new: impl Fn(&str) -> String) -> bool {
    for index in 0..words.len() {
        if names.contains(&words[index].as_str()) && index + 1 < words.len() {
            words[index + 1] = new(&words[index + 1]);
            return true;
        }
        let joined = words[index].split_once('=').filter(|(name, _)| names.contains(name));
        if let Some((name, value)) = joined {
            words[index] = format!("{name}={}", new(value));
            return true;
        }
    }
    false
}

/// The words of a command as they were quoted.
fn words_of(command: &str) -> Vec<String> {
    let mut is_quoted = false;
    let is_end = |c: char| {
        is_quoted ^= c == '\'';
        c == ' ' && !is_quoted
    };
    command.split(is_end).filter(|word| !word.is_empty()).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_depth_and_result_only() {
        let command = "target/iosonar replay 'a b.load' -t /dev/loop0 --depth 1 -o out/ --destroy";
        assert_eq!(
            with_depth(command, 8).unwrap(),
            "iosonar replay 'a b.load' -t /dev/loop0 --depth 8 -o out-depth8 --destroy"
        );
        assert_eq!(with_depth("iosonar run -t f --iodepth=2", 4).unwrap(), "iosonar run -t f --iodepth=4");
        assert_eq!(with_depth("iosonar run -t f", 4).unwrap(), "iosonar run -t f --depth 4");
        for other in [
            "iosonar run plan.toml -o r",
            "iosonar run -t f -or",
            "iosonar run -t f -o 'my r'",
            "iosonar run -t \u{e4}",
        ] {
            assert_eq!(with_depth(other, 4), None, "{other}");
        }
        assert_eq!((with_depth("xdd -op read", 4), with_depth("", 4)), (None, None));
    }

    #[test]
    fn sets_options_of_verbs_of_several_words() {
        let command =
            Command::of("./iosonar layout run . --size 1g --rounds=5 --out r", "layout run").unwrap();
        assert!(command.has("--rounds") && !command.has("--keep"));
        assert_eq!(
            command.set(&["--rounds"], "20").with("--scan-direct").text("rounds20"),
            "iosonar layout run . --size 1g --rounds=20 --out r-rounds20 --scan-direct"
        );
        assert!(Command::of("iosonar layout map f", "layout run").is_none());
        assert!(Command::of("iosonar layout", "layout run").is_none());
    }
}
