//! The figures that are compared, their names and their intervals.

use super::blocks::{Block, Blocks, Quantity, Who};
use super::estimate::{Estimate, Pair};
use super::family;
use serde::Serialize;

/// Quantiles that are compared.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
/// Words for the two rates.
const RATES: [&str; 2] = ["iops", "throughput"];

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Nanoseconds: less is better.
    #[serde(rename = "ns")]
    Time,
    /// Requests per second: more is better.
    #[serde(rename = "requests/s")]
    Requests,
    /// Bytes per second: more is better.
    #[serde(rename = "bytes/s")]
    Bytes,
    /// B ÷ A of one request's latency: less is better.
    #[serde(rename = "ratio")]
    Ratio,
}

/// A figure of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// As in conditions: `latency.p99`, `response.read.mean`, `write.iops`.
    pub name: String,
    /// The unit of `a` and `b`.
    pub unit: Unit,
    /// Its value in A.
    pub a: f64,
    /// Its value in B.
    pub b: f64,
    /// Change from A to B in percent; absent if A is 0.
    pub change_percent: Option<f64>,
    /// Lower end of the interval of the change. The intervals of all figures hold together with a probability of 95 %.
    pub low_percent: Option<f64>,
    /// Upper end of that interval.
    pub high_percent: Option<f64>,
    /// Least change that would be shown 8 times in 10 with this noise.
    pub smallest_visible_percent: Option<f64>,
    /// Lower end of the interval of `b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b_low: Option<f64>,
    /// Upper end of that interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b_high: Option<f64>,
    /// Whether a change is shown: the interval does not hold 0.
    pub shown: bool,
    /// Whether the interval holds 0 and is so wide that it says nothing.
    pub too_noisy: bool,
}

/// An interval whose upper end is more than this many times its lower end says little.
const WIDE: f64 = 10.0;

impl Figure {
    /// Whether the ends of the interval lie so far apart that the farther one means nothing.
    pub(super) fn is_wide(&self) -> bool {
        let ends = self.low_percent.zip(self.high_percent);
        ends.is_some_and(|(low, high)| 100.0 + high > WIDE * (100.0 + low))
    }

    /// Whether it has no interval by its nature: a greatest value is one request.
    pub(super) fn is_bare(&self) -> bool {
        self.name.ends_with(".max")
    }

    /// Whether B is worse, judging by the values.
    pub fn is_worse(&self) -> bool {
        let grows = self.change_percent.unwrap_or(0.0) > 0.0;
        grows == matches!(self.unit, Unit::Time | Unit::Ratio)
    }

    /// Two values without an interval.
    pub(super) fn bare(name: String, unit: Unit, a: f64, b: f64) -> Figure {
        Figure {
            name,
            unit,
            a,
            b,
            change_percent: (a > 0.0).then(|| (b / a - 1.0) * 100.0),
            low_percent: None,
            high_percent: None,
            smallest_visible_percent: None,
            b_low: None,
            b_high: None,
            shown: false,
            too_noisy: false,
        }
    }

    /// The same, and whether its interval is too wide.
    pub(super) fn judged_noise(self) -> Figure {
        Figure { too_noisy: !self.shown && self.is_wide(), ..self }
    }

    fn new(name: String, unit: Unit, pair: &Pair, each: f64) -> Figure {
        let interval = pair.interval(each);
        let shown = interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0);
        let scale = if unit == Unit::Ratio { 1.0 / pair.a.value } else { 1.0 };
        let of_b = pair.b.interval(each).filter(|_| unit != Unit::Ratio);
        Figure {
            change_percent: pair.has_ratio().then(|| percent(pair.log_ratio())),
            low_percent: interval.map(|i| percent(i.low)),
            high_percent: interval.map(|i| percent(i.high)),
            smallest_visible_percent: interval.map(|i| percent(i.visible)),
            b_low: of_b.map(|(low, _)| low),
            b_high: of_b.map(|(_, high)| high),
            shown,
            ..Figure::bare(name, unit, pair.a.value * scale, pair.b.value * scale)
        }
        .judged_noise()
    }
}

/// A difference of natural logarithms as a change in percent.
pub(super) fn percent(log_ratio: f64) -> f64 {
    log_ratio.exp_m1() * 100.0
}

/// The full name of a figure that was typed: without a quantity it is the latency's.
pub(super) fn canonical(typed: &str) -> Result<String, String> {
    let mut rest = typed;
    let mut prefix = |words: &[&str]| {
        let found = words.iter().find(|w| rest.strip_prefix(**w).is_some_and(|r| r.starts_with('.')));
        if let Some(word) = found {
            rest = &rest[word.len() + 1..];
        }
        found.map(|w| w.to_string())
    };
    let quantity = prefix(&Quantity::ALL.map(Quantity::name));
    let who =
        prefix(&["all", "read", "write", "flush"]).filter(|w| w != "all").map_or(String::new(), |w| w + ".");
    if RATES.contains(&rest) && quantity.is_none() {
        return Ok(format!("{who}{rest}"));
    }
    let measure = rest == "mean" || rest == "max" || QUANTILES.iter().any(|(name, _)| *name == rest);
    let quantity = quantity.unwrap_or_else(|| "latency".to_string());
    let pairs = rest == "pairs" && who.is_empty() && quantity == "latency";
    if measure || pairs {
        return Ok(format!("{quantity}.{who}{rest}"));
    }
    let known = "[latency.|delay.|response.][read.|write.|flush.] and mean, p50, p90, p99, p99.9 or max; \
                 [read.|write.|flush.] and iops, [read.|write.] and throughput; pairs";
    Err(match typed {
        "" => format!("there is no figure; known are {known}"),
        _ => format!("'{typed}' is no figure; known are {known}"),
    })
}

/// The only operation, if all runs have only reads or only writes.
pub(super) fn only_of(runs: &[&Blocks]) -> Option<Who> {
    let lacks = |who| runs.iter().all(|run| run.total(Quantity::Latency, who).histogram.count() == 0);
    match (lacks(Who::Read), lacks(Who::Write)) {
        (false, true) => Some(Who::Read),
        (true, false) => Some(Who::Write),
        _ => None,
    }
}

/// The figures of one run: name, unit and value.
pub(super) fn values(run: &Blocks, timetable: bool) -> Vec<(String, Unit, f64)> {
    let itself = Runs { a: run, b: run, paired: false, timetable };
    let value = |candidate: Candidate| {
        let value = match candidate.kind {
            Kind::Interval(pair) => pair.a.value,
            Kind::Max(most, _) => most as f64,
        };
        (candidate.name, candidate.unit, value)
    };
    itself.candidates(None).into_iter().map(value).collect()
}

/// Two figures before their intervals are known.
struct Candidate {
    name: String,
    unit: Unit,
    kind: Kind,
}

enum Kind {
    Interval(Box<Pair>),
    Max(u64, u64),
}

/// Two runs whose blocks are equally wide.
pub(super) struct Runs<'a> {
    pub(super) a: &'a Blocks,
    pub(super) b: &'a Blocks,
    /// Equal blocks hold the same requests.
    pub(super) paired: bool,
    /// Both runs have a timetable.
    pub(super) timetable: bool,
}

impl Runs<'_> {
    fn times(&self, quantity: Quantity, who: Who, out: &mut Vec<Candidate>) {
        let (total_a, total_b) = (self.a.total(quantity, who), self.b.total(quantity, who));
        let mut put = |measure: &str, kind: Kind| {
            let name = format!("{}.{}{measure}", quantity.name(), who.prefix());
            out.push(Candidate { name, unit: Unit::Time, kind });
        };
        let mut both = |measure: &str, a: Option<Estimate>, b: Option<Estimate>| {
            if let (Some(a), Some(b)) = (a, b) {
                put(measure, Kind::Interval(Box::new(Pair::new(a, b, self.paired))));
            }
        };
        let mean = |blocks, total| Estimate::mean(blocks, total, quantity, who);
        both("mean", mean(self.a, &total_a), mean(self.b, &total_b));
        for (name, q) in QUANTILES {
            let of = |blocks, total| Estimate::quantile(blocks, total, (quantity, who), q);
            both(name, of(self.a, &total_a), of(self.b, &total_b));
        }
        if total_a.histogram.count() > 0 && total_b.histogram.count() > 0 {
            put("max", Kind::Max(total_a.max, total_b.max));
        }
    }

    fn rates(&self, who: Who, out: &mut Vec<Candidate>) {
        let units: [fn(&Block, Who) -> f64; 2] = [
            |block, who| who.kinds().iter().map(|kind| block.done(*kind).requests as f64).sum(),
            |block, who| who.kinds().iter().map(|kind| block.done(*kind).bytes as f64).sum(),
        ];
        for ((name, unit), count) in RATES.into_iter().zip([Unit::Requests, Unit::Bytes]).zip(units) {
            let of = |run: &Blocks| {
                let counts: Vec<f64> = run.list().iter().map(|block| count(block, who)).collect();
                Estimate::rate(&counts, run.duration_ns() as f64 / 1e9)
            };
            if let (Some(a), Some(b)) = (of(self.a), of(self.b)) {
                let kind = Kind::Interval(Box::new(Pair::new(a, b, self.paired)));
                out.push(Candidate { name: format!("{}{name}", who.prefix()), unit, kind });
            }
        }
    }

    /// The only operation, if both runs have only reads or only writes.
    pub(super) fn only(&self) -> Option<Who> {
        only_of(&[self.a, self.b])
    }

    /// Reads and writes get separate figures only if there are both, flushes if there are any.
    fn whos(&self) -> Vec<Who> {
        let has_both = self.only().is_none();
        let is_reported = |who: &Who| match who {
            Who::All => true,
            Who::Read | Who::Write => has_both,
            Who::Flush => [self.a, self.b]
                .iter()
                .any(|run| run.total(Quantity::Latency, Who::Flush).histogram.count() > 0),
        };
        Who::ALL.into_iter().filter(is_reported).collect()
    }

    fn candidates(&self, pairs: Option<Pair>) -> Vec<Candidate> {
        let mut out = Vec::new();
        let quantities = if self.timetable { &Quantity::ALL[..] } else { &Quantity::ALL[..1] };
        let whos = self.whos();
        for quantity in quantities {
            whos.iter().for_each(|who| self.times(*quantity, *who, &mut out));
        }
        whos.iter().for_each(|who| self.rates(*who, &mut out));
        let kind = pairs.map(|pair| Kind::Interval(Box::new(pair)));
        out.extend(kind.map(|kind| Candidate { name: "latency.pairs".into(), unit: Unit::Ratio, kind }));
        out
    }

    /// Every figure that both runs have, with intervals that all hold together except with probability `alpha`.
    pub(super) fn figures(&self, pairs: Option<Pair>, alpha: f64) -> Vec<Figure> {
        let candidates = self.candidates(pairs);
        let all: Vec<&Pair> = candidates
            .iter()
            .filter_map(|c| match &c.kind {
                Kind::Interval(pair) => Some(&**pair),
                Kind::Max(..) => None,
            })
            .collect();
        let each = family::adjusted(&all, alpha);
        let figure = |c: &Candidate| match &c.kind {
            Kind::Interval(pair) => Figure::new(c.name.clone(), c.unit, pair, each),
            Kind::Max(a, b) => Figure::bare(c.name.clone(), c.unit, *a as f64, *b as f64),
        };
        candidates.iter().map(figure).collect()
    }
}
