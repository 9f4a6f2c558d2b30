//! The progress line: one line that is rewritten on a terminal, plain lines at intervals elsewhere, or JSON. On a terminal the live view
//! can replace it.

use crate::args::common::{ProgressArg, ProgressArgs};
use crate::live::{LiveView, cautions_of, title_of};
use crate::output::{print_json, print_message};
use crate::screen::{self, Screen};
use crate::signals::take_status_request;
use crate::watch::{Expected, Watch, growth};
use crate::witness::{self, Witness};
use iosonar_analyze::Limits;
use iosonar_engine::{Prepared, Snapshot};
use iosonar_inputs::Input;
use iosonar_judge::Sign;
use iosonar_os::usage::thread_cpu_ns;
use iosonar_plan::Nanos;
use iosonar_runner::Scene;
use iosonar_text::units;
use iosonar_view::live::{Alarm, LiveStalls, Moment, Setting};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How often a terminal's line is rewritten.
const REWRITE: Duration = Duration::from_millis(250);
/// How often the loop checks its flags.
const LOOK: Duration = Duration::from_millis(50);
/// Columns from which a line has room for all fields.
const WIDE: usize = 112;
/// Columns of a line on a narrower terminal.
const NARROW: usize = 79;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Rewritten,
    Lines(Duration),
    Json(Duration),
    Silent,
}

impl Form {
    pub fn of(args: &ProgressArgs) -> Form {
        let every = Duration::from_nanos(args.progress_every.0).max(LOOK);
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        match args.progress {
            ProgressArg::None => Form::Silent,
            _ if args.no_progress => Form::Silent,
            ProgressArg::Json => Form::Json(every.min(Duration::from_secs(1))),
            ProgressArg::Auto if std::io::stderr().is_terminal() && !dumb => Form::Rewritten,
            ProgressArg::Auto => Form::Lines(every),
        }
    }

    /// Interval of lines; `None` if nothing is shown.
    pub fn every(self) -> Option<Duration> {
        match self {
            Form::Rewritten => Some(REWRITE),
            Form::Lines(every) | Form::Json(every) => Some(every.min(Duration::from_secs(86_400))),
            Form::Silent => None,
        }
    }
}

/// Columns of a line on the terminal in its current size.
pub fn width() -> usize {
    match iosonar_os::stderr_columns().map_or(80, usize::from) {
        wide if wide > WIDE => wide - 1,
        narrow => NARROW.min(narrow.saturating_sub(1)),
    }
}

/// Requested form of progress.
pub struct ProgressOptions<'a> {
    pub progress: &'a ProgressArgs,
    /// Start with the live view.
    pub live: bool,
    /// Delay above which a limit fails.
    pub late_limit: Nanos,
}

impl<'a> ProgressOptions<'a> {
    /// The line without the view, with the usual limit.
    pub fn line(progress: &'a ProgressArgs) -> ProgressOptions<'a> {
        ProgressOptions { progress, live: false, late_limit: Limits::default().bad_delay }
    }
}

/// Shows progress until the run is over; a status request prints one plain line.
pub fn show(wish: &ProgressOptions<'_>, scene: &Scene<'_>) {
    let form = Form::of(wish.progress);
    if wish.live && form != Form::Rewritten {
        print_message(
            "iosonar: --live needs a terminal on standard error that can move its cursor: lines are shown instead",
        );
    }
    match form {
        Form::Rewritten => on_terminal(wish, scene),
        form => as_lines(form, scene),
    }
}

fn as_lines(form: Form, scene: &Scene<'_>) {
    let mut meter = Meter {
        expected: Expected::of(scene.prepared),
        last: Snapshot::default(),
        last_demand: 0,
        signs: Vec::new(),
    };
    let mut witness = form.every().and_then(|_| Witness::of(scene.prepared));
    let mut shown = Instant::now();
    let cost = Cost::begin();
    while !scene.is_over() {
        std::thread::sleep(LOOK);
        if take_status_request() {
            print_message(meter.line(&scene.progress.snapshot(false), scene.prepared));
        }
        let Some(every) = form.every().filter(|every| shown.elapsed() >= *every) else { continue };
        shown += every;
        let now = scene.progress.snapshot(true);
        meter.signs = witness.as_mut().map_or(Vec::new(), |witness| witness.look(now.bytes).to_vec());
        // A closed terminal must not end the run.
        let _ = match form {
            Form::Json(_) => writeln!(std::io::stderr(), "{}", json(&now, &meter, scene)),
            _ => writeln!(
                std::io::stderr(),
                "{}",
                scene
                    .progress
                    .scan()
                    .moment()
                    .map_or_else(|| meter.line(&now, scene.prepared), |scan| scan.to_string())
            ),
        };
        meter.last = now;
        meter.last_demand = scene.prepared.demanded_until(now.now).unwrap_or(0);
        scene.progress.note_watching(cost.so_far());
    }
}

/// CPU time of the thread that shows progress.
struct Cost(u64);

impl Cost {
    fn begin() -> Cost {
        Cost(thread_cpu_ns())
    }

    fn so_far(&self) -> u64 {
        thread_cpu_ns().saturating_sub(self.0)
    }
}

/// Rewrites the line, and shows the live view on request.
fn on_terminal(wish: &ProgressOptions<'_>, scene: &Scene<'_>) {
    let cost = Cost::begin();
    let mut watch = Watch::new(scene.prepared, scene.progress);
    // Without `--live`, keys typed into a terminal that is not standard input are not taken.
    let screen = (wish.live || std::io::stdin().is_terminal()).then(Screen::open).flatten();
    let mut view = screen.map(|screen| LiveView::new(setting(wish, scene), screen, wish.live));
    if let Some(view) = view.as_mut().filter(|_| watch.expected.span.is_some_and(|span| span.0 > 0)) {
        view.state.show_whole();
    }
    let mut looked: Option<Instant> = None;
    let (mut witness, mut signs) = (Witness::of(scene.prepared), Vec::new());
    while !scene.is_over() {
        let keys = match &view {
            Some(view) => view.keys(LOOK),
            None => {
                std::thread::sleep(LOOK);
                Vec::new()
            }
        };
        if let Some(view) = &mut view {
            keys.iter().for_each(|key| act(*key, view, scene));
        }
        if take_status_request() {
            if !view.as_ref().is_some_and(LiveView::is_shown) {
                screen::put("\r\x1b[K");
            }
            print_message(watched_line(&watch, &signs, most_in_flight(scene.prepared), WIDE));
        }
        let is_due = looked.is_none_or(|looked| looked.elapsed() >= REWRITE);
        if is_due {
            looked = Some(Instant::now());
            let (interval, moment) = watch.look();
            let before = std::mem::take(&mut signs);
            if let Some(witness) = &mut witness {
                signs = witness.look(scene.progress.snapshot(false).bytes).to_vec();
            }
            if let Some(view) = &mut view {
                view.state.feed(&interval);
                view.state.set_moment(moment);
                if kinds(&signs) != kinds(&before) && !signs.is_empty() {
                    view.note(witness::text(&signs));
                }
                break_if_asked(view);
            }
        }
        let is_pressed = !keys.is_empty();
        if (is_due || is_pressed) && !view.as_mut().is_some_and(LiveView::show) {
            let line = scene.progress.scan().moment().map_or_else(
                || watched_line(&watch, &signs, most_in_flight(scene.prepared), width()),
                |scan| scan.to_string(),
            );
            screen::put(&format!("\r\x1b[K{line}"));
        }
        scene.progress.note_watching(cost.so_far());
    }
    watch.look();
    if let Some(view) = &mut view {
        view.leave();
    }
    let line = watched_line(&watch, &signs, most_in_flight(scene.prepared), width());
    screen::put(&format!("\r\x1b[K{line}\n{}\n", verdict(scene)));
}

/// The kinds of signs, without their values.
fn kinds(signs: &[Sign]) -> Vec<std::mem::Discriminant<Sign>> {
    signs.iter().map(std::mem::discriminant).collect()
}

/// Lets tests break the view, to check that the terminal and the run survive it.
fn break_if_asked(view: &LiveView) {
    if cfg!(debug_assertions) && view.is_shown() && std::env::var_os("IOSONAR_BREAK_VIEW").is_some() {
        panic!("the view breaks, as it was asked to");
    }
}

/// Handles a key during a run.
fn act(key: u8, view: &mut LiveView, scene: &Scene<'_>) {
    match key {
        b'v' => view.is_wanted = !view.is_wanted,
        b'q' if view.is_shown() => {
            scene.control.stop(signal_hook::consts::SIGINT);
            view.note("stopping; waiting for requests in flight (Ctrl-C aborts)");
        }
        key if view.is_shown() => view.act(key, scene.dir),
        _ => {}
    }
}

fn setting(wish: &ProgressOptions<'_>, scene: &Scene<'_>) -> Setting {
    let prepared = scene.prepared;
    let span = prepared.expected_span().filter(|span| span.0 > 0);
    let targets = prepared.info("", "").targets;
    let factors = prepared.targets().into_iter().filter_map(|t| t.wraparound_factor());
    Setting {
        title: title_of(&targets, prepared.plan(), Some(prepared.plan().depth())),
        span,
        depth: Some(most_in_flight(prepared)),
        late_limit: Some(wish.late_limit),
        cautions: cautions_of(prepared.plan(), factors),
        base: Nanos(if span.is_some_and(|span| span < Nanos::from_secs(60)) {
            500_000_000
        } else {
            1_000_000_000
        }),
        keys: vec![
            ("q", "uit"),
            ("+-", "time"),
            ("rw", "filter"),
            ("l", "og"),
            ("s", "ave"),
            ("v", "line"),
            ("?", "help"),
        ],
    }
}

/// Maximum requests in flight.
fn most_in_flight(prepared: &Prepared) -> u64 {
    u64::from(prepared.plan().depth()) * prepared.workers() as u64
}

/// The outcome in a few words; the summary has the details.
fn verdict(scene: &Scene<'_>) -> String {
    let now = scene.progress.snapshot(false);
    let end = if scene.control.signal().is_some() { "stopped" } else { "over" };
    format!("run {end}: {} completed, {} failed, {} dropped", now.completed, now.failed, now.dropped)
}

/// Formats the line of the last second.
fn watched_line(watch: &Watch<'_>, signs: &[Sign], depth: u64, width: usize) -> String {
    let moment = watch.moment();
    let alarm = Alarm::of(&moment, Some(depth), None);
    let late_end = moment.ends.filter(|_| alarm.is_some());
    let seconds = moment.second.as_secs_f64().max(1e-3);
    let [p50, p99, max] = watch.tail();
    line(
        &Facts {
            done: moment.done,
            left: watch
                .expected
                .left(moment.done, moment.time)
                .or(late_end.map(|end| end.saturating_sub(moment.time))),
            now: moment.time,
            span: watch.expected.span,
            actual: moment.completed as f64 / seconds,
            demanded: moment.demanded.map(|d| d as f64 / seconds),
            bytes: moment.bytes as f64 / seconds,
            p50,
            p99,
            max,
            late: moment.late,
            alarm,
            in_flight: moment.in_flight.unwrap_or(0),
            waiting: moment.waiting.unwrap_or(0),
            stalls: moment.stalls,
            cautions: moment.failed + moment.dropped,
            signs: witness::text(signs),
        },
        width,
    )
}

fn json(now: &Snapshot, meter: &Meter, scene: &Scene<'_>) -> String {
    let expected = meter.expected;
    let done = expected.done(now.completed + now.failed + now.dropped, now.bytes, now.now);
    serde_json::json!({
        "time_ns": now.now.0,
        "expected_span_ns": expected.span.map(|s| s.0),
        "expected_requests": expected.requests,
        "expected_bytes": expected.bytes,
        "done": done,
        "left_ns": expected.left(done, now.now).map(|left| left.0),
        "completed": now.completed,
        "failed": now.failed,
        "dropped": now.dropped,
        "bytes": now.bytes,
        "in_flight": now.in_flight,
        "waiting": now.waiting,
        "late_ns": now.late.0,
        "interval_response_p50_ns": now.p50.0,
        "interval_response_p99_ns": now.p99.0,
        "interval_response_max_ns": now.max.0,
        "signs": meter.signs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "scanned_bytes": scene.progress.scan().moment().map(|scan| scan.done),
        "bytes_to_scan": scene.progress.scan().moment().map(|scan| scan.total),
    })
    .to_string()
}

/// Formats moments as lines; rates come from the difference to the previous moment.
struct Meter {
    expected: Expected,
    last: Snapshot,
    last_demand: u64,
    signs: Vec<Sign>,
}

impl Meter {
    fn line(&self, now: &Snapshot, prepared: &Prepared) -> String {
        let seconds = now.now.saturating_sub(self.last.now).as_secs_f64().max(1e-3);
        let per_second = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        let dealt_with = now.completed + now.failed + now.dropped;
        let done = self.expected.done(dealt_with, now.bytes, now.now);
        let alarm = self.alarm(now, prepared);
        let (completed, second) =
            (now.completed.saturating_sub(self.last.completed), now.now.saturating_sub(self.last.now));
        let late_end = self.expected.late_end(dealt_with, completed, second, now.now);
        let late_left = late_end.filter(|_| alarm.is_some()).map(|end| end.saturating_sub(now.now));
        let facts = Facts {
            done,
            left: self.expected.left(done, now.now).or(late_left),
            now: now.now,
            span: self.expected.span,
            actual: per_second(now.completed, self.last.completed),
            demanded: prepared.demanded_until(now.now).map(|d| per_second(d, self.last_demand)),
            bytes: per_second(now.bytes, self.last.bytes),
            p50: now.p50,
            p99: now.p99,
            max: now.max,
            late: now.late,
            alarm,
            in_flight: now.in_flight,
            waiting: now.waiting,
            stalls: LiveStalls::default(),
            cautions: now.failed + now.dropped,
            signs: witness::text(&self.signs),
        };
        line(&facts, WIDE)
    }

    /// The alarm since the last line.
    fn alarm(&self, now: &Snapshot, prepared: &Prepared) -> Option<Alarm> {
        let demanded = prepared.demanded_until(now.now)?.saturating_sub(self.last_demand);
        let moment = Moment {
            late: now.late,
            growth: growth(&self.last, now),
            completed: now.completed.saturating_sub(self.last.completed),
            demanded: Some(demanded),
            in_flight: Some(now.in_flight),
            ..Moment::default()
        };
        Alarm::of(&moment, Some(most_in_flight(prepared)), None)
    }
}

/// Fields of a line.
#[derive(Clone)]
struct Facts {
    done: Option<f64>,
    /// Time left, of a matrix and of a run that is late.
    left: Option<Nanos>,
    now: Nanos,
    span: Option<Nanos>,
    actual: f64,
    demanded: Option<f64>,
    bytes: f64,
    p50: Nanos,
    p99: Nanos,
    max: Nanos,
    late: Nanos,
    /// The run cannot follow its target times.
    alarm: Option<Alarm>,
    in_flight: u64,
    waiting: u64,
    stalls: LiveStalls,
    cautions: u64,
    /// Reasons for doubts about the result, in a few words.
    signs: String,
}

/// Done, elapsed/total, actual/demanded and their ratio, bytes, interval tail, lateness, in flight, stalls, failures. Wide lines have
/// groups; narrow ones drop fields in the order of the specification: bytes, ratio, p50 (which only a wide line has), in flight, max.
fn line(facts: &Facts, width: usize) -> String {
    let done = facts.done.map_or("  ".into(), |done| format!("{:.0}%", 100.0 * done));
    let time = match facts.span.filter(|s| s.0 > 0) {
        Some(span) => format!("{}/{}", units::clock(facts.now.0), units::clock(span.0)),
        None => units::clock(facts.now.0),
    };
    let time = facts.left.map_or(time.clone(), |left| format!("{time}, {} left", units::clock(left.0)));
    let rate = match facts.demanded {
        Some(demanded) => format!("{}/{} IO/s", short(facts.actual), short(demanded)),
        None => format!("{} IO/s", short(facts.actual)),
    };
    let ratio = facts.demanded.filter(|d| *d > 0.0).map(|d| format!("{:.0}%", 100.0 * facts.actual / d));
    let bytes = short(facts.bytes);
    let tail = |name: &str, t: Nanos| format!("{name} {}", brief(t));
    let waiting = (facts.waiting > 0).then(|| format!("wait {}", facts.waiting));
    let stalls = (facts.stalls.count > 0).then(|| format!("stalls {}", facts.stalls.count));
    let cautions = (facts.cautions > 0).then(|| format!("!{}", facts.cautions));
    let (p99, max, late) = (tail("p99", facts.p99), tail("max", facts.max), late(facts));
    let q = facts.in_flight;
    let growth = facts.alarm.map(|alarm| format!("{late} growing {:.1}s/s", alarm.growth));
    let full = if facts.alarm.is_some_and(|alarm| alarm.is_full) { " full" } else { "" };
    if width >= WIDE {
        let words = |parts: [Option<String>; 3]| parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let wide = |late: &String| {
            let groups = [
                words([Some(done.clone()), Some(time.clone()), None]),
                words([Some(rate.clone()), ratio.clone(), None]),
                // The space before the unit stays even without a prefix.
                format!(
                    "{} {}B/s",
                    bytes.trim_end_matches(char::is_alphabetic),
                    bytes.trim_start_matches(|c: char| !c.is_alphabetic())
                ),
                words([Some(tail("p50", facts.p50)), Some(p99.clone()), Some(max.clone())]),
                words([Some(late.clone()), Some(format!("q {q}{full}")), waiting.clone()]),
                stalls.clone().unwrap_or_default(),
                cautions.clone().unwrap_or_default(),
                facts.signs.clone(),
            ];
            groups.into_iter().filter(|group| !group.is_empty()).collect::<Vec<_>>().join(" | ")
        };
        let fits = growth.iter().chain([&late]).map(wide).find(|line| line.len() <= width);
        if let Some(line) = fits {
            return line;
        }
    }
    // Field and its rank for dropping if there is no room; 0 stays.
    let fields = [
        (Some(done), 0),
        (Some(time), 0),
        (Some(rate), 0),
        (ratio, 2),
        (Some(format!("{bytes}B/s")), 1),
        (Some(p99), 0),
        (Some(max), 5),
        (Some(late), 6),
        (Some(format!("q{q}")), 4),
        (waiting, 4),
        (stalls, 7),
        (cautions, 0),
        (Some(facts.signs.clone()).filter(|signs| !signs.is_empty()), 0),
    ];
    fit(&fields, width)
}

fn fit(fields: &[(Option<String>, u8)], width: usize) -> String {
    let join = |dropped: u8| {
        let kept = fields.iter().filter(|(_, rank)| *rank == 0 || *rank > dropped);
        kept.filter_map(|(field, _)| field.as_deref()).collect::<Vec<_>>().join(" ")
    };
    let fits = (0..=7).map(join).find(|line| line.len() <= width);
    fits.unwrap_or_else(|| join(7).chars().take(width).collect())
}

/// Formats two digits and a unit: 4.9k.
pub fn short(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e3 => (v / 1e3, "k"),
        v => (v, ""),
    };
    if value < 10.0 && !unit.is_empty() { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
}

/// Formats two digits and a unit; `-` without measurements.
fn brief(time: Nanos) -> String {
    if time.0 == 0 {
        return "-".into();
    }
    let (value, unit) = match time.0 {
        n if n >= 1_000_000_000 => (n as f64 / 1e9, "s"),
        n if n >= 1_000_000 => (n as f64 / 1e6, "ms"),
        n => (n as f64 / 1e3, "us"),
    };
    if value < 10.0 { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
}

/// No progress of reading commands before this time: most have ended by then.
const SHORT: Duration = Duration::from_secs(1);

/// Calls `work`, which reads `inputs`, and shows its progress if that takes long.
pub fn while_reading<T>(args: &ProgressArgs, inputs: &[Input], work: impl FnOnce() -> T) -> T {
    let form = Form::of(args);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flag = &done;
        // Without output no thread is needed.
        let shower = form.every().map(|every| scope.spawn(move || show_reading(form, every, inputs, flag)));
        // Ends the progress, even on a panic.
        let _over = SetAtEnd(flag, shower.map(|shower| shower.thread().clone()));
        work()
    })
}

struct SetAtEnd<'a>(&'a AtomicBool, Option<Thread>);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        if let Some(thread) = &self.1 {
            thread.unpark();
        }
    }
}

fn show_reading(form: Form, every: Duration, inputs: &[Input], done: &AtomicBool) {
    let begun = Instant::now();
    // A line on a terminal starts at that moment; others after their interval.
    let mut next = begun + if form == Form::Rewritten { SHORT } else { every.max(SHORT) };
    let mut is_shown = false;
    while !done.load(Relaxed) {
        std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
        if done.load(Relaxed) || Instant::now() < next {
            continue;
        }
        next += every;
        let read: u64 = inputs.iter().map(Input::records_read).sum();
        // Some are read twice; then the total is unknown.
        let all =
            inputs.iter().map(Input::records).sum::<Option<u64>>().filter(|all| *all >= read && *all > 0);
        match form {
            Form::Json(_) => print_json(&serde_json::json!({
                "elapsed_ns": begun.elapsed().as_nanos() as u64,
                "records_read": read,
                "records": all,
            })),
            Form::Lines(_) => print_message(reading_line(begun.elapsed(), read, all)),
            _ => {
                let _ = write!(std::io::stderr(), "\r\x1b[K{}", reading_line(begun.elapsed(), read, all));
                is_shown = true;
            }
        }
    }
    if is_shown {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

/// Done, elapsed/expected, records and records per second.
fn reading_line(elapsed: Duration, read: u64, all: Option<u64>) -> String {
    let now = Nanos(elapsed.as_nanos() as u64);
    let rate = short(read as f64 / elapsed.as_secs_f64().max(1e-3));
    let records = short(read as f64);
    match all.filter(|_| read > 0) {
        Some(all) => {
            let share = read as f64 / all as f64;
            let expected = Nanos((now.0 as f64 / share) as u64);
            let all = short(all as f64);
            format!(
                "{:.0}% {}/{} {records}/{all} records {rate}/s",
                100.0 * share,
                units::clock(now.0),
                units::clock(expected.0)
            )
        }
        None => format!("{} {records} records {rate}/s", units::clock(now.0)),
    }
}

/// The lateness, in capitals while it is an alarm.
fn late(facts: &Facts) -> String {
    let word = if facts.alarm.is_some() { "LATE" } else { "late" };
    format!("{word} {}", lateness(facts.late))
}

/// Formats 100 ms as 0.1s: lateness is compared with a tenth of a second.
fn lateness(time: Nanos) -> String {
    if time.0 >= 100_000_000 && time.0 < 10_000_000_000 {
        format!("{:.1}s", time.as_secs_f64())
    } else {
        brief(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_numbers_short() {
        assert_eq!(short(4_900.0), "4.9k");
        assert_eq!(short(38e6), "38M");
        assert_eq!(short(7.4), "7");
        assert_eq!(brief(Nanos(8_100_000)), "8.1ms");
        assert_eq!(brief(Nanos(240_000)), "240us");
    }

    #[test]
    fn drops_low_priority_fields_that_do_not_fit() {
        let field = |text: &str, rank| (Some(text.to_string()), rank);
        let fields = [field("63%", 0), field("38MB/s", 1), field("94%", 2), field("p99 8ms", 0)];
        assert_eq!(fit(&fields, 80), "63% 38MB/s 94% p99 8ms");
        assert_eq!(fit(&fields, 16), "63% 94% p99 8ms");
        assert_eq!(fit(&fields, 11), "63% p99 8ms");
        assert_eq!(fit(&fields, 5), "63% p");
    }

    #[test]
    fn line_matches_the_specification() {
        let facts = Facts {
            done: Some(0.63),
            left: None,
            now: Nanos::from_secs(700),
            span: Some(Nanos::from_secs(1110)),
            actual: 4900.0,
            demanded: Some(5200.0),
            bytes: 38e6,
            p50: Nanos(240_000),
            p99: Nanos(8_100_000),
            max: Nanos(2_200_000_000),
            late: Nanos(300_000_000),
            alarm: None,
            in_flight: 117,
            waiting: 0,
            stalls: LiveStalls { count: 2, last: None },
            cautions: 1,
            signs: String::new(),
        };
        let text = "63% 11:40/18:30 | 4.9k/5.2k IO/s 94% | 38 MB/s | p50 240us p99 8.1ms max 2.2s | late 0.3s q 117 | stalls 2 | !1";
        assert_eq!(line(&facts, 112), text);
        let alarm = Alarm { late: Nanos(4_600_000_000), growth: 0.9, share: Some(0.25), is_full: true };
        let late =
            Facts { late: alarm.late, alarm: Some(alarm), stalls: LiveStalls::default(), ..facts.clone() };
        assert!(
            line(&late, 120).contains("| LATE 4.6s growing 0.9s/s q 117 full | !1"),
            "{}",
            line(&late, 120)
        );
        assert!(line(&late, 112).contains("| LATE 4.6s q 117 full | !1"), "{}", line(&late, 112));
        assert!(line(&late, 79).contains(" LATE 4.6s "), "{}", line(&late, 79));
        let doubtful = Facts { signs: "on device 3 %".into(), cautions: 0, ..facts.clone() };
        assert!(line(&doubtful, 140).ends_with("| stalls 2 | on device 3 %"));
        assert!(line(&doubtful, 79).ends_with(" on device 3 %"));
        let narrow = line(&Facts { stalls: LiveStalls::default(), ..facts.clone() }, 79);
        assert_eq!(narrow, "63% 11:40/18:30 4.9k/5.2k IO/s 94% 38MB/s p99 8.1ms max 2.2s late 0.3s q117 !1");
        let matrix = line(&Facts { span: None, left: Some(Nanos::from_secs(411)), ..facts.clone() }, 120);
        assert!(matrix.starts_with("63% 11:40, 06:51 left | "), "{matrix}");
        let narrower = [
            (77, "94% p99"),
            (70, "IO/s p99"),
            (66, "max 2.2s late 0.3s !1"),
            (61, "p99 8.1ms late"),
            (52, "p99 8.1ms !1"),
        ];
        for (width, fields) in narrower {
            let facts = Facts { stalls: LiveStalls::default(), ..facts.clone() };
            let text = line(&facts, width);
            assert!(text.len() <= width && text.contains(fields), "{text}");
        }
    }
}
