//! Memory follows the plan, so it can be known before the start.

use super::fit::Fitted;
use crate::error::PrepareError;
use crate::means::{Part, buffer_bytes, parts, usable as usable_engine};
use iosonar_host::Root;
use iosonar_load::Room;
use iosonar_plan::{Engine, Plan};
use iosonar_record::bytes_each;

/// Of a request that is in flight or waits: entries of the scheduler and its conflict tracker.
const ENTRY: u64 = 512;
const MIB: u64 = 1 << 20;

/// Compares what is requested with what the kernel calls available; returns the most requests that a push-back list may hold:
/// these lists get at most a quarter of that.
pub(super) fn fit_memory(plan: &Plan, phases: &[Vec<Fitted>], root: &Root) -> Result<u32, PrepareError> {
    let available = available_memory(root);
    let mut most = plan.overlap.max_waiting;
    for (phase, jobs) in plan.phases.iter().zip(phases) {
        let parts = parts(phase);
        check_buffers(plan, jobs, parts.len())?;
        if let Some(available) = available {
            check_phase(plan, jobs, &parts, available)?;
            let own = available / 4 / ENTRY / parts.len().max(1) as u64;
            most = most.min(u32::try_from(own.max(1)).unwrap_or(u32::MAX));
        }
    }
    Ok(most)
}

/// Compares what one phase needs with what is available: what the one before it needed is free by then.
fn check_phase(plan: &Plan, jobs: &[Fitted], parts: &[Part], available: u64) -> Result<(), PrepareError> {
    /// Of a worker thread, as far as it is touched.
    const THREAD: u64 = 16 << 10;
    /// Of an issuing loop beside its frames of records: read-ahead, gauges.
    const LOOP: u64 = 1 << 19;
    let of_part = |part: &Part| {
        let job = &jobs[part.job];
        let depth = u64::from(job.job.depth);
        let has_threads = usable_engine(job.job.engine(plan.engine)).0 == Engine::Threads;
        let threads = if has_threads { depth * THREAD } else { 0 };
        let buffers = if plan.transfers_data() { buffer_bytes(plan, job, parts.len()) } else { 0 };
        let purge = job.job.options.purge_cpu_cache.0;
        (LOOP + bytes_each(parts.len()) + depth * ENTRY + threads + purge).saturating_add(buffers)
    };
    let held = jobs.iter().map(|job| job.workload.held_bytes()).fold(0, u64::saturating_add);
    let needed = parts.iter().fold(held, |sum, part| sum.saturating_add(of_part(part)));
    if needed <= usable(available) {
        return Ok(());
    }
    let longest = jobs.iter().map(Fitted::max_length).max().unwrap_or(0);
    let depth = jobs.iter().map(|job| job.job.depth).max().unwrap_or(1);
    let mut what =
        format!("{} targets, {depth} requests in flight on each, up to {longest} bytes long", jobs.len());
    if held > 0 {
        what += &format!(", and {} MiB of requests that filters hold", held / MIB);
    }
    Err(PrepareError::Memory { needed: needed / MIB, available: available / MIB, what })
}

/// The longest request of each job must fit into its share of memory for data: it would wait for ever.
fn check_buffers(plan: &Plan, jobs: &[Fitted], workers: usize) -> Result<(), PrepareError> {
    let short =
        |job: &&Fitted| plan.transfers_data() && buffer_bytes(plan, job, workers) < job.max_length() as u64;
    match jobs.iter().find(short) {
        None => Ok(()),
        Some(job) => Err(PrepareError::Buffers {
            path: job.path().into(),
            share: buffer_bytes(plan, job, workers),
            length: job.max_length() as u64,
        }),
    }
}

/// Memory that filters may take for requests they hold.
pub fn filter_room(root: &Root) -> Room {
    available_memory(root).map_or(Room::default(), |bytes| Room::of_bytes(usable(bytes)))
}

/// `MemAvailable` of `/proc/meminfo`, in bytes; none where it cannot be read.
fn available_memory(root: &Root) -> Option<u64> {
    let text = root.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Of memory that is available, what a run may take.
fn usable(available: u64) -> u64 {
    available / 10 * 6
}
