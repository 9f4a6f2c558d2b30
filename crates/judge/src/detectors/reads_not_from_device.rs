//! Requested bytes that did not cross the device.

use crate::thresholds::{ALL_CACHED, CACHED_AT_START, LEAST_BYTES, NOT_FROM_DEVICE};
use crate::words::{percent, size};
use crate::{Case, Detector, Finding, PlannedRun, PlannedTarget};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::ReadsNotFromDevice,
    channel: Channel::Accounting,
    most: crate::detector::Most::of_devices(Level::Fail),
    explains: &[DetectorId::FasterThanAnyDevice, DetectorId::SmallFootprint, DetectorId::GeneratorBound],
    about: "A read that is answered by a cache, or that lies in a hole, costs no device anything: it is a copy in memory. The bytes that \
            were asked for are compared with what the kernel counted for this process and on the devices below the target. They agree \
            to a thousandth where requests reach the device.",
    is_witness: true,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str =
    "/proc/self/io and the devices' stat files (of NFS /proc/self/mountstats), before and after the run";

const FORESEEN: &str = "cachestat(2), or mincore(2) on kernels before 6.5";

const REMEDY: &str = "Read with direct I/O, drop the page cache, and fill the target with random data before; or say what was measured with \
                      --claim cache.";

/// Data that is in the page cache before the run is not read from a device.
fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    // Data that is written first may be in memory later, or no longer.
    let stays = |target: &PlannedTarget<'_>| target.info.cached_bytes.filter(|_| !target.is_written);
    let read = planned.targets.iter().filter(|target| target.is_read);
    let read = read.map(|target| (stays(target).unwrap_or(0) as f64, target.reach() as f64));
    let (cached, all) = read.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let share = if all > 0.0 { cached / all } else { 0.0 };
    let text =
        format!("{} of the {} that are read are in the page cache already.", percent(share), size(all));
    let seen =
        Finding::at(CACHED_AT_START.level(share), text, FORESEEN).remedy(REMEDY).with("cached_share", share);
    let seen = if share > ALL_CACHED { seen.proof() } else { seen };
    (share > 0.0).then_some(seen)
}

fn detect(case: &Case<'_>) -> Option<Finding> {
    let reads = case.reads();
    if !case.is_real() || reads.asked < LEAST_BYTES as f64 {
        return None;
    }
    let Some(share) = reads.share() else {
        let why = reads.unseen.unwrap_or_else(|| "nothing was sampled".into());
        return Some(Finding::unknown(
            format!("Whether reads reached a device is not known: {why}."),
            SOURCE,
        ));
    };
    let (devices, level) = (reads.names(), reads.level(NOT_FROM_DEVICE, 1.0 - share));
    let seen = match level {
        Level::Ok if !reads.servers.is_empty() && !case.is_direct() => Finding::at(
            Level::Caution,
            format!("{} of the bytes read came from {devices}, through the page cache of this machine.", percent(share.min(1.0))),
            SOURCE,
        )
        .remedy("Read with direct I/O; or say what was measured with --claim filesystem."),
        Level::Ok => Finding::ok(format!("{} of the bytes read came from {devices}.", percent(share.min(1.0))), SOURCE),
        level => Finding::at(
            level,
            format!(
                "Only {} of the bytes read ({}) came from {devices}; the rest came from memory, or was made up because nothing \
                 is stored there.",
                percent(share),
                size(reads.asked)
            ),
            SOURCE,
        )
        .remedy(REMEDY)
        .effect(1.0 / share.max(1e-3)),
    };
    let seen = reads.with_servers(seen).with("asked_bytes", reads.asked).with("share", share);
    let layers = [("process_bytes", reads.process), ("device_bytes", reads.bottom)];
    let known = layers.into_iter().filter_map(|(name, bytes)| Some((name, bytes?)));
    let seen = known.fold(seen, |seen, (name, bytes)| seen.with(name, bytes));
    let is_on_device =
        reads.bottom_share().is_some_and(|share| NOT_FROM_DEVICE.level(1.0 - share) == Level::Fail);
    Some(if is_on_device { seen.proof() } else { seen })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_plan::Claim;

    #[test]
    fn reports_reads_not_seen_by_device() {
        let lab =
            Lab::new().reads(1_000, 65_536).on_disk("vda").process_read(0).device_read("vda", 5_000_000);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Fail, true));
        assert!(
            seen.text.starts_with("Only 0 % of the bytes read (62.5 MiB) came from vda"),
            "{}",
            seen.text
        );
        assert_eq!(lab.claiming(Claim::Filesystem).detection(&DETECTOR).unwrap().level, Level::Info);
        assert_eq!(lab.claiming(Claim::Cache).detection(&DETECTOR).unwrap().level, Level::Ok);
    }

    #[test]
    fn predicts_reads_of_cached_data() {
        let lab = |cached| Lab::new().reads(1_000, 4096).on_disk("vda").cached(cached, 1 << 30);
        let found = |cached| lab(cached).predicted().pop().map(|one| (one.id, one.level, one.is_proof));
        assert_eq!(found(1 << 30), Some((DETECTOR.id, Level::Fail, true)));
        assert_eq!(found(1 << 26), Some((DETECTOR.id, Level::Caution, false)));
        assert_eq!((found(1 << 20), found(0)), (None, None));
        let written = Lab::new().writes(1_000, 4096).on_disk("vda").cached(1 << 30, 1 << 30);
        assert_eq!(written.predicted(), []);
        let cached = lab(1 << 30).claiming(Claim::Cache);
        assert_eq!(cached.predicted(), []);
    }

    #[test]
    fn accepts_reads_seen_by_device() {
        let lab = Lab::new().reads(1_000, 65_536).on_disk("vda");
        let lab = lab.process_read(65_536_000).device_read("vda", 70_000_000);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
        let few = Lab::new().reads(10, 4096).on_disk("vda").process_read(0).device_read("vda", 0);
        assert_eq!(few.detection(&DETECTOR), None);
    }

    #[test]
    fn file_system_with_hidden_device_is_unknown() {
        let lab = Lab::new().reads(1_000, 65_536).on_file_system("fuse.bindfs", "vda").process_read(0);
        assert_eq!(lab.device_read("vda", 0).detection(&DETECTOR).unwrap().level, Level::Unknown);
    }
}
