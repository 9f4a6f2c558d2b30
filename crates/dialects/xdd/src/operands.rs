//! Parses option arguments. All numbers are checked here, in the same way for every option.

use crate::draft::{Draft, Each};
use crate::options::{self, Opt, Scope};
use crate::settings::{GlobalSettings, TargetSettings};
use crate::setup::{Tokens, plain_dashes};
use iosonar_dialect_common::{UsageError, quoted};
use iosonar_plan::{Decimal, Nanos, ParseUnitError};

/// Maximum number of targets of a run: records have 16 bits for their number.
pub(crate) const MAX_TARGETS: u64 = 65_535;
/// Maximum time in plans: 146 years.
const MAX_TIME: Nanos = Nanos(1 << 62);
/// Maximum whole number in a plan's text.
pub(crate) const MAX_WHOLE: u64 = i64::MAX as u64;

/// An option being parsed.
pub(crate) struct Call<'c, 'r> {
    pub(crate) option: &'static Opt,
    typed: String,
    /// The target after the option's name.
    pub(crate) target: Option<u16>,
    tokens: &'c mut Tokens<'r>,
    draft: &'c mut Draft,
}

impl<'c, 'r> Call<'c, 'r> {
    pub(crate) fn new(
        option: &'static Opt,
        typed: String,
        tokens: &'c mut Tokens<'r>,
        draft: &'c mut Draft,
    ) -> Call<'c, 'r> {
        Call { option, typed, target: None, tokens, draft }
    }

    pub(crate) fn into_typed(self) -> String {
        self.typed
    }

    /// Error for this option: problem and remedy.
    pub(crate) fn wrong(&self, problem: &str) -> UsageError {
        UsageError::of(&self.typed, problem)
    }

    /// Error for an unknown word.
    pub(crate) fn no_such(&self, word: &str, instead: &str) -> UsageError {
        self.wrong(&format!("{} is not possible here: give {instead}", quoted(word)))
    }

    pub(crate) fn peek(&self, skipped: usize) -> Option<&str> {
        self.tokens.peek(skipped)
    }

    fn usage(&self) -> String {
        let target = if self.option.scope == Scope::Each { " [target N]" } else { "" };
        let args = self.option.args;
        format!("write {}{target}{}{args}", self.typed, if args.is_empty() { "" } else { " " })
    }

    /// Returns the next word of any kind.
    pub(crate) fn any_word(&mut self, what: &str) -> Result<String, UsageError> {
        let word = self.tokens.next();
        word.ok_or_else(|| self.wrong(&format!("{what} is missing: {}", self.usage())))
    }

    /// Returns the next word, which must not be an option.
    pub(crate) fn word(&mut self, what: &str) -> Result<String, UsageError> {
        let word = self.any_word(what)?;
        match options::find(&word) {
            Some(_) => Err(self.wrong(&format!("{what} is missing before {word}: {}", self.usage()))),
            None => Ok(word),
        }
    }

    /// Parses a file name: a non-empty word.
    pub(crate) fn file(&mut self) -> Result<String, UsageError> {
        let name = self.word("a file name")?;
        if name.is_empty() { Err(self.wrong("the file name is empty: give one")) } else { Ok(name) }
    }

    /// Parses a decimal whole number.
    pub(crate) fn integer(&mut self, least: u64, most: u64) -> Result<u64, UsageError> {
        let text = self.word("a whole number")?;
        self.whole(&text, least, most)
    }

    /// Parses `text` as a decimal whole number.
    pub(crate) fn whole(&self, text: &str, least: u64, most: u64) -> Result<u64, UsageError> {
        let range = match most {
            MAX_WHOLE => format!("give a whole number from {least} on"),
            _ => format!("give a whole number from {least} to {most}"),
        };
        let problem = |why: &str| self.wrong(&format!("{} {why}: {range}", quoted(text)));
        let too_large = || self.wrong(&format!("{} is too large: give at most {most}", quoted(text)));
        if plain_dashes(text).starts_with('-') {
            return Err(problem("must not be negative"));
        }
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(problem("is no whole number"));
        }
        let value = text.parse().map_err(|_| too_large())?;
        match value {
            n if n < least => Err(problem("is too small")),
            n if n > most => Err(too_large()),
            n => Ok(n),
        }
    }

    /// Parses a whole number of at most 32 bits.
    pub(crate) fn small(&mut self, least: u32, most: u32) -> Result<u32, UsageError> {
        self.integer(least.into(), most.into()).map(|n| u32::try_from(n).unwrap_or(most))
    }

    /// Parses the number of a target. Whether it exists is checked at the end of the command line.
    pub(crate) fn target_number(&mut self) -> Result<u16, UsageError> {
        let text = self.word("a target number")?;
        let number = self.whole(&text, 0, MAX_TARGETS - 1)?;
        Ok(u16::try_from(number).unwrap_or(u16::MAX))
    }

    /// Parses digits with at most one point.
    fn plain_decimal(&mut self, what: &str) -> Result<String, UsageError> {
        let text = self.word(what)?;
        if plain_dashes(&text).starts_with('-') {
            return Err(self.wrong(&format!("{} must not be negative: give {what}", quoted(&text))));
        }
        let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        match is_plain {
            true => Ok(text),
            false => Err(self.wrong(&format!(
                "{} is no number: give {what} in digits, with a point where needed",
                quoted(&text)
            ))),
        }
    }

    /// Error for a text that a unit rejects, with a different example: units are not allowed here.
    fn unreadable(&self, error: ParseUnitError, example: &str) -> UsageError {
        let text = error.to_string();
        let why = text.split("; for example").next().unwrap_or_default();
        self.wrong(&format!("{why}; {example}"))
    }

    /// Parses a number of at least 0.
    pub(crate) fn decimal(&mut self) -> Result<Decimal, UsageError> {
        let text = self.plain_decimal("a number")?;
        text.parse().map_err(|error| self.unreadable(error, "for example 1.1 or 20"))
    }

    /// Parses a number above 0.
    pub(crate) fn positive(&mut self) -> Result<Decimal, UsageError> {
        match self.decimal()? {
            zero if zero.parts() == 0 => Err(self.wrong("0 is too small: give a number above 0")),
            number => Ok(number),
        }
    }

    /// Parses percent from 0 to 100.
    pub(crate) fn percent(&mut self) -> Result<Decimal, UsageError> {
        match self.decimal()? {
            percent if percent > Decimal::whole(100) => {
                Err(self.wrong(&format!("{percent} is too large: give a percentage from 0 to 100")))
            }
            percent => Ok(percent),
        }
    }

    /// Parses seconds of at least 0.
    pub(crate) fn seconds(&mut self) -> Result<Nanos, UsageError> {
        let text = self.plain_decimal("a time in seconds")?;
        let time: Nanos = text.parse().map_err(|error| self.unreadable(error, "for example 0.5 or 30"))?;
        match time <= MAX_TIME {
            true => Ok(time),
            false => Err(self.wrong(&format!("{} is too large: at most 146 years", quoted(&text)))),
        }
    }

    /// Parses seconds above 0.
    pub(crate) fn some_seconds(&mut self) -> Result<Nanos, UsageError> {
        match self.seconds()? {
            Nanos(0) => Err(self.wrong("0 is too small: give a time above 0 in seconds")),
            time => Ok(time),
        }
    }

    /// Parses whole seconds above 0; `10.0` is accepted for 10.
    pub(crate) fn whole_seconds(&mut self) -> Result<Nanos, UsageError> {
        match self.some_seconds()? {
            time if time.0 % Nanos::SECOND.0 == 0 => Ok(time),
            time => Err(self.wrong(&format!("{time} is no whole number of seconds: give 1 or more"))),
        }
    }

    /// Marks this option as equivalent to an operator of `option`: messages about that one name this option.
    pub(crate) fn stands_for(&mut self, option: &'static str) {
        self.draft.typed.insert(option, &self.typed);
    }

    /// Changes the named target or, without one, all targets, including those named later.
    pub(crate) fn each(&mut self, change: impl Fn(&mut TargetSettings) + 'static) -> Result<(), UsageError> {
        self.numbered(self.target, move |_, target| change(target))
    }

    /// Changes one target, or all if `None`; `change` gets the target's number.
    pub(crate) fn numbered(
        &mut self,
        target: Option<u16>,
        change: impl Fn(u16, &mut TargetSettings) + 'static,
    ) -> Result<(), UsageError> {
        self.draft.each.push(Each { typed: self.typed.clone(), target, change: Box::new(change) });
        Ok(())
    }

    /// Changes a setting of the whole run.
    pub(crate) fn run(&mut self, change: impl FnOnce(&mut GlobalSettings)) -> Result<(), UsageError> {
        change(&mut self.draft.global);
        Ok(())
    }

    /// Settings read so far.
    pub(crate) fn draft(&mut self) -> &mut Draft {
        self.draft
    }

    /// Refuses a permission set in a setup file.
    pub(crate) fn permission(&self) -> Result<(), UsageError> {
        let Some(file) = self.tokens.file() else { return Ok(()) };
        let file = quoted(file);
        Err(self
            .wrong(&format!("setup file {file} cannot give this permission: type it on the command line")))
    }

    /// Inserts the words of a setup file.
    pub(crate) fn insert_file(&mut self, name: &str) -> Result<(), UsageError> {
        self.tokens.insert_file(name).map_err(|why| self.wrong(&format!("{}: {why}", quoted(name))))
    }
}
