//! Parses words into settings, from left to right.

use crate::call::Call;
use crate::options::{Opt, Origin, TABLE, Takes, named};
use crate::settings::Settings;
use crate::usage::{meant_by, synopsis};
use iosonar_dialect_common::{UsageError, quoted};
use iosonar_plan::VerifyModes;
use std::collections::BTreeMap;
use std::slice::Iter;

/// Action of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A run.
    Run(Box<Settings>),
    /// Print [`crate::usage`] only.
    Usage,
}

/// Reads blkreplay's arguments, without the program's name.
///
/// # Errors
/// The first invalid word, or contradicting options.
pub fn parse(args: &[String]) -> Result<Command, UsageError> {
    let mut draft = Draft::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => draft.devices.extend(words.by_ref().map(String::as_str)),
            "--help" | "-help" | "-h" => return Ok(Command::Usage),
            option if option.starts_with('-') => draft.option(option, &mut words)?,
            device => draft.devices.push(device),
        }
    }
    match args {
        [] => Ok(Command::Usage),
        _ => draft.finish().map(|settings| Command::Run(Box::new(settings))),
    }
}

/// A partly parsed command line.
#[derive(Default)]
struct Draft<'a> {
    settings: Settings,
    devices: Vec<&'a str>,
    /// Last spelling of each option, by name.
    typed: BTreeMap<&'static str, &'a str>,
}

impl<'a> Draft<'a> {
    fn option(&mut self, typed: &'a str, words: &mut Iter<'a, String>) -> Result<(), UsageError> {
        let (option, mut value) = find(typed).ok_or_else(|| unknown(typed))?;
        match option.takes {
            // `=1` is accepted; 0 is refused, because blkreplay treats it as 1.
            Takes::Nothing if !matches!(value, None | Some("1")) => return Err(takes_nothing(typed, option)),
            Takes::Value(_) if option.origin == Origin::Ours => {
                value = value.or_else(|| words.next().map(String::as_str));
            }
            _ => {}
        }
        self.typed.insert(option.name, typed);
        (option.set)(&mut Call { option, typed, value, settings: &mut self.settings })
    }

    fn finish(self) -> Result<Settings, UsageError> {
        let Draft { mut settings, devices, typed } = self;
        settings.device = only(&devices)?;
        // The original would verify memory that no device has filled.
        let transfers = !settings.dry_run || settings.simulate_io.is_some();
        if !transfers && settings.verify != VerifyModes::default() {
            settings.verify = VerifyModes::default();
            settings.notices.push("nothing is verified: a run without I/O reads and writes no data".into());
        }
        let window = settings.window();
        if let Some(end) = window.end.filter(|end| *end <= window.start) {
            let name = typed.get("replay-end").copied().unwrap_or("--replay-end");
            let start = window.start;
            return Err(UsageError::of(
                name,
                &format!(
                    "the window holds no request, because it starts at {start} and ends at {end}: let it end later"
                ),
            ));
        }
        if let (Some(most), Some(typed)) = (settings.bottleneck, typed.get("bottleneck")) {
            let threads = settings.threads;
            let what = match most < threads {
                true => format!("it is below --threads={threads}: at most {most} requests are in flight"),
                false => format!(
                    "it has no effect here: nothing is queued ahead, so that at most --threads={threads} requests are in flight"
                ),
            };
            settings.notices.push(UsageError::of(typed, &what).to_string());
        }
        Ok(settings)
    }
}

/// The one device.
fn only(devices: &[&str]) -> Result<String, UsageError> {
    match devices {
        [] => Err(UsageError::of("DEVICE", "it is missing: name a block device or a file after the options")),
        [""] => Err(UsageError::of("''", "the name of the device is empty: name a block device or a file")),
        [device] => Ok((*device).into()),
        [first, second, ..] => Err(UsageError::of(
            second,
            &format!(
                "there is {} already, and one run has one device: take one out, or write a value right after its \
                 option, as in --threads=4",
                quoted(first)
            ),
        )),
    }
}

/// Splits a word into option and value: an exact name, or a name directly followed by a number.
fn find(word: &str) -> Option<(&'static Opt, Option<&str>)> {
    let body = word.strip_prefix("--")?;
    let (name, value) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value)));
    if let Some(option) = named(name) {
        return Some((option, value));
    }
    let glued = TABLE.iter().filter(|o| o.origin == Origin::Original && o.takes != Takes::Nothing);
    let glued = glued.filter_map(|option| Some((option, body.strip_prefix(option.name)?)));
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let found = glued.filter(|(_, rest)| is_number(rest)).max_by_key(|(option, _)| option.name.len());
    found.map(|(option, value)| (option, Some(value)))
}

fn unknown(typed: &str) -> UsageError {
    let name = typed.trim_start_matches('-').split('=').next().unwrap_or_default();
    let remedy = match meant_by(name) {
        Some(option) => format!("write {}", synopsis(option)),
        None => "--help lists all".into(),
    };
    UsageError::of(typed, &format!("there is no such option: {remedy}"))
}

fn takes_nothing(typed: &str, option: &Opt) -> UsageError {
    let name = option.name;
    UsageError::of(
        typed,
        &format!("it takes no value: write --{name} to have it, and nothing to have it not"),
    )
}
