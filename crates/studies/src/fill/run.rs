//! Executes sequential writes over the range, and asks the file system what is stored.

use super::answer::Answer;
use super::question::Question;
use super::range::Range;
use iosonar_engine::PrepareError;
use iosonar_host::output::{Gate, OutputName};
use iosonar_host::{Root, emptiness, identify};
use iosonar_os::made::OwnDir;
use iosonar_os::temporary;
use iosonar_plan::{
    Access, AtEnd, ByteSize, Data, Decimal, Faults, FileLifecycle, FileStep, Generator, Job, Order, Phase,
    Plan, SECTOR, Space, Stop, Target, Workload,
};
use iosonar_runner::{Error, Notice, Purpose, Ready, Session, abort, new_run_id};
use iosonar_text::shown;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The longest write that a plan takes.
const MOST_BLOCK: u64 = 1 << 30;

/// The plan that fills the range; it is not executed.
///
/// # Errors
/// The question has no range on its target, or the plan would be refused.
pub fn plan(session: &Session, question: &Question) -> Result<Plan, Error> {
    let (range, how) = examine(session, question)?;
    valid(plan_of(question, &range, how))
}

/// Fills the range, and finds out what is stored then.
///
/// # Errors
/// The question is refused, a signal came before the first write, or the result cannot be written. Writes that fail are no error: the
/// answer says so.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    let (range, mut how) = examine(session, question)?;
    let place = RecordsPlace::new(question.out.as_deref())?;
    let ready = prepare(session, question, &range, &mut how)?;
    let ended = session.execute(ready.with_purpose(Purpose::Fill), &place.dir())?;
    place.remove_leftovers();
    let concluded = session.conclude(ended, Default::default()).map_err(Error::broke)?;
    Ok(Answer::of(question, &range, how.buffered, &concluded, || {
        let facts = identify(&question.target, &Root::default()).map_err(|error| error.to_string())?;
        emptiness(&facts, range.start..range.start + range.length)
    }))
}

fn examine(session: &Session, question: &Question) -> Result<(Range, How), Error> {
    let block = question.block;
    if !(1..=MOST_BLOCK).contains(&block.0) {
        let most = ByteSize(MOST_BLOCK);
        return Err(Error::refused_because(format_args!(
            "--bs {block}: a write has between 1 byte and {most}"
        )));
    }
    let range = Range::of(question)?;
    if let Some(out) = &question.out {
        Gate::new(&Root::default()).check_absent(&OutputName::new("--out", out)).map_err(Error::refused)?;
    }
    let how = How { buffered: question.buffered || range.is_odd(), allocates: range.is_new };
    if how.buffered && !question.buffered {
        let name = shown(&question.target);
        let text = format!("{name} is not made of whole blocks, so it is written through the page cache");
        session.observer.notice(&Notice::Remark(&text));
    }
    Ok((range, how))
}

/// How the target is written; methods that its file system lacks are removed.
#[derive(Debug, Clone, Copy)]
struct How {
    /// Through the page cache.
    buffered: bool,
    /// Space of a new file is allocated first.
    allocates: bool,
}

impl How {
    /// Without what the file system cannot do; `None` if that is not why the run was refused.
    fn without(self, error: &PrepareError, session: &Session) -> Option<How> {
        match error {
            PrepareError::NoDirectIo(path) if !self.buffered => {
                let text = format!(
                    "the file system of {path} has no direct I/O, so it is written through the page cache"
                );
                session.observer.notice(&Notice::Remark(&text));
                Some(How { buffered: true, ..self })
            }
            PrepareError::Preallocate { error, .. }
                if self.allocates && error.kind() == ErrorKind::Unsupported =>
            {
                Some(How { allocates: false, ..self })
            }
            _ => None,
        }
    }
}

fn prepare(session: &Session, question: &Question, range: &Range, how: &mut How) -> Result<Ready, Error> {
    loop {
        match session.prepare(valid(plan_of(question, range, *how))?) {
            Ok(ready) => return Ok(ready),
            Err(error) => *how = how.without(&error, session).ok_or_else(|| in_own_words(error))?,
        }
    }
}

/// The engine's remedy for a full file system is an option that filling lacks.
fn in_own_words(error: PrepareError) -> Error {
    match error {
        PrepareError::Preallocate { path, bytes, error } => Error::refused_because(format_args!(
            "{path}: {bytes} bytes cannot be allocated: {error}: make room in its file system, or give a smaller --size"
        )),
        other => Error::refused(other),
    }
}

fn valid(plan: Plan) -> Result<Plan, Error> {
    plan.validate().map_err(Error::refused)?;
    Ok(plan)
}

/// Sequential writes of incompressible data to the range.
fn plan_of(question: &Question, range: &Range, how: How) -> Plan {
    let generator = Generator {
        read_percent: Decimal::whole(0),
        offset: ByteSize(range.start),
        // A last write that is cut stays in its place, and is not the first one of another lap.
        at_end: AtEnd::Extend,
        stop: Stop { bytes: Some(Space::Bytes(ByteSize(range.length))), cut_last: true, ..Stop::default() },
        ..Generator::new(Order::Sequential, ByteSize(question.block.0.min(range.length)))
    };
    let mut job = Job::new(0, question.depth, Workload::Generated(generator));
    // Sectors with headers leave the last bytes of a file that fill no sector.
    job.options.data = (!range.length.is_multiple_of(SECTOR)).then_some(Data::Random);
    if range.is_new {
        // Writes beyond the end of a file would wait for each other.
        job.options.before = vec![FileStep::Truncate(ByteSize(range.length))];
    }
    let file = FileLifecycle {
        create: range.is_new,
        preallocate: ByteSize(if how.allocates { range.length } else { 0 }),
        sync_each_pass: true,
        ..FileLifecycle::default()
    };
    let (run_id, target) = (new_run_id(), Target { file, ..Target::new(&question.target) });
    let phase = Phase { passes: question.times, ..Phase::of(vec![job]) };
    Plan {
        destroy: question.destroy,
        engine: question.engine,
        access: Access { buffered: how.buffered, ..Access::default() },
        // A full disk, or a broken one, will not take the rest.
        faults: Faults { max_errors: Some(0), ..Faults::default() },
        // Data by name is a function of the seed.
        seed: run_id,
        ..Plan::new(run_id, vec![target], vec![phase])
    }
}

/// Location of the records of the writes.
enum RecordsPlace {
    /// The directory that was named.
    Kept(PathBuf),
    /// A temporary directory, which is removed at the end.
    Scratch(Option<OwnDir>),
}

impl RecordsPlace {
    fn new(out: Option<&Path>) -> Result<RecordsPlace, Error> {
        if let Some(out) = out {
            return Ok(RecordsPlace::Kept(out.to_path_buf()));
        }
        let scratch = temporary::directory("fill")?;
        abort::undo_on_abort(scratch.remover());
        Ok(RecordsPlace::Scratch(Some(scratch)))
    }

    /// Removes the directories of commands that were killed.
    fn remove_leftovers(&self) {
        if let RecordsPlace::Scratch(Some(scratch)) = self {
            scratch.remove_leftovers();
        }
    }

    fn dir(&self) -> PathBuf {
        match self {
            RecordsPlace::Kept(dir) => dir.clone(),
            RecordsPlace::Scratch(scratch) => {
                scratch.as_ref().map(|dir| dir.path().join("run")).unwrap_or_default()
            }
        }
    }
}

impl Drop for RecordsPlace {
    fn drop(&mut self) {
        if let RecordsPlace::Scratch(scratch) = self {
            drop(scratch.take());
            abort::nothing_to_undo();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Length;
    use super::*;
    use iosonar_plan::Engine;
    use iosonar_runner::{Observer, Silent, Stage};
    use std::sync::{Arc, Mutex};

    /// Collects what a session reports.
    #[derive(Default)]
    struct Collected {
        notices: Mutex<Vec<String>>,
        stages: Mutex<Vec<Stage>>,
    }

    impl Observer for Collected {
        fn notice(&self, notice: &Notice<'_>) {
            self.notices.lock().unwrap().push(notice.to_string());
        }

        fn stage(&self, stage: Stage) {
            self.stages.lock().unwrap().push(stage);
        }
    }

    fn question(bytes: u64) -> (tempfile::TempDir, Question) {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("image");
        let length = Length::Size(Space::Bytes(ByteSize(bytes)));
        (folder, Question { length, engine: Engine::Threads, block: ByteSize(4096), ..Question::of(target) })
    }

    #[test]
    fn fills_a_new_file_and_reports_to_the_observer() {
        let (folder, question) = question(100_001);
        let question = Question { out: Some(folder.path().join("result")), ..question };
        let observer = Arc::new(Collected::default());
        let answer = run(&Session::new(observer.clone()), &question).unwrap();
        assert!(answer.is_filled(), "{answer}");
        assert_eq!((answer.written_bytes, answer.bytes, answer.offset), (100_001, 100_001, 0));
        assert!(answer.buffered, "its last block is not whole");
        assert!(answer.stored.as_ref().map_or(true, |stored| stored.empty == 0));
        let data = std::fs::read(&question.target).unwrap();
        assert!(data.len() == 100_001 && data.iter().filter(|byte| **byte == 0).count() < 5_000);
        assert!(folder.path().join("result").is_dir());
        let notices = observer.notices.lock().unwrap().join("\n");
        assert!(notices.contains("not made of whole blocks") && notices.contains("target "), "{notices}");
        let stages = observer.stages.lock().unwrap();
        assert_eq!(stages.last(), Some(&Stage::Concluded), "{stages:?}");
    }

    #[test]
    fn refused_fill_leaves_no_files() {
        let (folder, question) = question(4096);
        let session = Session::new(Arc::new(Silent));
        for wrong in [
            Question { block: ByteSize(0), ..question.clone() },
            Question { length: Length::ToEnd, ..question.clone() },
            Question { offset: ByteSize(1), ..question.clone() },
        ] {
            let error = run(&session, &wrong).unwrap_err();
            assert_eq!(error.kind(), iosonar_runner::ErrorKind::Refused, "{error}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
