//! Targets that answer reads of zeros without reading.

use crate::detector::Most;
use crate::thresholds::{LEAST_OF_KIND, SURE_SIGMAS, ZEROS_FASTER};
use crate::words::{factor, micros};
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::{Fact, RereadTimes};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::ZeroesShortCut,
    channel: Channel::Content,
    most: Most::of_devices(Level::Fail),
    explains: &[],
    about: "Volumes that are thin, deduplicate or compress store nothing for a block of zeros, or for one that was never written, and answer \
            its reads without reading (blkreplay manual 3.1.1). Nobody on this machine sees which blocks are stored there, but their reads are \
            faster.",
    is_witness: true,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "content and times of random blocks that were read with O_DIRECT, before the run";

fn detect(case: &Case<'_>) -> Option<Finding> {
    predict_all(&case.planned(), true).filter(|_| case.is_real())
}

/// Ranges that are written before they are read have data by then, so only ranges that are only read are predicted.
fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    predict_all(planned, false)
}

/// Ranges that a run writes may hold data before they are read: such targets are examined only with `of_written`, and reported as
/// information.
fn predict_all(planned: &PlannedRun<'_>, of_written: bool) -> Option<Finding> {
    let read = planned.targets.iter().filter(|target| target.is_read && (of_written || !target.is_written));
    let answers: Vec<Finding> = read
        .filter_map(|target| match planned.reread_of(target)? {
            Fact::Known(times) => Some(seen(times, target.is_written)),
            Fact::Absent { absent } => {
                let text = format!("Whether zeros are answered without reading is not known: {absent}.");
                Some(Finding::unknown(text, SOURCE))
            }
        })
        .collect();
    answers.into_iter().max_by_key(Finding::level)
}

fn seen(times: &RereadTimes, is_written: bool) -> Finding {
    let (zeros, data) = (times.zero_blocks, times.data_blocks());
    let seen = match times.data_and_zeros {
        Some(compared) if zeros.min(data) >= LEAST_OF_KIND => {
            let ratio = compared.ratio();
            let is_sure = compared.sigmas((data, zeros)) > SURE_SIGMAS;
            let [of_data, of_zeros] = [compared.first_ns, compared.second_ns].map(micros);
            let both = format!("{of_zeros} us, blocks with data {of_data} us");
            let level = if ratio <= ZEROS_FASTER || !is_sure {
                Level::Ok
            } else if is_written {
                Level::Info
            } else {
                Level::Fail
            };
            let seen = match level {
                Level::Ok => Finding::ok(format!("Blocks of zeros take {both}."), SOURCE),
                _ => Finding::at(
                    level,
                    format!("Blocks of zeros take {both} ({} x): zeros are answered without reading.", factor(ratio)),
                    SOURCE,
                )
                .remedy("Fill the range with random data before the run ('iosonar fill', which overwrites it), and do not discard it afterwards."),
            };
            seen.with("data_to_zeros_ratio", ratio)
        }
        _ if zeros == 0 => Finding::ok(format!("None of {data} random blocks is all zeros."), SOURCE),
        _ => {
            let text = format!(
                "{zeros} of {} random blocks are zeros: too few of them, or of the others, to compare their times.",
                times.blocks
            );
            Finding::unknown(text, SOURCE)
        }
    };
    seen.with("zero_blocks", zeros as f64).with("blocks", times.blocks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_plan::Claim;

    type Kind = (u64, u64, u64);
    /// The half-sparse image of the specification: zeros, and data.
    const SPARSE: (Kind, Kind) = ((150, 43_000, 10), (150, 99_000, 140));

    fn lab(zeros: Kind, data: Kind) -> Lab {
        Lab::new().on_disk("vda").reread_of_kinds(zeros, data)
    }

    #[test]
    fn reports_zeros_faster_than_data() {
        let lab = lab(SPARSE.0, SPARSE.1);
        let seen = lab.clone().reads(1_000, 4096).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Fail, false));
        let expected =
            "Blocks of zeros take 43 us, blocks with data 99 us (2.3 x): zeros are answered without reading.";
        assert_eq!(seen.text, expected);
        let of = |claim| lab.clone().reads(1_000, 4096).claiming(claim).detection(&DETECTOR).unwrap().level;
        assert_eq!([Claim::Filesystem, Claim::Cache].map(of), [Level::Info, Level::Ok]);
        // Ranges that the run writes may be data before they are read.
        let written = lab.writes(1_000, 4096).reads(1_000, 4096).detection(&DETECTOR).unwrap();
        assert_eq!(written.level, Level::Info);
        // If the holes are visible, they are the cause.
        let holes = Lab::new().on_file_system("ext4", "vda").reread_of_kinds(SPARSE.0, SPARSE.1);
        let judgement = holes.reads(1_000, 65_536).holes(1 << 29, 1 << 30).judgement();
        let symptom = judgement.of(DetectorId::ZeroesShortCut).unwrap();
        assert_eq!((symptom.level, symptom.explained_by), (Level::Fail, Some(DetectorId::UnmappedTarget)));
    }

    #[test]
    fn accepts_zeros_as_slow_as_data_and_skips_small_samples() {
        let level = |lab: Lab| lab.reads(1_000, 4096).detection(&DETECTOR).map(|seen| seen.level);
        assert_eq!(level(lab((150, 69_100, 75), (150, 69_100, 75))), Some(Level::Ok));
        // Half of the reads wait for a tick of the scheduler.
        assert_eq!(level(lab((150, 97_000, 70), (150, 4_000_000, 80))), Some(Level::Ok));
        assert_eq!(level(lab((0, 0, 0), (300, 69_100, 0))), Some(Level::Ok));
        assert_eq!(level(lab((99, 10_000, 0), (300, 69_100, 300))), Some(Level::Unknown));
        assert_eq!(level(lab((300, 10_000, 0), (0, 0, 0))), Some(Level::Unknown));
        assert_eq!(level(Lab::new().on_disk("vda")), None);
        assert_eq!(level(Lab::new().on_disk("vda").not_reread("no O_DIRECT")), Some(Level::Unknown));
    }
}
