//! Recording live devices: a real program's load is recorded, replayed and recorded again; losses are counted; nothing stays in the kernel.

use crate::common::*;
use iosonar_archive::Outcome;
use iosonar_testkit::{Image, Lab, LoopDevice, Mounted, tool};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const PLACES: [&str; 2] = ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"];

/// Whether this recorder has a tracing instance in the kernel; other recorders may have theirs.
fn is_in_kernel(process: u32) -> bool {
    PLACES.iter().any(|place| Path::new(place).join(format!("iosonar-record-{process}")).exists())
}

/// Starts a recorder in the background and waits until it records.
pub fn recorder(lab: &Lab, device: &LoopDevice, more: &str, out: &str) -> Background {
    let mut command = lab.command(&format!("record {} --no-progress {more} -o {out}", device.text()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = Background::start(command);
    let facts = lab.path(out).join("recording.json");
    until("the recording", || facts.exists());
    running
}

pub fn stop(running: Background) -> String {
    let process = running.id();
    assert!(is_in_kernel(process));
    // The latest requests may still be in flight.
    std::thread::sleep(Duration::from_millis(300));
    running.signal("INT");
    let ended = running.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!is_in_kernel(process), "what was changed in the kernel is undone");
    ended.out
}

/// Checks whether recording is possible here at all.
pub fn check_kernel(lab: &Lab, device: &LoopDevice) -> Result<(), String> {
    let probe = lab.run(&format!("record {} --no-progress --duration 0 -o probe", device.text()));
    if probe.code == 0 {
        Ok(())
    } else {
        Err(format!("recording is not possible here: {}", probe.err.trim()))
    }
}

/// Some minutes of a small program's life, in seconds: files are written, flushed, read back and removed.
fn live(dir: &Path) {
    for round in 0..6u32 {
        let name = |n: u32| dir.join(format!("file-{n}"));
        let content: Vec<u8> = (0..96u32 << 10)
            .map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(round) >> 24) as u8)
            .collect();
        for n in 0..8 {
            std::fs::write(name(n), &content[..(n as usize + 1) * 11_000]).unwrap();
        }
        tool("sync", &["-f".as_ref(), dir.as_os_str()]);
        let reading = format!("iflag=direct if={}", name(round % 8).display());
        let words: Vec<&str> = reading.split(' ').chain(["of=/dev/null", "bs=4k", "status=none"]).collect();
        tool("dd", &words);
        std::fs::remove_file(name(round)).unwrap();
    }
    tool("sync", &["-f".as_ref(), dir.as_os_str()]);
}

fn demand(lab: &Lab, input: &str) -> Value {
    let all: Value = serde_json::from_str(&lab.expect(0, &format!("analyze --json {input}")).out).unwrap();
    all["demand"]["facts"].as_object().map_or(all["demand"].clone(), |facts| Value::Object(facts.clone()))
}

/// Figures that do not depend on when requests arrived: counts, lengths, places, the whole working set, frequencies.
fn static_part(demand: &Value) -> Value {
    let infinite =
        demand["working_sets"].as_array().and_then(|sets| sets.last().cloned()).unwrap_or_default();
    serde_json::json!({
        "counts": demand["counts"],
        "sizes": demand["sizes"],
        "positions": demand["positions"],
        "infinite": infinite["sliding"]["pages"]["max"],
        "pages": demand["frequency"]["all"]["distinct_pages"],
        "accesses": demand["frequency"]["all"]["accesses"],
    })
}

// Done when 1
#[test]
fn record_replay_record_finds_every_request() {
    needs!("mkfs.ext4", "dd", "sync");
    let (lab, device) = (lab(), LoopDevice::of(Image::sparse(64), &[]));
    or_skip!(check_kernel(&lab, &device));
    tool("mkfs.ext4", &["-q", "-E", "nodiscard", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    let running = recorder(&lab, &device, "", "first");
    live(mounted.path());
    let told = stop(running);
    drop(mounted);
    assert!(told.contains(" 0 lost"), "{told}");
    let judged = lab.expect(0, "judge first");
    assert!(judged.out.contains("verdict: trustworthy: All events of"), "{}", judged.out);
    lab.expect(0, "convert first load.load.gz");

    let other = LoopDevice::random(64);
    let running = recorder(&lab, &other, "", "second");
    lab.expect(
        0,
        &format!("replay load.load.gz -t {} --destroy --start-grace 0.2 --asap -o ran", other.text()),
    );
    let told = stop(running);
    assert!(told.contains(" 0 lost"), "{told}");
    let checked = lab.expect(0, "check ran second");
    assert!(checked.out.contains("was issued, and nothing else"), "{}", checked.out);
    lab.expect(0, "check ran load.load.gz");
    let checked = lab.expect(0, "check ran first").out;
    assert!(checked.contains("it is taken for the load of the replay"), "{checked}");

    // The three archives agree on everything that does not depend on time.
    let first = static_part(&demand(&lab, "first"));
    assert!(first["counts"]["all"]["requests"].as_u64().is_some_and(|n| n > 50), "{first}");
    assert_eq!(static_part(&demand(&lab, "ran")), first);
    let json: Value = serde_json::from_str(&lab.expect(0, "check --json ran second").out).unwrap();
    let second = static_part(&demand(&lab, "second"));
    if json["outside"] == 0 && json["split"]["requests"] == 0 {
        assert_eq!(second, first);
    } else {
        // Reads of the device before the run are in the second recording, too.
        let outside = json["outside"].as_u64().unwrap();
        let extra = json["split"]["parts"].as_u64().unwrap() - json["split"]["requests"].as_u64().unwrap();
        let count = |v: &Value| v["counts"]["all"]["requests"].as_u64().unwrap();
        assert_eq!(count(&second), count(&first) + outside + extra);
    }
    // Removing one line names exactly that request.
    let text = lab.expect(0, "filter shift:0 load.load.gz").out;
    let mut lines: Vec<&str> = text.lines().collect();
    let removed = lines.remove(lines.len() / 2);
    lab.file("fewer.load", lines.join("\n") + "\n");
    let checked: Value = serde_json::from_str(&lab.expect(5, "check --json ran fewer.load").out).unwrap();
    let sector: u64 = removed.split(';').nth(1).unwrap().trim().parse().unwrap();
    assert_eq!(checked["added"], Value::Array(vec![]));
    assert_eq!(
        (checked["missing"].as_array().unwrap().len(), &checked["missing"][0]["sector"]),
        (1, &sector.into())
    );
}

/// io_uring first tries a request without waiting, and the queue of a loop device does not take these at once.
#[test]
fn records_large_retried_requests_once() {
    needs!("dd");
    let (lab, device) = (lab(), LoopDevice::random(64));
    or_skip!(check_kernel(&lab, &device));
    let rows: String = (0..64).map(|n| format!("0.{:03} ; {} ; 1536 ; R\n", n * 3, n * 1536)).collect();
    lab.file("big.load", rows);
    let running = recorder(&lab, &device, "", "seen");
    lab.expect(0, &format!("replay big.load -t {} --engine uring --start-grace 0.2 -o ran", device.text()));
    stop(running);
    let checked = lab.expect(0, "check ran seen").out;
    assert!(checked.contains("in both    64 requests"), "{checked}");
    assert!(checked.contains("was issued, and nothing else"), "{checked}");
    let json: Value = serde_json::from_str(&lab.expect(0, "check --json ran seen").out).unwrap();
    let retried = json["retried"].as_u64().unwrap();
    let records = lab.records("seen");
    let outside = json["outside"].as_u64().unwrap() as usize;
    assert_eq!(count(&records, Outcome::Completed), 64 + outside, "none has failed, and none is there twice");
    // Where the queue takes requests of this size at once, there is no second try.
    let queue = format!("/sys/block/{}/queue/max_sectors_kb", device.name());
    let largest: u64 = std::fs::read_to_string(queue).unwrap().trim().parse().unwrap();
    assert!(retried >= 64 || largest >= 768, "{retried} of 64; the queue takes {largest} KiB");
    let notices = run_info(&lab.path("seen")).setup.notices;
    assert!(retried == 0 || notices.iter().any(|n| n.contains("ended with EAGAIN")), "{notices:?}");
    lab.expect(0, "convert seen seen.load");
    lab.expect(0, "check ran seen.load");
    assert_eq!(read_load(&lab.path("seen.load")).len(), 64 + outside);
}

// Done when 4
#[test]
fn killed_recorder_leaves_readable_recording_and_is_cleaned_up() {
    needs!("dd");
    let (lab, device) = (lab(), LoopDevice::random(16));
    or_skip!(check_kernel(&lab, &device));
    let running = recorder(&lab, &device, "--segment 1", "killed");
    let read = |count: u32| {
        let (input, count) = (format!("if={}", device.text()), format!("count={count}"));
        tool("dd", &[&input, "of=/dev/null", "bs=4k", &count, "iflag=direct", "status=none"]);
    };
    read(500);
    // They are written once a second.
    let reads = || -> Value {
        let told = lab.run("info --json killed");
        serde_json::from_str::<Value>(&told.out).map_or(Value::Null, |info| info["kinds"]["reads"].clone())
    };
    until("events on disk", || reads() == 500);
    let process = running.id();
    running.signal("KILL");
    running.wait();
    assert!(is_in_kernel(process), "what a kill leaves");
    // Readable as it is, and as an archive after the cleanup.
    assert_eq!(reads(), 500);
    let cleaned = lab.expect(0, "record --cleanup killed");
    assert!(cleaned.err.contains("is gone: its tracing was switched off and removed"), "{}", cleaned.err);
    assert!(!is_in_kernel(process));
    assert_eq!(lab.records("killed").len(), 500);
    let again = lab.expect(0, "record --cleanup killed");
    assert!(again.err.contains("killed is whole already: there is nothing to do"), "{}", again.err);
}

#[test]
fn reports_and_notes_device_removed_while_recording() {
    needs!("dd", "losetup");
    let (lab, device) = (lab(), LoopDevice::random(8));
    or_skip!(check_kernel(&lab, &device));
    let running = recorder(&lab, &device, "--at issue", "rec");
    let input = format!("if={}", device.text());
    tool("dd", &[&input, "of=/dev/null", "bs=4k", "count=100", "iflag=direct", "status=none"]);
    tool("losetup", &["-d", device.text()]);
    // Checked once a second.
    std::thread::sleep(Duration::from_secs(4));
    let process = running.id();
    running.signal("INT");
    let ended = running.wait();
    assert!(ended.code == 0 && !is_in_kernel(process), "{}", ended.err);
    assert!(ended.err.contains(&format!("WARNING: {} is gone", device.text())), "{}", ended.err);
    assert_eq!(ended.err.matches("is gone").count(), 1);
    assert!(ended.out.contains(&format!("{} was gone", device.text())), "{}", ended.out);
    assert_eq!(lab.records("rec").len(), 100);
    let notices = run_info(&lab.path("rec")).setup.notices;
    assert!(notices.iter().any(|notice| notice.contains("was gone")), "{notices:?}");
}

#[test]
fn second_signal_leaves_no_kernel_state_and_advises() {
    needs!("dd");
    let (lab, device) = (lab(), LoopDevice::random(8));
    or_skip!(check_kernel(&lab, &device));
    // The recorder may have finished before it sees the second signal.
    assert!((0..20).any(|_| ends_at_once(&lab, &device)));
}

fn ends_at_once(lab: &Lab, device: &LoopDevice) -> bool {
    let _ = std::fs::remove_dir_all(lab.path("rec"));
    let running = recorder(lab, device, "", "rec");
    let input = format!("if={}", device.text());
    tool("dd", &[&input, "of=/dev/null", "bs=4k", "count=100", "iflag=direct", "status=none"]);
    let process = running.id();
    // Two pending signals of one kind are delivered as one.
    running.signal("INT");
    running.signal("TERM");
    let ended = running.wait();
    assert!(!is_in_kernel(process), "{}", ended.err);
    let at_once = ended.code != 0;
    if at_once {
        // Signals that are pending together have no order.
        assert!([130, 143].contains(&ended.code), "{}", ended.err);
        assert!(
            ended.err.contains("aborted") && ended.err.contains("iosonar record --cleanup rec"),
            "{}",
            ended.err
        );
        lab.expect(0, "record --cleanup rec");
    }
    assert_eq!(lab.records("rec").len(), 100);
    at_once
}

/// In a mount namespace without tracing: the recorder mounts it, and the last recorder to end unmounts it.
const MOUNTS: &str = r#"
set -e
mount -t tmpfs none /run
for place in /sys/kernel/debug/tracing /sys/kernel/debug /sys/kernel/tracing; do
    while mountpoint -q $place; do umount $place; done
done
begin() { # NAME
    "$IOSONAR" record "$DEVICE" --duration 60s --no-progress -o "$1" >/dev/null 2>&1 &
    eval "$1=$!"
    for _ in $(seq 100); do [ -e "$1/recording.json" ] && return; sleep 0.1; done
    exit 9
}
# A shell lets what runs in the background ignore Ctrl-C.
leave() { kill -TERM "$1"; wait "$1"; }
begin first
mountpoint -q /sys/kernel/tracing
begin second
leave $first
mountpoint -q /sys/kernel/tracing
[ -e /run/iosonar-mounted-tracefs ]
leave $second
! mountpoint -q /sys/kernel/tracing
! [ -e /run/iosonar-mounted-tracefs ]
# Somebody else uses it when the recorder leaves: it stays, and a cleanup takes it away.
begin third
(cd /sys/kernel/tracing && exec sleep 60) &
other=$!
for _ in $(seq 100); do [ "$(readlink /proc/$other/cwd)" = /sys/kernel/tracing ] && break; sleep 0.1; done
leave $third
mountpoint -q /sys/kernel/tracing
kill $other; wait $other || true
"$IOSONAR" record --cleanup 2>/dev/null
! mountpoint -q /sys/kernel/tracing
"#;

#[test]
fn last_recorder_unmounts_file_system_of_the_first() {
    needs!("unshare", "mountpoint");
    let (lab, device) = (lab(), LoopDevice::random(8));
    or_skip!(check_kernel(&lab, &device));
    let mut command = Command::new("unshare");
    command.args(["-m", "bash", "-xec", MOUNTS]).current_dir(lab.path(""));
    command.env("IOSONAR", env!("CARGO_BIN_EXE_iosonar")).env("DEVICE", device.text());
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn counts_events_lost_to_full_buffers_exactly() {
    needs!("dd");
    let (lab, device) = (lab(), LoopDevice::random(64));
    or_skip!(check_kernel(&lab, &device));
    let running = recorder(&lab, &device, "--buffer 64KiB", "rec");
    // The buffers fill while the stopped recorder does not read them.
    running.signal("STOP");
    let input = format!("if={}", device.text());
    tool("dd", &[&input, "of=/dev/null", "bs=4k", "count=16000", "iflag=direct", "status=none"]);
    running.signal("CONT");
    let told = stop(running);
    let facts: Value =
        serde_json::from_str(&std::fs::read_to_string(lab.path("rec/recording.json")).unwrap()).unwrap();
    let count = |name: &str| facts["counts"][name].as_u64().unwrap();
    assert!(count("lost_events") > 10_000, "{told}");
    // One event per submission and one per completion; bios that are no requests have neither.
    // Opening the device and the like adds a few requests.
    let all = count("events") + count("lost_events");
    assert!((32_000..32_500).contains(&all), "{facts}");
    assert!(
        told.contains("events were lost because a ring buffer was full: give more with --buffer"),
        "{told}"
    );
    let checked = lab.expect(0, "info rec");
    assert!(checked.out.contains("lost events, as the kernel says"), "{}", checked.out);
    let judged = lab.expect(0, "judge rec");
    assert!(judged.out.contains("verdict: read with care: trace-incomplete"), "{}", judged.out);
}

#[test]
fn latencies_match_kernel_counters() {
    needs!("dd");
    let (lab, device) = (lab(), LoopDevice::random(32));
    or_skip!(check_kernel(&lab, &device));
    let stat = || -> Vec<u64> {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
        text.split_whitespace().map(|n| n.parse().unwrap()).collect()
    };
    let running = recorder(&lab, &device, "--at issue", "rec");
    let before = stat();
    let input = format!("if={}", device.text());
    tool("dd", &[&input, "of=/dev/null", "bs=64k", "count=400", "iflag=direct", "status=none"]);
    let after = stat();
    stop(running);
    let records = lab.records("rec");
    assert_eq!(records.len() as u64, after[0] - before[0]);
    let sectors: u64 = records.iter().map(|r| r.executed.length / 512).sum();
    assert_eq!(sectors, after[2] - before[2]);
    assert!(records.iter().all(|r| r.latency().is_some_and(|l| l.0 > 0)));
}

#[test]
fn records_bio_based_device_at_queue_only() {
    needs!();
    // The kernel creates a new device and returns its number.
    let control = Path::new("/sys/class/zram-control");
    let made = std::fs::read_to_string(control.join("hot_add"));
    let number = or_skip!(made.map_err(|_| "this kernel has no zram".to_string()));
    let number = number.trim();
    std::fs::write(format!("/sys/block/zram{number}/disksize"), "8388608").unwrap();
    let lab = lab();
    let refused = lab.run(&format!("record /dev/zram{number} --at issue -o x"));
    std::fs::write(control.join("hot_remove"), number).unwrap();
    assert!(refused.code == 2 && refused.err.contains("use --at queue"), "{}", refused.err);
}

#[test]
fn rejects_unrecordable_targets_with_remedy() {
    needs!();
    let (lab, device) = (lab(), LoopDevice::of(Image::random(8), &["-P"]));
    let file = lab.target("file", 4096);
    let refused = lab.expect(2, &format!("record {} -o x", file.display()));
    assert!(refused.err.contains("is a file: block I/O is recorded of devices"), "{}", refused.err);
    let partition = device.partition(1, 1, 4);
    let refused = lab.expect(2, &format!("record {} -o x", partition.path().display()));
    assert!(refused.err.contains(&format!("record {}", device.text())), "{}", refused.err);
    lab.expect(2, "record /dev/nothing -o x");
    lab.file("there", "");
    lab.expect(2, &format!("record {} --duration 0 -o there", device.text()));
    assert!(!lab.path("x").exists());
    let quiet = lab.expect(2, &format!("record --measure-overhead {} --duration 6s", device.text()));
    assert!(quiet.err.contains("nothing used"), "{}", quiet.err);
    let mut nobody = Command::new("setpriv");
    nobody.args([
        "--reuid=65534",
        "--clear-groups",
        env!("CARGO_BIN_EXE_iosonar"),
        "record",
        device.text(),
        "-o",
        "/tmp/no",
    ]);
    if let Ok(ended) = nobody.output() {
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && (told.contains("root") || told.contains("ermission")), "{told}");
    }
}

/// A read or write of a recording: time on the kernel's clock, place, length, operation, and who asked for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RecordedRequest {
    sector: u64,
    length: u64,
    is_write: bool,
    time: u64,
}

/// The requests of a recording, sorted by place, and its `facts`.
fn seen(lab: &Lab, name: &str) -> (Vec<RecordedRequest>, Value) {
    let facts = std::fs::read_to_string(lab.path(name).join("recording.json")).unwrap();
    let facts: Value = serde_json::from_str(&facts).unwrap();
    let origin = facts["origin_monotonic_ns"].as_u64().unwrap();
    let one = |r: &iosonar_archive::Record| RecordedRequest {
        sector: r.requested.offset / 512,
        length: r.requested.length,
        // Through blktrace's interface, write zeroes are writes.
        is_write: matches!(r.op, iosonar_plan::Op::Write | iosonar_plan::Op::WriteZeroes),
        time: origin + r.load_time.0,
    };
    let mut all: Vec<RecordedRequest> = lab.records(name).iter().map(one).collect();
    all.sort();
    (all, facts)
}

/// In a virtual machine: the kernel of this one need not have debugfs.
#[test]
fn blktrace_interface_records_the_same() {
    let programs = ["mkfs.ext4", "dd", "sync", "fstrim", "taskset", "blktrace"];
    let mut command = or_skip!(machine(&programs));
    let _turn = turn();
    let lab = lab();
    for module in [
        "scsi_debug dev_size_mb=64 lbpu=1 lbpws=1 max_queue=16 delay=0 ndelay=300000",
        "sd_mod",
        "ext4",
        "crc32c_generic",
    ] {
        command.args(["-m", module]);
    }
    let out = lab.path("");
    command.args(["-c", "2", "-r", "1024", "-t", "180", "-o"]).arg(&out).arg(script("blktrace.sh"));
    let ended = iosonar_testkit::Ended::of(command.output().unwrap());
    assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
    let answer = |name: &str| {
        let answer = ended.out.split("== ").find(|answer| answer.lines().next() == Some(name));
        answer.unwrap_or_else(|| panic!("the machine did not come to: {name}\n{}", ended.out))
    };
    let told = |name: &str| std::fs::read_to_string(lab.path(&format!("{name}.told"))).unwrap();

    let same = answer("the same twice");
    assert!(same.contains("is traced by blktrace already, and a device has one such trace"), "{same}");
    assert!(
        same.contains("-- status 2\n-- status 0\n-- status 0\n-- traced no more\n-- unmounted"),
        "{same}"
    );
    let (through, facts) = seen(&lab, "blktrace");
    let (other, other_facts) = seen(&lab, "tracepoints");
    assert_eq!((&facts["interface"], &other_facts["interface"]), (&"blktrace".into(), &"tracepoints".into()));
    assert_eq!((&facts["counts"]["lost_events"], &facts["counts"]["damaged_pages"]), (&0.into(), &0.into()));
    // The interface reports write zeroes, which mkfs issues, as plain writes.
    let place = |s: &RecordedRequest| (s.sector, s.length, s.is_write);
    let mut rest = through.iter();
    let mut apart: Vec<u64> = Vec::new();
    for want in &other {
        let found = rest.find(|s| place(s) == place(want)).unwrap_or_else(|| panic!("{want:?} is missing"));
        apart.push(found.time.abs_diff(want.time));
    }
    assert!(other.len() > 100, "{}", other.len());
    assert_eq!(through.len(), other.len());
    let zeroed = lab.records("tracepoints").iter().filter(|r| r.op == iosonar_plan::Op::WriteZeroes).count();
    assert!(told("tracepoints").contains(&format!("{zeroed} write-zeroes")), "{}", told("tracepoints"));
    // Both use the same clock; other programs may have run in between.
    apart.sort_unstable();
    println!(
        "{} requests, {zeroed} of zeroes, times apart by {} ns in the middle",
        through.len(),
        apart[apart.len() / 2]
    );
    assert!(apart[apart.len() / 2] < 100_000_000, "{apart:?}");
    // Requesting processes: the same names, though the interface reports each only once, on one CPU.
    let names = |name: &str| -> Vec<String> {
        lab.expect(0, &format!("convert {name} {name}-of.load --split process"));
        let files =
            std::fs::read_dir(&out).unwrap().flatten().map(|file| file.file_name().into_string().unwrap());
        let mut names: Vec<String> =
            files.filter_map(|file| Some(file.strip_prefix(&format!("{name}-of."))?.to_string())).collect();
        names.sort();
        names
    };
    let (found, want) = (names("blktrace"), names("tracepoints"));
    assert_eq!(found.iter().filter(|name| want.contains(name)).count(), want.len(), "{found:?} {want:?}");
    assert!(!found.iter().any(|name| name.contains("unknown")), "{found:?}");

    assert!(answer("full buffers").contains("-- status 0"), "{}", ended.out);
    let (_, facts) = seen(&lab, "full");
    let count = |name: &str| facts["counts"][name].as_u64().unwrap();
    // One event per submission, one per completion, and between them some that are not kept, but can be lost.
    assert!(count("lost_events") > 0 && count("events") + count("lost_events") >= 8000, "{facts}");

    let killed = answer("killed");
    assert!(
        killed.contains("-- still traced\n") && killed.contains("record --cleanup, if a recorder was killed"),
        "{killed}"
    );
    assert!(killed.contains("is gone: its tracing was switched off and removed"), "{killed}");
    assert!(
        killed.contains("-- status 2\n") && killed.contains("-- status 0\n-- traced no more\n-- unmounted"),
        "{killed}"
    );
    assert_eq!(lab.records("killed").len(), 500);
    let theirs = answer("another's");
    assert!(theirs.contains("-- status 0\n-- still traced\n"), "{theirs}");
    // Requests until the device disappeared are kept.
    let vanished = answer("vanished");
    assert!(vanished.contains("-- status 0\n"), "{vanished}\n{}", told("vanished"));
    assert!(told("vanished").contains("/dev/sda is gone"), "{}", told("vanished"));
    assert!(lab.records("vanished").len() >= 100);
}

#[test]
fn background_recorder_ignores_sigint_and_ends_by_sigterm() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(8);
    or_skip!(check_kernel(&lab, &device));
    let script = ["sh", "-c", r#""$0" "$@" 2>err & wait $!"#];
    let args = format!("record {} --no-progress --duration 60s -o rec", device.text());
    let running = Background::start(lab.command_under(&script, &args));
    until("the recording", || lab.path("rec/recording.json").exists());
    let told = std::fs::read_to_string(lab.path("err")).unwrap();
    let remedy = told.lines().find_map(|line| Some(line.split_once("SIGINT is ignored")?.1));
    let process = remedy.and_then(|it| it.rsplit_once("send SIGTERM: kill ")).expect("the remedy").1;
    let process = process.parse().unwrap();
    tool("dd", &[&format!("if={}", device.text()), "of=/dev/null", "bs=4k", "count=10", "iflag=direct"]);
    std::thread::sleep(Duration::from_millis(300));
    iosonar_testkit::signal(process, "INT");
    assert!(is_in_kernel(process));
    iosonar_testkit::signal(process, "TERM");
    let ended = running.wait();
    let err = std::fs::read_to_string(lab.path("err")).unwrap();
    assert_eq!(ended.code, 0, "{err}");
    assert!(!is_in_kernel(process), "what was changed in the kernel is undone");
    assert_eq!(lab.records("rec").len(), 10, "{err}");
}

/// No request arrives at the end of a recording: its pictures show that, and do not end with the last request.
#[test]
fn pictures_include_idle_end_of_recording() {
    needs!("dd");
    let (lab, device) = (lab(), LoopDevice::random(16));
    or_skip!(check_kernel(&lab, &device));
    let running = recorder(&lab, &device, "", "r");
    let words = format!("if={} of=/dev/null bs=64k count=64 iflag=direct status=none", device.text());
    tool("dd", &words.split(' ').collect::<Vec<_>>());
    std::thread::sleep(Duration::from_secs(2));
    stop(running);
    let recorded = run_info(&lab.path("r")).recorded.unwrap();
    let last = lab.records("r").iter().filter_map(|record| record.completed).max().unwrap().0;
    assert!(recorded.duration_ns > last + 1_500_000_000, "{last}: {recorded:?}");
    lab.expect(0, "plot r -o plots --only g00.thrp.completed --svg");
    let picture = std::fs::read_to_string(lab.path("plots/g00.thrp.completed.svg")).unwrap();
    let ticks = picture.split(" s<").filter_map(|text| text.rsplit('>').next()?.parse::<f64>().ok());
    let end = ticks.fold(0.0, f64::max) * 1e9;
    assert!(end > last as f64 + 1e9, "{end}: {recorded:?}");
}
