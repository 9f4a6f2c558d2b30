//! Runs the fuzz targets without libFuzzer: their seeds, then seeded mutations of them, each target in a separate process.
//!
//!     iosonar-fuzz [--seconds N] [--seed N] [TARGET...]   all of these targets together for N seconds (30)
//!     iosonar-fuzz --seed N --run I TARGET                one input again
//!     iosonar-fuzz --list                                 the targets
//!
//! Without --seed the clock gives one; it is printed. Exits with 1 if something was found, and with 2 if the command line
//! is wrong. A finding is kept below target/fuzz/stable.

use iosonar_fuzz::{Inputs, TARGETS, Target, target};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Result;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Maximum time of an input beyond the time of its target.
const PATIENCE: Duration = Duration::from_secs(20);
/// Address space of a process that runs a target.
const MEMORY: u64 = 4 << 30;
const USAGE: &str = "usage: iosonar-fuzz [--seconds N] [--seed N] [--run I] [--list] [TARGET...]";

#[derive(Default)]
struct Options {
    seconds: Option<f64>,
    seed: Option<u64>,
    run: Option<u64>,
    child: Option<PathBuf>,
    list: bool,
    targets: Vec<Target>,
}

fn options(words: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options::default();
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => options.seconds = Some(words.next()?.parse().ok().filter(|s| *s > 0.0)?),
            "--seed" => options.seed = Some(words.next()?.parse().ok()?),
            "--run" => options.run = Some(words.next()?.parse().ok()?),
            "--child" => options.child = Some(words.next()?.into()),
            "--list" => options.list = true,
            name => options.targets.push(target(name)?),
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(mut options) = options(std::env::args().skip(1)) else {
        eprintln!("{USAGE}\ntargets: {}", TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(" "));
        return ExitCode::from(2);
    };
    if options.list {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        return ExitCode::SUCCESS;
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.to_vec();
    }
    let clock = || SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
    let seed = options.seed.unwrap_or_else(clock);
    let ended = match (&options.child, options.run) {
        (Some(progress), _) => run_inputs(options.targets[0], seed, options.seconds.unwrap_or(1.0), progress),
        (None, Some(number)) => run_again(&options.targets, seed, number),
        (None, None) => run_targets(&options.targets, seed, options.seconds.unwrap_or(30.0)),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("iosonar-fuzz: {error}");
        ExitCode::FAILURE
    })
}

/// Repeats one input of each target; a panic ends the process.
fn run_again(targets: &[Target], seed: u64, number: u64) -> Result<ExitCode> {
    for target in targets {
        (target.run)(&Inputs::new(target.name, seed)?.get(number));
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs input after input in a child. A file contains the current number, to be read after a crash.
fn run_inputs(target: Target, seed: u64, seconds: f64, progress: &Path) -> Result<ExitCode> {
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) })?;
    let inputs = Inputs::new(target.name, seed)?;
    let progress = File::options().write(true).open(progress)?;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut number = 0u64;
    while number < inputs.seeds() as u64 || Instant::now() < end {
        progress.write_all_at(&number.to_le_bytes(), 0)?;
        (target.run)(&inputs.get(number));
        number += 1;
    }
    println!("{number}");
    Ok(ExitCode::SUCCESS)
}

/// A running target.
struct Running {
    target: Target,
    child: Child,
    progress: PathBuf,
    until: Instant,
}

/// Runs as many targets concurrently as there are CPUs.
fn run_targets(targets: &[Target], seed: u64, seconds: f64) -> Result<ExitCode> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fuzz/stable");
    std::fs::create_dir_all(&folder)?;
    let at_once = std::thread::available_parallelism().map_or(1, usize::from).min(targets.len());
    let each = seconds * at_once as f64 / targets.len() as f64;
    println!("seed {seed}, {} targets, {each:.1} s each", targets.len());
    let (mut waiting, mut running) = (VecDeque::from(targets.to_vec()), Vec::new());
    let mut findings = 0;
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < at_once
            && let Some(target) = waiting.pop_front()
        {
            running.push(start(target, seed, each, &folder)?);
        }
        std::thread::sleep(Duration::from_millis(10));
        for index in (0..running.len()).rev() {
            let is_late = Instant::now() > running[index].until;
            if is_late {
                running[index].child.kill()?;
            }
            if is_late || running[index].child.try_wait()?.is_some() {
                findings += usize::from(!end(running.swap_remove(index), seed, is_late, &folder)?);
            }
        }
    }
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn start(target: Target, seed: u64, seconds: f64, folder: &Path) -> Result<Running> {
    let progress = folder.join(format!("{}.{}.run", target.name, std::process::id()));
    File::create(&progress)?;
    // Written to a file: a pipe without a reader would fill up.
    let errors = File::create(progress.with_extension("err"))?;
    let child = Command::new(std::env::current_exe()?)
        .args(["--seed", &seed.to_string(), "--seconds", &seconds.to_string(), target.name, "--child"])
        .arg(&progress)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()?;
    Ok(Running {
        target,
        child,
        progress,
        until: Instant::now() + Duration::from_secs_f64(seconds) + PATIENCE,
    })
}

/// Reports the result of a target; returns false if something was found.
fn end(running: Running, seed: u64, is_late: bool, folder: &Path) -> Result<bool> {
    let name = running.target.name;
    let output = running.child.wait_with_output()?;
    let number: [u8; 8] = std::fs::read(&running.progress)?.try_into().unwrap_or_default();
    let errors = running.progress.with_extension("err");
    let told = String::from_utf8_lossy(&std::fs::read(&errors)?).into_owned();
    std::fs::remove_file(&running.progress)?;
    std::fs::remove_file(&errors)?;
    if output.status.success() && !is_late {
        println!("{name:<18} {:>10} runs", String::from_utf8_lossy(&output.stdout).trim());
        return Ok(true);
    }
    let number = u64::from_le_bytes(number);
    let finding = folder.join(format!("{name}-{seed}-{number}"));
    std::fs::write(&finding, Inputs::new(name, seed)?.get(number))?;
    let why = if is_late { "no end".into() } else { output.status.to_string() };
    println!("{name:<18} FAILED with input {number}: {why}\n{}", told.trim_end());
    println!("  input: {}", finding.display());
    println!("  again: cargo run -p iosonar-fuzz -- --seed {seed} --run {number} {name}");
    Ok(false)
}
