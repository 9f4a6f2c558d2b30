//! `iosonar live`: a finished or running run in the live view.

use super::open;
use crate::args::live::LiveArgs;
use crate::exit::{Exit, Failure};
use crate::live::{LiveView, cautions_of, style, title_of};
use crate::output::print;
use crate::playback::{Player, Slices};
use crate::screen::Screen;
use crate::signals;
use anyhow::anyhow;
use iosonar_archive::{Archive, LogFollower, RECORDING, RunState};
use iosonar_engine::Control;
use iosonar_plan::Nanos;
use iosonar_text::shown;
use iosonar_view::live::{LiveState, Ramp, Setting, draw};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Default duration of showing a whole run, in seconds.
const WHOLE: f64 = 20.0;
/// Time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// How often a running run is polled.
const FOLLOW: Duration = Duration::from_millis(250);

/// Shows an archive.
pub fn live(args: &LiveArgs) -> Result<Exit, Failure> {
    let archive = open(&args.dir)?;
    // A chosen time or speed shows existing records, not new ones.
    let is_followed = args.once || (args.at.is_none() && args.speed.is_none());
    let mut source = Source::open(&archive, is_followed)?;
    if args.once {
        return once(args, &archive, &source);
    }
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    let screen = Some(()).filter(|()| !is_dumb).and_then(|()| Screen::open()).ok_or_else(|| {
        Failure::refused(anyhow!(
            "iosonar live needs a terminal on standard error that can move its cursor: --once prints one picture as text, \
             'iosonar show {}' the figures",
            shown(&args.dir)
        ))
    })?;
    let control = Arc::new(Control::default());
    signals::stop_on_signal(control.clone(), || {})?;
    let mut view = LiveView::new(setting(&archive, &source), screen, true);
    view.state.show_whole();
    let mut show = Show {
        position: args.at.unwrap_or(Nanos(0)).as_secs_f64(),
        speed: args.speed.map(|speed| speed.unscale(Nanos::from_secs(1)).as_secs_f64()),
        is_paused: false,
        player: Player::default(),
        dir: &args.dir,
    };
    show.run(&mut source, &mut view, &control)?;
    drop(view);
    Ok(control.signal().map_or(Exit::Fine, |signal| Exit::Signal(signal.0)))
}

/// Prints one picture.
fn once(args: &LiveArgs, archive: &Archive, source: &Source) -> Result<Exit, Failure> {
    let size = args.size.or_else(|| iosonar_os::Terminal::open().ok().flatten()?.size()).unwrap_or((80, 24));
    let mut state = LiveState::new(Setting { keys: Vec::new(), ..setting(archive, source) });
    state.show_whole();
    let until = source.slices.until(args.at.unwrap_or(Nanos(u64::MAX)));
    Player::default().show(&source.slices, until, source.is_growing(), &mut state);
    print(&draw(&state, size, Ramp::Mono, style().1).to_text())?;
    Ok(Exit::Fine)
}

fn setting(archive: &Archive, source: &Source) -> Setting {
    let run = archive.run();
    let factors =
        run.targets.iter().filter(|t| t.size > 0).map(|t| t.max_requested_end as f64 / t.size as f64);
    let state = match &run.state {
        RunState::Finished | RunState::Unconverted(_) => "",
        RunState::Interrupted(_) => "interrupted: ",
        RunState::Broken(_) => "broken: ",
        RunState::Running => "unfinished: ",
    };
    let depth = (!run.is_import && run.tool != RECORDING).then_some(archive.plan().depth());
    let is_load =
        archive.plan().jobs().any(|(_, job)| matches!(job.workload, iosonar_plan::Workload::Trace(_)));
    let data_errors = run.verified.as_ref().and_then(iosonar_plaintext::data_errors);
    let cautions = cautions_of(archive.plan(), factors.filter(|_| is_load));
    Setting {
        title: format!("{state}{}", title_of(&run.targets, archive.plan(), depth)),
        span: Some(source.slices.end()).filter(|_| !source.is_growing()),
        depth: None,
        late_limit: None,
        cautions: data_errors.into_iter().chain(cautions).collect(),
        base: source.slices.length(),
        keys: vec![
            ("q", "uit"),
            ("p", "ause"),
            ("<>", "seek"),
            ("+-", "time"),
            ("rw", "filter"),
            ("l", "og"),
            ("s", "ave"),
            ("?", ""),
        ],
    }
}

/// Records of an archive, in slices: all of them, or those that a run has recorded so far.
struct Source {
    slices: Slices,
    log: Option<LogFollower>,
}

impl Source {
    fn open(archive: &Archive, is_followed: bool) -> Result<Source, Failure> {
        let mut slices = Slices::new(archive.plan().has_timetable());
        let is_running = is_followed && archive.run().state == RunState::Running;
        let mut log = if is_running { archive.follow().map_err(Failure::refused)? } else { None };
        match &mut log {
            Some(log) => {
                log.read_new(&mut |record| slices.add(record)).map_err(Failure::refused)?;
            }
            None => {
                archive.for_each_record(&mut |record| slices.add(record)).map_err(Failure::refused)?;
            }
        }
        Ok(Source { slices, log })
    }

    /// Whether more records may come.
    fn is_growing(&self) -> bool {
        self.log.is_some()
    }

    /// Reads new records; returns whether there is any change.
    fn read_on(&mut self, dir: &Path) -> Result<bool, Failure> {
        let Source { slices, log } = self;
        let Some(follower) = log else { return Ok(false) };
        // Check the state before reading: records present at the end of the run are all.
        let is_over = Archive::open(dir).is_ok_and(|archive| archive.run().state != RunState::Running);
        let records = follower.read_new(&mut |record| slices.add(record)).map_err(Failure::broke)?;
        if is_over {
            *log = None;
        }
        Ok(records > 0 || is_over)
    }
}

/// State of the view.
struct Show<'a> {
    /// Seconds on the run's clock.
    position: f64,
    speed: Option<f64>,
    is_paused: bool,
    player: Player,
    dir: &'a Path,
}

impl Show<'_> {
    fn run(&mut self, source: &mut Source, view: &mut LiveView, control: &Control) -> Result<(), Failure> {
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
                if source.read_on(self.dir)? {
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
                    view.note(if self.is_paused { "paused; p goes on" } else { "on it goes" });
                }
                (key, _) => view.act(*key, self.dir),
            }
        }
        true
    }
}
