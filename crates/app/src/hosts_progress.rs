//! Progress of a run of several processes: the phase, and a line for each machine.

use crate::args::common::ProgressArgs;
use crate::hosts_view::HostsView;
use crate::output::print_message;
use crate::progress::Form;
use iosonar_cluster::{PartProgress, RunProgress};
use iosonar_engine::Control;
use iosonar_text::one_line;
use iosonar_text::units::{self, Charset};
use iosonar_view::live::{HostDone, HostRates};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Interval of lines on a terminal, which are not rewritten.
const ON_TERMINAL: Duration = Duration::from_secs(2);
/// Most machines with a separate line; of more, the slowest ones.
const MOST_LINES: usize = 16;

/// Prints progress at intervals.
pub struct HostsProgress {
    form: Form,
    /// `None`: nothing is shown.
    every: Option<Duration>,
    view: Option<HostsView>,
    /// Time of the last line since the start of the run.
    shown: Duration,
    rates: HostRates,
}

impl HostsProgress {
    pub fn new(progress: &ProgressArgs) -> HostsProgress {
        let form = Form::of(progress);
        let every = match form {
            Form::Rewritten => Some(ON_TERMINAL),
            other => other.every(),
        };
        HostsProgress { form, every, view: None, shown: Duration::ZERO, rates: HostRates::default() }
    }

    /// The same with the live view, where the terminal can show it; `control` is that of the run.
    pub fn live(progress: &ProgressArgs, control: &Arc<Control>) -> HostsProgress {
        let lines = HostsProgress::new(progress);
        let is_able = matches!(lines.form, Form::Rewritten);
        let view = if is_able { HostsView::open(control.clone()) } else { None };
        HostsProgress { view, ..lines }
    }

    pub fn show(&mut self, now: &RunProgress<'_>) {
        if let Some(mut view) = self.view.take() {
            let is_shown = view.show(now, |requests, bytes| head(now, requests, bytes));
            self.view = Some(view);
            if is_shown {
                return;
            }
        }
        let elapsed = now.phase.elapsed.saturating_sub(self.shown);
        if self.every.is_none_or(|every| elapsed < every) {
            return;
        }
        match self.form {
            Form::Json(_) => print_message(self.json(now)),
            _ if now.parts.is_empty() => print_message(now.phase),
            _ => self.lines(now).iter().for_each(print_message),
        }
        self.shown = now.phase.elapsed;
    }

    /// The sum, and each machine.
    fn lines(&mut self, now: &RunProgress<'_>) -> Vec<String> {
        let rates = self.rates.take(&now.parts.iter().map(done).collect::<Vec<_>>());
        let mut rows: Vec<(Speed, &PartProgress)> = rates.into_iter().zip(&now.parts).collect();
        let at_work = || rows.iter().filter(|(_, part)| state(part) == "runs").map(|(speed, _)| speed);
        let head = head(now, at_work().map(requests).sum(), at_work().map(|speed| speed.1).sum());
        let more = rows.len().saturating_sub(MOST_LINES);
        if more > 0 {
            rows.sort_by(|a, b| requests(&a.0).total_cmp(&requests(&b.0)));
            rows.truncate(MOST_LINES);
        }
        let width = rows.iter().map(|(_, part)| part.name.chars().count()).max().unwrap_or(0).min(24);
        let row = |(speed, part): &(Speed, &PartProgress)| {
            let name = one_line(&part.name);
            let figures = match state(part) {
                "runs" => format!(
                    "{:>9} req/s | {:>9}/s | p99 {} | late {} | q {}",
                    units::request_rate(requests(speed)),
                    units::bytes(speed.1 as u64),
                    units::duration(part.requests.p99_ns, Charset::Ascii),
                    units::duration(part.requests.late_ns, Charset::Ascii),
                    part.requests.in_flight,
                ),
                other => other.to_string(),
            };
            format!("  {name:width$} | {figures}")
        };
        let more = (more > 0).then(|| format!("  and {more} faster ones"));
        [head].into_iter().chain(rows.iter().map(row)).chain(more).collect()
    }

    fn json(&self, now: &RunProgress<'_>) -> Value {
        let host = |part: &PartProgress| {
            json!({
                "name": part.name,
                "state": state(part),
                "completed": part.requests.completed,
                "failed": part.requests.failed,
                "bytes": part.requests.bytes,
                "in_flight": part.requests.in_flight,
                "late_ns": part.requests.late_ns,
                "p99_ns": part.requests.p99_ns,
            })
        };
        json!({
            "elapsed_ns": u64::try_from(now.phase.elapsed.as_nanos()).unwrap_or(u64::MAX),
            "phase": now.phase.number,
            "hosts": now.parts.iter().map(host).collect::<Vec<_>>(),
        })
    }
}

/// Requests per second of a machine until now, and its bytes per second now.
type Speed = (Vec<f64>, f64);

/// Requests per second of a machine now.
fn requests((rates, _): &Speed) -> f64 {
    rates.last().copied().unwrap_or(0.0)
}

/// The latest report of a machine.
pub fn done(PartProgress { requests, reported_ns, .. }: &PartProgress) -> HostDone {
    HostDone { requests: requests.completed, bytes: requests.bytes, at_ns: *reported_ns }
}

/// The sum of all machines in a line, with their requests and bytes per second.
fn head(now: &RunProgress<'_>, requests: f64, bytes: f64) -> String {
    let lost = now.parts.iter().filter(|part| part.is_lost).count();
    let lost = if lost > 0 { format!(" | {lost} lost") } else { String::new() };
    let clock = units::clock(u64::try_from(now.phase.elapsed.as_nanos()).unwrap_or(u64::MAX));
    let phase = match now.phase.of {
        1 => String::new(),
        of => format!(" | phase {} of {of}: {}", now.phase.number + 1, one_line(now.phase.name)),
    };
    let who = match now.parts.as_slice() {
        [only] => one_line(&only.name).into_owned(),
        several => format!("{} hosts", several.len()),
    };
    format!(
        "{clock} | {who}{lost}{phase} | {} req/s | {}/s",
        units::request_rate(requests),
        units::bytes(bytes as u64),
    )
}

/// The state of a machine in a word.
pub fn state(part: &PartProgress) -> &'static str {
    match (part.is_lost, part.has_ended) {
        (true, _) => "lost",
        (false, true) => "ended",
        (false, false) => "runs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_cluster::PhaseProgress;
    use iosonar_cluster::protocol::HostProgress;

    fn part(name: &str, completed: u64, is_lost: bool) -> PartProgress {
        let requests =
            HostProgress { completed, bytes: completed * 4096, p99_ns: 1_200_000, ..HostProgress::default() };
        PartProgress { name: name.into(), requests, reported_ns: 0, is_lost, has_ended: false }
    }

    fn progress(parts: Vec<PartProgress>, seconds: u64) -> RunProgress<'static> {
        let phase = PhaseProgress { number: 0, of: 1, name: "", elapsed: Duration::from_secs(seconds) };
        RunProgress { phase, parts }
    }

    #[test]
    fn lines_have_the_sum_and_each_machine() {
        let mut shown = HostsProgress {
            form: Form::Silent,
            every: None,
            view: None,
            shown: Duration::from_secs(10),
            rates: HostRates::default(),
        };
        let reported = |part: PartProgress, s: u64| PartProgress { reported_ns: s * 1_000_000_000, ..part };
        let before = [part("alpha", 1_000, false), part("b", 1_000, false), part("c", 10, false)];
        shown.lines(&progress(before.map(|part| reported(part, 10)).into(), 10));
        // The latest report of b is older than the line.
        let now = progress(
            vec![
                reported(part("alpha", 3_000, false), 20),
                reported(part("b", 1_500, false), 15),
                reported(part("c", 10, true), 10),
            ],
            20,
        );
        let lines = shown.lines(&now);
        assert_eq!(lines[0], "00:20 | 3 hosts | 1 lost | 300 req/s | 1.17 MiB/s");
        assert_eq!(lines[1], "  alpha |       200 req/s |   800 KiB/s | p99 1.20 ms | late 0 s | q 0");
        assert_eq!(lines[3], "  c     | lost");
        assert_eq!(shown.json(&now)["hosts"][2]["state"], "lost");
        let many = (0..40).map(|n| reported(part(&format!("n{n}"), n * 100, false), 30)).collect();
        let lines = shown.lines(&progress(many, 30));
        assert_eq!((lines.len(), lines.last().unwrap().as_str()), (18, "  and 24 faster ones"));
    }
}
