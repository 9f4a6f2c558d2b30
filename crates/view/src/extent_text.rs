//! Latencies by extent as text: a table for each file, and sentences on what they tell.

use crate::layout_text::{counted, headline, shown_name};
use crate::units::{self, Charset, bytes, grouped};
use iosonar_analyze::extents::{
    ExtentLatencies, FileLatencies, Jump, LatencyFigures, PlacedLatencies, Slower, Spot,
};
use iosonar_plan::Op;
use std::fmt::Write as _;

/// Fragments that are listed.
const SLOWEST: usize = 5;

/// A table for each file, the file with the most fragments first.
pub fn show_extent_latencies(found: &ExtentLatencies) -> String {
    let mut files: Vec<&FileLatencies> = found.files.iter().collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.map.figures.fragments));
    let mut out = String::new();
    for file in files {
        let _ = writeln!(out, "{}, {}", headline(&file.map), fragments(file));
        remarks(file).iter().for_each(|remark| out += &format!("  {remark}\n"));
        for (op, name) in [(Op::Read, "reads"), (Op::Write, "writes")] {
            table(&mut out, file, file.of(op), name);
        }
        out.push('\n');
    }
    out
}

/// `68 fragments`.
pub(crate) fn fragments(file: &FileLatencies) -> String {
    counted(file.map.figures.fragments, "fragment")
}

/// What to know before believing the tables.
pub(crate) fn remarks(file: &FileLatencies) -> Vec<String> {
    let mut remarks =
        vec!["Places are those at the end of the run; nothing was flushed to find them.".into()];
    remarks.extend(file.map.volume.addresses.remark().map(String::from));
    if file.earlier_requests > 0 {
        remarks.push(format!(
            "{} before the file was created again are not shown: it has other blocks since.",
            counted(file.earlier_requests, "request")
        ));
    }
    if file.is_buffered {
        remarks.push(
            "Requests go through the page cache: read-ahead joins and splits them, so a slow request can wait for blocks \
             that it did not ask for, and a fast one need not reach the device."
                .into(),
        );
    }
    remarks
}

/// What the comparisons of a kind of requests show, as sentences.
pub(crate) fn sentences(of: &PlacedLatencies) -> [String; 2] {
    [
        sentence(
            "Across fragments",
            "within one fragment",
            of.across(),
            [of.at_spot(Spot::Across), of.at_spot(Spot::Inside)],
        ),
        sentence(
            "Starting elsewhere than where the request before ended",
            "starting there",
            of.elsewhere(),
            [elsewhere(of), of.at_jump(Jump::Next)],
        ),
    ]
}

/// Only the number is used.
fn elsewhere(of: &PlacedLatencies) -> Option<LatencyFigures> {
    let figures = Jump::ALL[1..].iter().filter_map(|jump| of.at_jump(*jump));
    figures.reduce(|a, b| LatencyFigures { requests: a.requests + b.requests, ..a })
}

fn sentence(these: &str, those: &str, slower: Option<Slower>, groups: [Option<LatencyFigures>; 2]) -> String {
    let Some(slower) = slower else {
        let [a, b] = groups.map(|group| group.map_or(0, |figures| figures.requests));
        let a = counted(a, "request");
        return format!("{these}: {a}, {those}: {}; too few to compare.", grouped(b));
    };
    let [low, high] = slower.interval_percent.map(|percent| format!("{percent:.0}"));
    let medians = format!(
        "median {} against {}",
        units::duration(slower.first.p50_ns, Charset::Unicode),
        units::duration(slower.second.p50_ns, Charset::Unicode),
    );
    let pairs = format!("in {:.0} % of pairs (95 %: {low} to {high} %)", slower.percent);
    match (slower.is_shown, slower.percent > 50.0) {
        (false, _) => format!("{these}: no difference shown from {those}: slower {pairs}, {medians}."),
        (true, true) => format!("{these}: slower than {those} {pairs}, {medians}."),
        (true, false) => format!("{these}: faster than {those}: slower only {pairs}, {medians}."),
    }
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
    slowest(out, file, of);
}

/// `start directly after the one before`.
pub(crate) fn start(jump: Jump) -> String {
    match jump {
        Jump::Next => "start where the one before ended".into(),
        other => format!("start {}", other.words()),
    }
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

fn slowest(out: &mut String, file: &FileLatencies, of: &PlacedLatencies) {
    let fragments = file.placed.fragments();
    if fragments.len() < 2 {
        return;
    }
    let head = ["in the file", "on the disk", "size", "requests", "mean", "max"];
    let _ = writeln!(out, "  slowest fragments{}", head.map(|word| format!("{word:>15}")).concat());
    for (number, sums) in of.slowest(SLOWEST) {
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

/// The name of a file as a picture has it.
pub(crate) fn name(file: &FileLatencies) -> String {
    shown_name(&file.map.path.display().to_string())
}
