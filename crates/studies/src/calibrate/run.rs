//! Takes turns of all measurements, and sums up.

use super::answer::{Answer, ClockFacts, CopyRate, EngineRow, Rows, TimerRow};
use super::copy::Copies;
use super::question::Question;
use super::round::Runner;
use iosonar_host::{Root, environment};
use iosonar_os::create::new_file;
use iosonar_os::made::OwnDir;
use iosonar_os::{Clock, monotonic_ns, temporary};
use iosonar_plan::{ByteSize, Engine, MmapOptions, Nanos, StdioOptions, UringOptions, Vectors};
use iosonar_runner::{Error, Session, abort};
use iosonar_text::shown;
use std::io::Write;
use std::path::Path;

/// Directory of a file system in memory.
const MEMORY: &str = "/dev/shm";
/// Prefix of its directories' names.
const KIND: &str = "calibrate";
/// Size of the file that is read.
pub(super) const FILE: u64 = 64 << 20;
/// Requests in flight, for engines that support several.
const DEPTH: u32 = 32;
/// The shortest and the longest round.
const LENGTHS: [Nanos; 2] = [Nanos(10_000_000), Nanos::SECOND];

/// Measures every engine, the timer, the clock and memory copies.
///
/// # Errors
/// The question is refused, no file can be created, or a signal came. An engine that cannot be measured is no error: the answer says so.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    let length = question.length;
    if !(LENGTHS[0]..=LENGTHS[1]).contains(&length) {
        return Err(Error::refused_because(format_args!(
            "--duration {length}: a round takes between 10ms and 1s"
        )));
    }
    let dir = question.dir.clone().unwrap_or_else(std::env::temp_dir);
    let places = Places::new(question.dir.as_deref())?;
    let file = places.file.path().join("file");
    fill(&file).map_err(|error| Error::refused(error).context(format!("cannot write {}", shown(&file))))?;
    [&places.file, &places.records].into_iter().for_each(OwnDir::remove_leftovers);
    let runner = Runner { dir: places.records.path(), file: &file, length, command: &session.command };
    let rows = measure(session, question, &runner)?;
    let environment = environment::capture(&[], &Root::default());
    Ok(Answer::of(environment, question, dir.display().to_string(), clock(), rows))
}

/// The measurements take turns, so that a disturbance meets all of them.
fn measure(session: &Session, question: &Question, runner: &Runner<'_>) -> Result<Rows, Error> {
    let mut engines: Vec<_> = engines().into_iter().map(|engine| (engine, Vec::new())).collect();
    let mut timers = [(Some(Nanos(0)), Vec::new()), (None, Vec::new())];
    let mut copies = Copies::default();
    for _ in 0..question.rounds {
        for ((engine, depth), rounds) in &mut engines {
            check(session)?;
            rounds.push(runner.speed(*engine, *depth));
        }
        for (spin, rounds) in &mut timers {
            check(session)?;
            rounds.push(runner.lateness(*spin));
        }
        copies.measure();
    }
    let engines = engines.into_iter().map(|((engine, depth), rounds)| EngineRow::of(engine, depth, rounds));
    let timers = timers.into_iter().map(|(spin, rounds)| TimerRow::of(spin, rounds));
    let copies = copies.rows().map(|(bytes, bytes_per_second)| CopyRate { bytes, bytes_per_second });
    Ok(Rows { engines: engines.collect(), timers: timers.collect(), copies: copies.collect() })
}

fn check(session: &Session) -> Result<(), Error> {
    session.control.signal().map_or(Ok(()), |signal| Err(Error::stopped(signal)))
}

/// Temporary directories, removed at the end.
struct Places {
    /// Holds the file that is read.
    file: OwnDir,
    /// Holds the records of each round: in memory where possible, so that the disk is idle.
    records: OwnDir,
    /// Dropped last.
    _undo: Undo,
}

/// Clears the undo of a second signal when it is dropped.
struct Undo;

impl Drop for Undo {
    fn drop(&mut self) {
        abort::nothing_to_undo();
    }
}

impl Places {
    fn new(dir: Option<&Path>) -> Result<Places, Error> {
        let temporary = || temporary::directory(KIND);
        let records = OwnDir::new_in(Path::new(MEMORY), KIND).or_else(|_| temporary())?;
        let file = match dir {
            Some(dir) => OwnDir::new_in(dir, KIND).map_err(|error| {
                Error::refused(error)
                    .context(format!("no directory can be created in {}", shown(&dir)))
                    .context("--dir names where the file is created")
            }),
            None => temporary().map_err(|error| {
                Error::from(error).context("no file can be created that is read; --dir names another place")
            }),
        }?;
        let both = [&file, &records].map(OwnDir::remover);
        abort::undo_on_abort(move || both.iter().for_each(|remove| remove()));
        Ok(Places { file, records, _undo: Undo })
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

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::Signal;
    use iosonar_runner::{ErrorKind, Silent};
    use std::sync::Arc;

    #[test]
    fn limits_durations_and_cleans_up_after_signal() {
        let folder = tempfile::tempdir().unwrap();
        let session = Session::new(Arc::new(Silent));
        let question = Question { dir: Some(folder.path().into()), ..Question::default() };
        let error = run(&session, &Question { length: Nanos(1), ..question.clone() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        session.control.stop(2);
        let error = run(&session, &question).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped(Signal::INTERRUPT));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
