//! Messages between coordinator and processes: one JSON value per line.

use iosonar_analyze::Limits;
use iosonar_archive::{HostClock, RunInfo};
use iosonar_engine::Snapshot;
use iosonar_os::{SystemClock, system_clock};
use iosonar_runner::Intent;
use iosonar_text::one_line;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Version of the messages. Both sides must use the same.
pub const PROTOCOL: u32 = 6;

/// Command that starts a participating process.
pub const TAKE_PART: &str = "take-part";

/// Word after it for a process on another machine: it names its build, and stops when it hears nothing for [`SILENCE`].
pub const ON_HOST: &str = "on-host";

/// Interval of pings to another machine.
pub const PING_EVERY: Duration = Duration::from_secs(1);

/// Longest time without a sign of life.
pub const SILENCE: Duration = Duration::from_secs(10);

/// Maximum length of a line, in bytes. A text of a plan has at most 16 MiB and its expanded form several times as much;
/// all other messages are shorter.
const LONGEST_LINE: u64 = 64 << 20;

/// Message from the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Prepare this part of a plan.
    Prepare {
        /// The whole plan, as TOML.
        plan: String,
        /// Numbers of the targets that this process executes.
        targets: Vec<u16>,
        /// Working directory; `None`: unchanged.
        dir: Option<PathBuf>,
        /// Command typed by the user.
        command: String,
        /// Files that the plan reads and that were offered before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<InputFile>,
    },
    /// These files will be needed: answer which of them are missing.
    Offer {
        /// The files.
        inputs: Vec<InputFile>,
    },
    /// A missing file; its bytes follow the line.
    Input {
        /// The file.
        input: InputFile,
    },
    /// In place of a plan: keep the files that follow for a question.
    Gather,
    /// In place of a plan: answer a question.
    Ask {
        /// The question, in the form of [`crate::Question`].
        question: serde_json::Value,
        /// Working directory; `None`: unchanged.
        dir: Option<PathBuf>,
        /// Command typed by the user.
        command: String,
        /// Whether progress is shown of work that issues no requests.
        shows_progress: bool,
    },
    /// No machine has refused its question: the target may be changed.
    Go,
    /// In place of a plan: send the archive of a part whose coordinator was lost.
    Collect {
        /// Its directory.
        dir: PathBuf,
    },
    /// Start the run, with records in this directory, which does not exist; `None`: choose one, and send it at the end.
    Run {
        /// Directory of the archive.
        archive: Option<PathBuf>,
        /// Whether it is a part of a run on several machines: it reports progress, and judges what it did.
        #[serde(default)]
        on_hosts: bool,
        /// Its records stay there: it sends their counts.
        #[serde(default)]
        keeps_records: bool,
    },
    /// Count the records, after the run.
    Count {
        /// The clock of the run.
        clock: RunClock,
        /// Limits of times that are counted.
        limits: Limits,
        /// Number of processes whose counts are merged.
        parts: usize,
    },
    /// Start a phase at a time of the receiver's `CLOCK_MONOTONIC`, in nanoseconds.
    Begin {
        /// Number of the phase.
        phase: u16,
        /// Start time.
        at: u64,
    },
    /// Do not start a phase.
    Abort {
        /// Reason.
        why: String,
    },
    /// Start the requests of a phase.
    Meet {
        /// Number of the phase.
        phase: u16,
        /// Start time.
        at: u64,
    },
    /// The first job of a phase has finished in another process.
    FirstDone {
        /// Number of the phase.
        phase: u16,
    },
    /// All processes have ended a phase.
    Next {
        /// Number of the phase.
        phase: u16,
        /// Whether the next phase follows.
        goes_on: bool,
    },
    /// Report the time.
    Ping {
        /// Echoed in the answer: when the message was sent, as `CLOCK_MONOTONIC` of the sender.
        sent: u64,
    },
    /// Stop as on this signal.
    Stop {
        /// Signal number.
        signal: i32,
    },
    /// The archive was received completely and may be removed.
    Received,
}

/// Message from a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// First line.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Name and version of the program.
        tool: String,
        /// Identifies the clock: equal for processes with the same `CLOCK_MONOTONIC`.
        clock: String,
        /// SHA-256 of the program; absent on the machine of the coordinator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        build: Option<String>,
    },
    /// Offered files that are missing.
    Wanted {
        /// Their hashes.
        hashes: Vec<String>,
    },
    /// The process cannot execute its part, or not continue.
    Refused {
        /// Reason.
        why: String,
    },
    /// The part is ready for execution.
    Prepared {
        /// Messages for the user before the run, one per line.
        told: Vec<String>,
        /// Facts about its targets.
        info: Box<RunInfo>,
        /// Environment: its machine and its targets.
        environment: serde_json::Value,
        /// Planned work.
        intent: Intent,
    },
    /// A message for the user, one line.
    Notice {
        /// The line.
        line: String,
    },
    /// There is no answer to its question.
    Failed {
        /// Reason.
        why: String,
        /// Exit code.
        code: u8,
    },
    /// It would change its target now.
    Poised,
    /// The answer to its question.
    Answered(Answered),
    /// Its records are in this directory of its machine until received.
    Scratch {
        /// Directory.
        dir: PathBuf,
    },
    /// All its workers are ready for a phase.
    Ready {
        /// Number of the phase.
        phase: u16,
        /// Earliest start time.
        earliest: u64,
    },
    /// All its workers have completed the file operations before the requests of a phase.
    Arrived {
        /// Number of the phase.
        phase: u16,
        /// Time of the last one.
        at: u64,
    },
    /// A job has finished, in a phase that ends with the first one.
    FirstDone {
        /// Number of the phase.
        phase: u16,
    },
    /// Its part of a phase has ended.
    Ended {
        /// Number of the phase.
        phase: u16,
        /// Whether it was executed completely.
        is_whole: bool,
    },
    /// Answer to a ping; times are `CLOCK_MONOTONIC`, in nanoseconds.
    Pong {
        /// From the ping.
        sent: u64,
        /// When the ping arrived.
        arrived: u64,
        /// When this answer was sent.
        answered: u64,
        /// Both clocks there; absent if the kernel does not say how exact they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<SystemTimes>,
    },
    /// A sign of life.
    Alive,
    /// How far its requests are.
    Progress(HostProgress),
    /// A file of its archive; its bytes follow the line.
    File {
        /// File name.
        name: String,
        /// Number of bytes.
        bytes: u64,
    },
    /// Its run has ended, and its archive is complete.
    Done {
        /// Facts about the run.
        info: Box<RunInfo>,
        /// Lines of loads that were skipped.
        skipped: u64,
    },
}

/// The clock of a run, for a process on another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunClock {
    /// Readings of the clock there; absent if both are the same.
    pub readings: Option<HostClock>,
    /// Time zero of the run, as `CLOCK_MONOTONIC` of the coordinator.
    pub origin: u64,
    /// The start of the first phase, on the clocks here and there.
    pub here: u64,
    /// See `here`.
    pub there: u64,
}

/// Both clocks of a machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemTimes {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic: u64,
    /// `CLOCK_REALTIME`, in nanoseconds since 1970.
    pub realtime: u64,
    /// Largest error of the latter, as the kernel knows it; absent if nothing keeps it equal to other clocks.
    pub error_ns: Option<u64>,
}

impl SystemTimes {
    /// Those of this machine; `None` if the kernel does not say how exact they are.
    pub(crate) fn of_this_machine() -> Option<SystemTimes> {
        let SystemClock { monotonic, realtime, error_ns } = system_clock().ok()?;
        Some(SystemTimes { monotonic, realtime, error_ns })
    }
}

/// A file that a plan reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its path in the plan.
    pub path: PathBuf,
    /// SHA-256 as hexadecimal digits.
    pub hash: String,
    /// Its length.
    pub bytes: u64,
}

/// The answer of a verb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Its lines for people.
    pub lines: Vec<String>,
    /// For programs.
    pub json: serde_json::Value,
    /// The exit code of the verb.
    pub code: u8,
}

/// How far the requests of a process are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostProgress {
    /// Requests that completed.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Delay of the latest request.
    pub late_ns: u64,
    /// 99th percentile of the response times since the last report.
    pub p99_ns: u64,
}

impl HostProgress {
    /// Progress of the requests of this process.
    pub(crate) fn of(now: &Snapshot) -> HostProgress {
        HostProgress {
            completed: now.completed,
            failed: now.failed,
            bytes: now.bytes,
            in_flight: now.in_flight,
            late_ns: now.late.0,
            p99_ns: now.p99.0,
        }
    }

    /// That of two processes together.
    #[must_use]
    pub(crate) fn with(self, other: HostProgress) -> HostProgress {
        HostProgress {
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
            bytes: self.bytes + other.bytes,
            in_flight: self.in_flight + other.in_flight,
            late_ns: self.late_ns.max(other.late_ns),
            p99_ns: self.p99_ns.max(other.p99_ns),
        }
    }
}

/// Sanitises a report of another machine: its texts become single lines without control characters.
pub fn harmless(report: Report) -> Report {
    let mut value = serde_json::to_value(&report).unwrap_or_default();
    clean(&mut value);
    // Numbers and keywords are unchanged, so it stays a valid report.
    serde_json::from_value(value).unwrap_or(report)
}

/// Makes all texts single lines without control characters.
pub(crate) fn clean(value: &mut serde_json::Value) {
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

/// Writes a message and flushes.
///
/// # Errors
/// The receiver is gone.
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

/// Reads a message; `None` at EOF.
///
/// # Errors
/// The message is invalid, or reading failed.
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
    fn escapes_text_from_other_hosts() {
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
    fn messages_are_single_lines() {
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
