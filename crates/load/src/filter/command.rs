//! A step that is a command of the shell: it reads lines of requests, and its output is the load from there on.
//!
//! A thread writes while the output is read, so neither waits for the other's pipe to have room.

use super::{FilterError, Requests};
use crate::recorded::LoadError;
use crate::recorded::Notice;
use crate::text::{Opened, Tell};
use iosonar_plan::Filter;
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::write_request;
use std::io::{BufRead, BufReader, BufWriter, Error, ErrorKind, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes that are read and written at a time, as many as a pipe holds.
const AT_ONCE: usize = 1 << 16;

/// Maximum length of a line of errors that is passed on in one piece.
const LONGEST_LINE: u64 = 4096;
/// How long the errors of a command that has ended are awaited.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Error while feeding the command its input.
type Trouble = Arc<Mutex<Option<LoadError>>>;

/// A command that runs.
pub(super) struct Command {
    filter: Filter,
    child: Child,
    trouble: Trouble,
    /// Closed when its errors have been passed on.
    said: Option<Receiver<()>>,
}

impl Command {
    /// Starts a command with a load as its input; its output is the second value.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(
        command: &str,
        filter: Filter,
        load: Requests,
        tell: Tell,
    ) -> Result<(Command, Opened), LoadError> {
        let cannot = |error| FilterError::NoCommand { filter: filter.clone(), error };
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().map_err(cannot)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let said = child.stderr.take();
        let mut command = Command { filter: filter.clone(), child, trouble: Trouble::default(), said: None };
        let (input, output) = pipes.ok_or_else(|| cannot(ErrorKind::BrokenPipe.into()))?;
        command.feed(load, input).map_err(cannot)?;
        command.said = said.map(|said| pass_on(said, filter.clone(), tell)).transpose().map_err(cannot)?;
        Ok((command, Box::new(BufReader::with_capacity(AT_ONCE, output))))
    }

    /// Starts the thread that writes. It ends with the load, or when the reader is gone.
    fn feed(&mut self, load: Requests, input: ChildStdin) -> std::io::Result<()> {
        let (trouble, filter) = (self.trouble.clone(), self.filter.clone());
        let write = move || {
            let mut out = BufWriter::with_capacity(AT_ONCE, input);
            let written = write(load, &mut out, filter);
            // Kept before the input is closed, so that it is visible before the command can end.
            *trouble.lock().unwrap_or_else(PoisonError::into_inner) = written.err();
            let (_, _) = out.into_parts();
        };
        std::thread::Builder::new().name("filter".into()).spawn(write).map(|_| ())
    }

    /// The requests in its output, and after them its exit status.
    pub(super) fn giving(self, output: Requests) -> Giving {
        Giving { command: self, output, is_over: false }
    }

    /// Waits for the end. A missing input counts more than the command's reaction to it.
    fn end(&mut self) -> Result<(), LoadError> {
        let ended = self.child.wait();
        if let Some(said) = self.said.take() {
            // No value is sent: the channel closes. Children of the command may live on, and keep the pipe.
            let _ = said.recv_timeout(LAST_WORDS);
        }
        if let Some(error) = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        let filter = self.filter.clone();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(how) => Err(FilterError::Failed { filter, how }.into()),
            Err(error) => Err(FilterError::NoCommand { filter, error }.into()),
        }
    }
}

/// Passes on a command's standard error, line by line: a terminal would obey control characters.
fn pass_on(said: ChildStderr, filter: Filter, tell: Tell) -> std::io::Result<Receiver<()>> {
    let (end, ended) = channel();
    let listen = move || {
        let _end: Sender<()> = end;
        let (mut said, mut line) = (BufReader::new(said), Vec::new());
        while said.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_string();
            tell(Notice::Said { filter: filter.clone(), line: text });
            line.clear();
        }
    };
    std::thread::Builder::new().name("filter-errors".into()).spawn(listen)?;
    Ok(ended)
}

/// Without further demand for requests, the command is not needed either.
impl Drop for Command {
    fn drop(&mut self) {
        // Both fail only where it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a load as lines. EPIPE is no error.
fn write(load: Requests, out: &mut impl Write, filter: Filter) -> Result<(), LoadError> {
    let judge = |error: Error| match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(LoadError::from(FilterError::NoCommand { filter: filter.clone(), error })),
    };
    for request in load {
        if let Err(error) = write_request(out, &request?) {
            return judge(error);
        }
    }
    out.flush().or_else(judge)
}

/// Output of a command.
pub(super) struct Giving {
    // Dropped before the command is ended: one that still writes gets EPIPE.
    output: Requests,
    command: Command,
    is_over: bool,
}

impl Iterator for Giving {
    type Item = Result<TimedRequest, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        self.output.next().or_else(|| {
            self.is_over = true;
            self.command.end().err().map(Err)
        })
    }
}
