//! Converts settings to the plan that the engine executes.

use crate::settings::{SeekOrder, Settings, TargetSettings, ThrottleSettings};
use crate::words::refusal;
use iosonar_dialect_common::{UsageError, quoted};
use iosonar_plan::{
    Access, AtEnd, ByteSize, Coordination, Data, Engine, Faults, FileLifecycle, Fill, Generator, Job,
    JobOptions, Memory, Nanos, Order, Overlap, OverlapPolicy, Pace, Pacing, Phase, PhaseEnd, Plan, Process,
    RunId, Sharing, ShortPolicy, Space, Stop, SyncFlag, Target, Workload,
};

/// Highest real-time priority.
const MAX_PRIORITY: u8 = 99;
/// Maximum file size in Linux.
const MAX_BYTES: u64 = 1 << 63;
/// Maximum memory for data in plans.
const MAX_MEMORY: u64 = 1 << 46;
/// Page size used for sizing memory.
const PAGE: u64 = 4096;

impl Settings {
    /// The plan of this run, which is valid.
    pub fn plan(&self, run_id: RunId) -> Result<Plan, UsageError> {
        let global = &self.global;
        let jobs = self.targets.iter().enumerate().map(|(number, target)| self.job(number as u16, target));
        let jobs = jobs.collect::<Result<_, UsageError>>()?;
        let phase = Phase { passes: global.passes, coordination: self.coordination(), ..Phase::of(jobs) };
        let targets = self.targets.iter().map(|target| self.target(target)).collect();
        let plan = Plan {
            destroy: global.destroy,
            // XDD starts in any case; the verdict states what the figures are worth.
            anyway: true,
            engine: Engine::Threads,
            access: Access { buffered: true, sync: SyncFlag::None },
            // Targets set their data, as in XDD; nothing else is written.
            fill: Fill { random_percent: 0 },
            overlap: Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() },
            pacing: Pacing { realtime: global.maxpri.then_some(MAX_PRIORITY), ..Pacing::default() },
            memory: self.memory(),
            faults: Faults { max_errors: None, short: ShortPolicy::Record },
            ..Plan::new(run_id, targets, vec![phase])
        };
        plan.validate().map_err(|why| refusal(&why, &self.typed))?;
        Ok(plan)
    }

    /// Refuses processors beyond the `count` of this machine.
    pub fn check_processors(&self, count: u32) -> Result<(), UsageError> {
        let refuse = |option: &str, number: u32| {
            let text = match count {
                0 | 1 => format!("{number} is too large: this machine has one processor, number 0"),
                _ => format!("{number} is too large: this machine has {count} processors, from 0 on"),
            };
            Err(UsageError::of(&self.typed.name(option), &text))
        };
        if let Some(number) = self.global.singleproc.filter(|n| *n >= count) {
            return refuse("singleproc", number);
        }
        if let Some(number) = self.global.roundrobin.filter(|n| *n > count) {
            return refuse("roundrobin", number);
        }
        let highest = self.targets.iter().filter_map(|t| t.processor).max();
        highest.filter(|n| *n >= count).map_or(Ok(()), |number| refuse("processor", number))
    }

    /// Memory for one request per queue thread, even if there are many.
    fn memory(&self) -> Memory {
        let threads: u64 = self.targets.iter().map(|t| u64::from(t.queuedepth)).sum();
        let one = |t: &TargetSettings| t.request_bytes().saturating_add(t.align).next_multiple_of(PAGE);
        let most = self.targets.iter().map(one).max().unwrap_or(0);
        let least = Memory::default();
        let buffers = threads.saturating_mul(most).clamp(least.buffers.0, MAX_MEMORY);
        Memory { buffers: ByteSize(buffers), ..least }
    }

    fn coordination(&self) -> Coordination {
        let global = &self.global;
        Coordination {
            pass_delay: global.delay,
            free_passes: global.nobarrier,
            runtime: global.runtime,
            meet_every: global.syncio.filter(|_| self.targets.len() > 1),
            in_turn: false,
            lockstep: global.lockstep.clone(),
            start: global.starttriggers.clone(),
            stop: global.stoptriggers.clone(),
            ends: PhaseEnd::All,
        }
    }

    fn target(&self, target: &TargetSettings) -> Target {
        let writes = target.writes();
        let preallocate = if writes { target.preallocate.saturating_mul(1024) } else { 0 };
        let file = FileLifecycle {
            create: writes && !target.devicefile,
            between_passes: target.between_passes,
            preallocate: ByteSize(preallocate),
            sync_each_pass: target.syncwrite,
            delete: target.deletefile,
            ..FileLifecycle::default()
        };
        Target { file, ..Target::new(target.path()) }
    }

    fn job(&self, number: u16, target: &TargetSettings) -> Result<Job, UsageError> {
        let workload = Workload::Generated(self.generator(number.into(), target)?);
        Ok(Job { options: self.options(number.into(), target)?, ..Job::new(number, 1, workload) })
    }

    fn generator(&self, number: u64, target: &TargetSettings) -> Result<Generator, UsageError> {
        let blocks = |option: &str, count: u64| self.bytes(target, option, count);
        let own = blocks("targetoffset", self.global.targetoffset)?;
        let moved = own.checked_mul(number).filter(|bytes| *bytes <= MAX_BYTES);
        let moved = moved.ok_or_else(|| self.too_far("targetoffset", target))?;
        let offset = blocks("startoffset", target.startoffset)?.checked_add(moved);
        let offset = offset.filter(|bytes| *bytes <= MAX_BYTES);
        let (order, seed) = match &target.seek.order {
            SeekOrder::Sequential if target.seek.interleave == 1 => (Order::Sequential, None),
            SeekOrder::Sequential => (Order::Interleaved { every: target.seek.interleave }, None),
            SeekOrder::Stagger => (Order::Staggered, None),
            SeekOrder::Random => (Order::Random, Some(target.seek.seed)),
            SeekOrder::None => (Order::Fixed, None),
            SeekOrder::Load(file) => (Order::List { file: file.into() }, None),
        };
        // Only these orders have a range.
        let is_spread = matches!(order, Order::Staggered | Order::Random);
        let range = target.seek.range.map(|count| blocks("seek", count)).transpose()?;
        let region = range.filter(|_| is_spread);
        Ok(Generator {
            unit: Some(ByteSize(target.blocksize)),
            read_percent: target.read_percent,
            offset: ByteSize(offset.ok_or_else(|| self.too_far("startoffset", target))?),
            pass_offset: ByteSize(blocks("passoffset", target.passoffset)?),
            region: region.map(|bytes| Space::Bytes(ByteSize(bytes))),
            at_end: AtEnd::Extend,
            seed,
            same_each_pass: seed.is_some() && !target.randomize,
            jobs: target.queuedepth,
            sharing: Sharing::Striped,
            pace: target.throttle.map_or(Pace::Closed, pace),
            stop: Stop {
                requests: target.numreqs,
                bytes: target.pass_bytes().map(|bytes| Space::Bytes(ByteSize(bytes))),
                cut_last: true,
                time_limit: target.timelimit,
                ..Stop::default()
            },
            ..Generator::new(order, ByteSize(target.request_bytes()))
        })
    }

    fn options(&self, number: u64, target: &TargetSettings) -> Result<JobOptions, UsageError> {
        Ok(JobOptions {
            access: Some(Access { buffered: !target.dio, sync: SyncFlag::None }),
            data: Some(target.datapattern.clone().unwrap_or(Data::Byte(0))),
            verify: target.verify,
            start_delay: self.start_delay(number)?,
            cpu: target.processor,
            max_errors: self.global.maxerrors,
            align: ByteSize(target.align),
            shared_memory: target.sharedmemory,
            ..JobOptions::default()
        })
    }

    fn start_delay(&self, number: u64) -> Result<Nanos, UsageError> {
        let global = &self.global;
        let later = global.targetstartdelay.0.checked_mul(number);
        let delay = later.and_then(|later| later.checked_add(global.startdelay.0)).filter(|n| *n <= 1 << 62);
        delay.map(Nanos).ok_or_else(|| {
            let text = format!("target {number} would start after more than 146 years: give less");
            UsageError::of(&self.typed.name("targetstartdelay"), &text)
        })
    }

    /// Converts a number of a target's blocks to bytes.
    fn bytes(&self, target: &TargetSettings, option: &str, blocks: u64) -> Result<u64, UsageError> {
        let bytes = blocks.checked_mul(target.blocksize).filter(|bytes| *bytes <= MAX_BYTES);
        bytes.ok_or_else(|| self.too_far(option, target))
    }

    fn too_far(&self, option: &str, target: &TargetSettings) -> UsageError {
        let text = format!(
            "{} has blocks of {} bytes: that lies beyond 2^63 bytes, the end of the largest file: give less",
            quoted(&target.path()),
            target.blocksize
        );
        UsageError::of(&self.typed.name(option), &text)
    }
}

/// Due times under a throttle.
fn pace(throttle: ThrottleSettings) -> Pace {
    let process = Process::Trailing;
    let million = match throttle {
        ThrottleSettings::Ops(iops) => return Pace::Rate { iops, process },
        ThrottleSettings::Bandwidth(million) => million,
    };
    // A billionth of a million bytes is a thousandth of one: rounded to the nearest byte.
    let bytes = (million.parts() / 1000 + u64::from(million.parts() % 1000 >= 500)).max(1);
    Pace::Bandwidth { bytes_per_second: ByteSize(bytes), process }
}
