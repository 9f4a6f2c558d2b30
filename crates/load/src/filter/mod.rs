//! Steps that change a load, one request after the other, order preserved. Formulas: [`Filter`].
//!
//! Most steps keep nothing. `reverse` holds all that comes into it, because it starts with the end; so does `repeat`
//! where what comes into it cannot be read again.

mod change;
mod command;
mod hold;
mod merge;

use crate::recorded::LoadError;
use crate::text::{Lines, Opened, Tell, Text, open};
use change::changed;
use command::Command;
use hold::Repetition;
use iosonar_plan::{Filter, Nanos, Pipeline};
use iosonar_trace::TimedRequest;
use merge::Merge;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

pub use hold::Room;

/// Why a filtered load cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A place, a length or a time becomes larger than a load can hold.
    #[error("{at}: after '{filter}' its {what} lies beyond 2^63 (nanoseconds, bytes), where every load ends")]
    TooLarge {
        /// Place of the request.
        at: String,
        /// The step.
        filter: Filter,
        /// Sector, length or time.
        what: &'static str,
    },
    /// A request that became empty cannot be replayed.
    #[error("{at}: after the filters its length is 0: give resize a min, for example resize:0.1,min=1")]
    Empty {
        /// Place of the request.
        at: String,
    },
    /// Requests would have to be held that memory has no room for.
    #[error(
        "'{filter}' has to hold all requests before it, {each} bytes each, and memory has room for {most}: select fewer, or let 'iosonar load filter' make the load where there is more memory",
        each = hold::EACH
    )]
    NoRoom {
        /// The step.
        filter: Filter,
        /// Maximum number of requests.
        most: u64,
    },
    /// Loads that are merged must be in the order of time.
    #[error(
        "{at}: time runs backward, from {before} to {time}, and merge takes loads in the order of time: {remedy}"
    )]
    Unsorted {
        /// Place of the earlier time.
        at: String,
        /// The earlier time.
        time: Nanos,
        /// The time before it.
        before: Nanos,
        /// How to sort the load.
        remedy: String,
    },
    /// A command cannot be started, or given its input.
    #[error("{filter}: {error}")]
    NoCommand {
        /// The step.
        filter: Filter,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// A command failed by its exit status.
    #[error(
        "{filter} ended with {how}: fix the command, or make it exit with 0 (for example with '|| true' at its end)"
    )]
    Failed {
        /// The step.
        filter: Filter,
        /// Exit status or signal.
        how: std::process::ExitStatus,
    },
}

/// Requests, one after the other; an error is the last of them.
type Requests = Box<dyn Iterator<Item = Result<TimedRequest, LoadError>> + Send>;

/// A load after steps, in their order; an error is the last of its requests.
pub struct Filtered {
    requests: Requests,
    lines: Arc<AtomicU64>,
    texts: Texts,
    ended: bool,
}

impl Filtered {
    /// Puts the steps after a text; commands are started. `skip_bad`: bad lines of any input are skipped and reported, instead of
    /// ending the reading.
    ///
    /// # Errors
    /// A file beside the load cannot be opened, or a command cannot be started.
    pub(crate) fn new(
        text: Text,
        pipeline: &Pipeline,
        skip_bad: bool,
        room: &Room,
        tell: Tell,
    ) -> Result<Filtered, LoadError> {
        let (lines, texts) = (Arc::new(AtomicU64::new(0)), Texts::of(pipeline));
        let maker = Maker {
            first: Mutex::new(Some(text.opened)),
            again: text.file,
            steps: pipeline.0.clone(),
            texts: texts.clone(),
            skip_bad,
            room: room.clone(),
            lines: lines.clone(),
            tell,
        };
        let requests = Arc::new(maker).make(pipeline.0.len(), Round::First)?;
        Ok(Filtered { requests, lines, texts, ended: false })
    }

    /// Lines of the load that were read so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.load(Relaxed)
    }

    /// The next request, which must not be empty.
    pub(crate) fn next_of_replay(&mut self) -> Result<Option<TimedRequest>, LoadError> {
        match self.next().transpose()? {
            Some(r) if r.extent.length == 0 => Err(FilterError::Empty { at: self.place(&r) }.into()),
            next => Ok(next),
        }
    }

    /// Place of a request.
    pub(crate) fn place(&self, r: &TimedRequest) -> String {
        self.texts.place(r)
    }
}

impl Iterator for Filtered {
    type Item = Result<TimedRequest, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.requests.next();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// A load after all steps of a pipeline, to be written as a load. `notice` gets lines that are skipped.
///
/// # Errors
/// Those of each request: of the load, of merged loads, of commands.
pub fn filtered(
    text: Text,
    pipeline: &Pipeline,
    skip_bad: bool,
    room: &Room,
    notice: impl Fn(crate::Notice) + Send + Sync + 'static,
) -> Result<Filtered, LoadError> {
    Filtered::new(text, pipeline, skip_bad, room, Arc::new(notice))
}

/// Bits of a line's number; the bits above are the number of its text.
const LINE_BITS: u32 = 48;

/// The texts whose lines requests are: the load, and from 1 on the inputs of each step.
#[derive(Debug, Clone)]
struct Texts(Arc<[Arc<str>]>);

impl Texts {
    fn of(pipeline: &Pipeline) -> Texts {
        let name = |step: &Filter| match step {
            Filter::Merge { file, .. } => file.as_str().into(),
            step => format!("what {step} gave").into(),
        };
        Texts(pipeline.0.iter().map(name).collect())
    }

    /// The text of a step, counted from 1.
    fn name(&self, step: usize) -> Arc<str> {
        self.0[step - 1].clone()
    }

    /// Marks a request as one of that text.
    fn mark(step: usize, r: TimedRequest) -> TimedRequest {
        TimedRequest { line: r.line | (step as u64) << LINE_BITS, ..r }
    }

    fn place(&self, r: &TimedRequest) -> String {
        let line = r.line & ((1 << LINE_BITS) - 1);
        match (r.line >> LINE_BITS) as usize {
            0 => format!("line {line}"),
            step => format!("{}: line {line}", self.name(step)),
        }
    }
}

/// Whether a text is read for the first time. Later, nothing is reported or counted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    Later,
}

/// Requests with their numbers from 1, as blkreplay's modules count. Flushes, which these do not know, are counted apart.
fn numbered(load: Requests) -> impl Iterator<Item = (u64, Result<TimedRequest, LoadError>)> + Send {
    let (mut transfers, mut others) = (0, 0);
    load.map(move |request| {
        let is_other = request.as_ref().is_ok_and(|r| !r.op.is_transfer());
        let number = if is_other { &mut others } else { &mut transfers };
        *number += 1;
        (*number, request)
    })
}

/// Makes the requests after the first steps of a pipeline, more than once where that can be.
struct Maker {
    first: Mutex<Option<Opened>>,
    again: Option<PathBuf>,
    steps: Vec<Filter>,
    texts: Texts,
    skip_bad: bool,
    room: Room,
    lines: Arc<AtomicU64>,
    tell: Tell,
}

impl Maker {
    /// The requests after the first `steps` steps.
    fn make(self: &Arc<Maker>, steps: usize, round: Round) -> Result<Requests, LoadError> {
        let Some(before) = steps.checked_sub(1) else { return self.load(round) };
        let (load, filter) = (self.make(before, round)?, self.steps[before].clone());
        let texts = self.texts.clone();
        Ok(match &filter {
            Filter::Select(window) => {
                let window = *window;
                Box::new(load.filter(move |r| r.as_ref().map_or(true, |r| window.contains(r.time))))
            }
            Filter::Sample { one_of } => {
                let one_of = *one_of;
                let is_kept = move |(n, r): &(u64, Result<_, _>)| n % one_of == 1 % one_of || r.is_err();
                Box::new(numbered(load).filter(is_kept).map(|(_, r)| r))
            }
            Filter::Reverse => hold::reversed(load, self.room.clone()),
            Filter::Sort => hold::sorted(load, self.room.clone()),
            Filter::Repeat { times, offset } => {
                let repetition = Repetition { times: *times, offset: *offset, texts, filter };
                if self.can_make_again(before) {
                    Box::new(hold::Again::new(repetition, self.clone(), before, load))
                } else {
                    hold::repeated(repetition, load, self.room.clone())
                }
            }
            Filter::Merge { file, offset, shift } => {
                let other = self.beside(steps, round, || open(file.as_ref()))?;
                let (file, by) = (file.clone(), (*shift, *offset));
                Box::new(Merge::new([load, other], &file, by, filter, texts))
            }
            Filter::Cmd { command } => {
                let (command, output) = Command::start(command, filter.clone(), load, self.tell.clone())?;
                Box::new(command.giving(self.beside(steps, round, || Ok(output))?))
            }
            Filter::Slip { .. }
            | Filter::Subst { .. }
            | Filter::Spread { .. }
            | Filter::Resize { .. }
            | Filter::Scale { .. }
            | Filter::Shift { .. } => {
                Box::new(numbered(load).map(move |(n, r)| changed(r?, n, &filter, &texts)))
            }
        })
    }

    /// Whether the output of the first `steps` steps can be made again without holding it.
    fn can_make_again(&self, steps: usize) -> bool {
        let is_repeatable = |step: &Filter| match step {
            Filter::Reverse | Filter::Sort | Filter::Cmd { .. } => false,
            Filter::Merge { file, .. } => Path::new(file).is_file(),
            _ => true,
        };
        self.again.is_some() && self.steps[..steps].iter().all(is_repeatable)
    }

    /// The requests of the load.
    fn load(&self, round: Round) -> Result<Requests, LoadError> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let text = match (first, &self.again) {
            (Some(opened), _) => opened,
            (None, Some(file)) => open(file)?,
            // A text that can be read only once is never needed again.
            (None, None) => Box::new(std::io::empty()),
        };
        let mut lines = Lines::new(text, self.skip_bad, self.tell(round));
        let counted = (round == Round::First).then(|| self.lines.clone());
        let next = move || {
            let next = lines.next();
            if let Some(counted) = &counted {
                counted.store(lines.lines(), Relaxed);
            }
            next.transpose()
        };
        Ok(Box::new(iter::from_fn(next)))
    }

    /// The requests that the `step`-th step reads beside the load.
    fn beside(
        &self,
        step: usize,
        round: Round,
        open: impl FnOnce() -> Result<Opened, LoadError>,
    ) -> Result<Requests, LoadError> {
        let of = self.texts.name(step);
        let opened = open().map_err(|error| LoadError::Beside { of: of.clone(), error: Box::new(error) })?;
        let mut lines = Lines::new(opened, self.skip_bad, self.tell(round)).beside(of);
        Ok(Box::new(iter::from_fn(move || lines.next().transpose().map(|r| r.map(|r| Texts::mark(step, r))))))
    }

    fn tell(&self, round: Round) -> Tell {
        match round {
            Round::First => self.tell.clone(),
            Round::Later => Arc::new(|_| {}),
        }
    }
}

#[cfg(test)]
mod tests;
