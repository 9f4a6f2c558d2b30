//! One process of several: it prepares its part of the plan, waits for the others where phases start, and keeps its records.

use crate::protocol::{Order, PROTOCOL, Report, hear, say};
use iosonar_archive::remove_archive;
use iosonar_archive::{LOG, TOOL};
use iosonar_engine::{Control, Prepared, Rendezvous};
use iosonar_host::Root;
use iosonar_load::Notice;
use iosonar_os::{monotonic_ns, temporary};
use iosonar_plan::Plan;
use iosonar_runner::{Ended, Intent, Ready};
use iosonar_text::shown;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a wait for the coordinator lasts before it looks whether the run is stopped.
const POLL: Duration = Duration::from_millis(20);
/// The signal that a process takes the end of its coordinator for: that of a terminal that is gone.
const SIGHUP: i32 = 1;

/// What both threads of a process use: the one that listens, and the one that runs.
struct Line<W> {
    out: Mutex<W>,
    control: Arc<Control>,
    /// Of each phase: whether its first job is done.
    first_done: Mutex<HashMap<u16, Arc<AtomicBool>>>,
}

impl<W: Write> Line<W> {
    /// The coordinator that no longer reads is known from the end of its messages.
    fn report(&self, report: &Report) {
        let _ = say(&mut *self.out.lock().unwrap_or_else(PoisonError::into_inner), report);
    }

    fn flag(&self, phase: u16) -> Arc<AtomicBool> {
        self.first_done.lock().unwrap_or_else(PoisonError::into_inner).entry(phase).or_default().clone()
    }

    /// Does at once what must not wait for the run; returns the rest.
    fn take(&self, order: Order) -> Option<Order> {
        match order {
            Order::Ping { number } => self.report(&Report::Pong { number, time: monotonic_ns() }),
            Order::FirstDone { phase } => self.flag(phase).store(true, Relaxed),
            Order::Stop { signal } => self.control.stop(signal),
            other => return Some(other),
        }
        None
    }
}

/// The other processes, as this one meets them.
struct Member<W> {
    line: Arc<Line<W>>,
    orders: Mutex<Receiver<io::Result<Order>>>,
}

impl<W: Write> Member<W> {
    /// The next order; none at the end.
    fn next(&self) -> io::Result<Option<Order>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).recv().ok().transpose()
    }

    /// Waits until the coordinator has the whole archive; whether it has it.
    fn is_received(&self) -> bool {
        while let Ok(Some(order)) = self.next() {
            if order == Order::Received {
                return true;
            }
        }
        false
    }

    /// Waits for the order that `wanted` recognises; none if the run is stopped first.
    fn wait<T>(&self, wanted: impl Fn(Order) -> Option<T>) -> Option<T> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // An order that came before the stop holds: the other processes follow it, too.
            let is_stopped = self.line.control.is_stopped(iosonar_plan::Nanos(0));
            match orders.recv_timeout(if is_stopped { Duration::ZERO } else { POLL }) {
                Ok(Ok(order)) => match wanted(order) {
                    Some(found) => return Some(found),
                    // Of a phase that is over.
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
            // Nothing has been done yet, so nothing begins.
            None if phase == 0 => Err("the run was stopped before it started".into()),
            // A phase that is stopped begins and ends at once: its state says so.
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

/// Which clock this process reads: the kernel that was booted, and the time namespace.
fn clock() -> String {
    let boot = Root::default().read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
    format!("{boot} {}", namespace.display())
}

/// Takes part in a run: executes what the coordinator says on `orders`, and reports to `reports`. `tell` puts into words what a
/// user should know of a prepared part; `notice` hears of lines of loads that are skipped.
///
/// # Errors
/// The first message that cannot be read. What goes wrong with the run is reported to the coordinator.
pub fn take_part<W: Write + Send + 'static>(
    orders: impl BufRead + Send + 'static,
    reports: W,
    control: Arc<Control>,
    tell: impl Fn(&Prepared) -> Vec<String>,
    notice: impl Fn(&Path, &Notice) + Send + Sync + 'static,
) -> io::Result<()> {
    let line = Arc::new(Line { out: Mutex::new(reports), control, first_done: Mutex::default() });
    line.report(&Report::Hello { protocol: PROTOCOL, tool: TOOL.into(), clock: clock() });
    let member = Member { line: line.clone(), orders: Mutex::new(listen(orders, &line)?) };
    let Some(Order::Prepare { plan, targets, dir, command }) = member.next()? else { return Ok(()) };
    let refuse = |why: String| line.report(&Report::Refused { why });
    let ready = match prepare(&plan, &targets, dir.as_deref(), notice, &line.control) {
        Ok(ready) => ready,
        Err(why) => {
            refuse(why);
            return Ok(());
        }
    };
    let prepared = ready.prepared();
    let environment = ready.environment(&Root::default());
    line.report(&Report::Prepared {
        told: tell(prepared),
        info: Box::new(prepared.info(TOOL, &command)),
        environment: serde_json::to_value(&environment)?,
        intent: Intent::of(prepared),
    });
    // Dropped here, the part takes back what was made for it.
    let Some(Order::Run { archive }) = member.next()? else { return Ok(()) };
    let dir = match archive.clone().map_or_else(scratch, Ok) {
        Ok(dir) => dir,
        Err(error) => {
            refuse(error.to_string());
            return Ok(());
        }
    };
    let begun = match ready.begin(environment, &dir, &command) {
        Ok(begun) => begun,
        Err(error) => {
            refuse(error.to_string());
            return Ok(());
        }
    };
    if archive.is_none() {
        line.report(&Report::Scratch { dir });
    }
    match begun.execute(&line.control, &member, |_| {}) {
        Ok(ended) => deliver(ended, archive.is_none(), &member),
        Err(error) => refuse(error.to_string()),
    }
    Ok(())
}

fn prepare(
    plan: &str,
    targets: &[u16],
    dir: Option<&Path>,
    notice: impl Fn(&Path, &Notice) + Send + Sync + 'static,
    control: &Arc<Control>,
) -> Result<Ready, String> {
    let plan = Plan::from_toml(plan).map_err(|error| error.to_string())?;
    if let Some(dir) = dir {
        std::env::set_current_dir(dir)
            .map_err(|error| format!("working directory {}: {error}", shown(&dir)))?;
    }
    Ready::of_part(plan, targets, &Root::default(), notice, control).map_err(|error| error.to_string())
}

/// A name for a directory that does not exist yet.
fn scratch() -> io::Result<PathBuf> {
    // One that cannot be created there is told as such.
    drop(temporary::file()?);
    Ok(std::env::temp_dir().join(format!("iosonar-part-{}-{}", std::process::id(), monotonic_ns())))
}

/// Hears the coordinator in a thread of its own: a stop waits neither for preparation nor for requests.
fn listen<W: Write + Send + 'static>(
    mut orders: impl BufRead + Send + 'static,
    line: &Arc<Line<W>>,
) -> io::Result<Receiver<io::Result<Order>>> {
    let (pass_on, inbox) = channel();
    let line = line.clone();
    let listen = move || {
        while let Some(order) = hear(&mut orders).transpose() {
            let is_last = order.is_err();
            let order = order.map(|order| line.take(order)).transpose();
            if order.is_some_and(|order| pass_on.send(order).is_err()) || is_last {
                break;
            }
        }
        // Nobody waits for the result any more.
        if line.control.signal().is_none() {
            line.control.stop(SIGHUP);
        }
    };
    // It ends with the process: the coordinator closes its side when it has the result.
    std::thread::Builder::new().name("orders".into()).spawn(listen)?;
    Ok(inbox)
}

/// Reports the end, after the files of the archive where the coordinator cannot read them. They stay until it has received them:
/// a connection that breaks costs no record.
fn deliver<W: Write>(ended: Ended, sends_files: bool, member: &Member<W>) {
    let dir = ended.archive.dir();
    let sent = match sends_files {
        true => send_files(dir, &member.line).map_err(|error| format!("the records cannot be sent: {error}")),
        false => Ok(()),
    };
    let is_sent = sent.is_ok();
    member.line.report(&match sent {
        Ok(()) => Report::Done { info: Box::new(ended.info), skipped: ended.skipped },
        Err(why) => Report::Refused { why },
    });
    if sends_files && is_sent && member.is_received() {
        // What cannot be removed is in a directory for temporary files.
        let _ = remove_archive(dir);
    }
}

/// Sends the records last: what the coordinator has of them can be read only with the other files.
fn send_files<W: Write>(dir: &Path, line: &Line<W>) -> io::Result<()> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
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
