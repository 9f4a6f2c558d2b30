//! The terminal while a run is shown on it: keys, the alternate screen, frames that a slow terminal may miss, and the
//! promise that it is left as it was found.
//!
//! There is one terminal and there are many ways to end, a panic among them, so what must be restored is known to the whole
//! program.

use iosonar_os::Terminal;
use iosonar_view::live::Frame;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::{Duration, Instant};

const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
/// How long a terminal may take to be left, if it takes nothing.
const PATIENCE: Duration = Duration::from_millis(500);
/// Most sentences that are kept for the time after.
const MOST_SAID: usize = 1000;

/// The program is about to stop: nobody takes the terminal meanwhile.
static IS_SUSPENDED: AtomicBool = AtomicBool::new(false);

/// What has to be undone.
#[derive(Default)]
struct Held {
    terminal: Option<Terminal>,
    /// Its keys come here.
    has_keys: bool,
    /// The alternate screen is shown.
    is_entered: bool,
    /// What was said meanwhile.
    said: Vec<String>,
    /// Sentences that were said in all.
    sentences: usize,
}

impl Held {
    /// Takes the keys if that can be done now; says whether they come here.
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
/// So that nobody who only says something has to wait.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal's keys and its screen; both are given back when this goes.
pub struct Screen {
    sent: Option<Frame>,
    /// What the terminal did not take yet.
    rest: Vec<u8>,
    /// Frames that it missed.
    missed: u64,
    entered: bool,
}

impl Screen {
    /// Takes the keys of standard error's terminal; none where it is no terminal, or belongs to somebody else.
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

    /// Shows the alternate screen.
    pub fn enter(&mut self) {
        let mut held = held();
        if !held.take_keys() {
            return;
        }
        (self.sent, self.rest, self.entered) = (None, ENTER.into(), true);
        held.is_entered = true;
        IS_ENTERED.store(true, Relaxed);
    }

    /// Shows what was there before; what was said meanwhile is said now.
    pub fn leave(&mut self) {
        self.entered = false;
        leave(&mut held());
    }

    /// Whether frames are shown. Somebody else may have left the screen: a panic.
    pub fn is_entered(&self) -> bool {
        self.entered && IS_ENTERED.load(Relaxed)
    }

    /// Shows a frame, if the terminal has taken the one before.
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

    /// Sends all of the next frame.
    pub fn refresh(&mut self) {
        self.sent = None;
    }

    /// Frames that the terminal was too slow for.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Keys that were pressed within this time.
    pub fn keys(&self, most: Duration) -> Vec<u8> {
        // It is not held while this waits: whoever restores it must not have to.
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
    // All at once: however much was said, a terminal that takes nothing is waited for only once.
    let mut text = String::from(if is_left { LEAVE } else { "" });
    for said in held.said.drain(..) {
        text.push_str(&said);
        text.push('\n');
    }
    if !text.is_empty() {
        write(held, &text);
    }
    // Only now: who says something meanwhile waits, and does not write into the screen that goes.
    IS_ENTERED.store(false, Relaxed);
}

/// Writes to the terminal, which may take nothing: then this is lost, and nobody waits. To standard error where there is no
/// terminal.
fn write(held: &Held, text: &str) {
    match &held.terminal {
        Some(terminal) => terminal.write_within(text.as_bytes(), PATIENCE),
        None => {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Writes to the terminal without waiting for one that takes nothing.
pub fn put(text: &str) {
    write(&held(), text);
}

/// Restores screen and keys, wherever the program is.
pub fn restore() {
    let end = Instant::now() + PATIENCE;
    let mut held = loop {
        match HELD.try_lock() {
            Ok(held) => break held,
            Err(TryLockError::Poisoned(held)) => break held.into_inner(),
            // It panicked while it held it, or something takes very long: there is nothing to be done.
            Err(TryLockError::WouldBlock) if Instant::now() > end => return,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    leave(&mut held);
    if let Some(terminal) = held.terminal.take().filter(Terminal::is_foreground) {
        terminal.give_keys_back();
    }
}

/// Before the program stops (Ctrl-Z): gives screen and keys back.
pub fn suspend() {
    IS_SUSPENDED.store(true, Relaxed);
    let mut held = held();
    leave(&mut held);
    held.has_keys = false;
    if let Some(terminal) = held.terminal.as_ref().filter(|t| t.is_foreground()) {
        terminal.give_keys_back();
    }
}

/// After that: who needs them may take them again.
pub fn resume() {
    IS_SUSPENDED.store(false, Relaxed);
}

/// Keeps a sentence for later if the screen is not there for it now; returns it otherwise.
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

/// The last sentence that was kept, and how many there were.
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
