//! Faults found by verification, in the page: as a picture, by class, and the first of them in words.

use super::figures;
use super::markup::{details, picture, plain_table, suffix};
use super::run::ReportRun;
use crate::units::{Charset, grouped, moment};
use crate::{Picture, escape};
use iosonar_analyze::Summary;
use iosonar_archive::{Fault, FaultClass, FaultCount, Verified};
use iosonar_plaintext::{data_errors, fault_sentence as sentence};
use std::fmt::Write as _;

/// Maximum faults in the list.
const MOST: usize = 200;

/// Writes nothing if every sector held valid data.
pub(super) fn write(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let Some(material) = run.material.run else { return };
    let Some(verified) = &material.summary.verified else { return };
    let Some(title) = data_errors(verified) else { return };
    let summary = format!("{name}{title}: where and when they were found");
    details(out, &format!("faults{}", suffix(name)), true, &summary, |out| {
        let words = "Each target from its first byte to its last with the places of faults in the colour of their class, and how \
                     many faults were found over time; the table below has the classes.";
        _ = picture(out, Picture::FAULT_STRIP, run, words);
        classes(out, name, verified);
        list(out, name, material.summary, material.faults);
    });
}

/// Each class with its counts and its first fault.
fn classes(out: &mut String, name: &str, verified: &Verified) {
    let row = |(class, count): (&FaultClass, &FaultCount)| {
        let figure =
            |of: &str, n: u64| figures::hook(name, &format!("verified.faults.{class}.{of}"), n, &grouped(n));
        let first = verified.first.iter().find(|fault| fault.class == *class);
        vec![
            class.name().to_string(),
            figure("faults", count.faults),
            figure("sectors", count.sectors),
            first.map_or("–".to_string(), found_at),
            first.map_or("–".to_string(), |fault| escape(&sentence(fault))),
        ]
    };
    let rows: Vec<_> = verified.faults.iter().map(row).collect();
    out.push_str("<div class=\"sentences\">\n");
    plain_table(out, &["class", "faults", "sectors", "first found at", "the first"], &rows);
    out.push_str("</div>\n");
    if verified.not_listed > 0 {
        let more =
            figures::hook(name, "verified.not_listed", verified.not_listed, &grouped(verified.not_listed));
        _ = writeln!(
            out,
            "<p class=\"faint\">{more} more faults are not in the list, and in no class here.</p>"
        );
    }
}

fn found_at(fault: &Fault) -> String {
    moment(fault.completed.0, Charset::Unicode)
}

/// The first faults in order of discovery.
fn list(out: &mut String, name: &str, summary: &Summary, faults: &[Fault]) {
    if faults.is_empty() {
        return;
    }
    let mut faults: Vec<&Fault> = faults.iter().collect();
    faults.sort_by_key(|fault| fault.completed);
    let caption = match faults.len() {
        n if n > MOST => format!("{name}The first {MOST} of {} faults", grouped(n as u64)),
        _ => format!("{name}All faults, in the order in which they were found"),
    };
    details(out, &format!("fault-list{}", suffix(name)), false, &caption, |out| {
        out.push_str("<ol>\n");
        for fault in faults.into_iter().take(MOST) {
            let target = match summary.targets.get(usize::from(fault.target)) {
                Some(target) if summary.targets.len() > 1 => format!(" of {}", escape(&target.path)),
                _ => String::new(),
            };
            let (class, at, told) = (fault.class, found_at(fault), escape(&sentence(fault)));
            _ = writeln!(out, "<li>{at}{target}: <b>{class}</b>: {told}</li>");
        }
        out.push_str("</ol>\n");
    });
}
