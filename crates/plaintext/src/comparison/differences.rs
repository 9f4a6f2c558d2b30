//! Differences of plans and environments by section.

use crate::lines::Lines;
use iosonar_analyze::compare::Difference;

/// Differences of one document that are shown; JSON has them all.
const SHOWN: usize = 30;
/// Most characters of a name.
const NAME: usize = 50;

/// The differences of a document: those without a section first, then each section with its fields.
pub(super) fn differences(out: &mut Lines, of: &str, differences: &[Difference]) {
    if differences.is_empty() {
        out.heading(&format!("Differences of the {of}: none"));
        return;
    }
    out.heading(&format!("Differences of the {of}"));
    let mut named: Vec<(String, String, &Difference)> = differences.iter().map(in_section).collect();
    // Fields of a section stay in their order.
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let mut current = String::new();
    for (section, name, one) in named.iter().take(SHOWN) {
        if *section != current {
            out.line(&format!("  {}", ascii_end(section)));
            current.clone_from(section);
        }
        let indent = if section.is_empty() { "  " } else { "    " };
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_string());
        out.paragraph(
            &format!("{indent}{}: ", ascii_end(name)),
            &format!("{}  ->  {}", side(&one.a), side(&one.b)),
        );
    }
    if differences.len() > SHOWN {
        out.line(&format!("  ... and {} more; --json has them all", differences.len() - SHOWN));
    }
}

/// Section and name of a field: `target 0, queue` and `scheduler`.
fn in_section(one: &Difference) -> (String, String, &Difference) {
    let mut words = one.words();
    let name = words.pop().unwrap_or_default();
    (words.join(", "), name, one)
}

/// The last characters of a long name, so that it fits.
fn ascii_end(name: &str) -> String {
    let plain: Vec<char> = name.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect();
    match plain.len() {
        0..=NAME => plain.into_iter().collect(),
        n => format!("...{}", plain[n - (NAME - 3)..].iter().collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fields_by_section() {
        let one = |field: &str, a: &str| Difference { field: field.into(), a: Some(a.into()), b: None };
        let mut out = Lines::new(79);
        let fields = [
            one("cpu.governors.0", "performance"),
            one("depth", "1"),
            one("targets.0.kind.block-device.queue.rotational", "0"),
            one("targets.0.kind.block-device.queue.scheduler", "none"),
        ];
        differences(&mut out, "plan", &fields);
        let expected = "\nDifferences of the plan\n  depth: 1 -> -\n  cpu\n    governor 0: performance -> -\n  \
                        target 0, queue\n    rotational: 0 -> -\n    scheduler: none -> -\n";
        assert_eq!(out.finish(), expected);
    }
}
