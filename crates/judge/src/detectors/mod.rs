//! The detectors, one file each.

mod cannot_keep_up;
mod coarse_clock;
mod cpu_disturbed;
mod dirty_at_start;
mod faster_than_any_device;
mod foreign_io;
mod generator_bound;
mod memory_target;
mod noisy;
mod not_steady;
mod own_limit;
mod page_cache_in_path;
mod queue_depth_not_reached;
mod read_amplification;
mod reads_not_from_device;
mod requests_not_done;
mod requests_reshaped;
mod settings_changed;
mod stalls_hidden;
mod too_short;
mod trivial_data;
mod unmapped_target;
mod volatile_cache;
mod writes_not_on_device;
mod wrong_size_device;

use crate::Detector;

/// All detectors, causes before what they explain.
pub const DETECTORS: &[Detector] = &[
    memory_target::DETECTOR,
    unmapped_target::DETECTOR,
    page_cache_in_path::DETECTOR,
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
    too_short::DETECTOR,
];
