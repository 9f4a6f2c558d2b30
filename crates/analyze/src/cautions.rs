//! Facts about the state of a result, to be read before believing the figures. Whether the figures are what they claim to be is judged by the
//! detectors of `iosonar-judge`, which makes the cautions about that.

mod health;

use crate::Summary;
use crate::caution::{Caution, CautionId, Severity};
use iosonar_archive::{RunInfo, RunState, Verified};
use iosonar_plan::{Claim, Plan, ShortPolicy, Stamp};
use iosonar_text::units::grouped;

/// All of them, in the order of [`Caution::place`].
pub(crate) fn cautions(summary: &Summary, plan: &Plan, info: &RunInfo) -> Vec<Caution> {
    let mut list = List(Vec::new());
    stamp_cautions(&mut list, summary, plan);
    checks(&mut list, info);
    verification(&mut list, info);
    state(&mut list, info, summary);
    ended(&mut list, info);
    outcomes(&mut list, summary, plan);
    flushes(&mut list, info);
    discards(&mut list, info);
    placement(&mut list, summary);
    health::setup(&mut list, summary);
    health::timing(&mut list, summary);
    health::stalls(&mut list, summary);
    input(&mut list, info);
    list.0.sort_by_key(Caution::place);
    list.0
}

struct List(Vec<Caution>);

impl List {
    fn push(&mut self, id: CautionId, severity: Severity, text: String) {
        self.0.push(Caution { id, severity, text });
    }
}

fn stamp_cautions(list: &mut List, summary: &Summary, plan: &Plan) {
    for stamp in &summary.stamps {
        let (id, text) = match stamp {
            Stamp::FaultsInjected => (
                CautionId::FaultsInjected,
                "Faults were injected: the run tests how faults are detected. Data on the target is damaged on purpose.",
            ),
            Stamp::DryRun => {
                (CautionId::NullEngine, "No I/O was done: the figures show the cost of the generator alone.")
            }
            Stamp::Simulated => (
                CautionId::SimulatedDevice,
                "The device is a model: the figures come from a formula, not from storage.",
            ),
            Stamp::PageCache => (
                CautionId::NotDirect,
                "Requests went through the page cache: the figures show memory as much as storage. Run with direct I/O.",
            ),
        };
        // A claim about a file system or memory is meant to measure exactly that.
        let is_claimed =
            id == CautionId::NotDirect && matches!(plan.claim(), Claim::Filesystem | Claim::Cache);
        let severity = if is_claimed { Severity::Note } else { Severity::Severe };
        list.push(id, severity, text.to_string());
    }
}

fn state(list: &mut List, info: &RunInfo, summary: &Summary) {
    match &info.state {
        RunState::Finished => {}
        RunState::Running => list.push(
            CautionId::RunUnfinished,
            Severity::Warning,
            "The run has no end: it was killed, or it still goes on. Figures cover what was recorded."
                .to_string(),
        ),
        RunState::Interrupted(signal) => list.push(
            CautionId::RunInterrupted,
            Severity::Warning,
            format!("The run was stopped by {signal}{}: figures cover the part before.", part(info, summary)),
        ),
        RunState::Broken(why) => {
            list.push(CautionId::RunBroken, Severity::Severe, format!("The run could not go on: {why}"));
        }
        RunState::Unconverted(why) => list.push(
            CautionId::Unconverted,
            Severity::Warning,
            format!(
                "The result could not be converted at the end of the run: {why}. No record is lost, and the figures cover \
                 all of them. Make room; then 'iosonar show' converts the result."
            ),
        ),
    }
}

/// ` after 12 of 34 requests`, if the plan states the expected number.
fn part(info: &RunInfo, summary: &Summary) -> String {
    let expected = info.targets.iter().map(|t| t.expected_requests).sum::<Option<u64>>();
    let all = &summary.counts.all;
    let other = &summary.counts.other;
    let dealt_with = summary.counts.records() - all.cancelled - other.cancelled;
    expected.map_or(String::new(), |n| format!(" after {} of {} requests", grouped(dealt_with), grouped(n)))
}

/// Reports miscompared data.
fn checks(list: &mut List, info: &RunInfo) {
    if info.has_compared_nothing() {
        let text = "NOTHING was verified: no request with data to compare completed. Reads are compared; \
                    writes only where they are read back at once (--verify-immediate; options.verify.immediate in a plan).";
        list.push(CautionId::NothingVerified, Severity::Warning, text.into());
    }
    for (target, checks) in info.targets.iter().filter_map(|t| Some((t, t.checks.as_ref()?))) {
        if checks.miscompared == 0 {
            continue;
        }
        let first = checks.first.first().map_or(String::new(), |bad| {
            format!(
                " The first: pass {}, request {}, byte {} is {:#04x} instead of {:#04x}, and {} bytes of it are bad{}.",
                bad.pass + 1,
                bad.sequence,
                bad.offset.saturating_add(bad.at),
                bad.found,
                bad.expected,
                grouped(bad.bad_bytes),
                if bad.untransferred { ": the read succeeded and transferred nothing there" } else { "" }
            )
        });
        let text = format!(
            "{}: {} of {} requests whose data was checked were not what they should be.{first} run.json lists up to 100.",
            target.path,
            grouped(checks.miscompared),
            grouped(checks.requests)
        );
        list.push(CautionId::Miscompared, Severity::Severe, text);
    }
}

/// Reports the results of verification, and its gaps.
fn verification(list: &mut List, info: &RunInfo) {
    let Some(verified) = &info.verified else { return };
    let total = verified.total();
    if total > 0 {
        let text = format!(
            "DATA ERRORS: {}. Verification found data on a target that is not what was written; the lines after 'verify:' name it, \
             and faults.jsonl lists the faults.",
            grouped(total)
        );
        list.push(CautionId::DataErrors, Severity::Severe, text);
    }
    if verified.is_empty() {
        list.push(CautionId::NothingVerified, Severity::Warning, nothing_verified(info, verified));
    }
    let is_stopped = verified.scan.is_some_and(|scan| scan.stopped);
    if verified.given_up > 0 || is_stopped {
        let given_up = match verified.given_up {
            0 => String::new(),
            n => format!(
                " The state of {} sectors was given up, because memory is limited: raise --verify-memory (verify.memory in a plan).",
                grouped(n)
            ),
        };
        let stopped = if is_stopped { " The final scan was stopped before its end." } else { "" };
        let text = format!("The result is not completely verified.{given_up}{stopped}");
        list.push(CautionId::VerifiedInPart, Severity::Warning, text);
    }
}

/// Why nothing was compared, and how to change that.
fn nothing_verified(info: &RunInfo, verified: &Verified) -> String {
    let has_written = info.targets.iter().any(|target| target.written.is_some());
    let has_final = verified.modes.split(',').any(|mode| mode == "final");
    let why = match (has_written, has_final) {
        (false, _) => {
            "the run has written nothing, and --verify compares what the run itself has written. What an earlier run has written is \
             verified from its result: iosonar verify RESULT."
        }
        (true, false) => {
            "no read met a place that this run had written. Add final to the modes (--verify read,final; verify.modes in a plan; \
             --with-final-verify of blkreplay)."
        }
        (true, true) => "the content of no place that this run has written is known, or none was read.",
    };
    format!("NOTHING was verified: {why}")
}

/// Omitted if the whole run aborted: another caution reports that.
fn ended(list: &mut List, info: &RunInfo) {
    for target in &info.targets {
        if let Some(why) = &target.ended_early {
            let text = format!(
                "{} ended before its end, while others went on: {why}. Figures of the whole run mix times with it and \
                 without it; repeat the run without the cause, or without this target.",
                target.path
            );
            list.push(CautionId::TargetEnded, Severity::Severe, text);
        }
    }
}

fn outcomes(list: &mut List, summary: &Summary, plan: &Plan) {
    let all = &summary.counts.all;
    if all.completed + summary.counts.other.completed == 0 {
        let text = "No request completed, so there are no times to show.".to_string();
        list.push(CautionId::NothingCompleted, Severity::Severe, text);
    }
    if all.ramp_failed > 0 {
        let text = format!(
            "{} of {} requests of the ramp failed: the state that it should have led to may not be reached.",
            grouped(all.ramp_failed),
            grouped(all.ramp)
        );
        list.push(CautionId::RampFailed, Severity::Warning, text);
    }
    if all.short > 0 {
        let text = short_transfers(summary, plan.faults.short);
        list.push(CautionId::ShortTransfers, Severity::Note, text);
    }
}

/// A database waits for its flushes: without them a replay is easier than what was recorded.
fn flushes(list: &mut List, info: &RunInfo) {
    let left_out: u64 = info.targets.iter().map(|t| t.left_out_flushes).sum();
    if left_out == 0 {
        return;
    }
    let text = format!(
        "{} flushes, and writes with FUA or a preflush, of the load were skipped or made plain (flush = 'drop'): the target \
         could keep all writes in its cache, which is easier than what was recorded. Replay them (--flush issue).",
        grouped(left_out)
    );
    list.push(CautionId::FlushesDropped, Severity::Warning, text);
}

/// A device has less to do without them.
fn discards(list: &mut List, info: &RunInfo) {
    let left_out: u64 = info.targets.iter().map(|t| t.left_out_discards).sum();
    if left_out > 0 {
        let text = format!(
            "{} discards and write zeroes of the load were skipped (discard = 'drop'): the target had less to do than what was \
             recorded. Replay them (--discard issue).",
            grouped(left_out)
        );
        list.push(CautionId::DiscardsDropped, Severity::Warning, text);
    }
}

fn short_transfers(summary: &Summary, policy: ShortPolicy) -> String {
    let short = summary.counts.all.short;
    // A failure without an errno is a short transfer.
    let stayed = summary.errors.iter().find(|e| e.errno == 0).map_or(0, |e| e.count);
    let began = format!("{} requests transferred less than asked", grouped(short));
    match (policy, stayed) {
        (ShortPolicy::Record, _) => format!(
            "{began} by the first call and were left so, as the plan wants (faults.short = 'record'): they count as \
             failed."
        ),
        (ShortPolicy::Complete, 0) => {
            format!("{began} at least once and were continued: their latency is that of all their calls.")
        }
        (ShortPolicy::Complete, stayed) => format!(
            "{began} at least once. The rest was asked for again; {} stayed short all the same and count as failed, \
             as reads beyond the end of the data do.",
            grouped(stayed)
        ),
    }
}

fn placement(list: &mut List, summary: &Summary) {
    let (all, write) = (&summary.counts.all, &summary.counts.write);
    if all.rounded > 0 {
        let mut text =
            format!("{} requests were widened to whole logical blocks of the target.", grouped(all.rounded));
        if write.rounded > 0 {
            text += &format!(
                " {} of them were writes: each overwrote neighbouring sectors that the load did not touch.",
                grouped(write.rounded)
            );
        }
        list.push(CautionId::Rounded, Severity::Warning, text);
    }
    if all.at_border > 0 {
        let text = format!(
            "{} requests would have crossed the end of the target and were moved down.",
            grouped(all.at_border)
        );
        list.push(CautionId::MovedAtBorder, Severity::Note, text);
    }
}

fn input(list: &mut List, info: &RunInfo) {
    for target in &info.targets {
        if target.bad_lines > 0 {
            let text = format!(
                "{} of {} lines of {} were skipped as no requests.",
                grouped(target.bad_lines),
                grouped(target.input_lines),
                target.source
            );
            list.push(CautionId::BadLines, Severity::Warning, text);
        }
        if target.back_shifts > 0 {
            let text = format!(
                "Time ran backward {} times in {}: what follows was shifted.",
                grouped(target.back_shifts),
                target.source
            );
            list.push(CautionId::BackwardTime, Severity::Note, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;
    use iosonar_archive::{Checks, Miscompare};
    use iosonar_archive::{Interruption, Signal};
    use iosonar_archive::{Marks, Outcome};
    use iosonar_plan::{Engine, Nanos};

    fn ids(f: &Fixture) -> Vec<CautionId> {
        f.summary().cautions.iter().map(|c| c.id).collect()
    }

    #[test]
    fn stamps_follow_engine_and_access() {
        let mut f = Fixture::from_times(&[(0, 0, 1)]);
        assert_eq!(f.summary().stamps, []);
        f.plan.access.buffered = true;
        assert_eq!(f.summary().stamps, [Stamp::PageCache]);
        f.plan.engine = Engine::Null;
        assert_eq!(f.summary().stamps, [Stamp::DryRun]);
        f.plan.engine = Engine::Sim(Default::default());
        assert_eq!(f.summary().stamps, [Stamp::Simulated]);
        assert!(f.summary().to_json().contains("SIMULATED -- NOT A STORAGE RESULT"));
        f.plan.inject.push("lost:every=9".parse().unwrap());
        assert_eq!(f.summary().stamps, [Stamp::FaultsInjected, Stamp::Simulated]);
    }

    #[test]
    fn sorts_cautions_by_severity_and_explains_rounding() {
        let mut f = Fixture::mixed();
        f.info.state = RunState::Interrupted(Interruption::Signal(Signal::INTERRUPT));
        f.plan.access.buffered = true;
        f.info.recorder_stalls.add(Nanos(5));
        let cautions = f.summary().cautions;
        assert!(cautions.is_sorted_by_key(|c| std::cmp::Reverse(c.severity)));
        let text = |id| &cautions.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("{id:?}")).text;
        assert!(text(CautionId::Rounded).contains("overwrote neighbouring sectors"));
        assert!(text(CautionId::RecorderStalls).contains("1 times"));
        assert!(text(CautionId::RunInterrupted).contains("SIGINT"));
    }

    #[test]
    fn names_early_ended_target_and_its_reason() {
        let mut f = Fixture::mixed();
        f.info.targets[1].ended_early = Some("more than 0 requests failed".into());
        let cautions = f.summary().cautions;
        assert_eq!((cautions[0].id, cautions[0].severity), (CautionId::TargetEnded, Severity::Severe));
        assert!(
            cautions[0].text.contains("/dev/b") && cautions[0].text.contains("more than 0 requests failed")
        );
    }

    #[test]
    fn miscompares_come_first() {
        let mut f = Fixture::mixed();
        let checked = Checks { requests: 9, ..Checks::default() };
        f.info.targets[0].checks = Some(checked.clone());
        assert!(f.summary().cautions.iter().all(|c| c.id != CautionId::Miscompared));
        let bad = Miscompare {
            phase: 0,
            pass: 0,
            sequence: 3,
            offset: 4096,
            at: 7,
            expected: 0,
            found: 0x40,
            bad_bytes: 1,
            untransferred: false,
        };
        f.info.targets[0].checks = Some(Checks { miscompared: 1, first: vec![bad], ..checked });
        let cautions = f.summary().cautions;
        assert_eq!((cautions[0].id, cautions[0].severity), (CautionId::Miscompared, Severity::Severe));
        assert!(cautions[0].text.contains("1 of 9") && cautions[0].text.contains("byte 4103 is 0x40"));
    }

    #[test]
    fn short_transfer_caution_states_policy() {
        let mut f = Fixture::from_times(&[(0, 0, 1), (1, 1, 2), (2, 2, 3)]);
        let text = |f: &Fixture| {
            let cautions = f.summary().cautions;
            cautions.into_iter().find(|c| c.id == CautionId::ShortTransfers).expect("a caution").text
        };
        f.records[0].marks = Marks::SHORT;
        assert!(text(&f).contains("1 requests") && text(&f).contains("were continued"));
        f.records[1].marks = Marks::SHORT;
        (f.records[1].outcome, f.records[1].result) = (Outcome::Failed, 512);
        assert!(text(&f).contains("2 requests") && text(&f).contains("1 stayed short"), "{}", text(&f));
        f.plan.faults.short = ShortPolicy::Record;
        assert!(text(&f).contains("left so") && !text(&f).contains("continued"));
    }

    #[test]
    fn ramp_is_excluded_but_its_failures_are_reported() {
        let mut f =
            Fixture::from_times(&[(0, 900, 9_000_000_000), (9_500_000_000, 9_500_000_010, 9_500_000_020)]);
        f.records[0].marks = Marks::RAMP;
        (f.records[0].outcome, f.records[0].result) = (Outcome::Failed, -5);
        let s = f.summary();
        assert_eq!((s.counts.all.total, s.counts.all.ramp, s.counts.all.ramp_failed), (1, 1, 1));
        assert_eq!((s.latency.all.unwrap().max_ns, s.span.first_due_ns), (10, Some(9_500_000_000)));
        assert_eq!((s.counts.all.failed, s.errors.len(), s.limits.latency.above), (0, 0, 0));
        assert_eq!(s.in_flight.mean_time_weighted, Some(0.5));
        assert!(ids(&f).contains(&CautionId::RampFailed));
    }
}
