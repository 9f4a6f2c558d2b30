//! Conditions like `p99 > +10%` and `p99 > 5ms`: changes of a figure, and values, that count as failure.

use super::Comparison;
use super::figures::{Figure, canonical};
use iosonar_plan::{ByteSize, Nanos};
use serde::Serialize;
use std::fmt;

/// A parsed condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// As typed.
    pub text: String,
    /// Name of the figure, for example `latency.p99`.
    pub figure: String,
    /// Whether it is about what lies above the limit (`>`) or below it (`<`).
    pub above: bool,
    /// The limit.
    #[serde(flatten)]
    pub bound: Bound,
}

/// The limit of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Bound {
    /// Of the change from A to B.
    Change {
        /// In percent.
        percent: f64,
    },
    /// Of the figure in B.
    Value {
        /// In the unit of the figure: nanoseconds, requests or bytes per second.
        value: f64,
    },
}

/// The judgement of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The change, or the value, is not shown to lie beyond the limit.
    Holds,
    /// It is shown to lie beyond the limit: the whole interval does.
    Failed,
    /// The figure is not there, or has no interval.
    Unknown,
}

/// Why an expression is no condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    text: String,
    /// Characters before the error.
    at: usize,
    why: String,
    example: &'static str,
}

/// A limit of a change, as `p99 > +10%`: the form that all conditions share.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeLimit {
    /// As typed.
    pub text: String,
    /// The word before the sign.
    pub subject: String,
    /// Whether it is about a change above the limit (`>`) or below it (`<`).
    pub above: bool,
    /// The limit of the change in percent.
    pub percent: f64,
    /// Bytes before the subject.
    start: usize,
    example: &'static str,
}

impl std::error::Error for ConditionError {}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.why)?;
        writeln!(f, "  {}", self.text)?;
        writeln!(f, "  {}^", " ".repeat(self.at))?;
        write!(f, "  example: {}", self.example)
    }
}

impl ConditionError {
    fn new(text: &str, byte: usize, why: &str, example: &'static str) -> ConditionError {
        let shown: String = text.chars().map(|c| if iosonar_text::is_escaped(c) { ' ' } else { c }).collect();
        let at = text.char_indices().take_while(|(i, _)| *i < byte).count();
        ConditionError { at, text: shown, why: why.to_string(), example }
    }
}

impl ChangeLimit {
    /// Reads `SUBJECT > +N%` or `SUBJECT < -N%`. Errors end with the example.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str, example: &'static str) -> Result<ChangeLimit, ConditionError> {
        let error = |byte: usize, why: &str| ConditionError::new(text, byte, why, example);
        let start = text.len() - text.trim_start().len();
        let Some(sign) = text.find(['<', '>']) else {
            return Err(error(text.trim_end().len(), "there is no > or < after the figure"));
        };
        let rest = &text[sign + 1..];
        let begin = sign + 1 + (rest.len() - rest.trim_start().len());
        let number = rest.trim();
        if !number.starts_with(['+', '-']) {
            return Err(error(begin, "the change begins with + or -"));
        }
        let Some(digits) = number.strip_suffix('%') else {
            return Err(error(begin + number.len(), "the change ends with %"));
        };
        let plain = digits[1..].trim_end().bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let percent = digits.trim_end().parse::<f64>().ok().filter(|p| plain && p.is_finite());
        let percent = percent.ok_or_else(|| error(begin, "the change is no number"))?;
        if percent <= -100.0 {
            return Err(error(begin, "nothing can shrink by 100 % or more"));
        }
        let (subject, above) = (text[..sign].trim().to_string(), text.as_bytes()[sign] == b'>');
        Ok(ChangeLimit { text: text.to_string(), subject, above, percent, start, example })
    }

    /// An error that points to the subject.
    pub fn subject_error(&self, why: &str) -> ConditionError {
        ConditionError::new(&self.text, self.start, why, self.example)
    }
}

impl Judgement {
    /// Judges the interval of a change by a limit.
    pub fn of(interval: (Option<f64>, Option<f64>), above: bool, percent: f64) -> Judgement {
        let (Some(low), Some(high)) = interval else { return Judgement::Unknown };
        let is_shown = if above { low > percent } else { high < percent };
        // An interval over more than a factor of a hundred shows nothing: a run that broke down has no meaningful noise.
        let is_wild = high + 100.0 > 100.0 * (low + 100.0);
        match (is_shown, is_wild) {
            (true, _) => Judgement::Failed,
            (false, true) => Judgement::Unknown,
            (false, false) => Judgement::Holds,
        }
    }
}

impl Condition {
    /// Reads `FIGURE > +N%`, `FIGURE < -N%`, or a value with its unit: `FIGURE > 5ms`.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        if let Some(condition) = Condition::of_value(text)? {
            return Ok(condition);
        }
        let limit = ChangeLimit::parse(text, EXAMPLE)?;
        let figure = canonical(&limit.subject).map_err(|why| limit.subject_error(&why))?;
        let bound = Bound::Change { percent: limit.percent };
        Ok(Condition { text: text.trim().to_string(), figure, above: limit.above, bound })
    }

    /// A condition on a value; `None` if the text is about a change.
    fn of_value(text: &str) -> Result<Option<Condition>, ConditionError> {
        let Some(sign) = text.find(['<', '>']) else { return Ok(None) };
        let (rest, subject) = (&text[sign + 1..], text[..sign].trim());
        let begin = sign + 1 + (rest.len() - rest.trim_start().len());
        let typed = rest.trim();
        if !typed.starts_with(|c: char| c.is_ascii_digit()) || typed.ends_with('%') {
            return Ok(None);
        }
        let error = |byte: usize, why: &str| ConditionError::new(text, byte, why, EXAMPLE);
        let start = text.len() - text.trim_start().len();
        let figure = canonical(subject).map_err(|why| error(start, &why))?;
        let value = value_of(&figure, typed).map_err(|why| error(begin, why))?;
        let (above, bound) = (text.as_bytes()[sign] == b'>', Bound::Value { value });
        Ok(Some(Condition { text: text.trim().to_string(), figure, above, bound }))
    }

    /// The figure that it is about, if both runs have it. Where there are only reads, theirs are those of all requests.
    pub fn figure<'c>(&self, comparison: &'c Comparison) -> Option<&'c Figure> {
        let name = match comparison.only {
            Some(who) => self.figure.replacen(who.prefix(), "", 1),
            None => self.figure.clone(),
        };
        comparison.figures.iter().find(|figure| figure.name == name)
    }

    /// Judges a figure. One that never has an interval (`max`) is judged by its values.
    pub fn judge(&self, figure: Option<&Figure>) -> Judgement {
        let Some(figure) = figure else { return Judgement::Unknown };
        let bare = |value: Option<f64>, interval| if figure.is_bare() { (value, value) } else { interval };
        match self.bound {
            Bound::Change { percent } => {
                let interval = bare(figure.change_percent, (figure.low_percent, figure.high_percent));
                Judgement::of(interval, self.above, percent)
            }
            Bound::Value { value } => match bare(Some(figure.b), (figure.b_low, figure.b_high)) {
                (Some(low), _) if self.above && low > value => Judgement::Failed,
                (_, Some(high)) if !self.above && high < value => Judgement::Failed,
                // As for changes.
                (Some(low), Some(high)) if high <= 100.0 * low => Judgement::Holds,
                _ => Judgement::Unknown,
            },
        }
    }

    /// Whether a value lies beyond the limit, whatever its interval.
    pub(super) fn is_beyond(&self, b: f64) -> bool {
        match self.bound {
            Bound::Change { .. } => false,
            Bound::Value { value } => {
                if self.above {
                    b > value
                } else {
                    b < value
                }
            }
        }
    }
}

/// Conditions of runs, for errors.
const EXAMPLE: &str =
    "p99 > +10%, read.p50 > +5%, response.p99.9 > +20%, iops < -3%, p99 > 5ms, iops < 20000";

/// A value of a figure with its unit: a time, requests per second, bytes per second.
fn value_of(figure: &str, typed: &str) -> Result<f64, &'static str> {
    let measure = figure.rsplit('.').next().unwrap_or_default();
    match measure {
        "iops" => {
            let is_plain = typed.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            typed.parse::<f64>().ok().filter(|_| is_plain).ok_or("iops are a plain number: 20000")
        }
        "throughput" => {
            let bytes = typed.strip_suffix("/s").and_then(|bytes| bytes.parse::<ByteSize>().ok());
            bytes.map(|bytes| bytes.0 as f64).ok_or("throughput is a size for each second: 500MiB/s")
        }
        "pairs" => Err("pairs are a ratio: write a change, as +10%"),
        _ if !typed.ends_with(|c: char| c.is_ascii_alphabetic()) => Err("a time needs its unit: 5ms, 800us"),
        _ => typed
            .parse::<Nanos>()
            .map(|time| time.0 as f64)
            .map_err(|_| "this is no time: write 5ms or 800us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_conditions() {
        for (text, figure, above, percent) in [
            ("p99 > +10%", "latency.p99", true, 10.0),
            ("  response.read.p99.9>+2.5 % ", "response.read.p99.9", true, 2.5),
            ("iops < -3%", "iops", false, -3.0),
            ("read.throughput < +0%", "read.throughput", false, 0.0),
            ("latency.write.max > -1%", "latency.write.max", true, -1.0),
            ("pairs > +1%", "latency.pairs", true, 1.0),
        ] {
            let c = Condition::parse(text).unwrap();
            let bound = Bound::Change { percent };
            assert_eq!((c.figure.as_str(), c.above, c.bound), (figure, above, bound), "{text}");
        }
    }

    #[test]
    fn parses_conditions_on_values() {
        for (text, figure, above, value) in [
            ("p99 > 5ms", "latency.p99", true, 5e6),
            (" response.read.p99.9>1.5s ", "response.read.p99.9", true, 1.5e9),
            ("iops < 20000", "iops", false, 20_000.0),
            ("write.throughput < 500MiB/s", "write.throughput", false, 524_288_000.0),
        ] {
            let c = Condition::parse(text).unwrap();
            let bound = Bound::Value { value };
            assert_eq!((c.figure.as_str(), c.above, c.bound), (figure, above, bound), "{text}");
        }
        for (text, why) in [
            ("p99 > 5", "a time needs its unit"),
            ("p99 > 5 sheep", "no time"),
            ("iops < 20k", "plain number"),
            ("throughput < 5ms", "size for each second"),
            ("pairs > 2", "a ratio"),
            ("p99 > 5.", "a time needs its unit"),
            ("iops < 1e5", "plain number"),
            ("throughput < 500", "size for each second"),
            ("p98 > 5ms", "'p98' is no figure"),
        ] {
            let e = Condition::parse(text).unwrap_err();
            assert!(e.why.contains(why), "{text}: {e}");
        }
    }

    #[test]
    fn values_are_judged_by_the_interval_of_b() {
        let of = |low: f64, high: f64| Figure {
            b_low: Some(low),
            b_high: Some(high),
            ..Figure::bare("latency.p99".into(), super::super::Unit::Time, 1e6, 5e6)
        };
        let judge = |text: &str, figure: &Figure| Condition::parse(text).unwrap().judge(Some(figure));
        assert_eq!(judge("p99 > 4ms", &of(4.5e6, 5.5e6)), Judgement::Failed);
        assert_eq!(judge("p99 > 4ms", &of(3.5e6, 5.5e6)), Judgement::Holds);
        assert_eq!(judge("p99 < 6ms", &of(4.5e6, 5.5e6)), Judgement::Failed);
        let bare = Figure::bare("latency.p99".into(), super::super::Unit::Time, 1e6, 5e6);
        assert_eq!(judge("p99 > 4ms", &bare), Judgement::Unknown);
        assert_eq!(judge("p99 > 40ms", &of(1e5, 5e7)), Judgement::Unknown);
        let max = Figure { name: "latency.max".into(), ..bare };
        assert_eq!(judge("max > 4ms", &max), Judgement::Failed);
    }

    #[test]
    fn errors_show_position_and_example() {
        for (text, at, why) in [
            ("p98 > +10%", 0, "p98"),
            ("p99 +10%", 8, "no > or <"),
            ("p99 > 10%", 6, "+ or -"),
            ("p99 > +10", 9, "%"),
            ("p99 > +ten%", 6, "number"),
            ("p99 > +1e3%", 6, "number"),
            ("p99 < -100%", 6, "shrink"),
            ("", 0, "no > or <"),
            ("> +1%", 0, "figure"),
            ("delay.iops > +1%", 0, "delay.iops"),
        ] {
            let e = Condition::parse(text).unwrap_err();
            assert_eq!(e.at, at, "{text}: {e}");
            assert!(e.why.contains(why), "{text}: {e}");
            assert!(e.to_string().contains("example: p99 > +10%"));
        }
    }

    proptest! {
        #[test]
        fn any_condition_text_is_parsed_without_panic(text in "\\PC*|[a-z0-9.<>+%\u{e4} -]*") {
            if let Ok(condition) = Condition::parse(&text) {
                let (Bound::Change { percent: limit } | Bound::Value { value: limit }) = condition.bound;
                prop_assert!(limit > -100.0 && limit.is_finite());
            }
        }
    }
}
