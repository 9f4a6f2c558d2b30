//! The figures of a kept answer.

use super::json;
use iosonar_analyze::Statement;
use iosonar_analyze::knee::KneeVerdict;
use iosonar_inputs::{Study, StudyKind};
use iosonar_runner::Error;
use iosonar_text::units::{number, request_rate};
use iosonar_text::{one_line, shown};
use serde::Deserialize;
use serde_json::Value;

const MIB: f64 = (1 << 20) as f64;

/// A figure of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name, with its unit.
    pub name: String,
    /// In that unit.
    pub value: f64,
    /// Bounds of its 95 % interval, if measured several times.
    pub interval: Option<(f64, f64)>,
    /// A lower bound: the limit was not found.
    pub is_at_least: bool,
}

impl Figure {
    fn new(name: String, value: f64) -> Figure {
        Figure { name, value, interval: None, is_at_least: false }
    }

    /// Formats it with three significant digits, in its unit.
    pub fn shown(&self) -> String {
        let value =
            if self.name.ends_with("requests/s") { request_rate(self.value) } else { number(self.value) };
        format!("{}{value}", if self.is_at_least { "at least " } else { "" })
    }
}

/// The figures of an answer; empty for a matrix, which is compared cell by cell.
///
/// # Errors
/// The file cannot be read, or holds no answer of its command.
pub fn figures(study: &Study) -> Result<Vec<Figure>, Error> {
    match study.kind {
        StudyKind::Matrix => Ok(Vec::new()),
        StudyKind::Knee => Ok(read::<KneeAnswer>(study)?.figures()),
        StudyKind::Layout => Ok(read::<LayoutAnswer>(study)?.figures()),
    }
}

pub(super) fn read<T: serde::de::DeserializeOwned>(study: &Study) -> Result<T, Error> {
    serde_json::from_str(&json(study)?).map_err(|error| {
        let (file, command) = (study.file(), study.kind.command());
        Error::refused_because(format_args!("{}: it is no answer of '{command}': {error}", shown(&file)))
    })
}

/// Fields read from `knee.json`.
#[derive(Deserialize)]
pub(super) struct KneeAnswer {
    /// Absent in an answer of an earlier version.
    #[serde(default)]
    pub(super) story: Option<Statement>,
    pub(super) sentences: Vec<String>,
    verdict: KneeVerdict,
}

impl KneeAnswer {
    fn figures(&self) -> Vec<Figure> {
        let figure = |value| Figure::new("sustained, requests/s".into(), value);
        match &self.verdict {
            KneeVerdict::Found(knee) => vec![Figure {
                interval: Some((knee.low_per_second, knee.high_per_second)),
                ..figure(knee.sustained_per_second)
            }],
            KneeVerdict::NotReached { at_least_per_second: least }
            | KneeVerdict::Unclear { at_least_per_second: Some(least), .. } => {
                vec![Figure { is_at_least: true, ..figure(*least) }]
            }
            KneeVerdict::Unclear { at_least_per_second: None, .. } => Vec::new(),
        }
    }
}

/// Fields read from `layout.json`.
#[derive(Deserialize)]
pub(super) struct LayoutAnswer {
    /// Absent in an answer of an earlier version.
    #[serde(default)]
    pub(super) story: Option<Statement>,
    methods: Vec<LayoutMethod>,
    pub(super) conclusion: Vec<String>,
    cautions: Vec<String>,
}

/// A way to create files.
#[derive(Deserialize)]
struct LayoutMethod {
    method: String,
    files: Vec<Value>,
    create_bytes_per_second: Option<f64>,
    create_and_sync_bytes_per_second: Option<f64>,
    later_scans: Option<LaterScans>,
}

/// The scans after the first one, in bytes per second.
#[derive(Deserialize)]
struct LaterScans {
    mean: f64,
    interval: Option<(f64, f64)>,
}

impl LayoutMethod {
    /// Mean number of fragments of a file; `None` if a map lacks the count.
    fn fragments(&self) -> Option<f64> {
        let counts: Option<Vec<f64>> = self.files.iter().map(|file| file["fragments"].as_f64()).collect();
        let counts = counts.filter(|counts| !counts.is_empty())?;
        Some(counts.iter().sum::<f64>() / counts.len() as f64)
    }
}

impl LayoutAnswer {
    fn figures(&self) -> Vec<Figure> {
        let of = |method: &LayoutMethod| {
            let figure = |what: &str, value: Option<f64>| {
                Some(Figure::new(format!("{}: {what}", one_line(&method.method)), value?))
            };
            let in_mib = |rate: Option<f64>| rate.map(|rate| rate / MIB);
            let scans = method.later_scans.as_ref();
            let interval = scans.and_then(|scans| scans.interval).map(|(low, high)| (low / MIB, high / MIB));
            let scan = figure("later scans (mean), MiB/s", in_mib(scans.map(|scans| scans.mean)));
            [
                figure("create, MiB/s", in_mib(method.create_bytes_per_second)),
                figure("with flush, MiB/s", in_mib(method.create_and_sync_bytes_per_second)),
                figure("fragments of a file (mean)", method.fragments()),
                scan.map(|scan| Figure { interval, ..scan }),
            ]
        };
        self.methods.iter().flat_map(of).flatten().collect()
    }

    /// A line for each figure of each method.
    pub(super) fn table(&self) -> String {
        let figures = self.figures();
        let width = figures.iter().map(|figure| figure.name.chars().count()).max().unwrap_or(0);
        figures.iter().map(|figure| format!("{:<width$}  {:>8}\n", figure.name, figure.shown())).collect()
    }

    pub(super) fn cautions(&self) -> String {
        self.cautions.iter().map(|caution| format!("caution: {}\n", one_line(caution))).collect()
    }
}
