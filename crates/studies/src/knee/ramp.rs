//! One ramp: executed, kept, and judged.

use super::question::Question;
use super::reading::{ROWS, Reading};
use super::run::Folder;
use iosonar_analyze::Summary;
use iosonar_analyze::knee::{KneeVerdict, RampRow, RampedOverload, find_knee};
use iosonar_archive::{ArchiveError, RunInfo, RunState};
use iosonar_inputs::Figures;
use iosonar_plan::{Engine, Nanos, Rising, RisingShape};
use iosonar_runner::{Concluded, Error, Scene, Session};
use std::path::PathBuf;
use std::time::Duration;

/// Intervals of the picture and of the table.
const PICTURE: usize = 100;
const TABLE: usize = 20;

/// A finished ramp.
pub(super) struct Ramp {
    pub name: String,
    pub dir: PathBuf,
    pub rising: Rising,
    pub info: RunInfo,
    pub summary: Summary,
    pub verdict: KneeVerdict,
    /// Rows for the picture and the table.
    pub rows: Vec<RampRow>,
    pub steps: Vec<RampRow>,
    pub overload: RampedOverload,
    /// The load ended before the ramp.
    pub load_was_over: bool,
}

impl Ramp {
    /// Whether the ramp ended by itself or by a clear answer.
    pub fn is_whole(&self) -> bool {
        is_whole(&self.info.state)
    }

    /// Why it was ended from outside: a signal, or the reason of an abort.
    pub fn stopped_by(&self) -> Option<String> {
        match &self.info.state {
            RunState::Broken(why) => Some(why.to_string()),
            state => state.signal().map(|signal| signal.to_string()),
        }
    }

    /// Completed and failed requests per second.
    pub fn delivered_per_second(&self) -> f64 {
        let seconds = self.rows.iter().map(RampRow::seconds).sum::<f64>();
        self.delivered() / seconds.max(1e-9)
    }

    /// Whether far fewer requests ended than the ramp demanded, even if that is few.
    pub fn is_far_behind(&self) -> bool {
        self.delivered() < FAR_BEHIND * self.rows.iter().map(|row| row.demanded).sum::<f64>()
    }

    fn delivered(&self) -> f64 {
        self.rows.iter().map(|row| row.delivered as f64).sum()
    }
}

fn is_whole(state: &RunState) -> bool {
    state.signal().is_none() && !matches!(state, RunState::Broken(_))
}

/// Executes a ramp, and judges it.
pub(super) fn execute(
    session: &Session,
    question: &Question,
    folder: &mut Folder,
    name: &str,
    rising: Rising,
) -> Result<Ramp, Error> {
    let plan = question.plan_of(rising)?;
    let depth = question.parts()?.1.depth;
    let is_timed = !matches!(plan.engine, Engine::Sim(_));
    let dir = question.out.join(name);
    let named = |_: &_| {
        folder.create(question);
        dir.clone()
    };
    let show = |scene: &Scene<'_>| {
        std::thread::scope(|scope| {
            // A simulation ends before its clock could be watched.
            is_timed.then(|| scope.spawn(|| stop_when_clear(scene, rising, depth)));
            session.observer.scene(scene);
        });
    };
    let ready = session.prepare(plan).map_err(Error::refused)?;
    let ended = session.execute_showing(ready, named, show)?;
    // The end of this ramp is not that of the next one.
    session.control.stop_at(Nanos(u64::MAX));
    let mut shown = Reading::new(rising);
    let concluded = session
        .conclude_showing(ended, Default::default(), &mut |records| shown.add(records))
        .map_err(Error::broke)?;
    judge(name, dir, rising, concluded, shown).map_err(Error::broke)
}

/// How often a running ramp is checked.
const LOOK: Duration = Duration::from_millis(50);
/// Minimum number of requests that must end meanwhile.
const ENOUGH: u64 = 500;
/// The target keeps up above this share of the target rate.
const KEEPS_UP: f64 = 0.95;

/// Below this share of the target rate a target hardly follows.
const FAR_BEHIND: f64 = 0.5;

/// Ends a ramp when it has been clear for some time that the target cannot follow: more requests wait than may be in flight, and the
/// achieved rate is below the target rate. A ramp that takes twice its time is ended, too: the remaining requests may take hours.
fn stop_when_clear(scene: &Scene<'_>, rising: Rising, depth: u32) {
    let hold = match rising.shape {
        RisingShape::Linear => Nanos(rising.over.0 / 4).max(Nanos::from_secs(4)),
        RisingShape::Exponential => Nanos(rising.over.0 / 2),
    };
    let mut behind_since: Option<(Nanos, u64)> = None;
    while !scene.is_over() {
        std::thread::sleep(LOOK);
        let seen = scene.progress.snapshot(false);
        let (now, ended) = (seen.now, seen.completed + seen.failed);
        if rising.until(now) - ended as f64 <= 2.0 * f64::from(depth) {
            behind_since = None;
            continue;
        }
        let (since, before) = *behind_since.get_or_insert((now, ended));
        let (delivered, demanded) = (ended - before, rising.until(now) - rising.until(since));
        let is_overdue = now.0 > rising.over.0.saturating_mul(2);
        let is_clear = delivered >= ENOUGH && (delivered as f64) < KEEPS_UP * demanded;
        if is_overdue || is_clear && now.saturating_sub(since) >= hold {
            scene.control.stop_at(now);
            return;
        }
    }
}

fn judge(
    name: &str,
    dir: PathBuf,
    rising: Rising,
    concluded: Concluded,
    shown: Reading,
) -> Result<Ramp, ArchiveError> {
    let Concluded { info, figures: Figures { summary, .. }, .. } = concluded;
    let is_over = info.state.is_complete();
    let read = shown.complete(&dir, summary.counts.records(), is_over)?;
    let rows = |number: usize| read.tally.rows(ROWS / number, |time| rising.until(time));
    let verdict = find_knee(&rows(ROWS));
    Ok(Ramp {
        name: name.to_string(),
        verdict: if is_whole(&info.state) { verdict } else { verdict.when_stopped() },
        rows: rows(PICTURE),
        steps: rows(TABLE),
        overload: read.overload,
        dir,
        rising,
        info,
        summary,
        load_was_over: read.load_was_over,
    })
}
