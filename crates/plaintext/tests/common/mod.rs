//! Synthetic runs: seeded, with known bands, stalls and a collapse.
#![allow(dead_code, reason = "each test file uses a part")]

use iosonar_analyze::findings::{CompletionStall, LatencyBand, Overload, OverloadKind, StallKind, TimeRange};
use iosonar_analyze::{
    Blame, BlameRow, Cause, CauseShare, Diagrams, Distribution, Findings, Limits, PathCost, PathFacts,
    PathGroup, Reason, SlowRequest, StepTimes, Story, StoryEvent, Summary, Tally, summarize,
};
use iosonar_archive::*;
use iosonar_plan::*;
use iosonar_testkit::SplitMix;

pub struct Run {
    pub plan: Plan,
    pub info: RunInfo,
    pub records: Vec<Record>,
    /// Findings for the pictures; no detector runs.
    pub findings: Option<Findings>,
    /// Faults found by verification, one by one.
    pub faults: Vec<Fault>,
    /// The story; `None` as in results of earlier versions.
    pub story: Option<Story>,
    /// Steps in the kernel; `None` as without tracing.
    pub path: Option<PathFacts>,
    /// Notes of users.
    pub notes: Vec<Note>,
}

impl Run {
    /// Time of the last completion.
    pub fn end_ns(&self) -> u64 {
        self.records.iter().filter_map(|r| r.completed).max().map_or(1_000, |t| t.0)
    }

    pub fn summary(&self) -> Summary {
        let summary = summarize(&self.records, &self.plan, &self.info, &Limits::default()).unwrap();
        let cautions = iosonar_judge::cautions(&summary, &self.plan, &self.info, None);
        let (story, path, notes) = (self.story.clone(), self.path.clone(), self.notes.clone());
        Summary { cautions, story, path, notes, ..summary }
    }

    pub fn tally(&self) -> Tally {
        let mut tally = Tally::new(self.plan.targets.len(), &Limits::default());
        self.records.iter().for_each(|r| tally.add(r));
        tally
    }

    pub fn diagrams(&self) -> Diagrams {
        Diagrams::compute(&self.records).unwrap()
    }
}

/// About normal, mean 0, deviation 1.
fn normal(numbers: &mut SplitMix) -> f64 {
    (0..12).map(|_| numbers.fraction()).sum::<f64>() - 6.0
}

pub fn empty(targets: &[&str]) -> Run {
    let source = Workload::Trace(TraceReplay::of("loads/mysql.load.gz"));
    let facts = |path: &&str| TargetInfo {
        path: path.to_string(),
        source: "loads/mysql.load.gz".into(),
        size: 960 << 30,
        block: 512,
        max_requested_end: 910 << 30,
        rounded_requests: 0,
        input_lines: 0,
        bad_lines: 0,
        back_shifts: 0,
        max_waiting: Some(0),
        max_in_flight: Some(0),
        expected_requests: None,
        hole_bytes: 0,
        hole_range_bytes: 0,
        cached_bytes: None,
        written: None,
        extents: None,
        left_out_flushes: 0,
        left_out_discards: 0,
        checks: None,
        ended_early: None,
        issued_hash: String::new(),
    };
    Run {
        plan: Plan {
            hosts: Default::default(),
            version: PLAN_VERSION,
            run_id: 0x0123_4567_89ab,
            seed: 1,
            start_grace: Nanos(0),
            claim: None,
            anyway: false,
            watch_order: false,
            trace_path: Default::default(),
            probe: Probe::Auto,
            sample_every: Nanos::SECOND,
            destroy: true,
            engine: Engine::Threads,
            access: Access::default(),
            fill: Fill::default(),
            overlap: Overlap::default(),
            pacing: Default::default(),
            memory: Default::default(),
            faults: Default::default(),
            inject: Vec::new(),
            verify: Default::default(),
            targets: targets.iter().map(Target::new).collect(),
            phases: vec![Phase::of(
                (0..targets.len()).map(|i| Job::new(i as u16, 128, source.clone())).collect(),
            )],
        },
        info: RunInfo {
            part: None,
            hosts: Vec::new(),
            directory: None,
            archive_version: ARCHIVE_VERSION,
            tool: "iosonar 0.1.0".into(),
            command: "iosonar replay loads/mysql.load.gz /dev/sdx".into(),
            started_unix_ns: 1_600_000_000_000_000_000,
            origin_monotonic_ns: 0,
            state: RunState::Finished,
            targets: targets.iter().map(facts).collect(),
            recorder_stalls: Stalls::default(),
            push_back_stalls: Stalls::default(),
            buffer_stalls: Stalls::default(),
            setup: ResolvedSetup {
                engine: "threads".into(),
                buffer_bytes: 16 << 20,
                spin: Nanos(100_000),
                clock: ClockInfo { source: "tsc".into(), cost_ps: 8_300, error: Nanos(41) },
                ..ResolvedSetup::default()
            },
            cpu: Default::default(),
            is_import: false,
            recorded: None,
            processes: Vec::new(),
            verified: None,
            phases: Vec::new(),
            passes: Vec::new(),
        },
        records: Vec::new(),
        findings: None,
        faults: Vec::new(),
        story: None,
        path: None,
        notes: Vec::new(),
    }
}

/// The run with a story of all parts, and an event of each cause; they overlap here, as names above them have to share the room.
pub fn with_story(run: Run) -> Run {
    const CAUSES: [Cause; 10] = [
        Cause::Halted,
        Cause::NoCpu,
        Cause::Others,
        Cause::Conflicts,
        Cause::TargetStoodStill,
        Cause::DepthFull,
        Cause::OtherRequests,
        Cause::MoreAtOnce,
        Cause::TargetSlower,
        Cause::Unexplained,
    ];
    let end = run.end_ns();
    let event = |number: u64| StoryEvent {
        range: TimeRange { from_ns: end / 40 * number, to_ns: end / 40 * number + end / 90 * (number % 3) },
        target: None,
        phase: None,
        cause: CAUSES[(number % 10) as usize],
        text: "98 % of the bytes on nvme0n1 were not of this run".into(),
        requests: 1_000,
        lost_request_seconds: 0.5,
        share: 1.0 / (number + 2) as f64,
        worst_response_ns: 1_234_567_890,
        shape: None,
    };
    let share = |cause| CauseShare { cause, share: 0.1 };
    let text = "Outside of these: 8 300 requests, response p50 107 us, p99 6.70 ms; one in flight / 49 us each = 20 400/s at \
                most, and waiting for a CPU cost another 8 % of the time that requests lost on their way to the target.";
    let mut run = with_headline(
        run,
        "Two disturbances, neither of them of nvme0n1: a halt of this program and others on it, mm",
    );
    if let Some(story) = &mut run.story {
        story.because = vec![Reason::new(text, &["story.events"]), Reason::new(text, &["story.shares"])];
        story.worth = Some("read with care: others used the device".into());
        story.remedy = Some("iosonar replay loads/mysql.load.gz -t /dev/sdx --depth 64 --destroy".into());
        story.events = (0..40).map(event).collect();
        story.shares = CAUSES.map(share).to_vec();
        let row = |(number, cause): (usize, Cause)| BlameRow {
            cause,
            device: (cause == Cause::Others).then(|| "nvme0n1, nvme1n1".into()),
            percent: (0..100).map(|slice| (slice * (number + 1) % 101) as u8).collect(),
        };
        let rows = [Cause::Halted, Cause::NoCpu, Cause::Others, Cause::DepthFull, Cause::Conflicts];
        let rows = rows.into_iter().enumerate().map(row).collect();
        story.blame = Some(Blame { from_ns: 0, slice_ns: end / 100 + 1, rows });
    }
    run
}

/// The run with steps of its requests in the kernel, from fast ones to one that took seconds.
pub fn with_path(mut run: Run) -> Run {
    let times = |n: u64| StepTimes {
        delay_ns: 90 << n,
        submit_to_queue_ns: 2_345,
        queue_to_issue_ns: 999 + n,
        issue_to_complete_ns: 71_000 + (345 << n),
        complete_to_seen_ns: 4_321 * n,
    };
    let stats = |of: fn(&StepTimes) -> u64| {
        let mut distribution = Distribution::default();
        (0..24).for_each(|n| distribution.add(of(&times(n))));
        distribution.stats()
    };
    let slow = |n: u64| SlowRequest {
        sequence: 12_345_678 + n,
        target: 0,
        due_ns: 3_599_123_456_789 + n,
        times: times(23 - n),
    };
    let cost = PathCost {
        events: 98_765_432,
        bytes: 1 << 33,
        cpu_ns: 1 << 33,
        share_of_one: Some(0.123),
        latency: None,
    };
    run.path = Some(PathFacts {
        joined: 12_345_678,
        not_joined: 12,
        without_place: 0,
        not_sampled: 0,
        one_of: 1,
        lost_events: 0,
        delay: stats(|times| times.delay_ns),
        submit_to_queue: stats(|times| times.submit_to_queue_ns),
        queue_to_issue: stats(|times| times.queue_to_issue_ns),
        issue_to_complete: stats(|times| times.issue_to_complete_ns),
        complete_to_seen: stats(|times| times.complete_to_seen_ns),
        groups: (0..20).map(|n| PathGroup { requests: 617_284, mean: times(n) }).collect(),
        slowest: (0..8).map(slow).collect(),
        cost,
        broken: None,
    });
    run
}

/// The run with notes that overlap, one longer than any picture, one for a moment, and hostile ones.
pub fn with_notes(mut run: Run) -> Run {
    let end = run.end_ns();
    let note = |from: u64, to: u64, text: &str| Note {
        from_ns: end / 100 * from,
        to_ns: end / 100 * to,
        text: text.into(),
    };
    run.notes = vec![
        note(0, 5, "a backup started"),
        note(20, 60, &"the cache of the array was full ".repeat(9)),
        note(21, 21, "moment"),
        note(50, 99, "</text><script>alert(1)</script> \u{1b}[2J \u{202e}x"),
    ];
    run
}

/// The run with a story that consists of a headline.
pub fn with_headline(mut run: Run, headline: &str) -> Run {
    run.story = Some(Story {
        headline: headline.into(),
        because: Vec::new(),
        worth: None,
        remedy: None,
        events: Vec::new(),
        shares: Vec::new(),
        lost_request_seconds: 0.0,
        normal: None,
        contrast: None,
        parts: Vec::new(),
        blame: None,
    });
    run
}

/// More findings than fit into a picture, most of them where the fixture really has them.
pub fn with_findings(mut run: Run) -> Run {
    let end = run.records.iter().filter_map(|r| r.completed).max().map_or(1, |t| t.0);
    let range = |from: f64, to: f64| TimeRange {
        from_ns: (end as f64 * from) as u64,
        to_ns: (end as f64 * to) as u64,
    };
    let band = |letter, op, low_ns, peak_ns, high_ns, share| LatencyBand {
        letter,
        op,
        low_ns,
        peak_ns,
        high_ns,
        requests: 12_345,
        share,
        first_third_share: None,
        last_third_share: None,
        // Nothing was submitted in one of the parts.
        share_over_time: (0..60).map(|part| (part != 7).then_some(share)).collect(),
        range: range(0.0, 1.0),
    };
    let stall = |i: u64| CompletionStall {
        kind: if i.is_multiple_of(3) { StallKind::Needle } else { StallKind::Lash },
        op: i.is_multiple_of(3).then_some(Op::Write),
        range: range(i as f64 / 41.0, i as f64 / 41.0 + 0.001 * (i % 7) as f64),
        held_reads: i * 100,
        held_writes: i,
        held_flushes: 0,
        drain_ns: 1_000_000,
        longest_latency_ns: 2_000_000_000,
        threshold_ns: 50_000_000,
        is_of_generator: false,
        outside: None,
    };
    run.findings = Some(Findings {
        bands: vec![
            band('A', Op::Read, 40_000, 90_000, 220_000, 0.34),
            band('B', Op::Read, 220_000, 620_000, 2_000_000, 0.46),
            band('C', Op::Read, 2_000_000, 9_000_000, 40_000_000, 0.2),
            band('A', Op::Write, 25_000, 55_000, 120_000, 0.34),
            band('B', Op::Write, 120_000, 240_000, 800_000, 0.46),
            band('C', Op::Write, 800_000, 3_000_000, 20_000_000, 0.2),
        ],
        stalls: (1..41).map(stall).collect(),
        stalls_left_out: 7,
        collapse: Some(Overload {
            kind: OverloadKind::Collapse,
            range: range(0.66, 1.0),
            demanded_per_second: 3_100.0,
            delivered_low_per_second: 290.0,
            delivered_high_per_second: 330.0,
            backlog_requests: 510_176,
            circumstances: Vec::new(),
            outside: None,
            backlog_slope_per_second: 2_800.0,
            lost_seconds_per_second: 0.9,
        }),
        ..Findings::default()
    });
    run
}

/// Every class of fault, a third of them found by reads, the others by a scan at the end; some have no known write.
pub fn with_faults(mut run: Run, count: u64) -> Run {
    let end = run.end_ns();
    let mut numbers = SplitMix(7);
    let scan = ScanFacts {
        start: Nanos(end + end / 50),
        end: Nanos(end + end / 8),
        bytes: 1 << 40,
        chunks: 4_321_000,
        read_chunks: 4_321_000,
        bad_chunks: 1_234,
        ..ScanFacts::default()
    };
    let mut verified = Verified {
        modes: "read, final".into(),
        checked: 123_456_789,
        not_listed: 5_000_000_000,
        scan: Some(scan),
        ..Verified::default()
    };
    for number in 0..count {
        let target = (number % run.info.targets.len().max(1) as u64) as u16;
        let size = run.info.targets[usize::from(target)].size.max(1 << 20);
        // Most lie in one stretch, as with a bad write path.
        let share = if number % 4 > 0 { 0.31 + numbers.fraction() * 0.04 } else { numbers.fraction() };
        let is_final = number % 3 > 0;
        let completed = match is_final {
            true => scan.start.0 + (share * (scan.end.0 - scan.start.0) as f64) as u64,
            false => end / 10 + (numbers.fraction() * 0.9 * end as f64) as u64,
        };
        let id = WriteId { target, phase: 0, pass: 0, sequence: number * 17 };
        let acknowledged = Nanos((numbers.fraction() * completed.min(end) as f64) as u64);
        let write = FaultWrite {
            id,
            offset: None,
            length: None,
            submitted: Some(acknowledged),
            acknowledged: Some(acknowledged),
        };
        let fault = Fault {
            class: FaultClass::ALL[(numbers.next() % FaultClass::ALL.len() as u64) as usize],
            target,
            offset: (share * size as f64) as u64 / 512 * 512,
            length: 512 << (number % 8),
            found_by: if is_final { FoundBy::Final } else { FoundBy::Read },
            request: (!is_final).then_some(id),
            submitted: Nanos(completed),
            completed: Nanos(completed),
            expected: (number % 7 > 0).then_some(write),
            found: (number % 5 > 0).then_some(write),
            versions_older: Some(number % 4),
            belongs_at: Some(u64::MAX >> 3),
            run_id: Some(0xfeed_beef_cafe),
            damaged: Some(Damaged { bits: 4_095, bytes: 448, first: 64, last: 511 }),
            torn_at: Some(256),
            torn: Some(TornPattern::Hole),
            first_bytes: "00112233445566778899aabbccddeeff".into(),
            entropy: Some(799),
            note: String::new(),
            again: [ReadAgain::Same, ReadAgain::Failed, ReadAgain::Failed],
            transient: number % 11 == 0,
            also_possible: vec![FaultClass::Stale],
        };
        verified.count(&fault);
        run.faults.push(fault);
    }
    run.info.verified = Some(verified);
    run
}

/// A replay of `count` requests over `seconds` with three bands for each operation, stalls, and (if asked for)
/// demand above capacity from two thirds of the run on.
pub fn replay(count: u64, seconds: f64, collapse: bool) -> Run {
    let mut run = empty(&["/dev/sdx"]);
    let mut numbers = SplitMix(42);
    let end = seconds * 1e9;
    let stalls: Vec<(f64, f64)> =
        (1..=4).map(|i| (end * f64::from(i) * 0.147, end * 0.002 * f64::from(i))).collect();
    let mut late = 0.0f64;
    let mut due = 0.0f64;
    for sequence in 0..count {
        let burst = 1.0 + 0.7 * (due / end * 40.0).sin();
        due += -numbers.fraction().max(1e-12).ln() * end / count as f64 / burst;
        let op = if numbers.fraction() < 0.63 { Op::Read } else { Op::Write };
        let centres = if op == Op::Read { [90e3, 620e3, 9e6] } else { [55e3, 240e3, 3e6] };
        let band = match numbers.fraction() {
            u if u < 0.34 => 0,
            u if u < 0.8 => 1,
            _ => 2,
        };
        let mut latency = centres[band] * (0.25 * normal(&mut numbers)).exp();
        let pushed = op == Op::Write && numbers.fraction() < 0.01;
        let mut delay = 2_000.0 * (0.8 * normal(&mut numbers)).exp() - 1_200.0;
        if pushed {
            delay = latency * 2.0 + 1e5;
        }
        if collapse && due > end * 0.66 {
            late += end / count as f64 * 0.35;
            delay += late;
            latency *= 3.0;
        }
        let mut submitted = due + delay.max(0.0);
        for (begin, length) in &stalls {
            let (begin, end) = (*begin, begin + length);
            if (begin..end).contains(&submitted) {
                // The queue fills during the first tenth of a stall; later requests wait.
                if submitted > begin + length * 0.1 {
                    submitted = end + numbers.fraction() * 1e6;
                } else {
                    latency = end - submitted + numbers.fraction() * 5e6;
                }
            }
        }
        let completed = submitted + latency;
        let failed = numbers.fraction() < 2e-5;
        let extent = Extent {
            offset: numbers.next() % (900 << 30) / 4096 * 4096,
            length: 4096 << (numbers.next() % 4),
        };
        run.records.push(Record {
            sequence,
            target: 0,
            worker: 0,
            pass: 0,
            phase: 0,
            op,
            outcome: if failed { Outcome::Failed } else { Outcome::Completed },
            marks: Marks::default().with(Marks::PUSHED, pushed).with(Marks::HELD, collapse && late > 0.0),
            load_time: Nanos(due as u64),
            due: Nanos(due as u64),
            released: None,
            blocked_by: None,
            submitted: Some(Nanos(submitted as u64)),
            completed: Some(Nanos(completed as u64)),
            reap_lag: Nanos(latency as u64 % 1_999),
            requested: extent,
            executed: extent,
            result: if failed { -5 } else { extent.length as i64 },
        });
    }
    run.records.sort_by_key(|r| r.completed);
    run.info.cpu = CpuUse { user_ns: count * 4_200, system_ns: count * 7_900, ..CpuUse::default() };
    run.info.targets[0].max_in_flight = Some(if collapse { 128 } else { 117 });
    run.info.targets[0].max_waiting = Some(4_210);
    run
}

/// Every number extreme, every name long and hostile.
pub fn extreme() -> Run {
    let path = format!("/dev/<script>alert(1)</script>&\"'日本/{}", "very-long-name-".repeat(40));
    let mut run = replay(3_000, 100_000.0, true);
    let other = empty(&[&path, &path, &path, &path, &path, &path]);
    (run.plan.targets, run.info.targets) = (other.plan.targets, other.info.targets);
    for (i, target) in run.info.targets.iter_mut().enumerate() {
        target.source = path.clone();
        target.size = 1 << 20;
        target.max_requested_end = u64::MAX >> (i * 7);
        target.max_in_flight = Some(65_536);
        target.bad_lines = 123_456_789_012;
    }
    run.plan.access.buffered = true;
    run.plan.phases[0].jobs[0].depth = 65_536;
    run.info.command = path.clone() + "\u{1}\n";
    run.info.state = RunState::Broken(path.clone().into());
    run.info.recorder_stalls = Stalls { count: u64::MAX >> 1, total: Nanos(u64::MAX >> 1) };
    run.info.buffer_stalls = run.info.recorder_stalls;
    run.info.push_back_stalls = run.info.recorder_stalls;
    run.info.cpu =
        CpuUse { user_ns: u64::MAX, system_ns: u64::MAX, watching_ns: u64::MAX, sampling_ns: u64::MAX };
    run.info.setup.fallback = Some(path.clone());
    run.info.setup.notices = vec![path.clone()];
    run.info.setup.clock = ClockInfo { source: path.clone(), cost_ps: u64::MAX, error: Nanos(u64::MAX) };
    run.info.targets[5].ended_early = Some(path.clone());
    let end = 300_000_000_000_000;
    for (i, r) in run.records.iter_mut().enumerate() {
        match i % 9 {
            0 => (r.submitted, r.completed) = (Some(r.due), Some(r.due)),
            1 => r.completed = Some(Nanos(end)),
            2 => (r.outcome, r.submitted, r.completed) = (Outcome::Dropped, None, None),
            3 => r.marks = Marks(255),
            5 => r.reap_lag = Nanos(u64::MAX >> 2),
            6 => r.marks = Marks::RAMP,
            4 => (r.outcome, r.result) = (Outcome::Failed, -5 - (i as i64 % 40)),
            _ => {}
        }
        if let (Some(s), Some(c)) = (r.submitted, r.completed) {
            r.completed = Some(c.max(s));
        }
        r.target = (i % 6) as u16;
    }
    run
}

/// Plausible machine samples from zero to `end_ns`: five devices, every value up to `most`.
pub fn machine_series(end_ns: u64, most: f64) -> iosonar_analyze::MachineSeries {
    use iosonar_analyze::{CpuSteps, DeviceSteps, MachineSeries, SampledStep, SampledSteps};
    let end_ns = end_ns.max(20);
    let steps = |shift: u64, most: f64| -> SampledSteps {
        let step = |number: u64| SampledStep {
            begin_ns: end_ns / 20 * number,
            end_ns: end_ns / 20 * (number + 1),
            value: most * ((number * 7 + shift) % 20) as f64 / 20.0,
        };
        // Nothing was sampled for a while.
        (0..20).filter(|number| !(8..10).contains(number)).map(step).collect()
    };
    let device = |number: u64| DeviceSteps {
        name: format!("nvme{number}n1"),
        utilization_percent: steps(number, 100.0),
        mean_queue: steps(number, most),
        await_ms: steps(number, most / 7.0),
        merges_per_second: if number == 0 { Vec::new() } else { steps(number, most) },
    };
    MachineSeries {
        devices: (0..5).map(device).collect(),
        cpu_percent: CpuSteps {
            programs: steps(0, 30.0),
            kernel: steps(1, 20.0),
            soft_interrupts: steps(2, 5.0),
            io_wait: steps(3, 25.0),
            steal: steps(4, 20.0),
        },
        dirty_bytes: steps(5, most * 4096.0),
        writeback_bytes: steps(6, most * 512.0),
        interrupts_per_second: steps(7, most),
        context_switches_per_second: Vec::new(),
    }
}

/// Maps of the targets of a run as if these were files: fragments of 1 GiB that go to and fro on the disk, a hole at the end.
pub fn extent_latencies(run: &Run) -> iosonar_analyze::extents::ExtentLatencies {
    use iosonar_layout::{Addresses, Map, Scan, Volume};
    const GIB: u64 = 1 << 30;
    let volume = std::sync::Arc::new(Volume {
        kind: "xfs".into(),
        mount_point: Some("/mnt".into()),
        source: Some("/dev/sdy".into()),
        block_bytes: 4096,
        groups: None,
        bytes: Some(4096 * GIB),
        addresses: Addresses::Device,
    });
    let map = |target: usize| {
        let mut scan = Scan::new(960 * GIB, 4096, None, true);
        for number in 0..900 >> target {
            let place = if number % 2 == 0 { 1000 + number } else { 2000 - number };
            scan.add(iosonar_layout::Extent::new(number * GIB, place * GIB, GIB, 0));
        }
        let (figures, kept) = scan.finish();
        let (rows, beyond) = kept.unzip();
        let path = run.info.targets[target].path.clone().into();
        let (volume, size) = (volume.clone(), 960 * GIB);
        let map = Map { path, volume, size, extent_size_hint: 0, is_synced: false, figures, rows, beyond };
        TargetMap { target: target as u16, map }
    };
    let maps = (0..run.info.targets.len()).map(map).collect();
    let each = |f: &mut dyn FnMut(&Record)| -> Result<(), std::convert::Infallible> {
        run.records.iter().for_each(f);
        Ok(())
    };
    iosonar_analyze::extents::ExtentLatencies::from_records(&run.plan, maps, each).unwrap()
}
