//! Figures that misrepresent the target: each is reported with one set-up, and not with the other. Everything here is so by definition;
//! detectors of times are tested beside their code.

use crate::common::*;
use iosonar_testkit::{ControlGroup, Ended, Image, Lab, LoopDevice, Mounted, Zram, tool};
use serde_json::Value;
use std::path::Path;

/// Level and text of a detector's report.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub level: String,
    pub text: String,
}

/// A judged result.
pub struct Judged(pub Value);

impl Judged {
    /// Runs and judges; the exit code has to agree with the verdict.
    #[track_caller]
    pub fn of(lab: &Lab, words: &str) -> Judged {
        Judged::under(lab, &[], words)
    }

    /// Runs under another program, and judges.
    #[track_caller]
    pub fn under(lab: &Lab, wrapper: &[&str], words: &str) -> Judged {
        let words = format!("run --no-progress --start-delay 0 {words} -o r");
        let ended = Ended::of(lab.command_under(wrapper, &words).output().unwrap());
        let judged = lab.run("judge r --json");
        let judgement: Value =
            serde_json::from_str(&judged.out).unwrap_or_else(|_| panic!("{}{}", ended.err, judged.err));
        let code = if judgement["verdict"] == "fake" { 4 } else { 0 };
        assert_eq!(
            (ended.code, judged.code),
            (code, code),
            "{words}\n{}{}\n{judgement:#}",
            ended.out,
            ended.err
        );
        assert!(ended.out.contains("verdict: "), "{}", ended.out);
        std::fs::remove_dir_all(lab.path("r")).unwrap();
        Judged(judgement)
    }

    /// Parses the output of `judge r --json` and removes the result.
    #[track_caller]
    pub fn taken(lab: &Lab, judged: &Ended) -> Judged {
        let judgement = serde_json::from_str(&judged.out).unwrap_or_else(|_| panic!("{}", judged.err));
        std::fs::remove_dir_all(lab.path("r")).unwrap();
        Judged(judgement)
    }

    pub fn found(&self, id: &str) -> Option<&Value> {
        self.0["detections"].as_array().unwrap().iter().find(|one| one["id"] == id)
    }

    /// Returns a detection for [`comes_to_say`]; null where the detector does not apply.
    pub fn detection(&self, id: &str) -> Value {
        self.found(id).cloned().unwrap_or_default()
    }

    /// Returns a number from the evidence of a detection.
    pub fn evidence(&self, id: &str, name: &str) -> Option<f64> {
        let evidence = self.found(id)?["evidence"].as_array()?;
        evidence.iter().find(|one| one["name"] == name)?["value"].as_f64()
    }

    pub fn told(&self, id: &str) -> Option<Told> {
        let found = self.found(id)?;
        let text = |name: &str| found[name].as_str().unwrap().to_string();
        Some(Told { level: text("level"), text: text("text") })
    }

    /// Returns the level; `-` if the detector does not apply.
    pub fn level(&self, id: &str) -> String {
        self.told(id).map_or("-".into(), |told| told.level)
    }

    pub fn is(&self, verdict: &str, levels: &[(&str, &str)]) -> bool {
        self.0["verdict"] == verdict && levels.iter().all(|(id, level)| self.level(id) == *level)
    }

    /// Repeats [`Judged::is`] for a few runs: writes of others to the disk are counted, too.
    #[track_caller]
    fn comes_to_be(lab: &Lab, words: &str, verdict: &str, levels: &[(&str, &str)]) {
        comes_to_say(|judged| Judged(judged.clone()).is(verdict, levels), || Judged::of(lab, words).0);
    }

    #[track_caller]
    pub fn has(&self, verdict: &str, levels: &[(&str, &str)]) {
        assert!(self.is(verdict, levels), "not {verdict}, {levels:?}: {:#}", self.0);
    }
}

const READ: &str = "--rw read --bs 128k --iodepth 4";

/// Creates a file of random bytes, which are on the disk and not in the page cache.
pub fn full(lab: &Lab, name: &str, mebibytes: u64) {
    tool(
        "dd",
        &[
            "if=/dev/urandom",
            &format!("of={}", lab.path(name).display()),
            "bs=1M",
            &format!("count={mebibytes}"),
            "conv=fsync",
            "status=none",
        ],
    );
    lab.expect(0, &format!("layout evict {name}"));
}

#[test]
fn flags_reads_of_holes_and_unwritten_extents() {
    needs!("fallocate");
    let lab = lab();
    std::fs::File::create(lab.path("sparse")).unwrap().set_len(32 << 20).unwrap();
    tool("fallocate", &["-l", "32M", lab.path("allocated").to_str().unwrap()]);
    full(&lab, "full", 32);
    for name in ["sparse", "allocated"] {
        let judged = Judged::of(&lab, &format!("-t {name} {READ}"));
        judged.has("fake", &[("unmapped-target", "fail"), ("reads-not-from-device", "fail")]);
    }
    let judged = Judged::of(&lab, &format!("-t full {READ}"));
    judged
        .has("care", &[("unmapped-target", "ok"), ("reads-not-from-device", "ok"), ("memory-target", "ok")]);
    // Holes where nothing is requested do not count.
    std::fs::File::create(lab.path("part")).unwrap().set_len(64 << 20).unwrap();
    lab.expect(0, "fill part --offset 16m --size 8m --no-progress");
    lab.expect(0, "layout evict part");
    for (range, level) in [("--offset 16m --size 8m", "ok"), ("--offset 8m --size 8m", "fail"), ("", "fail")]
    {
        let judged = Judged::of(&lab, &format!("-t part {READ} {range}"));
        assert_eq!(judged.level("unmapped-target"), level, "{range}: {:#}", judged.0);
    }
    let small = Judged::of(&lab, "-t sparse --rw randread --bs 4k --number-ios 4000");
    small.has("fake", &[("faster-than-any-device", "fail"), ("unmapped-target", "fail")]);
    let of_device = Judged::of(&lab, "-t full --rw randread --bs 4k --number-ios 4000");
    of_device.has("care", &[("faster-than-any-device", "ok"), ("unmapped-target", "ok")]);
}

#[test]
fn new_file_system_leaves_discarded_blocks() {
    needs!("mkfs.ext4");
    let lab = lab();
    // Few inodes and no journal: mkfs zeroes both, and zeros take no space either.
    let always = ["-q", "-F", "-i", "1048576", "-O", "^has_journal"];
    for (options, is_empty) in [(&[][..], true), (&["-E", "nodiscard"], false)] {
        let device = LoopDevice::random(64);
        let words: Vec<&str> = always.iter().chain(options).copied().chain([device.text()]).collect();
        tool("mkfs.ext4", &words);
        let judged = Judged::of(&lab, &format!("-t {} {READ} --size 24m --offset 16m", device.text()));
        assert_eq!(judged.level("unmapped-target") == "fail", is_empty, "{options:?} {:#}", judged.0);
    }
}

#[test]
fn flags_rereads_from_the_page_cache() {
    let lab = lab();
    full(&lab, "f", 32);
    let read = format!("-t f {READ} --buffered");
    Judged::of(&lab, &format!("{read} --claim device")).has("care", &[("reads-not-from-device", "ok")]);
    let again = Judged::of(&lab, &format!("{read} --claim device"));
    again.has("fake", &[("reads-not-from-device", "fail")]);
    assert!(
        again.0["sentence"].as_str().unwrap().contains("this is the speed of the page cache"),
        "{:#}",
        again.0
    );
    Judged::of(&lab, &format!("{read} --claim cache")).has("care", &[("reads-not-from-device", "ok")]);
    Judged::of(&lab, &read).has("care", &[("reads-not-from-device", "info")]);
}

#[test]
fn reports_cached_data_before_the_run() {
    let lab = lab();
    full(&lab, "f", 32);
    let read = "run -t f --rw randread --bs 64k --no-progress";
    let share = |said: &str| -> Option<f64> {
        let found = said.lines().find_map(|line| line.split("reads-not-from-device: ").nth(1))?;
        let share = found.split(" % of the 32.0 MiB that are read are in the page cache already. ").next()?;
        Some(share.parse().unwrap_or_else(|_| panic!("{said}")))
    };
    let told = |words: &str| {
        let ended = lab.run(&format!("{read} --number-ios 100 {words} -o r"));
        let _ = std::fs::remove_dir_all(lab.path("r"));
        (ended.code, share(&ended.err))
    };
    // The kernel may take some pages back at any time.
    let nearly_all = 95.0..=100.0;
    assert_eq!(told("--buffered --claim device").1, None);
    tool("cat", &[lab.path("f")]);
    let (code, cached) = told("--buffered --claim device");
    assert!(code == 4 && cached.is_some_and(|cached| nearly_all.contains(&cached)), "{code} {cached:?}");
    // Not reported where memory may answer, where requests bypass it, nor elsewhere in the file.
    assert_eq!(told("--buffered").1, None);
    assert_eq!(told("--claim device").1, None);
    // A long one does not start.
    let long = lab.run(&format!("{read} --buffered --claim device --time-based --runtime 60s -o r"));
    assert_eq!(long.code, 2, "{}", long.err);
    let cached = share(&long.err).unwrap();
    assert!(nearly_all.contains(&cached) && long.err.contains("--anyway"), "{}", long.err);
    assert!(!lab.path("r").exists());
    lab.expect(0, "layout evict f");
    tool(
        "dd",
        &[&format!("if={}", lab.path("f").display()), "of=/dev/null", "bs=1M", "count=4", "status=none"],
    );
    // Reading ahead does not get that far.
    assert_eq!(told("--buffered --claim device --offset 16m --size 16m").1, None);
}

#[test]
fn tmpfs_files_and_zram_are_fake_as_device_results() {
    let lab = lab();
    let tmpfs = Mounted::tmpfs();
    let file = tmpfs.path().join("f");
    std::fs::write(&file, vec![7; 16 << 20]).unwrap();
    Judged::of(&lab, &format!("-t {} {READ}", file.display())).has("fake", &[("memory-target", "fail")]);
    let claimed = Judged::of(&lab, &format!("-t {} {READ} --claim cache", file.display()));
    claimed.has("care", &[("memory-target", "ok")]);
    let zram = or_skip!(Zram::new(64).ok_or("zram cannot be had".to_string()));
    for (percent, level) in [(0, "caution"), (100, "ok")] {
        let write = format!(
            "-t {} --destroy --rw write --bs 64k --size 16m --fill-random {percent}",
            zram.path().display()
        );
        Judged::of(&lab, &write).has("fake", &[("memory-target", "fail"), ("trivial-data", level)]);
    }
}

#[test]
fn flags_loop_device_without_direct_io() {
    let lab = lab();
    let image = Image::random(32);
    let buffered = LoopDevice::buffered(&image.path());
    let read = format!("-t {} {READ}", buffered.text());
    // Whether its bytes came from the disk below only shows without other users of that disk, and other tests use it.
    assert_eq!(Judged::of(&lab, &read).level("page-cache-in-path"), "caution");
    let direct = LoopDevice::random(32);
    let read = format!("-t {} {READ}", direct.text());
    Judged::of(&lab, &read).has("care", &[("page-cache-in-path", "ok"), ("reads-not-from-device", "ok")]);
}

#[test]
fn reports_emulated_direct_io() {
    needs!("mkfs.ext4");
    let lab = lab();
    for (options, verdict, level) in [("data=journal", "fake", "fail"), ("data=ordered", "care", "ok")] {
        let device = LoopDevice::random(128);
        tool(
            "mkfs.ext4",
            &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device.text()],
        );
        let mounted = Mounted::new(device.path(), options);
        let file = mounted.path().join("f");
        std::fs::write(&file, vec![7; 16 << 20]).unwrap();
        tool("sync", &[file.to_str().unwrap()]);
        lab.expect(0, &format!("layout evict {}", file.display()));
        let judged = Judged::of(&lab, &format!("-t {} {READ}", file.display()));
        judged.has(verdict, &[("page-cache-in-path", level)]);
    }
}

#[test]
fn flags_unflushed_buffered_writes() {
    let _turn = turn();
    let lab = lab();
    full(&lab, "f", 32);
    let write = "-t f --rw write --bs 64k --buffered --claim device";
    let come_to_be = |words: &str, verdict, level| {
        Judged::comes_to_be(&lab, words, verdict, &[("writes-not-on-device", level)]);
    };
    come_to_be(write, "fake", "fail");
    come_to_be(&format!("{write} --fsync 512"), "care", "ok");
    come_to_be("-t f --rw write --bs 64k", "care", "ok");
}

#[test]
fn reports_foreign_io_on_the_device() {
    let lab = lab();
    let device = LoopDevice::random(64);
    let read = format!("-t {} --rw randread --bs 16k --size 16m --runtime 2 --time-based", device.text());
    // Others may use the disk below, but not the device.
    let alone = Judged::of(&lab, &read).detection("foreign-io");
    assert!(alone["level"] == "ok" || !alone["text"].as_str().unwrap().contains(device.name()), "{alone:#}");
    let mut other = std::process::Command::new("sh");
    let script =
        format!("while :; do dd if={} of=/dev/null bs=1M iflag=direct status=none; done", device.text());
    other.args(["-c", &script]);
    let before = reads_in_kernel(&device);
    let other = Background::start(other);
    until("the first reads of the other", || reads_in_kernel(&device) > before + 64);
    let judged = Judged::of(&lab, &read);
    other.signal("TERM");
    other.wait();
    assert_eq!(judged.level("foreign-io"), "fail", "{:#}", judged.0);
}

/// The device has no other user; on the disk below another program reads a file all the time.
#[test]
fn reports_foreign_io_on_underlying_disk() {
    let lab = lab();
    let device = LoopDevice::random(64);
    let neighbours = lab.path("neighbour");
    tool(
        "dd",
        &["if=/dev/urandom", &format!("of={}", neighbours.display()), "bs=1M", "count=64", "status=none"],
    );
    let mut other = std::process::Command::new("sh");
    let script = format!(
        "while :; do dd if={} of=/dev/null bs=1M iflag=direct status=none || sleep 1; done",
        neighbours.display()
    );
    other.args(["-c", &script]);
    let other = Background::start(other);
    let read = format!("-t {} --rw randread --bs 4k --rate-iops 200 --runtime 2 --time-based", device.text());
    let names_the_disk =
        |said: &Value| said["level"] == "caution" && !said["text"].as_str().unwrap().contains(device.name());
    comes_to_say(names_the_disk, || Judged::of(&lab, &read).detection("foreign-io"));
    other.signal("TERM");
    other.wait();
}

#[test]
fn file_system_with_hidden_device_is_not_fake() {
    needs!("bindfs");
    let lab = lab();
    std::fs::create_dir_all(lab.path("below")).unwrap();
    std::fs::create_dir_all(lab.path("seen")).unwrap();
    full(&lab, "below/f", 16);
    let (below, seen) = (lab.path("below"), lab.path("seen"));
    tool("bindfs", &[below.to_str().unwrap(), seen.to_str().unwrap()]);
    let judged = Judged::of(&lab, &format!("-t seen/f {READ}"));
    tool("umount", &[seen.to_str().unwrap()]);
    judged.has("care", &[("not-observable", "caution"), ("reads-not-from-device", "unknown")]);
}

/// Lie 5 of docs/validity.md: cachestat through an overlay reports that nothing is cached. It is not used.
#[test]
fn reports_cached_reads_through_overlay() {
    let lab = lab();
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(lab.path(name)).unwrap();
    }
    full(&lab, "lower/f", 32);
    let overlay = or_skip!(Mounted::overlay(&lab.path("lower"), &lab.path("upper"), &lab.path("work")));
    let read = format!("-t {} {READ} --buffered --claim device", overlay.path().join("f").display());
    Judged::of(&lab, &read).has("care", &[("reads-not-from-device", "ok")]);
    Judged::of(&lab, &read).has("fake", &[("reads-not-from-device", "fail")]);
}

/// Lie 6: mincore reports all of a file as cached to anyone but its owner. It is not used.
#[test]
fn cold_file_of_another_user_is_not_reported_cached() {
    needs!("setpriv");
    let lab = lab();
    full(&lab, "f", 16);
    let anybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(lab.path("."), anybody).unwrap();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let before = format!("run -t f {READ} --buffered --claim device --no-progress --start-delay 0 -o before");
    let before = Ended::of(lab.command_under(&nobody, &before).output().unwrap());
    assert!(before.code == 0 && !before.err.contains("caution: "), "{}", before.err);
    lab.expect(0, "layout evict f");
    let read = format!("-t f {READ} --buffered --claim device");
    Judged::under(&lab, &nobody, &read).has("care", &[("reads-not-from-device", "ok")]);
    Judged::under(&lab, &nobody, &read).has("fake", &[("reads-not-from-device", "fail")]);
}

/// A new btrfs. Variables drop in reverse order of declaration, so bind the device first.
fn btrfs(options: &str) -> (LoopDevice, Mounted) {
    let device = LoopDevice::random(256);
    tool("mkfs.btrfs", &["-q", "-f", "-K", device.text()]);
    let mounted = Mounted::new(device.path(), options);
    (device, mounted)
}

/// Lie 7: pages that btrfs copied to compute checksums are no longer in the page cache afterwards.
#[test]
fn reports_btrfs_checksum_copies() {
    needs!("mkfs.btrfs");
    let lab = lab();
    for (options, level) in [("rw", "caution"), ("nodatasum", "ok")] {
        let (_device, mounted) = btrfs(options);
        let file = mounted.path().join("f");
        let write = format!("-t {} --rw write --bs 64k --size 32m", file.display());
        std::fs::write(&file, vec![7; 32 << 20]).unwrap();
        tool("sync", &[file.to_str().unwrap()]);
        let judged = Judged::of(&lab, &write);
        assert_eq!(judged.level("page-cache-in-path"), level, "{options}: {:#}", judged.0);
    }
}

/// B1: zeros on a file system that compresses take no space; random data takes all of it.
#[test]
fn reports_zeros_on_compressing_btrfs() {
    needs!("mkfs.btrfs");
    let lab = lab();
    for (options, percent, level) in
        [("compress=zstd", 0, "caution"), ("compress=zstd", 100, "ok"), ("compress=no", 0, "info")]
    {
        let (_device, mounted) = btrfs(options);
        let file = mounted.path().join("f");
        let write = format!(
            "-t {} --rw write --bs 64k --size 16m --create --buffered --end-fsync --fill-random {percent}",
            file.display()
        );
        let judged = Judged::of(&lab, &write);
        assert_eq!(judged.level("trivial-data"), level, "{options} {percent}: {:#}", judged.0);
    }
}

/// Lie 16: btrfs accepts direct I/O on parts of its sectors, and does it through the page cache.
#[test]
fn reports_btrfs_caching_of_partial_sectors() {
    needs!("mkfs.btrfs");
    let lab = lab();
    let (_device, mounted) = btrfs("nodatasum");
    let file = mounted.path().join("f");
    std::fs::write(&file, vec![7; 8 << 20]).unwrap();
    tool("sync", &[file.to_str().unwrap()]);
    for (size, level) in [("512", "fail"), ("4096", "ok")] {
        lab.expect(0, &format!("layout evict {}", file.display()));
        let read = format!("-t {} --rw randread --bs {size} --number-ios 4000", file.display());
        let judged = Judged::of(&lab, &read);
        assert_eq!(judged.level("page-cache-in-path"), level, "{size}: {:#}", judged.0);
    }
}

/// Lie 8: a page that is written in a large folio is counted as the whole folio for the process.
#[test]
fn small_overwrites_of_large_folios_show_no_amplification() {
    // Keeps other tests from writing back the pages that must stay in memory.
    let _turn = turn();
    let lab = lab();
    tool(
        "dd",
        &[
            "if=/dev/urandom",
            &format!("of={}", lab.path("f").display()),
            "bs=1M",
            "count=64",
            "conv=fsync",
            "status=none",
        ],
    );
    let write = "-t f --rw randwrite --bs 4k --number-ios 500 --buffered --claim device";
    let is_clean = |judged: &Value| {
        let judged = Judged(judged.clone());
        judged.is("care", &[("writes-not-on-device", "ok"), ("page-cache-in-path", "-")])
            && !is_reported(&judged.detection("read-amplification"))
    };
    comes_to_say(is_clean, || Judged::of(&lab, &format!("{write} --fsync 500")).0);
    Judged::comes_to_be(&lab, write, "fake", &[("writes-not-on-device", "fail")]);
}

/// Lie 9: reading holes fills the page cache, and no device was read.
#[test]
fn reads_of_holes_do_not_count_as_device_reads() {
    let lab = lab();
    std::fs::File::create(lab.path("sparse")).unwrap().set_len(32 << 20).unwrap();
    full(&lab, "full", 32);
    let read = |name: &str| Judged::of(&lab, &format!("-t {name} {READ} --buffered --claim device"));
    read("sparse").has("fake", &[("unmapped-target", "fail"), ("reads-not-from-device", "fail")]);
    read("full").has("care", &[("unmapped-target", "ok"), ("reads-not-from-device", "ok")]);
}

/// Lie 12: extents that have no address yet do hold data.
#[test]
fn delalloc_extents_are_not_holes() {
    let lab = lab();
    std::fs::write(lab.path("new"), vec![7; 16 << 20]).unwrap();
    let judged = Judged::of(&lab, &format!("-t new {READ}"));
    assert_eq!(judged.level("unmapped-target"), "ok", "{:#}", judged.0);
    std::fs::File::create(lab.path("sparse")).unwrap().set_len(16 << 20).unwrap();
    assert_eq!(Judged::of(&lab, &format!("-t sparse {READ}")).level("unmapped-target"), "fail");
}

/// Lie 14: XFS requires larger blocks for direct I/O once a file shares its blocks. Each start asks for each file.
#[test]
fn reflinked_file_keeps_direct_io() {
    needs!("mkfs.xfs");
    let lab = lab();
    let device = LoopDevice::of(Image::sparse(400), &["--direct-io=on"]);
    tool("mkfs.xfs", &["-q", "-f", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    let (file, copy) = (mounted.path().join("f"), mounted.path().join("g"));
    std::fs::write(&file, vec![7; 8 << 20]).unwrap();
    tool("sync", &[file.to_str().unwrap()]);
    let write = format!("-t {} --rw randwrite --bs 4096 --number-ios 500", file.display());
    Judged::of(&lab, &write).has("care", &[("page-cache-in-path", "ok"), ("requests-not-done", "ok")]);
    tool("cp", &["--reflink=always", file.to_str().unwrap(), copy.to_str().unwrap()]);
    Judged::of(&lab, &write).has("care", &[("page-cache-in-path", "ok"), ("requests-not-done", "ok")]);
}

#[test]
fn reports_file_growing_during_run() {
    let lab = lab();
    std::fs::File::create(lab.path("sparse")).unwrap().set_len(32 << 20).unwrap();
    full(&lab, "full", 32);
    for (name, level) in [("sparse", "caution"), ("full", "ok")] {
        let judged = Judged::of(&lab, &format!("-t {name} --rw write --bs 64k"));
        assert_eq!(judged.level("fresh-or-warm-mapping"), level, "{name}: {:#}", judged.0);
    }
}

#[test]
fn reports_result_stored_beside_measured_file() {
    let lab = lab();
    full(&lab, "f", 16);
    let read = "-t f --rw randread --bs 512 --number-ios 4000";
    // A few percent are reported as info where the level varies by more.
    let told = Judged::of(&lab, read).told("archive-on-target").unwrap();
    assert!(told.level != "ok" && told.text.contains("which is measured: 3.1 %"), "{told:?}");
    let mounted = Mounted::tmpfs();
    let out = mounted.path().join("r");
    lab.expect(0, &format!("run --no-progress --start-delay 0 {read} -o {}", out.display()));
    let judged = lab.run(&format!("judge {} --json", out.display()));
    assert_eq!(Judged(serde_json::from_str(&judged.out).unwrap()).level("archive-on-target"), "ok");
}

#[test]
fn reports_cpu_limit_of_generator() {
    let group = or_skip!(ControlGroup::of_cpu(10));
    let lab = lab();
    full(&lab, "f", 16);
    let run = "run --no-progress --start-delay 0 -t f --rw randread --bs 4k --runtime 3 --time-based -o r";
    let is_the_limit =
        |said: &Value| said["level"] == "fail" && said["text"].as_str().unwrap().contains("CPU limit");
    comes_to_say(is_the_limit, || {
        group.run(&lab, run);
        Judged::taken(&lab, &lab.run("judge r --json")).detection("cpu-disturbed")
    });
}

#[test]
fn reports_figure_at_cgroup_io_limit() {
    let (lab, device) = (lab(), LoopDevice::random(64));
    let group = or_skip!(ControlGroup::of_read_bytes(device.name(), 8 << 20));
    let run =
        format!("run --no-progress --start-delay 0 -t {} --rw read --bs 64k --size 24m -o r", device.text());
    comes_to_say(
        |said| said["level"] == "fail",
        || {
            group.run(&lab, &run);
            Judged::taken(&lab, &lab.run("judge r --json")).detection("own-limit")
        },
    );
}

const A_MINUTE: &str = "--rw randread --bs 4k --runtime 1m --time-based --rate-iops 100 --no-progress";

#[test]
fn long_run_forecast_as_fake_does_not_start() {
    let lab = lab();
    std::fs::File::create(lab.path("sparse")).unwrap().set_len(32 << 20).unwrap();
    let refused = lab.run(&format!("run -t sparse {A_MINUTE} -o r"));
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("would take 01:00") && refused.err.contains("use --anyway"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("unmapped-target") && !lab.path("r").exists(), "{}", refused.err);
    let of_so_many = lab.run("run -t sparse --rw randread --bs 4k --rate-iops 10 --number-ios 701 -o r");
    assert!(of_so_many.code == 2 && of_so_many.err.contains("would take 01:10"), "{}", of_so_many.err);
    // A run starts if it writes before it reads, claims no device, or takes less than a minute.
    let starts = |words: &str, said: &str| {
        let told = lab.run(&format!("run {words} -o r"));
        assert!(told.code == 0 || told.code == 4, "{words}: {} {}", told.code, told.err);
        assert_eq!(told.err.contains("  caution: unmapped-target"), said == "told", "{words}: {}", told.err);
        std::fs::remove_dir_all(lab.path("r")).unwrap();
    };
    starts("-t sparse --rw randread --bs 4k --number-ios 100 --no-progress", "told");
    // A closed loop of ten requests ends within its minute.
    let closed = A_MINUTE.replace("--rate-iops 100", "--number-ios 10");
    assert_eq!(lab.run(&format!("run -t sparse {closed} -o r")).code, 2);
    starts(&format!("-t sparse {closed} --claim cache"), "");
    starts(&format!("-t sparse {closed} --anyway"), "told");
    starts(&format!("-t sparse {}", closed.replace("randread", "randrw")), "");
}

/// Processes detect the same before they start as threads do.
#[test]
fn multi_process_run_is_inspected_before_start() {
    let lab = lab();
    std::fs::File::create(lab.path("sparse")).unwrap().set_len(32 << 20).unwrap();
    full(&lab, "full", 8);
    lab.file("load", "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n0.0 ; 0 ; 8 ; R ; 0 ; 0\n60.0 ; 8 ; 8 ; R ; 0 ; 0\n");
    let plan = |words: &str| {
        let shown = lab.expect(0, &format!("{words} --show-plan")).out;
        let threads = "[[target]]\n";
        assert!(shown.contains(threads), "{shown}");
        lab.file("plan.toml", shown.replace(threads, "[[target]]\nexecutor = \"process\"\n"));
    };
    plan("replay load -t sparse");
    let refused = lab.run("run plan.toml --no-progress -o r");
    assert_eq!(refused.code, 2, "{}", refused.err);
    let said = |word: &str| refused.err.contains(word);
    assert!(said("would take 01:00") && said("unmapped-target") && said("use --anyway"), "{}", refused.err);
    assert!(!lab.path("r").exists());
    let read = |name: &str| format!("run -t {name} --rw randread --bs 4k --number-ios 20");
    plan(&read("sparse"));
    let told = lab.run("run plan.toml --no-progress -o r");
    assert!(
        told.code == 4 && told.err.contains("  caution: unmapped-target: 100 %"),
        "{}: {}",
        told.code,
        told.err
    );
    plan(&read("full"));
    let fine = lab.run("run plan.toml --no-progress -o s");
    assert!(fine.code == 0 && !fine.err.contains("caution: "), "{}: {}", fine.code, fine.err);
}

/// Dirty bytes in memory.
fn waiting() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap();
    let kib = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    let is_meant = |line: &&str| line.starts_with("Dirty:") || line.starts_with("Writeback:");
    text.lines().filter(is_meant).filter_map(kib).sum::<u64>() << 10
}

/// Writes into a directory until much is dirty. The kernel may write it back at any time; ext4 does at once for replaced files, and data on
/// a new loop device is written soon.
fn make_dirt(directory: &Path) {
    let (file, data) = (directory.join("dirt"), vec![7; 192 << 20]);
    for _ in 0..5 {
        let _ = std::fs::remove_file(&file);
        std::fs::write(&file, &data).unwrap();
        if waiting() > 128 << 20 {
            break;
        }
    }
}

#[test]
fn writes_back_dirty_pages_before_run() {
    const SAID: &str = "MiB waited in memory to be written, and were written back in ";
    let _turn = turn();
    let lab = lab();
    full(&lab, "full", 8);
    let read = "run -t full --rw randread --bs 4k --number-ios 500 --no-progress";
    let run = |words: &str| {
        let mut command = lab.command(&format!("{read} {words}"));
        Ended::of(command.env_remove("IOSONAR_WRITE_BACK").output().unwrap())
    };
    // Not where memory is claimed, and not without I/O.
    make_dirt(&lab.path(""));
    for words in ["--claim cache -o m", "--dry-run -o n"] {
        let told = run(words);
        assert!(told.code == 0 && !told.err.contains("waited in memory"), "{words}: {}", told.err);
    }
    // Without a writeback before the run, dirty pages are reported.
    comes_to_say(
        |said| said["level"] == "info",
        || {
            make_dirt(&lab.path(""));
            Judged::of(&lab, "-t full --rw randread --bs 4k --number-ios 500").detection("dirty-at-start")
        },
    );
    // The kernel writes these dirty pages back, too, and may be faster.
    let mut tries = 10;
    let told = loop {
        make_dirt(&lab.path(""));
        let told = run("-o r");
        if told.err.contains(SAID) || tries == 0 {
            break told;
        }
        tries -= 1;
        std::fs::remove_dir_all(lab.path("r")).unwrap();
    };
    assert!(told.err.contains(SAID), "{}", told.err);
    assert!(told.out.contains("that waited in memory were written back before the run in "), "{}", told.out);
    let summary: Value = serde_json::from_slice(&std::fs::read(lab.path("r/summary.json")).unwrap()).unwrap();
    let done = &summary["machine"]["written_back"];
    let bytes = |name: &str| done[name].as_u64().unwrap();
    assert!(bytes("waited_bytes") > 64 << 20 && bytes("left_bytes") < bytes("waited_bytes"), "{done}");
    assert!(bytes("took_ns") > 0 && done["is_complete"] == true, "{done}");
    let judged = lab.run("judge r --json");
    let judged = Judged(serde_json::from_str(&judged.out).unwrap());
    assert_eq!(judged.level("dirty-at-start"), "ok", "{:#}", judged.0);
    let text = judged.told("dirty-at-start").unwrap().text;
    assert!(text.contains("waited to be written before the run, and"), "{text}");
    let explained = lab.expect(0, "explain r").out;
    let explained: Vec<&str> = explained.split_whitespace().collect();
    assert!(explained.join(" ").contains("were spent on writing them back"), "{explained:?}");
}

#[test]
fn doctor_examines_target_without_a_run() {
    needs!("mkfs.ext4");
    let lab = lab();
    full(&lab, "full", 8);
    std::fs::File::create(lab.path("sparse")).unwrap().set_len(8 << 20).unwrap();
    let examined = |target: &str, code: i32| -> Value {
        let told = lab.run(&format!("doctor {target} --quiet 0s --json"));
        assert_eq!(told.code, code, "{target}: {}{}", told.out, told.err);
        serde_json::from_str(&told.out).unwrap()
    };
    let ids = |told: &Value| -> Vec<String> {
        let all = told["found"].as_array().unwrap().iter();
        let told = all.filter(|one| one["level"] != "info");
        told.map(|one| one["id"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(ids(&examined("full", 0)), [] as [&str; 0]);
    assert_eq!(ids(&examined("sparse", 4)), ["unmapped-target"]);
    let memory = examined("/dev/shm", 4);
    assert_eq!(ids(&memory), ["memory-target"]);
    assert_eq!(memory["verdicts"]["cache"], "nothing speaks against it before a run");
    // The file created in it is gone.
    let before = std::fs::read_dir(lab.path("")).unwrap().count();
    assert_eq!(ids(&examined(".", 0)), [] as [&str; 0]);
    assert_eq!(std::fs::read_dir(lab.path("")).unwrap().count(), before);

    let device = LoopDevice::random(16);
    tool("losetup", &["--direct-io=off", device.text()]);
    let through = examined(device.text(), 0);
    assert_eq!(ids(&through), ["page-cache-in-path"]);
    assert!(through["writing"].as_str().unwrap().starts_with("only with --destroy"), "{through:#}");
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", device.text()]);
    let mounted = Mounted::new(device.path(), "");
    assert!(examined(device.text(), 0)["writing"].as_str().unwrap().contains("mounted"));
    drop(mounted);
    let nowhere = lab.run("doctor nothing-here");
    assert!(nowhere.code == 2 && nowhere.err.contains("check the spelling"), "{}", nowhere.err);
}

#[test]
fn detects_foreign_io_before_and_during_run() {
    needs!("fio");
    let lab = lab();
    let device = LoopDevice::random(32);
    let disturbs = |told: &Ended| {
        let told: Value = serde_json::from_str(&told.out).unwrap();
        let name = device.name().to_string();
        let others = told["others"].as_array().unwrap().iter();
        others.filter(|other| other["device"] == name.as_str()).any(|other| other["disturbs"] == true)
    };
    let doctor = format!("doctor {} --json", device.text());
    assert!(!disturbs(&lab.run(&doctor)));
    let signs = |told: &Ended| told.err.lines().filter(|line| line.contains("\"foreign ")).count();
    let run = format!(
        "run -t {} --rw randread --bs 16k --rate-iops 200 --runtime 4s --time-based --progress json --progress-every 1s",
        device.text()
    );
    assert_eq!(signs(&lab.run(&format!("{run} -o alone"))), 0);
    let before = reads_in_kernel(&device);
    // Without `--thread` fio's job is a separate process, which would survive.
    let mut fio = std::process::Command::new("fio")
        .args(["--name=x", "--thread", "--rw=randread", "--bs=64k", "--direct=1"])
        .args(["--time_based", "--runtime=60"])
        .arg(format!("--filename={}", device.text()))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // More than the reads of programs that inspect a new device.
    until("the first reads of fio", || reads_in_kernel(&device) > before + 1_000);
    let (watched, ran) = (lab.run(&doctor), lab.run(&format!("{run} -o beside")));
    fio.kill().unwrap();
    fio.wait().unwrap();
    assert!(disturbs(&watched), "{}", watched.out);
    assert!(signs(&ran) > 0, "{}", ran.err);
}

#[test]
fn matrix_and_front_ends_print_a_verdict() {
    let lab = lab();
    let memory = Mounted::tmpfs();
    let in_memory = memory.path().join("f").display().to_string();
    let cells = "--sizes 1m --records 64k --tests write,read --repeat 1";
    for (words, code, said) in [
        (format!("matrix f {cells} -o m"), 0, "iosonar: verdict: "),
        (format!("matrix {in_memory} {cells} -o n"), 0, "iosonar: verdict: "),
        (format!("matrix {in_memory} {cells} --direct -o o"), 4, "FAKE as a device result: memory-target"),
        (format!("matrix {in_memory} {cells} --direct --claim cache -o p"), 0, "iosonar: verdict: "),
        (format!("iozone -i 0 -i 1 -s 1m -r 64k -f {in_memory}"), 0, "iozone: verdict: "),
        (
            format!("iozone -I -i 0 -i 1 -s 1m -r 64k -f {in_memory}"),
            4,
            "FAKE as a device result: memory-target",
        ),
        (format!("xdd -op write -targets 1 {in_memory} -reqsize 8 -numreqs 99"), 0, "xdd: verdict: "),
        (
            format!("xdd -op read -targets 1 {in_memory} -reqsize 8 -numreqs 99 -dio"),
            4,
            "xdd: verdict: FAKE as a device result: memory-target",
        ),
    ] {
        let told = lab.run(&words);
        assert_eq!(told.code, code, "{words}: {}{}", told.out, told.err);
        assert!(told.err.contains(said), "{words}: {}", told.err);
        let is_care = told.err.contains("reads-not-from-device") || told.err.contains("page-cache");
        assert!(code == 4 || !is_care, "{words}: {}", told.err);
    }
}

/// One of two targets is a hole: the other one is not called fake, and the result names the hole.
#[test]
fn names_the_target_that_makes_the_result_fake() {
    needs!();
    let lab = lab();
    full(&lab, "full", 64);
    std::fs::File::create(lab.path("hole")).unwrap().set_len(64 << 20).unwrap();
    let judged = Judged::of(&lab, "-t full -t hole --rw randread --bs 16k --iodepth 4");
    assert_eq!(judged.0["verdict"], "fake", "{:#}", judged.0);
    let sentence = judged.0["sentence"].as_str().unwrap();
    assert_eq!(sentence, "FAKE as a device result, because 1 of 2 targets is: hole (unmapped-target)");
    assert_eq!(
        judged.0["fake_targets"],
        serde_json::json!([{"target": 1, "path": "hole", "proofs": ["unmapped-target"]}])
    );
    let judged = Judged::of(&lab, "-t full -t full --rw randread --bs 16k --iodepth 4");
    assert!(judged.0["fake_targets"].is_null(), "{:#}", judged.0);
}
