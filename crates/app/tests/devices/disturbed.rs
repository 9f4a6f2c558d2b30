//! Runs disturbed from outside of the target: findings name the disturbance, and none blames the target.
//!
//! Each disturbance is tried with some seeds, which choose the load; `SEED` and `TRIALS` in the environment choose others.

use crate::common::*;
use iosonar_archive::Archive;
use iosonar_os::monotonic_ns;
use iosonar_testkit::{ControlGroup, Lab, LoopDevice, Mounted, tool};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// The seeds: first one and number from the environment.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let first = number("SEED", 0);
    first..first + number("TRIALS", 2)
}

/// Chooses a word by the seed; each `which` is an independent choice.
fn choice<'a>(seed: u64, which: u64, words: &[&'a str]) -> &'a str {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7 * which as u32 + 3);
    words[(mixed % words.len() as u64) as usize]
}

/// A load of some seconds; a half of them have a target rate, well below what a loop device can do.
fn load(seed: u64, device: &LoopDevice) -> String {
    format!(
        "-t {} --destroy --bs 4k --runtime 4 --time-based --rw {} --engine {} {} --randseed {}",
        device.text(),
        choice(seed, 0, &["randread", "randwrite", "randrw"]),
        choice(seed, 1, &["uring", "threads"]),
        choice(
            seed,
            2,
            &["--iodepth 1", "--iodepth 4", "--iodepth 16 --rate-iops 500", "--iodepth 16 --rate-iops 1500"]
        ),
        seed + 1
    )
}

/// A disturbed run, with its summary and findings from the JSON.
struct Told {
    words: String,
    summary: Value,
    findings: Value,
}

impl Told {
    /// Starts the run and disturbs it after a moment.
    fn of(lab: &Lab, before: &[&str], words: String, disturb: impl FnOnce(&Background)) -> Told {
        let args = format!("run --no-progress --start-delay 0 {words} -o r");
        let running = Background::start(lab.command_under(before, &args));
        lab.until_records("r");
        std::thread::sleep(Duration::from_millis(800));
        disturb(&running);
        let ended = running.wait();
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        let json: Value = serde_json::from_str(&lab.expect(0, "analyze --json r").out).unwrap();
        std::fs::remove_dir_all(lab.path("r")).unwrap();
        Told { words, summary: json["summary"].clone(), findings: json["findings"].clone() }
    }

    /// Whether a caution has one of these words.
    fn cautions_have(&self, words: &[&str]) -> bool {
        let texts =
            self.summary["cautions"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap());
        texts.into_iter().any(|text| words.iter().any(|word| text.contains(word)))
    }

    /// Asserts that each reported overload lists one of these words among its circumstances.
    #[track_caller]
    fn overloads_have(&self, words: &[&str]) {
        for overload in self.findings["overloads"].as_array().unwrap() {
            let beside = overload["circumstances"].to_string();
            assert!(words.iter().any(|word| beside.contains(word)), "{}: {overload:#}", self.words);
        }
    }

    /// Asserts that the headline does not blame the target for what came from outside of it.
    #[track_caller]
    fn story_never_blames_the_target(&self) {
        let headline = self.summary["story"]["headline"].as_str().unwrap();
        for blame in ["was slower", "othing came back"] {
            assert!(!headline.contains(blame), "{}: {:#}", self.words, self.summary["story"]);
        }
    }

    /// Asserts that the headline has one of these words.
    #[track_caller]
    fn headline_has(&self, words: &[&str]) {
        let headline = self.summary["story"]["headline"].as_str().unwrap();
        assert!(
            words.iter().any(|word| headline.contains(word)),
            "{}: {:#}",
            self.words,
            self.summary["story"]
        );
    }

    /// Asserts that a stall as long as the disturbance is attributed to the generator. The disk may add short ones.
    #[track_caller]
    fn long_stalls_are_of_the_generator(&self) {
        for stall in self.findings["stalls"].as_array().unwrap() {
            let [from, to] = ["from_ns", "to_ns"].map(|end| stall["range"][end].as_u64().unwrap());
            let is_short = to - from < 300_000_000;
            assert!(is_short || stall["is_of_generator"] == true, "{}: {stall:#}", self.words);
        }
    }
}

/// Other programs of this machine may use the disk, too: an overload names them.
const OTHERS: [&str; 1] = ["were not of this run"];

fn device() -> LoopDevice {
    LoopDevice::random(64)
}

/// The program is stopped for a while.
#[test]
fn attributes_disturbance_to_stopped_program() {
    needs!();
    let (lab, device) = (lab(), device());
    for seed in seeds() {
        let halt = [400, 900, 1400][(seed % 3) as usize];
        let told = Told::of(&lab, &[], load(seed, &device), |running| {
            running.signal("STOP");
            std::thread::sleep(Duration::from_millis(halt));
            running.signal("CONT");
        });
        assert!(told.cautions_have(&["stood still for"]), "{}: {:#}", told.words, told.summary["cautions"]);
        told.headline_has(&["program was halted", "a halt of this program"]);
        told.overloads_have(&OTHERS);
        told.long_stalls_are_of_the_generator();
        told.story_never_blames_the_target();
    }
}

/// A control group limits it to less of a CPU than the slowest of the loads needs: 4 % on the machine of these tests.
#[test]
fn attributes_disturbance_to_cpu_limit() {
    needs!();
    let (lab, device) = (lab(), device());
    for seed in seeds() {
        let group = or_skip!(ControlGroup::of_cpu([2, 3][(seed % 2) as usize]));
        let words = group.words();
        let told = Told::of(&lab, &words.each_ref().map(String::as_str), load(seed, &device), |_| ());
        let words = ["used up its CPU limit", "waited for a CPU", "stood still for", "had no CPU"];
        assert!(told.cautions_have(&words), "{}: {:#}", told.words, told.summary["cautions"]);
        told.overloads_have(&OTHERS);
        told.long_stalls_are_of_the_generator();
        told.story_never_blames_the_target();
    }
}

/// Other programs want the one CPU that the run has.
#[test]
fn attributes_disturbance_to_cpu_contention() {
    needs!("taskset");
    let (lab, device) = (lab(), device());
    for seed in seeds() {
        let hog = |_| {
            let mut command = Command::new("taskset");
            command.args(["-c", "0", "sh", "-c", "while :; do :; done"]);
            Background::start(command)
        };
        let _hogs: Vec<Background> = (0..4 + seed % 3).map(hog).collect();
        let told = Told::of(&lab, &["taskset", "-c", "0"], load(seed, &device), |_| ());
        let words = ["waited for a CPU", "stood still for", "had no CPU", "keep others from the machine"];
        assert!(told.cautions_have(&words), "{}: {:#}", told.words, told.summary["cautions"]);
        told.overloads_have(&OTHERS);
        told.long_stalls_are_of_the_generator();
        told.story_never_blames_the_target();
    }
}

/// Another program uses the disk below the target.
#[test]
fn attributes_disturbance_to_io_on_underlying_disk() {
    needs!("fio");
    let (lab, device) = (lab(), device());
    for seed in seeds() {
        let told = Told::of(&lab, &[], load(seed, &device), |_| {
            let rw = choice(seed, 3, &["randwrite", "randread", "write"]);
            let words = format!(
                "--name=other --filename=other --size=128m --rw={rw} --bs=64k --direct=1 --ioengine=libaio --iodepth=32 \
                 --time_based --runtime=3"
            );
            let mut fio = Command::new("fio");
            let ended = fio.args(words.split_whitespace()).current_dir(lab.path(".")).output().unwrap();
            assert!(ended.status.success(), "{ended:?}");
        });
        assert!(told.cautions_have(&OTHERS), "{}: {:#}", told.words, told.summary["cautions"]);
        told.overloads_have(&OTHERS);
        told.story_never_blames_the_target();
    }
}

/// More is demanded than the depth of the run lets through.
#[test]
fn attributes_overload_to_small_queue_depth() {
    needs!();
    let (lab, device) = (lab(), device());
    for seed in seeds() {
        let engine = choice(seed, 1, &["uring", "threads"]);
        let words = format!(
            "-t {} --destroy --rw {} --bs 4k --engine {engine} --iodepth 1 --rate-iops 120000 --runtime 400ms --time-based \
             --randseed {}",
            device.text(),
            choice(seed, 0, &["randread", "randwrite", "randrw"]),
            seed + 1
        );
        let told = Told::of(&lab, &[], words, |_| ());
        assert!(told.cautions_have(&["slot was in use"]), "{}: {:#}", told.words, told.summary["cautions"]);
        told.overloads_have(&["slot was in use"]);
        told.headline_has(&["Could not keep up"]);
    }
}

/// For a while the program is stopped, and later its file system is frozen: at a constant rate each loses time by the square of its
/// length. While nothing completes, counters are sampled more often than each second.
#[test]
fn shares_of_a_halt_and_a_frozen_file_system_are_told_apart() {
    needs!("mkfs.ext4", "fsfreeze");
    let (lab, device) = (lab(), LoopDevice::random(96));
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device.text()]);
    let mounted = Mounted::new(device.path(), "defaults");
    let file = mounted.path().join("f");
    lab.expect(0, &format!("fill {} --size 32m --no-progress", file.display()));
    let words = format!(
        "run --no-progress --start-delay 0 -t {} --rw randwrite --bs 4k --direct 1 --depth 1024 --rate-iops 400 --runtime 6 -o r",
        file.display()
    );
    let attempt = || {
        let running = Background::start(lab.command(&words));
        lab.until_records("r");
        std::thread::sleep(Duration::from_millis(700));
        let since = monotonic_ns();
        running.signal("STOP");
        std::thread::sleep(Duration::from_millis(900));
        running.signal("CONT");
        let halted = (monotonic_ns() - since) as f64;
        std::thread::sleep(Duration::from_millis(1200));
        let since = monotonic_ns();
        let frozen = Frozen::new(&mounted);
        std::thread::sleep(Duration::from_millis(900));
        drop(frozen);
        let until = monotonic_ns();
        let ended = running.wait();
        assert_eq!(ended.code, 0, "{}", ended.err);
        let json: Value = serde_json::from_str(&lab.expect(0, "show --json r").out).unwrap();
        let shares = json["story"]["shares"].as_array().unwrap();
        let share = |cause: &str| -> f64 {
            shares.iter().filter(|one| one["cause"] == cause).map(|one| one["share"].as_f64().unwrap()).sum()
        };
        let frozen = (until - since) as f64;
        let truth = halted.powi(2) / (halted.powi(2) + frozen.powi(2));
        let origin = run_info(&lab.path("r")).origin_monotonic_ns;
        let mut times = Vec::new();
        let archive = Archive::open(&lab.path("r")).unwrap();
        archive.for_each_sample(&mut |time, _, _| times.push(time + origin)).unwrap();
        times.dedup();
        let fine = times.iter().filter(|time| (since..until).contains(time)).count();
        std::fs::remove_dir_all(lab.path("r")).unwrap();
        let is_near = |share: f64, truth: f64| (share - truth).abs() < 0.1;
        // On a busy machine the target is not blamed.
        let stood_still = share("target-stood-still") + share("unexplained");
        json!({
            "halted": is_near(share("halted"), truth), "stood_still": is_near(stood_still, 1.0 - truth),
            "fine": fine >= 4, "told": json["story"], "truth": truth, "samples": fine,
        })
    };
    comes_to_say(|told| ["halted", "stood_still", "fine"].iter().all(|one| told[one] == true), attempt);
}
