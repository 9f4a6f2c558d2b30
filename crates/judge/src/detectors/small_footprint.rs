//! Runs that touch so little that a cache holds it, or that stay in a small part of a device.

use crate::detector::Most;
use crate::stack::rotates;
use crate::thresholds::{
    FITS_IN_MEMORY, FROM_MEMORY, LEAST_BYTES, REVISITED, SMALLEST_CACHE, SPAN_MISSING, TOUCHED_LITTLE,
};
use crate::words::{percent, size};
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::TargetKind;
use iosonar_plan::{Claim, Workload};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::SmallFootprint,
    channel: Channel::Schedule,
    most: Most { device: Level::Fail, filesystem: Level::Caution, cache: Level::Ok, replay: Level::Caution },
    explains: &[],
    about: "What is touched again and again ends in some cache, and its latency is that of the cache: of memory where it fits there, of the drive \
            or the array elsewhere. In a small part of a device seeks are short, and a disk's first tracks are its fastest (blkreplay manual 3.1.3, \
            3.1.5). Touched bytes are counted once each; requests that overlap in part count twice, so there may be fewer.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "places of the requests, sizes of targets and of memory";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let traffic = case.tally.traffic();
    let moved = (traffic.reads.bytes + traffic.writes.bytes) as f64;
    let touched = case.tally.places().touched_bytes() as f64;
    if !case.is_real() || case.before.targets.is_empty() || moved < LEAST_BYTES as f64 || touched == 0.0 {
        return None;
    }
    let revisited = (1.0 - touched / moved).max(0.0);
    let found = [fits_in_memory(case, touched), fits_in_any_cache(case, touched, revisited), is_narrow(case)];
    let worst = found.into_iter().flatten().rev().max_by_key(|(level, ..)| *level);
    let seen = match worst {
        None => Finding::ok(format!("{} were touched.", size(touched)), SOURCE),
        Some((level, text, remedy)) => Finding::at(level, text, SOURCE).remedy(remedy),
    };
    Some(seen.with("touched_bytes", touched).with("revisited_share", revisited))
}

type Assessment = (Level, String, &'static str);

/// Page cache reads of a range that fits into memory.
fn fits_in_memory(case: &Case<'_>, touched: f64) -> Option<Assessment> {
    let memory = *case.before.memory.total.known()? as f64;
    let reads = case.reads();
    let answered = 1.0 - reads.share()?;
    let is_cached = !case.is_direct() && reads.asked >= LEAST_BYTES as f64 && answered > FROM_MEMORY;
    (is_cached && touched < FITS_IN_MEMORY * memory).then(|| {
        let text = format!(
            "{} were touched, and this machine has {} of memory: the page cache answered {} of the reads.",
            size(touched),
            size(memory),
            percent(answered)
        );
        (
            Level::Caution,
            text,
            "Take a range of twice the memory; or say what was measured with --claim cache.",
        )
    })
}

/// Direct requests with a footprint that fits into the memory of any drive or array.
fn fits_in_any_cache(case: &Case<'_>, touched: f64, revisited: f64) -> Option<Assessment> {
    let is_of_device = matches!(case.claim(), Claim::Device | Claim::Replay);
    (is_of_device && touched < SMALLEST_CACHE && revisited > REVISITED).then(|| {
        let text = format!(
            "Only {} were touched, and {} of the bytes are of places that had been visited before: the cache of any drive or array holds that.",
            size(touched),
            percent(revisited)
        );
        (Level::Caution, text, "Take a larger range, or a longer load.")
    })
}

/// Requests that stay in a small part of a device.
fn is_narrow(case: &Case<'_>) -> Option<Assessment> {
    let devices = case.before.targets.iter().enumerate().filter_map(|(number, target)| match &target.kind {
        TargetKind::BlockDevice(device) => Some((device, case.tally.places().reach_of(number)?)),
        _ => None,
    });
    let share = |span: u64, of: u64| span as f64 / of.max(1) as f64;
    let (device, reach) =
        devices.min_by(|a, b| share(a.1.span(), a.0.size).total_cmp(&share(b.1.span(), b.0.size)))?;
    let part = share(reach.span(), device.size);
    let touched = share(case.tally.places().touched_bytes(), device.size);
    let text =
        format!("Requests reached {} of {} ({})", percent(part), device.name, size(reach.span() as f64));
    let remedy = "Take the whole device, or say in the report how much of it was measured.";
    let is_disk = rotates(device);
    if SPAN_MISSING.level(1.0 - part) == Level::Ok || has_trace(case) {
        let is_little = touched < TOUCHED_LITTLE;
        return is_little.then(|| {
            (Level::Info, format!("{} of {} were touched.", percent(touched), device.name), remedy)
        });
    }
    Some(match (!case.planned().is_sequential(), is_disk) {
        (true, true) => (Level::Fail, format!("{text}: its seeks are short."), remedy),
        (true, false) => (Level::Caution, format!("{text}."), remedy),
        (false, _) => (Level::Info, format!("{text}."), remedy),
    })
}

/// For recorded loads, `wrong-size-device` reports the range.
fn has_trace(case: &Case<'_>) -> bool {
    case.plan.jobs().any(|(_, job)| matches!(job.workload, Workload::Trace(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    const GIB: u64 = 1 << 30;

    fn level(lab: &Lab) -> Level {
        lab.detection(&DETECTOR).unwrap().level
    }

    #[test]
    fn reports_small_range_served_from_memory() {
        let lab = Lab::new().buffered().memory(8 * GIB).within(GIB).reads(4_000, 65_536);
        let lab = lab.on_file_system("ext4", "vda").process_read(20_000_000).device_read("vda", 20_000_000);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(
            seen.text.contains("this machine has 8.0 GiB of memory: the page cache answered 92.4 %"),
            "{}",
            seen.text
        );
        assert_eq!(level(&lab.claiming(Claim::Cache)), Level::Ok);
    }

    #[test]
    fn accepts_small_range_read_from_device() {
        let lab = Lab::new().buffered().memory(8 * GIB).within(GIB).reads(4_000, 65_536);
        let lab = lab.on_file_system("ext4", "vda").process_read(262_144_000).device_read("vda", 262_144_000);
        assert_eq!(level(&lab), Level::Ok);
        let unknown = Lab::new().buffered().memory(8 * GIB).within(GIB).reads(4_000, 65_536);
        assert_eq!(level(&unknown.on_file_system("fuse.x", "")), Level::Ok);
    }

    #[test]
    fn reports_range_that_fits_any_cache() {
        let hot = Lab::new().recorded().within(1 << 20).reads(4_000, 4096).on_disk("vda");
        assert_eq!(level(&hot), Level::Caution);
        assert_eq!(level(&hot.claiming(Claim::Filesystem)), Level::Info);
        let once = Lab::new().recorded().within(16 << 20).reads(4_000, 4096).on_disk("vda");
        assert_eq!(level(&once), Level::Info, "most places were visited once");
    }

    #[test]
    fn judges_small_range_by_device_type() {
        let narrow = Lab::new().within(4 * GIB).reads(4_000, 65_536);
        assert_eq!(level(&narrow.clone().on_disk("vda")), Level::Caution);
        assert_eq!(level(&narrow.clone().on_device("sda", "sd").rotational()), Level::Fail);
        // Virtual disks claim to rotate.
        assert_eq!(level(&narrow.clone().on_disk("vda").rotational()), Level::Caution);
        assert_eq!(level(&narrow.clone().on_disk("sda").rotational().sequential()), Level::Info);
        assert_eq!(level(&narrow.on_file_system("ext4", "vda")), Level::Ok);
        let wide = Lab::new().reads(4_000, 65_536).on_disk("sda").rotational();
        assert_eq!(level(&wide), Level::Info, "little of it was touched");
    }
}
