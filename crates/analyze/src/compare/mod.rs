//! Compares two runs: the differences, their size, and whether noise alone could have caused them.
//!
//! Figures and their method stand in `docs/compare.md`. Memory is bounded by the number of blocks.

mod answer;
mod blocks;
mod condition;
mod differences;
mod estimate;
mod family;
mod figures;
mod histogram;
mod machine;
mod noise;
mod over_time;
mod pairs;
mod phases;
mod random;
mod repeats;
#[cfg(test)]
mod simulation;
pub(crate) mod student;

pub use answer::{
    Answer, Outcome, WITHIN_RUNS, change_text, interval_text, percent_text, signed_text, with_sign,
};
pub use blocks::{Blocks, Quantity, Who};
pub use condition::{Bound, ChangeLimit, Condition, ConditionError, Judgement};
pub use differences::Difference;
pub use figures::{Figure, Unit};
pub use machine::{ForeignBytes, MachineUse, MachineWindow};
pub use over_time::{OverTime, Stretch};
pub use phases::{PhaseComparison, Phases};
pub use repeats::{LEAST_REPEATS, NeededRuns, Repeats, RunValues, compare_repeats};
pub use student::critical_t;

use crate::{Correlation, Records, Statement, Verdict};
use figures::{Runs, percent};
use iosonar_archive::PhaseTimes;
use iosonar_plan::Plan;
use pairs::{ALIKE, Paired};
use serde::Serialize;
use std::io;

/// Version of the comparison's JSON form.
pub const COMPARE_VERSION: u32 = 1;

/// Error probabilities of a comparison. With the bias of the estimates themselves, less than 5 % in all: see the table in
/// `docs/compare.md`.
#[derive(Debug, Clone, Copy)]
struct Errors {
    /// For all figures together.
    figures: f64,
    /// For all stretches of time together.
    stretches: f64,
}

impl Errors {
    /// The share of each of several comparisons that are made together (Bonferroni).
    fn shared_by(comparisons: usize) -> Errors {
        let share = comparisons.max(1) as f64;
        Errors { figures: 0.03 / share, stretches: 0.01 / share }
    }
}

/// A run shorter than this shows little of its noise.
const SHORT_NS: u64 = 3_000_000_000;
/// Bytes or requests that differ by more than this share make the work unequal.
const UNEQUAL: f64 = 0.001;

/// A run to compare, as it was read.
pub struct Run<'a> {
    /// Its name: its directory, for example.
    pub name: String,
    /// Its requests.
    pub records: &'a dyn Records,
    /// Its plan, if it has one.
    pub plan: Option<&'a Plan>,
    /// Where it ran, as JSON; null if unknown.
    pub environment: serde_json::Value,
    /// Whether its requests have a timetable.
    pub has_timetable: bool,
    /// Its phases, where they have names.
    pub phases: &'a [PhaseTimes],
    /// Why it is incomplete, as a sentence; `None` if it is complete.
    pub incomplete: Option<String>,
    /// The verdict on its figures, where it was judged.
    pub verdict: Option<RunVerdict>,
}

/// How a run was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Made {
    /// Name and version of the program.
    pub tool: String,
    /// The command as typed.
    pub command: String,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Paths of the targets, with the models of the devices.
    pub targets: Vec<String>,
}

/// The verdict on the figures of a run, in a word and in a sentence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunVerdict {
    /// In a word.
    pub verdict: Verdict,
    /// In a sentence.
    pub sentence: String,
}

/// A run of a comparison in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// Requests after the ramp.
    pub requests: u64,
    /// Requests that completed: only these are compared.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// From the first beginning to the last completion.
    pub duration_ns: u64,
    /// The verdict on its figures, where it was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// How it was made; absent for a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

impl Facts {
    /// The sentence of its verdict, where its figures are not what they claim to be.
    pub fn fake(&self) -> Option<&str> {
        let fake = self.verdict.as_ref().filter(|judged| judged.verdict == Verdict::Fake)?;
        Some(&fake.sentence)
    }
}

/// Whether both runs executed the same requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SameLoad {
    /// Every request has its fellow.
    Same,
    /// One run goes further; as far as both go, every request has its fellow.
    SameAsFarAsBothGo,
    /// They did different things.
    Different,
}

/// The requests that both runs executed, one by one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pairs {
    /// Pairs that completed in both runs.
    pub completed: u64,
    /// Median of B ÷ A.
    pub median_ratio: Option<f64>,
    /// Share whose latency is more than 3 % less in B.
    pub better_share: f64,
    /// Share whose latency is more than 3 % greater in B.
    pub worse_share: f64,
    /// How often B ÷ A lies between two values.
    pub histogram: Vec<RatioBin>,
    /// Latency in B over latency in A, in nanoseconds.
    #[serde(skip)]
    pub density: Correlation,
}

/// A bin of the histogram of ratios. Each is an eighth of a factor of two wide; the outer ones hold all beyond.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RatioBin {
    /// Base-2 logarithm of its lower end; absent for the first.
    pub from_log2: Option<f64>,
    /// Base-2 logarithm of its upper end; absent for the last.
    pub to_log2: Option<f64>,
    /// Share of the pairs.
    pub share: f64,
}

/// How much two distributions lie apart, whatever their shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The name of the compared distribution: `latency`, `latency.read`.
    pub what: String,
    /// Probability that a request of B takes longer than one of A, equal ones counted half.
    pub probability_b_slower: f64,
    /// Cliff's delta: 2 × that − 1.
    pub cliffs_delta: f64,
}

/// Two runs compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The answer in a sentence.
    pub answer: Answer,
    /// The baseline.
    pub a: Facts,
    /// The run that is compared with it.
    pub b: Facts,
    /// Differences between the plans.
    pub plan: Vec<Difference>,
    /// Differences between the environments.
    pub environment: Vec<Difference>,
    /// Whether both did the same.
    pub load: SameLoad,
    /// Cautions to read before believing the figures.
    pub cautions: Vec<String>,
    /// Every figure that both have.
    pub figures: Vec<Figure>,
    /// The only operation that both have: its figures are those of all requests. `None` if there are several.
    #[serde(skip)]
    pub only: Option<Who>,
    /// Sizes of the effect.
    pub effects: Vec<Effect>,
    /// Requests one by one, where both did the same.
    pub pairs: Option<Pairs>,
    /// When they differ.
    pub over_time: OverTime,
    /// Phases, each by itself.
    #[serde(skip_serializing_if = "Phases::is_empty")]
    pub phases: Phases,
    /// Activity of the machine in the times in which the runs differ; empty where it is known for neither run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<MachineWindow>,
    /// The difference, why there is one, and what to do: `iosonar-story` makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<Statement>,
    /// The runs of both sides, where each has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
}

/// A comparison and the judgement of its conditions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The comparison.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// One for each condition, in the order in which they were typed.
    pub conditions: Vec<JudgedCondition>,
}

/// A condition and whether it holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedCondition {
    /// The condition.
    #[serde(flatten)]
    pub condition: Condition,
    /// Whether it holds.
    pub result: Judgement,
    /// Change in percent that would be shown 8 times in 10, if that is more than the condition asks about: then holding means little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blind_below_percent: Option<f64>,
    /// Whether a condition on a value holds only because the interval is wide: the value of B lies beyond the limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_undecided: bool,
}

/// Whether conditions are judged on figures that are not what they claim to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFake {
    /// Such a condition cannot be judged.
    Refuse,
    /// By the figures as they are.
    Anyway,
}

impl Judged {
    /// Judges a comparison by conditions.
    pub fn new(comparison: Comparison, conditions: &[Condition], on_fake: OnFake) -> Judged {
        let is_refused = on_fake == OnFake::Refuse && comparison.fakes().next().is_some();
        let judge = |condition: &Condition| {
            let figure = condition.figure(&comparison);
            let result = if is_refused { Judgement::Unknown } else { condition.judge(figure) };
            let visible = figure.and_then(|figure| figure.smallest_visible_percent);
            JudgedCondition {
                result,
                blind_below_percent: visible.filter(|visible| {
                    let Bound::Change { percent } = condition.bound else { return false };
                    result == Judgement::Holds && percent != 0.0 && *visible > percent.abs()
                }),
                is_undecided: result == Judgement::Holds
                    && figure.is_some_and(|figure| condition.is_beyond(figure.b)),
                condition: condition.clone(),
            }
        };
        Judged { conditions: conditions.iter().map(judge).collect(), comparison }
    }
}

impl Comparison {
    /// The letters of the runs whose figures are not what they claim to be, each with the sentence of its verdict.
    pub fn fakes(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("A", &self.a), ("B", &self.b)]
            .into_iter()
            .filter_map(|(letter, facts)| Some((letter, facts.fake()?)))
    }
}

/// Comparisons of several runs with the same baseline, as indented JSON with a line end.
pub fn to_json(comparisons: &[Judged]) -> String {
    let document = serde_json::json!({ "version": COMPARE_VERSION, "comparisons": comparisons });
    format!("{document:#}\n")
}

/// Compares B with the baseline A. `blocks` are those of the two runs, by [`Blocks::read`].
pub fn compare((a, a_blocks): (&Run, &Blocks), (b, b_blocks): (&Run, &Blocks)) -> io::Result<Comparison> {
    let errors = Errors::shared_by(Phases::sharing(a, b));
    let whole = compare_within((a, a_blocks), (b, b_blocks), errors)?;
    Ok(Comparison { phases: Phases::compare(a, b, errors)?, ..whole })
}

/// Compares them as a whole.
fn compare_within(
    (a, a_blocks): (&Run, &Blocks),
    (b, b_blocks): (&Run, &Blocks),
    errors: Errors,
) -> io::Result<Comparison> {
    let timetable = a.has_timetable && b.has_timetable;
    let (mut blocks_a, mut blocks_b) = (a_blocks.as_wide_as(b_blocks), b_blocks.as_wide_as(a_blocks));
    let paired = pairs::pair(a.records, b.records, &blocks_a, (a.has_timetable, b.has_timetable))?;
    let load = same_load(a_blocks, b_blocks, &paired);
    if timetable && load == SameLoad::SameAsFarAsBothGo {
        // The part that only one of them reached is a different load.
        let common = blocks_a.list().len().min(blocks_b.list().len()).saturating_sub(1);
        blocks_a.cut_off(common);
        blocks_b.cut_off(common);
    }
    let same = load != SameLoad::Different;
    let runs = Runs { a: &blocks_a, b: &blocks_b, paired: same && timetable, timetable };
    let figures = runs.figures(paired.median().filter(|_| same), errors.figures);
    let over_time = over_time::over_time(&runs, errors.stretches);
    let (facts_a, facts_b) = (facts(a, a_blocks), facts(b, b_blocks));
    let plan = differences::differences(&plan_json(a), &plan_json(b));
    Ok(Comparison {
        answer: Answer::new((&facts_a, &facts_b), &figures, &over_time, &plan, WITHIN_RUNS),
        plan,
        environment: differences::differences(&a.environment, &b.environment),
        load,
        cautions: cautions((a, a_blocks), (b, b_blocks), load, timetable)
            .into_iter()
            .chain(lost_pairs(&paired))
            .collect(),
        effects: effects(&runs),
        pairs: (same && paired.ratios.count() > 0).then(|| pairs_of(&paired)),
        a: facts_a,
        b: facts_b,
        figures,
        only: runs.only(),
        over_time,
        phases: Phases::default(),
        machine: Vec::new(),
        story: None,
        repeats: None,
    })
}

fn plan_json(run: &Run) -> serde_json::Value {
    run.plan.and_then(|plan| serde_json::to_value(plan).ok()).unwrap_or_default()
}

fn facts(run: &Run, blocks: &Blocks) -> Facts {
    Facts {
        name: run.name.clone(),
        requests: blocks.requests,
        completed: blocks.completed,
        failed: blocks.failed,
        duration_ns: blocks.duration_ns(),
        verdict: run.verdict.clone(),
        made: None,
    }
}

fn same_load(a: &Blocks, b: &Blocks, paired: &Paired) -> SameLoad {
    if a.requests > 0 && a.requests == b.requests && a.issued() == b.issued() {
        return SameLoad::Same;
    }
    if paired.alike == 0 || paired.unlike > 0 {
        return SameLoad::Different;
    }
    // Requests in flight when a run was cut off may lack some fellows before its end.
    let shorter = a.requests.min(b.requests);
    if paired.alike >= shorter - shorter / 10 { SameLoad::SameAsFarAsBothGo } else { SameLoad::Different }
}

fn pairs_of(paired: &Paired) -> Pairs {
    let all = paired.ratios.count() as f64;
    let below = |log2: f64| paired.below(log2.exp2()) / all;
    let above = |ratio: f64| (1.0 - paired.below(ratio) / all).max(0.0);
    let edges: Vec<f64> = (-24..=24).map(|i| f64::from(i) / 8.0).collect();
    let mut histogram = vec![RatioBin { from_log2: None, to_log2: Some(edges[0]), share: below(edges[0]) }];
    histogram.extend(edges.windows(2).map(|e| RatioBin {
        from_log2: Some(e[0]),
        to_log2: Some(e[1]),
        share: below(e[1]) - below(e[0]),
    }));
    let last = edges[edges.len() - 1];
    histogram.push(RatioBin { from_log2: Some(last), to_log2: None, share: above(last.exp2()) });
    Pairs {
        completed: paired.ratios.count(),
        median_ratio: paired.median().map(|pair| pair.log_ratio().exp()),
        better_share: paired.below(1.0 / ALIKE) / all,
        worse_share: above(ALIKE),
        histogram,
        density: paired.density.clone(),
    }
}

fn effects(runs: &Runs) -> Vec<Effect> {
    let quantities = if runs.timetable { &Quantity::ALL[..] } else { &Quantity::ALL[..1] };
    let each = quantities.iter().flat_map(|quantity| Who::ALL.map(|who| (*quantity, who)));
    let effect = |(quantity, who): (Quantity, Who)| {
        let (a, b) = (runs.a.total(quantity, who).histogram, runs.b.total(quantity, who).histogram);
        let probability = a.probability_less(&b)?;
        let what = format!("{}.{}", quantity.name(), who.prefix());
        Some(Effect {
            what: what.trim_end_matches('.').to_string(),
            probability_b_slower: probability,
            cliffs_delta: 2.0 * probability - 1.0,
        })
    };
    each.filter_map(effect).collect()
}

fn cautions(
    (a, a_blocks): (&Run, &Blocks),
    (b, b_blocks): (&Run, &Blocks),
    load: SameLoad,
    timetable: bool,
) -> Vec<String> {
    let mut out = Vec::new();
    for (letter, run, blocks) in [("A", a, a_blocks), ("B", b, b_blocks)] {
        out.extend(run.incomplete.as_ref().map(|why| format!("{letter}: {why}")));
        if blocks.failed > 0 {
            out.push(format!(
                "{letter}: {} of {} requests failed; only completed ones are compared",
                blocks.failed, blocks.requests
            ));
        }
        if blocks.completed > 0 && blocks.duration_ns() < SHORT_NS {
            out.push(format!(
                "{letter} lasted less than 3 s: noise that is slower than that is not in the intervals"
            ));
        }
    }
    match load {
        SameLoad::Same => {}
        SameLoad::SameAsFarAsBothGo if timetable => out.push(
            "one run goes further than the other: only the time that both have is compared".to_string(),
        ),
        SameLoad::SameAsFarAsBothGo => out.push("one run goes further than the other".to_string()),
        SameLoad::Different => out.extend(unequal_work(a_blocks, b_blocks)),
    }
    if a.has_timetable != b.has_timetable {
        out.push("only one of the runs had a timetable: delay and response are not compared".to_string());
    }
    out
}

fn lost_pairs(paired: &Paired) -> Option<String> {
    (paired.lost > 0).then(|| {
        format!(
            "{} requests came too late to meet their fellows: the pairs are not all there are",
            paired.lost
        )
    })
}

fn unequal_work(a: &Blocks, b: &Blocks) -> Option<String> {
    if a.completed == 0 || b.completed == 0 {
        return None;
    }
    let mean_bytes = |run: &Blocks| run.bytes() as f64 / run.completed as f64;
    let larger =
        larger_requests(mean_bytes(a), mean_bytes(b)).map_or(String::new(), |larger| format!("; {larger}"));
    Some(format!("the runs executed different requests: a difference may come from the load{larger}"))
}

/// How much larger requests of B are on average; `None` if they are not.
fn larger_requests(a: f64, b: f64) -> Option<String> {
    let change = b / a.max(f64::MIN_POSITIVE) - 1.0;
    let is_unequal = change.abs() > UNEQUAL;
    is_unequal.then(|| format!("requests of B are {:+.1} % larger on average", percent(change.ln_1p())))
}
