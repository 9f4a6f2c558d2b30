//! Written bytes that were still in memory when the run ended.

use crate::detector::Most;
use crate::thresholds::{LEAST_BYTES, NOT_ON_DEVICE};
use crate::words::{percent, size};
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::WritesNotOnDevice,
    channel: Channel::Accounting,
    most: Most { device: Level::Fail, filesystem: Level::Caution, cache: Level::Ok, replay: Level::Fail },
    explains: &[DetectorId::QueueDepthNotReached],
    about: "A write through the page cache ends when its data is in memory. What the kernel writes later is not in the time that was \
            measured. The bytes that were written are compared with what the devices below the target had got when the run ended.",
    is_witness: true,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "the devices' stat files (of NFS /proc/self/mountstats), before the run and at its end";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let writes = case.writes();
    if !case.is_real() || writes.asked < LEAST_BYTES as f64 {
        return None;
    }
    let Some(share) = writes.bottom_share() else {
        let why = writes.unseen.unwrap_or_else(|| "nothing was sampled".into());
        return Some(Finding::unknown(
            format!("Whether writes reached a device is not known: {why}."),
            SOURCE,
        ));
    };
    let devices = writes.names();
    if share > 1.05 && !case.is_direct() {
        let why = format!(
            "more was written to {devices} than by this run, so whether its own data is there is not known."
        );
        return Some(Finding::unknown(why, SOURCE).with("asked_bytes", writes.asked));
    }
    let seen = match writes.level(NOT_ON_DEVICE, 1.0 - share) {
        Level::Ok => Finding::ok(format!("All written bytes had reached {devices} when the run ended."), SOURCE),
        level => Finding::at(
            level,
            format!(
                "{} of the bytes written ({}) had not reached {devices} when the run ended: they were in memory.",
                percent(1.0 - share),
                size(writes.asked)
            ),
            SOURCE,
        )
        .remedy("Write with direct I/O, or flush inside the measured time."),
    };
    let is_proof = NOT_ON_DEVICE.level(1.0 - share) == Level::Fail;
    let seen = if is_proof { seen.proof() } else { seen };
    Some(
        writes
            .with_servers(seen)
            .with("asked_bytes", writes.asked)
            .with("device_bytes", writes.bottom.unwrap_or(0.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_plan::Claim;

    #[test]
    fn reports_writes_still_in_memory() {
        let lab = Lab::new().writes(1_000, 65_536).on_disk("vda").device_written("vda", 0);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Fail, true));
        assert!(
            seen.text.starts_with("100 % of the bytes written (62.5 MiB) had not reached vda"),
            "{}",
            seen.text
        );
        assert_eq!(lab.claiming(Claim::Filesystem).detection(&DETECTOR).unwrap().level, Level::Caution);
    }

    #[test]
    fn accepts_at_least_the_written_bytes_on_device() {
        let lab = Lab::new().writes(1_000, 65_536).on_disk("vda").device_written("vda", 80_000_000);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
