//! A comparison as plain ASCII text, at most 79 columns wide: the answer first. `short.rs` has its story and the most important figures.

mod differences;
mod short;
mod table;

pub use short::short;
pub use table::{csv, markdown};

use self::differences::differences;
use self::short::FIGURES;
use crate::lines::{COLUMNS, Lines, ascii, shorten};
use iosonar_analyze::compare::{
    Comparison, Facts, Figure, Judged, JudgedCondition, Judgement, OverTime, Pairs, PhaseComparison, Phases,
    Repeats, RunValues, SameLoad, Stretch, Unit, change_text, interval_text, percent_text, signed_text,
    with_sign,
};
use iosonar_text::units::{self, Charset};

/// Width of the longest bar of a histogram.
const BAR: f64 = 40.0;
/// Runs that fit beside the baseline.
const SIDE_BY_SIDE: usize = 3;
/// Borders of the ratios B ÷ A that the histogram shows, as base-2 logarithms.
const BORDERS: [(f64, &str); 8] = [
    (-1.0, "below 0.50"),
    (-0.5, "0.50 - 0.71"),
    (-0.125, "0.71 - 0.92"),
    (0.0, "0.92 - 1.00"),
    (0.125, "1.00 - 1.09"),
    (0.5, "1.09 - 1.41"),
    (1.0, "1.41 - 2.00"),
    (f64::INFINITY, "above 2.00"),
];

/// All comparisons, one after the other; several ones start with a table of all of them.
pub fn comparison(comparisons: &[Judged]) -> String {
    let mut out = Lines::new(COLUMNS);
    if comparisons.len() > 1 {
        overview(&mut out, comparisons);
    }
    for (i, judged) in comparisons.iter().enumerate() {
        if comparisons.len() > 1 {
            out.heading(&"=".repeat(COLUMNS));
            out.line(&format!("#{}  {}", i + 1, judged.comparison.b.name));
        }
        one(&mut out, judged);
    }
    out.finish()
}

/// Changes of all runs from the same baseline, in one table.
fn overview(out: &mut Lines, comparisons: &[Judged]) {
    out.paragraph("Baseline A  ", &comparisons[0].comparison.a.name);
    for (i, judged) in comparisons.iter().enumerate() {
        out.paragraph(&format!("  #{:<8} ", i + 1), &judged.comparison.b.name);
        out.paragraph("             ", headline(&judged.comparison));
        judged
            .conditions
            .iter()
            .for_each(|condition| out.paragraph("             ", &condition_text(condition)));
    }
    let rows = table::rows(comparisons);
    for (block, numbers) in comparisons.chunks(SIDE_BY_SIDE).zip((0..).step_by(SIDE_BY_SIDE)) {
        let heads: String =
            (0..block.len()).map(|i| format!("{:>12}", format!("#{} %", numbers + i + 1))).collect();
        out.heading(&format!("{:22}{:>10}{heads}", "Change from A", "A"));
        for row in &rows {
            let cells = row.cells[numbers..numbers + block.len()].iter().map(|figure| {
                let Some(figure) = figure else { return format!("{:>12}", "-") };
                let mark = if figure.shown { "*" } else { " " };
                let change = match figure.too_noisy {
                    true => "too noisy".to_string(),
                    false => signed_text(figure.change_percent),
                };
                format!("{change:>11}{mark}")
            });
            out.line(&format!("  {:20}{:>10}{}", row.name, row.baseline(), cells.collect::<String>()));
        }
    }
    out.paragraph(
        "  ",
        "* the change is more than noise. Each run is compared with A by itself, as B; --all has all figures of each.",
    );
}

/// The headline of a comparison; its answer if it has no story.
fn headline(comparison: &Comparison) -> &str {
    comparison.story.as_ref().map_or(&comparison.answer.text, |story| &story.headline)
}

fn one(out: &mut Lines, judged: &Judged) {
    let c = &judged.comparison;
    out.paragraph("", &c.answer.text);
    out.paragraph("", &c.answer.covers);
    conditions(out, judged);
    runs(out, c);
    differences(out, "plan", &c.plan);
    differences(out, "environment", &c.environment);
    if !c.cautions.is_empty() {
        out.heading("Cautions");
        c.cautions.iter().for_each(|caution| out.paragraph(" ! ", caution));
    }
    figures(out, &c.figures);
    c.repeats.iter().for_each(|repeats| each_run(out, repeats));
    phases(out, &c.phases);
    effects(out, c);
    c.pairs.iter().for_each(|p| pairs(out, p));
    if c.repeats.is_none() {
        over_time(out, &c.over_time);
    }
}

fn conditions(out: &mut Lines, judged: &Judged) {
    judged.conditions.iter().for_each(|condition| out.paragraph("  ", &condition_text(condition)));
}

/// A condition, and whether it holds.
fn condition_text(c: &JudgedCondition) -> String {
    let result = match c.result {
        Judgement::Holds => "not shown, the condition holds",
        Judgement::Failed => "SHOWN, the condition FAILED",
        Judgement::Unknown => "cannot be judged",
    };
    let blind = c.blind_below_percent.map_or(String::new(), |percent| {
        let visible = with_sign(percent_text(percent));
        format!(
            "; with this noise only changes of {visible} or more would be shown: run longer, or more often"
        )
    });
    let undecided = match c.is_undecided {
        true => "; the value lies beyond the limit, but its interval does not: run longer, or more often",
        false => "",
    };
    format!("{}: {result}{blind}{undecided}", c.condition.text)
}

fn runs(out: &mut Lines, c: &Comparison) {
    out.heading("Runs");
    for (letter, Facts { name, requests, completed, duration_ns, .. }) in [("A", &c.a), ("B", &c.b)] {
        out.line(&format!("  {letter}  {name}"));
        out.line(&format!(
            "     {} requests, {} completed, in {}",
            units::grouped(*requests),
            units::grouped(*completed),
            units::duration(*duration_ns, Charset::Ascii)
        ));
    }
    out.line(match c.load {
        SameLoad::Same => "  Both executed the same requests.",
        SameLoad::SameAsFarAsBothGo => "  Both executed the same requests, as far as both go.",
        SameLoad::Different => "  They executed different requests.",
    });
}

fn figures(out: &mut Lines, figures: &[Figure]) {
    if figures.is_empty() {
        return;
    }
    out.heading(FIGURES_HEAD);
    figures.iter().filter(|f| f.a > 0.0 || f.b > 0.0).for_each(|f| out.line(&figure_line(f)));
    out.paragraph(
        "  ",
        "* the change is more than noise. All intervals hold together, 95 times in 100. visible: the change in percent \
         that would be shown 8 times in 10. -: too few requests, or no interval by nature. too noisy: the interval spans \
         more than a factor of 10. > or <: the other end lies farther away than that.",
    );
}

/// The figures of each run of both sides.
fn each_run(out: &mut Lines, repeats: &Repeats) {
    let values: Vec<&RunValues> =
        FIGURES.iter().filter_map(|name| repeats.values.iter().find(|values| values.name == *name)).collect();
    out.heading("Each run");
    for (letter, runs) in [("A", &repeats.a), ("B", &repeats.b)] {
        let names = runs.iter().enumerate();
        names.for_each(|(run, facts)| out.paragraph(&format!("  {letter}{:<8}", run + 1), &facts.name));
    }
    if values.is_empty() {
        return;
    }
    let heads: String = values.iter().map(|values| format!("{:>13}", values.name)).collect();
    out.line(&format!("  {:9}{heads}", ""));
    for (letter, runs, of) in [
        ("A", &repeats.a, (|values| &values.a) as fn(&RunValues) -> &Vec<f64>),
        ("B", &repeats.b, |values| &values.b),
    ] {
        for run in 0..runs.len() {
            let cells: String = values.iter().map(|v| format!("{:>13}", value(v.unit, of(v)[run]))).collect();
            out.line(&format!("  {:9}{cells}", format!("{letter}{}", run + 1)));
        }
    }
}

/// Head of a table of figures.
const FIGURES_HEAD: &str = "  Figure                       A         B change %      95 % interval  visible";

/// A figure of both runs with its change; a mark if the change is more than noise.
fn figure_line(f: &Figure) -> String {
    let interval = interval_text(f, " .. ");
    let visible = f.smallest_visible_percent.filter(|_| !f.too_noisy);
    let visible = visible.map_or("-".to_string(), percent_text);
    let mark = if f.shown { "*" } else { " " };
    let change = f.change_percent.map_or("-".to_string(), |p| signed_text(Some(p)));
    format!(
        "{mark} {:20}{:>10}{:>10}{change:>9}{interval:>19}{visible:>9}",
        f.name,
        value(f.unit, f.a),
        value(f.unit, f.b),
    )
}

/// A figure's value with its unit.
pub(crate) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Time => units::duration(value.round() as u64, Charset::Ascii),
        Unit::Requests => units::request_rate(value),
        Unit::Bytes => units::byte_rate(value),
        Unit::Ratio => units::number(value),
    }
}

/// Figures of the table of phases.
const OF_PHASES: [&str; 4] = ["iops", "throughput", "latency.p50", "latency.p99"];

fn phases(out: &mut Lines, phases: &Phases) {
    if phases.is_empty() {
        return;
    }
    out.heading("Phases, each compared by itself: change from A in percent");
    let heads: String = OF_PHASES.iter().map(|name| format!("{name:>13}")).collect();
    out.line(&format!("  {:24}{heads}", "Phase"));
    for PhaseComparison { name, figures, .. } in &phases.both {
        let cell = |wanted: &&str| match figures.iter().find(|f| f.name == **wanted) {
            None => format!("{:>13}", "-"),
            Some(f) => {
                let change = if f.too_noisy { "too noisy".into() } else { signed_text(f.change_percent) };
                format!("{change:>12}{}", if f.shown { "*" } else { " " })
            }
        };
        let cells: String = OF_PHASES.iter().map(cell).collect();
        out.line(&format!("  {:24}{cells}", shorten(&name.chars().map(ascii).collect::<String>(), 23)));
    }
    for (letter, names) in [("A", &phases.only_a), ("B", &phases.only_b)] {
        if !names.is_empty() {
            out.paragraph(&format!("  only in {letter}, or beyond the first 29: "), &names.join(", "));
        }
    }
    out.paragraph("  ", "* the change is more than noise. --json has all figures of each phase.");
}

fn effects(out: &mut Lines, c: &Comparison) {
    if c.effects.is_empty() {
        return;
    }
    out.heading("How often a request of B takes longer than one of A (50 %: equally often)");
    for e in &c.effects {
        let (percent, delta) = (e.probability_b_slower * 100.0, e.cliffs_delta);
        out.line(&format!("  {:20}{percent:>7.1} %   Cliff's delta {delta:+.3}", e.what));
    }
}

fn pairs(out: &mut Lines, p: &Pairs) {
    let median = p.median_ratio.map_or("-".to_string(), |m| format!("{m:.3}"));
    out.heading("The same requests in both");
    out.paragraph(
        "  ",
        &format!(
            "{} pairs; median of B/A {median}; more than 3 % better: {:.1} %, worse: {:.1} %",
            units::grouped(p.completed),
            p.better_share * 100.0,
            p.worse_share * 100.0
        ),
    );
    let mut from = f64::NEG_INFINITY;
    for (to, name) in BORDERS {
        let within = |log2: Option<f64>| log2.is_none_or(|l| l > from && l <= to);
        let inside = p.histogram.iter().filter(|b| match (b.from_log2, b.to_log2) {
            (_, Some(end)) => within(Some(end)),
            (_, None) => to == f64::INFINITY,
        });
        let share: f64 = inside.map(|b| b.share).sum();
        out.line(&format!(
            "  B/A {name:>12}{:>7.1} %  {}",
            share * 100.0,
            "#".repeat((share * BAR).round() as usize)
        ));
        from = to;
    }
}

fn over_time(out: &mut Lines, course: &OverTime) {
    if course.ranges.is_empty() {
        no_stretch(out, course);
        return;
    }
    out.heading("Over time: stretches in which B differs from A by more than their own noise");
    let time = |ns| units::moment(ns, Charset::Ascii);
    for r in &course.ranges {
        let change = change_text(Some(r.change_percent));
        out.line(&format!("  {:12} {:>10} .. {:>10}   {change}", r.figure, time(r.begin_ns), time(r.end_ns)));
    }
}

/// Explains that no stretch differs, which is no statement about the whole run.
fn no_stretch(out: &mut Lines, course: &OverTime) {
    let compared =
        |name: &str| course.stretches.iter().filter(|s| s.figure == name && s.low_percent.is_some()).count();
    let most = compared("latency.p50").max(compared("latency.p99"));
    if most == 0 {
        out.heading("Over time: not compared");
        out.paragraph(
            "  ",
            "Fewer than 8 stretches of time hold enough requests of both runs. This says nothing about the whole run.",
        );
        return;
    }
    out.heading("Over time: no single stretch is shown to differ by more than its own noise");
    // The change of a few stretches among noisy ones may still be large.
    let far = |s: &&Stretch| (s.change_percent / 100.0).ln_1p().abs();
    if let Some(most) = course.stretches.iter().max_by(|s, t| far(s).total_cmp(&far(t))) {
        let time = |ns| units::moment(ns, Charset::Ascii);
        let change = change_text(Some(most.change_percent));
        out.paragraph(
            "  ",
            &format!(
                "The farthest apart: {} from {} to {}, {change}.",
                most.figure,
                time(most.begin_ns),
                time(most.end_ns)
            ),
        );
    }
    out.paragraph(
        "  ",
        &format!(
            "{most} stretches of equal length were compared, each by itself. A stretch holds few requests and is noisier \
             than the whole run: a change of the whole run, above, may show in none of them."
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::Verdict;
    use iosonar_analyze::compare::{Blocks, Condition, OnFake, Run, RunVerdict, compare as compared};
    use iosonar_archive::Record;
    use iosonar_plan::Nanos;

    fn judged(factor: u64, seconds: u64) -> Judged {
        let run = |factor: u64, seed: u64| -> Vec<Record> {
            let one = |i: u64| {
                let latency = (100_000 + (i * 7919 + seed) % 1000 * 20) * factor / 10;
                let due = i * 1_000_000;
                Record {
                    sequence: i,
                    due: Nanos(due),
                    submitted: Some(Nanos(due + 300)),
                    completed: Some(Nanos(due + latency)),
                    result: 4096,
                    ..Record::default()
                }
            };
            (0..seconds * 1000).map(one).collect()
        };
        let (a, b) = (run(10, 1), run(factor, 2));
        let of = |name: &str, records| Run {
            name: name.into(),
            records,
            plan: None,
            environment: serde_json::json!({ "kernel": name, "long": "x".repeat(200) + name }),
            has_timetable: true,
            phases: &[],
            incomplete: Some("it was stopped by SIGTERM".into()),
            verdict: Some(RunVerdict {
                verdict: Verdict::Fake,
                sentence: "FAKE as a device result: memory-target".into(),
            }),
        };
        let (a, b) = (of("the first \u{e4}", &a), of("the second", &b));
        let blocks = |run: &Run| Blocks::read(run.records, true).unwrap();
        let comparison = compared((&a, &blocks(&a)), (&b, &blocks(&b))).unwrap();
        Judged::new(
            comparison,
            &[Condition::parse("p50 > +10%").unwrap(), Condition::parse("max > +1%").unwrap()],
            OnFake::Anyway,
        )
    }

    fn fits(text: &str) {
        for line in text.lines() {
            assert!(line.len() <= 79 && line.is_ascii(), "{} columns: {line}", line.len());
        }
    }

    #[test]
    fn answer_is_first_and_lines_fit() {
        let text = comparison(&[judged(15, 5)]);
        fits(&text);
        let fake = "Both A and B are FAKE as a device result: memory-target. By these figures: B is slower";
        assert!(text.replace('\n', " ").starts_with(fake), "{text}");
        let text = comparison(&[judged(15, 5), judged(10, 5), judged(15, 5), judged(15, 0)]);
        fits(&text);
        assert!(text.contains("Change from A") && text.contains("#4  the second"), "{text}");
        assert!(text.contains("p50 > +10%: SHOWN, the condition FAILED"), "{text}");
        assert!(text.contains("kernel: the first"), "{text}");
        assert!(text.contains("B/A  1.41 - 2.00"), "{text}");
        assert!(text.contains("No difference shown with this noise; smallest visible"), "{text}");
    }

    #[test]
    fn states_when_nothing_is_comparable() {
        let text = comparison(&[judged(15, 0)]);
        fits(&text);
        assert!(text.starts_with("Nothing to compare: A holds no requests"), "{text}");
        assert!(text.contains("p50 > +10%: cannot be judged"), "{text}");
    }
}
