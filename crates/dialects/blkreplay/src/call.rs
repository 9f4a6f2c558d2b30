//! Parses option values. All numbers are checked here, in the same way for every option.

use crate::options::Opt;
use crate::settings::Settings;
use crate::to_plan::MAX_TIME;
use crate::usage::synopsis;
use iosonar_dialect_common::{UsageError, quoted};
use iosonar_plan::{Nanos, Speed};

/// An option being parsed.
pub(crate) struct Call<'a> {
    pub(crate) option: &'static Opt,
    /// The word as typed, with its value.
    pub(crate) typed: &'a str,
    pub(crate) value: Option<&'a str>,
    pub(crate) settings: &'a mut Settings,
}

impl<'a> Call<'a> {
    /// Error for this option: problem and remedy.
    pub(crate) fn wrong(&self, problem: &str) -> UsageError {
        UsageError::of(self.typed, problem)
    }

    /// Adds a notice that this option has no effect, and why; once, even if it is typed repeatedly.
    pub(crate) fn no_effect(&mut self, why: &str) {
        let name = format!("--{}", self.option.name);
        self.settings.notices.retain(|notice| !notice.starts_with(&name));
        let notice = UsageError::of(self.typed, &format!("it has no effect here: {why}"));
        self.settings.notices.push(notice.to_string());
    }

    fn value(&self) -> Result<&'a str, UsageError> {
        let missing = || self.wrong(&format!("its value is missing: write {}", synopsis(self.option)));
        self.value.ok_or_else(missing)
    }

    /// Parses a decimal whole number.
    pub(crate) fn whole(&self, least: u32, most: u32) -> Result<u32, UsageError> {
        let text = self.value()?;
        let range = format!("give a whole number from {least} to {most}");
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number {
            return Err(self.wrong(&format!("{} is no whole number: {range}", quoted(text))));
        }
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.wrong(&format!("{} is not possible: {range}", quoted(text))))
    }

    /// Parses a whole number from 0 to 100.
    pub(crate) fn percent(&self) -> Result<u8, UsageError> {
        self.whole(0, 100).map(|percent| u8::try_from(percent).unwrap_or(100))
    }

    /// Parses an optional whole number.
    pub(crate) fn level(&self) -> Result<u32, UsageError> {
        self.value.map_or(Ok(1), |_| self.whole(0, u32::MAX))
    }

    /// Parses a time in seconds, or with a unit.
    pub(crate) fn time(&self) -> Result<Nanos, UsageError> {
        let time: Nanos = self.value()?.parse().map_err(|error| self.wrong(&format!("{error}")))?;
        if time > MAX_TIME {
            return Err(self.wrong(&format!("it is too long: give at most {} days", MAX_TIME.0 / DAY)));
        }
        Ok(time)
    }

    /// Parses a time; `None` for 0.
    pub(crate) fn time_above_zero(&self) -> Result<Option<Nanos>, UsageError> {
        self.time().map(|time| Some(time).filter(|time| time.0 > 0))
    }

    /// Parses a factor above 0.
    pub(crate) fn speed(&self) -> Result<Speed, UsageError> {
        let text = self.value()?;
        let is_zero = text.contains('0') && text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        if is_zero {
            return Err(self.wrong("with 0 nothing would be replayed: give a factor above 0"));
        }
        text.parse().map_err(|error| self.wrong(&format!("{error}")))
    }

    /// Parses one of these words.
    pub(crate) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, UsageError> {
        let text = self.value()?;
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            self.wrong(&format!("{} is not possible: give one of {}", quoted(text), known.join(", ")))
        })
    }

    /// Parses a file name.
    pub(crate) fn name(&self) -> Result<String, UsageError> {
        let text = self.value()?;
        if text.is_empty() { Err(self.wrong("the name is empty: give one")) } else { Ok(text.into()) }
    }
}

/// Nanoseconds of a day.
const DAY: u64 = 86_400 * Nanos::SECOND.0;
