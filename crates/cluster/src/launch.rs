//! Starts processes and queues their reports as events.

use crate::protocol::{InputFile, ON_HOST, Order, PING_EVERY, Report, SILENCE, TAKE_PART, hear, say};
use crate::remote_shell;
use crate::sent_program::{SentProgram, command, greet};
use iosonar_analyze::Limits;
use iosonar_os::{create, monotonic_ns};
use iosonar_plan::{Executor, Host};
use iosonar_text::{one_line, shown};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// A report of a process, or an event concerning it.
#[derive(Debug)]
pub(crate) struct Event {
    /// Number of its part.
    pub(crate) part: usize,
    /// Time of arrival, as `CLOCK_MONOTONIC`.
    pub(crate) heard: u64,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// Its machine has answered; with its type.
    Greeted(String),
    Said(Report),
    /// No more reports; with a reason if the process has not ended normally.
    Silent(Option<String>),
}

/// How processes are started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// This program.
    pub program: PathBuf,
    /// The program that is sent to machines without one; `None`: this one.
    pub sent: Option<PathBuf>,
    /// Limits of times that are counted where the records stay on their machines.
    pub limits: Limits,
    /// The remote shell with its options; the host follows.
    pub remote_shell: Vec<String>,
    /// Receives each line of errors printed by the remote shell or a remote program. It may contain anything.
    pub hear: fn(&str),
}

/// Maximum wait for errors of a remote shell that has ended: a connection shared with others stays open.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Interval at which the end of a connection is looked for.
const POLL: Duration = Duration::from_millis(5);
/// Maximum length of a line of errors passed on in one piece.
const LONGEST_ERROR: u64 = 4096;

/// A message to a process.
enum Message {
    Order(Order),
    /// A ping, with the time at which it is written.
    Ping,
    /// An input file, with its bytes.
    Input(InputFile),
}

/// State of the line to a process, which several threads use.
#[derive(Debug, Default)]
struct LineState {
    /// When bytes arrived last, as `CLOCK_MONOTONIC`; 0 before the greeting.
    heard: AtomicU64,
    is_greeted: AtomicBool,
    /// A file is on its way there.
    is_sending: AtomicBool,
    /// The last line of errors before the greeting: why a connection failed.
    last_error: Mutex<Option<String>>,
}

/// A participating process.
pub(crate) struct Participant {
    /// Name in messages.
    pub(crate) name: String,
    /// Directory for its records; set when the run starts.
    pub(crate) archive: Arc<OnceLock<PathBuf>>,
    child: Child,
    to: Option<Sender<Message>>,
    /// Closed when its errors have been passed on.
    errors: Option<Receiver<()>>,
    state: Arc<LineState>,
    is_remote: bool,
}

impl Launch {
    /// Starts this program, with the remote shell that the environment names.
    ///
    /// # Errors
    /// The path of this program is unknown.
    pub fn of_this_program(hear: fn(&str)) -> io::Result<Launch> {
        let program = std::env::current_exe()?;
        Ok(Launch {
            program,
            sent: None,
            limits: Limits::default(),
            remote_shell: remote_shell::of_environment(),
            hear,
        })
    }

    /// The program for machines without one.
    pub(crate) fn sent_program(&self) -> io::Result<SentProgram> {
        SentProgram::of(self.sent.as_deref().unwrap_or(&self.program))
    }

    /// Starts the process that executes a part. Its first reports are the next events of `part`. `sent` is the program for machines
    /// without one.
    pub(crate) fn start(
        &self,
        part: usize,
        executor: &Executor,
        name: String,
        sent: Option<&Arc<SentProgram>>,
        events: &Sender<Event>,
    ) -> io::Result<Participant> {
        let host = executor.host();
        let sent = sent.filter(|_| host.is_some_and(|host| host.program.is_empty()));
        let mut command = match host {
            Some(host) => self.remote(host, sent.map(Arc::as_ref))?,
            None => self.local(),
        };
        // A separate process group: Ctrl-C of the terminal is for the coordinator, which stops all processes in order.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        if host.is_some() {
            // Otherwise another machine could control the terminal, and writing to it would stop background processes.
            command.stderr(Stdio::piped());
        }
        let started = command.spawn();
        let mut child = started.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", shown(&command.get_program())))
        })?;
        let from = child.stdout.take().expect("it was asked for");
        let into = child.stdin.take().expect("it was asked for");
        let state = Arc::new(LineState::default());
        let errors =
            child.stderr.take().map(|errors| self.pass_on(&name, errors, state.clone())).transpose()?;
        let (to, orders) = channel();
        let archive = Arc::new(OnceLock::new());
        let line = Line {
            part,
            from,
            into,
            orders,
            is_remote: host.is_some(),
            sent: sent.cloned(),
            archive: archive.clone(),
            state: state.clone(),
            events: events.clone(),
            name: name.clone(),
            hear: self.hear,
        };
        thread::Builder::new().name(format!("part-{part}")).spawn(move || line.run())?;
        Ok(Participant { name, archive, child, to: Some(to), errors, state, is_remote: host.is_some() })
    }

    /// Passes on the errors of a process, line by line. Until it has greeted, the last one is kept: it says why there is no connection.
    fn pass_on(&self, name: &str, errors: ChildStderr, state: Arc<LineState>) -> io::Result<Receiver<()>> {
        let (hear, name, (end, ended)) = (self.hear, name.to_string(), channel());
        let listen = move || {
            let _end: Sender<()> = end;
            let (mut errors, mut line) = (BufReader::new(errors), Vec::new());
            while errors.by_ref().take(LONGEST_ERROR).read_until(b'\n', &mut line).is_ok_and(|read| read > 0)
            {
                let text = one_line(String::from_utf8_lossy(&line).trim_end()).into_owned();
                let earlier = match state.is_greeted.load(Relaxed) {
                    true => Some(text),
                    false => state.last_error().replace(text),
                };
                if let Some(text) = earlier {
                    hear(&format!("{name}: {text}"));
                }
                line.clear();
            }
        };
        thread::Builder::new().name("errors".into()).spawn(listen)?;
        Ok(ended)
    }

    fn local(&self) -> Command {
        let mut command = Command::new(&self.program);
        // arg0 is fixed: the program's name here must not be that of another program there.
        command.arg0("iosonar").arg(TAKE_PART);
        command
    }

    fn remote(&self, host: &Host, sent: Option<&SentProgram>) -> io::Result<Command> {
        let (shell, options) = self
            .remote_shell
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no remote shell is named"))?;
        let mut there = Command::new(shell);
        there.args(options).arg(&host.name).arg(command(host, sent, &format!("{TAKE_PART} {ON_HOST}")));
        Ok(there)
    }
}

impl LineState {
    fn last_error(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Participant {
    /// Sends an order. A process that is gone is detected by its silence.
    pub(crate) fn order(&mut self, order: Order) {
        self.send(Message::Order(order));
    }

    /// Asks for its time.
    pub(crate) fn ping(&mut self) {
        self.send(Message::Ping);
    }

    /// Sends a file that its plan reads.
    pub(crate) fn send_input(&mut self, input: InputFile) {
        self.send(Message::Input(input));
    }

    fn send(&mut self, message: Message) {
        if let Some(to) = &self.to
            && to.send(message).is_err()
        {
            self.to = None;
        }
    }

    /// Time without a sign of life; `None` for a process here, and for one that has not answered yet.
    pub(crate) fn silence(&self) -> Option<Duration> {
        let heard = Some(self.state.heard.load(Relaxed)).filter(|heard| *heard > 0 && self.is_remote)?;
        Some(Duration::from_nanos(monotonic_ns().saturating_sub(heard)))
    }

    /// Whether a file is on its way there, which takes its time.
    pub(crate) fn is_sending(&self) -> bool {
        self.state.is_sending.load(Relaxed)
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
    }

    /// Lets it end, and waits for that; returns the exit status in words if it failed.
    pub(crate) fn dismiss(&mut self) -> Option<String> {
        self.to = None;
        if self.is_remote && (!self.state.is_greeted.load(Relaxed) || self.is_sending()) {
            // Its line is with the thread that waits for the greeting, or sends a file.
            self.kill();
        }
        let ended = self.ended();
        if let Some(errors) = self.errors.take() {
            // No message is sent: the channel closes.
            let _ = errors.recv_timeout(LAST_WORDS);
        }
        match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Waits for its end; a connection that gives no sign of life is ended.
    fn ended(&mut self) -> io::Result<ExitStatus> {
        while self.is_remote {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if self.silence().is_none_or(|silence| silence > SILENCE) {
                self.kill();
                break;
            }
            thread::sleep(POLL);
        }
        self.child.wait()
    }

    /// The last line of errors of its shell before any answer, once it has ended.
    pub(crate) fn last_error(&self) -> Option<String> {
        self.state.last_error().take()
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        // When this returns, it has undone its preparations.
        self.dismiss();
    }
}

/// The line to a process: one thread reads what it reports, one writes to it.
struct Line {
    part: usize,
    from: ChildStdout,
    into: ChildStdin,
    orders: Receiver<Message>,
    is_remote: bool,
    sent: Option<Arc<SentProgram>>,
    archive: Arc<OnceLock<PathBuf>>,
    state: Arc<LineState>,
    events: Sender<Event>,
    name: String,
    hear: fn(&str),
}

impl Line {
    fn run(self) {
        let (part, events) = (self.part, self.events.clone());
        let end = self.converse().err().map(|error| error.to_string());
        // After the run there is no receiver.
        let _ = events.send(Event { part, heard: monotonic_ns(), what: What::Silent(end) });
    }

    fn converse(self) -> io::Result<()> {
        let Line { part, from, mut into, orders, is_remote, sent, archive, state, events, name, hear } = self;
        let mut from = BufReader::new(Watched { from, state: state.clone() });
        if is_remote {
            let greeted = greet(&mut from, &mut into, sent.as_deref())?;
            state.heard.store(monotonic_ns(), Relaxed);
            state.is_greeted.store(true, Relaxed);
            if let Some(error) = state.last_error().take() {
                hear(&format!("{name}: {error}"));
            }
            if let Some((lines, first)) = greeted.noise {
                let first = one_line(&first);
                hear(&format!(
                    "{name}: its shell printed {lines} lines before the program, which are skipped: {first}"
                ));
            }
            let what = What::Greeted(greeted.machine);
            let _ = events.send(Event { part, heard: monotonic_ns(), what });
        }
        let pings = is_remote.then_some(PING_EVERY);
        // It ends with the last sender of orders, or when the process reads no more.
        let to_queue = events.clone();
        let write = move || {
            if let Some(why) = write(into, &orders, pings, &state) {
                let what = What::Silent(Some(why));
                let _ = to_queue.send(Event { part, heard: monotonic_ns(), what });
            }
        };
        thread::Builder::new().name(format!("to-{part}")).spawn(write)?;
        listen(part, &mut from, &archive, &events)
    }
}

/// Writes orders, and a ping when there was none for some time. Returns why it ended if an input file cannot be read; a process that reads
/// no more says why itself.
fn write(
    mut into: ChildStdin,
    orders: &Receiver<Message>,
    pings: Option<Duration>,
    state: &LineState,
) -> Option<String> {
    loop {
        let message = match pings {
            Some(every) => match orders.recv_timeout(every) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => Message::Ping,
                Err(RecvTimeoutError::Disconnected) => return None,
            },
            None => orders.recv().ok()?,
        };
        match message {
            Message::Order(order) => say(&mut into, &order).ok()?,
            Message::Ping => say(&mut into, &Order::Ping { sent: monotonic_ns() }).ok()?,
            Message::Input(input) => {
                state.is_sending.store(true, Relaxed);
                let path = input.path.clone();
                match write_input(&mut into, input) {
                    Ok(is_written) => is_written.then_some(())?,
                    Err(error) => return Some(format!("{}: {error}", shown(&path))),
                }
                state.is_sending.store(false, Relaxed);
            }
        }
    }
}

/// Sends a file; returns whether it was received.
///
/// # Errors
/// The file cannot be read, or has become shorter.
fn write_input(into: &mut impl Write, input: InputFile) -> io::Result<bool> {
    let (mut file, mut left) = (BufReader::with_capacity(1 << 18, File::open(&input.path)?), input.bytes);
    if say(into, &Order::Input { input }).is_err() {
        return Ok(false);
    }
    while left > 0 {
        let chunk = file.fill_buf()?;
        if chunk.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has become shorter"));
        }
        let length = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if into.write_all(&chunk[..length]).is_err() {
            return Ok(false);
        }
        file.consume(length);
        left -= length as u64;
    }
    Ok(into.flush().is_ok())
}

/// Notes when bytes arrive.
struct Watched<R> {
    from: R,
    state: Arc<LineState>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        if self.state.is_greeted.load(Relaxed) {
            self.state.heard.store(monotonic_ns(), Relaxed);
        }
        Ok(read)
    }
}

fn listen(
    part: usize,
    from: &mut impl BufRead,
    archive: &OnceLock<PathBuf>,
    events: &Sender<Event>,
) -> io::Result<()> {
    while let Some(report) = hear::<Report>(from)? {
        match report {
            Report::File { name, bytes } => {
                keep_file(archive.get().map(PathBuf::as_path), &name, bytes, from)?
            }
            report => {
                let event = Event { part, heard: monotonic_ns(), what: What::Said(report) };
                if events.send(event).is_err() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Stores a file of an archive from the stream. Another machine chose the name, which is restricted to files in the
/// archive.
fn keep_file(dir: Option<&Path>, name: &str, bytes: u64, from: &mut impl BufRead) -> io::Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(invalid(format!("'{name}' is no name of a file in an archive")));
    }
    let dir = dir.ok_or_else(|| invalid(format!("{name} came before the run")))?;
    create::new_dirs(dir)?;
    let mut file = create::new_file(&dir.join(name))?;
    let copied = io::copy(&mut from.take(bytes), &mut file)?;
    file.flush()?;
    if copied == bytes {
        Ok(())
    } else {
        Err(invalid(format!("{name} ends after {copied} of {bytes} bytes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_files_stay_inside_the_archive() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("a/b");
        keep_file(Some(&dir), "run.json", 3, &mut &b"abcd"[..]).unwrap();
        assert_eq!(std::fs::read(dir.join("run.json")).unwrap(), b"abc");
        for name in ["../x", "/etc/x", "", ".x", "a/b", "run.json"] {
            assert!(keep_file(Some(&dir), name, 1, &mut &b"x"[..]).is_err(), "{name}");
        }
        assert!(
            keep_file(Some(&dir), "short", 5, &mut &b"x"[..]).unwrap_err().to_string().contains("1 of 5")
        );
        assert!(keep_file(None, "early", 1, &mut &b"x"[..]).is_err());
    }
}
