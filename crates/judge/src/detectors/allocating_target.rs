//! Files that grew while they were measured.

use crate::detector::Most;
use crate::stack::{Part, parts};
use crate::thresholds::{ALL_UNWRITTEN, ALLOCATED, LEAST_BYTES};
use crate::words::{percent, size};
use crate::{Case, Detector, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::TargetFacts;

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::AllocatingTarget,
    channel: Channel::Mapping,
    most: Most { device: Level::Caution, filesystem: Level::Info, cache: Level::Ok, replay: Level::Caution },
    explains: &[DetectorId::QueueDepthNotReached],
    about: "The first write of a block allocates it, and changes the tables of the file system or of the volume. A second run on the same blocks \
            does not: it is mostly faster (blkreplay manual 3.1.1). Where all blocks were allocated and none was written, the first write changes \
            tables as well, and the number of blocks does not show it.",
    detect,
};

const SOURCE: &str =
    "blocks of the file, and of files behind loop devices, before and after the run; SEEK_DATA before it";

fn detect(case: &Case<'_>) -> Option<Seen> {
    let written = case.tally.traffic().writes.bytes as f64;
    if !case.is_real() || written < LEAST_BYTES as f64 {
        return None;
    }
    let grown = grown(case)?;
    let fresh = fresh(case).unwrap_or(0.0);
    let new = grown.max(fresh).min(written);
    let share = new / written;
    let seen = match ALLOCATED.level(share) {
        Level::Ok => Seen::ok("The blocks that were written had been allocated before.", SOURCE),
        level => Seen::at(
            level,
            format!("{} were allocated, or written for the first time, during the run: {} of what was written.", size(new), percent(share)),
            SOURCE,
        )
        .remedy("Fill the target with random data before, and run once on each fill; or give the first run and the later ones apart."),
    };
    Some(seen.with("allocated_bytes", grown).with("share", share))
}

/// Bytes by which files of the targets, and below them, have grown; none where nobody looked.
fn grown(case: &Case<'_>) -> Option<f64> {
    let (before, after) = (allocated(&case.before.targets)?, allocated(&case.after?.targets)?);
    Some(after.saturating_sub(before) as f64)
}

fn allocated(targets: &[TargetFacts]) -> Option<u64> {
    let files = targets.iter().flat_map(parts).filter_map(|part| match part {
        Part::File(file) => Some(file.allocated.known().copied()),
        _ => None,
    });
    let all: Option<Vec<u64>> = files.collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

/// Of targets that held no data at all where they were used: what was touched. Their blocks may have been allocated before.
fn fresh(case: &Case<'_>) -> Option<f64> {
    let reach = |number: usize| case.tally.places().reach_of(number);
    let outset = case.outset();
    let used =
        outset.targets.iter().enumerate().filter_map(|(number, target)| Some((target, reach(number)?)));
    let is_fresh = used.clone().all(|(target, reach)| {
        target.info.hole_bytes as f64 >= ALL_UNWRITTEN * target.reach() as f64 && reach.span() > 0
    });
    (is_fresh && used.count() > 0).then(|| case.tally.places().touched_bytes() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_plan::Claim;

    fn lab() -> Lab {
        Lab::new().writes(1_000, 65_536).on_file_system("ext4", "vda")
    }

    #[test]
    fn a_file_that_grew_is_told() {
        let grew = lab().allocated(0, 32 << 20);
        let seen = grew.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.starts_with("32.0 MiB were allocated"), "{}", seen.text);
        assert_eq!(grew.claiming(Claim::Filesystem).detection(&DETECTOR).unwrap().level, Level::Info);
    }

    /// The fourth lie of spec 2.3: the blocks of a preallocated file are all there.
    #[test]
    fn blocks_that_were_allocated_and_never_written_are_told_although_their_number_stays() {
        let fallocated = lab().allocated(1 << 30, 1 << 30).holes(1 << 30, 1 << 30);
        assert_eq!(fallocated.detection(&DETECTOR).unwrap().level, Level::Caution);
    }

    #[test]
    fn a_file_that_was_filled_before_is_fine_and_nobody_guesses() {
        let full = lab().allocated(1 << 30, (1 << 30) + 4096).holes(0, 1 << 30);
        assert_eq!(full.detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(lab().detection(&DETECTOR), None);
        let disk = Lab::new().writes(1_000, 65_536).on_disk("vda").scheduler_after("none");
        assert_eq!(disk.detection(&DETECTOR), None, "nobody sees into a disk");
    }
}
