//! What coordinator and processes say to each other: one JSON value a line.

use iosonar_archive::RunInfo;
use iosonar_runner::Intent;
use iosonar_text::one_line;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

/// Version of these messages. Both sides must speak the same one.
pub const PROTOCOL: u32 = 3;

/// The command that makes a process take part.
pub const TAKE_PART: &str = "take-part";

/// The longest line that is written and read, in bytes. A text of a plan has at most 16 MiB and its form in full some times as much;
/// all other messages are shorter.
const LONGEST_LINE: u64 = 64 << 20;

/// From the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Prepare this part of a plan.
    Prepare {
        /// The whole plan, as TOML.
        plan: String,
        /// Numbers of the targets that this process executes.
        targets: Vec<u16>,
        /// Working directory; none: stay.
        dir: Option<PathBuf>,
        /// The command that the user typed.
        command: String,
    },
    /// Start the run, with records in this directory, which does not exist; none: choose one, and send it at the end.
    Run {
        /// Where.
        archive: Option<PathBuf>,
    },
    /// Start a phase at a time of the receiver's `CLOCK_MONOTONIC`, in nanoseconds.
    Begin {
        /// Number of the phase.
        phase: u16,
        /// When.
        at: u64,
    },
    /// Do not start a phase.
    Abort {
        /// Why.
        why: String,
    },
    /// Start the requests of a phase.
    Meet {
        /// Number of the phase.
        phase: u16,
        /// When.
        at: u64,
    },
    /// The first job of a phase is done, in another process.
    FirstDone {
        /// Number of the phase.
        phase: u16,
    },
    /// All processes have ended a phase.
    Next {
        /// Number of the phase.
        phase: u16,
        /// Whether the next one follows.
        goes_on: bool,
    },
    /// Say what time it is.
    Ping {
        /// Comes back.
        number: u32,
    },
    /// Stop as after this signal.
    Stop {
        /// Its number.
        signal: i32,
    },
    /// The archive has come as a whole, so it is no longer needed where it was.
    Received,
}

/// From a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// The first line.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Name and version of the program.
        tool: String,
        /// Equal for processes that read the same `CLOCK_MONOTONIC`.
        clock: String,
    },
    /// It cannot do its part, or nothing more of it.
    Refused {
        /// Why.
        why: String,
    },
    /// Its part can be executed.
    Prepared {
        /// What somebody should know before the run, a line each.
        told: Vec<String>,
        /// What is known of its targets.
        info: Box<RunInfo>,
        /// Its machine and its targets.
        environment: serde_json::Value,
        /// What it is going to do.
        intent: Intent,
    },
    /// Its records are in this directory of its machine until they have been received.
    Scratch {
        /// Where.
        dir: PathBuf,
    },
    /// All its issuing loops are ready for a phase.
    Ready {
        /// Number of the phase.
        phase: u16,
        /// Before which it should not start.
        earliest: u64,
    },
    /// All its issuing loops have done the file operations before the requests of a phase.
    Arrived {
        /// Number of the phase.
        phase: u16,
        /// When the last one had.
        at: u64,
    },
    /// A job of a phase that ends with the first one is done.
    FirstDone {
        /// Number of the phase.
        phase: u16,
    },
    /// Its part of a phase has ended.
    Ended {
        /// Number of the phase.
        phase: u16,
        /// Whether all of it was done.
        is_whole: bool,
    },
    /// What time it is.
    Pong {
        /// From the ping.
        number: u32,
        /// `CLOCK_MONOTONIC`, in nanoseconds.
        time: u64,
    },
    /// A file of its archive; its bytes follow the line.
    File {
        /// Its name.
        name: String,
        /// How many.
        bytes: u64,
    },
    /// Its run is over, and its archive is whole.
    Done {
        /// How the run went.
        info: Box<RunInfo>,
        /// Lines of loads that were skipped.
        skipped: u64,
    },
}

/// A report of another machine whose texts are single lines that a terminal shows and does not obey.
pub(crate) fn harmless(report: Report) -> Report {
    let mut value = serde_json::to_value(&report).unwrap_or_default();
    clean(&mut value);
    // Its numbers and words are as they were, so it is a report still.
    serde_json::from_value(value).unwrap_or(report)
}

fn clean(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => *text = one_line(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => {
            let all = std::mem::take(fields).into_iter();
            fields.extend(all.map(|(name, mut value)| {
                clean(&mut value);
                (one_line(&name).into_owned(), value)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Writes a message, and hands it over.
///
/// # Errors
/// Nobody reads any more.
pub fn say(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() as u64 > LONGEST_LINE {
        return Err(too_long("a message has"));
    }
    to.write_all(&line)?;
    to.flush()
}

fn too_long(what: &str) -> io::Error {
    let most = LONGEST_LINE >> 20;
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} more than {most} MiB, the limit of a message"))
}

/// Reads a message; none at the end.
///
/// # Errors
/// It is none, or reading failed.
pub fn hear<M: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<M>> {
    let mut line = Vec::new();
    let read = from.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    if read as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
        return Err(too_long("a line has"));
    }
    let line = String::from_utf8_lossy(&line);
    let shown: String = line.chars().take(80).collect();
    serde_json::from_str(&line).map(Some).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("'{}' is no message ({error})", shown.trim_end()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_other_machines_are_harmless() {
        let of = |why: &str, key: &str| Report::Prepared {
            told: vec![why.into()],
            info: Box::new(RunInfo::new("tool", why, Vec::new())),
            environment: serde_json::json!({ key: [why, 7] }),
            intent: Intent::default(),
        };
        assert_eq!(harmless(of("a\u{1b}[2J\nb", "k\r")), of("a\\u{1b}[2J\\nb", "k\\r"));
        let ready = Report::Ready { phase: 3, earliest: u64::MAX };
        assert_eq!(harmless(ready.clone()), ready);
    }

    #[test]
    fn messages_are_lines() {
        let orders = [
            Order::Begin { phase: 3, at: u64::MAX },
            Order::Abort { why: "a\nb".into() },
            Order::Stop { signal: 2 },
        ];
        let mut bytes = Vec::new();
        orders.iter().for_each(|order| say(&mut bytes, order).unwrap());
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 3);
        let mut from = &bytes[..];
        for order in orders {
            assert_eq!(hear::<Order>(&mut from).unwrap(), Some(order));
        }
        assert_eq!(hear::<Order>(&mut from).unwrap(), None);
        let error = hear::<Order>(&mut &b"Welcome to host b\n"[..]).unwrap_err().to_string();
        assert!(error.contains("'Welcome to host b' is no message"), "{error}");
    }
}
