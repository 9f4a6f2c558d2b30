//! The progress line: one line that is rewritten on a terminal, a plain line now and then elsewhere, or JSON.

use crate::args::{ProgressArg, ProgressArgs};
use crate::output::tell;
use iosonar_engine::{Prepared, Progress, Snapshot};
use iosonar_plan::Nanos;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often a terminal's line is rewritten.
const REWRITE: Duration = Duration::from_millis(250);
/// How often the loop looks at its flags.
const LOOK: Duration = Duration::from_millis(50);

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Rewritten,
    Lines(Duration),
    Json(Duration),
    Silent,
}

impl Form {
    fn of(args: &ProgressArgs) -> Form {
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

    /// Time between two lines; none where nothing is shown.
    fn every(self) -> Option<Duration> {
        match self {
            Form::Rewritten => Some(REWRITE),
            Form::Lines(every) | Form::Json(every) => Some(every.min(Duration::from_secs(86_400))),
            Form::Silent => None,
        }
    }
}

/// Columns of the terminal as it is now; 80 where it does not tell.
fn width() -> usize {
    iosonar_os::stderr_columns().map_or(80, usize::from)
}

/// What a run is expected to come to.
#[derive(Debug, Clone, Copy)]
struct Expected {
    requests: Option<u64>,
    span: Option<Nanos>,
}

/// Shows progress until `done` is set; `status` asks for one plain line.
pub fn show(
    args: &ProgressArgs,
    prepared: &Prepared,
    progress: &Arc<Progress>,
    done: &AtomicBool,
    status: &AtomicBool,
) {
    let form = Form::of(args);
    let expected = Expected { requests: prepared.expected_requests(), span: prepared.expected_span() };
    let mut meter = Meter { last: Snapshot::default(), last_demand: 0 };
    let mut shown = Instant::now();
    while !done.load(Relaxed) {
        std::thread::sleep(LOOK);
        if status.swap(false, Relaxed) {
            let line = meter.line(&progress.snapshot(false), prepared, expected, 112);
            let clear = if form == Form::Rewritten { "\r\x1b[K" } else { "" };
            tell(format_args!("{clear}{line}"));
        }
        let Some(every) = form.every().filter(|every| shown.elapsed() >= *every) else { continue };
        shown += every;
        let now = progress.snapshot(true);
        let mut err = std::io::stderr().lock();
        // A terminal that is gone must not end the run.
        let _ = match form {
            Form::Rewritten => {
                let line = meter.line(&now, prepared, expected, width().saturating_sub(1));
                write!(err, "\r\x1b[K{line}").and_then(|()| err.flush())
            }
            Form::Lines(_) => writeln!(err, "{}", meter.line(&now, prepared, expected, 112)),
            Form::Json(_) => writeln!(err, "{}", json(&now, expected)),
            Form::Silent => Ok(()),
        };
        meter.last = now;
        meter.last_demand = prepared.demanded_until(now.now).unwrap_or(0);
    }
    if form == Form::Rewritten {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

fn json(now: &Snapshot, expected: Expected) -> String {
    serde_json::json!({
        "time_ns": now.now.0,
        "expected_span_ns": expected.span.map(|s| s.0),
        "expected_requests": expected.requests,
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
    })
    .to_string()
}

/// Turns moments into lines; rates come from the difference to the moment before.
struct Meter {
    last: Snapshot,
    last_demand: u64,
}

impl Meter {
    /// Done, elapsed/total, actual/demanded and their ratio, bytes, interval tail, lateness, in flight,
    /// failures. Where it does not fit, fields go in the order of the specification: bytes, ratio, p50, in
    /// flight, max.
    fn line(&self, now: &Snapshot, prepared: &Prepared, expected: Expected, width: usize) -> String {
        let seconds = now.now.saturating_sub(self.last.now).as_secs_f64().max(1e-3);
        let per_second = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        let actual = per_second(now.completed, self.last.completed);
        let demanded = prepared.demanded_until(now.now).map(|d| per_second(d, self.last_demand));
        let dealt_with = now.completed + now.failed + now.dropped;
        let share = |part: f64, whole: f64| format!("{:.0}%", (100.0 * part / whole).min(100.0));
        let done = match (expected.span.filter(|s| s.0 > 0), expected.requests.filter(|r| *r > 0)) {
            (_, Some(requests)) => share(dealt_with as f64, requests as f64),
            (Some(span), None) => share(now.now.as_secs_f64(), span.as_secs_f64()),
            (None, None) => "  ".into(),
        };
        let time = match expected.span.filter(|s| s.0 > 0) {
            Some(span) => format!("{}/{}", clock(now.now), clock(span)),
            None => clock(now.now),
        };
        let rate = match demanded {
            Some(demanded) => format!("{}/{} IO/s", short(actual), short(demanded)),
            None => format!("{} IO/s", short(actual)),
        };
        let ratio = demanded.filter(|d| *d > 0.0).map(|d| format!("{:.0}%", 100.0 * actual / d));
        let bytes = format!("{}B/s", short(per_second(now.bytes, self.last.bytes)));
        let tail = |name: &str, t: Nanos| format!("{name} {}", brief(t));
        let cautions = now.failed + now.dropped;
        // Field and the rank at which it goes when there is no room; 0 stays.
        let fields = [
            (Some(done), 0),
            (Some(time), 0),
            (Some(rate), 0),
            (ratio, 2),
            (Some(bytes), 1),
            (Some(tail("p50", now.p50)), 3),
            (Some(tail("p99", now.p99)), 0),
            (Some(tail("max", now.max)), 5),
            (Some(tail("late", now.late)), 6),
            (Some(format!("q{}", now.in_flight)), 4),
            ((now.waiting > 0).then(|| format!("wait {}", now.waiting)), 4),
            ((cautions > 0).then(|| format!("!{cautions}")), 0),
        ];
        fit(&fields, width)
    }
}

fn fit(fields: &[(Option<String>, u8)], width: usize) -> String {
    let join = |dropped: u8| {
        let kept = fields.iter().filter(|(_, rank)| *rank == 0 || *rank > dropped);
        kept.filter_map(|(field, _)| field.as_deref()).collect::<Vec<_>>().join(" ")
    };
    let fits = (0..=6).map(join).find(|line| line.len() <= width);
    fits.unwrap_or_else(|| join(6).chars().take(width).collect())
}

fn clock(time: Nanos) -> String {
    let seconds = time.0 / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// Two digits and a unit: 4.9k.
fn short(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e3 => (v / 1e3, "k"),
        v => (v, ""),
    };
    if value < 10.0 && !unit.is_empty() { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
}

/// Two digits and a unit; `-` where there was nothing to measure.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(4_900.0), "4.9k");
        assert_eq!(short(38e6), "38M");
        assert_eq!(short(7.4), "7");
        assert_eq!(brief(Nanos(8_100_000)), "8.1ms");
        assert_eq!(brief(Nanos(240_000)), "240us");
        assert_eq!(clock(Nanos::from_secs(700)), "11:40");
        assert_eq!(clock(Nanos::from_secs(7_205)), "2:00:05");
    }

    #[test]
    fn fields_go_in_their_order() {
        let field = |text: &str, rank| (Some(text.to_string()), rank);
        let fields = [field("63%", 0), field("38MB/s", 1), field("94%", 2), field("p99 8ms", 0)];
        assert_eq!(fit(&fields, 80), "63% 38MB/s 94% p99 8ms");
        assert_eq!(fit(&fields, 16), "63% 94% p99 8ms");
        assert_eq!(fit(&fields, 11), "63% p99 8ms");
        assert_eq!(fit(&fields, 5), "63% p");
    }
}
