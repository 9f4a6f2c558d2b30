//! An analysis as text, and as the material of pictures.

use crate::args::analyze::DemandArgs;
use crate::session::command_line;
use iosonar_analyze::{Caution, CautionId, Limits, Severity, spare_memory};
use iosonar_archive::TOOL;
use iosonar_evidence::Environment;
use iosonar_host::{Root, TargetKind, memory_limit};
use iosonar_inputs::{Analysis, AnalysisOptions, Member, RunAnalysis};
use iosonar_plaintext::{LoadText, Mail, MailOptions};
use iosonar_text::units::date;
use iosonar_text::{shown, units};
use iosonar_view::scene::Figure;
use iosonar_view::{Headline, Material, RunMaterial, Subject};
use std::sync::OnceLock;

/// Memory limits below this are respected.
const SCARCE: u64 = 1 << 30;
/// The memory limit of this process's control groups, if it is respected.
static MEMORY_LIMIT: OnceLock<Option<u64>> = OnceLock::new();

/// Restricts analyses of this process to the memory that its control groups allow: without it they are faster.
pub fn heed_memory_limit() {
    let limit = MEMORY_LIMIT.get_or_init(|| memory_limit(&Root::default()).filter(|limit| *limit < SCARCE));
    if limit.is_some() {
        spare_memory();
    }
}

/// Options as typed.
pub fn options(limits: Limits, demand: &DemandArgs) -> AnalysisOptions {
    AnalysisOptions {
        limits,
        demand: demand.options(),
        one_device: demand.one_device,
        throughput_window_ns: demand.throughput_window.map(|window| window.0),
        ..default_options()
    }
}

/// Options of an analysis whose command line has none.
pub fn default_options() -> AnalysisOptions {
    AnalysisOptions { memory_limit: MEMORY_LIMIT.get().copied().flatten(), ..AnalysisOptions::default() }
}

/// Kernel and the first target's scheduler, for pictures.
pub fn headline(environment: &Environment) -> Headline {
    let kernel = environment.kernel.release.known();
    let device = match environment.targets.first().map(|target| &target.kind) {
        Some(TargetKind::BlockDevice(device)) => Some(device),
        _ => None,
    };
    let parts = [
        kernel.map(|k| format!("Linux {k}")),
        device.and_then(|device| device.model.known()).map(|model| model.trim().to_string()),
        device.and_then(|device| device.queue.scheduler.known()).map(|s| format!("scheduler {s}")),
    ];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    Headline { environment: (!words.is_empty()).then(|| words.join(", ")) }
}

/// Calls `f` with the subject and the data of pictures.
pub fn with_material<T>(analysis: &Analysis, f: impl FnOnce(&Material<'_>) -> T) -> T {
    let subject = match &analysis.run {
        Some(run) if analysis.names.len() > 1 => Subject {
            what: format!("{} inputs, merged: {}", analysis.names.len(), analysis.names.join(", ")),
            run_id: None,
            command: command_line(),
            ..Subject::of_run(&run.summary, &analysis.environment.as_ref().map(headline).unwrap_or_default())
        },
        Some(run) => {
            Subject::of_run(&run.summary, &analysis.environment.as_ref().map(headline).unwrap_or_default())
        }
        None => subject_of_load(analysis),
    };
    let run = analysis.run.as_ref().map(material);
    f(&Material { subject: &subject, run, demand: analysis.demand.as_ref() })
}

/// The remarks as one caution, for pictures.
fn skipped(analysis: &Analysis) -> Option<Caution> {
    let first = analysis.remarks.first()?;
    let text = match analysis.remarks.len() {
        1 => first.clone(),
        n => format!("{first}, and {} more remarks", n - 1),
    };
    Some(Caution { id: CautionId::BadLines, severity: Severity::Warning, text })
}

fn subject_of_load(analysis: &Analysis) -> Subject {
    Subject {
        what: analysis.names.join(", "),
        how: format!(
            "load · {} requests · up to {}",
            units::grouped(analysis.requests()),
            units::moment(analysis.demand_span_end_ns(), units::Charset::Unicode)
        ),
        figures: vec![
            Figure { path: "demand.counts.all.requests".into(), value: analysis.requests().into() },
            Figure { path: "demand.span.last_ns".into(), value: analysis.demand_span_end_ns().into() },
        ],
        tool: TOOL.into(),
        command: command_line(),
        cautions: skipped(analysis).into_iter().collect(),
        ..Subject::default()
    }
}

/// The text of a mail.
pub fn mail(analysis: &Analysis, options: MailOptions) -> String {
    match &analysis.run {
        Some(run) => {
            let findings = run.findings.sentences();
            iosonar_plaintext::mail(&Mail::of_run(&run.summary, &run.diagrams.latency, &findings), options)
        }
        None => {
            let skipped = skipped(analysis);
            let report = Mail {
                head: vec![analysis.names.join(", ")],
                load: analysis.demand.as_ref().map(LoadText::of),
                cautions: skipped.as_slice(),
                ..Mail::default()
            };
            iosonar_plaintext::mail(&report, options)
        }
    }
}

/// The text for a terminal.
pub fn text(analysis: &Analysis) -> String {
    let mut text = members_text(&analysis.members);
    if let Some(run) = &analysis.run {
        text += &iosonar_plaintext::summary(&run.summary);
        text += &iosonar_plaintext::findings(&run.findings);
        text.push('\n');
    }
    if let Some(story) = analysis.story() {
        text += &(iosonar_plaintext::statement(&story) + "\n");
    }
    if let Some(demand) = &analysis.demand {
        text += &iosonar_plaintext::demand(&analysis.names, &demand.facts);
    }
    text
}

/// Data for the pictures of a run.
pub fn material(run: &RunAnalysis) -> RunMaterial<'_> {
    RunMaterial {
        summary: &run.summary,
        diagrams: &run.diagrams,
        tally: run.tally.as_ref(),
        findings: Some(&run.findings),
        machine: run.machine.as_ref(),
        extents: run.extents.as_ref(),
        faults: &run.faults,
    }
}

/// Explains that the inputs are merged, and when each of them started; empty for a single one.
fn members_text(members: &[Member]) -> String {
    if members.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "Merged: {} inputs on one time axis, as if all had started at the same time.\n\
         All figures are those of all inputs together; --each shows each input.\n",
        members.len()
    );
    let first = members.iter().filter_map(|member| member.started_unix_ns).min();
    for member in members {
        let started = member.started_unix_ns.map_or("start unknown".to_string(), |started| {
            let later = started - first.unwrap_or(started);
            let later = if later > 0 {
                format!(", {:.3} s after the first", later as f64 / 1e9)
            } else {
                String::new()
            };
            format!("started {}{later}", date(started))
        });
        text += &format!("  {}\n    {started}\n", shown(&member.name));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_input_has_its_start_time() {
        let member = |name: &str, started_unix_ns| Member { name: name.into(), started_unix_ns };
        assert_eq!(members_text(&[]), "");
        let text = members_text(&[
            member("late", Some(1_000_000_090_500_000_000)),
            member("early", Some(1_000_000_000_000_000_000)),
            member("load", None),
        ]);
        assert!(
            text.contains("  late\n    started 2001-09-09 01:48:10 UTC, 90.500 s after the first\n"),
            "{text}"
        );
        assert!(text.contains("  early\n    started 2001-09-09 01:46:40 UTC\n"), "{text}");
        assert!(text.contains("  load\n    start unknown\n"), "{text}");
    }
}
