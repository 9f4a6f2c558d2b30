//! Steps that change a load before it is used: blkreplay's pipe modules (manual, A.2.11 and A.3), and a few more.

use crate::{Decimal, Nanos, Op, Window};
use std::fmt;
use std::str::FromStr;

/// One step. Places and lengths are counted in sectors of 512 bytes, requests from 1 where they come into the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// What lies in a window of the load's time; times stay as they are.
    Select(Window),
    /// Everything so many times. A repetition begins at the last time of the one before.
    Repeat {
        /// Repetitions in all, at least 1.
        times: u64,
        /// Each repetition lies so much further on than the one before.
        offset: u64,
    },
    /// Request i is moved by `floor(i / every) * increase`.
    Slip {
        /// Requests between two steps, at least 1.
        every: u64,
        /// Sectors of a step.
        increase: u64,
    },
    /// Reads become writes, or writes reads.
    Subst {
        /// What is replaced.
        from: Op,
        /// By what.
        to: Op,
    },
    /// A sector s becomes `floor(s * factor / align) * align + s mod align + offset`.
    Spread {
        /// How much larger the region becomes.
        factor: Decimal,
        /// Sectors whose place among each other stays, at least 1.
        align: u64,
        /// Moves everything.
        offset: u64,
    },
    /// A length l becomes `floor(l * factor)`, then at least `min`, then at most `max`.
    Resize {
        /// How much longer requests become.
        factor: Decimal,
        /// Shortest length.
        min: u64,
        /// Longest length, at least 1.
        max: u64,
    },
    /// The i-th time stamp with what the i-th request from the end does.
    Reverse,
    /// Times are multiplied.
    Scale {
        /// Above 1 is slower.
        factor: Decimal,
    },
    /// All times are later.
    Shift {
        /// By so much.
        by: Nanos,
    },
    /// The first request, and each `one_of`-th behind it.
    Sample {
        /// At least 1.
        one_of: u64,
    },
}

/// Why a step is none. Holds the step as typed, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{step}': {why}")]
pub struct ParseFilterError {
    step: String,
    why: String,
}

/// Steps in their order: `select:300..600 | spread:2.0,align=8`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pipeline(pub Vec<Filter>);

impl FromStr for Pipeline {
    type Err = ParseFilterError;

    fn from_str(text: &str) -> Result<Pipeline, ParseFilterError> {
        text.split('|').map(str::parse).collect::<Result<_, _>>().map(Pipeline)
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .enumerate()
            .try_for_each(|(i, step)| write!(f, "{}{step}", if i == 0 { "" } else { " | " }))
    }
}

/// The words behind a step's name: those without a name first.
struct Words<'a> {
    plain: Vec<&'a str>,
    named: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Result<Words<'a>, String> {
        let mut words = Words { plain: Vec::new(), named: Vec::new() };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                Some((name, value)) => words.named.push((name.trim(), value.trim())),
                None if words.named.is_empty() => words.plain.push(word),
                None => return Err(format!("'{word}' stands behind words with names: give it one, too")),
            }
        }
        words.plain.reverse();
        Ok(words)
    }

    /// The word with this name, or the next one without a name.
    fn take<T: FromStr<Err: fmt::Display>>(&mut self, name: &str, without: Option<T>) -> Result<T, String> {
        let named = self.named.iter().position(|(n, _)| *n == name).map(|i| self.named.remove(i).1);
        match (named.or_else(|| self.plain.pop()), without) {
            (Some(text), _) => text.parse().map_err(|error| format!("{name}: {error}")),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(format!("it needs {name}=…")),
        }
    }

    fn end(&self) -> Result<(), String> {
        let left = self.plain.first().copied().or_else(|| self.named.first().map(|(name, _)| *name));
        left.map_or(Ok(()), |word| Err(format!("'{word}' means nothing here")))
    }
}

/// Read or write, by their letters.
struct Letter(Op);

impl FromStr for Letter {
    type Err = String;

    fn from_str(text: &str) -> Result<Letter, String> {
        match text {
            "R" | "r" => Ok(Letter(Op::Read)),
            "W" | "w" => Ok(Letter(Op::Write)),
            _ => Err(format!("'{text}' is neither R nor W")),
        }
    }
}

/// `300..600`, `300..` or `..600`, in seconds unless a unit is told.
struct Span(Window);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let (from, to) = text.split_once("..").ok_or("write it as FROM..TO, for example 300..600")?;
        let time = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|error| format!("{error}")),
        };
        let (start, end) = (time(from)?.unwrap_or_default(), time(to)?);
        match end {
            Some(end) if end <= start => Err(format!("{start}..{end} has no time in it")),
            end => Ok(Span(Window { start, end })),
        }
    }
}

fn at_least_one(name: &str, number: u64) -> Result<u64, String> {
    if number == 0 { Err(format!("{name} is at least 1")) } else { Ok(number) }
}

const NAMES: &str = "select, repeat, slip, subst, spread, resize, reverse, scale, shift, sample";

impl FromStr for Filter {
    type Err = ParseFilterError;

    fn from_str(text: &str) -> Result<Filter, ParseFilterError> {
        let step = text.trim();
        parse(step).map_err(|why| ParseFilterError { step: step.to_string(), why })
    }
}

/// The numbers that are not told are those of blkreplay's modules.
fn parse(step: &str) -> Result<Filter, String> {
    let (name, rest) = step.split_once(':').unwrap_or((step, ""));
    let mut words = Words::of(rest)?;
    let filter = match name.trim() {
        "select" => {
            let Span(window) = words.take("span", None)?;
            Filter::Select(window)
        }
        "repeat" => Filter::Repeat {
            times: at_least_one("times", words.take("times", None)?)?,
            offset: words.take("offset", Some(0))?,
        },
        "slip" => Filter::Slip {
            every: at_least_one("every", words.take("every", Some(32768))?)?,
            increase: words.take("increase", Some(256))?,
        },
        "subst" => {
            let (Letter(from), Letter(to)) = (words.take("from", None)?, words.take("to", None)?);
            Filter::Subst { from, to }
        }
        "spread" => Filter::Spread {
            factor: words.take("factor", Some(Decimal::whole(2)))?,
            align: at_least_one("align", words.take("align", Some(8))?)?,
            offset: words.take("offset", Some(0))?,
        },
        "resize" => Filter::Resize {
            factor: words.take("factor", Some(Decimal::whole(2)))?,
            min: words.take("min", Some(0))?,
            max: at_least_one("max", words.take("max", Some(65536))?)?,
        },
        "reverse" => Filter::Reverse,
        "scale" => Filter::Scale { factor: words.take("factor", None)? },
        "shift" => Filter::Shift { by: words.take("by", None)? },
        "sample" => Filter::Sample { one_of: at_least_one("one_of", words.take("one_of", None)?)? },
        "" => return Err(format!("there is no step; there are {NAMES}")),
        other => return Err(format!("there is no step '{other}'; there are {NAMES}")),
    };
    words.end()?;
    Ok(filter)
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::Select(Window { start, end: Some(end) }) => write!(f, "select:{start}..{end}"),
            Filter::Select(Window { start, end: None }) => write!(f, "select:{start}.."),
            Filter::Repeat { times, offset } => write!(f, "repeat:{times},offset={offset}"),
            Filter::Slip { every, increase } => write!(f, "slip:every={every},increase={increase}"),
            Filter::Subst { from, to } => write!(f, "subst:{},{}", from.letter(), to.letter()),
            Filter::Spread { factor, align, offset } => {
                write!(f, "spread:{factor},align={align},offset={offset}")
            }
            Filter::Resize { factor, min, max } => write!(f, "resize:{factor},min={min},max={max}"),
            Filter::Reverse => f.write_str("reverse"),
            Filter::Scale { factor } => write!(f, "scale:{factor}"),
            Filter::Shift { by } => write!(f, "shift:{by}"),
            Filter::Sample { one_of } => write!(f, "sample:{one_of}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pipeline(text: &str) -> Result<Pipeline, String> {
        text.parse().map_err(|error: ParseFilterError| error.to_string())
    }

    #[test]
    fn steps_have_blkreplays_numbers_where_none_are_told() {
        let told = pipeline("slip|spread | resize: |select:1.5..").unwrap().to_string();
        let all = "slip:every=32768,increase=256 | spread:2,align=8,offset=0 | resize:2,min=0,max=65536 | select:1.5s..";
        assert_eq!(told, all);
    }

    #[test]
    fn what_is_no_step_is_refused_with_what_is_wrong() {
        for (text, why) in [
            ("", "there is no step; there are select"),
            ("reverse | ", "there is no step"),
            ("selec:1..2", "no step 'selec'"),
            ("select:2..1", "no time in it"),
            ("select:5", "FROM..TO"),
            ("select", "it needs span"),
            ("slip:every=0", "every is at least 1"),
            ("slip:every=x", "every: "),
            ("slip:every=1,5", "give it one, too"),
            ("subst:R,X", "'X' is neither R nor W"),
            ("reverse:1", "'1' means nothing here"),
            ("spread:2,factr=3", "'factr' means nothing here"),
            ("repeat:0", "times is at least 1"),
        ] {
            let told = pipeline(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    fn filter() -> impl Strategy<Value = Filter> {
        let op = || prop_oneof![Just(Op::Read), Just(Op::Write)];
        let factor =
            || (0u64..1000, 0u64..1_000_000_000).prop_map(|(a, b)| format!("{a}.{b:09}").parse().unwrap());
        let time = || (0u64..1 << 60).prop_map(Nanos);
        prop_oneof![
            (time(), 1u64..1 << 60)
                .prop_map(|(start, n)| Filter::Select(Window { start, end: Some(Nanos(start.0 + n)) })),
            time().prop_map(|start| Filter::Select(Window { start, end: None })),
            (1u64.., any::<u64>()).prop_map(|(times, offset)| Filter::Repeat { times, offset }),
            (1u64.., any::<u64>()).prop_map(|(every, increase)| Filter::Slip { every, increase }),
            (op(), op()).prop_map(|(from, to)| Filter::Subst { from, to }),
            (factor(), 1u64.., any::<u64>()).prop_map(|(factor, align, offset)| Filter::Spread {
                factor,
                align,
                offset
            }),
            (factor(), any::<u64>(), 1u64..).prop_map(|(factor, min, max)| Filter::Resize {
                factor,
                min,
                max
            }),
            Just(Filter::Reverse),
            factor().prop_map(|factor| Filter::Scale { factor }),
            time().prop_map(|by| Filter::Shift { by }),
            (1u64..).prop_map(|one_of| Filter::Sample { one_of }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same(steps in prop::collection::vec(filter(), 1..6)) {
            let pipeline = Pipeline(steps);
            prop_assert_eq!(pipeline.to_string().parse::<Pipeline>().unwrap(), pipeline);
        }
    }
}
