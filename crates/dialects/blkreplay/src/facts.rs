//! Parses the lines around the results: text block, settings, tail.

use crate::{ctime, form};
use iosonar_archive::{RunInfo, RunState, TargetInfo};
use iosonar_plan::{
    Access, ByteSize, Engine, Fill, Job, Nanos, Overlap, OverlapPolicy, Phase, Plan, SECTOR, SimModel,
    Strong, Target, TraceReplay, Workload,
};

/// Values of the text; absent if it lacks the line. The last line of a name wins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    block: TextBlock,
    /// Block for the next first line of a program.
    next_block: TextBlock,
    /// Whether the program's first line was read.
    pub has_start: bool,
    has_end: bool,
    state: Option<RunState>,
    device: Option<String>,
    /// From the `ctime` date, in seconds since 1970.
    started: Option<u64>,
    access: Access,
    /// 0 if absent: the default of the program that wrote the text.
    random_percent: u8,
    service: Nanos,
    is_dry: bool,
    policy: Option<OverlapPolicy>,
    strong: Option<Strong>,
    size: Option<u64>,
    max_end: Option<u64>,
    input_lines: u64,
    max_submitted: Option<u64>,
    max_pushback: Option<u64>,
    /// Counts of the tail.
    pub completed: Option<u64>,
    pub failed: Option<u64>,
    pub dropped: Option<u64>,
    pub skipped: Option<u64>,
}

/// Lines that only iosonar writes, before the program's first line.
#[derive(Debug, Clone, Default)]
struct TextBlock {
    tool: Option<String>,
    run_id: Option<u64>,
    started_unix_ns: Option<u64>,
}

/// Facts that only the result lines contain.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ResultLines {
    /// Highest end in bytes of all requests.
    pub max_end: u64,
    pub bad_lines: u64,
    pub back_shifts: u64,
    /// Maximum number of requests in flight, as far as their times show.
    pub max_in_flight: Option<u64>,
}

impl Facts {
    /// Evaluates a trimmed line; other lines are ignored.
    pub(crate) fn read(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix(form::BLKREPLAY_ON) {
            self.read_program_line(rest);
        } else if let Some(rest) = text.strip_prefix(form::DEVICE) {
            self.read_device(rest);
        } else if let Some((name, value)) = text.strip_prefix("INFO: ").and_then(|t| t.split_once(['=', ':']))
        {
            self.read_setting(name.trim(), value.trim());
        } else if let Some((name, value)) = text.split_once(':') {
            self.read_named(name, value.trim());
        }
    }

    /// Whether `text` is the program's first line.
    pub(crate) fn is_start(text: &str) -> bool {
        text.strip_prefix(form::BLKREPLAY_ON).is_some_and(|rest| split_start(rest).is_some())
    }

    fn read_program_line(&mut self, rest: &str) {
        if let Some((device, date)) = split_start(rest) {
            // Earlier lines may belong to an older result, from which the load was made.
            *self = Facts { block: std::mem::take(&mut self.next_block), ..Facts::default() };
            self.has_start = true;
            self.started = ctime::parse(date);
            self.device = Some(device.to_string());
        } else if rest.contains(form::ENDED_AT) {
            self.has_end = true;
        }
    }

    fn read_device(&mut self, rest: &str) {
        if let Some((device, blocks)) = rest.rsplit_once(form::HAS_BLOCKS) {
            self.device = Some(device.to_string());
            self.size = sectors(blocks).or(self.size);
        }
    }

    fn read_setting(&mut self, name: &str, value: &str) {
        match name {
            "use_o_direct" => self.access.buffered = value == "0",
            "use_o_sync" => self.access.sync = (value == "1").into(),
            "fill_random" => {
                let percent = value.parse().ok().filter(|p| *p <= 100);
                self.random_percent = percent.unwrap_or_default();
            }
            "simulate_io" => self.service = value.parse().unwrap_or_default(),
            "dry_run" => self.is_dry = value == "1",
            _ => {}
        }
    }

    fn read_named(&mut self, name: &str, value: &str) {
        let is = |known: &str| name.split_ascii_whitespace().eq(known.split_ascii_whitespace());
        let number = value.parse::<u64>().ok();
        for (known, place) in [
            (form::COMPLETED, &mut self.completed),
            (form::FAILED, &mut self.failed),
            (form::DROPPED, &mut self.dropped),
            (form::SKIPPED, &mut self.skipped),
            (form::RUN_ID, &mut self.next_block.run_id),
            (form::STARTED, &mut self.next_block.started_unix_ns),
            (form::MAX_SUBMITTED, &mut self.max_submitted),
            (form::MAX_PUSHBACK, &mut self.max_pushback),
        ] {
            if is(known) {
                *place = number;
            }
        }
        if is(form::INPUT_LINES) {
            self.input_lines = number.unwrap_or_default();
        } else if is(form::TOOL) {
            self.next_block.tool = Some(value.to_string());
        } else if is(form::STATE) {
            self.state = form::parse_state(value);
        } else if is(form::SIZE) {
            self.size = sectors(value).or(self.size);
        } else if is(form::MAX_BLOCK) {
            self.max_end = sectors(value);
        } else if is(form::CONFLICT_MODE) {
            self.policy = number.and_then(|n| form::CONFLICT_MODES.get(usize::try_from(n).ok()?).copied());
        } else if is(form::STRONG_MODE) {
            self.strong = number.and_then(|n| Strong::try_from(u8::try_from(n).ok()?).ok());
        }
    }

    fn path(&self) -> &str {
        self.device.as_deref().unwrap_or("unknown")
    }

    fn engine(&self) -> Engine {
        match (self.service, self.is_dry) {
            (Nanos(0), false) => Engine::Threads,
            (Nanos(0), true) => Engine::Null,
            (service, _) => Engine::Sim(SimModel { service, ..SimModel::default() }),
        }
    }

    /// A plan that would repeat the run, as far as the text describes it. It does not allow writing to devices. The
    /// text has neither engine nor depth; the summary does not show those of this plan.
    pub(crate) fn plan(&self, name: &str) -> Plan {
        let default = Overlap::default();
        let engine = self.engine();
        let depth = self.max_submitted.unwrap_or(1).clamp(1, 65_536) as u32;
        let size = self.size.filter(|_| !engine.is_real()).map(ByteSize);
        let target = Target { size, ..Target::new(self.path()) };
        let job = Job::new(0, depth, Workload::Trace(TraceReplay::of(name)));
        let run_id = self.block.run_id.filter(|id| *id < 1 << 63).unwrap_or_default();
        Plan {
            seed: 0,
            engine,
            access: self.access,
            fill: Fill { random_percent: self.random_percent },
            overlap: Overlap {
                policy: self.policy.unwrap_or(default.policy),
                strong: self.strong.unwrap_or(default.strong),
                max_waiting: self.max_pushback.unwrap_or(0).clamp(default.max_waiting.into(), 1 << 24) as u32,
            },
            ..Plan::new(run_id, vec![target], vec![Phase::of(vec![job])])
        }
    }

    /// Facts about the whole run.
    pub(crate) fn run(&self, name: &str, seen: ResultLines) -> RunInfo {
        let started = self.started.map(|seconds| seconds.saturating_mul(Nanos::SECOND.0));
        let targets = vec![TargetInfo {
            path: self.path().into(),
            source: name.into(),
            size: self.size.unwrap_or_default(),
            block: SECTOR,
            max_requested_end: self.max_end.unwrap_or(seen.max_end),
            rounded_requests: 0,
            input_lines: self.input_lines,
            bad_lines: seen.bad_lines,
            back_shifts: seen.back_shifts,
            max_waiting: self.max_pushback,
            max_in_flight: self.max_submitted.or(seen.max_in_flight),
            ..TargetInfo::default()
        }];
        let tool = self.block.tool.clone().unwrap_or_else(|| "blkreplay".into());
        RunInfo {
            started_unix_ns: self.block.started_unix_ns.or(started).unwrap_or_default(),
            state: self.state(),
            is_import: true,
            verified: None,
            ..RunInfo::new(&tool, "", targets)
        }
    }

    fn state(&self) -> RunState {
        // iosonar's own tail follows blkreplay's.
        let is_ours = self.block.run_id.is_some();
        match &self.state {
            Some(state) if self.has_end => state.clone(),
            None if self.has_end && !is_ours => RunState::Finished,
            _ => RunState::Broken("no tail: the run was cut off".into()),
        }
    }
}

/// Splits a first line into device and date. The device may have any name, so the last keyword counts.
fn split_start(rest: &str) -> Option<(&str, &str)> {
    rest.rsplit_once(form::STARTED_AT).filter(|(_, date)| !date.contains(form::ENDED_AT))
}

/// Parses a number of sectors at the start of a text, in bytes.
fn sectors(text: &str) -> Option<u64> {
    let number: u64 = text.split_ascii_whitespace().next()?.trim_end_matches('.').parse().ok()?;
    number.checked_mul(SECTOR)
}
