//! Options whose value is one of a few words: a word is parsed to the value of another room at once.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;

/// A word, its help and its value.
pub type Word<T> = (&'static str, &'static str, T);

/// Parses one of these words to its value; help lists them.
pub fn words<T: Clone + Send + Sync + 'static>(
    words: &'static [Word<T>],
) -> impl TypedValueParser<Value = T> {
    Words(words)
}

#[derive(Clone)]
struct Words<T: 'static>(&'static [Word<T>]);

impl<T: 'static> Words<T> {
    fn known(&self) -> impl Iterator<Item = PossibleValue> + use<T> {
        self.0.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help))
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Words<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, typed: &OsStr) -> Result<T, Error> {
        // The error of a value that is not UTF-8 lists the words, too.
        let typed = typed.to_string_lossy();
        let found = self.0.iter().find(|(word, ..)| *word == typed).map(|(.., value)| value.clone());
        let refusal = || PossibleValuesParser::new(self.known()).parse_ref(command, arg, OsStr::new(&*typed));
        found.ok_or_else(|| refusal().expect_err("the words of both parsers are the same"))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.known()))
    }
}
