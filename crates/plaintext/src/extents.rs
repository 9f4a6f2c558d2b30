//! Latencies by extent as text: a table for each file, and sentences on the result.

use crate::maps::{counted, headline};
use iosonar_analyze::extents::{
    ExtentLatencies, FileLatencies, Groups, Jump, LatencyFigures, PlacedLatencies, Spot,
};
use iosonar_layout::Kind;
use iosonar_plan::Op;
use iosonar_text::shown;
use iosonar_text::units::{self, Charset, bytes, grouped};
use std::fmt::Write as _;

/// Maximum fragments in a list.
const COSTLIEST: usize = 5;

/// A table for each of at most `most` files, those with the most fragments first.
pub fn extent_latencies(found: &ExtentLatencies, most: usize) -> String {
    let others = found.files.len().saturating_sub(most);
    let mut out = String::new();
    for (_, file) in found.most_fragmented().into_iter().take(most) {
        let _ = writeln!(out, "{}, {}", headline(&file.map), fragments(file));
        remarks(file).iter().for_each(|remark| out += &format!("  {remark}\n"));
        for (op, name) in [(Op::Read, "reads"), (Op::Write, "writes")] {
            table(&mut out, file, file.of(op), name);
        }
        out.push('\n');
    }
    if others > 0 {
        let _ = writeln!(
            out,
            "{} with fewer fragments: iosonar layout latency shows all.",
            counted(others as u64, "file")
        );
    }
    out
}

/// `68 fragments`.
pub fn fragments(file: &FileLatencies) -> String {
    counted(file.map.figures.fragments, "fragment")
}

/// Remarks to read before believing the tables.
fn remarks(file: &FileLatencies) -> Vec<String> {
    let mut remarks =
        vec!["Places are those at the end of the run; nothing was flushed to find them.".into()];
    remarks.extend(file.map.volume.addresses.remark().map(String::from));
    if file.earlier_requests > 0 {
        remarks.push(format!(
            "{} before the file was created again are not shown: it has other blocks since.",
            counted(file.earlier_requests, "request")
        ));
    }
    let waiting = file.map.figures.bytes_of(Kind::Delalloc);
    if waiting > 0 {
        remarks.push(format!(
            "{} had not been written back by then: requests there have no known place.",
            bytes(waiting)
        ));
    }
    if file.writes.all.figures().is_some() {
        remarks.push(
            "The run wrote to the file: on btrfs, and elsewhere in shared (reflinked) blocks, that moves them, and \
             earlier requests were at other places."
                .into(),
        );
    }
    if file.is_buffered {
        remarks.push(
            "Requests go through the page cache: read-ahead joins and splits them, so a slow request can wait for blocks \
             that it did not ask for, and a fast one need not reach the device."
                .into(),
        );
    }
    remarks.push(
        "Pairs are requests of about the same length. Intervals treat requests as independent; neighbours are not, so a \
         small difference can be noise."
            .into(),
    );
    remarks
}

/// Results of the comparisons of a kind of requests, as sentences; empty if one of two groups is empty.
pub fn sentences(of: &PlacedLatencies) -> Vec<String> {
    let across = sentence("Across fragments", "within one fragment", &of.across);
    let elsewhere =
        sentence("Starting elsewhere than where the request before ended", "starting there", &of.elsewhere);
    across.into_iter().chain(elsewhere).collect()
}

fn sentence(these: &str, those: &str, groups: &Groups) -> Option<String> {
    let [a, b] = groups.requests();
    if a == 0 || b == 0 {
        return None;
    }
    let Some(slower) = groups.slower() else {
        let a = counted(a, "request");
        return Some(format!(
            "{these}: {a}, {those}: {}; too few of the same length to compare.",
            grouped(b)
        ));
    };
    let [low, high] = slower.interval_percent.map(|percent| format!("{percent:.1}"));
    let medians = format!(
        "median {} against {}",
        units::duration(slower.first.p50_ns, Charset::Unicode),
        units::duration(slower.second.p50_ns, Charset::Unicode),
    );
    let pairs = format!("in {:.1} % of pairs (95 %: {low} to {high} %)", slower.percent);
    Some(match (slower.is_shown, slower.percent > 50.0) {
        (false, _) => format!("{these}: no difference shown from {those}: slower {pairs}, {medians}."),
        (true, true) => format!("{these}: slower than {those} {pairs}, {medians}."),
        (true, false) => format!("{these}: faster than {those}: slower only {pairs}, {medians}."),
    })
}

fn table(out: &mut String, file: &FileLatencies, of: &PlacedLatencies, name: &str) {
    let Some(all) = of.all.figures() else { return };
    let head = ["requests", "time", "mean", "median", "p99", "max"];
    let _ = writeln!(out, "\n  {name:<42}{}", head.map(|word| format!("{word:>11}")).concat());
    let mut row = |name: &str, figures: Option<LatencyFigures>| {
        let Some(f) = figures else { return };
        let _ = writeln!(out, "  {name:<42}{}", cells(&f, all.total_ns));
    };
    row("all", Some(all));
    Spot::ALL.into_iter().for_each(|spot| row(&format!("  {}", spot.words()), of.at_spot(spot)));
    for jump in Jump::ALL {
        row(&format!("  {}", start(jump)), of.at_jump(jump));
    }
    for (from, latencies) in &of.by_fragment_size {
        row(&format!("  in fragments from {}", bytes(*from)), latencies.figures());
    }
    sentences(of).iter().for_each(|sentence| out.push_str(&format!("  {sentence}\n")));
    costliest(out, file, of);
}

/// `start up to 1 MiB further`.
pub fn start(jump: Jump) -> String {
    format!("start {}", jump.words())
}

fn cells(f: &LatencyFigures, total_ns: u64) -> String {
    let time = |ns: u64| units::duration(ns, Charset::Unicode);
    let cells = [
        grouped(f.requests),
        units::share(f.total_ns, total_ns),
        time(f.mean_ns.round() as u64),
        time(f.p50_ns),
        f.p99_ns.map_or("-".into(), time),
        time(f.max_ns),
    ];
    cells.map(|cell| format!("{cell:>11}")).concat()
}

fn costliest(out: &mut String, file: &FileLatencies, of: &PlacedLatencies) {
    let fragments = file.placed.fragments();
    if fragments.len() < 2 {
        return;
    }
    let head = ["in the file", "on the disk", "size", "requests", "mean", "max"];
    let _ = writeln!(out, "  most time spent on{}", head.map(|word| format!("{word:>15}")).concat());
    for (number, sums) in of.costliest(COSTLIEST) {
        let fragment = fragments[number];
        let time = |ns: u64| units::duration(ns, Charset::Unicode);
        let cells = [
            bytes(fragment.offset),
            bytes(fragment.address),
            bytes(fragment.bytes),
            grouped(sums.requests),
            time(sums.mean_ns().round() as u64),
            time(sums.max_ns),
        ];
        let number = format!("number {number}");
        let _ = writeln!(out, "    {number:<15}{}", cells.map(|cell| format!("{cell:>15}")).concat());
    }
}

/// The name of a file in pictures.
pub fn name(file: &FileLatencies) -> String {
    shown(&file.map.path).to_string()
}
