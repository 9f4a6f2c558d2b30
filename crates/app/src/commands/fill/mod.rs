//! `iosonar fill`: makes sure that a target holds data, so that later measurements are of data that is stored.

mod range;
mod report;

use crate::commands::replay::new_run_id;
use crate::exit::{Exit, Failure};
use crate::fill_args::{FillArgs, FillEngineArg};
use crate::new_load;
use crate::output::{print, print_message};
use crate::progress::{self, ProgressOptions};
use crate::session::{self, Kept};
use crate::signals::{self, Listener};
use crate::timings::Timings;
use anyhow::anyhow;
use iosonar_analyze::Limits;
use iosonar_engine::PrepareError;
use iosonar_host::{Root, emptiness, identify};
use iosonar_os::made::OwnDir;
use iosonar_os::temporary;
use iosonar_plan::{
    Access, AtEnd, ByteSize, Data, Decimal, Engine, Faults, FileLifecycle, FileStep, Generator, Job, Order,
    Phase, Plan, SECTOR, Space, Stop, Target, Workload,
};
use iosonar_runner::{Ended, Purpose, Scene};
use iosonar_text::shown;
use range::Range;
use report::Filled;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The longest write that a plan takes.
const MOST_BLOCK: u64 = 1 << 30;

/// Fills a target, and says what is stored on it then.
pub fn fill(args: &FillArgs) -> Result<Exit, Failure> {
    check_block(args.writing.bs)?;
    let range = Range::of(args)?;
    if let Some(out) = &args.result.out {
        new_load::check_absent("--out", out)?;
    }
    let mut how = How { buffered: args.writing.buffered || range.is_odd(), allocates: range.is_new };
    if how.buffered && !args.writing.buffered {
        print_message(format_args!(
            "iosonar: {} is not made of whole blocks, so it is written through the page cache",
            shown(&args.target)
        ));
    }
    if args.result.show_plan {
        let plan = plan(args, &range, how);
        plan.validate().map_err(Failure::refused)?;
        print(&plan.to_toml())?;
        return Ok(Exit::Fine);
    }
    let place = Place::new(args.result.out.as_deref())?;
    let mut timings = Timings::new();
    let (ended, _listener) = loop {
        match perform(args, plan(args, &range, how), &place, &mut timings) {
            Ok(performed) => break performed,
            Err(failure) => how = how.without(&failure).ok_or_else(|| in_own_words(failure))?,
        }
    };
    place.remove_leftovers();
    let concluded = session::conclude(ended, &Limits::default(), &mut timings)?;
    let filled = Filled::of(args, &range, how.buffered, &concluded, || {
        let facts = identify(&args.target, &Root::default()).map_err(|error| error.to_string())?;
        emptiness(&facts, range.start..range.start + range.length)
    });
    filled.tell(args.result.json)?;
    Ok(filled.exit(&concluded.info))
}

fn check_block(bs: ByteSize) -> Result<(), Failure> {
    match (1..=MOST_BLOCK).contains(&bs.0) {
        true => Ok(()),
        false => Err(Failure::refused(anyhow!(
            "--bs {bs}: a write has between 1 byte and {}",
            ByteSize(MOST_BLOCK)
        ))),
    }
}

/// How the target is written; what it turns out to be unable to do is left.
#[derive(Debug, Clone, Copy)]
struct How {
    /// Through the page cache.
    buffered: bool,
    /// Space of a new file is allocated first.
    allocates: bool,
}

impl How {
    /// Without what the file system cannot do; none where that is not why the run was refused.
    fn without(self, failure: &Failure) -> Option<How> {
        match failure.error.downcast_ref::<PrepareError>()? {
            PrepareError::NoDirectIo(path) if !self.buffered => {
                print_message(format_args!(
                    "iosonar: the file system of {path} has no direct I/O, so it is written through the page cache"
                ));
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

/// What the engine refuses with a remedy that is none here.
fn in_own_words(failure: Failure) -> Failure {
    let Some(PrepareError::Preallocate { path, bytes, error }) = failure.error.downcast_ref() else {
        return failure;
    };
    let why = format!(
        "{path}: {bytes} bytes cannot be allocated: {error}: make room in its file system, or give a smaller --size"
    );
    Failure::refused(anyhow!(why))
}

/// Sequential writes of incompressible data to the range.
fn plan(args: &FillArgs, range: &Range, how: How) -> Plan {
    let writing = &args.writing;
    let generator = Generator {
        read_percent: Decimal::whole(0),
        offset: ByteSize(range.start),
        // A last write that is cut stays in its place, and is not the first one of another lap.
        at_end: AtEnd::Extend,
        stop: Stop { bytes: Some(Space::Bytes(ByteSize(range.length))), cut_last: true, ..Stop::default() },
        ..Generator::new(Order::Sequential, ByteSize(writing.bs.0.min(range.length)))
    };
    let mut job = Job::new(0, writing.iodepth, Workload::Generated(generator));
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
    let (run_id, target) = (new_run_id(), Target { file, ..Target::new(&args.target) });
    let phase = Phase { passes: args.range.times, ..Phase::of(vec![job]) };
    Plan {
        destroy: writing.destroy,
        engine: match writing.engine {
            FillEngineArg::Uring => Engine::default(),
            FillEngineArg::Aio => Engine::Aio,
            FillEngineArg::Threads => Engine::Threads,
        },
        access: Access { buffered: how.buffered, ..Access::default() },
        // A full disk, or a broken one, will not take the rest.
        faults: Faults { max_errors: Some(0), ..Faults::default() },
        // Data by name is a function of the seed.
        seed: run_id,
        ..Plan::new(run_id, vec![target], vec![phase])
    }
}

fn perform(
    args: &FillArgs,
    plan: Plan,
    place: &Place,
    timings: &mut Timings,
) -> Result<(Ended, Listener), Failure> {
    plan.validate().map_err(Failure::refused)?;
    let wish = ProgressOptions::line(&args.result.progress);
    let show = |scene: &Scene<'_>| progress::show(&wish, scene);
    session::perform_kept(place.kept(), Purpose::Fill, plan, |_| Ok(()), |_| place.dir(), show, timings)
}

/// Where the records of the writes are.
enum Place {
    /// In the directory that was named.
    Kept(PathBuf),
    /// In one that goes with this.
    Scratch(OwnDir),
}

impl Place {
    fn new(out: Option<&Path>) -> Result<Place, Failure> {
        if let Some(out) = out {
            return Ok(Place::Kept(out.to_path_buf()));
        }
        let scratch = temporary::directory("fill")?;
        signals::undo_on_abort(scratch.remover());
        Ok(Place::Scratch(scratch))
    }

    /// Removes the directories that killed commands have left.
    fn remove_leftovers(&self) {
        if let Place::Scratch(scratch) = self {
            scratch.remove_leftovers();
        }
    }

    fn dir(&self) -> PathBuf {
        match self {
            Place::Kept(dir) => dir.clone(),
            Place::Scratch(scratch) => scratch.path().join("run"),
        }
    }

    fn kept(&self) -> Kept {
        match self {
            Place::Kept(_) => Kept::Result,
            Place::Scratch(_) => Kept::Nothing,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        signals::nothing_to_undo();
    }
}
