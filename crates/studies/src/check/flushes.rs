//! Flushes, and writes with FUA or a preflush, of a replay and of the trace it is compared with. Their number is compared; their places in
//! the order of requests are not.

use iosonar_archive::Archive;
use iosonar_host::{TargetFacts, TargetKind};
use iosonar_plan::Durability;
use iosonar_trace::{Kind, Traced};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Counts of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FlushCounts {
    flushes: u64,
    fua: u64,
    preflush: u64,
}

impl FlushCounts {
    /// Counts the request's flags; returns whether it is a flush, which needs no further comparison.
    pub fn add(&mut self, request: &Traced) -> bool {
        let durability = request.durability();
        self.fua += u64::from(durability.has(Durability::FUA));
        self.preflush += u64::from(durability.has(Durability::PREFLUSH));
        self.flushes += u64::from(request.kind == Kind::Flush);
        request.kind == Kind::Flush
    }

    /// Separate flushes and preflushes: a replay issues preflushes apart from the write.
    fn all(self) -> u64 {
        self.flushes + self.preflush
    }

    /// Excess over the other side.
    fn beyond(self, other: FlushCounts) -> Gap {
        Gap { flushes: self.all().saturating_sub(other.all()), fua: self.fua.saturating_sub(other.fua) }
    }

    /// Number of preflushes, in words; empty without any.
    fn preflushes(self) -> String {
        if self.preflush == 0 { String::new() } else { format!(" ({} before a write)", self.preflush) }
    }

    fn json(self) -> Value {
        json!({"flushes": self.flushes, "fua": self.fua, "preflush": self.preflush})
    }
}

/// Excess of one side over the other.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Gap {
    /// Including preflushes.
    flushes: u64,
    fua: u64,
}

impl Gap {
    fn json(self) -> Value {
        json!({"flushes": self.flushes, "fua": self.fua})
    }
}

/// Which flushes the other side records.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Visibility {
    /// All: it is a load or a result.
    All,
    /// Only those that reached the device: where it has no FUA, the kernel flushes after the write instead.
    ByKernel,
    /// Nothing: the kernel drops them before a device that has no volatile write cache.
    Nothing,
}

/// Counts of both sides.
#[derive(Debug, Clone, Copy)]
pub struct Flushes {
    replay: FlushCounts,
    recording: FlushCounts,
    visibility: Visibility,
}

impl Flushes {
    /// Counts of the replay at a path and of the other side.
    pub fn of(path: &Path, replay: FlushCounts, by_kernel: bool, recording: FlushCounts) -> Flushes {
        let visibility = match by_kernel {
            true if recording == FlushCounts::default() && is_written_through(path) => Visibility::Nothing,
            true => Visibility::ByKernel,
            false => Visibility::All,
        };
        Flushes { replay, recording, visibility }
    }

    /// Flushes and FUA writes of the replay that the other side lacks.
    fn missing(&self) -> Gap {
        let (replay, recording) = (self.replay, self.recording);
        let gap = replay.beyond(recording);
        match self.visibility {
            Visibility::All => gap,
            Visibility::ByKernel => {
                let instead = recording.all().saturating_sub(replay.all());
                Gap { fua: gap.fua.saturating_sub(instead), ..gap }
            }
            Visibility::Nothing => Gap::default(),
        }
    }

    /// Flushes and FUA writes that the replay should have issued. The kernel's own recording may contain those of others.
    fn left_out(&self) -> Gap {
        match self.visibility {
            Visibility::All => self.recording.beyond(self.replay),
            Visibility::ByKernel | Visibility::Nothing => Gap::default(),
        }
    }

    /// Whether nothing is missing on either side.
    pub fn are_alike(&self) -> bool {
        self.missing() == Gap::default() && self.left_out() == Gap::default()
    }

    /// Whether there is any on either side.
    pub fn are_any(&self) -> bool {
        [self.replay, self.recording].iter().any(|counts| *counts != FlushCounts::default())
    }

    /// Remark for the reader.
    pub fn note(&self) -> Option<String> {
        (self.visibility == Visibility::Nothing && self.replay != FlushCounts::default()).then(|| {
            "the device has no volatile write cache (queue/write_cache: write through), so the kernel drops flushes and \
             FUA before it, and they are in no recording"
                .into()
        })
    }

    /// Counts of each side; empty without any.
    pub fn text(&self) -> String {
        let (replay, recording) = (self.replay, self.recording);
        let mut text = String::new();
        if replay.all() + recording.all() > 0 {
            let _ = writeln!(
                text,
                "  flushes    {} in the replay{}, {} in the recording{}",
                replay.all(),
                replay.preflushes(),
                recording.all(),
                recording.preflushes()
            );
        }
        if replay.fua + recording.fua > 0 {
            let _ = writeln!(
                text,
                "  FUA writes {} in the replay, {} in the recording",
                replay.fua, recording.fua
            );
        }
        text
    }

    /// Counts that are missing on a side.
    pub fn difference(&self) -> String {
        let line = |(what, gap): (&str, Gap)| {
            let parts = [(gap.flushes, "flushes"), (gap.fua, "FUA writes")];
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            let parts: Vec<String> = parts.map(|(count, name)| format!("{count} {name}")).collect();
            if parts.is_empty() { String::new() } else { format!("  {what:<10} {}\n", parts.join(", ")) }
        };
        [("missing", self.missing()), ("not issued", self.left_out())].map(line).concat()
    }

    /// All counts, as JSON.
    pub fn json(&self) -> Value {
        json!({
            "replay": self.replay.json(),
            "recording": self.recording.json(),
            "missing": self.missing().json(),
            "left_out": self.left_out().json(),
        })
    }
}

/// Whether every target of an archive is a block device without a volatile write cache.
fn is_written_through(path: &Path) -> bool {
    let Ok(archive) = Archive::open(path) else { return false };
    let targets = archive.environment().targets;
    let is_through = |target: &TargetFacts| match &target.kind {
        TargetKind::BlockDevice(device) => {
            device.queue.write_cache.known().is_some_and(|cache| cache == "write through")
        }
        _ => false,
    };
    !targets.is_empty() && targets.iter().all(is_through)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(wanted: (u64, u64, u64), visibility: Visibility, seen: (u64, u64, u64)) -> [(u64, u64); 2] {
        let counts = |(flushes, fua, preflush)| FlushCounts { flushes, fua, preflush };
        let flushes = Flushes { replay: counts(wanted), recording: counts(seen), visibility };
        [flushes.missing(), flushes.left_out()].map(|gap| (gap.flushes, gap.fua))
    }

    #[test]
    fn accepts_kernel_flushes_in_place_of_fua() {
        assert_eq!(of((2, 3, 3), Visibility::ByKernel, (5, 3, 0)), [(0, 0), (0, 0)]);
        assert_eq!(of((2, 3, 3), Visibility::ByKernel, (8, 0, 0)), [(0, 0), (0, 0)]);
        assert_eq!(of((2, 3, 3), Visibility::ByKernel, (7, 0, 0)), [(0, 1), (0, 0)]);
        assert_eq!(of((2, 3, 3), Visibility::ByKernel, (4, 3, 0)), [(1, 0), (0, 0)]);
        // Flushes of others are not missing in this replay.
        assert_eq!(of((0, 0, 0), Visibility::ByKernel, (9, 2, 0)), [(0, 0), (0, 0)]);
        assert_eq!(of((2, 3, 3), Visibility::Nothing, (0, 0, 0)), [(0, 0), (0, 0)]);
    }

    #[test]
    fn load_flushes_must_match_exactly() {
        assert_eq!(of((2, 3, 3), Visibility::All, (2, 3, 3)), [(0, 0), (0, 0)]);
        assert_eq!(of((2, 3, 3), Visibility::All, (8, 0, 0)), [(0, 3), (3, 0)]);
        assert_eq!(of((0, 0, 0), Visibility::All, (2, 3, 3)), [(0, 0), (5, 3)]);
    }
}
