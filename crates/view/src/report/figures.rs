//! Figures of the summary under their names in `iosonar show --json`: the only source of a number that describes the whole
//! run. In the page's text each has a hook, so that a test can compare it with the JSON.

use crate::escape;
use iosonar_analyze::Summary;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;

/// Parts of the summary whose figures the viewer shows.
const PARTS: [&str; 8] =
    ["counts", "latency", "delay", "response", "throughput", "in_flight", "waiting", "health"];

/// All numbers of these parts, by their path in the JSON: `latency.read.p99_ns`.
pub(super) fn of(summary: &Summary) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    let json = serde_json::to_value(summary).expect("a summary holds only what JSON can hold");
    PARTS.iter().for_each(|part| collect(part, &json[part], &mut found));
    found
}

fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, f64>) {
    match value {
        Value::Number(n) => found.extend(n.as_f64().map(|n| (path.to_string(), n))),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| collect(&format!("{path}.{name}"), value, found));
        }
        _ => {}
    }
}

/// A figure as HTML. `run` is the prefix of sentences about the run: of two, the second is B.
pub(super) fn hook(run: &str, key: &str, value: impl Display, text: &str) -> String {
    let index = u8::from(run.starts_with('B'));
    let text = escape(text);
    format!("<span data-figure=\"{key}\" data-run=\"{index}\" data-value=\"{value}\">{text}</span>")
}
