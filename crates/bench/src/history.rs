//! The page of the results that the repository keeps: for each line of `./bench` a picture of its rows over the runs, and
//! the figures of the last run that has them.

use iosonar_view::fonts::{self, Weight};
use iosonar_view::palette::{Palette, Rgb, Theme};
use iosonar_view::scene::{Anchor, Fill, Rect, Scene, Stroke, Text};
use iosonar_view::units;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Width of a picture, and the part of it between the labels on the left and the edge.
const WIDTH: u32 = 1000;
const PLOT: (i32, i32) = (90, 880);
/// Height of a row's plot, and of the labels around it.
const PLOT_HEIGHT: i32 = 110;
const ABOVE: i32 = 34;
const BELOW: i32 = 14;
/// Height of the dates below the last plot.
const DATES: i32 = 46;
/// Width of a date.
const DATE_WIDTH: i32 = 84;

/// A stored run.
struct Run {
    date: String,
    commit: String,
    machine: String,
    facts: Value,
    rows: Vec<Value>,
}

/// A row over all runs.
struct Row<'a> {
    key: [String; 4],
    /// The value of each run that has the row.
    of_runs: Vec<Option<&'a Value>>,
}

/// Reads the runs in `file` and makes the page `README.md` and a picture for each line in `folder`.
pub fn make(file: &Path, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let runs = read(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let lines = lines(&runs);
    for line in &lines {
        let picture = iosonar_view::svg(&scene(&runs, &rows(&runs, line), Theme::Light.palette()));
        std::fs::write(folder.join(format!("{line}.svg")), picture)?;
    }
    std::fs::write(folder.join("README.md"), page(&runs, &lines))?;
    Ok(())
}

fn read(text: &str) -> Result<Vec<Run>, String> {
    let run = |(index, line): (usize, &str)| {
        let facts: Value =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))?;
        let word = |name: &str| facts[name].as_str().map(String::from);
        let missing = |name: &str| format!("line {}: {name} is missing", index + 1);
        let changed = if facts["changed"] == true { "+" } else { "" };
        Ok(Run {
            date: word("date").ok_or_else(|| missing("date"))?.chars().take(10).collect(),
            commit: word("commit").ok_or_else(|| missing("commit"))?.chars().take(8).collect::<String>()
                + changed,
            machine: format!(
                "{}, {} CPUs, Linux {}",
                word("cpu").unwrap_or_default(),
                facts["cpus"],
                word("kernel").unwrap_or_default()
            ),
            rows: facts["rows"].as_array().ok_or_else(|| missing("rows"))?.clone(),
            facts,
        })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(run).collect()
}

/// The lines of `./bench` that any run has, in the order of their first appearance.
fn lines(runs: &[Run]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for row in runs.iter().flat_map(|run| &run.rows) {
        let name = row["line"].as_str().unwrap_or_default();
        // It is used as a file name.
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if is_name && !lines.iter().any(|line| line == name) {
            lines.push(name.to_string());
        }
    }
    lines
}

fn key(row: &Value) -> [String; 4] {
    ["line", "what", "unit", "other"].map(|name| row[name].as_str().unwrap_or_default().to_string())
}

/// The rows of a line, in the order of their first appearance.
fn rows<'a>(runs: &'a [Run], line: &str) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for row in run.rows.iter().filter(|row| row["line"] == line) {
            let key = key(row);
            let at = rows.iter().position(|known| known.key == key).unwrap_or_else(|| {
                rows.push(Row { key, of_runs: vec![None; runs.len()] });
                rows.len() - 1
            });
            rows[at].of_runs[index] = Some(row);
        }
    }
    rows
}

impl Row<'_> {
    fn values(&self, name: &str) -> Vec<Option<f64>> {
        self.of_runs.iter().map(|row| row.and_then(|row| row[name].as_f64())).collect()
    }

    /// Returns the value of the last run that has the row.
    fn last(&self) -> &Value {
        self.of_runs.iter().rev().flatten().next().unwrap_or(&&Value::Null)
    }
}

fn scene(runs: &[Run], rows: &[Row<'_>], palette: &Palette) -> Scene {
    let each = ABOVE + PLOT_HEIGHT + BELOW;
    let mut scene = Scene::new(WIDTH, (each * rows.len() as i32 + DATES) as u32, palette.background);
    for (index, row) in rows.iter().enumerate() {
        let area = Rect { x: PLOT.0, y: each * index as i32 + ABOVE, w: PLOT.1, h: PLOT_HEIGHT };
        draw_row(&mut scene, runs, row, area, palette);
    }
    dates(&mut scene, runs, each * rows.len() as i32 - BELOW, palette);
    scene
}

/// Centre of a run's part of the plot, all being equally wide.
fn middle(run: usize, runs: usize) -> i32 {
    PLOT.0 + (PLOT.1 * (2 * run as i32 + 1)) / (2 * runs as i32)
}

fn draw_row(scene: &mut Scene, runs: &[Run], row: &Row<'_>, area: Rect, palette: &Palette) {
    let [_, what, unit, other] = &row.key;
    let aim = row.last()["aim"].as_str().unwrap_or_default();
    let aim = if aim.is_empty() { String::new() } else { format!(", aim {aim}") };
    let title = fonts::fit(&format!("{what} ({unit}{aim})"), 14.0, Weight::Bold, 700.0);
    let mut heading = words(title, (area.x, area.y - 12), Anchor::Start, palette.text);
    (heading.size, heading.weight) = (14.0, Weight::Bold);
    scene.text(heading);
    let (ours, theirs) = (row.values("ours"), row.values("theirs"));
    let most = ours.iter().chain(&theirs).flatten().copied().fold(0.0, f64::max);
    let step = tick(most);
    let top = (most / step).ceil().max(1.0) * step;
    let y = |value: f64| area.bottom() - 1 - (value.max(0.0) / top * f64::from(area.h - 1)).round() as i32;
    for number in 0..=(top / step).round() as u32 {
        let value = f64::from(number) * step;
        scene.horizontal(y(value), (area.x, area.right() - 1), Stroke::solid(palette.grid, 1));
        scene.text(words(figure(value), (area.x - 8, y(value) + 4), Anchor::End, palette.faint_text));
    }
    // Figures of different machines are not comparable.
    for index in 1..runs.len() {
        if runs[index].machine != runs[index - 1].machine {
            let x = (middle(index, runs.len()) + middle(index - 1, runs.len())) / 2;
            scene.vertical(x, (area.y, area.bottom() - 1), Stroke::dashed(palette.bad, 1));
        }
    }
    let mut x = area.right();
    for (values, color, name) in [(&theirs, palette.actual, other.as_str()), (&ours, palette.read, "ours")] {
        if values.iter().any(Option::is_some) {
            course(scene, values, color, &y);
            let name = words(name.to_string(), (x, area.y - 12), Anchor::End, color);
            x -= name.width().ceil() as i32 + 16;
            scene.text(name);
        }
    }
}

/// Draws a step for each run, with a mark in its middle; a run without the row leaves a gap.
fn course(scene: &mut Scene, values: &[Option<f64>], color: Rgb, y: &impl Fn(f64) -> i32) {
    let runs = values.len();
    let edge = |run: usize| PLOT.0 + PLOT.1 * run as i32 / runs as i32;
    let mut points = Vec::new();
    for (run, value) in values.iter().enumerate() {
        if let Some(value) = value {
            points.push((edge(run), y(*value)));
            let mark = Rect { x: middle(run, runs) - 3, y: y(*value) - 3, w: 7, h: 7 };
            scene.area(mark, Fill::Solid(color));
        }
        let is_end = values.get(run + 1).is_none_or(Option::is_none);
        if is_end {
            scene.steps(std::mem::take(&mut points), edge(run + 1), Stroke::solid(color, 1));
        }
    }
}

/// Draws the dates and commits of runs; with many runs, of some.
fn dates(scene: &mut Scene, runs: &[Run], y: i32, palette: &Palette) {
    let every = (DATE_WIDTH as usize * runs.len()).div_ceil(PLOT.1 as usize).max(1);
    // Counted from the end: the last is always labelled.
    for (index, run) in runs.iter().enumerate().rev().step_by(every) {
        let x = middle(index, runs.len());
        scene.text(words(run.date.clone(), (x, y + 16), Anchor::Middle, palette.faint_text));
        scene.text(words(run.commit.clone(), (x, y + 32), Anchor::Middle, palette.faint_text));
    }
}

/// Distance of ticks: 1, 2 or 5 times a power of ten, so that there are at most four.
fn tick(most: f64) -> f64 {
    units::round_step((most / 4.0).max(1e-9))
}

fn words(text: String, (x, y): (i32, i32), anchor: Anchor, color: Rgb) -> Text {
    let weight = Weight::Regular;
    Text { text, x, y, size: 12.0, weight, color, anchor, upright: false, figures: Vec::new() }
}

/// Formats three significant digits, and all digits before the point.
fn figure(value: f64) -> String {
    let text = units::number(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn page(runs: &[Run], lines: &[String]) -> String {
    let mut page = String::from(
        "# History of the benchmark\n\n\
         Written by `./bench --keep` and `./bench --history`; do not edit. [performance.md](../performance.md) says what each\n\
         line measures. The figures are in [history.jsonl](history.jsonl), one JSON object for each run. Runs on different\n\
         machines do not compare; a dashed line in a picture marks each change of the machine.\n\n\
         | date | commit | machine | fio | load average | pairs |\n|---|---|---|---|---|---|\n",
    );
    for run in runs.iter().rev() {
        let fact = |name: &str| run.facts[name].as_str().map_or(run.facts[name].to_string(), String::from);
        let facts = ["fio", "load_average", "pairs"].map(|name| cell(&fact(name)));
        let [fio, load, pairs] = facts;
        _ = writeln!(
            page,
            "| {} | {} | {} | {fio} | {load} | {pairs} |",
            run.date,
            run.commit,
            cell(&run.machine)
        );
    }
    page.push_str("\nA commit with + had changes that were not committed.\n");
    for line in lines {
        _ = write!(page, "\n## {line}\n\n![The figures of {line} over the runs]({line}.svg)\n\n");
        page.push_str("The last run that has the row:\n\n");
        page.push_str(
            "| row | unit | ours | other | theirs | ratio (range) | aim |\n|---|---|---|---|---|---|---|\n",
        );
        for row in rows(runs, line) {
            let last = row.last();
            let number = |name: &str| last[name].as_f64().map(figure);
            let ratio = match ["ratio", "ratio_low", "ratio_high"].map(number) {
                [Some(ratio), Some(low), Some(high)] => format!("{ratio} ({low}–{high})"),
                _ => String::new(),
            };
            let aim = match (last["aim"].as_str().unwrap_or_default(), last["met"].as_bool()) {
                (aim, Some(true)) => format!("{aim}: met"),
                (aim, Some(false)) => format!("{aim}: missed"),
                (aim, None) => aim.to_string(),
            };
            let [_, what, unit, other] = &row.key;
            let [ours, theirs] = ["ours", "theirs"].map(|name| number(name).unwrap_or_default());
            let cells = [what, unit, &ours, other, &theirs, &ratio, &aim].map(|text| cell(text));
            _ = writeln!(page, "| {} |", cells.join(" | "));
        }
    }
    page
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: &str = r#"
{"date": "2026-11-20T10:00:00+00:00", "commit": "aaaaaaaaaaaa", "changed": false, "cpu": "A", "cpus": 2, "kernel": "6.1", "fio": "fio-3", "load_average": 0.5, "pairs": 3, "rows": [{"line": "null", "what": "run phase", "unit": "ns", "other": "fio", "ours": 100.0, "theirs": 400.0, "ratio": 0.25, "ratio_low": 0.2, "ratio_high": 0.3, "aim": "<= 100", "met": true}, {"line": "../x", "what": "", "unit": "", "other": "", "ours": 1}]}
{"date": "2026-11-21T10:00:00+00:00", "commit": "bbbbbbbbbbbb", "changed": true, "cpu": "A", "cpus": 2, "kernel": "6.1", "fio": "fio-3", "load_average": 0.5, "pairs": 3, "rows": []}
{"date": "2026-11-22T10:00:00+00:00", "commit": "cccccccccccc", "changed": false, "cpu": "B", "cpus": 4, "kernel": "6.2", "fio": "none", "load_average": 0.1, "pairs": 3, "rows": [{"line": "null", "what": "run phase", "unit": "ns", "other": "fio", "ours": 120.5, "theirs": null, "ratio": null, "ratio_low": null, "ratio_high": null, "aim": "<= 100", "met": false}, {"line": "clock", "what": "one | reading", "unit": "ns", "other": "", "ours": 12.0, "theirs": null, "aim": "", "met": null}]}
"#;

    #[test]
    fn tracks_rows_across_runs() {
        let runs = read(HISTORY).unwrap();
        assert_eq!(lines(&runs), ["null", "clock"], "what is no name is no line");
        let null = rows(&runs, "null");
        assert_eq!(null.len(), 1);
        assert_eq!(null[0].values("ours"), [Some(100.0), None, Some(120.5)]);
        assert_eq!(null[0].values("theirs"), [Some(400.0), None, None]);
        assert_eq!(null[0].last()["met"], false);
    }

    #[test]
    fn picture_marks_figures_gaps_and_machine_changes() {
        let runs = read(HISTORY).unwrap();
        let palette = Theme::Light.palette();
        let scene = scene(&runs, &rows(&runs, "null"), palette);
        use iosonar_view::scene::Mark;
        let marks = |of: fn(&Mark) -> bool| scene.marks.iter().filter(|mark| of(mark)).count();
        assert_eq!(marks(|mark| matches!(mark, Mark::Area { .. })), 3);
        assert_eq!(marks(|mark| matches!(mark, Mark::Steps { .. })), 3, "ours is in two parts");
        let dashed = |mark: &Mark| matches!(mark, Mark::Rule { stroke, .. } if stroke.dashed);
        assert_eq!(marks(dashed), 1);
        let bounds = |mark: &Mark| if let Mark::Text(text) = mark { Some(text.bounds()) } else { None };
        let page = Rect { x: 0, y: 0, w: scene.width as i32, h: scene.height as i32 };
        for text in scene.marks.iter().filter_map(bounds) {
            assert!(
                text.x >= 0 && text.right() <= page.w && text.y >= 0 && text.bottom() <= page.h,
                "{text:?}"
            );
        }
    }

    #[test]
    fn larger_figures_are_drawn_higher_with_zero_at_bottom() {
        assert_eq!(tick(120.5), 50.0);
        assert_eq!(
            [0.0, 0.00012, 12.34, 120.5, 123_456.0].map(figure),
            ["0", "0.00012", "12.3", "120", "123456"]
        );
        assert!((0..30).map(|run| middle(run, 30)).is_sorted());
    }

    #[test]
    fn page_lists_runs_and_latest_figures() {
        let page = page(&read(HISTORY).unwrap(), &lines(&read(HISTORY).unwrap()));
        assert!(
            page.contains("| 2026-11-21 | bbbbbbbb+ | A, 2 CPUs, Linux 6.1 | fio-3 | 0.5 | 3 |"),
            "{page}"
        );
        assert!(page.contains("| run phase | ns | 120 | fio |  |  | <= 100: missed |"), "{page}");
        assert!(page.contains("one \\| reading") && page.contains("(clock.svg)"), "{page}");
        let newest = page.find("2026-11-22").unwrap();
        assert!(newest < page.find("2026-11-20").unwrap());
    }

    #[test]
    fn errors_name_the_damaged_line() {
        let damaged = |text| read(text).err().expect("an error");
        assert!(damaged("\n{").contains("line 2"), "{}", damaged("\n{"));
        assert_eq!(damaged("{\"date\":\"2026-11-20\",\"commit\":\"a\"}"), "line 1: rows is missing");
    }
}
