//! The path of requests through the kernel, against a trace that another instance records as text.

use crate::common::*;
use crate::layout::{Volume, map_of, number};
use iosonar_archive::{Archive, PathCounts, Record, RequestPath};
use iosonar_plan::{Extent, SECTOR};
use iosonar_testkit::{
    Bios, CLOCK_NS, InKernel, Kind, Lab, LoopDevice, TRUNCATED_NS, Trace, Tracing, attribute,
};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// Paths of a result by target, pass and sequence, and its counts.
fn paths(dir: &Path) -> (HashMap<(u16, u32, u64), RequestPath>, PathCounts) {
    let mut all = HashMap::new();
    let archive = Archive::open(dir).unwrap();
    let counts = archive.for_each_path(&mut |path| {
        assert!(all.insert((path.target, path.pass, path.sequence), *path).is_none());
    });
    assert_eq!(archive.path_events().unwrap(), None, "the events were not removed");
    (all, counts.unwrap().expect("the path was traced"))
}

/// The first issue of a request, as the text of the trace has it: the first one after its queueing that shares a sector with it.
fn issued(trace: &Trace, record: &Record, seen: &InKernel) -> u64 {
    let (from, to) = (record.executed.offset / SECTOR, record.executed.end() / SECTOR);
    let is_its = |event: &&iosonar_testkit::Event| {
        event.kind == Kind::Issue
            && event.op == record.op
            && event.at.place > seen.queued.place
            && event.sector < to
            && from < event.sector + event.length
    };
    trace.events.iter().find(is_its).expect("an issue").at.ns
}

/// Differences of two readings of the same events, sorted.
fn assert_equal_times(name: &str, mut differences: Vec<u64>) {
    differences.sort_unstable();
    let at = |share: usize| differences[(differences.len() - 1) * share / 100];
    println!("{name}: readings differ by {} ns (p50), {} ns (p99)", at(50), at(99));
    // Each instance reads the clock for itself, one shortly after the other; the text is cut to microseconds.
    assert!(at(50) <= TRUNCATED_NS + CLOCK_NS + 3_000, "{name}: {} ns", at(50));
}

/// Asserts that the paths of a run are those of the trace; `moved` is the place of a record on the traced disk.
fn assert_as_traced(lab: &Lab, trace: &Trace, moved: impl Fn(&Record) -> Extent) -> Value {
    assert_eq!(trace.lost, 0);
    let origin = run_info(&lab.path("out")).origin_monotonic_ns;
    let mut records = in_order(lab.records("out"));
    records.retain(|record| record.submitted.is_some());
    records.iter_mut().for_each(|record| record.executed = moved(record));
    let (paths, counts) = paths(&lab.path("out"));
    println!("{counts:?} of {}", records.len());
    assert_eq!(counts.joined + counts.not_joined + counts.without_place, records.len() as u64);
    assert!(counts.joined * 100 >= records.len() as u64 * 99, "{counts:?}");
    let mut bios = Bios::of(trace);
    bios.take_second_tries();
    let seen = attribute(&records, origin, &bios.bios).records;
    let (mut queues, mut issues, mut ends, mut device, mut traced) = (vec![], vec![], vec![], vec![], vec![]);
    for (record, seen) in records.iter().zip(&seen) {
        let (Some(path), Some(seen)) = (paths.get(&(record.target, record.pass, record.sequence)), seen)
        else {
            continue;
        };
        let (queued, done) = (path.queued.0 + origin, path.done.0 + origin);
        let (issue, end) =
            (path.issued.expect("a loop device has requests").0 + origin, seen.completed.unwrap().ns);
        assert!(queued <= issue && issue <= done, "{path:?}");
        assert_eq!(
            (path.due, Some(path.submitted), Some(path.completed)),
            (record.due, record.submitted, record.completed)
        );
        if seen.has_twin {
            continue;
        }
        let by_text = issued(trace, record, seen);
        queues.push(queued.abs_diff(seen.queued.ns));
        issues.push(issue.abs_diff(by_text));
        ends.push(done.abs_diff(end));
        device.push(done - issue);
        traced.push(end - by_text);
    }
    assert!(queues.len() * 100 >= records.len() * 95, "{} of {} compared", queues.len(), records.len());
    for (name, list) in [("queued", queues), ("issued", issues), ("done", ends)] {
        assert_equal_times(name, list);
    }
    let shown = summary(lab, "out");
    let path = &shown["path"];
    assert_eq!(path["joined"].as_u64(), Some(counts.joined));
    assert_eq!((path["lost_events"].as_u64(), &path["broken"]), (Some(0), &Value::Null));
    let figure = path["issue_to_complete"]["p50_ns"].as_u64().unwrap();
    device.sort_unstable();
    traced.sort_unstable();
    let (ours, theirs) = (device[device.len() / 2], traced[traced.len() / 2]);
    println!("device p50: {figure} ns in the summary, {ours} ns by the rows, {theirs} ns by the text");
    assert!(figure.abs_diff(theirs) <= theirs / 20 + TRUNCATED_NS, "{figure} and {theirs}");
    assert!(path["cost"]["events"].as_u64().unwrap() >= 2 * counts.joined);
    shown
}

const INSTANCES: &str = "/sys/kernel/tracing/instances";

fn no_instance_is_left() -> bool {
    let left = std::fs::read_dir(INSTANCES);
    !left
        .into_iter()
        .flatten()
        .flatten()
        .any(|e| e.file_name().to_string_lossy().starts_with("iosonar-record-"))
}

/// Executes a run that traces its path, beside a trace of the disk. That one starts later and so gets each event later: its reader is woken by
/// each event, which takes longer than a request may.
fn traced(lab: &Lab, disk: &Path, args: &str) -> Result<Trace, String> {
    let plan = lab.expect(0, &format!("{args} --destroy --trace-path --show-plan")).out;
    let waiting =
        |line: &str| if line.starts_with("start_grace") { "start_grace = \"3s\"" } else { line }.to_owned();
    lab.file("plan.toml", plan.lines().map(waiting).collect::<Vec<_>>().join("\n"));
    let running = Background::start(lab.command("run plan.toml --destroy -o out"));
    let events = Path::new(INSTANCES).join(format!("iosonar-record-{}/events/block", running.id()));
    let is_on = || {
        std::fs::read_to_string(events.join("block_rq_complete/enable")).is_ok_and(|on| on.starts_with('1'))
    };
    until("the run traces", is_on);
    let tracing = Tracing::start(disk)?;
    let ended = running.wait();
    assert!(lab.path("out/path.parquet").exists(), "{}", ended.err);
    Ok(tracing.finish())
}

#[test]
fn path_of_requests_on_a_loop_device_is_that_of_the_trace() {
    needs!();
    for (engine, depth, requests) in [("uring", 1, 3000), ("aio", 32, 10_000), ("threads", 8, 3000)] {
        let (device, lab) = (LoopDevice::random(64), lab());
        let target = device.text();
        let args = format!(
            "run -t {target} --rw randread --bs 4k --number_ios {requests} --depth {depth} --engine {engine}"
        );
        let trace = or_skip!(traced(&lab, device.path(), &args));
        let shown = assert_as_traced(&lab, &trace, |record| record.executed);
        assert!(no_instance_is_left());
        let text = lab.expect(0, "show --all out").out;
        assert!(text.contains("Path in the kernel") && text.contains("completion delay"), "{text}");
        assert!(lab.expect(0, "show out").out.contains("  device "));
        let of = |step: &str| shown["path"][step]["mean_ns"].as_u64().unwrap();
        let sum =
            of("submit_to_queue") + of("queue_to_issue") + of("issue_to_complete") + of("complete_to_seen");
        let latency = shown["latency"]["all"]["mean_ns"].as_u64().unwrap();
        assert!(
            sum.abs_diff(latency) <= latency / 20 + CLOCK_NS,
            "the steps take {sum} ns, the latency is {latency} ns"
        );
    }
}

#[test]
fn path_of_split_merged_and_conflicting_requests_is_known() {
    needs!();
    let (device, lab) = (LoopDevice::random(64), lab());
    lab.file("load", load_text(&conflicting(1500, 16_384, 4096, 100_000)));
    let trace =
        or_skip!(traced(&lab, device.path(), &format!("replay load -t {} --depth 64", device.text())));
    assert!(trace.count(Kind::Split) > 0, "nothing was split");
    let shown = assert_as_traced(&lab, &trace, |record| record.executed);
    assert!(shown["path"]["delay"]["count"].as_u64().unwrap() > 1000);
}

#[test]
fn path_of_a_partition_is_that_of_its_disk() {
    needs!();
    let (device, lab) = (LoopDevice::random(64), lab());
    let partition = device.partition(1, 8, 32);
    let args =
        format!("run -t {} --rw randrw --bs 8k --number_ios 10000 --depth 4", partition.path().display());
    let trace = or_skip!(traced(&lab, device.path(), &args));
    let on_disk = |record: &Record| Extent { offset: record.executed.offset + (8 << 20), ..record.executed };
    assert_as_traced(&lab, &trace, on_disk);
}

#[test]
fn path_of_a_file_leads_through_its_extents() {
    needs!("mkfs.ext4");
    let (volume, lab) = (Volume::new(&["mkfs.ext4", "-q"]), lab());
    let file = volume.random("file", 32 << 20);
    let map = map_of(&lab, &file);
    let args = format!("run -t {} --rw randread --bs 16k --number_ios 10000 --depth 8", file.display());
    let trace = or_skip!(traced(&lab, &volume.device_path(), &args));
    // Requests within one extent; the others are joined, but have no single place to compare.
    let place = |record: &Record| {
        let extents = map["extents"].as_array().unwrap();
        let of = |extent: &Value| (number(extent, "offset_bytes"), number(extent, "length_bytes"));
        let inside = extents.iter().find(|extent| {
            let (offset, length) = of(extent);
            offset <= record.executed.offset && record.executed.end() <= offset + length
        });
        inside.map_or(record.executed, |extent| Extent {
            offset: number(extent, "address_bytes") + record.executed.offset - of(extent).0,
            ..record.executed
        })
    };
    assert_as_traced(&lab, &trace, place);
}

/// The kernel's events are on in half of the time, by chance; what is joined lies in the windows, and the latency outside is known, too.
#[test]
fn sampled_path_is_known_for_the_requests_in_the_windows() {
    needs!();
    let (device, lab) = (LoopDevice::random(64), lab());
    let target = device.text();
    lab.expect_done(&format!(
        "run -t {target} --rw randread --bs 4k --depth 2 --rate-iops 2000 --runtime 4s --trace-path=2 -o out"
    ));
    assert!(no_instance_is_left());
    let (paths, counts) = paths(&lab.path("out"));
    let requests = in_order(lab.records("out")).len() as u64;
    println!("{counts:?} of {requests}");
    assert_eq!(counts.joined + counts.not_joined + counts.not_sampled + counts.without_place, requests);
    assert_eq!(paths.len() as u64, counts.joined);
    // Twenty groups of windows: fewer than a quarter of the time, or more than three quarters, is possible only where the machine is busy.
    assert!(counts.joined > requests / 10 && counts.not_sampled > requests / 10, "{counts:?}");
    assert!(counts.joined * 100 >= (counts.joined + counts.not_joined) * 99, "{counts:?}");
    let latency = counts.sampled_latency.expect("requests were traced, and others were not");
    assert!(latency.traced_p50_ns > 0 && latency.untraced_p50_ns > 0 && latency.untraced > 0);
    let shown = summary(&lab, "out");
    assert_eq!(shown["path"]["one_of"], 2);
    assert_eq!(shown["path"]["not_sampled"].as_u64(), Some(counts.not_sampled));
    assert_eq!(shown["path"]["cost"]["latency"]["untraced_p50_ns"].as_u64(), Some(latency.untraced_p50_ns));
    let text = lab.expect(0, "show --all out").out;
    assert!(text.contains("one of 2 windows of time was traced") && text.contains("while traced"), "{text}");
}

#[test]
fn tracing_that_is_impossible_is_refused_before_the_run() {
    needs!();
    let (device, lab) = (LoopDevice::random(16), lab());
    let run = format!("run -t {} --rw randread --bs 4k --number_ios 10", device.text());
    let refused = lab.expect(2, &format!("{run} --trace-path --buffered -o out"));
    assert!(
        refused.err.contains("page cache") && refused.err.contains("remove --trace-path"),
        "{}",
        refused.err
    );
    let refused = lab.expect(2, &format!("{run} --trace-path --watch-order -o out"));
    assert!(refused.err.contains("remove one of them"), "{}", refused.err);
    assert!(!lab.path("out").exists() && no_instance_is_left());
    // Without it nothing is traced.
    lab.expect_done(&format!("{run} -o out"));
    assert_eq!(Archive::open(&lab.path("out")).unwrap().for_each_path(&mut |_| {}).unwrap(), None);
    assert_eq!(summary(&lab, "out")["path"], Value::Null);
}

#[test]
fn killed_run_leaves_tracing_that_the_next_one_removes() {
    needs!();
    let (device, lab) = (LoopDevice::random(16), lab());
    let run = |rest: &str| format!("run -t {} --rw randread --bs 4k --trace-path {rest}", device.text());
    let command: Command = lab.command(&run("--runtime 60s --time-based -o killed"));
    let running = Background::start(command);
    lab.until_records("killed");
    running.signal("KILL");
    running.wait();
    assert!(!no_instance_is_left());
    lab.expect_done(&run("--number_ios 100 -o out"));
    assert!(no_instance_is_left());
    // A killed run has no path; its records are read.
    assert_eq!(summary(&lab, "killed")["path"], Value::Null);
}
