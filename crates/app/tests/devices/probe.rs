//! The re-read probe on real devices: with a cache below, with blocks stored nowhere, and with neither. Times depend on other load of this
//! machine, so each side has some attempts.

use crate::common::*;
use crate::layout::Volume;
use iosonar_testkit::{Lab, LoopDevice, Mounted, tool};
use serde_json::Value;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;
const READ: &str = "--rw randread --bs 4k --no-progress --start-delay 0";

/// The detector's report on a probed run of 500 reads.
fn told(lab: &Lab, device: &LoopDevice, id: &str) -> Value {
    told_of(lab, &format!("{} --number-ios 500", device.text()), id)
}

/// The detector's report on a run of a target with options.
fn told_of(lab: &Lab, words: &str, id: &str) -> Value {
    let target = words.split(' ').next().unwrap();
    let ran = lab.run(&format!("run -t {words} {READ} --probe on -o r"));
    assert!(ran.err.contains(&format!("  probe of {target}: ")), "{}", ran.err);
    let judged: Value = serde_json::from_str(&lab.run("judge r --json").out).unwrap();
    let environment = std::fs::read_to_string(lab.path("r/environment.json")).unwrap();
    let environment: Value = serde_json::from_str(&environment).unwrap();
    assert_eq!(environment["reread"][0]["target"], target);
    assert!(environment["reread"][0]["seen"]["blocks"].as_u64() >= Some(100), "{:#}", environment["reread"]);
    std::fs::remove_dir_all(lab.path("r")).unwrap();
    let all = judged["detections"].as_array().unwrap();
    all.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{judged:#}")).clone()
}

/// Path of a loop device's file.
fn image(device: &LoopDevice) -> PathBuf {
    tool("losetup", &["-n", "-O", "BACK-FILE", device.text()]).trim().into()
}

#[test]
fn only_buffered_loop_device_rereads_faster() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(64);
    let is_fine = |said: &Value| said["level"] == "ok";
    comes_to_say(is_fine, || told(&lab, &device, "cache-below"));
    tool("losetup", &["--direct-io=off", device.text()]);
    let is_cached = |said: &Value| {
        (said["level"] == "caution" || said["level"] == "fail")
            && said["explained_by"] == "page-cache-in-path"
    };
    // The cache answers most requests to repeated places, and hardly any others.
    let small = format!("{} --size 32m --norandommap --number-ios 30000", device.text());
    comes_to_say(is_cached, || {
        lab.expect(0, &format!("layout evict {}", image(&device).display()));
        told_of(&lab, &small, "cache-below")
    });
    comes_to_say(
        |said| said["level"] == "info",
        || {
            lab.expect(0, &format!("layout evict {}", image(&device).display()));
            told(&lab, &device, "cache-below")
        },
    );
}

#[test]
fn unmapped_blocks_read_faster_but_written_zeros_do_not() {
    needs!("blkdiscard", "mkfs.xfs");
    let lab = lab();
    // Two stacked loop devices: the way to the data is twice as long.
    let volume = Volume::new(&["mkfs.xfs", "-q"]);
    let device = LoopDevice::on(&volume.random("image", 64 * MIB), &[]);
    let every_other = || (0..64).step_by(2).map(|mebibyte: u64| mebibyte * MIB);
    for place in every_other() {
        tool("blkdiscard", &["-o", &place.to_string(), "-l", &MIB.to_string(), device.text()]);
    }
    let is_short_cut = |said: &Value| said["level"] == "fail";
    comes_to_say(is_short_cut, || told(&lab, &device, "zeroes-short-cut"));
    for place in every_other() {
        let (seek, of) = (format!("seek={}", place / MIB), format!("of={}", device.text()));
        tool(
            "dd",
            &["if=/dev/zero", &of, "bs=1M", "count=1", &seek, "oflag=direct", "conv=notrunc", "status=none"],
        );
    }
    let is_fine =
        |said: &Value| said["level"] == "ok" && said["evidence"][0]["name"] == "data_to_zeros_ratio";
    comes_to_say(is_fine, || told(&lab, &device, "zeroes-short-cut"));
}

#[test]
fn probes_long_direct_device_runs_or_on_request() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(16);
    let target =
        format!("-t {} --rw randread --bs 4k --number-ios 10 --no-progress --start-delay 0", device.text());
    // Ten requests finish within the minute.
    let long = "--runtime 1m --time-based";
    let is_probed = |words: &str| {
        let ran = lab.run(&format!("{words} -o r"));
        assert!(ran.code == 0, "{words}: {}", ran.err);
        std::fs::remove_dir_all(lab.path("r")).unwrap();
        ran.err.contains("  probe of ")
    };
    for (words, is_expected) in [
        ("", false),
        ("--probe on", true),
        (long, true),
        ("--runtime 1m --time-based --probe off", false),
        ("--runtime 1m --time-based --claim filesystem", false),
        ("--runtime 1m --time-based --buffered", false),
        ("--claim filesystem --buffered --probe on", true),
    ] {
        assert_eq!(is_probed(&format!("run {target} {words}")), is_expected, "{words}");
    }
    // Targets that are only written are not probed.
    let write = target.replace("randread", "randwrite");
    assert!(!is_probed(&format!("run {write} --destroy --probe on")));
    let plan = lab.expect(0, &format!("run {target} --probe on --show-plan")).out;
    assert!(plan.contains("probe = \"on\""), "{plan}");
    std::fs::write(lab.path("plan.toml"), plan).unwrap();
    assert!(
        is_probed("run plan.toml --no-progress") && !is_probed("run plan.toml --no-progress --probe off")
    );
    let refused = lab.run(&format!("run {target} --probe on --engine null -o r"));
    assert!(
        refused.code == 2 && refused.err.contains("--probe on: an engine without I/O"),
        "{}",
        refused.err
    );
}

#[test]
fn doctor_probes_the_target() {
    needs!();
    let lab = lab();
    let device = LoopDevice::random(16);
    let probe = |target: &str| -> Value {
        let told = lab.run(&format!("doctor {target} --quiet 0s --json"));
        let told: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{}", told.err));
        told["probe"].clone()
    };
    let seen = probe(device.text());
    assert_eq!((&seen["block_bytes"], &seen["zero_blocks"]), (&4096.into(), &0.into()), "{seen:#}");
    assert!(seen["blocks"].as_u64() >= Some(100), "{seen:#}");
    let text = lab.run(&format!("doctor {} --quiet 0s", device.text())).out;
    assert!(text.contains("\nprobe    300 random blocks of 4096 bytes, read twice: p50 "), "{text}");
    let memory = Mounted::tmpfs();
    let in_memory = memory.path().join("f");
    std::fs::write(&in_memory, vec![7; 32 << 20]).unwrap();
    let in_memory = probe(in_memory.to_str().unwrap());
    assert_eq!(in_memory["absent"], "its data is in memory (tmpfs)");
    std::fs::write(lab.path("small"), vec![7; 8 << 20]).unwrap();
    let small = probe("small");
    assert!(small["absent"].as_str().unwrap().contains("8388608 bytes is smaller than 16777216"), "{small}");
    assert_eq!(probe("."), Value::Null);
}
