//! Signals: during a run, or while its result is finished, the first requests an orderly end and the second ends the program; before that,
//! one ends the program. SIGUSR1 requests a status line.

use crate::output::{print_lines, print_message};
use crate::screen;
use iosonar_engine::Control;
use iosonar_os::is_ignored;
use iosonar_runner::abort;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::JoinHandle;

/// Ctrl-Z: stops with a restored terminal, and shows the view again on continuation.
fn stop_for_a_while() {
    screen::suspend();
    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
    screen::resume();
}

/// Reports once that SIGINT was ignored before the program started and does not end it, and which signal does. A shell without job control
/// ignores it for each background command.
fn tell_ignored_interrupt() {
    static TOLD: Once = Once::new();
    if !is_ignored(SIGINT) {
        return;
    }
    let pid = std::process::id();
    let remedy = match is_ignored(SIGTERM) {
        false => format!("to end this command in order, send SIGTERM: kill {pid}"),
        true => format!("SIGTERM is ignored, too, so only SIGKILL ends this command: kill -KILL {pid}"),
    };
    TOLD.call_once(|| {
        print_message(format_args!(
            "iosonar: SIGINT is ignored, as in each background command of a script; {remedy}"
        ))
    });
}

/// Lets a write beyond the limit of file sizes (`ulimit -f`) fail with `EFBIG`, in place of a signal that ends the program. Programs
/// started by this one have the default action: a handler, unlike an ignored signal, is not inherited.
pub fn survive_file_size_limit() {
    if !is_ignored(SIGXFSZ) {
        // Without a handler the signal would still end the program.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    }
}

/// Ends the program. Several threads may receive a signal: the others wait until all is undone.
fn end_program(signal: i32) -> ! {
    abort::undo_and(|| std::process::exit(128 + signal));
    unreachable!("the process has ended")
}

/// Stops commands that change no target on a signal; the second signal ends the program after calling `abort`, which must remove temporary
/// state.
pub fn stop_on_signal(control: Arc<Control>, abort: impl Fn() + Send + 'static) -> std::io::Result<()> {
    tell_ignored_interrupt();
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGTSTP].into_iter().filter(|s| !is_ignored(*s));
    let mut signals = Signals::new(wanted)?;
    let listen = move || {
        for signal in signals.forever() {
            if signal == SIGTSTP {
                stop_for_a_while();
            } else if control.signal().is_none() {
                control.stop(signal);
            } else {
                screen::restore();
                abort();
                end_program(signal);
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen)?;
    Ok(())
}

/// A status line was requested.
static STATUS_WANTED: AtomicBool = AtomicBool::new(false);

/// Whether a status line was requested since the last call.
pub fn take_status_request() -> bool {
    STATUS_WANTED.swap(false, Relaxed)
}

/// Handles signals until dropped.
pub struct Listener {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    phase: Arc<AtomicU8>,
    kept: Arc<Mutex<String>>,
}

/// State of the run when a signal arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Nothing has started that could be lost.
    Preparing = 0,
    /// Other processes prepare. They remove what they have created.
    Assembling = 3,
    /// Dirty pages are written back, and targets are probed. A signal may cut both short.
    LookingAhead = 4,
    /// The run can be stopped in order.
    Running = 1,
    /// The run has ended, and its result is being finished.
    Finishing = 2,
    /// The same, after a signal was answered with that. The next signal ends the program.
    FinishingReported = 5,
}

/// The current state.
#[derive(Debug, Clone, Default)]
pub struct PresentPhase(Arc<AtomicU8>);

impl PresentPhase {
    /// Sets the state.
    pub fn set(&self, phase: Phase) {
        self.0.store(phase as u8, Relaxed);
    }
}

impl Listener {
    /// Starts listening. An ignored signal stays ignored: a run under `nohup` survives its terminal.
    pub fn start(control: Arc<Control>) -> std::io::Result<Listener> {
        tell_ignored_interrupt();
        let wanted = [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGTSTP].into_iter().filter(|s| !is_ignored(*s));
        let mut signals = Signals::new(wanted)?;
        let handle = signals.handle();
        let phase = Arc::new(AtomicU8::new(Phase::Preparing as u8));
        let present = phase.clone();
        let kept = "what a run recorded until now can be read with 'iosonar show'";
        let kept = Arc::new(Mutex::new(kept.to_string()));
        let aborted = kept.clone();
        let listen = move || {
            for signal in signals.forever() {
                let phase = present.load(Relaxed);
                match signal {
                    SIGTSTP => stop_for_a_while(),
                    SIGUSR1 => STATUS_WANTED.store(true, Relaxed),
                    _ if phase == Phase::Finishing as u8 && control.signal().is_none() => {
                        let reported = Phase::FinishingReported as u8;
                        let _ = present.compare_exchange(phase, reported, Relaxed, Relaxed);
                        print_lines(
                            "\niosonar: the run is over, its result is being finished (a second Ctrl-C aborts)",
                        );
                    }
                    _ if phase == Phase::LookingAhead as u8 && control.signal().is_none() => {
                        control.stop(signal)
                    }
                    _ if phase == Phase::Assembling as u8 && control.signal().is_none() => {
                        control.stop(signal);
                        print_lines(
                            "\niosonar: stopping; waiting for the processes of the run (a second Ctrl-C aborts)",
                        );
                    }
                    _ if phase == Phase::Running as u8 && control.signal().is_none() => {
                        control.stop(signal);
                        print_lines(
                            "\niosonar: stopping; waiting for requests in flight (a second Ctrl-C aborts)",
                        );
                    }
                    _ if phase == Phase::Assembling as u8 => {
                        print_lines("\niosonar: aborted; nothing was recorded");
                        end_program(signal);
                    }
                    _ => {
                        screen::restore();
                        let kept = aborted.lock().unwrap_or_else(PoisonError::into_inner);
                        print_lines(format_args!("\niosonar: aborted; {kept}"));
                        end_program(signal);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".into()).spawn(listen)?;
        Ok(Listener { handle, thread: Some(thread), phase, kept })
    }

    /// Sets the state for later signals.
    pub fn set_phase(&self, phase: Phase) {
        self.phase().set(phase);
    }

    /// Returns a handle for setting the state elsewhere.
    pub fn phase(&self) -> PresentPhase {
        PresentPhase(self.phase.clone())
    }

    /// Sets the text on kept data for a second signal, which ends the program.
    pub fn set_kept(&self, kept: impl Into<String>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept.into();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
