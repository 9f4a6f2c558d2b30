//! The live view on this terminal: its keys, colours and frames; for runs and archives.

use crate::screen::{self, Screen, last_said};
use iosonar_archive::TargetInfo;
use iosonar_judge::is_wrong_size;
use iosonar_os::create::new_file;
use iosonar_plan::{OverlapPolicy, Plan, Workload};
use iosonar_text::shown;
use iosonar_text::units::Charset;
use iosonar_text::units::clock;
use iosonar_view::live::{Filter, LEAST, LiveState, Ramp, Setting, draw};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a note replaces the keys.
const NOTED: Duration = Duration::from_secs(5);

/// Capabilities of the terminal, from its environment.
pub fn style() -> (Ramp, Charset) {
    let of = |name: &str| std::env::var(name).ok();
    let ramp = Ramp::of(of("NO_COLOR").as_deref(), of("COLORTERM").as_deref(), of("TERM").as_deref());
    (ramp, charset())
}

/// Whether the locale's encoding is Unicode.
fn charset() -> Charset {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
    let locale = named.into_iter().find(|locale| !locale.is_empty()).unwrap_or_default().to_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") { Charset::Unicode } else { Charset::Ascii }
}

/// State of the view, and its terminal.
pub struct LiveView {
    pub state: LiveState,
    /// It is shown if the terminal is large enough.
    pub is_wanted: bool,
    screen: Screen,
    style: (Ramp, Charset),
    noted: Option<Instant>,
    sentences: usize,
    begun: Instant,
    cpu_ns: u64,
}

impl LiveView {
    /// Creates the view without showing it.
    pub fn new(setting: Setting, screen: Screen, is_wanted: bool) -> LiveView {
        let cpu_ns = iosonar_os::usage::thread_cpu_ns();
        LiveView {
            state: LiveState::new(setting),
            is_wanted,
            screen,
            style: style(),
            noted: None,
            sentences: 0,
            begun: Instant::now(),
            cpu_ns,
        }
    }

    /// Keys pressed within this time.
    pub fn keys(&self, most: Duration) -> Vec<u8> {
        self.screen.keys(most)
    }

    /// Whether it is on the terminal now.
    pub fn is_shown(&self) -> bool {
        self.screen.is_entered()
    }

    /// Restores the previous screen.
    pub fn leave(&mut self) {
        self.is_wanted = false;
        self.screen.leave();
    }

    /// Shows a note in place of the keys, for a while.
    pub fn note(&mut self, text: impl Into<String>) {
        self.state.set_note(Some(text.into()));
        self.noted = Some(Instant::now());
    }

    /// Draws, if wanted and possible; returns whether it is shown.
    pub fn show(&mut self) -> bool {
        let size = self.screen.size().filter(|size| size.0 >= LEAST.0 && size.1 >= LEAST.1);
        let Some(size) = size.filter(|_| self.is_wanted) else {
            if self.screen.is_entered() {
                self.screen.leave();
            }
            return false;
        };
        if !self.screen.is_entered() {
            self.screen.enter();
        }
        self.tell_what_was_said();
        if self.noted.is_some_and(|since| since.elapsed() >= NOTED) {
            self.noted = None;
            self.state.set_note(None);
        }
        let frame = draw(&self.state, size, self.style.0, self.style.1);
        self.screen.show(frame);
        self.screen.is_entered()
    }

    /// Reports on one line that the terminal is too small.
    pub fn too_small(&self) {
        let text = format!("\r\x1b[Kthe terminal is smaller than {} x {}; q ends", LEAST.0, LEAST.1);
        screen::put(&text);
    }

    fn tell_what_was_said(&mut self) {
        let (sentences, last) = last_said();
        if sentences != self.sentences {
            self.sentences = sentences;
            self.note(last.unwrap_or_default().trim());
        }
    }

    /// Handles a key that has the same meaning for runs and archives.
    pub fn act(&mut self, key: u8, dir: &Path) {
        match key {
            b'+' | b'=' => self.state.widen(),
            b'-' => self.state.narrow(),
            b'r' => self.state.toggle(Filter::Reads),
            b'w' => self.state.toggle(Filter::Writes),
            b'l' => self.state.toggle_log(),
            b's' => self.save(dir),
            b'?' | b'h' => self.state.toggle_help(self.help()),
            // Ctrl-L
            12 => self.screen.refresh(),
            _ => {}
        }
    }

    /// Saves the picture as text and as PNG in the result, or in the current directory if the result is not writable.
    fn save(&mut self, dir: &Path) {
        let size = self.screen.size().unwrap_or((80, 24));
        let note = self.state.note().map(String::from);
        self.state.set_note(None);
        let text = draw(&self.state, size, Ramp::Mono, self.style.1).to_text();
        let png = draw(&self.state, size, Ramp::True, Charset::Unicode).to_png();
        self.state.set_note(note);
        let stem = format!("live-{}", clock(self.state.moment().time.0).replace(':', "-"));
        let written = [dir, Path::new(".")].into_iter().find_map(|dir| {
            let path = unused(dir, &stem);
            let picture = path.with_extension("png");
            let write = |path: &Path, bytes: &[u8]| new_file(path)?.write_all(bytes);
            let written = write(&path, text.as_bytes()).and_then(|()| write(&picture, &png));
            written.is_ok().then_some(path)
        });
        match written {
            Some(path) => self.note(format!("saved as {} and .png", shown(&path))),
            None => {
                self.note("the picture cannot be saved: neither the result nor this directory can be written")
            }
        }
    }

    fn help(&self) -> Vec<String> {
        let used = iosonar_os::usage::thread_cpu_ns().saturating_sub(self.cpu_ns);
        let share = used as f64 / self.begun.elapsed().as_nanos().max(1) as f64;
        let keys = [
            "q      ends; of a run: in order, its result is kept",
            "+ -    more or less time in the pictures",
            "r w    reads or writes alone, and all again",
            "l      logarithmic scale of IO/s, and linear again",
            "s      saves the picture as text and as PNG",
            "v      to the progress line and back (of a run)",
            "?      this, and away",
            "",
            "Last 1 s: response times, from due to completed.",
            "Sonar: latencies, from submitted to completed, two",
            "rows for each decade; brighter: more requests.",
        ];
        let own =
            format!("This view: {:.2} % of one CPU, {} frames missed", 100.0 * share, self.screen.missed());
        keys.into_iter().map(String::from).chain([String::new(), own]).collect()
    }
}

/// `STEM.txt`, with a number where that, or its picture, exists.
fn unused(dir: &Path, stem: &str) -> PathBuf {
    let numbered = (2..).map(|n| dir.join(format!("{stem}-{n}.txt")));
    let mut names = std::iter::once(dir.join(format!("{stem}.txt"))).chain(numbered);
    names.find(|path| !path.exists() && !path.with_extension("png").exists()).unwrap_or_default()
}

/// Source and target, overlap policy, and maximum number of requests in flight, where known.
pub fn title_of(targets: &[TargetInfo], plan: &Plan, depth: Option<u32>) -> String {
    let name = |path: &str| {
        let name = Path::new(path).file_name().map(|n| n.to_string_lossy().into_owned());
        name.unwrap_or_else(|| path.to_string())
    };
    let more = if targets.len() > 1 { format!(" and {} more", targets.len() - 1) } else { String::new() };
    let source = |source: &str| match source.split_once(" | ") {
        Some((file, filter)) => format!("{} | {filter}", name(file)),
        None => name(source),
    };
    let what =
        targets.first().map_or(String::new(), |t| format!("{} -> {}", source(&t.source), name(&t.path)));
    let is_load = plan.jobs().any(|(_, job)| matches!(job.workload, Workload::Trace(_)));
    let policy = match plan.overlap.policy {
        _ if !is_load => "",
        OverlapPolicy::Allow => "  allow",
        OverlapPolicy::Drop => "  drop",
        OverlapPolicy::PushBack => "  push-back",
        OverlapPolicy::Order => "  order",
    };
    let depth = depth.map_or("unknown".to_string(), |depth| depth.to_string());
    format!("{what}{more}{policy}  depth {depth}")
}

/// Cautions that are known before the start.
pub fn cautions_of(plan: &Plan, factors: impl Iterator<Item = f64>) -> Vec<String> {
    let stamp = plan.stamp().map(|stamp| stamp.text().to_string());
    let wrapped = factors.filter(|f| is_wrong_size(*f));
    stamp.into_iter().chain(wrapped.map(|f| format!("wraparound factor {f:.2}"))).collect()
}
