//! A participating process: it prepares its part of the plan, synchronises with the others at the start of phases, and
//! keeps its records.

use crate::answering::{self, NoAnswer, VerbQuestion};
use crate::clock::own_clock;
use crate::counts::{Counting, count_part};
use crate::input_cache::{InputCache, InputPlaces};
use crate::protocol::{
    Answered, HostProgress, InputFile, Order, PING_EVERY, PROTOCOL, Report, SILENCE, SystemTimes, hear, say,
};
use crate::sent_program::hash_of;
use iosonar_archive::{Archive, LOG, RunInfo, SERIES_LOG, Signal, TOOL, remove_archive};
use iosonar_engine::{Control, Rendezvous};
use iosonar_host::Root;
use iosonar_load::Notice;
use iosonar_os::{monotonic_ns, temporary};
use iosonar_plan::Plan;
use iosonar_runner::{Intent, Ready, Scene, Session, announcement, sum_up_part};
use iosonar_text::shown;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which a wait for the coordinator checks whether the run is stopped.
const POLL: Duration = Duration::from_millis(20);
/// Interval of reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Where the coordinator of a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coordinator {
    /// On this machine: it has ended when standard input ends.
    Here,
    /// On another one: a connection may be cut without an end, so it has to give signs of life.
    Elsewhere,
}

/// State shared by both threads of a process: the listener and the runner.
pub(crate) struct Line<W> {
    out: Mutex<W>,
    pub(crate) control: Arc<Control>,
    /// Per phase: whether its first job is done.
    first_done: Mutex<HashMap<u16, Arc<AtomicBool>>>,
    /// When the coordinator was heard last, as `CLOCK_MONOTONIC`.
    heard: AtomicU64,
    /// No sign of life came from the coordinator.
    is_cut: AtomicBool,
    inputs: Mutex<InputCache>,
    /// How the records are counted, once it is ordered.
    count: Mutex<Option<Counting>>,
}

impl<W: Write> Line<W> {
    /// Write errors are ignored: a coordinator that no longer reads is detected by the end of its messages.
    pub(crate) fn report(&self, report: &Report) {
        let _ = say(&mut *self.out.lock().unwrap_or_else(PoisonError::into_inner), report);
    }

    /// The same, unless another report is being sent: that is a sign of life, too.
    pub(crate) fn report_if_free(&self, report: impl FnOnce() -> Report) {
        if let Ok(mut out) = self.out.try_lock() {
            let _ = say(&mut *out, &report());
        }
    }

    fn flag(&self, phase: u16) -> Arc<AtomicBool> {
        self.first_done.lock().unwrap_or_else(PoisonError::into_inner).entry(phase).or_default().clone()
    }

    /// Handles orders that must not wait for the run; returns others. `from` has the bytes of a file that follows.
    fn take(&self, order: Order, from: &mut impl BufRead) -> Option<Order> {
        match order {
            Order::Ping { sent } => {
                let arrived = self.heard.load(Relaxed);
                self.report_if_free(|| {
                    let system = SystemTimes::of_this_machine();
                    Report::Pong { sent, arrived, answered: monotonic_ns(), system }
                });
            }
            Order::Offer { inputs } => {
                let hashes = self.inputs().missing(&inputs);
                self.report(&Report::Wanted { hashes });
            }
            Order::Input { input } => self.inputs().receive(&input, from),
            Order::Gather => self.inputs().gather(),
            Order::FirstDone { phase } => self.flag(phase).store(true, Relaxed),
            Order::Stop { signal } => self.control.stop(signal),
            Order::Count { clock, limits, parts } => {
                *self.count.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Counting { clock, limits, parts });
            }
            other => return Some(other),
        }
        None
    }

    pub(crate) fn inputs(&self) -> std::sync::MutexGuard<'_, InputCache> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports progress until the run is over.
    pub(crate) fn report_progress(&self, scene: &Scene<'_>) {
        let mut reported = Instant::now();
        while !scene.is_over() {
            std::thread::sleep(POLL);
            if reported.elapsed() >= PROGRESS_EVERY {
                reported = Instant::now();
                let now = scene.progress.snapshot(true);
                self.report_if_free(|| Report::Progress(HostProgress::of(&now)));
            }
        }
    }

    /// Gives signs of life, and stops the run when the coordinator gives no more.
    fn watch(&self) {
        loop {
            std::thread::sleep(PING_EVERY);
            self.report_if_free(|| Report::Alive);
            let heard = self.heard.load(Relaxed);
            if Duration::from_nanos(monotonic_ns().saturating_sub(heard)) > SILENCE {
                self.is_cut.store(true, Relaxed);
                self.control.stop(Signal::HANG_UP.0);
                return;
            }
        }
    }
}

/// The other processes, as seen by this one.
pub(crate) struct Member<W> {
    pub(crate) line: Arc<Line<W>>,
    orders: Mutex<Receiver<io::Result<Order>>>,
}

impl<W: Write> Member<W> {
    /// Returns the next order; `None` at EOF, and if the coordinator gives no more signs of life.
    fn next(&self) -> io::Result<Option<Order>> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match orders.recv_timeout(POLL) {
                Ok(order) => return order.map(Some),
                Err(RecvTimeoutError::Timeout) if !self.line.is_cut.load(Relaxed) => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Waits for the order to count the records; `None` if it does not come.
    fn count_order(&self) -> Option<Counting> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let ordered = self.line.count.lock().unwrap_or_else(PoisonError::into_inner).take();
            if ordered.is_some() || self.line.is_cut.load(Relaxed) {
                return ordered;
            }
            // Other orders are stale.
            if let Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) = orders.recv_timeout(POLL) {
                return None;
            }
        }
    }

    /// Waits until the coordinator has the whole archive; returns whether it has.
    fn is_received(&self) -> bool {
        while let Ok(Some(order)) = self.next() {
            if order == Order::Received {
                return true;
            }
        }
        false
    }

    /// Waits for the order that `wanted` recognises; `None` if the run is stopped first.
    pub(crate) fn wait<T>(&self, wanted: impl Fn(Order) -> Option<T>) -> Option<T> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // An order that arrived before the stop is still valid: the other processes follow it, too.
            let is_stopped = self.line.control.is_stopped(iosonar_plan::Nanos(0));
            match orders.recv_timeout(if is_stopped { Duration::ZERO } else { POLL }) {
                Ok(Ok(order)) => match wanted(order) {
                    Some(found) => return Some(found),
                    // Stale: from a finished phase.
                    None => continue,
                },
                Err(RecvTimeoutError::Timeout) if !is_stopped => {}
                _ => return None,
            }
        }
    }
}

impl<W: Write + Send> Rendezvous for Member<W> {
    fn begin(&self, phase: u16, earliest: u64) -> Result<u64, String> {
        self.line.report(&Report::Ready { phase, earliest });
        let begun = self.wait(|order| match order {
            Order::Begin { phase: begun, at } if begun == phase => Some(Ok(at)),
            Order::Abort { why } => Some(Err(why)),
            _ => None,
        });
        match begun {
            Some(begun) => begun,
            // The run has not started, and does not start.
            None if phase == 0 => Err("the run was stopped before it started".into()),
            // A stopped phase starts and ends at once, with that state.
            None => Ok(earliest),
        }
    }

    fn end(&self, phase: u16, is_whole: bool) -> bool {
        self.line.report(&Report::Ended { phase, is_whole });
        let next = self.wait(|order| match order {
            Order::Next { phase: ended, goes_on } if ended == phase => Some(goes_on),
            _ => None,
        });
        next.unwrap_or(is_whole)
    }

    fn meet(&self, phase: u16, arrived: u64) -> u64 {
        self.line.report(&Report::Arrived { phase, at: arrived });
        let met = self.wait(|order| match order {
            Order::Meet { phase: met, at } if met == phase => Some(at),
            _ => None,
        });
        met.unwrap_or(arrived)
    }

    fn first_done(&self, phase: u16) -> Arc<AtomicBool> {
        self.line.flag(phase)
    }

    fn tell_first_done(&self, phase: u16) {
        self.line.report(&Report::FirstDone { phase });
    }
}

/// Takes part in a run: executes the coordinator's `orders`, and writes to `reports`. `notice` is called for skipped lines of loads;
/// `verbs` answers a question in place of a part, with the folder of the files that came with it.
///
/// # Errors
/// The first unreadable message. Errors of the run are reported to the coordinator.
pub fn take_part<W: Write + Send + 'static>(
    coordinator: Coordinator,
    orders: impl Read + Send + 'static,
    reports: W,
    control: Arc<Control>,
    notice: impl Fn(&Path, &Notice) + Send + Sync + 'static,
    verbs: impl FnOnce(&Session, &Value, Option<&Path>) -> Result<Answered, NoAnswer>,
) -> io::Result<()> {
    let line = Arc::new(Line {
        out: Mutex::new(reports),
        control,
        first_done: Mutex::default(),
        heard: AtomicU64::new(monotonic_ns()),
        is_cut: AtomicBool::new(false),
        inputs: Mutex::default(),
        count: Mutex::default(),
    });
    let build = match coordinator {
        Coordinator::Here => None,
        Coordinator::Elsewhere => Some(hash_of(Path::new("/proc/self/exe"))?.0),
    };
    line.report(&Report::Hello { protocol: PROTOCOL, tool: TOOL.into(), clock: own_clock(), build });
    let member = Arc::new(Member { line: line.clone(), orders: Mutex::new(listen(orders, &line)?) });
    if coordinator == Coordinator::Elsewhere {
        let line = line.clone();
        std::thread::Builder::new().name("signs of life".into()).spawn(move || line.watch())?;
    }
    let done = match member.next()? {
        Some(Order::Prepare { plan, targets, dir, command, inputs }) => {
            let part = PartOfPlan { plan, targets, dir, command, inputs };
            execute_part(part, &member, notice)?
        }
        Some(Order::Ask { question, dir, command, shows_progress }) => {
            let asked = VerbQuestion { question, dir, command, shows_progress };
            answering::answer(asked, member.clone(), verbs);
            Ok(())
        }
        Some(Order::Collect { dir }) => collect(&dir, &member),
        _ => Ok(()),
    };
    if let Err(why) = done {
        line.report(&Report::Refused { why });
    }
    // Files of a question that did not come are removed: threads of the line live as long as the process.
    let _ = line.inputs().gathered();
    Ok(())
}

/// A part of a plan, as its coordinator sends it.
struct PartOfPlan {
    plan: String,
    targets: Vec<u16>,
    dir: Option<PathBuf>,
    command: String,
    inputs: Vec<InputFile>,
}

/// Prepares a part, and executes it when it is ordered to; the inner result has the reason of a refusal.
fn execute_part<W: Write + Send + 'static>(
    part: PartOfPlan,
    member: &Member<W>,
    notice: impl Fn(&Path, &Notice) + Send + Sync + 'static,
) -> io::Result<Result<(), String>> {
    let line = &member.line;
    let inputs = line.inputs().places(&part.inputs);
    let ready = inputs.and_then(|inputs| Ok((prepare(&part, &inputs, notice, &line.control)?, inputs)));
    let (ready, inputs) = match ready {
        Ok(ready) => ready,
        Err(why) => return Ok(Err(why)),
    };
    let prepared = ready.prepared();
    let environment = ready.environment(&Root::default());
    line.report(&Report::Prepared {
        told: announcement(prepared),
        info: Box::new(inputs.named_as_typed(prepared.info(TOOL, &part.command))),
        environment: serde_json::to_value(&environment)?,
        intent: Intent::of(prepared),
    });
    // Dropped here, the part undoes its preparations.
    let Some(Order::Run { archive, on_hosts, keeps_records }) = member.next()? else { return Ok(Ok(())) };
    let sends_files = archive.is_none();
    let dir = archive.map_or_else(|| scratch(keeps_records), Ok).map_err(|error| error.to_string());
    let begun = dir.and_then(|dir| {
        let begun = ready.begin(environment, &dir, &part.command).map_err(|error| error.to_string())?;
        Ok((begun, dir))
    });
    let (begun, dir) = match begun {
        Ok(begun) => begun,
        Err(why) => return Ok(Err(why)),
    };
    if sends_files {
        line.report(&Report::Scratch { dir: dir.clone() });
    }
    let show = |scene: &Scene<'_>| {
        if on_hosts {
            line.report_progress(scene);
        }
    };
    let ended = match begun.execute(&line.control, member, show) {
        Ok(ended) => ended,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let (info, skipped) = (inputs.named_as_typed(ended.info), ended.skipped);
    if on_hosts {
        // Additions: without them, only names and the findings of this machine are missing.
        let _ = ended.archive.write_run(&info);
        let _ = sum_up_part(&dir);
    }
    // Otherwise the records stay where `collect` looks for them.
    if line.is_cut.load(Relaxed) {
        return Ok(Ok(()));
    }
    if !keeps_records {
        deliver(&dir, info, skipped, sends_files, member);
    } else if let Some(counting) = member.count_order() {
        let counted = count_part(&dir, &part.targets, &counting);
        deliver_counts(&dir, counted, info, skipped, member);
    }
    Ok(Ok(()))
}

fn prepare(
    part: &PartOfPlan,
    inputs: &InputPlaces,
    notice: impl Fn(&Path, &Notice) + Send + Sync + 'static,
    control: &Arc<Control>,
) -> Result<Ready, String> {
    let plan = Plan::from_toml(&part.plan).map_err(|error| error.to_string())?;
    let plan = plan.with_input_files(|path| inputs.of(path));
    let inputs = inputs.clone();
    let notice = move |path: &Path, found: &Notice| notice(inputs.typed(path), found);
    if let Some(dir) = &part.dir {
        std::env::set_current_dir(dir)
            .map_err(|error| format!("working directory {}: {error}", shown(&dir)))?;
    }
    Ready::of_part(plan, &part.targets, &Root::default(), notice, control).map_err(|error| error.to_string())
}

/// Directory for records that stay: unlike that for temporary files, it survives a restart of the machine.
const KEPT_IN: &str = "/var/tmp";

/// Name of a directory that does not exist yet.
fn scratch(keeps_records: bool) -> io::Result<PathBuf> {
    let is_named = std::env::var_os("TMPDIR").is_some_and(|folder| !folder.is_empty());
    let folder = match (is_named, keeps_records) {
        (true, _) => std::env::temp_dir(),
        (false, true) => PathBuf::from(KEPT_IN),
        (false, false) => PathBuf::from("/tmp"),
    };
    // Fails if nothing can be created there.
    drop(temporary::file_in(&folder)?);
    Ok(folder.join(format!("iosonar-part-{}-{}", std::process::id(), monotonic_ns())))
}

/// Notes when bytes of the coordinator arrive.
struct Watched<R, W> {
    from: R,
    line: Arc<Line<W>>,
}

impl<R: Read, W> Read for Watched<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.line.heard.store(monotonic_ns(), Relaxed);
        Ok(read)
    }
}

/// Receives orders in a separate thread: a stop waits neither for preparation nor for requests.
fn listen<W: Write + Send + 'static>(
    orders: impl Read + Send + 'static,
    line: &Arc<Line<W>>,
) -> io::Result<Receiver<io::Result<Order>>> {
    let (pass_on, inbox) = channel();
    let line = line.clone();
    let mut orders = BufReader::new(Watched { from: orders, line: line.clone() });
    let listen = move || {
        while let Some(order) = hear(&mut orders).transpose() {
            let is_last = order.is_err();
            let order = order.map(|order| line.take(order, &mut orders)).transpose();
            if order.is_some_and(|order| pass_on.send(order).is_err()) || is_last {
                break;
            }
        }
        // The result has no receiver any more.
        if line.control.signal().is_none() {
            // As when a terminal is closed: the coordinator ended.
            line.control.stop(Signal::HANG_UP.0);
        }
    };
    // The thread ends with the process: the coordinator closes its side when it has the result.
    std::thread::Builder::new().name("orders".into()).spawn(listen)?;
    Ok(inbox)
}

/// Reports the end, after sending the files of the archive if the coordinator cannot read them. They stay until it has
/// received them: a broken connection loses no record.
fn deliver<W: Write>(dir: &Path, info: RunInfo, skipped: u64, sends_files: bool, member: &Member<W>) {
    let sent = match sends_files {
        true => send_files(dir, &member.line, |_| true)
            .map_err(|error| format!("the records cannot be sent: {error}")),
        false => Ok(()),
    };
    let is_received = report_end(sent, info, skipped, sends_files, member);
    if is_received {
        // A leftover is in a directory for temporary files.
        let _ = remove_archive(dir);
    }
}

/// Reports the end, or why the files cannot be sent. Returns whether the coordinator has confirmed files that were sent.
fn report_end<W: Write>(
    sent: Result<(), String>,
    info: RunInfo,
    skipped: u64,
    sends_files: bool,
    member: &Member<W>,
) -> bool {
    let is_sent = sent.is_ok();
    member.line.report(&match sent {
        Ok(()) => Report::Done { info: Box::new(info), skipped },
        Err(why) => Report::Refused { why },
    });
    sends_files && is_sent && member.is_received()
}

/// Reports the end with the counts of the records, which stay here.
fn deliver_counts<W: Write>(
    dir: &Path,
    counted: Result<(), String>,
    info: RunInfo,
    skipped: u64,
    member: &Member<W>,
) {
    let sent = counted.and_then(|()| {
        let is_sent = |name: &str| !OF_RECORDS.contains(&name);
        send_files(dir, &member.line, is_sent).map_err(|error| format!("the counts cannot be sent: {error}"))
    });
    report_end(sent, info, skipped, true, member);
}

/// Files of an archive that stay with its records.
const OF_RECORDS: [&str; 2] = [LOG, SERIES_LOG];

/// Sends the archive of a part whose coordinator was lost.
fn collect<W: Write>(dir: &Path, member: &Member<W>) -> Result<(), String> {
    let archive = Archive::open(dir).map_err(|error| error.to_string())?;
    let info = archive.run().clone();
    if info.part.is_none() {
        return Err(format!("{} is no part of a run on several hosts", shown(&dir)));
    }
    if archive.is_being_written() {
        return Err(format!("{} is still being written: try again later", shown(&dir)));
    }
    // An addition, as at the end of a run.
    let _ = sum_up_part(dir);
    deliver(dir, info, 0, true, member);
    Ok(())
}

/// Sends the records last: they can be read only with the other files.
fn send_files<W: Write>(dir: &Path, line: &Line<W>, is_sent: impl Fn(&str) -> bool) -> io::Result<()> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_sent(&name) && entry.file_type()?.is_file() {
            names.push(name);
        }
    }
    names.sort_by_key(|name| name == LOG);
    for name in names {
        let mut file = File::open(dir.join(&name))?;
        let bytes = file.metadata()?.len();
        let mut out = line.out.lock().unwrap_or_else(PoisonError::into_inner);
        say(&mut *out, &Report::File { name, bytes })?;
        let copied = io::copy(&mut io::Read::take(&mut file, bytes), &mut *out)?;
        if copied != bytes {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a file became shorter"));
        }
        out.flush()?;
    }
    Ok(())
}
