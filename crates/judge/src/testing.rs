//! Small results for tests: records one after the other, a target, and samples of counters.

use crate::{Case, Detector, Samples, cautions, judge, predict};
use iosonar_analyze::{Caution, Detection, Judgement, Limits, Passing, Summary, Tally};
use iosonar_archive::{
    Marks, Outcome, PassTimes, RECORDING, Record, Recorded, ResolvedSetup, RunInfo, RunState, TargetInfo,
    Verified,
};
use iosonar_evidence::target::Layer;
use iosonar_evidence::{
    CgroupLimit, Compared, CpuState, DeviceCounter, Environment, ExtentRuns, Fact, FormerRun, IssueOrder,
    IssuingThreads, OwnUse, Reread, RereadTimes, Series, TargetFacts, TargetKind, Throttling, WrittenBack,
    WrittenRange,
};
use iosonar_plan::*;
use serde_json::{Value, json};

/// A minute, so that counters grow over some time.
const END_NS: u64 = 60_000_000_000;

#[derive(Clone)]
pub(crate) struct Lab {
    plan: Plan,
    run: RunInfo,
    records: Vec<Record>,
    before: Environment,
    after: Option<Environment>,
    samples: Samples,
    latency_ns: u64,
    late_ns: u64,
    /// Requests have addresses below this.
    within: u64,
    /// The issuing loop.
    worker: u16,
    /// The pass of the requests.
    pass: u32,
    delivered_share: Option<f64>,
    clock_cost_ns: f64,
    /// Mean in flight; the depth if unset.
    in_flight: Option<f64>,
}

fn device(name: &str, driver: &str, role: Value) -> Value {
    let queue = json!({"scheduler": "none", "write_cache": "write through"});
    json!({"number": "254:0", "name": name, "size": 1u64 << 40, "read_only": false, "driver": driver, "is_virtual": false,
           "diskseq": 1, "model": "Disk", "serial": "1", "queue": queue, "role": role})
}

fn disk(name: &str) -> Value {
    device(name, "virtblk", json!("disk"))
}

fn file(file_system: &str, below: Value, direct_io: Value) -> Value {
    let file_system = json!({"kind": file_system, "mount_point": "/", "source": "x", "options": "rw", "super_options": "rw", "below": below});
    json!({"path": "/image", "device": "254:0", "inode": 7, "size": 1u64 << 30, "direct_io": direct_io, "file_system": file_system})
}

fn aligned() -> Value {
    json!({"aligned": {"memory": 4, "offset": 512}})
}

fn compared((first_ns, second_ns, first_above, second_above): (u64, u64, u64, u64)) -> Compared {
    Compared { first_ns, second_ns, first_above, second_above }
}

impl Lab {
    pub(crate) fn new() -> Lab {
        let generator = Generator { pace: Pace::Closed, ..Generator::new(Order::Random, ByteSize(4096)) };
        let job = Job::new(0, 1, Workload::Generated(generator));
        let plan = Plan::new(1, vec![Target::new("/target")], vec![Phase::of(vec![job])]);
        let target =
            TargetInfo { path: "/target".into(), size: 1 << 40, block: 512, ..TargetInfo::default() };
        let mut run = RunInfo::new("iosonar 0.0.0", "iosonar test", vec![target]);
        run.state = RunState::Finished;
        run.setup = ResolvedSetup { engine: "uring".into(), ..ResolvedSetup::default() };
        Lab {
            plan,
            run,
            records: Vec::new(),
            before: Environment::default(),
            after: None,
            samples: Samples::default(),
            latency_ns: 100_000,
            late_ns: 0,
            within: 1 << 40,
            worker: 0,
            pass: 0,
            delivered_share: None,
            clock_cost_ns: 20.0,
            in_flight: None,
        }
    }

    fn target(mut self, kind: Value) -> Lab {
        let facts = json!({"path": "/target", "resolved": "/target", "size": 1u64 << 40, "unwritable": null, "unreadable": null,
                           "logical_block_size": {"bytes": 512, "source": "queue"}, "kind": kind});
        let facts: TargetFacts = serde_json::from_value(facts).unwrap();
        self.before.targets = vec![facts];
        self
    }

    pub(crate) fn on_device(self, name: &str, driver: &str) -> Lab {
        self.target(json!({"block-device": device(name, driver, json!("disk"))}))
    }

    pub(crate) fn on_disk(self, name: &str) -> Lab {
        self.target(json!({"block-device": disk(name)}))
    }

    /// A file in a file system on a disk; on nothing where the disk has no name.
    pub(crate) fn on_file_system(self, kind: &str, name: &str) -> Lab {
        let below = if name.is_empty() { json!([]) } else { json!([{"block-device": disk(name)}]) };
        self.target(json!({"regular-file": file(kind, below, aligned())}))
    }

    /// A loop device whose file lies in ext4 on vda.
    pub(crate) fn on_loop(self, direct_io: bool) -> Lab {
        let below = json!({"regular-file": file("ext4", json!([{"block-device": disk("vda")}]), aligned())});
        let role =
            json!({"loop": {"backing_file": "/image", "offset": 0, "direct_io": direct_io, "below": below}});
        self.target(json!({"block-device": device("loop0", "loop", role)}))
    }

    /// The file system of the file does direct I/O through the page cache.
    pub(crate) fn pretended(mut self) -> Lab {
        if let iosonar_evidence::TargetKind::RegularFile(file) = &mut self.before.targets[0].kind {
            file.direct_io = iosonar_evidence::target::DirectIo::Unsupported;
        }
        self
    }

    fn probed(mut self, seen: Fact<RereadTimes>) -> Lab {
        self.before.reread = vec![Reread { target: "/target".into(), seen }];
        self
    }

    /// Random blocks were read twice before the run: p50 and p90 of both readings in nanoseconds, and for each the number of reads above
    /// their common border.
    pub(crate) fn reread(self, p50: (u64, u64, u64, u64), p90: (u64, u64, u64, u64)) -> Lab {
        let [p50, p90] = [p50, p90].map(compared);
        let (block_bytes, blocks, zero_blocks, data_and_zeros) = (4096, 300, 0, None);
        let times = RereadTimes { block_bytes, blocks, p50, p90, zero_blocks, data_and_zeros };
        self.probed(Fact::Known(times))
    }

    /// Some of these blocks were zeros, others data: count of each, their medians, and how many took longer than their common border.
    pub(crate) fn reread_of_kinds(self, zeros: (u64, u64, u64), data: (u64, u64, u64)) -> Lab {
        let p50 = compared((data.1, data.1, 0, 0));
        let has_both = zeros.0 > 0 && data.0 > 0;
        self.probed(Fact::Known(RereadTimes {
            block_bytes: 4096,
            blocks: zeros.0 + data.0,
            p50,
            p90: p50,
            zero_blocks: zeros.0,
            data_and_zeros: has_both.then(|| compared((data.1, zeros.1, data.2, zeros.2))),
        }))
    }

    /// The probe had no answer.
    pub(crate) fn not_reread(self, why: &str) -> Lab {
        self.probed(Fact::absent(why))
    }

    pub(crate) fn write_cache(mut self, mode: &str) -> Lab {
        if let iosonar_evidence::TargetKind::BlockDevice(device) = &mut self.before.targets[0].kind {
            device.queue.write_cache = Fact::Known(mode.into());
        }
        self
    }

    pub(crate) fn scheduler_after(mut self, scheduler: &str) -> Lab {
        let mut after = self.before.clone();
        if let iosonar_evidence::TargetKind::BlockDevice(device) = &mut after.targets[0].kind {
            device.queue.scheduler = Fact::Known(scheduler.into());
        }
        self.after = Some(after);
        self
    }

    /// `issued` requests went to the driver, some of them before others that had been submitted earlier.
    pub(crate) fn issued(mut self, issued: u64, out_of_order: u64) -> Lab {
        let after = self.after.get_or_insert_with(|| self.before.clone());
        after.issue_order = Fact::Known(IssueOrder { issued, out_of_order, lost_events: 0 });
        self.plan.watch_order = true;
        self
    }

    /// Sets the latency of subsequent requests.
    pub(crate) fn latency_ns(self, latency_ns: u64) -> Lab {
        Lab { latency_ns, ..self }
    }

    fn requests(mut self, op: Op, count: u64, bytes: u64) -> Lab {
        let worker = self.worker;
        let last = self.records.iter().rfind(|record| record.worker == worker);
        let mut due = last.and_then(|record| record.completed).unwrap_or(Nanos(0));
        for _ in 0..count {
            let sequence = self.records.len() as u64;
            // Spread over the range, deterministically.
            let place = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let extent = Extent { offset: place % (self.within / bytes.max(1)) * bytes, length: bytes };
            let submitted = Nanos(due.0 + self.late_ns);
            let completed = Nanos(submitted.0 + self.latency_ns);
            self.records.push(Record {
                sequence,
                worker,
                pass: self.pass,
                op,
                due,
                submitted: Some(submitted),
                completed: Some(completed),
                requested: extent,
                executed: extent,
                result: bytes as i64,
                ..Record::default()
            });
            due = completed;
        }
        self
    }

    /// Sets the examined machine, with the samples of its counters.
    pub(crate) fn on_machine(
        mut self,
        before: Environment,
        after: Environment,
        samples: Vec<(u64, Series, f64)>,
    ) -> Lab {
        (self.before, self.after) = (before, Some(after));
        samples.iter().for_each(|(time_ns, series, value)| self.samples.add(*time_ns, series, *value));
        self
    }

    /// Limits the addresses of subsequent requests.
    pub(crate) fn within(self, within: u64) -> Lab {
        Lab { within, ..self }
    }

    /// Subsequent requests are those of another loop, which also began at time zero.
    pub(crate) fn by_another_loop(self) -> Lab {
        Lab { worker: self.worker + 1, ..self }
    }

    /// Adds the times of each loop's pass.
    pub(crate) fn with_passes(mut self) -> Lab {
        for record in &self.records {
            let (start, end) = (record.due, record.completed.unwrap());
            let job = record.worker;
            match self.run.passes.iter_mut().find(|pass| (pass.job, pass.pass) == (job, record.pass)) {
                Some(pass) => (pass.start, pass.end) = (pass.start.min(start), pass.end.max(end)),
                None => self.run.passes.push(PassTimes {
                    target: 0,
                    job,
                    phase: 0,
                    pass: record.pass,
                    start,
                    end,
                    cpu_ns: 0,
                    open_ns: 0,
                }),
            }
        }
        self
    }

    /// Sets the issue delay of subsequent requests.
    pub(crate) fn late_ns(self, late_ns: u64) -> Lab {
        Lab { late_ns, ..self }
    }

    pub(crate) fn sequential(mut self) -> Lab {
        if let Workload::Generated(generator) = &mut self.plan.phases[0].jobs[0].workload {
            generator.order = Order::Sequential;
        }
        self
    }

    pub(crate) fn memory(mut self, bytes: u64) -> Lab {
        self.before.memory.total = Fact::Known(bytes);
        self
    }

    fn queue_of_target(&mut self) -> &mut iosonar_evidence::target::Queue {
        match &mut self.before.targets[0].kind {
            iosonar_evidence::TargetKind::BlockDevice(device) => &mut device.queue,
            other => panic!("{other:?} is no device"),
        }
    }

    pub(crate) fn rotational(mut self) -> Lab {
        self.queue_of_target().rotational = Fact::Known(true);
        self
    }

    pub(crate) fn physical_block(mut self, bytes: u64) -> Lab {
        self.queue_of_target().physical_block_size = Fact::Known(bytes);
        self
    }

    /// A partition that starts at a byte of a disk with such physical blocks.
    pub(crate) fn on_partition(self, name: &str, start: u64, physical_block: u64) -> Lab {
        let mut disk = disk("sda");
        disk["number"] = json!("8:0");
        disk["queue"]["physical_block_size"] = json!(physical_block);
        let role = json!({"partition": {"index": 1, "start": start, "disk": disk}});
        self.target(json!({"block-device": device(name, "sd", role)})).physical_block(physical_block)
    }

    /// The result is in ext4 on a disk.
    pub(crate) fn result_on(mut self, name: &str) -> Lab {
        let mut disk = disk(name);
        if name != "vda" {
            disk["number"] = json!("8:16");
        }
        let file = file("ext4", json!([{"block-device": disk}]), aligned());
        self.before.result = serde_json::from_value(file["file_system"].clone()).unwrap();
        self
    }

    /// A file in the upper layer of an overlay, into which it was copied when it was opened, or before.
    pub(crate) fn on_overlay(self, copied: bool) -> Lab {
        let layer = |kind: &str, disk: Value| {
            json!({"kind": kind, "mount_point": "/layer", "source": "x", "options": "rw", "super_options": "rw",
                   "below": [{"block-device": disk}]})
        };
        let mut file = file("overlay", json!([{"file-system": layer("ext4", disk("vda"))}]), aligned());
        if copied {
            file["copied_from"] = layer("xfs", disk("vdb"));
        }
        self.target(json!({"regular-file": file}))
    }

    /// Layout of the used range on the device.
    pub(crate) fn extents(mut self, extents: ExtentRuns) -> Lab {
        self.run.targets[0].extents = Some(extents);
        self
    }

    /// The disk below the file rotates.
    pub(crate) fn below_rotates(mut self) -> Lab {
        let TargetKind::RegularFile(file) = &mut self.before.targets[0].kind else { panic!("it is a file") };
        let Fact::Known(file_system) = &mut file.file_system else { panic!("it is known") };
        let Layer::BlockDevice(disk) = &mut file_system.below[0] else { panic!("it is a disk") };
        disk.queue.rotational = Fact::Known(true);
        disk.driver = Fact::Known("sd".into());
        self
    }

    /// Requests change this range, and the ledger was read.
    pub(crate) fn written(mut self, start: u64, end: u64) -> Lab {
        self.run.targets[0].written = Some(WrittenRange { start, end });
        self.before.targets[0].former_runs = Fact::Known(Vec::new());
        self
    }

    /// The run writes nothing.
    pub(crate) fn reads_only(mut self) -> Lab {
        self.run.targets[0].written = None;
        self
    }

    /// Another run wrote this range before, on 2026-11-20.
    pub(crate) fn former_run(mut self, start: u64, end: u64) -> Lab {
        let (ended_unix, written) = (1_795_183_380, WrittenRange { start, end });
        let run = FormerRun { ended_unix, written, result: Some("/results/7".into()), changed_since: false };
        self.before.targets[0].former_runs = Fact::Known(vec![run]);
        self
    }

    /// The file was changed after that.
    pub(crate) fn changed_since(mut self) -> Lab {
        if let Fact::Known(runs) = &mut self.before.targets[0].former_runs {
            runs.iter_mut().for_each(|run| run.changed_since = true);
        }
        self
    }

    /// The ledger could not be read.
    pub(crate) fn without_ledger(mut self, why: &str) -> Lab {
        self.before.targets[0].former_runs = Fact::absent(why);
        self
    }

    /// Subsequent requests belong to this pass.
    pub(crate) fn in_pass(mut self, pass: u32) -> Lab {
        self.plan.phases[0].passes = pass + 1;
        Lab { pass, ..self }
    }

    /// Blocks of the file before and after the run.
    pub(crate) fn allocated(mut self, before: u64, after: u64) -> Lab {
        let set = |environment: &mut Environment, bytes: u64| {
            if let iosonar_evidence::TargetKind::RegularFile(file) = &mut environment.targets[0].kind {
                file.allocated = Fact::Known(bytes);
            }
        };
        set(&mut self.before, before);
        let mut environment = self.before.clone();
        set(&mut environment, after);
        self.after = Some(environment);
        self
    }

    /// The plan verifies, with these additional bytes of reads.
    pub(crate) fn verified(mut self, modes: &str, added_bytes: u64) -> Lab {
        self.plan.verify.modes = modes.parse().unwrap();
        self.run.verified = Some(Verified { added_bytes, ..Verified::default() });
        self
    }

    /// A recording, not a run.
    pub(crate) fn recording(mut self, recorded: Recorded) -> Lab {
        self.run.tool = RECORDING.into();
        self.run.recorded = Some(recorded);
        self
    }

    pub(crate) fn reads(self, count: u64, bytes: u64) -> Lab {
        self.requests(Op::Read, count, bytes)
    }

    pub(crate) fn writes(self, count: u64, bytes: u64) -> Lab {
        self.requests(Op::Write, count, bytes)
    }

    /// Adds flushes.
    pub(crate) fn fsyncs(self, count: u64) -> Lab {
        self.requests(Op::Fsync, count, 0)
    }

    /// Each write is on stable storage when it completes.
    pub(crate) fn durable(mut self) -> Lab {
        self.plan.access.sync = SyncFlag::Dsync;
        self
    }

    /// The first of its requests fail.
    pub(crate) fn failed(mut self, count: usize) -> Lab {
        for record in &mut self.records[..count] {
            (record.outcome, record.result) = (Outcome::Failed, -5);
        }
        self
    }

    pub(crate) fn claiming(&self, claim: Claim) -> Lab {
        let mut lab = self.clone();
        lab.plan.claim = Some(claim);
        lab
    }

    pub(crate) fn buffered(mut self) -> Lab {
        self.plan.access.buffered = true;
        self
    }

    pub(crate) fn depth(mut self, depth: u32) -> Lab {
        self.plan.phases[0].jobs[0].depth = depth;
        self
    }

    /// Sets the mean in flight.
    pub(crate) fn in_flight(self, mean: f64) -> Lab {
        Lab { in_flight: Some(mean), ..self }
    }

    /// Reads that are due at equal intervals after the last due time, and served one after the other.
    pub(crate) fn queued(mut self, count: u64, every_ns: u64, service_ns: u64) -> Lab {
        let last = self.records.last();
        let (mut due, mut free) =
            last.map_or((0, 0), |last| (last.due.0, last.completed.map_or(0, |end| end.0)));
        self = self.reads(count, 4096);
        let from = self.records.len() - count as usize;
        for record in &mut self.records[from..] {
            let submitted = free.max(due);
            free = submitted + service_ns;
            (record.due, record.submitted, record.completed) =
                (Nanos(due), Some(Nanos(submitted)), Some(Nanos(free)));
            due += every_ns;
        }
        self
    }

    /// `count` requests of 100 µs, one due each millisecond, late by the result of `late`.
    pub(crate) fn steady(self, count: u64, late: impl Fn(u64) -> u64) -> Lab {
        let mut lab = self.timed().queued(count, 1_000_000, 0);
        for (i, record) in (0..).zip(&mut lab.records) {
            let submitted = record.due.0 + late(i);
            (record.submitted, record.completed) = (Some(Nanos(submitted)), Some(Nanos(submitted + 100_000)));
        }
        lab
    }

    /// Marks each `every`-th request.
    pub(crate) fn marked(mut self, every: usize, marks: Marks) -> Lab {
        self.records.iter_mut().step_by(every).for_each(|record| record.marks = marks);
        self
    }

    pub(crate) fn last_ends_at(mut self, ns: u64) -> Lab {
        self.records.last_mut().unwrap().completed = Some(Nanos(ns));
        self
    }

    /// The depth, and the most requests in flight.
    pub(crate) fn slots(mut self, depth: u32, most: u64) -> Lab {
        self.plan.phases[0].jobs[0].depth = depth;
        self.run.targets[0].max_in_flight = Some(most);
        self
    }

    /// What carried the requests out is unknown.
    pub(crate) fn without_setup(mut self) -> Lab {
        self.run.setup = ResolvedSetup::default();
        self
    }

    pub(crate) fn on_engine(mut self, engine: Engine) -> Lab {
        self.plan.engine = engine;
        self
    }

    pub(crate) fn timed(mut self) -> Lab {
        if let Workload::Generated(generator) = &mut self.plan.phases[0].jobs[0].workload {
            generator.pace = Pace::Rate { iops: Decimal::whole(1000), process: Process::Constant };
        }
        self
    }

    pub(crate) fn recorded(mut self) -> Lab {
        self.plan.phases[0].jobs[0].workload = Workload::Trace(TraceReplay::of("a.load"));
        self
    }

    pub(crate) fn random_percent(mut self, percent: u8) -> Lab {
        self.plan.fill.random_percent = percent;
        self
    }

    pub(crate) fn holes(mut self, bytes: u64, of: u64) -> Lab {
        let target = &mut self.run.targets[0];
        (target.hole_bytes, target.size, target.max_requested_end) = (bytes, of, of);
        self
    }

    /// This part of its range is in the page cache.
    pub(crate) fn cached(mut self, bytes: u64, of: u64) -> Lab {
        let target = &mut self.run.targets[0];
        (target.cached_bytes, target.size, target.max_requested_end) = (Some(bytes), of, of);
        self
    }

    pub(crate) fn wraparound(mut self, factor: f64) -> Lab {
        let target = &mut self.run.targets[0];
        target.max_requested_end = (target.size as f64 * factor) as u64;
        self
    }

    /// A target whose size is unknown, as in results of other programs.
    pub(crate) fn of_unknown_size(mut self) -> Lab {
        self.run.targets[0].size = 0;
        self
    }

    /// The first of its requests were no whole blocks of the target.
    pub(crate) fn rounded(mut self, count: usize, block: u64) -> Lab {
        for record in &mut self.records[..count] {
            record.marks = record.marks.with(Marks::ROUNDED, true);
        }
        let target = &mut self.run.targets[0];
        (target.block, target.rounded_requests) = (block, count as u64);
        target.expected_requests = Some(self.records.len() as u64);
        self
    }

    pub(crate) fn delivered_share(self, share: f64) -> Lab {
        Lab { delivered_share: Some(share), ..self }
    }

    pub(crate) fn clock_cost(self, clock_cost_ns: f64) -> Lab {
        Lab { clock_cost_ns, ..self }
    }

    /// These bytes were written back before, in two seconds.
    pub(crate) fn written_back(mut self, waited_bytes: u64) -> Lab {
        let done = WrittenBack { waited_bytes, took_ns: 2_000_000_000, ..WrittenBack::default() };
        self.before.written_back = Some(done);
        self
    }

    pub(crate) fn dirty(mut self, bytes: u64) -> Lab {
        self.before.memory.dirty = Fact::Known(bytes);
        self
    }

    pub(crate) fn limit(mut self, file: &str, value: &str) -> Lab {
        let limit = CgroupLimit { group: "/a".into(), file: file.into(), value: value.into() };
        self.before.cgroups.limits.push(limit);
        self
    }

    /// A counter grows by `by` during the run.
    fn grows(mut self, series: Series, by: f64) -> Lab {
        self.samples.add(0, &series, 1000.0);
        self.samples.add(END_NS, &series, 1000.0 + by);
        self
    }

    fn device_grows(self, name: &str, counter: DeviceCounter, by: f64) -> Lab {
        self.grows(Series::device(name, counter), by)
    }

    pub(crate) fn process_read(self, bytes: u64) -> Lab {
        self.grows(Series::Own(OwnUse::Read), bytes as f64)
    }

    pub(crate) fn process_written(self, bytes: u64) -> Lab {
        self.grows(Series::Own(OwnUse::Written), bytes as f64)
    }

    /// The process was halted for this time.
    pub(crate) fn halted(self, ns: f64) -> Lab {
        self.grows(Series::Own(OwnUse::Halted), ns)
    }

    /// The process was halted until `at_ns`, and had its CPUs otherwise.
    pub(crate) fn halted_until(mut self, at_ns: u64, ns: f64) -> Lab {
        let series = Series::Own(OwnUse::Halted);
        for (time_ns, value) in [(0, 0.0), (at_ns, ns), (END_NS, ns)] {
            self.samples.add(time_ns, &series, value);
        }
        self
    }

    /// Whether the target's device counts its requests.
    pub(crate) fn iostats(mut self, counts: bool) -> Lab {
        self.queue_of_target().iostats = Fact::Known(counts);
        self
    }

    pub(crate) fn device_read(self, name: &str, bytes: u64) -> Lab {
        self.device_grows(name, DeviceCounter::ReadSectors, bytes as f64 / 512.0)
    }

    pub(crate) fn device_written(self, name: &str, bytes: u64) -> Lab {
        self.device_grows(name, DeviceCounter::WriteSectors, bytes as f64 / 512.0)
    }

    pub(crate) fn device_ios(self, name: &str, ios: u64, merges: u64) -> Lab {
        let lab = self.device_grows(name, DeviceCounter::ReadIos, ios as f64).device_grows(
            name,
            DeviceCounter::WriteIos,
            0.0,
        );
        let lab = lab.device_grows(name, DeviceCounter::ReadMerges, merges as f64);
        lab.device_grows(name, DeviceCounter::WriteMerges, 0.0)
    }

    pub(crate) fn queue(self, name: &str, queued_ms: u64, busy_ms: u64) -> Lab {
        let lab = self.device_grows(name, DeviceCounter::TimeInQueue, queued_ms as f64);
        lab.device_grows(name, DeviceCounter::IoTicks, busy_ms as f64)
    }

    pub(crate) fn flushes(self, name: &str, count: u64) -> Lab {
        self.device_grows(name, DeviceCounter::FlushIos, count as f64)
    }

    pub(crate) fn flush_time(self, name: &str, ms: f64) -> Lab {
        self.device_grows(name, DeviceCounter::FlushTicks, ms)
    }

    /// Ticks that CPUs were idle, and that were stolen from them. The issuing threads had theirs.
    pub(crate) fn cpu(self, idle: f64, stolen: f64) -> Lab {
        let lab = self.issuing(1e9, 0.0);
        CpuState::ALL.iter().fold(lab, |lab, state| {
            let by = match state {
                CpuState::Idle => idle,
                CpuState::Steal => stolen,
                _ => 0.0,
            };
            lab.grows(Series::Cpu(*state), by)
        })
    }

    pub(crate) fn issuing(self, cpu_ns: f64, wait_ns: f64) -> Lab {
        self.grows(Series::Issuing(IssuingThreads::Cpu), cpu_ns)
            .grows(Series::Issuing(IssuingThreads::Wait), wait_ns)
    }

    /// The issuing thread used a CPU for this share of a second.
    pub(crate) fn thread_cpu_share(mut self, share: f64) -> Lab {
        let (start, end, cpu_ns) = (Nanos(0), Nanos::SECOND, (share * 1e9) as u64);
        self.run.passes =
            vec![PassTimes { target: 0, job: 0, phase: 0, pass: 0, start, end, cpu_ns, open_ns: 0 }];
        self
    }

    pub(crate) fn throttled(self, periods: u64, throttled: u64) -> Lab {
        let lab = self.grows(Series::Cgroup(Throttling::Periods), periods as f64);
        lab.grows(Series::Cgroup(Throttling::Throttled), throttled as f64)
    }

    fn with_case<T>(&self, look: impl FnOnce(&Case<'_>) -> T) -> T {
        let mut seen = Passing::new(1, &Limits::default());
        seen.add(&self.records);
        let tally: Tally = seen.finish();
        let mut summary = Summary::new(&tally, &self.plan, &self.run);
        if self.delivered_share.is_some() {
            summary.throughput.delivered_share = self.delivered_share;
        }
        if let Some(setup) = &mut summary.health.setup {
            setup.clock_cost_ns = self.clock_cost_ns;
        }
        if self.plan.phases[0].jobs[0].depth > 1 {
            let depth = f64::from(self.plan.phases[0].jobs[0].depth);
            summary.in_flight.mean_time_weighted = Some(self.in_flight.unwrap_or(depth));
        }
        look(&Case {
            plan: &self.plan,
            run: &self.run,
            summary: &summary,
            tally: &tally,
            before: &self.before,
            after: self.after.as_ref(),
            samples: &self.samples,
        })
    }

    /// The detection of one detector.
    pub(crate) fn detection(&self, detector: &Detector) -> Option<Detection> {
        self.with_case(|case| Some(detector.detection((detector.detect)(case)?, case.claim())))
    }

    /// Facts about its target.
    pub(crate) fn facts(&self) -> &TargetFacts {
        &self.before.targets[0]
    }

    /// Detections before its first request.
    pub(crate) fn predicted(&self) -> Vec<Detection> {
        self.with_case(|case| predict(&case.planned(), case.claim()))
    }

    /// Its cautions.
    pub(crate) fn cautions(&self) -> Vec<Caution> {
        self.with_case(|case| cautions(case.summary, case.plan, case.run, Some(&judge(case))))
    }

    /// Its cautions if nothing but its summary is known.
    pub(crate) fn cautions_without_evidence(&self) -> Vec<Caution> {
        self.with_case(|case| cautions(case.summary, case.plan, case.run, None))
    }

    /// Cautions that a detector makes from the summary alone.
    pub(crate) fn said(&self, detector: &Detector) -> Vec<Caution> {
        self.with_case(|case| detector.says.unwrap()(case.summary, case.plan))
    }

    pub(crate) fn judgement(&self) -> Judgement {
        self.with_case(judge)
    }
}
