//! Signals: while a run goes on, the first asks it to stop and the second ends the program; before and after it,
//! one ends the program. SIGUSR1 asks for a status line.

use crate::output::tell;
use iosonar_engine::Control;
use iosonar_os::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::{Handle, Signals};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// Listens while it lives.
pub struct Listener {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    running: Arc<AtomicBool>,
}

impl Listener {
    /// Starts listening; `status` is set when a status line is wanted. A signal that is ignored stays ignored: a run
    /// under `nohup` survives its terminal.
    pub fn start(control: Arc<Control>, status: Arc<AtomicBool>) -> std::io::Result<Listener> {
        let wanted = [SIGINT, SIGTERM, SIGHUP, SIGUSR1].into_iter().filter(|s| !is_ignored(*s));
        let mut signals = Signals::new(wanted)?;
        let handle = signals.handle();
        let running = Arc::new(AtomicBool::new(false));
        let is_running = running.clone();
        let listen = move || {
            for signal in signals.forever() {
                match signal {
                    SIGUSR1 => status.store(true, Relaxed),
                    _ if is_running.load(Relaxed) && control.signal().is_none() => {
                        control.stop(signal);
                        tell("\niosonar: stopping; waiting for requests in flight (a second Ctrl-C aborts)");
                    }
                    _ => {
                        tell(
                            "\niosonar: aborted; what a run recorded until now can be read with 'iosonar show'",
                        );
                        std::process::exit(128 + signal);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".into()).spawn(listen)?;
        Ok(Listener { handle, thread: Some(thread), running })
    }

    /// Says whether a run goes on that can be stopped in order.
    pub fn set_running(&self, running: bool) {
        self.running.store(running, Relaxed);
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
