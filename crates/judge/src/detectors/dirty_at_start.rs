//! Pages that waited to be written when the run began.

use crate::detector::Most;
use crate::thresholds::DIRTY;
use crate::words::size;
use crate::{Case, Detector, Outset, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::DirtyAtStart,
    channel: Channel::Environment,
    // On a machine with other disks it is usual, and says nothing of the target's.
    most: Most::always(Level::Info),
    explains: &[DetectorId::NotSteady, DetectorId::Noisy, DetectorId::StallsHidden],
    about: "Pages that others have changed are written while the run goes on. With 700 MiB of them the longest read took 76 ms instead of 2.",
    detect,
};

const SOURCE: &str = "Dirty in /proc/meminfo, before the run";

fn detect(case: &Case<'_>) -> Option<Seen> {
    case.is_real().then(|| foresee(&case.outset()))?
}

pub(crate) fn foresee(outset: &Outset<'_>) -> Option<Seen> {
    let dirty = *outset.before.memory.dirty.known()? as f64;
    let seen = match DIRTY.level(dirty) {
        Level::Ok => Seen::ok("Few pages waited to be written.", SOURCE),
        level => Seen::at(level, format!("{} waited to be written when the run began.", size(dirty)), SOURCE)
            .remedy("Run sync before."),
    };
    Some(seen.with("dirty_bytes", dirty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn many_dirty_pages_are_told() {
        let seen = Lab::new().reads(1_000, 4096).dirty(700 << 20).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Info);
        assert!(seen.text.starts_with("700.0 MiB waited"), "{}", seen.text);
    }

    #[test]
    fn few_are_fine() {
        assert_eq!(
            Lab::new().reads(1_000, 4096).dirty(1 << 20).detection(&DETECTOR).unwrap().level,
            Level::Ok
        );
    }
}
