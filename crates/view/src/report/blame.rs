//! Causes of waiting over time: data for the viewer's strip, and the same strip for a page without a script.

use super::markup::suffix;
use super::meta::{PageBlame, PageBlameRow};
use super::run::ReportRun;
use crate::escape;
use crate::units::{Charset, moment};
use iosonar_analyze::{Blame, BlameRow, Cause};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Opacity of the least value above zero: it must be seen.
const LEAST_INK: f64 = 0.1;

/// The causes of a run; `None` for a load, or where none was found.
pub(super) fn of<'a>(run: &ReportRun<'a>) -> Option<&'a Blame> {
    let story = run.material.run.as_ref()?.summary.story.as_ref()?;
    story.blame.as_ref().filter(|blame| !blame.rows.is_empty() && blame.slice_ns > 0)
}

/// The causes in the form of the page.
pub(super) fn page_blame(blame: &Blame) -> PageBlame {
    PageBlame {
        from_ns: blame.from_ns,
        slice_ns: blame.slice_ns,
        rows: blame.rows.iter().map(page_row).collect(),
    }
}

fn page_row(row: &BlameRow) -> PageBlameRow {
    let (cause, measure) = words(row.cause);
    PageBlameRow {
        cause: cause.into(),
        label: row.label(),
        measure: measure.into(),
        percent: row.percent.clone(),
    }
}

/// Name of a cause in the page's data and style, and words after a value.
fn words(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::Halted => ("halted", "of the time"),
        Cause::NoCpu => ("no-cpu", "of the time"),
        Cause::Others => ("others", "of the device's greatest rate"),
        Cause::DepthFull => ("depth-full", "of the response"),
        Cause::Conflicts => ("conflicts", "of the response"),
        _ => ("other", "of the time"),
    }
}

/// Writes the strip with the time axis of a picture that ends at `end_ns`.
pub(super) fn write(out: &mut String, name: &str, run: &ReportRun<'_>, end_ns: u64) {
    let Some(blame) = of(run) else { return };
    _ = writeln!(
        out,
        "<figure id=\"blame-image{}\" class=\"blame\">\n<figcaption>{name}Causes over time (stronger: more)</figcaption>",
        suffix(name)
    );
    blame.rows.iter().for_each(|row| write_row(out, blame, row, end_ns));
    out.push_str("</figure>\n");
}

fn write_row(out: &mut String, blame: &Blame, row: &BlameRow, end_ns: u64) {
    let (cause, _) = words(row.cause);
    let (label, sentence) = (escape(&row.label()), escape(&sentence(blame, row)));
    let slices = |ns: u64| ns as f64 / blame.slice_ns as f64;
    _ = write!(
        out,
        "<div class=\"cause {cause}\"><svg viewBox=\"{:.3} 0 {:.3} 1\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{sentence}\"><title>{sentence}</title>",
        -slices(blame.from_ns),
        slices(end_ns.max(1)),
    );
    for (percent, path) in paths(&row.percent) {
        let ink = LEAST_INK + (1.0 - LEAST_INK) * f64::from(percent.min(100)) / 100.0;
        _ = write!(out, "<path fill-opacity=\"{ink:.2}\" d=\"{path}\"/>");
    }
    _ = writeln!(out, "</svg><span>{label}</span></div>");
}

/// Boxes of slices with the same value above zero, as one path for each value.
fn paths(percent: &[u8]) -> BTreeMap<u8, String> {
    let mut paths: BTreeMap<u8, String> = BTreeMap::new();
    let mut begin = 0;
    for same in percent.chunk_by(|a, b| a == b) {
        let length = same.len();
        if same[0] > 0 {
            _ = write!(paths.entry(same[0]).or_default(), "M{begin} 0h{length}v1h-{length}z");
        }
        begin += length;
    }
    paths
}

/// The row in words: its greatest value, and between which times it has any.
fn sentence(blame: &Blame, row: &BlameRow) -> String {
    let (label, (_, measure)) = (row.label(), words(row.cause));
    let has_value = |percent: &u8| *percent > 0;
    let first = row.percent.iter().position(has_value);
    let last = row.percent.iter().rposition(has_value);
    let (Some(first), Some(last)) = (first, last) else { return format!("{label}: never") };
    let at = |slice: usize| {
        let ns = (slice as u64).saturating_mul(blame.slice_ns).saturating_add(blame.from_ns);
        moment(ns, Charset::Unicode)
    };
    let most = row.percent.iter().max().unwrap_or(&0);
    format!("{label}: up to {most} % {measure}, from {} to {}", at(first), at(last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cause: Cause, device: Option<&str>, percent: &[u8]) -> BlameRow {
        BlameRow { cause, device: device.map(str::to_string), percent: percent.to_vec() }
    }

    fn blame() -> Blame {
        let rows = vec![
            row(Cause::Halted, None, &[0, 100, 100, 0]),
            row(Cause::Others, Some("<b>"), &[20, 0, 20, 87]),
        ];
        Blame { from_ns: 1_000_000_000, slice_ns: 500_000_000, rows }
    }

    #[test]
    fn rows_have_labels_and_measures() {
        let page = page_blame(&blame());
        let rows: Vec<_> = page.rows.iter().map(|r| (&*r.cause, &*r.label, &*r.measure)).collect();
        assert_eq!(
            rows,
            [
                ("halted", "halted", "of the time"),
                ("others", "others on <b>", "of the device's greatest rate")
            ]
        );
        assert_eq!((page.from_ns, page.slice_ns), (1_000_000_000, 500_000_000));
        assert_eq!(page.rows[1].percent, [20, 0, 20, 87]);
    }

    #[test]
    fn equal_neighbours_are_one_box_and_zero_has_none() {
        let paths = paths(&[20, 0, 20, 20, 87]);
        assert_eq!(paths.len(), 2);
        assert_eq!(paths[&20], "M0 0h1v1h-1zM2 0h2v1h-2z");
        assert_eq!(paths[&87], "M4 0h1v1h-1z");
        assert!(super::paths(&[]).is_empty());
    }

    #[test]
    fn strip_shares_the_axis_of_the_picture_and_names_are_no_markup() {
        let mut out = String::new();
        let blame = blame();
        write_row(&mut out, &blame, &blame.rows[1], 4_000_000_000);
        assert!(out.contains("viewBox=\"-2.000 0 8.000 1\""), "{out}");
        assert!(out.contains("fill-opacity=\"0.28\"") && out.contains("fill-opacity=\"0.88\""), "{out}");
        assert!(out.contains("class=\"cause others\"") && !out.contains("<b>"), "{out}");
        assert!(out.contains("<span>others on &lt;b&gt;</span>"), "{out}");
    }

    #[test]
    fn sentence_states_maximum_and_times() {
        let blame = blame();
        assert_eq!(
            sentence(&blame, &blame.rows[0]),
            "halted: up to 100 % of the time, from 1.50 s to 2.50 s"
        );
        assert_eq!(sentence(&blame, &row(Cause::NoCpu, None, &[0, 0])), "waited for a CPU: never");
    }
}
