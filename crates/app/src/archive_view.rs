//! An archive in the live view: position, speed and keys, and new records of a running run.

use crate::exit::Failure;
use crate::live::LiveView;
use crate::playback::{Player, Slices};
use iosonar_archive::{Archive, Following};
use iosonar_engine::Control;
use iosonar_plan::Nanos;
use std::path::Path;
use std::time::{Duration, Instant};

/// Default duration of showing a whole run, in seconds.
const WHOLE: f64 = 20.0;
/// Time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// How often a running run is polled.
const FOLLOW: Duration = Duration::from_millis(250);

/// Records of an archive, in slices: all of them, or those that a run has recorded so far.
pub struct Source {
    pub slices: Slices,
    records: Following,
}

impl Source {
    pub fn open(archive: &Archive, is_followed: bool) -> Result<Source, Failure> {
        let mut slices = Slices::new(archive.plan().has_timetable());
        let records = Following::start(archive, is_followed, &mut |record| slices.add(record));
        Ok(Source { records: records.map_err(Failure::refused)?, slices })
    }

    /// Whether more records may come.
    pub fn is_growing(&self) -> bool {
        self.records.is_growing()
    }

    /// Reads new records; returns whether there is any change.
    fn read_new(&mut self) -> Result<bool, Failure> {
        let Source { slices, records } = self;
        records.read_new(&mut |record| slices.add(record)).map_err(Failure::broke)
    }
}

/// State of the view.
pub struct Show<'a> {
    /// Seconds on the run's clock.
    position: f64,
    speed: Option<f64>,
    is_paused: bool,
    player: Player,
    dir: &'a Path,
}

impl<'a> Show<'a> {
    /// Shows the archive in `dir` from `at` on; without a speed the whole run takes 20 s.
    pub fn new(dir: &'a Path, at: Nanos, speed: Option<f64>) -> Show<'a> {
        Show { position: at.as_secs_f64(), speed, is_paused: false, player: Player::default(), dir }
    }

    /// Shows it until the user or a signal ends it.
    pub fn run(
        &mut self,
        source: &mut Source,
        view: &mut LiveView,
        control: &Control,
    ) -> Result<(), Failure> {
        let (mut before, mut followed) = (Instant::now(), Instant::now());
        let was_growing = source.is_growing();
        while control.signal().is_none() {
            let keys = view.keys(FRAME);
            if !self.keys(&keys, source, view) {
                return Ok(());
            }
            let passed = std::mem::replace(&mut before, Instant::now()).elapsed().as_secs_f64();
            if source.is_growing() && followed.elapsed() >= FOLLOW {
                followed = Instant::now();
                if source.read_new()? {
                    // Requests completed since then change earlier slices: replay from the start, in slices that may have become longer.
                    // The chosen settings stay.
                    self.player = Player::default();
                    view.state.set_base(source.slices.length());
                    view.state.rewind();
                }
                if !source.is_growing() {
                    view.state.set_span(source.slices.end());
                    view.note("the run is over");
                }
            }
            let until = match was_growing {
                true => usize::MAX,
                false => {
                    self.advance(passed, source.slices.end());
                    source.slices.until(Nanos((self.position * 1e9) as u64))
                }
            };
            let until = until.min(source.slices.until(Nanos(u64::MAX)));
            self.player.show(&source.slices, until, source.is_growing(), &mut view.state);
            view.is_wanted = true;
            if !view.show() {
                view.too_small();
            }
        }
        Ok(())
    }

    fn advance(&mut self, passed: f64, end: Nanos) {
        let end = end.as_secs_f64();
        let speed = self.speed.unwrap_or((end / WHOLE).max(1.0));
        if !self.is_paused {
            self.position += passed * speed;
        }
        self.position = self.position.clamp(0.0, end);
    }

    /// Handles keys; returns false to quit.
    fn keys(&mut self, keys: &[u8], source: &Source, view: &mut LiveView) -> bool {
        let step = source.slices.end().as_secs_f64() / 20.0;
        let mut rest = keys;
        while let Some((key, behind)) = rest.split_first() {
            rest = behind;
            match (key, behind) {
                (27, [b'[' | b'O', arrow, behind @ ..]) => {
                    rest = behind;
                    match arrow {
                        b'C' => self.position += step,
                        b'D' => self.position -= step,
                        _ => {}
                    }
                }
                (b'>' | b'.', _) => self.position += step,
                (b'<' | b',', _) => self.position -= step,
                (b'q' | 4, _) => return false,
                (b'p' | b' ', _) => {
                    self.is_paused = !self.is_paused;
                    view.note(if self.is_paused { "paused; p resumes" } else { "resumed" });
                }
                (key, _) => view.act(*key, self.dir),
            }
        }
        true
    }
}
