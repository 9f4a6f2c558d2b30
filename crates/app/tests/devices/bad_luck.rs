//! Faults on real targets and every engine lose no record and cause no hang or panic. Expectations are counted independently where
//! possible: by the kernel's counters of the device, or from the numbers of the requests.

use crate::common::*;
use crate::faults::assert_failed_with;
use crate::validity::Judged;
use iosonar_archive::{Interruption, Marks, Outcome, RunState, Signal};
use iosonar_plan::Op;
use iosonar_testkit::{ControlGroup, Ended, Image, LoopDevice, WITHOUT_IO_URING, tool};
use serde_json::Value;
use std::time::Duration;

fn assert_no_panic(ended: &Ended) {
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
}

fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

#[test]
fn broken_device_fails_later_requests() {
    needs!("mkfs.xfs", "xfs_io");
    on_each_engine(|engine| {
        let breakable = Breakable::new();
        let (device, lab) = (&breakable.device, lab());
        let before = writes_in_kernel(device);
        let run = Background::start(lab.command(&format!(
            "run -t {} --destroy --rw randrw --rwmixread 40 --bs 4k --iodepth 8 --rate-iops 1000 --number-ios 6000 \
             --engine {engine} -o out",
            device.text()
        )));
        lab.until_records("out");
        sleep_ms(300);
        breakable.break_it();
        let ended = run.wait();
        assert_eq!(ended.code, 1, "{}", ended.err);
        assert_no_panic(&ended);
        assert_failed_with(&lab, 5, "EIO");
        let records = in_order(lab.records("out"));
        assert_eq!(without_gaps(&records, 0), 6000);
        let (good, bad) = (count(&records, Outcome::Completed), count(&records, Outcome::Failed));
        assert!(good > 100 && bad > 100, "{good} good, {bad} bad");
        let writes = records.iter().filter(|r| r.op == Op::Write).count() as u64;
        assert_eq!(writes_in_kernel(device) - before, writes, "the kernel counted others");
        println!("{engine}: {good} completed before, {bad} failed after");
    });
}

#[test]
fn shrunk_device_shortens_requests_under_either_policy() {
    needs!("truncate");
    // In turn a read and a write across the new end, and a read and a write beyond it.
    const END: u64 = 16_384;
    let line = |i: u64| {
        let (sector, op) =
            [(END - 4, Op::Read), (END - 4, Op::Write), (END + 64, Op::Read), (END + 96, Op::Write)]
                [i as usize % 4];
        Line { time: i * 2_000_000, sector, length: 8, op }
    };
    let lines: Vec<Line> = (0..200).map(line).collect();
    on_each_engine(|engine| {
        std::thread::scope(|scope| {
            for short in ["complete", "record"] {
                scope.spawn(|| shrinks(engine, short, END, &lines));
            }
        });
    });
}

fn shrinks(engine: &str, short: &str, end: u64, lines: &[Line]) {
    let image = Image::random(16);
    let (device, lab) = (LoopDevice::on(&image.path(), &[]), lab());
    lab.file("load", load_text(lines));
    let replay = Background::start(lab.command(&format!(
        "replay load -t {} --destroy --start-grace 5 --engine {engine} --short {short} -o out",
        device.text()
    )));
    until("the run", || lab.path("out/series.csv").exists());
    sleep_ms(200);
    tool("truncate", &["-s", &(end * 512).to_string(), image.path().to_str().unwrap()]);
    tool("losetup", &["-c", device.text()]);
    let ended = replay.wait();
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert_no_panic(&ended);
    let records = in_order(lab.records("out"));
    assert_eq!(without_gaps(&records, 0), lines.len());
    for record in &records {
        let across = record.executed.offset < end * 512;
        let result = match (record.op, across) {
            (Op::Read, true) => 2048,
            (Op::Read, false) => 0,
            // The rest of a write is requested, and refused.
            (Op::Write, true) if short == "record" => 2048,
            _ => -28,
        };
        assert_eq!((record.outcome, record.result), (Outcome::Failed, result), "{engine} {short} {record:?}");
        assert!(record.marks.has(Marks::SHORT) || !across, "{engine} {short} {record:?}");
    }
    assert_eq!(summary(&lab, "out")["latency"]["all"]["count"].as_u64().unwrap_or(0), 0);
}

#[test]
fn dying_target_ends_only_its_own_part() {
    needs!("mkfs.xfs", "xfs_io");
    on_each_engine(|engine| {
        // Shutting down a file system of a busy machine may take as long as the run.
        let is_in_time = (0..4).any(|_| dies_during_its_first_pass(engine));
        assert!(is_in_time, "{engine}: the device never broke before the end of its run");
    });
}

/// Returns whether the device broke before its part ended by itself; only then the rest is asserted.
fn dies_during_its_first_pass(engine: &str) -> bool {
    let (breakable, healthy, lab) = (Breakable::new(), LoopDevice::random(16), lab());
    let dying = &breakable.device;
    let before = [dying, &healthy].map(writes_in_kernel);
    let line = |i: u64| Line { time: i * 2_000_000, sector: i * 16 % 32_768, length: 8, op: Op::Write };
    lab.file("load", load_text(&(0..1500).map(line).collect::<Vec<_>>()));
    // The healthy target continues with the second pass although the other one never arrives there.
    let args = format!(
        "replay load -t {} -t {} --destroy --start-grace 0.1 --depth 8 --max-errors 20 --engine {engine}",
        dying.text(),
        healthy.text()
    );
    let replay = Background::start(lab.command(&format!("{} -o out", twice(&lab, &args))));
    lab.until_records("out");
    sleep_ms(100);
    breakable.break_it();
    let ended = replay.wait();
    assert_no_panic(&ended);
    let records = in_order(lab.records("out"));
    if without_gaps(&records, 0) >= 1500 {
        println!("{engine}: the device broke too late");
        return false;
    }
    assert_eq!(ended.code, 1, "{}", ended.err);
    let info = run_info(&lab.path("out"));
    assert_eq!(info.state, RunState::Finished);
    let why = info.targets[0].ended_early.as_deref().unwrap();
    assert!(why.contains("more than 20 requests failed") && info.targets[1].ended_early.is_none(), "{why}");
    let of = |target: u16| records.iter().filter(move |r| r.target == target);
    assert!(of(1).count() == 3000 && of(1).all(|r| r.outcome == Outcome::Completed));
    let failed = of(0).filter(|r| r.outcome == Outcome::Failed).count();
    assert!((21..=28).contains(&failed), "{failed} failed");
    for (target, (device, before)) in [dying, &healthy].into_iter().zip(before).enumerate() {
        assert_eq!(writes_in_kernel(device) - before, sent(&records, target as u16) as u64);
    }
    let summary = summary(&lab, "out");
    let text = caution(&summary, "target-ended").expect("it is cautioned");
    assert!(text.contains(dying.text()) && !text.contains(healthy.text()), "{text}");
    assert_eq!(summary["counts"]["all"]["failed"], failed);
    println!("{engine}: {} of 1500, then {text}", of(0).count());
    true
}

#[test]
fn too_little_memory_delays_requests_with_caution() {
    needs!();
    on_each_engine(|engine| {
        let (device, lab) = (LoopDevice::random(32), lab());
        let before = writes_in_kernel(&device);
        let ended = lab.expect(
            0,
            &format!(
                "run -t {} --destroy --rw randwrite --bs 16k --iodepth 32 --rate-iops 100000 --number-ios 2000 \
                 --buffer-memory 64KiB --engine {engine} -o out",
                device.text()
            ),
        );
        assert_no_panic(&ended);
        let records = in_order(lab.records("out"));
        assert_eq!((without_gaps(&records, 0), count(&records, Outcome::Completed)), (2000, 2000));
        assert_eq!(writes_in_kernel(&device) - before, 2000);
        let waited: Vec<_> = records.iter().filter(|r| r.marks.has(Marks::NO_BUFFER)).collect();
        let stalls = run_info(&lab.path("out")).buffer_stalls;
        assert_eq!(stalls.count, waited.len() as u64);
        // Their wait is a part of their delay.
        let delay: u64 = waited.iter().map(|r| r.delay().unwrap().0).sum();
        assert!(stalls.count > 100 && stalls.total.0 > 0 && stalls.total.0 <= delay, "{stalls:?}, {delay}");
        let summary = summary(&lab, "out");
        assert!(most_in_flight(&records) <= 4, "more than there is memory for");
        let text = caution(&summary, "buffer-stalls").expect("it is cautioned");
        assert!(text.contains("--buffer-memory"), "{text}");
        println!("{engine}: {} waited {} in all", stalls.count, stalls.total);
    });
}

#[test]
fn reports_lateness_of_stopped_program() {
    needs!();
    on_each_engine(|engine| {
        let (device, lab) = (LoopDevice::random(16), lab());
        let before = writes_in_kernel(&device);
        // Requests sent right after the stop count as issued late; the rest are held up. Only such a depth makes more than 1 % late.
        let run = Background::start(lab.command(&format!(
            "run -t {} --destroy --rw randwrite --bs 4k --iodepth 64 --rate-iops 500 --number-ios 3000 --engine {engine} -o out",
            device.text()
        )));
        lab.until_records("out");
        run.signal("STOP");
        sleep_ms(200);
        let stopped = iosonar_os::monotonic_ns();
        sleep_ms(800);
        let goes_on = iosonar_os::monotonic_ns();
        run.signal("CONT");
        let ended = run.wait();
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert_no_panic(&ended);
        let records = in_order(lab.records("out"));
        assert_eq!((without_gaps(&records, 0), count(&records, Outcome::Completed)), (3000, 3000));
        assert_eq!(writes_in_kernel(&device) - before, 3000);
        let origin = run_info(&lab.path("out")).origin_monotonic_ns;
        let due_meanwhile: Vec<_> =
            records.iter().filter(|r| (stopped..goes_on).contains(&(r.due.0 + origin))).collect();
        assert!(due_meanwhile.len() > 300, "{}", due_meanwhile.len());
        for record in &due_meanwhile {
            // Charged to the generator, not to the device.
            assert!(record.submitted.unwrap().0 + origin >= goes_on, "{record:?}");
            assert!(record.delay().unwrap().0 >= goes_on - (record.due.0 + origin));
        }
        let summary = summary(&lab, "out");
        assert!(caution(&summary, "issued-late").is_some(), "{}", summary["cautions"]);
        let judged = Judged(serde_json::from_str(&lab.expect(0, "judge out --json").out).unwrap());
        assert!(is_reported(&judged.detection("cpu-disturbed")), "{:#}", judged.0);
        // The stop is not reported as the target's stall.
        let analysis: Value = serde_json::from_str(&lab.expect(0, "analyze out --json").out).unwrap();
        let findings = &analysis["findings"];
        assert!(findings["collapse"].is_null(), "{findings:#}");
        let stalls = findings["stalls"].as_array().unwrap().iter();
        let long = |stall: &&Value| {
            let [from, to] = ["from_ns", "to_ns"].map(|end| stall["range"][end].as_u64().unwrap());
            to - from > 500_000_000
        };
        assert!(stalls.filter(long).all(|stall| stall["is_of_generator"] == true), "{findings:#}");
        println!("{engine}: {} were due while it was stopped", due_meanwhile.len());
    });
}

#[test]
fn sigterm_drains_requests_and_keeps_records() {
    needs!();
    on_each_engine(|engine| {
        let (device, lab) = (LoopDevice::random(64), lab());
        let before = writes_in_kernel(&device);
        let run = Background::start(lab.command(&format!(
            "run -t {} --destroy --rw randwrite --bs 4k --iodepth 32 --time-based --runtime 60 --engine {engine} -o out",
            device.text()
        )));
        lab.until_records("out");
        run.signal("TERM");
        let ended = run.wait();
        assert_eq!(ended.code, 143, "{}", ended.err);
        assert_no_panic(&ended);
        assert_eq!(
            run_info(&lab.path("out")).state,
            RunState::Interrupted(Interruption::Signal(Signal::TERMINATE))
        );
        let records = in_order(lab.records("out"));
        without_gaps(&records, 0);
        let sent = sent(&records, 0);
        assert_eq!(count(&records, Outcome::Completed), sent);
        assert_eq!(writes_in_kernel(&device) - before, sent as u64, "a write has no record");
        println!("{engine}: {sent} writes, {} cancelled", records.len() - sent);
    });
}

#[test]
fn too_little_cpu_delays_requests_with_caution() {
    needs!();
    let quota = or_skip!(ControlGroup::of_cpu(15));
    let (device, lab) = (LoopDevice::random(16), lab());
    let before = writes_in_kernel(&device);
    // It spins, so it always uses up its share.
    let args = format!(
        "run -t {} --destroy --rw randwrite --bs 4k --iodepth 8 --rate-iops 1000 --number-ios 1500 --spin 1s -o out",
        device.text()
    );
    let ended = quota.run(&lab, &args);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_no_panic(&ended);
    assert!(quota.throttled() > 0);
    let records = in_order(lab.records("out"));
    assert_eq!((without_gaps(&records, 0), count(&records, Outcome::Completed)), (1500, 1500));
    assert_eq!(writes_in_kernel(&device) - before, 1500);
    let summary = summary(&lab, "out");
    let told = ["issued-late", "behind-demand", "reap-lag", "held-up"];
    let told: Vec<&str> = told.into_iter().filter(|id| caution(&summary, id).is_some()).collect();
    assert!(!told.is_empty(), "{}", summary["cautions"]);
    println!("throttled {} times: {told:?}", quota.throttled());
}

#[test]
fn falls_back_to_threads_without_io_uring() {
    needs!("python3");
    let (device, lab) = (LoopDevice::random(16), lab());
    let before = writes_in_kernel(&device);
    let args = format!(
        "run -t {} --destroy --rw randwrite --bs 4k --iodepth 8 --number-ios 1000 -o out",
        device.text()
    );
    let ended = Ended::of(lab.command_under(&WITHOUT_IO_URING, &args).output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let setup = run_info(&lab.path("out")).setup;
    assert!(setup.engine == "threads" && setup.fallback.is_some(), "{setup:?}");
    let records = in_order(lab.records("out"));
    assert_eq!((without_gaps(&records, 0), count(&records, Outcome::Completed)), (1000, 1000));
    assert_eq!(writes_in_kernel(&device) - before, 1000);
    let text = caution(&summary(&lab, "out"), "engine-fallback").expect("it is cautioned");
    assert!(text.contains("threads") && text.contains("uring"), "{text}");
    assert!(ended.out.contains("instead of uring"), "{}", ended.out);
    println!("{text}");
}

#[test]
fn a_read_only_device_can_be_read() {
    needs!("blockdev");
    on_each_engine(|engine| {
        let (device, lab) = (LoopDevice::random(4), lab());
        device.set_read_only(true);
        let options = format!("-t {} --bs 4k --iodepth 4 --number-ios 500 --engine {engine}", device.text());
        lab.expect(0, &format!("run {options} --rw randread -o reads"));
        let refused = lab.expect(2, &format!("run {options} --rw randrw --destroy -o writes"));
        device.set_read_only(false);
        assert_eq!(count(&lab.records("reads"), Outcome::Completed), 500);
        assert!(refused.err.contains("read-only") && !lab.path("writes").exists(), "{}", refused.err);
    });
}

#[test]
fn sparse_target_is_used_with_caution() {
    needs!();
    on_each_engine(|engine| {
        let lab = lab();
        lab.target("sparse", 128 << 20);
        let ended = lab.expect_done(&format!(
            "run -t sparse --rw randrw --bs 4k --iodepth 8 --number-ios 500 --engine {engine} -o out"
        ));
        assert_no_panic(&ended);
        let records = in_order(lab.records("out"));
        assert_eq!((without_gaps(&records, 0), count(&records, Outcome::Completed)), (500, 500));
        assert_eq!(run_info(&lab.path("out")).targets[0].hole_bytes, 128 << 20);
        assert!(caution(&summary(&lab, "out"), "unmapped-target").is_some());
    });
}

#[test]
fn target_given_twice_is_read_but_never_written() {
    needs!();
    let (device, lab) = (LoopDevice::random(4), lab());
    let before = device.bytes();
    std::os::unix::fs::symlink(device.path(), lab.path("link")).unwrap();
    lab.file("file", vec![1; 4 << 20]);
    std::fs::hard_link(lab.path("file"), lab.path("other")).unwrap();
    let pairs =
        [(device.text(), device.text()), (device.text(), "link"), ("file", "./file"), ("file", "other")];
    for (i, (one, other)) in pairs.into_iter().enumerate() {
        let twice = format!("run -t {one} -t {other} --bs 4k --iodepth 4 --number-ios 300 --destroy");
        lab.expect(0, &format!("{twice} --rw randread -o reads{i}"));
        let records = in_order(lab.records(&format!("reads{i}")));
        assert_eq!((without_gaps(&records, 0), without_gaps(&records, 1)), (300, 300));
        let refused = lab.expect(2, &format!("{twice} --rw randwrite -o writes"));
        assert!(
            refused.err.contains(&format!("target {one} and target {other} are the same")),
            "{}",
            refused.err
        );
        assert!(!lab.path("writes").exists());
    }
    assert!(device.bytes() == before && std::fs::read(lab.path("file")).unwrap() == vec![1; 4 << 20]);
}

#[test]
fn many_targets_on_two_cpus_pass_all_barriers() {
    needs!("taskset");
    const TARGETS: u16 = 64;
    let lab = lab();
    let line = |i: u64| Line { time: i * 4_000_000, sector: i * 8, length: 8, op: Op::Write };
    lab.file("load", load_text(&(0..50).map(line).collect::<Vec<_>>()));
    let names: Vec<String> = (0..TARGETS).map(|i| format!("target{i}")).collect();
    for name in &names {
        lab.file(name, vec![3; 1 << 20]);
    }
    let args = format!("replay load --start-grace 0.1 --depth 4 -t {}", names.join(" -t "));
    let args = format!("{} -o out", twice(&lab, &args));
    let ended = Ended::of(lab.command_under(&["taskset", "-c", "0,1"], &args).output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_no_panic(&ended);
    let records = in_order(lab.records("out"));
    assert_eq!(records.len(), usize::from(TARGETS) * 100);
    for (i, record) in records.iter().enumerate() {
        let i = i as u64;
        let want = ((i / 100) as u16, (i / 50 % 2) as u32, i % 50);
        // The sequence may continue from pass to pass or restart.
        let place = (record.target, record.pass, record.sequence % 50);
        assert_eq!((place, record.outcome), (want, Outcome::Completed));
        assert!(record.submitted >= Some(record.due) && record.delay().is_some());
    }
    let of = |pass: u32| records.iter().filter(move |r| r.pass == pass);
    let (first_end, second_start) =
        (of(0).filter_map(|r| r.completed).max(), of(1).filter_map(|r| r.submitted).min());
    assert!(second_start > first_end, "a target passed the barrier before all were there");
    println!("longest delay {}", records.iter().filter_map(|r| r.delay()).max().unwrap());
}

/// In a virtual machine: here the wall clock belongs to others, too.
#[test]
fn wall_clock_step_does_not_affect_times() {
    let mut command = or_skip!(machine(&[]));
    let _turn = turn();
    let ended = Ended::of(command.args(["-d", "16", "-t", "100"]).arg(script("clock.sh")).output().unwrap());
    assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
    assert!(ended.out.contains("== status 0"), "{}", ended.out);
    let csv = ended.out.split("== status 0").nth(1).and_then(|rest| rest.split("== end").next()).unwrap();
    let mut lines = csv.lines().filter(|line| line.contains(','));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{names:?}"));
    let (due, submitted, completed) = (place("due_ns"), place("submitted_ns"), place("completed_ns"));
    let mut longest = 0;
    let records: Vec<&str> = lines.collect();
    assert_eq!(records.len(), 800, "{}", ended.out);
    for record in records {
        let fields: Vec<&str> = record.split(',').collect();
        let time = |at: usize| fields[at].trim().parse::<u64>().unwrap();
        assert!(time(due) <= time(submitted) && time(submitted) <= time(completed), "{record}");
        longest = longest.max(time(completed) - time(due));
    }
    // The steps were of an hour and of two.
    assert!(longest < 1_000_000_000_000, "{longest} ns");
    println!("longest response {} ms", longest / 1_000_000);
}

#[test]
fn a_target_without_direct_io_is_refused_with_the_remedy() {
    needs!("unshare");
    let lab = lab();
    std::fs::create_dir(lab.path("mem")).unwrap();
    lab.file("load", load_text(&[Line { time: 0, sector: 0, length: 8, op: Op::Read }]));
    let script = r#"mount -t ramfs none mem && head -c 65536 /dev/zero >mem/file && exec "$0" "$@""#;
    let words = ["unshare", "-m", "--propagation", "private", "sh", "-c", script];
    let command = "replay load -t mem/file --start-grace 0 --no-progress -o out";
    let ended = Ended::of(lab.command_under(&words, command).output().unwrap());
    assert_eq!(ended.code, 2, "{}", ended.err);
    for words in ["mem/file", "no direct I/O", "--buffered"] {
        assert!(ended.err.contains(words), "no {words:?} in {}", ended.err);
    }
    assert!(!lab.path("out").exists());
    let ended = Ended::of(lab.command_under(&words, &format!("{command} --buffered")).output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
}
