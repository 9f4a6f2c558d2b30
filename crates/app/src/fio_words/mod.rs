//! fio's words after `run`: each option of fio is translated to ours, or refused with a reason.
//!
//! This happens before the command line is parsed, so that an option of fio never ends in a suggestion about one of ours
//! that only looks similar. The list of fio's options is [`table`].

mod differs;
mod job_file;
mod table;
mod values;

pub use job_file::suggestions as suggestions_for_job_file;

use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::OnceLock;
use table::{Meaning, OFF, Takes, WORDS, Word};

/// A command line in our words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Translated {
    /// For the parser.
    pub args: Vec<OsString>,
    /// Differences of fio's behaviour.
    pub notes: Vec<String>,
}

/// Translates the arguments of `iosonar run`.
pub fn translate(args: impl Iterator<Item = OsString>) -> Result<Translated, String> {
    let args: Vec<OsString> = args.collect();
    if args.get(1).is_none_or(|command| command != "run") {
        return Ok(Translated { args, notes: Vec::new() });
    }
    let mut typed = Typed { rest: args.into_iter().peekable(), seen: Vec::new() };
    let mut translated = Translated::default();
    translated.args.extend(typed.rest.by_ref().take(2));
    while let Some(arg) = typed.rest.next() {
        if arg == "--" {
            translated.args.push(arg);
            translated.args.extend(typed.rest.by_ref());
            break;
        }
        let text = arg.to_str().unwrap_or_default();
        match (text.strip_prefix("--"), after_one_hyphen(text)) {
            (Some(option), _) => option_of(option, &mut typed, &mut translated)?,
            // Messages name the option as typed.
            (None, Some(option)) => {
                option_of(option, &mut typed, &mut translated).map_err(|why| why.replacen("--", "-", 1))?
            }
            (None, None) => translated.args.push(arg),
        }
    }
    check_together(&typed.seen)?;
    translated.notes.extend(differs::notes(&typed.seen));
    Ok(translated)
}

/// A typed word of fio.
#[derive(Debug)]
struct TypedWord {
    /// Its first name.
    name: &'static str,
    /// "1" for a switch that stands alone.
    value: String,
    /// `run` itself has an option of this spelling.
    is_ours: bool,
}

/// The remaining command line, and the options of fio seen so far.
struct Typed {
    rest: std::iter::Peekable<std::vec::IntoIter<OsString>>,
    seen: Vec<TypedWord>,
}

impl Typed {
    /// The value of an option: after `=`, or the next argument.
    fn value(&mut self, name: &str, attached: Option<&str>) -> Result<String, String> {
        let value = self.read_value(name, attached)?;
        self.keep(&value);
        Ok(value)
    }

    /// Sets the value of the current word.
    fn keep(&mut self, value: &str) {
        if let Some(last) = self.seen.last_mut() {
            last.value = value.into();
        }
    }

    fn read_value(&mut self, name: &str, attached: Option<&str>) -> Result<String, String> {
        if let Some(value) = attached {
            return Ok(value.to_string());
        }
        let is_option = |text: &str| text.starts_with("--") || after_one_hyphen(text).is_some();
        let is_value = |arg: &OsString| arg.to_str().is_some_and(|text| !is_option(text));
        match self.rest.next_if(is_value) {
            Some(value) => Ok(value.to_string_lossy().into_owned()),
            None => Err(format!("--{name} needs a value, for example --{name}=1")),
        }
    }

    /// The value of a switch, which may have none.
    fn switch(&mut self, name: &str, attached: Option<&str>, values: &[&str]) -> Result<String, String> {
        let is_value = |arg: &OsString| arg.to_str().is_some_and(|text| values.contains(&text));
        let value = match attached {
            Some(value) => value.to_string(),
            None => self.rest.next_if(is_value).map_or("1".into(), |v| v.to_string_lossy().into_owned()),
        };
        self.keep(&value);
        match values.contains(&value.as_str()) {
            true => Ok(value),
            false => Err(format!("--{name}={value}: known are {}", values.join(", "))),
        }
    }
}

/// Normalises names for comparison: fio has `_` in all but one of them, we have `-`.
fn underscored(name: &str) -> String {
    name.replace('-', "_")
}

/// The entry of an option of fio.
fn word(name: &str) -> Option<&'static Word> {
    let name = underscored(name);
    WORDS.iter().find(|word| word.names.contains(&name.as_str()))
}

/// An option of fio with one hyphen: fio accepts both forms. Our options of one letter keep their meaning.
fn after_one_hyphen(text: &str) -> Option<&str> {
    let option = text.strip_prefix('-')?;
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    (name.len() > 1 && word(name).is_some()).then_some(option)
}

fn option_of(option: &str, typed: &mut Typed, to: &mut Translated) -> Result<(), String> {
    let (name, attached) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    let Some(word) = word(name) else {
        // Ours: accept fio's way of writing it.
        let value = attached.map_or(String::new(), |value| format!("={value}"));
        to.args.push(format!("--{}{value}", name.replace('_', "-")).into());
        return Ok(());
    };
    typed.seen.push(TypedWord { name: word.names[0], value: "1".into(), is_ours: is_ours(name) });
    // 0 is the default here anyway.
    if attached == Some("0") && OFF.contains(&underscored(name).as_str()) {
        return Ok(());
    }
    let mut push = |ours: &str, value: &str| to.args.push(format!("--{ours}={value}").into());
    match &word.meaning {
        Meaning::Same(ours) => push(ours, &typed.value(name, attached)?),
        Meaning::Size(ours) => push(ours, &values::size(&typed.value(name, attached)?)),
        Meaning::Switch { on, off } => {
            let is_on = typed.switch(name, attached, &["0", "1"])? == "1";
            let ours = if is_on { on } else { off };
            to.args.extend((!ours.is_empty()).then(|| format!("--{ours}").into()));
        }
        Meaning::Choice { values, or_else } => {
            let known: Vec<&str> = values.iter().map(|(theirs, _)| *theirs).collect();
            let is_switch = attached.is_none() && known.contains(&"1");
            let value =
                if is_switch { typed.switch(name, None, &known) } else { typed.value(name, attached) }?;
            let chosen = values.iter().find(|(theirs, _)| *theirs == value);
            let Some((_, ours)) = chosen else { return Err(format!("--{name}={value}: {or_else}")) };
            to.args.extend((!ours.is_empty()).then(|| ours.into()));
        }
        Meaning::Ignored => drop(typed.value(name, attached)?),
        Meaning::Noted(takes, why) => {
            let is_off = match takes {
                Takes::Switch => typed.switch(name, attached, &["0", "1"])? == "0",
                Takes::Value => typed.value(name, attached).map(|_| false)?,
                Takes::PerhapsValue => typed.value(name, attached).is_ok_and(|_| false),
            };
            let note = format!("--{name} changes no request and is ignored: {why}");
            to.notes.extend((!is_off && !to.notes.contains(&note)).then_some(note));
        }
        Meaning::Read(read) => {
            let value = typed.value(name, attached)?;
            let read = read(&value).map_err(|why| format!("--{name}={value}: {why}"))?;
            to.args.extend(read.args.into_iter().map(OsString::from));
            to.notes.extend(read.note);
        }
        Meaning::None(why) => return Err(format!("--{name} is an option of fio that run has not: {why}")),
        Meaning::Later(why) => {
            return Err(format!("--{name} is an option of fio that run has not yet: {why}"));
        }
    }
    Ok(())
}

/// Whether `run` itself has an option of this name.
fn is_ours(name: &str) -> bool {
    static OPTIONS: OnceLock<HashSet<String>> = OnceLock::new();
    let options = OPTIONS.get_or_init(|| {
        let command = crate::help::command(crate::help::width());
        let run = command.find_subcommand("run").into_iter();
        run.flat_map(|run| run.get_arguments())
            .filter_map(|option| option.get_long().map(String::from))
            .collect()
    });
    options.contains(name)
}

/// Refuses combinations of words that mean something else than here.
fn check_together(seen: &[TypedWord]) -> Result<(), String> {
    let has = |name: &str| seen.iter().any(|seen| seen.name == name);
    if seen.iter().filter(|seen| seen.name == "name").count() > 1 {
        return Err("--name stands there twice, which means two jobs in fio: run has one job a run, with --numjobs workers: \
                    make a run of each, or a plan with a target for each (--show-plan prints one to begin with)"
            .into());
    }
    if has("loops") && has("runtime") {
        return Err("--loops with --runtime: in fio all loops end after the runtime, here each has that time: say --passes \
                    if that is meant, or leave --loops out"
            .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
