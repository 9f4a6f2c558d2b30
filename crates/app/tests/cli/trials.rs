//! Seeded trials of verification: honest targets, on which nothing may be found, and lies, of which none may be missed. Engines, sizes of
//! requests and blocks, overlaps, modes, kinds of targets and kills are drawn from the seed.
//!
//! `TRIALS=N` runs N of each (a few in the usual run), `SEED=N` starts at one. Trials are independent: threads share them.

use crate::*;
use iosonar_testkit::{Image, LoopDevice, SplitMix};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs a trial for one seed after the other.
fn for_seeds(trials: u64, trial: impl Fn(&Lab, &mut Targets, u64) + Sync) {
    let first = from_environment("SEED", 0);
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(trials as usize);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let (lab, mut targets) = (lab(), Targets::default());
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= first + trials {
                        return;
                    }
                    trial(&lab, &mut targets, seed);
                    for left in ["r", "j", "w", "again"] {
                        let _ = std::fs::remove_dir_all(lab.path(left));
                        let _ = std::fs::remove_file(lab.path(left));
                    }
                }
            });
        }
    });
}

fn pick<'a>(dice: &mut SplitMix, words: &[&'a str]) -> &'a str {
    words[dice.below(words.len() as u64) as usize]
}

/// Loop devices of a thread, created for the first trial that needs them.
#[derive(Default)]
struct Targets {
    devices: Vec<(u64, LoopDevice)>,
}

impl Targets {
    /// Draws a target; returns it with the size of its logical blocks for direct requests.
    fn any(&mut self, lab: &Lab, dice: &mut SplitMix) -> (String, u64) {
        let has_devices = iosonar_testkit::lacks(&["losetup"]).is_none();
        if !has_devices || dice.below(3) > 0 {
            lab.target("f", 1 << 20);
            return ("f".into(), 512);
        }
        if self.devices.is_empty() {
            for (block, options) in [
                (512, &["--direct-io=on"][..]),
                (512, &["--direct-io=off"]),
                (4096, &["-b", "4096", "--direct-io=on"]),
                (4096, &["-b", "4096", "--direct-io=off"]),
            ] {
                self.devices.push((block, LoopDevice::of(Image::random(1), options)));
            }
        }
        let (block, device) = &self.devices[dice.below(self.devices.len() as u64) as usize];
        (device.text().to_string(), *block)
    }
}

/// A workload that writes a small region, so that much of it overlaps.
fn workload(dice: &mut SplitMix, (target, block): &(String, u64)) -> (String, &'static str) {
    let engine = pick(
        dice,
        &[
            "uring", "uring", "threads", "threads", "aio", "posixaio", "sync", "pvsync", "vsync", "stdio",
            "mmap", "mmap",
        ],
    );
    let is_serial = ["sync", "pvsync", "vsync", "stdio", "mmap"].contains(&engine);
    let is_buffered = ["stdio", "mmap"].contains(&engine) || dice.below(2) == 0;
    let unit = if is_buffered { 512 } else { *block };
    let sizes = [512, 1024, 4096, 12288, 65536].map(|size: u64| size.max(unit));
    let (bs, policy) =
        (sizes[dice.below(5) as usize], pick(dice, &["push-back", "order", "drop", "allow", "allow"]));
    let jobs = if engine == "stdio" || policy != "allow" { 1 } else { 1 + dice.below(3) };
    let depth = if is_serial { 1 } else { [1, 4, 16][dice.below(3) as usize] };
    let size = bs * [2, 4, 8][dice.below(3) as usize];
    let rw = pick(dice, &["randrw", "randrw", "randwrite", "rw", "write"]);
    let random = if rw.starts_with("rand") { "--norandommap" } else { "" };
    let buffered = if is_buffered { "--buffered" } else { "" };
    let args = format!(
        "run -t {target} --destroy --engine {engine} {buffered} --rw {rw} {random} --bs {bs} --size {size} --numjobs {jobs} --iodepth {depth} \
         --overlap {policy} --seed {} --no-progress",
        1 + dice.below(1 << 40)
    );
    (args, engine)
}

/// Whether no fault was found; figures are fake where the target is no device. A run may have checked nothing: it was killed before its
/// first write, a sample has chosen none of the few places, or the order of overlapping writes is unknown in all of them.
fn is_fine(ended: &iosonar_testkit::Ended) -> bool {
    let has_checked_nothing =
        || [&ended.out, &ended.err].iter().any(|text| text.contains("NOTHING was verified"));
    [0, 4].contains(&ended.code) || ended.code == 3 && has_checked_nothing()
}

fn honest(lab: &Lab, targets: &mut Targets, seed: u64) {
    let dice = &mut SplitMix(seed);
    let target = targets.any(lab, dice);
    let (args, engine) = workload(dice, &target);
    let told = |why: &str, args: &str, text: &str| panic!("SEED={seed} TRIALS=1: {why}: {args}\n{text}");
    if engine != "stdio" && dice.below(4) == 0 {
        let args = format!("{args} --time-based --runtime 60 --journal j -o r");
        let mut run = lab.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        lab.until_records("r");
        std::thread::sleep(Duration::from_millis(dice.below(30)));
        run.kill().unwrap();
        run.wait().unwrap();
        let claim = if dice.below(2) == 0 { "--claim write-through" } else { "" };
        let ended = lab.run(&format!("verify r --mode after-crash {claim} --no-progress"));
        if !is_fine(&ended) {
            told("killed", &format!("{args} {claim}"), &ended.out);
        }
        return;
    }
    let modes = pick(
        dice,
        &[
            "read,final",
            "read,before-write,after-write,final",
            "final",
            "read,final,outside=50",
            "after-write,final,sample=50%",
        ],
    );
    let args = format!("{args} --number-ios {} --verify {modes} -o r", 50 + dice.below(400));
    let ended = lab.run(&args);
    if !is_fine(&ended) {
        told("honest", &args, &format!("{}{}", ended.out, ended.err));
    }
    let ended = lab.run("verify r --no-progress");
    if !is_fine(&ended) {
        told("later", &args, &format!("{}{}", ended.out, ended.err));
    }
}

#[test]
fn trials_of_honest_targets_find_no_faults() {
    slow!();
    for_seeds(from_environment("TRIALS", 12), honest);
}

/// Bytes of the file change after a run, in a place that the run has written last and alone.
fn changed_file(lab: &Lab, dice: &mut SplitMix, seed: u64) {
    use std::os::unix::fs::FileExt;
    let path = lab.target("f", 1 << 20);
    let (engine, bs) = (pick(dice, &["uring", "threads", "sync", "mmap", "stdio", "pvsync"]), 4096);
    let data = pick(dice, &["", "--data byte:0x78", "--data ascii:HELLO", "--data sequenced"]);
    let args = format!(
        "run -t f --engine {engine} --buffered --rw write --bs {bs} --size 256k {data} --no-progress -o w"
    );
    lab.expect(0, &args);
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let at = dice.below(256 << 10);
    let mut bytes = [0; 64];
    let length = (1 + dice.below(64)).min((256 << 10) - at) as usize;
    file.read_exact_at(&mut bytes[..length], at).unwrap();
    let change = 1 + dice.below(255) as u8;
    bytes[..length].iter_mut().for_each(|byte| *byte ^= change);
    file.write_all_at(&bytes[..length], at).unwrap();
    let check = match data {
        "" => "verify w --no-progress".to_string(),
        data => format!(
            "run -t f --engine {engine} --buffered --rw read --bs {bs} --size 256k {data} --verify contents --no-progress -o r"
        ),
    };
    let ended = lab.run(&check);
    assert_eq!(
        ended.code, 5,
        "SEED={seed} TRIALS=1: {args}, {length} bytes at {at}: {check}\n{}{}",
        ended.out, ended.err
    );
}

/// A lie of the target: each one that a read of the run can see must be found.
fn told_lie(lab: &Lab, dice: &mut SplitMix, seed: u64) {
    lab.target("f", 1 << 20);
    let engine = pick(dice, &["uring", "threads", "sync", "pvsync", "aio", "sim"]);
    let kind = pick(
        dice,
        &[
            "lost",
            "torn-page",
            "torn-sector",
            "misdirected",
            "flipped",
            "corrupted",
            "header-damaged",
            "zeroed",
            "ones",
            "foreign",
            "other-run",
        ],
    );
    let args = format!(
        "run -t f --engine {engine} --rw write --bs 16k --size 512k --verify final --inject {kind}:at={} --no-progress -o r",
        dice.below(32)
    );
    let ended = lab.run(&args);
    assert_eq!(ended.code, 5, "SEED={seed} TRIALS=1: {args}\n{}{}", ended.out, ended.err);
}

#[test]
fn trials_of_lies_find_every_lie() {
    slow!();
    for_seeds(from_environment("TRIALS", 8), |lab, _, seed| {
        let dice = &mut SplitMix(seed ^ 0x5eed);
        match dice.below(4) {
            0 => told_lie(lab, dice, seed),
            _ => changed_file(lab, dice, seed),
        }
    });
}
