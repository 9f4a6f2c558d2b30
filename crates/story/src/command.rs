//! Commands that repeat a run with one option changed.

/// The command of a run with another queue depth and another result; `None` if it is no command of `run` or `replay`, runs a plan, which
/// takes no depth, has an option in a form that cannot be changed with certainty, or is no plain text.
pub(crate) fn with_depth(command: &str, depth: u32) -> Option<String> {
    let mut words = words_of(command);
    let has_plan = words.get(1).is_some_and(|verb| verb == "run")
        && words.get(2).is_some_and(|word| !word.starts_with('-'));
    let is_verb = matches!(words.get(1).map(String::as_str), Some("run" | "replay"));
    let is_joined = |word: &String| word.starts_with("-o") && word.len() > 2;
    let is_quoted_result = words.windows(2).any(|pair| pair[0].starts_with("-o") && pair[1].contains('\''));
    let is_plain = command.chars().all(|c| matches!(c, ' '..='~'));
    if !is_verb || has_plan || words.iter().any(is_joined) || is_quoted_result || !is_plain {
        return None;
    }
    words[0] = "iosonar".into();
    // A result is never replaced.
    change(&mut words, &["-o", "--out"], |out| format!("{}-depth{depth}", out.trim_end_matches('/')));
    if !change(&mut words, &["--depth", "--iodepth"], |_| depth.to_string()) {
        words.extend(["--depth".into(), depth.to_string()]);
    }
    Some(words.join(" "))
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
}
