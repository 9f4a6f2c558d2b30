//! Signals: the first asks the run to stop, the second ends the program; SIGUSR1 asks for a status line.

use crate::output::tell;
use iosonar_engine::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::{Handle, Signals};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// Listens while it lives.
pub struct Listener {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts listening; `status` is set when a status line is wanted.
    pub fn start(control: Arc<Control>, status: Arc<AtomicBool>) -> std::io::Result<Listener> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])?;
        let handle = signals.handle();
        let listen = move || {
            for signal in signals.forever() {
                match signal {
                    SIGUSR1 => status.store(true, Relaxed),
                    _ if control.signal().is_some() => {
                        tell(
                            "\niosonar: aborted; what was recorded until now can be read with 'iosonar show'",
                        );
                        std::process::exit(128 + signal);
                    }
                    _ => {
                        control.stop(signal);
                        tell("\niosonar: stopping; waiting for requests in flight (a second Ctrl-C aborts)");
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".into()).spawn(listen)?;
        Ok(Listener { handle, thread: Some(thread) })
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
