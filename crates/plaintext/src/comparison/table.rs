//! Several runs beside the same baseline, in one table: for people as Markdown, for programs as CSV.

use super::{OF_PHASES, condition_text, headline, value};
use crate::markdown::{self, head};
use iosonar_analyze::compare::{
    Comparison, Difference, Facts, Figure, Judged, Phases, Repeats, Unit, change_text, interval_text,
};
use iosonar_text::csv::{Cell, Form};

/// Most differences of a document in Markdown; JSON has them all.
const DIFFERENCES: usize = 12;

/// A figure of all runs.
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    unit: Unit,
    /// One for each run beside the baseline; absent if it has no such figure.
    pub(super) cells: Vec<Option<&'a Figure>>,
}

impl Row<'_> {
    /// The value of the baseline. Comparisons that cut the baseline off differ in it: the first one wins.
    pub(super) fn baseline(&self) -> String {
        let first = self.cells.iter().flatten().next();
        first.map_or("-".to_string(), |figure| value(self.unit, figure.a))
    }
}

/// All figures, in order of first appearance.
pub(super) fn rows(comparisons: &[Judged]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (run, judged) in comparisons.iter().enumerate() {
        for figure in judged.comparison.figures.iter().filter(|f| f.a > 0.0 || f.b > 0.0) {
            let at = rows.iter().position(|row| row.name == figure.name).unwrap_or_else(|| {
                rows.push(Row {
                    name: &figure.name,
                    unit: figure.unit,
                    cells: vec![None; comparisons.len()],
                });
                rows.len() - 1
            });
            rows[at].cells[run] = Some(figure);
        }
    }
    rows
}

/// The story, then one table with a row for each figure and a column for each run, and how the runs were made.
pub fn markdown(comparisons: &[Judged]) -> String {
    let Some(first) = comparisons.first() else { return String::new() };
    let mut out = match (comparisons.len(), &first.comparison.story) {
        (1, Some(story)) => head(story),
        _ => format!("## {} runs beside the same baseline\n", comparisons.len()),
    };
    out += "\n| run | name | requests completed | verdict | answer |\n|---|---|---:|---|---|\n";
    let mut run = |letter: &str, facts: &Facts, answer: &str| {
        let (name, verdict) =
            (markdown::sentence(&facts.name), markdown::sentence(sentence(facts).unwrap_or("-")));
        let answer = markdown::sentence(answer);
        out += &format!("| {letter} | {name} | {} | {verdict} | {answer} |\n", facts.completed);
    };
    run("A", &first.comparison.a, "baseline");
    for (i, judged) in comparisons.iter().enumerate() {
        let answer = headline(&judged.comparison);
        run(&letters(comparisons.len(), i), &judged.comparison.b, answer);
    }
    comparisons.iter().for_each(|judged| {
        out += &format!("\n{}\n", markdown::sentence(&judged.comparison.answer.covers));
    });
    let names: Vec<String> = (0..comparisons.len()).map(|i| letters(comparisons.len(), i)).collect();
    out += &format!("\n| figure | A | {} |\n|---|---:|{}\n", names.join(" | "), "---:|".repeat(names.len()));
    for row in rows(comparisons) {
        let cells = row.cells.iter().map(|figure| figure.map_or("-".to_string(), change));
        out +=
            &format!("| {} | {} | {} |\n", row.name, row.baseline(), cells.collect::<Vec<_>>().join(" | "));
    }
    for (judged, name) in comparisons.iter().zip(&names) {
        markdown_of_phases(&mut out, name, &judged.comparison.phases);
    }
    out += "\nChanges are from A; in brackets the 95 % interval. **Bold**: more than noise. In each answer, B is that run.\n";
    for (judged, name) in comparisons.iter().zip(&names) {
        conditions(&mut out, name, judged);
        differences(&mut out, &format!("Plans of A and {name}"), &judged.comparison.plan);
        differences(&mut out, &format!("Environments of A and {name}"), &judged.comparison.environment);
    }
    out += "\n### How they were made\n\n";
    match &first.comparison.repeats {
        Some(Repeats { a, b, .. }) => {
            let each = |letter: &'static str, runs: &[Facts]| -> String {
                runs.iter()
                    .zip(1..)
                    .map(|(facts, number)| made(&format!("{letter}{number}"), facts))
                    .collect()
            };
            out += &(each("A", a) + &each("B", b));
        }
        None => {
            out += &made("A", &first.comparison.a);
            comparisons
                .iter()
                .zip(&names)
                .for_each(|(judged, name)| out += &made(name, &judged.comparison.b));
        }
    }
    out
}

/// The conditions, and whether they hold.
fn conditions(out: &mut String, run: &str, judged: &Judged) {
    if !judged.conditions.is_empty() {
        *out += &format!("\nConditions on {run}:\n\n");
    }
    for condition in &judged.conditions {
        *out += &format!("- {}\n", markdown::sentence(&condition_text(condition)));
    }
}

/// Differences of a document as a list.
fn differences(out: &mut String, what: &str, differences: &[Difference]) {
    if differences.is_empty() {
        return;
    }
    *out += &format!("\n{what} differ:\n\n");
    let side = |value: &Option<String>| markdown::sentence(value.as_deref().unwrap_or("-"));
    for one in differences.iter().take(DIFFERENCES) {
        let name = markdown::sentence(&one.words().join(", "));
        *out += &format!("- {name}: {} → {}\n", side(&one.a), side(&one.b));
    }
    if differences.len() > DIFFERENCES {
        *out += &format!("- {} more\n", differences.len() - DIFFERENCES);
    }
}

/// Command, version, kernel and targets of a run.
fn made(letter: &str, facts: &Facts) -> String {
    let Some(made) = &facts.made else { return format!("- {letter}: {}\n", markdown::sentence(&facts.name)) };
    let kernel = made.kernel.as_ref().map_or(String::new(), |kernel| format!(", Linux {kernel}"));
    let targets = markdown::sentence(&made.targets.join(", "));
    format!(
        "- {letter}: {}, {}{}, {targets}\n",
        markdown::code(&made.command),
        markdown::sentence(&made.tool),
        markdown::sentence(&kernel)
    )
}

/// The sentence of the verdict on a run.
fn sentence(facts: &Facts) -> Option<&str> {
    facts.verdict.as_ref().map(|judged| judged.sentence.as_str())
}

/// A table of the phases that a run shares with the baseline.
fn markdown_of_phases(out: &mut String, run: &str, phases: &Phases) {
    if phases.both.is_empty() {
        return;
    }
    let heads = OF_PHASES.join(" | ");
    *out += &format!("\n| phase of {run} | {heads} |\n|---|{}\n", "---:|".repeat(OF_PHASES.len()));
    for phase in &phases.both {
        let figure = |name: &&str| phase.figures.iter().find(|f| f.name == **name).map_or("-".into(), change);
        let cells: Vec<String> = OF_PHASES.iter().map(figure).collect();
        *out += &format!("| {} | {} |\n", markdown::sentence(&phase.name), cells.join(" | "));
    }
}

/// Name of a run: `B` if it is the only one.
fn letters(runs: usize, index: usize) -> String {
    if runs == 1 { "B".to_string() } else { format!("B{}", index + 1) }
}

fn change(figure: &Figure) -> String {
    let changed = change_text(figure.change_percent);
    let changed = if figure.shown { format!("**{changed}**") } else { changed };
    let interval = match interval_text(figure, " .. ").as_str() {
        "-" => String::new(),
        interval => format!(" ({interval})"),
    };
    cell(&format!("{}, {changed}{interval}", value(figure.unit, figure.b)))
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    iosonar_text::one_line(text).replace('|', "\\|")
}

/// One line for each figure of each run, then of each of its phases.
pub fn csv(comparisons: &[Judged], form: Form) -> String {
    const NAMES: [&str; 15] = [
        "baseline",
        "run",
        "figure",
        "unit",
        "a",
        "b",
        "change_percent",
        "low_percent",
        "high_percent",
        "smallest_visible_percent",
        "shown",
        "too_noisy",
        "phase",
        "a_verdict",
        "b_verdict",
    ];
    let rows = comparisons.iter().flat_map(|judged| {
        let c = &judged.comparison;
        let whole = c.figures.iter().map(|f| ("", f));
        let phases = c.phases.both.iter().flat_map(|p| p.figures.iter().map(|f| (p.name.as_str(), f)));
        whole.chain(phases).map(move |(phase, f)| line(c, phase, f))
    });
    iosonar_text::csv::table(form, NAMES, rows)
}

fn line<'c>(c: &'c Comparison, phase: &'c str, f: &'c Figure) -> [Cell<'c>; 15] {
    let unit = match f.unit {
        Unit::Time => "ns",
        Unit::Requests => "requests/s",
        Unit::Bytes => "bytes/s",
        Unit::Ratio => "ratio",
    };
    let name = |name: &'c str| Cell::Quoted(name.into());
    [
        name(&c.a.name),
        name(&c.b.name),
        Cell::from(f.name.as_str()),
        unit.into(),
        f.a.into(),
        f.b.into(),
        f.change_percent.into(),
        f.low_percent.into(),
        f.high_percent.into(),
        f.smallest_visible_percent.into(),
        f.shown.into(),
        f.too_noisy.into(),
        if phase.is_empty() { Cell::Absent } else { name(phase) },
        sentence(&c.a).map_or(Cell::Absent, name),
        sentence(&c.b).map_or(Cell::Absent, name),
    ]
}
