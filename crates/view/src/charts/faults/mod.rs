//! Faults found by verification: where and when, and the whole target in a strip.

pub(super) mod map;
mod signs;
pub(super) mod strip;

use super::axes::{TimeScale, words};
use super::{PLOT_LEFT, PLOT_WIDTH, RunView, View, figures};
use crate::fonts::{self, Weight};
use crate::palette::Palette;
use crate::scene::{Anchor, Caption, Fill, Rect, Scene};
use crate::units;
use iosonar_archive::{Fault, FaultClass, FoundBy, Verified};
use iosonar_plan::SECTOR;

/// Base line of the first row of the legend.
const LEGEND: i32 = 104;
/// Height of a row of words.
const ROW: i32 = 19;
/// Classes in a row of the legend.
const COLUMNS: usize = 5;
const WORDS: f64 = 13.0;
/// Half the width of a sign in a legend.
const ARM: i32 = 6;

/// Draws the classes with their counts from the base line `top` on, then `lines`; returns the first pixel below.
fn legend(scene: &mut Scene, view: &RunView<'_>, verified: &Verified, lines: Vec<Caption>, top: i32) -> i32 {
    let p = view.palette;
    let width = PLOT_WIDTH / COLUMNS as i32;
    for (number, (class, count)) in verified.faults.iter().enumerate() {
        let (row, column) = ((number / COLUMNS) as i32, (number % COLUMNS) as i32);
        let (x, y) = (PLOT_LEFT + width * column, top + ROW * row);
        signs::filled(scene, p, *class, (x + ARM, y - 5), ARM);
        let name = words(class.name(), x + 20, y, view.size(WORDS), p, Anchor::Start);
        let faults = figures::count(format!("verified.faults.{class}.faults"), count.faults);
        let mut faults = words(faults, name.bounds().right() + 10, y, WORDS, p, Anchor::Start);
        faults.weight = Weight::Bold;
        scene.text(name);
        scene.text(faults);
    }
    let mut y = top + ROW * verified.faults.len().div_ceil(COLUMNS) as i32 + 4;
    for line in lines {
        for line in line.wrapped(WORDS, Weight::Regular, f64::from(PLOT_WIDTH)) {
            let mut text = words(line, PLOT_LEFT, y, WORDS, p, Anchor::Start);
            text.color = p.faint_text;
            scene.text(text);
            y += ROW;
        }
    }
    y - ROW / 2
}

/// Note on faults that are not in the list.
fn not_listed(verified: &Verified) -> Option<Caption> {
    let more = verified.not_listed;
    let text = format!("{} more faults are not in the list, and in no figure here", units::grouped(more));
    (more > 0).then(|| Caption::figure(text, "verified.not_listed", more))
}

/// The visible time: up to the end of the run, of the scan at its end, and of the last read that found a fault.
fn time(view: &RunView<'_>, faults: &[Fault], area: Rect) -> TimeScale {
    let scan = view.summary.verified.as_ref().and_then(|verified| verified.scan);
    let found = faults.iter().map(|fault| fault.completed.0).max();
    let ends = [scan.map(|scan| scan.end.0), found].into_iter().flatten();
    let end = ends.fold(view.diagrams.end_ns(), u64::max).max(1);
    let (begin, end) = view.range.map_or((0, end), |range| {
        let begin = range.from_ns.min(end - 1);
        (begin, range.to_ns.clamp(begin + 1, end))
    });
    TimeScale { begin, end, is_number: false, area }
}

/// Draws the time of the final scan, below the marks. Returns whether it is visible.
fn scan(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale) -> bool {
    let Some(scan) = view.summary.verified.as_ref().and_then(|verified| verified.scan) else { return false };
    let (start, end) = (scan.start.0, scan.end.0.max(scan.start.0 + 1));
    let is_seen = time.shows(start..end);
    if is_seen {
        let (x, right) = (time.x(start), time.x(end));
        let area = Rect { x, y: time.area.y, w: (right - x).max(2), h: time.area.h };
        scene.area(area, Fill::Solid(view.palette.background.mix(view.palette.axis, 0.12)));
    }
    is_seen
}

/// Draws the title of that scan, above the plot.
fn scan_title(scene: &mut Scene, view: &RunView<'_>, time: &TimeScale, y: i32) {
    let Some(scan) = view.summary.verified.as_ref().and_then(|verified| verified.scan) else { return };
    let middle = (time.x(scan.start.0) + time.x(scan.end.0)) / 2;
    // Leaves room for the name of a target at the left.
    let middle = middle.max(PLOT_LEFT + TITLE_WIDTH + 60);
    let mut text = words("final scan", middle, y, WORDS, view.palette, Anchor::Middle);
    text.x -= (text.bounds().right() - time.area.right()).max(0);
    text.color = view.palette.faint_text;
    scene.text(text);
}

/// A target and its faults, in the order of the list.
struct Target<'a> {
    number: u16,
    path: &'a str,
    /// Bytes; an unknown size ends with the last fault.
    size: u64,
    /// End of the highest request, if known.
    requested_end: Option<u64>,
    faults: Vec<&'a Fault>,
}

/// Every target with faults, in the order of the plan.
fn targets<'a>(view: &RunView<'a>, faults: &'a [Fault]) -> Vec<Target<'a>> {
    let mut numbers: Vec<u16> = faults.iter().map(|fault| fault.target).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of = |number: u16| {
        let summary = view.summary.targets.get(usize::from(number));
        let faults: Vec<_> = faults.iter().filter(|fault| fault.target == number).collect();
        let end = faults.iter().map(|fault| fault.offset.saturating_add(fault.length)).max().unwrap_or(1);
        let size = summary.map_or(0, |target| target.size_bytes).max(end);
        let requested_end = summary.and_then(|target| {
            target.wraparound_factor.map(|factor| (factor * target.size_bytes as f64) as u64)
        });
        Target {
            number,
            path: summary.map_or("", |target| target.path.as_str()),
            size,
            requested_end,
            faults,
        }
    };
    numbers.into_iter().map(of).collect()
}

/// The `most` targets with most faults, in the order of the plan; and the number of others.
fn chosen(mut all: Vec<Target<'_>>, most: usize) -> (Vec<Target<'_>>, usize) {
    all.sort_by_key(|target| std::cmp::Reverse(target.faults.len()));
    let others = all.len().saturating_sub(most);
    all.truncate(most);
    all.sort_by_key(|target| target.number);
    (all, others)
}

/// Note on targets with faults beyond those in the picture.
fn other_targets(others: usize) -> Option<Caption> {
    let text = format!("{} with fewer faults are not drawn", units::more_targets(others));
    (others > 0).then(|| Caption::figure(text, "picture.other_targets", others))
}

/// Room for the name of a target.
const TITLE_WIDTH: i32 = 800;

/// Path of a target above its plot.
fn title(scene: &mut Scene, p: &Palette, target: &Target<'_>, y: i32) {
    let path = fonts::fit(target.path, 15.0, Weight::Bold, f64::from(TITLE_WIDTH));
    let mut text = words(path, PLOT_LEFT, y, 15.0, p, Anchor::Start);
    text.weight = Weight::Bold;
    scene.text(text);
}

/// Number of faults of a target in the list, and of their sectors.
fn counted(target: &Target<'_>) -> Caption {
    let (faults, sectors) =
        (target.faults.len() as u64, target.faults.iter().map(|fault| fault.length / SECTOR).sum::<u64>());
    let s = |n: u64| if n == 1 { "" } else { "s" };
    let text = format!(
        "{} fault{} in {} sector{}",
        units::grouped(faults),
        s(faults),
        units::grouped(sectors),
        s(sectors)
    );
    let path = |of: &str| format!("picture.targets.{}.{of}", target.number);
    Caption::figure(text, path("faults"), faults).of(path("sectors"), sectors)
}

/// Severity of a fault, the worst greatest: a fault that a later read did not confirm hides no permanent one.
fn badness(fault: &Fault) -> (bool, std::cmp::Reverse<FaultClass>) {
    let is_passing = matches!(fault.class, FaultClass::Stale | FaultClass::Untransferred | FaultClass::Short);
    (!is_passing && !fault.transient, std::cmp::Reverse(fault.class))
}

/// Whether the scan at the end found it.
fn is_of_scan(fault: &Fault) -> bool {
    fault.found_by == FoundBy::Final
}

/// Draws a note instead of a plot if no fault was found in the visible part of the time.
fn none_seen(scene: &mut Scene, view: &View<'_>, plot: Rect) {
    super::page::nothing(scene, view, plot, "Nothing to show: no fault was found in this part of the time.");
}

#[cfg(test)]
pub(super) mod tests {
    use iosonar_archive::{Fault, FaultClass, FoundBy, ReadAgain};
    use iosonar_plan::Nanos;

    /// A lost sector at the start of the first target.
    pub(in crate::charts) fn fault() -> Fault {
        Fault {
            class: FaultClass::Lost,
            target: 0,
            offset: 0,
            length: 512,
            found_by: FoundBy::Read,
            request: None,
            submitted: Nanos(1),
            completed: Nanos(2),
            expected: None,
            found: None,
            versions_older: None,
            belongs_at: None,
            run_id: None,
            damaged: None,
            torn_at: None,
            torn: None,
            first_bytes: String::new(),
            entropy: None,
            note: String::new(),
            again: [ReadAgain::Same; 3],
            transient: false,
            also_possible: Vec::new(),
        }
    }
}
