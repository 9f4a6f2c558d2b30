//! Formats the answer of an experiment as comma-separated values: the data of its picture.

use super::{CreationAnswer, MethodAnswer};
use iosonar_text::csv::{Cell, Form, table};

/// One line per method, in the order in which they were named. Rates are in bytes per second; unknown values are empty.
pub fn creation_csv(answer: &CreationAnswer, form: Form) -> String {
    const NAMES: [&str; 17] = [
        "method",
        "files",
        "fragments_min",
        "fragments_max",
        "median_record_bytes",
        "groups_used_max",
        "create_bytes_per_second",
        "create_and_sync_bytes_per_second",
        "later_scans_median",
        "later_scans_mean",
        "later_scans_low",
        "later_scans_high",
        "device_read_bytes_mean",
        "change_percent",
        "low_percent",
        "high_percent",
        "verdict",
    ];
    let rounds = answer.scan_orders.len();
    let scans = (1..=rounds).map(|round| format!("scan_{round}"));
    let names = NAMES.into_iter().map(String::from).chain(scans);
    table(form, names, answer.methods.iter().map(|method| line(answer, method, rounds)))
}

fn line<'a>(answer: &CreationAnswer, method: &'a MethodAnswer, rounds: usize) -> Vec<Cell<'a>> {
    let rate = |value: Option<f64>| value.map_or(Cell::Absent, |value| Cell::Digits(format!("{value:.3}")));
    let percent =
        |value: Option<f64>| value.map_or(Cell::Absent, |value| Cell::Digits(format!("{value:.4}")));
    let fragments = || method.files.iter().map(|file| file.fragments);
    let (later, change) = (method.later_scans, method.change);
    let interval = later.and_then(|later| later.interval);
    let verdict = match change {
        Some(change) => Cell::Word(change.verdict.text().replace(' ', "-").into()),
        None if method.method == answer.reference => "reference".into(),
        None => Cell::Absent,
    };
    let mut cells = vec![
        method.method.as_str().into(),
        method.files.len().into(),
        fragments().min().into(),
        fragments().max().into(),
        method.files.first().and_then(|file| file.median_record_bytes).into(),
        method.files.iter().filter_map(|file| file.groups_used).max().into(),
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
    // Scans are placed by round: a failed one leaves its cell empty.
    let of_round = |round: usize| method.scan.iter().find(|scan| scan.round as usize == round);
    cells.extend((1..=rounds).map(|round| rate(of_round(round).map(|scan| scan.bytes_per_second))));
    cells
}
