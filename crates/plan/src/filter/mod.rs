//! Steps that change a load before it is used: blkreplay's pipe modules (manual, A.2.11 and A.3), and a few more.

mod words;

use crate::{Decimal, Nanos, Op, Window};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use words::{Word, Words};

/// One step. Places and lengths are counted in sectors of 512 bytes, requests from 1 where they come into the step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Keeps the requests in a window of the load's time; times stay as they are.
    Select(Window),
    /// Repeats everything. A repetition starts at the last time of the one before.
    Repeat {
        /// Repetitions in all, at least 1.
        times: u64,
        /// Sectors by which each repetition is moved from the one before.
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
        /// The replaced operation.
        from: Op,
        /// The new operation.
        to: Op,
    },
    /// A sector s becomes `floor(s * factor / align) * align + s mod align + offset`.
    Spread {
        /// Factor by which the region grows.
        factor: Decimal,
        /// Sectors that keep their relative places, at least 1.
        align: u64,
        /// Sectors added to everything.
        offset: u64,
    },
    /// A length l becomes `floor(l * factor)`, then at least `min`, then at most `max`.
    Resize {
        /// Factor of the lengths.
        factor: Decimal,
        /// Shortest length.
        min: u64,
        /// Longest length, at least 1.
        max: u64,
    },
    /// The i-th time stamp with the rest of the i-th request from the end.
    Reverse,
    /// Sorts by time; equal times keep their order.
    Sort,
    /// Multiplies all times.
    Scale {
        /// The factor; above 1 is slower.
        factor: Decimal,
    },
    /// Delays all times.
    Shift {
        /// The delay.
        by: Nanos,
    },
    /// Keeps the first request, and each `one_of`-th after it.
    Sample {
        /// Interval of kept requests, at least 1.
        one_of: u64,
    },
    /// Another load is merged in, by time; at equal times it comes second. Both must be in the order of time.
    Merge {
        /// A load or result, plain or gzip; never standard input.
        file: String,
        /// Sectors by which its requests are moved.
        offset: u64,
        /// Delay of its times.
        shift: Nanos,
    },
    /// A command of the shell: it reads lines of requests, and its output is the load from there on.
    Cmd {
        /// Argument of `sh -c`.
        command: String,
    },
}

/// Error of parsing a step. Holds the step as typed, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{step}': {why}")]
pub struct ParseFilterError {
    step: String,
    why: String,
}

impl ParseFilterError {
    fn new(step: &str, why: String) -> ParseFilterError {
        ParseFilterError { step: step.trim().into(), why }
    }
}

/// Steps in their order: `select:300..600 | spread:2.0,align=8`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pipeline(pub Vec<Filter>);

/// Most steps of a pipeline: each pulls from the one before it.
const MOST_STEPS: usize = 100;

impl Pipeline {
    /// Whether it leaves a load as it is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first step without output before the load has ended.
    pub fn waits_for_end(&self) -> Option<&Filter> {
        self.0.iter().find(|step| matches!(step, Filter::Reverse | Filter::Sort | Filter::Repeat { .. }))
    }

    /// Files that it reads beside the load.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Filter::Merge { file, .. } => Some(file.as_str()),
            _ => None,
        })
    }

    /// Commands that it passes to the shell.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Filter::Cmd { command } => Some(command.as_str()),
            _ => None,
        })
    }
}

impl FromStr for Pipeline {
    type Err = ParseFilterError;

    fn from_str(text: &str) -> Result<Pipeline, ParseFilterError> {
        let whole = |why| ParseFilterError::new(text, why);
        let parts = words::split(text, '|').map_err(whole)?;
        if parts.len() > MOST_STEPS {
            return Err(ParseFilterError::new(
                parts[0],
                format!(
                    "{} steps follow; at most {MOST_STEPS} make one pipeline: make a load of the first ones",
                    parts.len() - 1
                ),
            ));
        }
        let mut steps = Vec::new();
        for part in parts {
            let step = parse(part.trim()).map_err(|why| match steps.last() {
                Some(Filter::Cmd { .. }) => {
                    let hint = "a command with | in it stands in quotes: cmd:'grep -v x | head'";
                    ParseFilterError::new(part, format!("{why}; {hint}"))
                }
                _ => ParseFilterError::new(part, why),
            });
            steps.push(step?);
        }
        Ok(Pipeline(steps))
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

impl TryFrom<String> for Pipeline {
    type Error = ParseFilterError;

    fn try_from(text: String) -> Result<Pipeline, ParseFilterError> {
        text.parse()
    }
}

impl From<Pipeline> for String {
    fn from(pipeline: Pipeline) -> String {
        pipeline.to_string()
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

/// `300..600`, `300..` or `..600`, in seconds unless a unit is given.
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

const NAMES: &str =
    "select, repeat, slip, subst, spread, resize, reverse, sort, scale, shift, sample, merge, cmd";

/// A file or a command: any argument that the operating system accepts.
fn text_of(name: &str, text: String) -> Result<String, String> {
    match () {
        () if text.is_empty() => Err(format!("{name} is empty")),
        () if text.contains('\0') => Err(format!("{name} holds a zero byte")),
        () => Ok(text),
    }
}

fn merge(words: &mut Words) -> Result<Filter, String> {
    let file = text_of("file", words.take("file", None)?)?;
    if file == "-" {
        return Err("- would be standard input: save the load to a file".into());
    }
    let (offset, shift) = (words.take("offset", Some(0))?, words.take("shift", Some(Nanos(0)))?);
    Ok(Filter::Merge { file, offset, shift })
}

/// Omitted numbers have the defaults of blkreplay's modules.
fn make(name: &str, words: &mut Words) -> Result<Filter, String> {
    let filter = match name {
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
        "sort" => Filter::Sort,
        "scale" => Filter::Scale { factor: words.take("factor", None)? },
        "shift" => Filter::Shift { by: words.take("by", None)? },
        "sample" => Filter::Sample { one_of: at_least_one("one_of", words.take("one_of", None)?)? },
        "merge" => merge(words)?,
        "cmd" => Filter::Cmd { command: text_of("command", words.take("command", None)?)? },
        "" => return Err(format!("there is no step; there are {NAMES}")),
        other => return Err(format!("there is no step '{other}'; there are {NAMES}")),
    };
    Ok(filter)
}

fn parse(step: &str) -> Result<Filter, String> {
    let (name, rest) = step.split_once(':').unwrap_or((step, ""));
    let (name, mut words) = (name.trim(), Words::of(rest)?);
    let filter = make(name, &mut words).and_then(|filter| words.end().map(|()| filter));
    filter.map_err(|why| match name {
        "merge" | "cmd" if rest.contains([',', '=']) => {
            format!("{why}; what has a comma, a bar or = in it stands in quotes: {name}:'…'")
        }
        _ => why,
    })
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
            Filter::Sort => f.write_str("sort"),
            Filter::Scale { factor } => write!(f, "scale:{factor}"),
            Filter::Shift { by } => write!(f, "shift:{by}"),
            Filter::Sample { one_of } => write!(f, "sample:{one_of}"),
            Filter::Merge { file, offset, shift } => {
                write!(f, "merge:{},offset={offset},shift={shift}", Word(file))
            }
            Filter::Cmd { command } => write!(f, "cmd:{}", Word(command)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pipeline(text: &str) -> Result<Pipeline, String> {
        text.parse().map_err(|error: ParseFilterError| error.to_string())
    }

    #[test]
    fn steps_default_to_blkreplay_values() {
        let told = pipeline("slip|spread | resize: |select:1.5..").unwrap().to_string();
        let all = "slip:every=32768,increase=256 | spread:2,align=8,offset=0 | resize:2,min=0,max=65536 | select:1.5s..";
        assert_eq!(told, all);
    }

    #[test]
    fn rejects_invalid_steps_with_reason() {
        for (text, why) in [
            ("", "there is no step; there are select"),
            ("reverse | ", "there is no step"),
            ("selec:1..2", "no step 'selec'"),
            ("select:2..1", "no time in it"),
            ("select:5", "FROM..TO"),
            ("select", "it needs span"),
            ("slip:every=0", "every is at least 1"),
            ("slip:every=x", "every: "),
            ("slip:every=1,5", "name it, too"),
            ("subst:R,X", "'X' is neither R nor W"),
            ("reverse:1", "'1' means nothing here"),
            ("spread:2,factr=3", "'factr' means nothing here"),
            ("repeat:0", "times is at least 1"),
            ("merge", "it needs file"),
            ("merge:''", "file is empty"),
            ("merge:-", "standard input"),
            ("merge:a,offset=-1", "offset: "),
            ("merge:a=b.load", "stands in quotes: merge:'…'"),
            ("cmd: ", "it needs command"),
            ("cmd:\0", "zero byte"),
            (
                "cmd:grep x, y",
                "'y' means nothing here; what has a comma, a bar or = in it stands in quotes: cmd:'…'",
            ),
            ("cmd:grep x | head", "no step 'head'"),
            ("cmd:grep x | head", "a command with | in it stands in quotes: cmd:'grep -v x | head'"),
            ("cmd:'grep x | head", "the quote that starts at 'grep x | head does not end"),
            ("cmd:'grep 'x y'", "after the closing quote stands x y'"),
        ] {
            let told = pipeline(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    #[test]
    fn quoted_text_is_literal() {
        let cmd = |text: &str| Filter::Cmd { command: text.into() };
        let merge = |file: &str, offset| Filter::Merge { file: file.into(), offset, shift: Nanos(0) };
        for (text, meant) in [
            ("cmd:grep -v x", vec![cmd("grep -v x")]),
            ("cmd:awk x=5 ", vec![cmd("awk x=5")]),
            ("cmd:command='a=b'", vec![cmd("a=b")]),
            ("cmd:'grep -v x | head -100' | reverse", vec![cmd("grep -v x | head -100"), Filter::Reverse]),
            ("cmd: \"sed 's/R/W/', 5\"", vec![cmd("sed 's/R/W/', 5")]),
            ("cmd:'it''s \"x\"'|reverse", vec![cmd("it's \"x\""), Filter::Reverse]),
            ("merge:'my load, | 1.gz',8", vec![merge("my load, | 1.gz", 8)]),
            ("merge:it's.load | merge:it's.load", vec![merge("it's.load", 0), merge("it's.load", 0)]),
        ] {
            assert_eq!(text.parse::<Pipeline>().unwrap(), Pipeline(meant), "{text}");
        }
        assert_eq!(cmd("it's, | \"x\"").to_string(), "cmd:'it''s, | \"x\"'");
        assert_eq!(cmd("it's").to_string(), "cmd:\"it's\"");
        assert_eq!(merge("a.load", 0).to_string(), "merge:a.load,offset=0,shift=0s");
    }

    #[test]
    fn pipelines_have_a_step_limit() {
        assert!(pipeline(&vec!["reverse"; 100].join("|")).is_ok());
        assert!(pipeline(&vec!["reverse"; 101].join("|")).unwrap_err().contains("100 steps follow"));
    }

    fn word() -> impl Strategy<Value = String> {
        let telling = prop::collection::vec(
            prop::sample::select(vec!['\'', '"', '|', ',', '=', ':', ' ', 'a', 'ß']),
            1..9,
        );
        let telling = telling.prop_map(|signs| signs.into_iter().collect::<String>());
        let any = "[^\\x00]{1,20}";
        prop_oneof![telling, any.prop_map(String::from)].prop_filter("standard input", |word| word != "-")
    }

    pub(crate) fn filter() -> impl Strategy<Value = Filter> {
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
            Just(Filter::Sort),
            factor().prop_map(|factor| Filter::Scale { factor }),
            time().prop_map(|by| Filter::Shift { by }),
            (1u64..).prop_map(|one_of| Filter::Sample { one_of }),
            (word(), any::<u64>(), time()).prop_map(|(file, offset, shift)| Filter::Merge {
                file,
                offset,
                shift
            }),
            word().prop_map(|command| Filter::Cmd { command }),
        ]
    }

    proptest! {
        #[test]
        fn pipelines_round_trip(steps in prop::collection::vec(filter(), 1..6)) {
            let pipeline = Pipeline(steps);
            prop_assert_eq!(pipeline.to_string().parse::<Pipeline>().unwrap(), pipeline);
        }

        #[test]
        fn any_text_is_read_without_panic(text in "(cmd:|merge:|)[-a-z:,=|'\" ß.]{0,30}") {
            if let Ok(pipeline) = text.parse::<Pipeline>() {
                prop_assert_eq!(pipeline.to_string().parse::<Pipeline>().unwrap(), pipeline);
            }
        }
    }
}
