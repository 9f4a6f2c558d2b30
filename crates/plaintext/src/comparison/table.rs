//! Several runs beside the same baseline, in one table: for people as Markdown, for programs as CSV.

use super::{OF_PHASES, value};
use iosonar_analyze::compare::{Comparison, Facts, Figure, Judged, Phases, Unit, change_text, interval_text};
use iosonar_text::csv::{Cell, Form};

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

/// One table with a row for each figure and a column for each run.
pub fn markdown(comparisons: &[Judged]) -> String {
    let Some(first) = comparisons.first() else { return String::new() };
    let mut out =
        String::from("| run | name | requests completed | verdict | answer |\n|---|---|---:|---|---|\n");
    let mut run = |letter: &str, facts: &Facts, answer: &str| {
        let (name, verdict) = (cell(&facts.name), cell(sentence(facts).unwrap_or("-")));
        out += &format!("| {letter} | {name} | {} | {verdict} | {} |\n", facts.completed, cell(answer));
    };
    run("A", &first.comparison.a, "baseline");
    for (i, judged) in comparisons.iter().enumerate() {
        let answer = &judged.comparison.answer.text;
        run(&letters(comparisons.len(), i), &judged.comparison.b, answer);
    }
    comparisons.iter().for_each(|judged| {
        out += &format!("\n{}\n", iosonar_text::one_line(&judged.comparison.answer.covers));
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
    out + "\nChanges are from A; in brackets the 95 % interval. **Bold**: more than noise. In each answer, B is that run.\n"
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
        *out += &format!("| {} | {} |\n", cell(&phase.name), cells.join(" | "));
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
