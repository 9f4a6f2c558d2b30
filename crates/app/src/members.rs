//! Members of merged inputs: their names, and their start times.

use iosonar_inputs::Input;
use iosonar_text::shown;
use iosonar_text::units::date;
use serde::Serialize;

/// One of several merged inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// As typed.
    pub name: String,
    /// Wall clock at its time zero; absent if unknown, as for a load.
    pub started_unix_ns: Option<u64>,
}

/// The merged inputs; empty for a single one. Complete once they have been read.
pub fn of(inputs: &[Input]) -> Vec<Member> {
    let member = |input: &Input| Member {
        name: input.name.clone(),
        started_unix_ns: input.is_run().then(|| input.run().1.started_unix_ns).filter(|ns| *ns > 0),
    };
    if inputs.len() > 1 { inputs.iter().map(member).collect() } else { Vec::new() }
}

/// Explains that the inputs are merged, and when each of them started; empty for a single one.
pub fn text(members: &[Member]) -> String {
    if members.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "Merged: {} inputs on one time axis, as if all had started at the same time.\n\
         All figures are those of all inputs together; --each shows each input.\n",
        members.len()
    );
    let first = members.iter().filter_map(|member| member.started_unix_ns).min();
    for member in members {
        let started = member.started_unix_ns.map_or("start unknown".to_string(), |started| {
            let later = started - first.unwrap_or(started);
            let later = if later > 0 {
                format!(", {:.3} s after the first", later as f64 / 1e9)
            } else {
                String::new()
            };
            format!("started {}{later}", date(started))
        });
        text += &format!("  {}\n    {started}\n", shown(&member.name));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_input_has_its_start() {
        let member = |name: &str, started_unix_ns| Member { name: name.into(), started_unix_ns };
        assert_eq!(text(&[]), "");
        let text = text(&[
            member("late", Some(1_000_000_090_500_000_000)),
            member("early", Some(1_000_000_000_000_000_000)),
            member("load", None),
        ]);
        assert!(
            text.contains("  late\n    started 2001-09-09 01:48:10 UTC, 90.500 s after the first\n"),
            "{text}"
        );
        assert!(text.contains("  early\n    started 2001-09-09 01:46:40 UTC\n"), "{text}");
        assert!(text.contains("  load\n    start unknown\n"), "{text}");
    }
}
