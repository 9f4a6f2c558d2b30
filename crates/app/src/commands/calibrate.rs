//! `iosonar calibrate`: measures the program's own cost on this machine.

use crate::args::calibrate::CalibrateArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::session;
use iosonar_plan::Nanos;
use iosonar_studies::calibrate::{self, Answer, EngineRow, Question, TimerRow};
use iosonar_text::shown;
use iosonar_view::{CalibrationText, ClockText, EngineText, TimerText, show_calibration};

/// Measures, and prints the figures.
pub fn calibrate(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let question = Question { rounds: args.rounds, length: args.duration, dir: args.dir.clone() };
    let answer = calibrate::run(&session::ending_on_signal()?, &question)?;
    print(&if args.json { format!("{:#}\n", answer.to_json()) } else { text(&answer) })?;
    Ok(if answer.is_whole() { Exit::Fine } else { Exit::Failed })
}

fn text(answer: &Answer) -> String {
    let clock = &answer.clock;
    show_calibration(&CalibrationText {
        machine: &answer.machine.words(),
        is_busy: answer.machine.is_busy(),
        is_release_build: answer.is_release_build,
        clock: ClockText {
            source: clock.source,
            cost_ps: clock.cost_ps,
            system_cost_ps: clock.system_cost_ps,
            step_ns: clock.step_ns,
        },
        timers: answer.timers.iter().map(timer).collect(),
        copies: answer.copies.iter().map(|copy| (copy.bytes, copy.bytes_per_second)).collect(),
        engines: answer.engines.iter().map(engine).collect(),
        dir: &shown(&answer.dir).to_string(),
        rounds: answer.rounds,
        length: Nanos(answer.round_ns),
    })
}

fn engine(row: &EngineRow) -> EngineText<'_> {
    let cost = row.cost.known();
    let cost = cost.map(|cost| (cost.ns_per_request, cost.cpu_ns_per_request, cost.requests));
    EngineText { name: row.engine, depth: row.depth, cost }
}

fn timer(row: &TimerRow) -> TimerText<'_> {
    let lateness = row.lateness.known();
    let lateness =
        lateness.map(|late| (Nanos(late.spin_ns), [late.late_p50_ns, late.late_p99_ns], late.requests));
    TimerText { is_default: row.default, lateness }
}
