//! Differences of plan and environment, which are listed before any figure.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its place, for example `targets.0.source.depth`.
    pub field: String,
    /// Its value in A; absent if it has none.
    pub a: Option<String>,
    /// Its value in B.
    pub b: Option<String>,
}

impl Difference {
    /// Its place in words: `targets.0.kind.block-device.queue.scheduler` is `target 0`, `queue`, `scheduler`. Words of the archive's own
    /// form mean nothing to people.
    pub fn words(&self) -> Vec<String> {
        const OF_THE_FORM: [&str; 5] = ["kind", "block-device", "regular-file", "file-system", "known"];
        let mut words: Vec<String> = Vec::new();
        for part in self.field.split('.').filter(|part| !OF_THE_FORM.contains(part)) {
            match words.last_mut() {
                Some(list) if part.bytes().all(|b| b.is_ascii_digit()) => {
                    let one = list.strip_suffix('s').unwrap_or(list);
                    *list = format!("{one} {part}");
                }
                _ => words.push(part.replace(['_', '-'], " ")),
            }
        }
        words
    }
}

/// Fields that change from run to run and say nothing about the system.
const PASSING: [&str; 9] = [
    "run_id",
    "load_average",
    "memory.available",
    "memory.dirty",
    "memory.writeback",
    "written_back",
    "cgroups.membership",
    "clock.boot_id",
    // Its times are those of a few random blocks.
    "reread",
];

/// Fields that differ between two documents, in alphabetical order.
pub(super) fn differences(a: &Value, b: &Value) -> Vec<Difference> {
    let (mut fields_a, mut fields_b) = (BTreeMap::new(), BTreeMap::new());
    flatten(String::new(), a, &mut fields_a);
    flatten(String::new(), b, &mut fields_b);
    let mut names: Vec<String> = fields_a.keys().chain(fields_b.keys()).cloned().collect();
    names.sort();
    names.dedup();
    let difference = |field: String| {
        let (a, b) = (fields_a.get(&field).cloned(), fields_b.get(&field).cloned());
        (a != b).then_some(Difference { field, a, b })
    };
    names.into_iter().filter(|field| !is_passing(field)).filter_map(difference).collect()
}

fn is_passing(field: &str) -> bool {
    PASSING.iter().any(|p| field.strip_prefix(p).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

fn flatten(place: String, value: &Value, out: &mut BTreeMap<String, String>) {
    let below = |key: &str| if place.is_empty() { key.to_string() } else { format!("{place}.{key}") };
    match value {
        Value::Object(fields) => match fields.get("absent") {
            // The reason for a missing value may be worded in many ways.
            Some(_) if fields.len() == 1 => {}
            _ => fields.iter().for_each(|(key, value)| flatten(below(key), value, out)),
        },
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, value)| flatten(below(&i.to_string()), value, out));
        }
        Value::Null => {}
        Value::String(text) => _ = out.insert(place, text.clone()),
        other => _ = out.insert(place, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_only_meaningful_differences() {
        let a = json!({
            "run_id": 1, "depth": 8, "load_average": [1.0, 2.0], "memory": {"available": 1, "total": 8},
            "cpu": {"governors": {"absent": "no file"}}, "targets": [{"model": "X"}],
            "reread": [{"seen": {"blocks": 300}}],
        });
        let b = json!({
            "run_id": 2, "depth": 8, "load_average": [3.0, 2.0], "memory": {"available": 2, "total": 9},
            "cpu": {"governors": ["powersave"]}, "targets": [{"model": "X"}, {"model": "Y"}],
        });
        let text = |d: &Difference| format!("{} {:?} {:?}", d.field, d.a.as_deref(), d.b.as_deref());
        let found: Vec<String> = differences(&a, &b).iter().map(text).collect();
        assert_eq!(
            found,
            [
                r#"cpu.governors.0 None Some("powersave")"#,
                r#"memory.total Some("8") Some("9")"#,
                r#"targets.1.model None Some("Y")"#,
            ]
        );
        assert_eq!(differences(&a, &a), []);
        assert_eq!(differences(&Value::Null, &Value::Null), []);
    }
}
