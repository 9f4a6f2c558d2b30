//! From settings to the plan that the engine carries out.

use crate::operands::shown;
use crate::parse::UsageError;
use crate::settings::{SeekOrder, Settings, TargetSettings, ThrottleSettings};
use iosonar_plan::{
    Access, ByteSize, Conduct, Data, Decimal, Engine, Faults, FileCare, Fill, Handling, Memory, Nanos,
    Overlap, OverlapPolicy, PLAN_VERSION, Pacing, Plan, RunId, ShortPolicy, Source, StepOrder, StepsSource,
    Target, Throttle,
};

/// The highest real-time priority.
const MAX_PRIORITY: u8 = 99;
/// The end of the largest file that Linux knows.
const MAX_BYTES: u64 = 1 << 63;
/// The most memory for data, as plans have it.
const MAX_MEMORY: u64 = 1 << 46;
/// Pages of memory, as far as its size goes.
const PAGE: u64 = 4096;

impl Settings {
    /// The plan of this run.
    pub fn plan(&self, run_id: RunId) -> Result<Plan, UsageError> {
        let global = &self.global;
        let targets: Result<Vec<Target>, UsageError> = self
            .targets
            .iter()
            .enumerate()
            .map(|(number, target)| self.target(number as u64, target))
            .collect();
        Ok(Plan {
            version: PLAN_VERSION,
            run_id,
            seed: 1,
            start_grace: Nanos(0),
            passes: global.passes,
            depth: 1,
            destroy: global.destroy,
            engine: Engine::Threads,
            access: Access { buffered: true, sync: false },
            // Targets name their data, as XDD does; nothing else is written.
            fill: Fill { random_percent: 0 },
            overlap: Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() },
            pacing: Pacing { realtime: global.maxpri.then_some(MAX_PRIORITY), ..Pacing::default() },
            memory: self.memory(),
            faults: Faults { max_errors: None, short: ShortPolicy::Record },
            conduct: self.conduct(),
            targets: targets?,
        })
    }

    /// Refuses processors that this machine, with `count` of them, does not have.
    pub fn check_processors(&self, count: u32) -> Result<(), UsageError> {
        let refuse = |option: &str, number: u32| {
            let text = match count {
                0 | 1 => format!("{number} is too large: this machine has one processor, number 0"),
                _ => format!("{number} is too large: this machine has {count} processors, from 0 on"),
            };
            Err(UsageError::new(&self.typed.name(option), &text))
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

    /// Every queue thread has memory for a request of its own, however many there are.
    fn memory(&self) -> Memory {
        let threads: u64 = self.targets.iter().map(|t| u64::from(t.queuedepth)).sum();
        let one = |t: &TargetSettings| t.request_bytes().saturating_add(t.align).next_multiple_of(PAGE);
        let most = self.targets.iter().map(one).max().unwrap_or(0);
        let least = Memory::default();
        let buffers = threads.saturating_mul(most).clamp(least.buffers.0, MAX_MEMORY);
        Memory { buffers: ByteSize(buffers), ..least }
    }

    fn conduct(&self) -> Conduct {
        let global = &self.global;
        Conduct {
            pass_delay: global.delay,
            free_passes: global.nobarrier,
            runtime: global.runtime,
            meet_every: global.syncio.filter(|_| self.targets.len() > 1),
            lockstep: global.lockstep.clone(),
            start: global.starttriggers.clone(),
            stop: global.stoptriggers.clone(),
        }
    }

    fn target(&self, number: u64, target: &TargetSettings) -> Result<Target, UsageError> {
        Ok(Target {
            path: target.path().into(),
            size: None,
            handling: self.handling(number, target)?,
            source: Source::Steps(self.steps(number, target)?),
        })
    }

    fn steps(&self, number: u64, target: &TargetSettings) -> Result<StepsSource, UsageError> {
        let blocks = |option: &str, count: u64| self.bytes(target, option, count);
        let own = blocks("targetoffset", self.global.targetoffset)?;
        let moved = own.checked_mul(number).filter(|bytes| *bytes <= MAX_BYTES);
        let moved = moved.ok_or_else(|| self.too_far("targetoffset", target))?;
        let offset = blocks("startoffset", target.startoffset)?.checked_add(moved);
        let offset = offset.filter(|bytes| *bytes <= MAX_BYTES);
        let steps = StepsSource {
            order: self.order(target),
            unit: ByteSize(target.blocksize),
            request_size: ByteSize(target.request_bytes()),
            requests: target.numreqs,
            bytes: target.pass_bytes().map(ByteSize),
            time_limit: target.timelimit,
            read_percent: target.read_percent,
            offset: ByteSize(offset.ok_or_else(|| self.too_far("startoffset", target))?),
            pass_offset: ByteSize(blocks("passoffset", target.passoffset)?),
            range: target.seek.range.map(|count| blocks("seek", count)).transpose()?.map(ByteSize),
            jobs: target.queuedepth,
            throttle: target.throttle.map(|throttle| self.throttle(throttle)).transpose()?,
        };
        let first = steps.offset.0.saturating_add(steps.request_size.0);
        match steps.end(self.global.passes).unwrap_or(0).max(first) <= MAX_BYTES {
            true => Ok(steps),
            false => Err(self.too_far(self.what_moves(), target)),
        }
    }

    /// An option that was given and decides how far locations go.
    fn what_moves(&self) -> &'static str {
        let options = ["passoffset", "startoffset", "targetoffset", "seek", "numreqs", "mbytes"];
        options.into_iter().find(|option| self.typed.has(option)).unwrap_or("kbytes")
    }

    fn order(&self, target: &TargetSettings) -> StepOrder {
        match &target.seek.order {
            SeekOrder::Sequential => StepOrder::Sequential { interleave: target.seek.interleave },
            SeekOrder::Stagger => StepOrder::Staggered,
            SeekOrder::Random => {
                StepOrder::Random { seed: target.seek.seed, new_each_pass: target.randomize }
            }
            SeekOrder::None => StepOrder::Fixed,
            SeekOrder::Load(file) => StepOrder::List { file: file.into() },
        }
    }

    fn handling(&self, number: u64, target: &TargetSettings) -> Result<Handling, UsageError> {
        let writes = target.writes();
        let preallocate = if writes { target.preallocate.saturating_mul(1024) } else { 0 };
        Ok(Handling {
            access: Some(Access { buffered: !target.dio, sync: false }),
            data: Some(target.datapattern.clone().unwrap_or(Data::Byte(0))),
            verify: target.verify,
            file: FileCare {
                create: writes && !target.devicefile,
                between_passes: target.between_passes,
                preallocate: ByteSize(preallocate),
                sync_each_pass: target.syncwrite,
                delete: target.deletefile,
            },
            start_delay: self.start_delay(number)?,
            cpu: target.processor,
            max_errors: self.global.maxerrors,
            align: ByteSize(target.align),
            shared_memory: target.sharedmemory,
        })
    }

    fn start_delay(&self, number: u64) -> Result<Nanos, UsageError> {
        let global = &self.global;
        let later = global.targetstartdelay.0.checked_mul(number);
        let delay = later.and_then(|later| later.checked_add(global.startdelay.0)).filter(|n| *n <= 1 << 62);
        delay.map(Nanos).ok_or_else(|| {
            let text = format!("target {number} would begin after more than 146 years: give less");
            UsageError::new(&self.typed.name("targetstartdelay"), &text)
        })
    }

    fn throttle(&self, throttle: ThrottleSettings) -> Result<Throttle, UsageError> {
        let million = match throttle {
            ThrottleSettings::Ops(ops) => return Ok(Throttle::Ops(ops)),
            ThrottleSettings::Bandwidth(million) => million,
        };
        // A decimal counts billionths; a million times as many are exact, and fewer digits behind the point.
        let parts = u128::from(million.parts()) * 1_000_000;
        let (whole, rest) = (parts / 1_000_000_000, parts % 1_000_000_000);
        let bytes: Result<Decimal, _> = format!("{whole}.{rest:09}").parse();
        bytes.map(Throttle::Bytes).map_err(|_| {
            let text = format!("{} is too large: at most 18446", shown(&million.to_string()));
            UsageError::new(&self.typed.name("throttle"), &text)
        })
    }

    /// So many blocks of a target in bytes.
    fn bytes(&self, target: &TargetSettings, option: &str, blocks: u64) -> Result<u64, UsageError> {
        let bytes = blocks.checked_mul(target.blocksize).filter(|bytes| *bytes <= MAX_BYTES);
        bytes.ok_or_else(|| self.too_far(option, target))
    }

    fn too_far(&self, option: &str, target: &TargetSettings) -> UsageError {
        let text = format!(
            "{} has blocks of {} bytes: that lies beyond 2^63 bytes, the end of the largest file: give less",
            shown(&target.path()),
            target.blocksize
        );
        UsageError::new(&self.typed.name(option), &text)
    }
}
