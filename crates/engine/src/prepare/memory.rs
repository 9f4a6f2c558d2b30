//! Memory follows the plan, so it can be known before the start.

use super::examine::Examined;
use super::inputs::name;
use crate::error::PrepareError;
use crate::means::{Part, buffer_bytes, engine, parts};
use iosonar_host::Root;
use iosonar_load::Room;
use iosonar_plan::{Engine, Plan};
use iosonar_record::bytes_each;

/// Compares what is asked for with what the kernel calls available; gives the most requests that a push-back list may hold:
/// these lists get at most a quarter of that.
pub(super) fn fit_memory(plan: &Plan, targets: &[Examined], root: &Root) -> Result<u32, PrepareError> {
    /// Of a request that is in flight or waits: entries of the scheduler and its conflict tracker.
    const ENTRY: u64 = 512;
    /// Of a worker thread, as far as it is touched.
    const THREAD: u64 = 16 << 10;
    /// Of an issuing loop beside its frames of records: read-ahead, gauges.
    const LOOP: u64 = 1 << 19;
    const MIB: u64 = 1 << 20;
    let parts = parts(plan);
    check_buffers(plan, targets, parts.len())?;
    let Some(available) = available_memory(root) else { return Ok(plan.overlap.max_waiting) };
    let depth = u64::from(plan.depth);
    let threads = if engine(plan).0 == Engine::Threads { depth * THREAD } else { 0 };
    let buffers = |part: &Part| match plan.engine.is_real() {
        true => buffer_bytes(plan, &targets[part.target], parts.len()),
        false => 0,
    };
    let each = LOOP + bytes_each(parts.len()) + depth * ENTRY + threads;
    let held = targets.iter().map(|t| t.workload.held_bytes()).fold(0, u64::saturating_add);
    let needed = parts.iter().fold(held, |sum, part| sum.saturating_add(each).saturating_add(buffers(part)));
    if needed > usable(available) {
        let longest = targets.iter().map(Examined::max_length).max().unwrap_or(0);
        let mut what = format!(
            "{} targets, {depth} requests in flight on each, up to {longest} bytes long",
            targets.len()
        );
        if held > 0 {
            what += &format!(", and {} MiB of requests that filters hold", held / MIB);
        }
        return Err(PrepareError::Memory { needed: needed / MIB, available: available / MIB, what });
    }
    let most = available / 4 / ENTRY / parts.len() as u64;
    Ok(plan.overlap.max_waiting.min(u32::try_from(most.max(1)).unwrap_or(u32::MAX)))
}

/// The longest request of each target must fit into its share of memory for data: it would wait for ever.
fn check_buffers(plan: &Plan, targets: &[Examined], workers: usize) -> Result<(), PrepareError> {
    let short =
        |t: &&Examined| plan.engine.is_real() && buffer_bytes(plan, t, workers) < t.max_length() as u64;
    match targets.iter().find(short) {
        None => Ok(()),
        Some(t) => Err(PrepareError::Buffers {
            path: name(&t.target.path),
            share: buffer_bytes(plan, t, workers),
            length: t.max_length() as u64,
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
