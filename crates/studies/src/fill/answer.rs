//! The result of filling: a sentence, and JSON.

use super::Question;
use super::range::Range;
use iosonar_archive::{RunState, TOOL};
use iosonar_host::UnmappedBytes;
use iosonar_runner::Concluded;
use iosonar_text::shown;
use iosonar_text::units::{Charset, bytes, duration};
use serde::{Serialize, Serializer};
use serde_json::json;
use std::fmt;

/// A target that was filled, or partly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    version: u32,
    tool: &'static str,
    /// As asked.
    pub target: String,
    /// The first byte.
    pub offset: u64,
    /// Length of the range.
    pub bytes: u64,
    /// How often it was to be written.
    pub times: u32,
    /// Whether it was written through the page cache.
    pub buffered: bool,
    /// Bytes of all writes that completed.
    pub written_bytes: u64,
    /// From the first write to the end of the last flush, in nanoseconds.
    pub took_ns: u64,
    /// Mean rate; `None` in no time.
    pub bytes_per_second: Option<f64>,
    /// Why not everything was written; `None` if it was.
    pub stopped_by: Option<String>,
    /// Bytes that hold no data, according to the file system; or why that is unknown.
    #[serde(serialize_with = "stored_json")]
    pub stored: Result<UnmappedBytes, String>,
    /// Where the records are kept.
    pub result: Option<String>,
    /// How the run ended.
    #[serde(skip)]
    pub state: RunState,
}

/// The JSON of [`Answer::stored`].
fn stored_json<S: Serializer>(stored: &Result<UnmappedBytes, String>, to: S) -> Result<S::Ok, S::Error> {
    match stored {
        Ok(UnmappedBytes { empty, file }) => {
            json!({ "is_known": true, "empty_bytes": empty, "file": file.display().to_string() })
        }
        Err(why) => json!({ "is_known": false, "why": why }),
    }
    .serialize(to)
}

impl Answer {
    /// The answer of a run. `ask` finds out which bytes hold no data.
    pub(super) fn of(
        question: &Question,
        range: &Range,
        buffered: bool,
        concluded: &Concluded,
        ask: impl FnOnce() -> Result<UnmappedBytes, String>,
    ) -> Answer {
        let Concluded { info, figures, .. } = concluded;
        let stopped_by = stopped(concluded);
        let start = info.passes.iter().map(|pass| pass.start).min().unwrap_or_default();
        let end = info.passes.iter().map(|pass| pass.end).max().unwrap_or_default();
        let (written_bytes, took_ns) = (figures.tally.traffic().writes.bytes, end.saturating_sub(start).0);
        Answer {
            version: 1,
            tool: TOOL,
            target: question.target.display().to_string(),
            offset: range.start,
            bytes: range.length,
            times: question.times,
            buffered,
            written_bytes,
            took_ns,
            bytes_per_second: (took_ns > 0).then(|| written_bytes as f64 / (took_ns as f64 / 1e9)),
            stored: match &stopped_by {
                None => ask(),
                Some(_) => Err("not everything was written".into()),
            },
            stopped_by,
            result: question.out.as_ref().map(|out| out.display().to_string()),
            state: info.state.clone(),
        }
    }

    /// Whether everything was written, and nothing of it is known to hold no data.
    pub fn is_filled(&self) -> bool {
        let holds_nothing = matches!(self.stored, Ok(UnmappedBytes { empty, .. }) if empty > 0);
        self.stopped_by.is_none() && !holds_nothing
    }

    /// The end of the sentence: whether it is stored now.
    fn stored(&self) -> String {
        match &self.stored {
            _ if self.stopped_by.is_some() => String::new(),
            Ok(UnmappedBytes { empty: 0, .. }) => "; every byte is stored".into(),
            Ok(UnmappedBytes { empty, file }) => format!(
                ", but {} of it hold no data in {}: something discards what is written there; find out what, and fill it \
                 again",
                bytes(*empty),
                shown(&file)
            ),
            Err(why) => {
                format!("; whether every byte is stored is not known: {}", shown(why))
            }
        }
    }
}

/// The text of the command: one line, and one with the result.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = shown(&self.target);
        let again = if self.times == 1 { String::new() } else { format!(" {} times", self.times) };
        let rate = self.bytes_per_second.map_or(String::new(), |rate| format!(" ({}/s)", bytes(rate as u64)));
        let time = format!("in {}{rate}", duration(self.took_ns, Charset::Ascii));
        match &self.stopped_by {
            None => writeln!(f, "filled {} of {target}{again} {time}{}", bytes(self.bytes), self.stored())?,
            Some(why) => {
                let all = bytes(self.bytes.saturating_mul(self.times.into()));
                let written = bytes(self.written_bytes);
                writeln!(
                    f,
                    "not filled: {written} of {all} were written to {target} {time}: {}",
                    shown(why)
                )?;
            }
        }
        match &self.result {
            Some(out) => writeln!(f, "result: {}", shown(&out)),
            None => Ok(()),
        }
    }
}

/// Why not everything was written.
fn stopped(concluded: &Concluded) -> Option<String> {
    let Concluded { info, figures, .. } = concluded;
    let errors = figures.summary.errors.iter();
    let errors: Vec<String> = errors.map(|error| format!("{} with {}", error.count, error.name)).collect();
    match &info.state {
        RunState::Interrupted(by) => Some(by.to_string()),
        _ if !errors.is_empty() => Some(format!("writes failed: {}", errors.join(", "))),
        RunState::Broken(why) => Some(why.to_string()),
        _ => info.targets.iter().find_map(|target| target.ended_early.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(stored: Result<u64, &str>, stopped: Option<&str>) -> Answer {
        let emptiness =
            stored.map(|empty| UnmappedBytes { empty, file: "image".into() }).map_err(String::from);
        Answer {
            version: 1,
            tool: TOOL,
            target: "/dev/loop0".into(),
            offset: 0,
            bytes: 1 << 30,
            times: 1,
            buffered: false,
            written_bytes: 1 << 30,
            took_ns: 2_000_000_000,
            bytes_per_second: Some(f64::from(512 << 20)),
            stopped_by: stopped.map(String::from),
            stored: emptiness,
            result: None,
            state: RunState::Finished,
        }
    }

    #[test]
    fn prints_what_is_stored_in_one_line() {
        let text = filled(Ok(0), None).to_string();
        assert_eq!(text, "filled 1.00 GiB of /dev/loop0 in 2.00 s (512 MiB/s); every byte is stored\n");
        let unknown = filled(Err("sda does not report it"), None);
        let text = unknown.to_string();
        assert!(
            text.contains("; whether every byte is stored is not known: sda does not report it"),
            "{text}"
        );
        assert!(unknown.is_filled());
        let twice = Answer { times: 2, ..filled(Ok(0), None) }.to_string();
        assert!(twice.starts_with("filled 1.00 GiB of /dev/loop0 2 times in "), "{twice}");
    }

    #[test]
    fn reports_unfilled_bytes_of_backing_file() {
        let filled = filled(Ok(4 << 20), None);
        let text = filled.to_string();
        assert!(text.contains(", but 4.00 MiB of it hold no data in image: "), "{text}");
        assert!(!filled.is_filled());
        let json = serde_json::to_value(&filled).unwrap();
        assert_eq!(
            json["stored"],
            serde_json::json!({"is_known": true, "empty_bytes": 4 << 20, "file": "image"})
        );
    }

    #[test]
    fn prints_what_was_written_before_a_stop() {
        let stopped = Answer {
            written_bytes: 256 << 20,
            bytes_per_second: Some(f64::from(128 << 20)),
            ..filled(Err("not everything was written"), Some("SIGINT"))
        };
        let text =
            "not filled: 256 MiB of 1.00 GiB were written to /dev/loop0 in 2.00 s (128 MiB/s): SIGINT\n";
        assert_eq!(stopped.to_string(), text);
        assert!(!stopped.is_filled());
        assert_eq!(serde_json::to_value(&stopped).unwrap()["stored"]["is_known"], false);
    }
}
