//! The story of a comparison in at most 24 lines: headline, reasons, worth and remedy; then the conditions and the figures that matter most.

use super::{FIGURES_HEAD, condition_text, figure_line, overview};
use crate::lines::{COLUMNS, Lines};
use crate::story::{STORY_LINES, limited, lines_of};
use iosonar_analyze::compare::{Comparison, Facts, Judged, Judgement};
use iosonar_text::units::{self, Charset};

/// The figures that matter most.
pub(super) const FIGURES: [&str; 5] = ["response.p50", "response.p99", "latency.p50", "latency.p99", "iops"];
/// Most lines of a condition, and of a caution.
const LINES_OF_CONDITION: usize = 2;
/// Most lines of the cautions.
const LINES_OF_CAUTIONS: usize = 3;

/// The story of one comparison, or a table of several.
pub fn short(comparisons: &[Judged]) -> String {
    match comparisons {
        [only] => one(only),
        several => {
            let mut out = Lines::new(COLUMNS);
            overview(&mut out, several);
            out.finish()
        }
    }
}

fn one(judged: &Judged) -> String {
    let c = &judged.comparison;
    let mut head = Lines::new(COLUMNS);
    match &c.story {
        Some(story) => lines_of(&mut head, story),
        None => head.paragraph("", &c.answer.text),
    }
    let mut foot = runs(c);
    figures(&mut foot, c);
    cautions(&mut foot, c);
    let room = STORY_LINES.saturating_sub(head.count() + foot.count());
    let conditions = conditions(judged, room);
    [head, conditions, foot].map(Lines::finish).concat()
}

/// The conditions in at most `room` lines, those that failed first; the rest is counted.
fn conditions(judged: &Judged, room: usize) -> Lines {
    let mut all: Vec<_> = judged.conditions.iter().collect();
    all.sort_by_key(|one| match one.result {
        Judgement::Failed => 0,
        Judgement::Unknown => 1,
        Judgement::Holds => 2,
    });
    let mut out = Lines::new(COLUMNS);
    for (index, one) in all.iter().enumerate() {
        let is_last = index + 1 == all.len();
        let mut lines = Lines::new(COLUMNS);
        limited(&mut lines, "  ", &condition_text(one), LINES_OF_CONDITION);
        // One line is kept for the number of the others.
        if out.count() + lines.count() + usize::from(!is_last) > room {
            let failed = all[index..].iter().filter(|one| one.result == Judgement::Failed).count();
            out.line(&format!(
                "  {} more conditions, {failed} of them failed: compare --all",
                all.len() - index
            ));
            return out;
        }
        lines.finish().lines().for_each(|line| out.line(line));
    }
    out
}

/// Name, requests and length of both.
fn runs(c: &Comparison) -> Lines {
    let mut out = Lines::new(COLUMNS);
    out.line("");
    for (letter, Facts { name, completed, duration_ns, .. }) in [("A", &c.a), ("B", &c.b)] {
        let (completed, took) = (units::grouped(*completed), units::duration(*duration_ns, Charset::Ascii));
        out.line(&format!("  {letter}  {completed} requests in {took}: {name}"));
    }
    out
}

fn figures(out: &mut Lines, c: &Comparison) {
    let rows: Vec<_> =
        FIGURES.iter().filter_map(|name| c.figures.iter().find(|figure| figure.name == *name)).collect();
    if !rows.is_empty() {
        out.heading(FIGURES_HEAD);
        rows.iter().for_each(|figure| out.line(&figure_line(figure)));
    }
}

/// Most of the cautions; `--all` has them as a list.
fn cautions(out: &mut Lines, c: &Comparison) {
    if !c.cautions.is_empty() {
        limited(out, "  ! ", &c.cautions.join("; "), LINES_OF_CAUTIONS);
    }
}
