//! A verdict in sentences, whose figures are marked: a picture keeps them as numbers.

use super::{Knee, KneeVerdict};
use iosonar_text::units;
use serde_json::Value;
use std::fmt;

/// A sentence about a verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence(pub Vec<Piece>);

/// Words of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// As people read them.
    pub text: String,
    /// The name of the verdict's field that they show, and its value.
    pub figure: Option<(&'static str, Value)>,
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| f.write_str(&piece.text))
    }
}

impl<T: Into<String>> From<T> for Piece {
    fn from(text: T) -> Piece {
        Piece { text: text.into(), figure: None }
    }
}

fn rate(name: &'static str, per_second: f64) -> Piece {
    Piece { text: units::request_rate(per_second), figure: Some((name, per_second.into())) }
}

fn seconds(name: &'static str, ns: u64) -> Piece {
    Piece { text: units::number(ns as f64 / 1e9), figure: Some((name, ns.into())) }
}

impl KneeVerdict {
    /// The verdict in plain sentences.
    pub fn sentences(&self) -> Vec<Sentence> {
        match self {
            KneeVerdict::Found(knee) => of_knee(knee),
            KneeVerdict::NotReached { at_least_per_second } => vec![Sentence(vec![
                "no knee reached: sustains at least ".into(),
                rate("at_least_per_second", *at_least_per_second),
                " requests/s, which is all that was requested".into(),
            ])],
            KneeVerdict::Unclear { why, at_least_per_second } => {
                let mut pieces = vec![format!("not clear: {}", why.text()).into()];
                if let Some(least) = at_least_per_second {
                    pieces.extend([
                        "; up to ".into(),
                        rate("at_least_per_second", *least),
                        " requests/s it could follow".into(),
                    ]);
                }
                vec![Sentence(pieces)]
            }
        }
    }
}

fn of_knee(knee: &Knee) -> Vec<Sentence> {
    let measured = units::number((knee.measured_to_ns - knee.measured_from_ns) as f64 / 1e9);
    let mut sentences = vec![Sentence(vec![
        "sustains ".into(),
        rate("sustained_per_second", knee.sustained_per_second),
        " requests/s (95 % interval ".into(),
        rate("low_per_second", knee.low_per_second),
        " to ".into(),
        rate("high_per_second", knee.high_per_second),
        format!("), from {measured} s of overload").into(),
    ])];
    sentences.push(Sentence(if knee.from_the_start {
        vec!["even the first demand was too much: how late requests are below the knee was not seen".into()]
    } else {
        let backlog = units::grouped(knee.backlog_requests);
        vec![
            "more was requested from ".into(),
            seconds("at_ns", knee.at_ns),
            " s of the ramp on; the backlog never drained from ".into(),
            seconds("behind_from_ns", knee.behind_from_ns),
            " s on, and was ".into(),
            Piece { text: backlog, figure: Some(("backlog_requests", knee.backlog_requests.into())) },
            " requests at its end".into(),
        ]
    }));
    if knee.collapses() {
        sentences.push(Sentence(vec![
            "under lasting overload it collapses: in the end it delivers only ".into(),
            rate("last_per_second", knee.last_per_second),
            " requests/s".into(),
        ]));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knee::Doubt;

    #[test]
    fn formats_each_verdict() {
        let knee = Knee {
            sustained_per_second: 1000.0,
            low_per_second: 990.0,
            high_per_second: 1010.0,
            at_ns: 2_000_000_000,
            behind_from_ns: 3_000_000_000,
            measured_from_ns: 3_000_000_000,
            measured_to_ns: 9_000_000_000,
            from_the_start: false,
            last_per_second: 1000.0,
            backlog_requests: 12_345,
        };
        let said = |verdict: KneeVerdict| -> Vec<String> {
            verdict.sentences().iter().map(Sentence::to_string).collect()
        };
        let found = said(KneeVerdict::Found(knee.clone()));
        assert_eq!(
            found[0],
            "sustains 1 000 requests/s (95 % interval 990 to 1 010), from 6.00 s of overload"
        );
        assert!(found.len() == 2 && found[1].ends_with(" and was 12 345 requests at its end"), "{found:?}");
        let collapsed = said(KneeVerdict::Found(Knee { last_per_second: 10.0, ..knee }));
        assert!(collapsed[2].contains("it collapses"), "{collapsed:?}");
        let not_reached = said(KneeVerdict::NotReached { at_least_per_second: 650.0 });
        assert!(not_reached[0].starts_with("no knee reached: sustains at least 650 "), "{not_reached:?}");
        let unclear = said(KneeVerdict::Unclear { why: Doubt::Stopped, at_least_per_second: None });
        assert!(unclear[0].starts_with("not clear: "), "{unclear:?}");
    }
}
