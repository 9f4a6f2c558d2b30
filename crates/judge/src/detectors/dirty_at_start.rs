//! Pages that waited to be written when the run began.

use crate::detector::Most;
use crate::thresholds::DIRTY;
use crate::words::size;
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::DirtyAtStart,
    channel: Channel::Environment,
    // On a machine with other disks it is usual, and says nothing about the target's.
    most: Most::always(Level::Info),
    explains: &[DetectorId::NotSteady, DetectorId::Noisy, DetectorId::StallsHidden],
    about: "Pages that others have changed are written while the run goes on. With 700 MiB of them the longest read took 76 ms instead of 2.",
    is_witness: false,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "Dirty and Writeback in /proc/meminfo, before the run";

fn detect(case: &Case<'_>) -> Option<Finding> {
    case.is_real().then(|| predict(&case.planned()))?
}

fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    let dirty = planned.before.memory.waiting()? as f64;
    let written_back = planned.before.written_back;
    let done = written_back.map(|done| {
        let (bytes, seconds) = (size(done.waited_bytes as f64), done.took_ns as f64 / 1e9);
        format!(
            "{bytes} waited to be written before the run, and {seconds:.1} s were spent on writing them back"
        )
    });
    let seen = match (DIRTY.level(dirty), done) {
        (Level::Ok, None) => Finding::ok("Few pages waited to be written.", SOURCE),
        (Level::Ok, Some(done)) => Finding::ok(format!("{done}."), SOURCE),
        (level, done) => {
            let done = done.map(|done| format!("{done}; ")).unwrap_or_default();
            let text = format!("{done}{} waited to be written when the run began.", size(dirty));
            Finding::at(level, text, SOURCE)
                .remedy("Wait until others have written: a run writes back what waits before, for half a minute at most.")
        }
    };
    let seen = seen.with("dirty_bytes", dirty);
    Some(match written_back {
        Some(done) => seen
            .with("waited_bytes", done.waited_bytes as f64)
            .with("write_back_seconds", done.took_ns as f64 / 1e9),
        None => seen,
    })
}

/// Whether so much data is dirty that a run writes it back before it starts.
pub fn is_much_to_write(bytes: u64) -> bool {
    DIRTY.level(bytes as f64) > Level::Ok
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_many_dirty_pages() {
        let seen = Lab::new().reads(1_000, 4096).dirty(700 << 20).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Info);
        assert!(seen.text.starts_with("700.0 MiB waited"), "{}", seen.text);
    }

    #[test]
    fn judges_only_dirty_pages_left_after_write_back() {
        let lab = || Lab::new().reads(1_000, 4096);
        let done = lab().dirty(1 << 20).written_back(700 << 20).detection(&DETECTOR).unwrap();
        assert_eq!(done.level, Level::Ok);
        assert!(
            done.text.starts_with("700.0 MiB waited to be written before the run, and 2.0 s"),
            "{}",
            done.text
        );
        let left = lab().dirty(600 << 20).written_back(700 << 20).detection(&DETECTOR).unwrap();
        assert_eq!(left.level, Level::Info);
        assert!(left.text.ends_with("600.0 MiB waited to be written when the run began."), "{}", left.text);
    }

    #[test]
    fn accepts_few_dirty_pages() {
        assert_eq!(
            Lab::new().reads(1_000, 4096).dirty(1 << 20).detection(&DETECTOR).unwrap().level,
            Level::Ok
        );
    }
}
