//! The answer of an experiment as comma-separated values: what its picture shows.

use super::{CreationAnswer, MethodAnswer};
use crate::compare_text::quoted;
use std::fmt::Write;

/// A line for each method, in the order in which they were named. Rates are in bytes per second; what is not known is empty.
pub fn creation_csv(answer: &CreationAnswer) -> String {
    let rounds = answer.scan_orders.len();
    let mut text = String::from(
        "method,files,fragments_min,fragments_max,median_record_bytes,groups_used_max,create_bytes_per_second,\
         create_and_sync_bytes_per_second,later_scans_median,later_scans_mean,later_scans_low,later_scans_high,\
         device_read_bytes_mean,change_percent,low_percent,high_percent,verdict",
    );
    (1..=rounds).for_each(|round| _ = write!(text, ",scan_{round}"));
    text += "\n";
    answer.methods.iter().for_each(|method| _ = writeln!(text, "{}", line(answer, method, rounds)));
    text
}

fn line(answer: &CreationAnswer, method: &MethodAnswer, rounds: usize) -> String {
    let rate = |value: Option<f64>| value.map(|value| format!("{value:.3}")).unwrap_or_default();
    let percent = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
    let count = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let fragments = || method.files.iter().map(|file| file.fragments);
    let (later, change) = (method.later_scans, method.change);
    let interval = later.and_then(|later| later.interval);
    let verdict = match change {
        Some(change) => change.verdict.text().replace(' ', "-"),
        None if method.method == answer.reference => "reference".into(),
        None => String::new(),
    };
    let mut fields = vec![
        quoted(&method.method),
        method.files.len().to_string(),
        count(fragments().min()),
        count(fragments().max()),
        count(method.files.first().and_then(|file| file.median_record_bytes)),
        count(method.files.iter().filter_map(|file| file.groups_used).max()),
        rate(method.create_bytes_per_second),
        rate(method.create_and_sync_bytes_per_second),
        rate(later.map(|later| later.median)),
        rate(later.map(|later| later.mean)),
        rate(interval.map(|(low, _)| low)),
        rate(interval.map(|(_, high)| high)),
        rate(method.device_read_bytes_mean),
        percent(change.map(|change| change.change_percent)),
        percent(change.and_then(|change| change.low_percent)),
        percent(change.and_then(|change| change.high_percent)),
        verdict,
    ];
    // Scans are told by their round: one that failed leaves its field empty.
    let of_round = |round: usize| method.scan.iter().find(|scan| scan.round as usize == round);
    fields.extend((1..=rounds).map(|round| rate(of_round(round).map(|scan| scan.bytes_per_second))));
    fields.join(",")
}
