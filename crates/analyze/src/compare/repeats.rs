//! Repeats of two settings: each run gives one value of a figure, so that the intervals cover the noise from run to run.
//!
//! The change is the difference of the means of logarithms. All intervals hold together: what figures of the same runs have
//! in common is simulated as in `family.rs`, with runs in place of blocks. The figures that answer the question have most of
//! the error probability: with few runs, each further figure would widen their intervals much.

use super::blocks::Blocks;
use super::estimate::LEAST_HALF_WIDTH;
use super::figures::{self, Figure, Unit, percent};
use super::noise::Noise;
use super::student::critical_t;
use super::{
    Answer, Comparison, Difference, Facts, OverTime, Phases, Run, RunVerdict, SameLoad, differences, facts,
    family, larger_requests, plan_json,
};
use crate::Verdict;
use serde::Serialize;

/// Fewest runs of a side: a single one shows no noise between runs.
pub const LEAST_REPEATS: usize = 2;
/// Changes in percent for which the number of runs is said: the greatest one that is not visible yet.
const WANTED: [f64; 5] = [20.0, 10.0, 5.0, 2.0, 1.0];
/// Most runs of each side that are proposed.
const MOST_RUNS: usize = 1000;

/// The runs of a comparison of repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repeats {
    /// Runs of A.
    pub a: Vec<Facts>,
    /// Runs of B.
    pub b: Vec<Facts>,
    /// The figures of each of them.
    pub values: Vec<RunValues>,
    /// How many runs would show a smaller change; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<NeededRuns>,
    /// The noise that the intervals cover, and what these runs can show, in a sentence or two.
    pub covers: String,
}

/// A figure of each run, in the order of the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunValues {
    /// Its name, as in conditions.
    pub name: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Its values in the runs of A.
    pub a: Vec<f64>,
    /// Its values in the runs of B.
    pub b: Vec<f64>,
}

/// The number of runs that show a change 8 times in 10.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeededRuns {
    /// The figure.
    pub figure: String,
    /// The change that these runs show 8 times in 10.
    pub visible_percent: f64,
    /// A smaller change.
    pub percent: f64,
    /// Runs of each side that show it 8 times in 10.
    pub runs: usize,
}

/// Compares the runs of B with those of A. `runs` are with their blocks, by [`Blocks::read`].
///
/// Each side has at least [`LEAST_REPEATS`] runs.
pub fn compare_repeats(a: &[(&Run<'_>, &Blocks)], b: &[(&Run<'_>, &Blocks)]) -> Comparison {
    let all = || a.iter().chain(b);
    let empty = all().find(|(_, blocks)| blocks.completed == 0);
    let timetable = all().all(|(run, _)| run.has_timetable);
    let values = values(a, b, timetable);
    let (figures, needed) = figures_of(&values);
    let covers = covers(a.len(), b.len(), needed.as_ref());
    let [group_a, group_b]: [Vec<Facts>; 2] =
        [a, b].map(|runs| runs.iter().map(|(run, blocks)| facts(run, blocks)).collect());
    let (of_a, of_b) = (together(&group_a), together(&group_b));
    let plan = common_differences(a, b, plan_json);
    let over_time = OverTime::default();
    Comparison {
        answer: match empty {
            Some((run, _)) => Answer::nothing(&run.name, covers.clone()),
            None => Answer::new((&of_a, &of_b), &figures, &over_time, &plan, &covers),
        },
        environment: common_differences(a, b, |run| run.environment.clone()),
        load: load(&all().map(|(_, blocks)| *blocks).collect::<Vec<_>>()),
        cautions: cautions(a, b),
        effects: Vec::new(),
        pairs: None,
        only: figures::only_of(&all().map(|(_, blocks)| *blocks).collect::<Vec<_>>()),
        a: of_a,
        b: of_b,
        plan,
        figures,
        over_time,
        phases: Phases::default(),
        machine: Vec::new(),
        story: None,
        repeats: Some(Repeats { a: group_a, b: group_b, values, needed, covers }),
    }
}

/// Figures about which the number of runs is said, the first that there is.
const PLANNED: [&str; 2] = ["latency.p50", "iops"];
/// Figures that answer the question.
const FIRST: [&str; 6] = ["response.p50", "response.p99", "latency.p50", "latency.p99", "iops", "throughput"];
/// Error probabilities of the first figures together, and of all others together.
const ALPHA_FIRST: f64 = 0.04;
const ALPHA_OTHERS: f64 = 0.01;

/// The figures with their intervals, and the number of runs for a smaller change.
fn figures_of(values: &[RunValues]) -> (Vec<Figure>, Option<NeededRuns>) {
    let is_first = |values: &RunValues| FIRST.contains(&values.name.as_str());
    let alpha_of = |of_first: bool, alpha: f64| {
        let samples: Vec<Sample> =
            values.iter().filter(|values| is_first(values) == of_first).filter_map(Sample::of).collect();
        shared(&samples, alpha)
    };
    let (alpha_first, alpha_others) = (alpha_of(true, ALPHA_FIRST), alpha_of(false, ALPHA_OTHERS));
    let figures = values.iter().map(|values| {
        let alpha = if is_first(values) { alpha_first } else { alpha_others };
        figure(values, Sample::of(values).as_ref(), alpha)
    });
    let needed = PLANNED.iter().find_map(|name| {
        let values = values.iter().find(|values| values.name == *name)?;
        Sample::of(values)?.needed(name, alpha_first)
    });
    (figures.collect(), needed)
}

/// The error probability of each figure, so that all of them together have `alpha`. Few runs show too little of what
/// figures have in common, and too much by chance: a part of each, the greater the fewer runs there are, counts as its own.
fn shared(samples: &[Sample], alpha: f64) -> f64 {
    let signatures: Vec<Vec<f64>> = samples.iter().filter_map(Sample::signature).collect();
    let figures = signatures.len();
    let with_own = |(number, common): (usize, Vec<f64>)| {
        let own = (2.0 / common.len() as f64).min(1.0);
        let common = common.into_iter().map(|y| y * (1.0 - own).sqrt());
        common.chain((0..figures).map(|other| if other == number { own.sqrt() } else { 0.0 })).collect()
    };
    family::together(signatures.into_iter().enumerate().map(with_own).collect(), alpha)
}

/// Every figure that all runs have.
fn values(a: &[(&Run<'_>, &Blocks)], b: &[(&Run<'_>, &Blocks)], timetable: bool) -> Vec<RunValues> {
    let of_side = |runs: &[(&Run<'_>, &Blocks)]| -> Vec<Vec<(String, Unit, f64)>> {
        runs.iter().map(|(_, blocks)| figures::values(blocks, timetable)).collect()
    };
    let (a, b) = (of_side(a), of_side(b));
    let of = |runs: &[Vec<(String, Unit, f64)>], name: &str| -> Option<Vec<f64>> {
        runs.iter().map(|run| run.iter().find(|(n, ..)| n == name).map(|(.., value)| *value)).collect()
    };
    let names = a.first().into_iter().flatten();
    let values = names.filter_map(|(name, unit, _)| {
        Some(RunValues { name: name.clone(), unit: *unit, a: of(&a, name)?, b: of(&b, name)? })
    });
    values.collect()
}

/// Logarithms of a figure in the runs of both sides.
struct Sample {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Sample {
    /// `None` where a value has no logarithm: times below 1 ns, and rates of 0. A greatest value is one request, and has no interval.
    fn of(values: &RunValues) -> Option<Sample> {
        if values.name.ends_with(".max") {
            return None;
        }
        let least = if values.unit == Unit::Time { 1.0 } else { f64::MIN_POSITIVE };
        let logs = |values: &[f64]| -> Option<Vec<f64>> {
            values.iter().map(|v| (*v >= least).then(|| v.ln())).collect()
        };
        Some(Sample { a: logs(&values.a)?, b: logs(&values.b)? })
    }

    fn change(&self) -> f64 {
        mean(&self.b) - mean(&self.a)
    }

    /// Noise of the change: each side by itself (Welch), and as if both had the same noise. The former takes two runs that
    /// are close by chance for a side without noise.
    fn noises(&self) -> [Noise; 2] {
        let (a, b) = (self.a.len() as f64, self.b.len() as f64);
        let freedom = a + b - 2.0;
        let squares = variance(&self.a) * (a - 1.0) + variance(&self.b) * (b - 1.0);
        let error = (squares / freedom * (1.0 / a + 1.0 / b)).sqrt();
        [of_mean(&self.a).and(of_mean(&self.b)), Noise { error, freedom }]
    }

    /// Contribution of each run to the error of the change, with a sum of squares of 1.
    fn signature(&self) -> Option<Vec<f64>> {
        let deviations = |values: &[f64], sign: f64| {
            let (middle, n) = (mean(values), values.len() as f64);
            values.iter().map(|value| sign * (value - middle) / n).collect::<Vec<_>>()
        };
        let all = [deviations(&self.a, -1.0), deviations(&self.b, 1.0)].concat();
        let norm = all.iter().map(|y| y * y).sum::<f64>().sqrt();
        (norm > 0.0).then(|| all.iter().map(|y| y / norm).collect())
    }

    /// Half of the interval of the change, and the change that would be shown 8 times in 10.
    fn reach(&self, alpha: f64) -> (f64, f64) {
        let reach = |noise: Noise| {
            let critical = critical_t(alpha, noise.freedom);
            let half = (noise.error * critical).max(LEAST_HALF_WIDTH);
            (half, half * (1.0 + power_80(noise.freedom) / critical))
        };
        let [each, same] = self.noises().map(reach);
        if each.0 > same.0 { each } else { same }
    }

    /// The number of runs for the greatest change that is not visible with these.
    fn needed(&self, figure: &str, alpha: f64) -> Option<NeededRuns> {
        let visible = self.reach(alpha).1;
        let variances = [variance(&self.a), variance(&self.b)];
        let wanted = WANTED.into_iter().find(|wanted| (wanted / 100.0).ln_1p() < visible)?;
        let shows = |runs: &usize| {
            let n = *runs as f64;
            // With equally many runs, the noise of each side by itself is never less than that of both together.
            let [a, b] = variances.map(|variance| Noise { error: (variance / n).sqrt(), freedom: n - 1.0 });
            let noise = a.and(b);
            let reach = critical_t(alpha, noise.freedom) + power_80(noise.freedom);
            reach * noise.error <= (wanted / 100.0).ln_1p()
        };
        let all: Vec<usize> = (self.a.len().max(self.b.len()) + 1..=MOST_RUNS).collect();
        let runs = *all.get(all.partition_point(|runs| !shows(runs)))?;
        Some(NeededRuns { figure: figure.into(), visible_percent: percent(visible), percent: wanted, runs })
    }
}

/// The multiple of the standard error beside the critical one that a difference has to have to be shown 8 times in 10.
fn power_80(freedom: f64) -> f64 {
    critical_t(0.4, freedom)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0).max(1.0)
}

fn of_mean(values: &[f64]) -> Noise {
    let n = values.len() as f64;
    Noise { error: (variance(values) / n).sqrt(), freedom: n - 1.0 }
}

/// Geometric means and their ratio; without a sample the values have means only.
fn figure(values: &RunValues, sample: Option<&Sample>, alpha: f64) -> Figure {
    let RunValues { name, unit, a, b } = values;
    let Some(sample) = sample else { return Figure::bare(name.clone(), *unit, mean(a), mean(b)) };
    let (change, (half, visible)) = (sample.change(), sample.reach(alpha));
    let of_b = of_mean(&sample.b);
    let half_of_b = (of_b.error * critical_t(alpha, of_b.freedom)).max(LEAST_HALF_WIDTH);
    Figure {
        low_percent: Some(percent(change - half)),
        high_percent: Some(percent(change + half)),
        smallest_visible_percent: Some(percent(visible)),
        b_low: Some((mean(&sample.b) - half_of_b).exp()),
        b_high: Some((mean(&sample.b) + half_of_b).exp()),
        shown: change.abs() > half,
        ..Figure::bare(name.clone(), *unit, mean(&sample.a).exp(), mean(&sample.b).exp())
    }
    .judged_noise()
}

fn covers(a: usize, b: usize, needed: Option<&NeededRuns>) -> String {
    let runs = if a == b { format!("{a} of each side") } else { format!("{a} of A and {b} of B") };
    let can = needed.map_or(String::new(), |NeededRuns { figure, visible_percent, percent, runs }| {
        let visible = super::with_sign(super::percent_text(*visible_percent));
        format!(" Visible: {visible} of {figure}; {percent} % needs {runs} runs of each side.")
    });
    format!("The intervals cover the noise between runs ({runs}).{can}")
}

/// The runs of a side as one: its worst verdict, and the sums of its requests.
fn together(runs: &[Facts]) -> Facts {
    let sum = |of: fn(&Facts) -> u64| runs.iter().map(of).sum();
    let of_run = |facts: &Facts| {
        let RunVerdict { verdict, sentence } = facts.verdict.clone()?;
        Some(RunVerdict { verdict, sentence: format!("{sentence} ({})", facts.name) })
    };
    let fake = runs.iter().filter_map(of_run).find(|judged| judged.verdict == Verdict::Fake);
    let worst = runs.iter().filter_map(of_run).max_by_key(|judged| judged.verdict);
    Facts {
        name: runs.iter().map(|facts| facts.name.as_str()).collect::<Vec<_>>().join(", "),
        requests: sum(|facts| facts.requests),
        completed: sum(|facts| facts.completed),
        failed: sum(|facts| facts.failed),
        duration_ns: sum(|facts| facts.duration_ns),
        verdict: fake.or(worst),
        made: None,
    }
}

/// Differences of the first runs of both sides in fields that do not change within a side.
fn common_differences(
    a: &[(&Run<'_>, &Blocks)],
    b: &[(&Run<'_>, &Blocks)],
    of: impl Fn(&Run<'_>) -> serde_json::Value,
) -> Vec<Difference> {
    let changing = [changing_fields(a, &of), changing_fields(b, &of)].concat();
    let mut found = differences::differences(&of(a[0].0), &of(b[0].0));
    found.retain(|difference| !changing.contains(&difference.field));
    found
}

fn load(all: &[&Blocks]) -> SameLoad {
    let first = all[0];
    let is_same = |one: &&Blocks| one.requests == first.requests && one.issued() == first.issued();
    if first.requests > 0 && all.iter().all(is_same) { SameLoad::Same } else { SameLoad::Different }
}

fn cautions(a: &[(&Run<'_>, &Blocks)], b: &[(&Run<'_>, &Blocks)]) -> Vec<String> {
    let mut out = Vec::new();
    for (run, blocks) in a.iter().chain(b) {
        out.extend(run.incomplete.as_ref().map(|why| format!("{}: {why}", run.name)));
        if blocks.failed > 0 {
            out.push(format!(
                "{}: {} of {} requests failed; only completed ones are compared",
                run.name, blocks.failed, blocks.requests
            ));
        }
    }
    let timed = a.iter().chain(b).filter(|(run, _)| run.has_timetable).count();
    if timed > 0 && timed < a.len() + b.len() {
        out.push("not all runs had a timetable: delay and response are not compared".to_string());
    }
    let mean_bytes = |runs: &[(&Run<'_>, &Blocks)]| {
        let sum = |of: fn(&Blocks) -> u64| runs.iter().map(|(_, blocks)| of(blocks)).sum::<u64>() as f64;
        sum(Blocks::bytes) / sum(|blocks| blocks.completed).max(1.0)
    };
    out.extend(
        larger_requests(mean_bytes(a), mean_bytes(b))
            .map(|larger| larger + ": a difference may come from that"),
    );
    for (side, runs) in [("A", a), ("B", b)] {
        let fields = changing_fields(runs, plan_json).into_iter().filter(|field| field != "seed");
        let fields: Vec<String> = fields.take(MOST_FIELDS).collect();
        if !fields.is_empty() {
            out.push(format!(
                "the plans of the runs of {side} differ in {}: they are no repeats of one setting",
                fields.join(", ")
            ));
        }
    }
    out
}

/// Most fields that are named in a caution.
const MOST_FIELDS: usize = 4;

/// Fields that differ between the runs of a side.
fn changing_fields(runs: &[(&Run<'_>, &Blocks)], of: impl Fn(&Run<'_>) -> serde_json::Value) -> Vec<String> {
    let documents: Vec<serde_json::Value> = runs.iter().map(|(run, _)| of(run)).collect();
    let others = documents.iter().skip(1);
    let fields = others.flat_map(|other| differences::differences(&documents[0], other));
    let mut fields: Vec<String> = fields.map(|difference| difference.field).collect();
    fields.sort();
    fields.dedup();
    fields
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    const FIGURES: [&str; 12] = [
        "latency.p50",
        "latency.p99",
        "iops",
        "throughput",
        "latency.mean",
        "latency.p90",
        "latency.read.mean",
        "latency.read.p50",
        "latency.read.p90",
        "latency.write.mean",
        "latency.write.p50",
        "latency.write.p90",
    ];

    /// Values of runs: the noise differs from run to run, and half of it is common to the figures of a run.
    fn values(seed: u64, (a, b): (usize, usize), factor: f64, noisier: f64) -> Vec<RunValues> {
        let (spread, common) = (0.025, 0.5f64);
        let mut random = Random::new(seed);
        let shared: Vec<f64> = (0..a + b).map(|_| random.normal()).collect();
        // Runs of B have `noisier` times the noise.
        let mut value = |run: usize, factor: f64| {
            let noise = common.sqrt() * shared[run] + (1.0 - common).sqrt() * random.normal();
            1e6 * factor * (spread * noise * if run < a { 1.0 } else { noisier }).exp()
        };
        let figure = |name: &str| RunValues {
            name: name.into(),
            unit: Unit::Time,
            a: (0..a).map(|run| value(run, 1.0)).collect(),
            b: (a..a + b).map(|run| value(run, factor)).collect(),
        };
        FIGURES.into_iter().map(figure).collect()
    }

    fn shown(values: &[RunValues]) -> Vec<Figure> {
        figures_of(values).0
    }

    /// Numbers of runs, and the noise of B beside that of A.
    const CAMPAIGNS: [((usize, usize), f64); 5] =
        [((2, 2), 1.0), ((3, 3), 1.0), ((5, 5), 1.0), ((2, 5), 1.0), ((3, 3), 3.0)];

    /// Number of `campaigns` without a difference that show one in any figure.
    fn false_effects((sides, noisier): ((usize, usize), f64), campaigns: u64) -> usize {
        let any = |seed: &u64| shown(&values(*seed, sides, 1.0, noisier)).iter().any(|f| f.shown);
        (0..campaigns).filter(any).count()
    }

    /// Number of `campaigns` with five runs of each side that show that B takes 10 % longer.
    fn true_effects(campaigns: u64) -> usize {
        let is_found = |seed: &u64| shown(&values(*seed, (5, 5), 1.1, 1.0))[0].shown;
        (0..campaigns).filter(is_found).count()
    }

    #[test]
    fn false_effects_are_rare_and_true_ones_are_found() {
        // Three standard errors above 5 %, and below 90 %.
        for sides in CAMPAIGNS {
            let wrong = false_effects(sides, 40);
            assert!(wrong <= 6, "{sides:?}: {wrong} of 40");
        }
        let found = true_effects(60);
        assert!(found >= 47, "{found} of 60");
    }

    /// `cargo test --release -p iosonar-analyze -- --ignored --nocapture rates_of_repeats`
    #[test]
    #[ignore = "a measurement: it prints the figures of docs/compare.md"]
    fn rates_of_repeats() {
        for sides in CAMPAIGNS {
            println!("{sides:?}: {} of 500 show a difference where there is none", false_effects(sides, 500));
        }
        println!("{} of 500 show 10 % with five runs of each", true_effects(500));
    }

    #[test]
    fn interval_is_that_of_welch() {
        let values = RunValues {
            name: "latency.p50".into(),
            unit: Unit::Time,
            a: vec![100.0, 110.0, 121.0],
            b: vec![200.0, 220.0, 242.0],
        };
        let sample = Sample::of(&values).unwrap();
        let figure = figure(&values, Some(&sample), 0.05);
        assert!((figure.change_percent.unwrap() - 100.0).abs() < 1e-9);
        // Both sides have the same deviations of ln 1.1, so there are 4 degrees of freedom.
        let half = 2.776_445 * 1.1f64.ln() * (2.0f64 / 3.0).sqrt();
        assert!((figure.low_percent.unwrap() - percent(2f64.ln() - half)).abs() < 1e-3, "{figure:?}");
        assert!(figure.shown && !figure.too_noisy);
        assert!(figure.b_low.unwrap() < 200.0 && figure.b_high.unwrap() > 242.0);
    }

    #[test]
    fn says_how_many_runs_a_smaller_change_takes() {
        let sample = |spread: f64| Sample { a: vec![0.0, spread], b: vec![0.0, spread] };
        let needed = sample(0.05).needed("iops", 0.05).unwrap();
        assert!(needed.visible_percent > needed.percent && needed.runs > 2, "{needed:?}");
        // One side is quieter: still more runs than there are.
        let uneven = Sample { a: vec![0.0, 0.0005, 0.001], b: vec![0.0, 0.005, 0.01] };
        assert!(uneven.needed("iops", 0.02).unwrap().runs > 3);
        // This number of runs shows it, by the same formula.
        let many = |n: usize| (0..n).map(|i| if i % 2 == 0 { 0.0 } else { 0.05 }).collect::<Vec<_>>();
        let visible = Sample { a: many(needed.runs + 1), b: many(needed.runs + 1) }.reach(0.05).1;
        assert!(percent(visible) < needed.percent * 1.1, "{visible}");
        assert_eq!(sample(1e-6).needed("iops", 0.05), None);
        assert!(
            covers(3, 2, Some(&needed))
                .starts_with("The intervals cover the noise between runs (3 of A and 2 of B). Visible: ")
        );
    }

    #[test]
    fn values_without_a_logarithm_have_no_interval() {
        let values =
            RunValues { name: "delay.p50".into(), unit: Unit::Time, a: vec![0.0, 5.0], b: vec![7.0, 9.0] };
        let figure = &shown(std::slice::from_ref(&values))[0];
        assert_eq!((figure.a, figure.b, figure.low_percent, figure.shown), (2.5, 8.0, None, false));
    }
}
