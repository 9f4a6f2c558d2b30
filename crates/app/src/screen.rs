//! The terminal while a run is shown on it: keys, the alternate screen, frames that a slow terminal may miss, and its restoration.
//!
//! There is one terminal and there are many ways to end, a panic among them, so the state to be restored is global.

use iosonar_os::Terminal;
use iosonar_view::live::Frame;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::{Duration, Instant};

const ENTER_SCREEN: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J";
const LEAVE_SCREEN: &str = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Maximum wait when leaving a terminal that takes no output.
const PATIENCE: Duration = Duration::from_millis(500);
/// Maximum number of messages kept until the view ends.
const MOST_SAID: usize = 1000;

/// The program is about to stop: the terminal must not be taken meanwhile.
static IS_SUSPENDED: AtomicBool = AtomicBool::new(false);

/// State to be restored.
#[derive(Default)]
struct Held {
    terminal: Option<Terminal>,
    /// Its keys are read here.
    has_keys: bool,
    /// The alternate screen is shown.
    is_entered: bool,
    /// Messages during the view.
    said: Vec<String>,
    /// Number of all messages.
    sentences: usize,
}

impl Held {
    /// Takes the keys if possible now; returns whether they are read here.
    fn take_keys(&mut self) -> bool {
        let Some(terminal) = self.terminal.as_ref().filter(|t| t.is_foreground()) else { return false };
        if IS_SUSPENDED.load(Relaxed) {
            return false;
        }
        if !self.has_keys {
            self.has_keys = terminal.take_keys().is_ok();
        }
        self.has_keys
    }
}

static HELD: Mutex<Held> =
    Mutex::new(Held { terminal: None, has_keys: false, is_entered: false, said: Vec::new(), sentences: 0 });
/// Lets messages avoid the lock outside of the view.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal's keys and its screen; both are given back on drop.
pub struct Screen {
    sent: Option<Frame>,
    /// Output that the terminal has not taken yet.
    rest: Vec<u8>,
    /// Frames that it missed.
    missed: u64,
    entered: bool,
}

impl Screen {
    /// Takes the keys of standard error's terminal; `None` if it is no terminal, or another user's.
    pub fn open() -> Option<Screen> {
        let terminal = Terminal::open().ok().flatten()?;
        restore_on_panic();
        let mut held = held();
        held.terminal = Some(terminal);
        held.take_keys();
        Some(Screen { sent: None, rest: Vec::new(), missed: 0, entered: false })
    }

    /// Columns and rows of the terminal.
    pub fn size(&self) -> Option<(usize, usize)> {
        held().terminal.as_ref()?.size()
    }

    /// Enters the alternate screen.
    pub fn enter(&mut self) {
        let mut held = held();
        if !held.take_keys() {
            return;
        }
        (self.sent, self.rest, self.entered) = (None, ENTER_SCREEN.into(), true);
        held.is_entered = true;
        IS_ENTERED.store(true, Relaxed);
    }

    /// Restores the previous screen; messages kept meanwhile are printed.
    pub fn leave(&mut self) {
        self.entered = false;
        leave(&mut held());
    }

    /// Whether frames are shown. A panic may have left the screen.
    pub fn is_entered(&self) -> bool {
        self.entered && IS_ENTERED.load(Relaxed)
    }

    /// Shows a frame if the terminal has taken the previous one.
    pub fn show(&mut self, frame: Frame) {
        let held = held();
        let Some(terminal) = held.terminal.as_ref().filter(|t| held.is_entered && t.is_foreground()) else {
            return;
        };
        self.rest.drain(..terminal.write_some(&self.rest).unwrap_or(self.rest.len()));
        if !self.rest.is_empty() {
            self.missed += 1;
            return;
        }
        self.rest = frame.changes(self.sent.as_ref()).into_bytes();
        self.sent = Some(frame);
        self.rest.drain(..terminal.write_some(&self.rest).unwrap_or(self.rest.len()));
    }

    /// Sends the next frame completely.
    pub fn refresh(&mut self) {
        self.sent = None;
    }

    /// Frames missed by a slow terminal.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Keys pressed within this time.
    pub fn keys(&self, most: Duration) -> Vec<u8> {
        // The lock is not held during the wait: restoring must not wait for it.
        let end = Instant::now() + most;
        loop {
            let mut held = held();
            if !held.take_keys() {
                break;
            }
            let keys = held.terminal.as_ref().map(Terminal::keys).unwrap_or_default();
            if !keys.is_empty() {
                return keys;
            }
            drop(held);
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Vec::new();
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        Vec::new()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn leave(held: &mut Held) {
    let is_left = std::mem::take(&mut held.is_entered) && held.terminal.is_some();
    // All at once: a terminal that takes no output costs only one wait, for any number of messages.
    let mut text = String::from(if is_left { LEAVE_SCREEN } else { "" });
    for said in held.said.drain(..) {
        text.push_str(&said);
        text.push('\n');
    }
    if !text.is_empty() {
        write(held, &text);
    }
    // Only now: other messages wait meanwhile, and are not written into the screen that is being left.
    IS_ENTERED.store(false, Relaxed);
}

/// Writes to the terminal; output that it does not take in time is lost. Without a terminal, writes to standard error.
fn write(held: &Held, text: &str) {
    match &held.terminal {
        Some(terminal) => terminal.write_within(text.as_bytes(), PATIENCE),
        None => {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Writes to the terminal with a limited wait.
pub fn put(text: &str) {
    write(&held(), text);
}

/// Restores screen and keys, from any state.
pub fn restore() {
    let end = Instant::now() + PATIENCE;
    let mut held = loop {
        match HELD.try_lock() {
            Ok(held) => break held,
            Err(TryLockError::Poisoned(held)) => break held.into_inner(),
            // It panicked while holding the lock, or another thread takes very long: give up.
            Err(TryLockError::WouldBlock) if Instant::now() > end => return,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    leave(&mut held);
    if let Some(terminal) = held.terminal.take().filter(Terminal::is_foreground) {
        terminal.give_keys_back();
    }
}

/// Gives screen and keys back before the program stops (Ctrl-Z).
pub fn suspend() {
    IS_SUSPENDED.store(true, Relaxed);
    let mut held = held();
    leave(&mut held);
    held.has_keys = false;
    if let Some(terminal) = held.terminal.as_ref().filter(|t| t.is_foreground()) {
        terminal.give_keys_back();
    }
}

/// Allows taking them again afterwards.
pub fn resume() {
    IS_SUSPENDED.store(false, Relaxed);
}

/// Keeps a message for later while the view is shown; returns it otherwise.
pub fn keep(text: String) -> Option<String> {
    if !IS_ENTERED.load(Relaxed) {
        return Some(text);
    }
    let mut held = held();
    if !held.is_entered {
        return Some(text);
    }
    held.sentences += 1;
    if held.said.len() < MOST_SAID {
        held.said.push(text);
    }
    None
}

/// Number of messages during views, and the last one kept.
pub fn last_said() -> (usize, Option<String>) {
    let held = held();
    (held.sentences, held.said.last().cloned())
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}
