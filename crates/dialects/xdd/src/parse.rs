//! Parses words into settings, one option after the other, from left to right.

use crate::command::Command;
use crate::draft::Draft;
use crate::operands::Call;
use crate::options::{self, Scope};
use crate::setup::{Tokens, plain_dashes};
use iosonar_dialect_common::{UsageError, quoted};
use std::io;

/// Parses XDD's arguments (without the program's name). `read` returns the text of a setup file.
pub fn parse(
    args: &[String],
    read: &mut dyn FnMut(&str) -> io::Result<String>,
) -> Result<Command, UsageError> {
    let mut tokens = Tokens::new(args, read);
    let mut draft = Draft::new(args.join(" "));
    let mut last = String::new();
    while let Some(typed) = tokens.next() {
        last = one(typed, &mut tokens, &mut draft, &last)?;
        if let Some(answer) = draft.answer.take() {
            return Ok(answer);
        }
    }
    draft.finish().map(|settings| Command::Run(Box::new(settings)))
}

/// Parses one option and its arguments; returns the option as typed.
fn one(typed: String, tokens: &mut Tokens, draft: &mut Draft, last: &str) -> Result<String, UsageError> {
    let Some(option) = options::find(&typed) else { return Err(unknown(&typed, last)) };
    draft.typed.insert(option.names[0], &typed);
    let mut call = Call::new(option, typed, tokens, draft);
    call.read_target()?;
    (option.read)(&mut call)?;
    Ok(call.into_typed())
}

fn unknown(typed: &str, last: &str) -> UsageError {
    let word = plain_dashes(typed);
    if !word.starts_with('-') {
        let place = if last.is_empty() { "at the beginning".into() } else { format!("behind {last}") };
        return UsageError::of(
            &quoted(typed),
            &format!("this word {place} belongs to no option: take it out"),
        );
    }
    let bare = word.trim_start_matches('-');
    let name = bare.split('=').next().unwrap_or_default();
    let remedy = match options::TABLE.iter().flat_map(|o| o.names).find(|n| n.eq_ignore_ascii_case(name)) {
        Some(name) if bare.contains('=') => {
            format!("write -{name}, and its value as a word of its own")
        }
        Some(name) => format!("write -{name}"),
        None => match options::in_place_of_xdd_7(name) {
            Some(ours) => format!("XDD 7's -{name} {ours}"),
            None => "-fullhelp lists all".into(),
        },
    };
    let option: String = typed.chars().take(200).collect();
    UsageError::new(format_args!("{option}: there is no such option: {remedy}"))
}

impl Call<'_, '_> {
    /// Parses `target N` directly after the option's name.
    fn read_target(&mut self) -> Result<(), UsageError> {
        if self.peek(0) != Some("target") {
            return Ok(());
        }
        let is_number = self.peek(1).is_some_and(|n| n.parse::<u64>().is_ok());
        match self.option.scope {
            Scope::Each => {
                self.word("target N")?;
                let number = self.target_number()?;
                self.target = Some(number);
                Ok(())
            }
            _ if is_number => {
                let option = self.option.names[0];
                let remedy = match option {
                    // The manual's synopsis has a target, but its text and the real program do not.
                    "targetoffset" => ", or move one target with -startoffset target N",
                    _ => "",
                };
                let text = "it holds for the whole run, not for one target: remove 'target' and its number";
                Err(self.wrong(&format!("{text}{remedy}")))
            }
            // A file may have this name.
            _ => Ok(()),
        }
    }
}
