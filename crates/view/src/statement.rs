//! The first lines of an answer as markup: headline, reasons, worth and remedy.

use crate::escape;
use iosonar_analyze::{Reason, Statement};
use std::fmt::Write as _;

/// A sentence as markup. Groups of digits stay on one line.
pub(crate) fn prose(text: &str) -> String {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let is_between = c == ' ' && digit(out.chars().next_back()) && digit(rest.clone().next());
        out.push(if is_between { '\u{a0}' } else { c });
    }
    escape(&out)
}

/// Writes a reason, with the paths of its evidence in a JSON on demand.
pub(crate) fn reason(out: &mut String, reason: &Reason, json: &str) {
    let (text, evidence) = (prose(&reason.text), escape(&reason.evidence.join(", ")));
    let title = if evidence.is_empty() { String::new() } else { format!(" title=\"{json}: {evidence}\"") };
    _ = writeln!(out, "<dt>because</dt><dd{title}>{text}</dd>");
}

/// Writes a remedy. A command is set as such: one click selects it.
pub(crate) fn remedy(out: &mut String, remedy: &str) {
    _ = writeln!(out, "<dt>try</dt><dd class=\"try\">{}</dd>", remedy_text(remedy));
}

fn remedy_text(remedy: &str) -> String {
    let text = escape(remedy);
    if remedy.starts_with("iosonar ") { format!("<code>{text}</code>") } else { text }
}

/// Writes what stands below a headline. `json` is where the evidence is.
pub(crate) fn below(out: &mut String, statement: &Statement, json: &str) {
    out.push_str("<dl class=\"facts\">\n");
    statement.because.iter().for_each(|because| reason(out, because, json));
    if let Some(worth) = &statement.worth {
        _ = writeln!(out, "<dt>worth</dt><dd>{}</dd>", prose(worth));
    }
    statement.remedy.iter().for_each(|text| remedy(out, text));
    out.push_str("</dl>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_digits_stay_on_one_line() {
        assert_eq!(prose("1 024 of 2 048 000 & 3"), "1\u{a0}024 of 2\u{a0}048\u{a0}000 &amp; 3");
    }

    #[test]
    fn commands_are_set_as_code() {
        assert_eq!(remedy_text("iosonar knee <x>"), "<code>iosonar knee &lt;x&gt;</code>");
        assert_eq!(remedy_text("repeat on an idle machine"), "repeat on an idle machine");
    }

    #[test]
    fn evidence_is_named_with_its_file() {
        let mut out = String::new();
        let statement = Statement {
            headline: "h".into(),
            because: vec![Reason::new("a < b", &["results.0", "machine"])],
            worth: Some("one pass".into()),
            remedy: None,
        };
        below(&mut out, &statement, "cells.json");
        assert_eq!(
            out,
            "<dl class=\"facts\">\n<dt>because</dt><dd title=\"cells.json: results.0, machine\">a &lt; b</dd>\n\
             <dt>worth</dt><dd>one pass</dd>\n</dl>\n"
        );
    }
}
