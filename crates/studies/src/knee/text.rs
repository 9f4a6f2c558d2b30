//! The answer as text.

use super::Answer;
use iosonar_analyze::knee::{RampStep, RampedOverload, StepState};
use iosonar_plaintext::statement;
use iosonar_text::shown;
use iosonar_text::units::{Charset, duration, grouped, request_rate};
use std::fmt;

/// The story, and the verdict with its evidence.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", statement(&self.story))?;
        let source = self.summary.targets.first().map_or("", |target| target.source.as_str());
        writeln!(f, "knee of {}: {source}, depth {}", shown(&self.target), self.depth)?;
        self.sentences.iter().try_for_each(|sentence| writeln!(f, "  {sentence}"))?;
        if self.ramp().is_some_and(|ramp| ramp.load_was_over) {
            f.write_str(
                "  the load was over before the ramp: repeat it ('iosonar load filter repeat:10'), and a higher rate is possible\n",
            )?;
        }
        self.stamps.iter().try_for_each(|stamp| writeln!(f, "  {stamp}"))?;
        f.write_str(&overload(self.ramp().map(|ramp| ramp.ramped_overload).unwrap_or_default()))?;
        f.write_str(&table(self))
    }
}

/// blkreplay's own measure.
fn overload(of: RampedOverload) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let iops = of.iops().map_or("none: no request was more than a second late".to_string(), |iops| {
        let (from, to) = (seconds(of.from_ns), seconds(of.to_ns));
        format!("OPS={} FROM={from:.3} TO={to:.3} IOPS={iops:.1}", of.ops)
    });
    format!("  determine-ramped-overload-iops: {iops}\n")
}

/// Target rate, achieved rate and times in some intervals of the ramp.
fn table(knee: &Answer) -> String {
    let mut text = format!(
        "\n  {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n",
        "demanded/s", "delivered/s", "behind", "delay p50", "delay p99", "response p50"
    );
    knee.judged_steps().iter().for_each(|step| text += &line(step));
    text
}

fn line(step: &RampStep) -> String {
    let row = &step.row;
    let mark = if step.state == StepState::Knee { "  < the knee" } else { "" };
    let time = |ns: Option<u64>| ns.map_or("-".to_string(), |ns| duration(ns, Charset::Ascii));
    format!(
        "  {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}{mark}\n",
        request_rate(row.demand_per_second()),
        request_rate(row.delivered_per_second()),
        grouped(step.backlog as u64),
        time(row.delay.map(|d| d.p50_ns)),
        time(row.delay.map(|d| d.p99_ns)),
        time(row.response.map(|r| r.p50_ns)),
    )
}
