//! Memory follows from the plan, so it is known before the start.

use super::available::{available_memory, usable};
use super::fit::FittedJob;
use crate::engines::usable as usable_engine;
use crate::error::PrepareError;
use crate::job_loop::{JobLoop, parts};
use iosonar_host::Root;
use iosonar_plan::{Engine, Generator, Plan};
use iosonar_record::bytes_each;
use iosonar_verify::bound_of_chunks;
use std::collections::BTreeMap;

/// Bytes of a request in flight or waiting: entries of the scheduler and its conflict tracker.
const ENTRY: u64 = 512;
const MIB: u64 = 1 << 20;
/// Bytes of a target whose state is kept together.
const CHUNK: u64 = 64 << 10;

/// Memory that a run may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    /// The most requests that a push-back list may hold.
    pub(super) max_waiting: u32,
    /// Bytes for the content of simulated devices.
    pub(super) content: u64,
}

/// Compares the requested memory with the available memory of the kernel. Push-back lists get at most a quarter of that, the
/// content of simulated devices another one.
pub(super) fn fit_memory(
    plan: &Plan,
    phases: &[Vec<FittedJob>],
    root: &Root,
) -> Result<Shares, PrepareError> {
    let available = available_memory(root);
    let state = state_bytes(plan, phases);
    let mut most = plan.overlap.max_waiting;
    for (phase, jobs) in plan.phases.iter().zip(phases) {
        let parts = parts(phase);
        check_buffers(plan, jobs, parts.len())?;
        if let Some(available) = available {
            check_phase(plan, jobs, &parts, state, available)?;
            let own = available / 4 / ENTRY / parts.len().max(1) as u64;
            most = most.min(u32::try_from(own.max(1)).unwrap_or(u32::MAX));
        }
    }
    Ok(Shares { max_waiting: most, content: available.map_or(u64::MAX, |available| available / 4) })
}

/// Maximum memory for the expected state of all targets: the needs of the written ranges, up to the plan's limit.
fn state_bytes(plan: &Plan, phases: &[Vec<FittedJob>]) -> u64 {
    if !plan.verify.is_on() {
        return 0;
    }
    let mut targets = BTreeMap::<u16, Touched>::new();
    for (phase, jobs) in plan.phases.iter().zip(phases) {
        for job in jobs.iter().filter(|job| job.workload.writes()) {
            targets.entry(job.job.target).or_default().add(job, phase.passes);
        }
    }
    let bytes = targets.values().map(|touched| touched.bytes(plan.verify.memory.0));
    bytes.fold(0, u64::saturating_add).min(plan.verify.memory.0)
}

/// Maximum range that the jobs on a target may write.
#[derive(Debug, Clone, Copy)]
struct Touched {
    /// First byte after it.
    end: u64,
    /// Chunks of 64 KiB, counted for each job alone.
    chunks: u64,
    is_aligned: bool,
}

impl Default for Touched {
    fn default() -> Touched {
        Touched { end: 0, chunks: 0, is_aligned: true }
    }
}

impl Touched {
    fn add(&mut self, job: &FittedJob, passes: u32) {
        let size = job.placement.size();
        let end = job.workload.facts().map_or(size, |facts| facts.max_end.min(size));
        // Where each pass starts elsewhere, the region moves.
        let stays = |generator: &&Generator| !job.extends() && generator.pass_offset.0 == 0;
        let within = match job.job.workload.generator().filter(stays) {
            Some(generator) => generator.region_on(size).min(end),
            None => end,
        };
        // A request may start and end in the middle of a chunk.
        let each = (job.max_length() as u64).div_ceil(CHUNK).saturating_add(1);
        let by_count = job.expected_requests(passes).map_or(u64::MAX, |count| count.saturating_mul(each));
        self.end = self.end.max(end);
        self.chunks = self.chunks.saturating_add((within / CHUNK).saturating_add(2).min(by_count));
        let block = 4096;
        // A recorded load is brought to the target's blocks only.
        let is_aligned = job.workload.facts().is_none() && job.workload.is_aligned(block);
        self.is_aligned &= is_aligned || job.placement.block().is_multiple_of(block);
    }

    fn bytes(&self, limit: u64) -> u64 {
        /// Minimum memory of a chunk.
        const LEAST: u64 = 80;
        let chunks = self.chunks.min(self.end / CHUNK + 1);
        if chunks.saturating_mul(LEAST) >= limit {
            return limit;
        }
        bound_of_chunks(chunks, self.end, self.is_aligned).min(limit)
    }
}

/// Compares the needs of one phase with the available memory: that of the phase before it is free by then. `state`: constant needs
/// of verification.
fn check_phase(
    plan: &Plan,
    jobs: &[FittedJob],
    parts: &[JobLoop],
    state: u64,
    available: u64,
) -> Result<(), PrepareError> {
    /// Bytes of a worker thread, as far as they are touched.
    const THREAD: u64 = 16 << 10;
    /// Bytes of an issuing loop beside its frames of records: read-ahead, gauges.
    const LOOP: u64 = 1 << 19;
    let of_part = |part: &JobLoop| {
        let job = &jobs[part.job];
        let depth = u64::from(job.job.depth);
        let has_threads = usable_engine(job.job.engine(plan.engine)).0 == Engine::Threads;
        let threads = if has_threads { depth * THREAD } else { 0 };
        let buffers = if plan.transfers_data() { job.buffer_bytes(plan, parts.len()) } else { 0 };
        let purge = job.job.options.purge_cpu_cache.0;
        (LOOP + bytes_each(parts.len()) + depth * ENTRY + threads + purge).saturating_add(buffers)
    };
    let held = jobs.iter().map(|job| job.workload.held_bytes()).fold(0, u64::saturating_add);
    let others = held.saturating_add(state);
    let needed = parts.iter().fold(others, |sum, part| sum.saturating_add(of_part(part)));
    if needed <= usable(available) {
        return Ok(());
    }
    let longest = jobs.iter().map(FittedJob::max_length).max().unwrap_or(0);
    let depth = jobs.iter().map(|job| job.job.depth).max().unwrap_or(1);
    let mut what =
        format!("{} targets, {depth} requests in flight on each, up to {longest} bytes long", jobs.len());
    if held > 0 {
        what += &format!(", and {} MiB of requests that filters hold", held / MIB);
    }
    if state > 0 {
        what += &format!(", and {} MiB for --verify, which --verify-memory limits", state / MIB);
    }
    Err(PrepareError::Memory { needed: needed / MIB, available: available / MIB, what })
}

/// Checks that the longest request of each job fits into its share of memory for data; otherwise it would wait for ever.
fn check_buffers(plan: &Plan, jobs: &[FittedJob], workers: usize) -> Result<(), PrepareError> {
    let short =
        |job: &&FittedJob| plan.transfers_data() && job.buffer_bytes(plan, workers) < job.max_length() as u64;
    match jobs.iter().find(short) {
        None => Ok(()),
        Some(job) => Err(PrepareError::Buffers {
            path: job.path().into(),
            share: job.buffer_bytes(plan, workers),
            length: job.max_length() as u64,
        }),
    }
}
