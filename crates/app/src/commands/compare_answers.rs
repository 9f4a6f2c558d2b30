//! `iosonar compare` on answers of 'knee' and 'layout run': their figures side by side.

use super::study_answer::{Figure, figures};
use crate::args::compare::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::anyhow;
use iosonar_inputs::{Study, StudyKind};
use iosonar_text::{one_line, shown};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// Caution for every such comparison.
const ONCE: &str = "Each side was measured once. An interval is of what was repeated within it; whole measurements may lie \
                    farther apart: repeat them before a difference is believed.";

/// The answers of 'knee' or of 'layout run', if all inputs are such; `None` if no input is.
pub fn answers(paths: &[PathBuf]) -> Result<Option<Vec<Study>>, Failure> {
    let found = |path: &PathBuf| Study::of(path).filter(|study| study.kind != StudyKind::Matrix);
    let studies: Vec<Study> = paths.iter().filter_map(found).collect();
    let Some(first) = studies.first() else { return Ok(None) };
    if studies.len() < paths.len() || studies.iter().any(|study| study.kind != first.kind) {
        return Err(Failure::refused(anyhow!(
            "{} is the answer of '{}', and not all others are: compare answers with answers of the same command",
            shown(&first.dir()),
            first.kind.command()
        )));
    }
    Ok(Some(studies))
}

/// A figure of both sides.
struct Pair {
    a: Figure,
    b: Figure,
}

impl Pair {
    /// Change of B against A; `None` where a side has only a lower bound.
    fn change_percent(&self) -> Option<f64> {
        let is_known = !self.a.is_at_least && !self.b.is_at_least && self.a.value > 0.0;
        is_known.then(|| (self.b.value / self.a.value - 1.0) * 100.0)
    }

    /// Whether their intervals are disjoint; `None` without two intervals.
    fn intervals_are_apart(&self) -> Option<bool> {
        let ((low_a, high_a), (low_b, high_b)) = (self.a.interval?, self.b.interval?);
        Some(high_a < low_b || high_b < low_a)
    }

    fn json(&self) -> Value {
        let side = |figure: &Figure| json!({"value": figure.value, "interval": figure.interval, "is_at_least": figure.is_at_least});
        json!({
            "name": self.a.name,
            "a": side(&self.a),
            "b": side(&self.b),
            "change_percent": self.change_percent(),
            "intervals_are_apart": self.intervals_are_apart(),
        })
    }
}

/// An answer compared with the first one.
struct Compared<'a> {
    b: &'a Study,
    pairs: Vec<Pair>,
    /// Names of figures that only one side has.
    only_in_a: Vec<String>,
    only_in_b: Vec<String>,
}

impl Compared<'_> {
    fn of<'a>(study: &'a Study, a: &[Figure], b: &[Figure]) -> Compared<'a> {
        let pair = |a: &Figure| {
            let b = b.iter().find(|b| b.name == a.name)?;
            Some(Pair { a: a.clone(), b: b.clone() })
        };
        let only = |these: &[Figure], others: &[Figure]| {
            let is_alone = |one: &&Figure| others.iter().all(|other| other.name != one.name);
            these.iter().filter(is_alone).map(|one| one.name.clone()).collect()
        };
        Compared {
            b: study,
            pairs: a.iter().filter_map(pair).collect(),
            only_in_a: only(a, b),
            only_in_b: only(b, a),
        }
    }
}

/// Compares each answer after the first with the first.
pub fn compare(args: &CompareArgs, studies: &[Study]) -> Result<Exit, Failure> {
    let command = studies[0].kind.command();
    let is_given = [
        ("--fail-if", !args.fail_if.is_empty()),
        ("--csv", args.csv),
        ("--markdown", args.markdown),
        ("--html", args.html.is_some()),
    ];
    if let Some((option, _)) = is_given.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::refused(anyhow!(
            "{option} is not available for answers of '{command}': use --json, or compare their runs"
        )));
    }
    let a = figures(&studies[0])?;
    let compare = |study| Ok::<_, Failure>(Compared::of(study, &a, &figures(study)?));
    let compared: Vec<Compared<'_>> = studies[1..].iter().map(compare).collect::<Result<_, _>>()?;
    let has_some = compared.iter().all(|one| !one.pairs.is_empty());
    print(&if args.json { as_json(&studies[0], &compared) } else { as_text(&studies[0], &compared) })?;
    Ok(if has_some { Exit::Fine } else { Exit::Failed })
}

fn as_json(a: &Study, compared: &[Compared<'_>]) -> String {
    let one = |one: &Compared<'_>| {
        json!({
            "a": a.dir(),
            "b": one.b.dir(),
            "figures": one.pairs.iter().map(Pair::json).collect::<Vec<_>>(),
            "only_in_a": one.only_in_a,
            "only_in_b": one.only_in_b,
        })
    };
    let all: Vec<Value> = compared.iter().map(one).collect();
    format!("{:#}\n", json!({"version": 1, "command": a.kind.command(), "comparisons": all, "note": ONCE}))
}

fn as_text(a: &Study, compared: &[Compared<'_>]) -> String {
    let mut text = String::new();
    for Compared { b, pairs, only_in_a, only_in_b } in compared {
        let _ = writeln!(text, "A: {}\nB: {}\n", shown(&a.dir()), shown(&b.dir()));
        for (side, names) in [("A", only_in_a), ("B", only_in_b)] {
            names.iter().for_each(|name| _ = writeln!(text, "only in {side}: {}", one_line(name)));
        }
        if pairs.is_empty() {
            text += "They have no figure in common.\n\n";
            continue;
        }
        let width = pairs.iter().map(|pair| pair.a.name.chars().count()).max().unwrap_or(0);
        let _ = writeln!(text, "{:<width$}  {:>18}  {:>18}  {:>9}  95 % intervals", "", "A", "B", "change");
        for pair in pairs {
            let change = pair.change_percent().map_or("-".into(), |percent| format!("{percent:+.1} %"));
            let apart = match pair.intervals_are_apart() {
                Some(true) => "apart",
                Some(false) => "overlap",
                None => "-",
            };
            let name = one_line(&pair.a.name);
            let (a, b) = (pair.a.shown(), pair.b.shown());
            let _ = writeln!(text, "{name:<width$}  {a:>18}  {b:>18}  {change:>9}  {apart}");
        }
        text += "\n";
    }
    text + ONCE + "\n"
}
