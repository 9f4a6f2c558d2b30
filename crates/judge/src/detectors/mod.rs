//! The detectors, one file each.

mod archive_on_target;
mod cache_below;
mod cannot_keep_up;
mod coarse_clock;
mod copied_up;
mod cpu_disturbed;
pub(crate) mod dirty_at_start;
mod faster_than_any_device;
pub(crate) mod foreign_io;
mod fragmented;
pub(crate) mod fresh_or_warm_mapping;
mod generator_bound;
mod late_timer;
mod memory_target;
mod misaligned;
pub(crate) mod noisy;
mod not_steady;
mod own_limit;
mod page_cache_in_path;
mod queue_depth_not_reached;
mod read_amplification;
mod reads_not_from_device;
mod requests_not_done;
mod requests_reshaped;
mod settings_changed;
mod small_footprint;
pub(crate) mod stalls_hidden;
mod straggler_tail;
mod too_short;
mod trace_incomplete;
mod trivial_data;
mod unmapped_target;
mod verify_costs;
mod volatile_cache;
mod writes_not_on_device;
pub(crate) mod wrong_size_device;
mod zeroes_short_cut;

use crate::Detector;
use iosonar_analyze::DetectorId;

/// All detectors, causes before what they explain.
pub const DETECTORS: &[Detector] = &[
    memory_target::DETECTOR,
    unmapped_target::DETECTOR,
    page_cache_in_path::DETECTOR,
    zeroes_short_cut::DETECTOR,
    cache_below::DETECTOR,
    reads_not_from_device::DETECTOR,
    writes_not_on_device::DETECTOR,
    faster_than_any_device::DETECTOR,
    requests_not_done::DETECTOR,
    cannot_keep_up::DETECTOR,
    stalls_hidden::DETECTOR,
    generator_bound::DETECTOR,
    queue_depth_not_reached::DETECTOR,
    foreign_io::DETECTOR,
    own_limit::DETECTOR,
    cpu_disturbed::DETECTOR,
    settings_changed::DETECTOR,
    dirty_at_start::DETECTOR,
    noisy::DETECTOR,
    not_steady::DETECTOR,
    trivial_data::DETECTOR,
    wrong_size_device::DETECTOR,
    requests_reshaped::DETECTOR,
    read_amplification::DETECTOR,
    coarse_clock::DETECTOR,
    volatile_cache::DETECTOR,
    small_footprint::DETECTOR,
    straggler_tail::DETECTOR,
    verify_costs::DETECTOR,
    misaligned::DETECTOR,
    late_timer::DETECTOR,
    trace_incomplete::DETECTOR,
    fresh_or_warm_mapping::DETECTOR,
    fragmented::DETECTOR,
    copied_up::DETECTOR,
    archive_on_target::DETECTOR,
    too_short::DETECTOR,
];

/// The detector of an id; `None` for a detection that no detector makes.
pub(crate) fn detector_of(id: DetectorId) -> Option<&'static Detector> {
    DETECTORS.iter().find(|detector| detector.id == id)
}

/// Why a detector's finding matters.
pub fn about(id: DetectorId) -> &'static str {
    detector_of(id).map(|detector| detector.about).unwrap_or(
        "What the claim needs cannot be seen from here, so the figure is neither confirmed nor refuted.",
    )
}
