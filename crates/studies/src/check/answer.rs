//! The differences between a replay and a recording.

use super::aside::NotCompared;
use super::flushes::Flushes;
use iosonar_plan::SECTOR;
use iosonar_text::shown;
use iosonar_trace::{Differences, Key};
use serde_json::{Value, json};
use std::fmt::Write;

/// The differences between a replay and a recording of it.
pub struct Answer {
    pub(super) replay: Side,
    pub(super) recording: Side,
    pub(super) found: Differences,
    pub(super) aside: NotCompared,
    /// Names of the devices, by number; empty where all are treated as one.
    pub(super) devices: Vec<String>,
    /// Remarks for the reader, as sentences.
    pub(super) notes: Vec<String>,
    /// How the clocks of both compare.
    pub(super) clock: Option<&'static str>,
    pub(super) flushes: Flushes,
    /// Entries of both that cannot be read.
    pub damaged: u64,
}

/// One of the traces.
pub(super) struct Side {
    /// Its files, as typed.
    pub name: String,
    /// Its format, in words.
    pub format: String,
}

impl Answer {
    /// Whether every request was issued, and nothing else.
    pub fn are_same(&self) -> bool {
        self.found.are_none() && self.flushes.are_alike()
    }

    fn device(&self, key: &Key) -> Option<&str> {
        self.devices.get(usize::from(key.device)).map(String::as_str)
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        let found = &self.found;
        let one = |key: &Key| {
            let (sector, sectors) = (key.offset / SECTOR, key.length() / SECTOR);
            let mut one = json!({"sector": sector, "sectors": sectors, "op": key.op().name()});
            if let Some(device) = self.device(key) {
                one["device"] = device.into();
            }
            one
        };
        let list = |keys: &[Key]| -> Vec<Value> { keys.iter().map(one).collect() };
        json!({
            "same": found.same,
            "split": {"requests": found.split.0, "parts": found.split.1},
            "joined": {"requests": found.joined.0, "into": found.joined.1},
            "missing": list(&found.missing),
            "added": list(&found.added),
            "flushes": self.flushes.json(),
            "lost_events": self.aside.lost,
            "outside": self.aside.outside,
            "own_reads": self.aside.own,
            "retried": self.aside.retried,
            "other_processes": self.aside.others,
            "clock": self.clock,
            "notes": self.notes,
        })
    }

    /// The answer for people, with at most `most` differences of each kind.
    pub fn text(&self, most: usize) -> String {
        let (replay, recording, found) = (&self.replay, &self.recording, &self.found);
        let mut text = format!(
            "{} ({}) against {} ({})\n",
            shown(&replay.name),
            shown(&replay.format),
            shown(&recording.name),
            shown(&recording.format)
        );
        let _ = writeln!(text, "  in both    {} requests", found.same);
        if found.split.0 > 0 {
            let _ = writeln!(text, "  split      {} requests into {}", found.split.0, found.split.1);
        }
        if found.joined.0 > 0 {
            let _ = writeln!(text, "  joined     {} requests into {}", found.joined.0, found.joined.1);
        }
        for (name, keys) in [("missing", &found.missing), ("added", &found.added)] {
            let _ = writeln!(text, "  {name:<10} {} requests", keys.len());
            for key in keys.iter().take(most) {
                let (sector, sectors) = (key.offset / SECTOR, key.length() / SECTOR);
                let device =
                    self.device(key).map(|device| format!(" of {}", shown(device))).unwrap_or_default();
                let _ =
                    writeln!(text, "             {} at sector {sector}, {sectors} sectors{device}", key.op());
            }
            if keys.len() > most {
                let _ = writeln!(text, "             and {} more: --list shows more", keys.len() - most);
            }
        }
        text += &self.flushes.text();
        let outside = self.aside.outside;
        if outside > 0 {
            let _ = writeln!(text, "  outside    {outside} requests before and after the run");
        }
        for note in &self.notes {
            let _ = writeln!(text, "  note       {}", shown(note));
        }
        text += &self.flushes.difference();
        let verdict = match (self.are_same(), self.flushes.are_any()) {
            (true, false) => "every request was issued, and nothing else",
            (true, true) => {
                "every read and write was issued, and nothing else; flushes agree in their number"
            }
            (false, _) => "they differ",
        };
        let _ = writeln!(text, "  {verdict}");
        text
    }
}
