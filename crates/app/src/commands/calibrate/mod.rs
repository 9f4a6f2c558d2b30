//! `iosonar calibrate`: measures the program's own cost on this machine.
//!
//! The engine measures itself: each round is a plan that runs as any other does, and its figures are taken from its records.

mod copy;
mod report;
mod round;
mod spread;

use crate::calibrate_args::CalibrateArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::signals;
use anyhow::{Context, anyhow};
use copy::Copies;
use iosonar_host::{Root, environment};
use iosonar_os::create::new_file;
use iosonar_os::made::OwnDir;
use iosonar_os::{Clock, monotonic_ns, temporary};
use iosonar_plan::{ByteSize, Engine, MmapOptions, Nanos, StdioOptions, UringOptions, Vectors};
use iosonar_text::shown;
use report::{ClockFacts, EngineRow, Report, TimerRow};
use round::{Lateness, Rounds, Speed};
use spread::Spread;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// Directory of a file system in memory.
const MEMORY: &str = "/dev/shm";
/// Prefix of its directories' names.
const KIND: &str = "calibrate";
/// Size of the file that is read.
const FILE: u64 = 64 << 20;
/// Requests in flight, for engines that support several.
const DEPTH: u32 = 32;
/// The shortest and the longest round.
const LENGTHS: [Nanos; 2] = [Nanos(10_000_000), Nanos::SECOND];

/// Measures, and prints the figures.
pub fn calibrate(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let length = args.duration;
    if !(LENGTHS[0]..=LENGTHS[1]).contains(&length) {
        return Err(Failure::refused(anyhow!("--duration {length}: a round takes between 10ms and 1s")));
    }
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let places = Places::new(args.dir.as_deref())?;
    let end = Arc::new(AtomicI32::new(0));
    signals::end_on_signal(end.clone(), places.remover())?;
    let file = places.file.path().join("file");
    fill(&file).with_context(|| format!("cannot write {}", shown(&file))).map_err(Failure::refused)?;
    [&places.file, &places.records].into_iter().for_each(OwnDir::remove_leftovers);
    let rounds = Rounds::new(places.records.path(), file, length);
    let mut engines: Vec<EngineRow> =
        engines().into_iter().map(|(engine, depth)| EngineRow::new(engine, depth)).collect();
    let mut timers = vec![TimerRow::new(Some(Nanos(0))), TimerRow::new(None)];
    let mut copies = Copies::default();
    for _ in 0..args.rounds {
        for row in &mut engines {
            check(&end)?;
            row.add(rounds.speed(row.engine, row.depth));
        }
        for row in &mut timers {
            check(&end)?;
            row.add(rounds.lateness(row.spin));
        }
        copies.measure();
    }
    let report = Report {
        environment: environment::capture(&[], &Root::default()),
        rounds: args.rounds,
        length,
        dir,
        clock: clock(),
        engines,
        timers,
        copies,
    };
    print(&if args.json { format!("{:#}\n", report.json()) } else { report.text() })?;
    Ok(if report.is_whole() { Exit::Fine } else { Exit::Failed })
}

fn check(end: &AtomicI32) -> Result<(), Failure> {
    match end.load(Relaxed) {
        0 => Ok(()),
        signal => Err(Failure::ended_by(signal)),
    }
}

/// Temporary directories, removed at the end.
struct Places {
    /// Holds the file that is read.
    file: OwnDir,
    /// Holds the records of each round: in memory where possible, so that the disk is idle.
    records: OwnDir,
}

impl Places {
    fn new(dir: Option<&Path>) -> Result<Places, Failure> {
        let temporary = || temporary::directory(KIND);
        let records = OwnDir::new_in(Path::new(MEMORY), KIND).or_else(|_| temporary())?;
        let file = match dir {
            Some(dir) => OwnDir::new_in(dir, KIND)
                .with_context(|| format!("no directory can be created in {}", shown(&dir)))
                .context("--dir names where the file is created")
                .map_err(Failure::refused)?,
            None => temporary().context("no file can be created that is read; --dir names another place")?,
        };
        Ok(Places { file, records })
    }

    /// Returns a function that removes both, for a signal that ends the program at once.
    fn remover(&self) -> impl Fn() + Send + 'static {
        let both = [&self.file, &self.records].map(OwnDir::remover);
        move || both.iter().for_each(|remove| remove())
    }
}

/// Writes the file: reads of holes would be faster.
fn fill(path: &Path) -> std::io::Result<()> {
    let mut file = new_file(path)?;
    let block = vec![0xa5; 1 << 20];
    (0..FILE >> 20).try_for_each(|_| file.write_all(&block))
}

/// All engines but the simulated one, whose clock is simulated, with their numbers of requests in flight.
fn engines() -> Vec<(Engine, u32)> {
    vec![
        (Engine::Null, DEPTH),
        (Engine::Uring(UringOptions::default()), DEPTH),
        (Engine::Uring(UringOptions::default()), 1),
        (Engine::Aio, DEPTH),
        (Engine::Posixaio, DEPTH),
        (Engine::Threads, 1),
        (Engine::Sync, 1),
        (Engine::Vsync(Vectors::default()), 1),
        (Engine::Pvsync(Vectors::default()), 1),
        (Engine::Stdio(StdioOptions { buffer: ByteSize(0) }), 1),
        (Engine::Mmap(MmapOptions::default()), 1),
    ]
}

/// The clock that runs use here.
fn clock() -> ClockFacts {
    const READINGS: u32 = 20_000;
    let clock = Clock::from_origin(monotonic_ns());
    let mut last = clock.now();
    let mut step = None;
    for _ in 0..READINGS {
        let now = clock.now();
        if now > last {
            step = Some(step.map_or(now - last, |least: u64| least.min(now - last)));
        }
        last = now;
    }
    ClockFacts {
        source: clock.source(),
        cost_ps: clock.cost_ps(),
        system_cost_ps: Clock::system(clock.origin()).cost_ps(),
        step_ns: step,
        readings: READINGS,
    }
}
