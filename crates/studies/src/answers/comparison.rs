//! Figures of kept answers side by side.

use super::figures::{Figure, figures};
use iosonar_inputs::Study;
use iosonar_runner::Error;
use iosonar_text::{one_line, shown};
use serde_json::{Value, json};
use std::fmt::{self, Write};

/// Caution for every such comparison.
const ONCE: &str = "Each side was measured once. An interval is of what was repeated within it; whole measurements may lie \
                    farther apart: repeat them before a difference is believed.";

/// Answers of one command, each compared with the first.
#[derive(Debug)]
pub struct AnswerComparison<'a> {
    a: &'a Study,
    compared: Vec<Compared<'a>>,
}

/// Compares each answer after the first with the first.
///
/// # Errors
/// An answer cannot be read.
pub fn compare(studies: &[Study]) -> Result<AnswerComparison<'_>, Error> {
    let Some((a, others)) = studies.split_first() else {
        return Err(Error::refused_because("no answer is named"));
    };
    let of_a = figures(a)?;
    let compare = |study| Ok::<_, Error>(Compared::of(study, &of_a, &figures(study)?));
    Ok(AnswerComparison { a, compared: others.iter().map(compare).collect::<Result<_, _>>()? })
}

/// A figure of both sides.
#[derive(Debug)]
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
#[derive(Debug)]
pub struct Compared<'a> {
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

impl AnswerComparison<'_> {
    /// Whether each answer has a figure in common with the first.
    pub fn has_figures(&self) -> bool {
        self.compared.iter().all(|one| !one.pairs.is_empty())
    }

    /// The comparison as JSON.
    pub fn to_json(&self) -> Value {
        let one = |one: &Compared<'_>| {
            json!({
                "a": self.a.dir(),
                "b": one.b.dir(),
                "figures": one.pairs.iter().map(Pair::json).collect::<Vec<_>>(),
                "only_in_a": one.only_in_a,
                "only_in_b": one.only_in_b,
            })
        };
        let all: Vec<Value> = self.compared.iter().map(one).collect();
        json!({"version": 1, "command": self.a.kind.command(), "comparisons": all, "note": ONCE})
    }
}

/// A table for each answer.
impl fmt::Display for AnswerComparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.compared.iter().try_for_each(|one| f.write_str(&table(self.a, one)))?;
        writeln!(f, "{ONCE}")
    }
}

/// The figures of both, and those that only one of them has.
fn table(a: &Study, compared: &Compared<'_>) -> String {
    let Compared { b, pairs, only_in_a, only_in_b } = compared;
    let mut text = format!("A: {}\nB: {}\n\n", shown(&a.dir()), shown(&b.dir()));
    for (side, names) in [("A", only_in_a), ("B", only_in_b)] {
        names.iter().for_each(|name| _ = writeln!(text, "only in {side}: {}", one_line(name)));
    }
    if pairs.is_empty() {
        return text + "They have no figure in common.\n\n";
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
    text + "\n"
}
