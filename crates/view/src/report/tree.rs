//! JSON as a tree of collapsed parts.

use super::markup::folded;
use crate::escape;
use serde_json::Value;
use std::fmt::Write as _;

/// Writes a JSON text as a tree, and as it is if it is no JSON.
pub(super) fn write(out: &mut String, id: &str, caption: &str, json: &str) {
    let Ok(value) = serde_json::from_str::<Value>(json) else { return folded(out, id, caption, json) };
    _ = writeln!(out, "<details id=\"{id}\" class=\"tree\">\n<summary>{caption}</summary>");
    node(out, &value);
    out.push_str("</details>\n");
}

/// Leaves first, as a list of names and values; then the branches.
fn node(out: &mut String, value: &Value) {
    let children = children(value);
    let (branches, leaves): (Vec<_>, Vec<_>) = children.into_iter().partition(|(_, value)| is_branch(value));
    if !leaves.is_empty() {
        out.push_str("<dl class=\"facts\">\n");
        for (name, value) in leaves {
            _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(&name), escape(&leaf(value)));
        }
        out.push_str("</dl>\n");
    }
    for (name, value) in branches {
        _ = writeln!(out, "<details>\n<summary>{}</summary>", escape(&name));
        node(out, value);
        out.push_str("</details>\n");
    }
}

fn children(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(i, item)| (name_of(i, item), item)).collect(),
        leaf => vec![(String::new(), leaf)],
    }
}

/// An item of a list is known by its name, if it has one.
fn name_of(index: usize, item: &Value) -> String {
    item.get("name").and_then(Value::as_str).map_or_else(|| index.to_string(), str::to_string)
}

fn is_branch(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        _ => false,
    }
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(leaf).collect::<Vec<_>>().join(", "),
        Value::Null => "–".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: &str) -> String {
        let mut out = String::new();
        write(&mut out, "environment", "Environment", json);
        out
    }

    #[test]
    fn objects_are_collapsed_parts_and_names_are_no_markup() {
        let out = written(
            r#"{"kernel": "6.1 <b>", "devices": [{"name": "vda", "size": 5}], "cpus": [0, 1], "none": null}"#,
        );
        assert!(out.contains("<dt>kernel</dt><dd>6.1 &lt;b&gt;</dd>"), "{out}");
        assert!(
            out.contains("<dt>cpus</dt><dd>0, 1</dd>") && out.contains("<dt>none</dt><dd>–</dd>"),
            "{out}"
        );
        let device = out.split("<summary>devices</summary>").nth(1).unwrap();
        assert!(
            device.contains("<summary>vda</summary>") && device.contains("<dt>size</dt><dd>5</dd>"),
            "{out}"
        );
        assert_eq!(out.matches("<details").count(), out.matches("</details>").count());
        assert!(!out.contains(" open"));
    }

    #[test]
    fn other_text_stays_as_it_is() {
        assert!(written("{no json").contains("<pre>{no json</pre>"));
    }
}
