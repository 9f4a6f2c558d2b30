//! The experiments that the rules of validity come from, where they are not definitions: each caution appears with one set-up on a
//! real device, and not with the other. Levels that change are drawn from seeds (`judge/src/rates.rs`), because no machine of the
//! tests keeps a level.

use crate::common::*;
use crate::validity::{Judged, full};
use iosonar_plan::Op;
use iosonar_testkit::{Ended, Image, LoopDevice, Mounted, tool};
use serde_json::{Value, json};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

/// A setting of a device's queue, restored at the end: a loop device keeps it for the next user of its number.
struct Setting {
    file: PathBuf,
    before: String,
}

impl Setting {
    fn new(device: &LoopDevice, name: &str, value: &str) -> Setting {
        let file = PathBuf::from(format!("/sys/block/{}/queue/{name}", device.name()));
        let text = std::fs::read_to_string(&file).unwrap();
        // Of several, the one in use stands in brackets.
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let before = chosen.map_or(text.trim(), |(chosen, _)| chosen).to_string();
        std::fs::write(&file, value).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
        Setting { file, before }
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.file, &self.before);
    }
}

/// H1: neighbours that wait together become one request, whatever the scheduler.
#[test]
fn adjacent_queued_requests_are_merged() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(32);
    for (depth, level) in [(32, "fail"), (1, "ok")] {
        let read = format!("-t {} --rw read --bs 4k --iodepth {depth} --number-ios 4000", device.text());
        comes_to_say(
            |said| said["level"] == level,
            || Judged::of(&lab, &read).detection("requests-reshaped"),
        );
    }
}

/// H1: a device with a smaller maximum request size splits requests. It is reported for a replay of long ones, too.
#[test]
fn reports_requests_split_by_device() {
    needs!();
    let lab = lab();
    let line = |n: u64| Line { time: n * 2_000_000, sector: n * 97 % 256 * 512, length: 512, op: Op::Read };
    lab.file("load", load_text(&(0..120).map(line).collect::<Vec<Line>>()));
    let device = LoopDevice::random(64);
    let read = format!("-t {} --rw randread --size 32m --bs 64k", device.text());
    for (kibibytes, level) in [("1280", "ok"), ("32", "caution")] {
        let _setting = Setting::new(&device, "max_sectors_kb", kibibytes);
        lab.expect(0, &format!("replay load -t {} --no-progress -o r", device.text()));
        let replayed = Judged::taken(&lab, &lab.run("judge r --json"));
        assert_eq!(replayed.level("requests-reshaped"), level, "{kibibytes}: {:#}", replayed.0);
        let judged = Judged::of(&lab, &read);
        assert_eq!(judged.level("requests-reshaped"), level, "{kibibytes}: {:#}", judged.0);
    }
}

/// H2: an elevator sorts what waits together. Its name proves nothing, so it is watched.
#[test]
fn reports_scheduler_reordering_when_watched() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(64);
    let write =
        format!("-t {} --destroy --rw randwrite --bs 4k --iodepth 32 --number-ios 6000", device.text());
    let out_of_order = |judged: &Judged| judged.evidence("requests-reshaped", "out_of_order_share");
    for (scheduler, is_sorted) in [("mq-deadline", true), ("none", false)] {
        let _setting = Setting::new(&device, "scheduler", scheduler);
        let judged = Judged::of(&lab, &format!("{write} --watch-order"));
        assert_eq!(out_of_order(&judged).unwrap() > 0.05, is_sorted, "{scheduler}: {:#}", judged.0);
        assert_eq!(judged.level("requests-reshaped") == "caution", is_sorted, "{scheduler}: {:#}", judged.0);
    }
    assert_eq!(out_of_order(&Judged::of(&lab, &write)), None);
    // A target that cannot be watched is refused before anything is written.
    let memory = Mounted::tmpfs();
    let file = memory.path().join("f");
    std::fs::write(&file, [7; 1 << 20]).unwrap();
    let refused = lab.expect(2, &format!("run -t {} --rw write --bs 4k --watch-order -o r", file.display()));
    assert!(refused.err.contains("is not on one block device"), "{}", refused.err);
    assert_eq!(std::fs::read(&file).unwrap(), [7; 1 << 20]);
    assert!(!lab.path("r").exists());
}

/// H3: a queue on the way that is shorter than what was asked for.
#[test]
fn reports_queue_depth_not_reaching_device() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(32);
    let read = format!("-t {} --rw randread --bs 16k --iodepth 32 --runtime 2 --time-based", device.text());
    for (requests, level) in [("4", "fail"), ("128", "ok")] {
        let _setting = Setting::new(&device, "nr_requests", requests);
        comes_to_say(
            |said| said["level"] == level,
            || Judged::of(&lab, &read).detection("queue-depth-not-reached"),
        );
    }
}

/// H3: a write that extends a file holds up later ones; overwriting does not.
#[test]
fn allocating_writes_do_not_reach_their_depth() {
    needs!();
    let lab = lab();
    let write = "-t f --create --rw write --bs 16k --iodepth 32 --size 400m";
    let depth = || Judged::of(&lab, write).detection("queue-depth-not-reached");
    comes_to_say(is_reported, || {
        let _ = std::fs::remove_file(lab.path("f"));
        depth()
    });
    comes_to_say(|said| said.is_null() || said["level"] == "ok", depth);
}

/// H3: where io_submit(2) waits for new blocks, the engine misses its depth, and the device has even less of it.
#[test]
fn engine_with_blocking_submission_does_not_reach_its_depth() {
    needs!();
    let lab = lab();
    let write = "-t f --create --rw write --bs 16k --engine aio --iodepth 24 --size 400m";
    comes_to_say(is_reported, || {
        let _ = std::fs::remove_file(lab.path("f"));
        Judged::of(&lab, write).detection("queue-depth-not-reached")
    });
}

/// H5: the state of the machine differs at the end.
#[test]
fn reports_setting_changed_during_run() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(32);
    let run = format!(
        "run --no-progress --start-delay 0 -t {} --rw randread --bs 16k --runtime 2 --time-based -o r",
        device.text()
    );
    let level = |change: bool| {
        let running = Background::start(lab.command(&run));
        lab.until_records("r");
        let _setting = change.then(|| Setting::new(&device, "nomerges", "2"));
        assert_eq!(running.wait().code, 0);
        Judged::taken(&lab, &lab.expect(0, "judge r --json")).level("settings-changed")
    };
    assert_eq!((level(true).as_str(), level(false).as_str()), ("caution", "ok"));
}

/// G1: target rate and achieved rate.
#[test]
fn reports_missed_target_rate() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(32);
    for (rate, level) in [("200000 --number-ios 6000", "fail"), ("50 --number-ios 100", "ok")] {
        let read = format!("-t {} --rw randread --bs 4k --rate-iops {rate}", device.text());
        comes_to_say(|said| said["level"] == level, || Judged::of(&lab, &read).detection("cannot-keep-up"));
    }
}

/// F4: a read beyond the end of a file does nothing, in half a microsecond.
#[test]
fn reports_reads_beyond_end_of_file() {
    needs!();
    let lab = lab();
    full(&lab, "f", 8);
    for (size, level) in [("16m", "fail"), ("8m", "ok")] {
        let words = format!("-t f --steps random --rw read --bs 64k --size {size} --number-ios 200");
        // Requests fail, and the run says so too.
        lab.run(&format!("run --no-progress --start-delay 0 {words} -o r"));
        let judged = Judged::taken(&lab, &lab.run("judge r --json"));
        assert_eq!(judged.level("requests-not-done"), level, "{size}");
    }
}

/// A10: random reads of mapped memory read ahead.
#[test]
fn mapped_reads_cause_read_ahead() {
    needs!();
    let lab = lab();
    full(&lab, "f", 64);
    let mapped = "-t f --engine mmap --buffered --rw randread --bs 4k --number-ios 300 --claim device";
    let judged = Judged::of(&lab, mapped);
    assert!(["caution", "fail"].contains(&judged.level("read-amplification").as_str()), "{:#}", judged.0);
    lab.expect(0, "layout evict f");
    let direct = Judged::of(&lab, "-t f --rw randread --bs 4k --number-ios 300");
    assert_eq!(direct.level("read-amplification"), "ok", "{:#}", direct.0);
}

/// F2: a working set that fits in any cache.
#[test]
fn reports_small_working_set() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(32);
    let read = format!("-t {} --rw randread --bs 4k", device.text());
    for (what, level) in
        [("--size 1m --norandommap --number-ios 2000", "caution"), ("--number-ios 8000", "ok")]
    {
        let judged = Judged::of(&lab, &format!("{read} {what}"));
        assert_eq!(judged.level("small-footprint"), level, "{what}: {:#}", judged.0);
    }
}

/// F3: the page cache answers repeated reads of data that fits in memory.
#[test]
fn reports_rereads_of_data_that_fits_in_memory() {
    needs!();
    let lab = lab();
    full(&lab, "f", 32);
    let read = "-t f --rw read --bs 64k --number-ios";
    for (words, level) in [
        ("512 --buffered", "ok"),
        ("512 --buffered", "caution"),
        ("512 --buffered --claim cache", "ok"),
        ("512", "ok"),
    ] {
        let judged = Judged::of(&lab, &format!("{read} {words}"));
        assert_eq!(judged.level("small-footprint"), level, "{words}: {:#}", judged.0);
    }
}

/// A3 and A11: reads of cached data do not come from the device. The level depends on their share; with all of them, no device is so fast.
#[test]
fn reports_share_of_reads_from_page_cache() {
    needs!();
    let lab = lab();
    full(&lab, "f", 32);
    let read = "-t f --rw randread --bs 4k";
    for (warm, level) in [(0, "ok"), (2, "caution"), (8, "fail"), (32, "fail")] {
        let from_device = 1.0 - warm as f64 / 32.0;
        let is_so = |said: &Value| {
            let judged = Judged(said.clone());
            let share = judged.evidence("reads-not-from-device", "share").unwrap();
            judged.level("reads-not-from-device") == level
                && (share - from_device).abs() < 0.02
                && (warm < 32 || judged.level("faster-than-any-device") == "fail")
        };
        // The kernel may take some pages back at any time.
        comes_to_say(is_so, || {
            lab.expect(0, "layout evict f");
            // Written pages stay cached, without readahead.
            let file = std::fs::OpenOptions::new().write(true).open(lab.path("f")).unwrap();
            file.write_all_at(&vec![7; warm << 20], 0).unwrap();
            file.sync_all().unwrap();
            Judged::of(&lab, &format!("{read} --buffered --claim device")).0
        });
    }
    let direct = Judged::of(&lab, read);
    direct.has("care", &[("reads-not-from-device", "ok"), ("faster-than-any-device", "ok")]);
}

/// F1: a load of a larger device is folded; known before the first request.
#[test]
fn reports_trace_of_larger_device() {
    needs!();
    let lab = lab();
    let line = |n: u64| Line { time: n * 2_000_000, sector: n * 7919 % 16_384 * 8, length: 8, op: Op::Read };
    lab.file("load", load_text(&(0..500).map(line).collect::<Vec<Line>>()));
    for (mebibytes, level) in [(16, "caution"), (64, "ok")] {
        let device = LoopDevice::random(mebibytes);
        let ended = lab.run(&format!("replay load -t {} --no-progress -o r", device.text()));
        let judged = Judged::taken(&lab, &lab.run("judge r --json"));
        assert_eq!(judged.level("wrong-size-device"), level, "{mebibytes}: {}{:#}", ended.err, judged.0);
        assert_eq!(ended.err.contains("caution: wrong-size-device"), level == "caution", "{}", ended.err);
    }
}

/// G3 and G8: while a file system is frozen for a second, a closed loop sends nothing, and its percentiles do not show it; an open
/// loop waits for its turn. While the process itself is stopped, the target is not to blame.
#[test]
fn distinguishes_target_stalls_from_generator_stalls() {
    needs!("mkfs.ext4", "fsfreeze");
    let lab = lab();
    let device = LoopDevice::random(96);
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device.text()]);
    let mounted = Mounted::new(device.path(), "defaults");
    let file = mounted.path().join("f");
    lab.expect(0, &format!("fill {} --size 32m --no-progress", file.display()));
    let run = |options: &str, disturb: &dyn Fn(&Background)| -> Judged {
        let words = format!(
            "run --no-progress --start-delay 0 -t {} --rw randwrite --bs 4k --runtime 5 --time-based {options} -o r",
            file.display()
        );
        let running = Background::start(lab.command(&words));
        lab.until_records("r");
        std::thread::sleep(Duration::from_secs(1));
        disturb(&running);
        let ended: Ended = running.wait();
        assert_eq!(ended.code, 0, "{}", ended.err);
        Judged::taken(&lab, &lab.expect(0, "judge r --json"))
    };
    let freeze = |_: &Background| {
        let mount = mounted.path().to_str().unwrap();
        tool("fsfreeze", &["-f", mount]);
        std::thread::sleep(Duration::from_secs(1));
        tool("fsfreeze", &["-u", mount]);
    };
    let stop = |running: &Background| {
        running.signal("STOP");
        std::thread::sleep(Duration::from_millis(900));
        running.signal("CONT");
    };
    // Level of the finding on the target, whether it counts, and whether the evidence shows that the generator was halted.
    let said = |judged: Judged| {
        let hidden = judged.detection("stalls-hidden");
        let stood_still = judged.evidence("cpu-disturbed", "halted_share").map(|share| share > 0.05);
        json!([hidden["level"], is_reported(&hidden) && hidden["explained_by"].is_null(), stood_still])
    };
    comes_to_say(|told| *told == json!(["caution", true, false]), || said(run("", &freeze)));
    comes_to_say(|told| told[0].is_null(), || said(run("--rate-iops 500", &freeze)));
    comes_to_say(|told| told[1] == false && told[2] == true, || said(run("", &stop)));
}

/// F5: a device that stores 4096 bytes at a time reads before it writes a part of them.
#[test]
fn reports_writes_of_partial_physical_blocks() {
    needs!();
    let lab = lab();
    full(&lab, "f", 16);
    let block = |size: u32| {
        let judged = Judged::of(&lab, &format!("-t f --rw randwrite --bs {size} --number-ios 2000"));
        (judged.level("misaligned"), judged.evidence("misaligned", "physical_block_bytes"))
    };
    let (level, physical) = block(4096);
    if physical != Some(4096.0) {
        let why = format!("the disk has physical blocks of {physical:?} bytes, and not of 4096");
        return iosonar_testkit::skip("reports_writes_of_partial_physical_blocks", &why);
    }
    assert_eq!((level.as_str(), block(512).0.as_str()), ("ok", "caution"));
}

/// F5: a load of a device that addresses 512 bytes on one that addresses 4096; known before the first request.
#[test]
fn reports_requests_rounded_to_logical_blocks() {
    needs!();
    let lab = lab();
    // One in four is no multiple of a block.
    let line = |n: u64| Line {
        time: n * 2_000_000,
        sector: n * 8 + u64::from(n.is_multiple_of(4)),
        length: 8,
        op: Op::Write,
    };
    lab.file("load", load_text(&(0..500).map(line).collect::<Vec<Line>>()));
    for (block, level) in [("4096", "caution"), ("512", "ok")] {
        let device = LoopDevice::of(Image::random(16), &["--sector-size", block]);
        let ended = lab.run(&format!("replay load -t {} --destroy --no-progress -o r", device.text()));
        let judged = Judged::taken(&lab, &lab.run("judge r --json"));
        assert_eq!(judged.level("misaligned"), level, "{block}: {}{:#}", ended.err, judged.0);
        assert_eq!(judged.evidence("misaligned", "share"), Some(if block == "512" { 0.0 } else { 0.25 }));
        let said =
            ended.err.contains("caution: misaligned: 25 % of the requests are no whole blocks of 4096");
        assert_eq!(said, level == "caution", "{}", ended.err);
    }
}

/// C2: without a flush, written data may be in the device's cache only.
#[test]
fn reports_unflushed_volatile_cache() {
    needs!("addpart");
    let lab = lab();
    let device = LoopDevice::random(32);
    let write = format!("-t {} --destroy --rw write --bs 64k", device.text());
    for (cache, flush, is_reported) in
        [("write back", "", true), ("write back", "--fsync 100", false), ("write through", "", false)]
    {
        let _setting = Setting::new(&device, "write_cache", cache);
        let told = Judged::of(&lab, &format!("{write} {flush}")).told("volatile-cache").unwrap();
        // The disk below may have such a cache, too.
        let of_device = told.level == "info" && told.text.starts_with(device.name());
        assert_eq!(of_device, is_reported, "{cache} {flush}: {}", told.text);
    }
    // The kernel counts flushes of a partition for its disk.
    let _setting = Setting::new(&device, "write_cache", "write back");
    let part = device.partition(1, 8, 16);
    for (flush, is_reported) in [("", true), ("--fsync 50", false)] {
        let write = format!("-t {} --destroy --rw write --bs 64k {flush}", part.path().display());
        let told = Judged::of(&lab, &write).told("volatile-cache").unwrap();
        let of_disk = told.level == "info" && told.text.contains("nothing was flushed");
        assert_eq!(of_disk, is_reported, "{flush}: {}", told.text);
    }
}

/// C2: a flush that takes no time has reached memory. A file on a disk is written first, by a loop device whose data is still in the page
/// cache.
#[test]
fn reports_implausibly_fast_flushes() {
    needs!();
    let lab = lab();
    let memory = Mounted::tmpfs();
    let in_memory = memory.path().join("image");
    std::fs::write(&in_memory, vec![7; 32 << 20]).unwrap();
    let on_disk = Image::random(32);
    for (image, is_reported) in [(in_memory, true), (on_disk.path(), false)] {
        let device = LoopDevice::buffered(&image);
        let _setting = Setting::new(&device, "write_cache", "write back");
        let write = format!("-t {} --destroy --rw write --bs 256k --fsync 1", device.text());
        let is_so = |said: &Value| said["level"].as_str() == Some(if is_reported { "info" } else { "ok" });
        comes_to_say(is_so, || Judged::of(&lab, &write).detection("volatile-cache"));
        // The kernel counts a flush as a write, too.
        let judged = Judged::of(&lab, &write.replace("256k", "16k"));
        assert_eq!(judged.level("requests-reshaped"), "-", "{:#}", judged.0);
    }
}

/// D4: a new ext4 initialises its inode tables in the background.
#[test]
fn reports_busy_file_system_before_run() {
    needs!("mkfs.ext4");
    let lab = lab();
    for lazy in [true, false] {
        let device = LoopDevice::of(Image::sparse(8192), &[]);
        let options = format!("nodiscard,lazy_journal_init=0,lazy_itable_init={}", u8::from(lazy));
        tool("mkfs.ext4", &["-q", "-F", "-E", &options, device.text()]);
        let mounted = Mounted::new(device.path(), "");
        tool("sync", &["-f", mounted.path().to_str().unwrap()]);
        let disturbs = || {
            let told = lab.run(&format!("doctor {} --quiet 2s --json", mounted.path().display()));
            let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
            let mut others = told["others"].as_array().unwrap().iter();
            others.any(|other| other["device"] == device.name() && other["disturbs"] == true)
        };
        assert!((0..5).any(|_| disturbs() == lazy), "lazy: {lazy}");
    }
}
