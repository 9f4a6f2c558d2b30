//! What filling came to: a sentence, JSON, an exit code.

use super::range::Range;
use crate::exit::{Exit, Failure};
use crate::fill_args::FillArgs;
use crate::output::print;
use crate::session;
use iosonar_archive::{RunInfo, RunState, TOOL};
use iosonar_host::Emptiness;
use iosonar_runner::Concluded;
use iosonar_text::shown;
use iosonar_view::units::{Charset, bytes, duration};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A target that was filled, or partly.
#[derive(Debug)]
pub struct Filled {
    target: String,
    range: Range,
    times: u32,
    buffered: bool,
    /// Bytes of all writes that completed.
    written: u64,
    /// From the first write to the end of the last flush, in nanoseconds.
    took_ns: u64,
    /// Why not everything was written; none: it was.
    stopped: Option<String>,
    /// What holds no data now, or why nobody knows; none: it was not asked, because not everything was written.
    empty: Option<Result<Emptiness, String>>,
    /// Where the records are kept.
    out: Option<PathBuf>,
}

impl Filled {
    /// What came of it. `ask` finds out what holds no data.
    pub fn of(
        args: &FillArgs,
        range: &Range,
        buffered: bool,
        concluded: &Concluded,
        ask: impl FnOnce() -> Result<Emptiness, String>,
    ) -> Filled {
        let Concluded { info, figures, .. } = concluded;
        let stopped = stopped(concluded);
        let start = info.passes.iter().map(|pass| pass.start).min().unwrap_or_default();
        let end = info.passes.iter().map(|pass| pass.end).max().unwrap_or_default();
        Filled {
            target: args.target.display().to_string(),
            range: *range,
            times: args.range.times,
            buffered,
            written: figures.tally.traffic().writes.bytes,
            took_ns: end.saturating_sub(start).0,
            empty: stopped.is_none().then(ask),
            stopped,
            out: args.result.out.clone(),
        }
    }

    /// Prints it.
    pub fn tell(&self, as_json: bool) -> Result<(), Failure> {
        let text = if as_json { format!("{:#}\n", self.json()) } else { self.text() };
        Ok(print(&text)?)
    }

    /// How the program ends.
    pub fn exit(&self, info: &RunInfo) -> Exit {
        session::exit(info, self.stopped.is_some() || self.holds_nothing() > 0, false, false)
    }

    /// Bytes that are known to hold no data.
    fn holds_nothing(&self) -> u64 {
        self.empty.as_ref().and_then(|told| Some(told.as_ref().ok()?.empty)).unwrap_or(0)
    }

    fn per_second(&self) -> Option<f64> {
        (self.took_ns > 0).then(|| self.written as f64 / (self.took_ns as f64 / 1e9))
    }

    fn text(&self) -> String {
        let Filled { times, range, written, .. } = self;
        let target = shown(&self.target);
        let again = if *times == 1 { String::new() } else { format!(" {times} times") };
        let rate = self.per_second().map_or(String::new(), |rate| format!(" ({}/s)", bytes(rate as u64)));
        let time = format!("in {}{rate}", duration(self.took_ns, Charset::Ascii));
        let mut text = match &self.stopped {
            None => format!("filled {} of {target}{again} {time}{}\n", bytes(range.length), self.stored()),
            Some(why) => {
                let all = bytes(range.length.saturating_mul((*times).into()));
                format!(
                    "not filled: {} of {all} were written to {target} {time}: {}\n",
                    bytes(*written),
                    shown(why)
                )
            }
        };
        if let Some(out) = &self.out {
            text += &format!("result: {}\n", shown(&out));
        }
        text
    }

    /// What is stored now.
    fn stored(&self) -> String {
        match &self.empty {
            Some(Ok(Emptiness { empty: 0, .. })) => "; every byte is stored".into(),
            Some(Ok(Emptiness { empty, file })) => format!(
                ", but {} of it hold no data in {}: something discards what is written there; find out what, and fill it \
                 again",
                bytes(*empty),
                shown(&file)
            ),
            Some(Err(why)) => format!("; whether every byte is stored is not known: {}", shown(why)),
            None => String::new(),
        }
    }

    fn json(&self) -> Value {
        let stored = match &self.empty {
            Some(Ok(Emptiness { empty, file })) => {
                json!({ "is_known": true, "empty_bytes": empty, "file": file.display().to_string() })
            }
            Some(Err(why)) => json!({ "is_known": false, "why": why }),
            None => json!({ "is_known": false, "why": "not everything was written" }),
        };
        json!({
            "version": 1,
            "tool": TOOL,
            "target": self.target,
            "offset": self.range.start,
            "bytes": self.range.length,
            "times": self.times,
            "buffered": self.buffered,
            "written_bytes": self.written,
            "took_ns": self.took_ns,
            "bytes_per_second": self.per_second(),
            "stopped_by": self.stopped,
            "stored": stored,
            "result": self.out.as_ref().map(|out| out.display().to_string()),
        })
    }
}

/// Why not everything was written.
fn stopped(concluded: &Concluded) -> Option<String> {
    let Concluded { info, figures, .. } = concluded;
    let errors = figures.summary.errors.iter();
    let errors: Vec<String> = errors.map(|error| format!("{} with {}", error.count, error.name)).collect();
    match &info.state {
        RunState::Interrupted(why) => Some(why.clone()),
        _ if !errors.is_empty() => Some(format!("writes failed: {}", errors.join(", "))),
        RunState::Broken(why) => Some(why.clone()),
        _ => info.targets.iter().find_map(|target| target.ended_early.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(empty: Option<Result<Emptiness, String>>, stopped: Option<&str>) -> Filled {
        Filled {
            target: "/dev/loop0".into(),
            range: Range::whole(1 << 30),
            times: 1,
            buffered: false,
            written: 1 << 30,
            took_ns: 2_000_000_000,
            stopped: stopped.map(String::from),
            empty,
            out: None,
        }
    }

    fn told(empty: u64) -> Option<Result<Emptiness, String>> {
        Some(Ok(Emptiness { empty, file: "image".into() }))
    }

    #[test]
    fn what_is_stored_is_told_in_one_line() {
        let text = filled(told(0), None).text();
        assert_eq!(text, "filled 1.00 GiB of /dev/loop0 in 2.00 s (512 MiB/s); every byte is stored\n");
        let unknown = filled(Some(Err("sda does not report it".into())), None);
        assert!(
            unknown.text().contains("; whether every byte is stored is not known: sda does not report it")
        );
        assert_eq!(unknown.exit(&finished()), Exit::Fine);
        let twice = Filled { times: 2, ..filled(told(0), None) };
        assert!(twice.text().starts_with("filled 1.00 GiB of /dev/loop0 2 times in "), "{}", twice.text());
    }

    fn finished() -> RunInfo {
        RunInfo { state: RunState::Finished, ..RunInfo::new(TOOL, "", Vec::new()) }
    }

    #[test]
    fn bytes_that_hold_no_data_are_a_failure() {
        let filled = filled(told(4 << 20), None);
        assert!(filled.text().contains(", but 4.00 MiB of it hold no data in image: "), "{}", filled.text());
        assert_eq!(filled.exit(&finished()), Exit::Failed);
        assert_eq!(filled.json()["stored"]["empty_bytes"], 4 << 20);
    }

    #[test]
    fn what_was_stopped_tells_what_was_written() {
        let mut stopped = filled(None, Some("SIGINT"));
        stopped.written = 256 << 20;
        let text =
            "not filled: 256 MiB of 1.00 GiB were written to /dev/loop0 in 2.00 s (128 MiB/s): SIGINT\n";
        assert_eq!(stopped.text(), text);
        let info = RunInfo { state: RunState::Interrupted("SIGINT".into()), ..finished() };
        assert_eq!(stopped.exit(&info), Exit::Signal(2));
        assert_eq!(stopped.json()["stored"]["is_known"], false);
    }
}
