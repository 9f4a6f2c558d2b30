//! History of a target: the ledger of former runs, files in many pieces, and copies that an overlay makes.

use crate::common::*;
use crate::validity::{Judged, full};
use iosonar_testkit::{Ended, Image, Lab, LoopDevice, Mounted, tool};
use std::path::Path;

const MAPPING: &str = "fresh-or-warm-mapping";

/// The detector's report on random writes to a target.
fn written(lab: &Lab, target: &str) -> (String, String) {
    let judged = Judged::of(lab, &format!("-t {target} --rw randwrite --bs 64k --number-ios 200 --destroy"));
    let told = judged.told(MAPPING).unwrap_or_else(|| panic!("{:#}", judged.0));
    (told.level, told.text)
}

#[track_caller]
fn expect(told: (String, String), level: &str, part: &str) {
    assert!(told.0 == level && told.1.contains(part), "{told:?} is not {level}: {part}");
}

#[test]
fn reports_second_run_since_fill() {
    let lab = lab();
    full(&lab, "f", 16);
    expect(written(&lab, "f"), "ok", "No earlier run is known");
    // Blocks of ext4 stay in their places.
    expect(written(&lab, "f"), "info", "f was written by the run of 20");
    lab.expect(0, "fill f --no-progress");
    expect(written(&lab, "f"), "ok", "No earlier run is known");
    // Reads need no fill, and leave nothing.
    assert_eq!(Judged::of(&lab, "-t f --rw read --bs 128k").level(MAPPING), "-");
    // A simulated run and a dry one write nothing.
    let lines = || std::fs::read_to_string(lab.ledger()).unwrap().lines().count();
    let before = lines();
    lab.expect(0, "run -t f --ioengine sim --rw write --bs 64k --no-progress --start-delay 0");
    lab.expect(0, "run -t f --ioengine null --rw write --bs 64k --no-progress --start-delay 0");
    assert_eq!((before, lines()), (4, 4));
    // Another file of the same name.
    std::fs::rename(lab.path("f"), lab.path("g")).unwrap();
    full(&lab, "f", 16);
    expect(written(&lab, "f"), "ok", "No earlier run is known");
    expect(written(&lab, "g"), "info", "g was written by the run of");
    // Another program has written it since, and may have filled it.
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(lab.path("g"), vec![7; 16 << 20]).unwrap();
    tool("sync", &[lab.path("g")]);
    expect(written(&lab, "g"), "info", "it was changed since");
}

#[test]
fn second_run_is_a_caution_where_blocks_move() {
    needs!("mkfs.btrfs");
    let lab = lab();
    let device = LoopDevice::of(Image::random(256), &[]);
    tool("mkfs.btrfs", &["-q", "-f", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    let file = mounted.path().join("f").display().to_string();
    lab.expect(0, &format!("fill {file} --size 32m --no-progress"));
    // Its blocks grow while it is written, which the first run reports, too.
    let words =
        format!("run -t {file} --rw randwrite --bs 64k --number-ios 200 --no-progress --start-delay 0");
    let told = "caution: fresh-or-warm-mapping: A range of ";
    let first = lab.run(&words);
    assert!(!first.err.contains(told), "{}", first.err);
    let second = lab.run(&format!("{words} -o second"));
    assert!(second.err.contains(told), "{}", second.err);
    // The result that is kept is named, and judged again later with the facts known then.
    let third = lab.run(&format!("{words} -o third"));
    let named = format!("(result {})", lab.path("second").display());
    assert!(third.err.contains(&named), "{}", third.err);
    std::fs::remove_file(lab.ledger()).unwrap();
    let judged = lab.run("judge third --json").out;
    let judged = Judged(serde_json::from_str(&judged).unwrap()).told(MAPPING).unwrap();
    assert!(judged.level == "caution" && judged.text.contains("btrfs puts"), "{judged:?}");
    assert!(!lab.run(&words).err.contains(told), "without a ledger nobody knows of earlier runs");
}

#[test]
fn device_history_ends_with_reattachment() {
    needs!();
    let lab = lab();
    let image = Image::random(32);
    let device = LoopDevice::on(&image.path(), &[]);
    expect(written(&lab, device.text()), "ok", "No earlier run is known");
    expect(written(&lab, device.text()), "info", "was written by the run of");
    // A replay meets what the first one has left; that a loop device on a full file allocates nothing can be seen.
    let part = device.partition(1, 8, 8);
    expect(written(&lab, part.path().to_str().unwrap()), "info", "was written by the run of");
    drop(part);
    drop(device);
    let again = LoopDevice::on(&image.path(), &[]);
    expect(written(&lab, again.text()), "ok", "No earlier run is known");
}

#[test]
fn stopped_run_counts_as_having_written() {
    let lab = lab();
    full(&lab, "f", 16);
    let words = "run -t f --rw write --bs 64k --rate-iops 50 --runtime 60 --time-based --no-progress --start-delay 0 -o stopped";
    let running = Background::start(lab.command(words));
    lab.until_records("stopped");
    running.signal("INT");
    let ended = running.wait();
    assert_eq!(ended.code, 130, "{}{}", ended.out, ended.err);
    let line = std::fs::read_to_string(lab.ledger()).unwrap();
    let entry: serde_json::Value = serde_json::from_str(line.trim()).unwrap();
    // The plan covers more than the run wrote.
    let end = entry["written"]["end"].as_u64().unwrap();
    assert!(entry["written"]["start"] == 0 && (1..16 << 20).contains(&end), "{entry:#}");
    expect(written(&lab, "f"), "info", "was written by the run of");
}

#[test]
fn unusable_ledger_is_unknown_and_fails_no_run() {
    let lab = lab();
    full(&lab, "f", 16);
    let with = |ledger: &Path| {
        let words = "run -t f --rw randwrite --bs 64k --number-ios 200 --no-progress --start-delay 0 -o r";
        let ended = Ended::of(lab.command(words).env("IOSONAR_LEDGER", ledger).output().unwrap());
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        let judged = Judged::taken(&lab, &lab.run("judge r --json"));
        let told = judged.told(MAPPING).unwrap();
        (told.level, told.text)
    };
    expect(with(Path::new("off")), "unknown", "the ledger is off (IOSONAR_LEDGER=off)");
    expect(with(Path::new("/dev/null")), "unknown", "it is no regular file");
    let damaged = lab.file("damaged", "{\n");
    expect(with(&damaged), "unknown", "line 1 of the ledger");
    let notes = lab.file("notes", "my notes\n");
    expect(with(&notes), "unknown", "it is another file");
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "my notes\n");
}

#[test]
fn concurrent_runs_all_append_their_entries() {
    let lab = lab();
    let start = |number: usize| {
        full(&lab, &format!("f{number}"), 4);
        let words =
            format!("run -t f{number} --rw randwrite --bs 64k --number-ios 20 --no-progress --start-delay 0");
        lab.command(&words).spawn().unwrap()
    };
    let runs: Vec<_> = (0..6).map(start).collect();
    runs.into_iter().for_each(|run| assert!(run.wait_with_output().unwrap().status.success()));
    let text = std::fs::read_to_string(lab.ledger()).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6, "{text}");
}

/// Two files that grew in turns, so that neither has its data side by side.
fn grown_in_turns(directory: &Path, pieces: u64, bytes: u64) {
    for number in 0..pieces {
        for name in ["one", "other"] {
            let (offset, length) = ((number * bytes).to_string(), bytes.to_string());
            let path = directory.join(name);
            tool("fallocate", &["-o", &offset, "-l", &length, path.to_str().unwrap()]);
        }
    }
}

#[test]
fn reports_fragmented_file() {
    needs!("mkfs.xfs", "fallocate");
    let lab = lab();
    let device = LoopDevice::of(Image::random(400), &[]);
    tool("mkfs.xfs", &["-q", "-f", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    grown_in_turns(mounted.path(), 256, 64 << 10);
    let file = mounted.path().join("one").display().to_string();
    lab.expect(0, &format!("fill {file} --no-progress"));
    let read =
        |bs: &str| Judged::of(&lab, &format!("-t {file} --rw read --bs {bs}")).told("fragmented").unwrap();
    let split = read("1m");
    assert!(split.level == "caution" && split.text.contains("100 % of the requests of 1.0 MiB"), "{split:?}");
    // Requests that fit into the pieces are not split; a disk that seeks would be slower.
    let fitting = read("64k");
    assert!(fitting.level == "info" && fitting.text.contains(" 0 % of the requests"), "{fitting:?}");
    let whole = mounted.path().join("whole").display().to_string();
    lab.expect(0, &format!("fill {whole} --size 16m --no-progress"));
    let judged = Judged::of(&lab, &format!("-t {whole} --rw read --bs 1m"));
    assert_eq!(judged.level("fragmented"), "ok", "{:#}", judged.0);
    // A loop device has the layout of its file.
    let inner = LoopDevice::on(Path::new(&file), &[]);
    let judged = Judged::of(&lab, &format!("-t {} --rw read --bs 1m", inner.text()));
    assert_eq!(judged.level("fragmented"), "caution", "{:#}", judged.0);
}

#[test]
fn reports_overlay_copy_up_with_both_devices() {
    needs!("mkfs.ext4");
    let lab = lab();
    let file_system = || {
        let device = LoopDevice::of(Image::random(96), &[]);
        tool("mkfs.ext4", &["-q", "-F", device.text()]);
        let mounted = Mounted::new(device.path(), "rw");
        (device, mounted)
    };
    let ((lower_device, lower), (upper_device, upper)) = (file_system(), file_system());
    let [data, work] = ["data", "work"].map(|name| {
        std::fs::create_dir(upper.path().join(name)).unwrap();
        upper.path().join(name)
    });
    let prepared = lower.path().join("f").display().to_string();
    lab.expect(0, &format!("fill {prepared} --size 16m --no-progress"));
    let overlay = or_skip!(Mounted::overlay(lower.path(), &data, &work));
    let file = overlay.path().join("f").display().to_string();
    // Reads come from the layer that holds the file.
    lab.expect(0, &format!("layout evict {prepared}"));
    let read = Judged::of(&lab, &format!("-t {file} --rw read --bs 128k"));
    read.has("care", &[("copied-up", "-"), ("reads-not-from-device", "ok")]);
    let words =
        format!("run -t {file} --rw randwrite --bs 64k --number-ios 200 --no-progress --start-delay 0");
    let ended = lab.run(&format!("{words} -o first"));
    let told = Judged(serde_json::from_str(&lab.run("judge first --json").out).unwrap()).told("copied-up");
    let told = told.unwrap_or_else(|| panic!("{}{}", ended.out, ended.err));
    for device in [&lower_device, &upper_device] {
        assert!(told.level == "caution" && told.text.contains(device.name()), "{told:?}");
    }
    assert!(ended.err.contains("caution: copied-up: "), "{}", ended.err);
    // Now the upper layer has it.
    let again = Judged::of(&lab, &format!("-t {file} --rw randwrite --bs 64k --number-ios 200"));
    assert_eq!(again.level("copied-up"), "-", "{:#}", again.0);
}
