//! Data for the viewer about one run or load, and the blocks that go with it.

use super::blame;
use super::blocks::Blocks;
use super::figures;
use super::machine;
use super::meta::*;
use super::notes;
use super::percentiles;
use super::points::{Facts, PointBlock};
use crate::units::{self, Charset};
use crate::{Material, RunMaterial};
use iosonar_analyze::demand::{ByOp, DemandAnalysis, PAGE_BYTES, SECTOR_BYTES};
use iosonar_analyze::findings::{Finding, FindingKind, Findings, LatencyBand, TimeRange};
use iosonar_analyze::{
    Against, Cell, Class, Correlation, CountGrid, Diagrams, LimitResult, LimitVerdict, PartStats,
    ResponseGrids, Scope, Severity, Summary, TimeAxis,
};
use std::io;
use std::ops::Range;

/// The requests of a run in the page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Detail {
    /// Requests that were submitted and returned.
    pub requests: u64,
    /// Number of them in the blocks.
    pub embedded: u64,
    /// One in this many of the unexceptional requests is included.
    pub one_of: u64,
    /// Name of the file with all of them.
    pub side_car: Option<String>,
    /// Facts stored about each.
    pub facts: Facts,
    /// The blocks.
    pub blocks: Vec<PointBlock>,
}

/// One run or load of a page.
#[derive(Clone, Copy)]
pub struct ReportRun<'a> {
    /// Where it came from, as typed.
    pub name: &'a str,
    /// All its analyses.
    pub material: &'a Material<'a>,
    /// Its requests.
    pub detail: &'a Detail,
    /// Parts of the space with names.
    pub places: &'a [NamedRange],
}

/// A part of a target with a name: a partition, a file, a volume. A name may have several parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRange {
    /// Its name.
    pub name: String,
    /// Its byte range.
    pub bytes: Range<u64>,
}

/// Numbers over time.
struct Series {
    id: String,
    base: PageBase,
    width: u64,
    columns: Vec<u64>,
}

/// The counts of a run in the page: the data lists them, and the blocks have the numbers.
pub(super) struct Counted<'a> {
    grids: Vec<(&'static str, PageBase, &'a CountGrid)>,
    relations: Vec<(&'static str, &'a Correlation)>,
    series: Vec<Series>,
}

impl<'a> ReportRun<'a> {
    pub(super) fn counted(&self) -> Counted<'a> {
        let run = self.material.run.as_ref();
        Counted {
            grids: run.map(grids).unwrap_or_default(),
            relations: run.map(relations).unwrap_or_default(),
            series: self.series(),
        }
    }
}

impl ReportRun<'_> {
    pub(super) fn write_blocks(&self, counted: &Counted<'_>, blocks: &mut Blocks<'_>) -> io::Result<()> {
        for (id, _, grid) in &counted.grids {
            blocks.grid(id, grid)?;
        }
        for (id, relation) in &counted.relations {
            blocks.relation(id, relation)?;
        }
        for series in &counted.series {
            blocks.series(&series.id, &series.columns)?;
        }
        if let Some(demand) = self.material.demand {
            blocks.seek(&demand.series.seek_map)?;
        }
        self.detail.blocks.iter().try_for_each(|block| blocks.points(block))
    }

    fn seek(&self, demand: &DemandAnalysis) -> PageSeek {
        let map = &demand.series.seek_map;
        let place = |place: &NamedRange| PagePlace {
            name: place.name.clone(),
            from_bytes: place.bytes.start,
            to_bytes: place.bytes.end,
        };
        PageSeek {
            width: map.column_ns,
            columns: map.columns as u32,
            row_bytes: map.row_sectors * SECTOR_BYTES,
            rows: map.rows as u32,
            device_bytes: demand.facts.wraparound.iter().map(|w| w.device_bytes).collect(),
            places: self.places.iter().map(place).collect(),
        }
    }

    pub(super) fn meta(&self, counted: &Counted<'_>) -> PageRun {
        let Material { subject, run, demand } = *self.material;
        let summary = run.map(|run| run.summary);
        let demanded = demand.map_or(0, |d| d.facts.counts.all.requests);
        let demand_end = demand.and_then(|d| d.facts.span).map_or(0, |span| span.last_ns);
        PageRun {
            kind: if run.is_some() { PageKind::Run } else { PageKind::Load },
            name: self.name.to_string(),
            run_id: subject.run_id.clone(),
            started_unix_us: summary.map(|s| s.run.started_unix_ns / 1000).filter(|us| *us > 0),
            end_ns: run.map_or(0, |run| run.diagrams.end_ns()).max(demand_end),
            requests: summary.map_or(demanded, |s| s.counts.all.total + s.counts.all.ramp),
            completed: run.map_or(0, |run| completed(run.diagrams)),
            figures: summary.map(figures::of).unwrap_or_default(),
            has_timetable: summary.is_none_or(|s| s.has_target_rate()),
            limits: summary.map(limits).unwrap_or_default(),
            stamps: subject.stamps.clone(),
            cautions: subject.cautions.iter().map(|c| caution(c.severity, &c.text)).collect(),
            findings: self.findings(),
            bands: run.and_then(|run| run.findings).map(bands).unwrap_or_default(),
            passes: summary.map(passes).unwrap_or_default(),
            grids: counted.grids.iter().map(grid).collect(),
            series: counted.series.iter().map(described).collect(),
            relations: counted.relations.iter().map(|(id, r)| relation(id, r)).collect(),
            seek: demand.map(|demand| self.seek(demand)).filter(|seek| seek.columns > 0),
            percentiles: run.map(|run| percentiles::all(&run)).unwrap_or_default(),
            sizes: demand.map(sizes).unwrap_or_default(),
            frequency: demand.and_then(frequency),
            miss_ratio: demand.and_then(miss_ratio),
            parts: summary.map(parts).unwrap_or_default(),
            detail: PageDetail {
                requests: self.detail.requests,
                embedded: self.detail.embedded,
                one_of: self.detail.one_of.max(1),
                has_places: self.detail.facts == Facts::All,
                side_car: self.detail.side_car.clone(),
            },
            machine: run.and_then(|run| run.machine).and_then(machine::of),
            blame: blame::of(self).map(blame::page_blame),
            notes: notes::page_notes(self),
        }
    }

    /// The findings, as in the page's list.
    pub(super) fn findings(&self) -> Vec<PageFinding> {
        let found = self.material.run.and_then(|run| run.findings).map(Findings::list);
        found.unwrap_or_default().into_iter().map(finding).collect()
    }

    fn series(&self) -> Vec<Series> {
        let mut all = self.material.run.map(|run| over_time(run.diagrams)).unwrap_or_default();
        if let Some(demand) = self.material.demand {
            if self.material.run.is_none() {
                all.extend(demanded(demand));
            }
            all.extend(working_sets(demand));
        }
        all
    }
}

/// Requests that completed, flushes and those of a ramp, too: as counted by the pictures of latency.
fn completed(diagrams: &Diagrams) -> u64 {
    Class::ALL.into_iter().map(|class| diagrams.latency.total(class)).sum()
}

fn caution(severity: Severity, text: &str) -> PageCaution {
    let severity = match severity {
        Severity::Severe => "severe",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    PageCaution { severity: severity.into(), text: text.into() }
}

fn limits(s: &Summary) -> Vec<PageLimit> {
    [("latency", &s.limits.latency), ("delay", &s.limits.delay)].map(|(of, v)| limit(of, v)).into()
}

fn limit(of: &str, v: &LimitVerdict) -> PageLimit {
    let name = format!("limit {}", units::limit(v.limit_ns));
    let max = v.max_ns.map_or("–".to_string(), |ns| units::duration(ns, Charset::Unicode));
    let (passed, text) = match v.result {
        LimitResult::Passed => (Some(true), format!("{name}: passed, max {max}")),
        LimitResult::Failed => (Some(false), format!("{name}: FAILED, {} above", units::grouped(v.above))),
        LimitResult::NotApplicable => (None, format!("{name}: does not apply")),
    };
    PageLimit { of: of.into(), limit_ns: v.limit_ns, passed, text }
}

fn range(range: TimeRange) -> PageRange {
    PageRange { from_ns: range.from_ns, to_ns: range.to_ns }
}

fn finding(finding: Finding) -> PageFinding {
    let kind = match finding.kind {
        FindingKind::Band => PageFindingKind::Band,
        FindingKind::Stall => PageFindingKind::Stall,
        FindingKind::Collapse => PageFindingKind::Collapse,
        FindingKind::Period => PageFindingKind::Period,
        FindingKind::Steady => PageFindingKind::Steady,
        FindingKind::Passes => PageFindingKind::Passes,
        FindingKind::Note | FindingKind::Failures => PageFindingKind::Note,
    };
    PageFinding {
        kind,
        text: finding.text,
        range: finding.range.map(range),
        number: finding.number,
        op: finding.op.map(|op| op.name().to_string()),
    }
}

fn bands(f: &Findings) -> Vec<PageBand> {
    let band = |b: &LatencyBand| PageBand {
        op: b.op.name().into(),
        label: b.label(),
        low_ns: b.low_ns,
        peak_ns: b.peak_ns,
        high_ns: b.high_ns,
        share: b.share,
        range: range(b.range),
        share_over_time: b.share_over_time.clone(),
    };
    f.bands.iter().map(band).collect()
}

fn passes(s: &Summary) -> Vec<PageMark> {
    let mark = |pass: &PartStats| Some(PageMark { name: pass.name.clone(), at_ns: pass.begin_ns? });
    // Phases have separate names.
    let parts = if s.parts.phases.is_empty() { &s.parts.passes } else { &s.parts.phases };
    parts.iter().skip(1).filter_map(mark).collect()
}

fn grids<'a>(run: &RunMaterial<'a>) -> Vec<(&'static str, PageBase, &'a CountGrid)> {
    let d = run.diagrams;
    let mut all = vec![
        ("latency.start", PageBase::Start, &d.latency),
        ("latency.completion", PageBase::Completion, &d.latency_by_completion),
        ("latency.number", PageBase::Number, &d.latency_by_number),
    ];
    if run.summary.run.has_timetable {
        all.push(("latency.due", PageBase::Due, &d.latency_by_due));
        if run.summary.knows_delay() {
            all.extend(response_grids(d));
            all.extend([
                ("delay.due", PageBase::Due, &d.delay),
                ("issue_error", PageBase::Due, &d.issue_error),
            ]);
        }
    }
    all.push(("reap_lag", PageBase::Due, &d.reap_lag));
    all.extend(failed_grids(run));
    all.retain(|(_, _, grid)| Class::ALL.into_iter().any(|class| grid.total(class) > 0));
    all
}

/// Response times; absent if each lies in the row of its latency, because the page then needs no second grid.
fn response_grids(d: &Diagrams) -> Vec<(&'static str, PageBase, &CountGrid)> {
    let ResponseGrids { by_start, by_due, by_completion, by_number } = &d.response;
    if *by_due == d.latency_by_due {
        return Vec::new();
    }
    vec![
        ("response.start", PageBase::Start, by_start),
        ("response.due", PageBase::Due, by_due),
        ("response.completion", PageBase::Completion, by_completion),
        ("response.number", PageBase::Number, by_number),
    ]
}

/// Failed requests, for separate marks: they are in no other grid.
fn failed_grids<'a>(run: &RunMaterial<'a>) -> Vec<(&'static str, PageBase, &'a CountGrid)> {
    let failed = &run.diagrams.failed;
    let mut all = vec![
        ("failed.latency.start", PageBase::Start, &failed.latency),
        ("failed.latency.completion", PageBase::Completion, &failed.latency_by_completion),
        ("failed.latency.number", PageBase::Number, &failed.latency_by_number),
    ];
    if run.summary.run.has_timetable {
        all.push(("failed.latency.due", PageBase::Due, &failed.latency_by_due));
        if run.summary.knows_delay() {
            let response = &failed.response;
            all.extend([
                ("failed.response.start", PageBase::Start, &response.by_start),
                ("failed.response.due", PageBase::Due, &response.by_due),
                ("failed.response.completion", PageBase::Completion, &response.by_completion),
                ("failed.response.number", PageBase::Number, &response.by_number),
                ("failed.delay.due", PageBase::Due, &failed.delay),
            ]);
        }
    }
    all
}

fn grid((id, base, grid): &(&'static str, PageBase, &CountGrid)) -> PageGrid {
    PageGrid {
        id: (*id).into(),
        base: *base,
        width: grid.axis().width_ns(),
        columns: grid.axis().columns() as u32,
        totals: Class::ALL.map(|class| grid.total(class)),
    }
}

fn relations<'a>(run: &RunMaterial<'a>) -> Vec<(&'static str, &'a Correlation)> {
    let d = run.diagrams;
    let of_delay = [("delay.waiting", &d.delay_waiting), ("latency.delay", &d.latency_delay)];
    let of_delay = of_delay.into_iter().filter(|_| run.summary.knows_delay());
    let all = std::iter::once(("latency.in-flight", &d.latency_in_flight)).chain(of_delay);
    all.filter(|(_, relation)| totals(relation).iter().any(|n| *n > 0)).collect()
}

fn totals(relation: &Correlation) -> Cell {
    let cells = (0..relation.columns()).flat_map(|column| relation.column(column));
    cells.fold(Cell::default(), |mut sums, cell| {
        sums.iter_mut().zip(cell).for_each(|(sum, n)| *sum += n);
        sums
    })
}

pub(super) fn relation(id: &str, relation: &Correlation) -> PageRelation {
    PageRelation {
        id: id.into(),
        edges: (0..relation.columns()).map(|column| relation.lower_edge(column)).collect(),
        is_duration: relation.against() == Against::Duration,
        totals: totals(relation),
    }
}

fn described(series: &Series) -> PageSeries {
    let Series { id, base, width, columns } = series;
    PageSeries { id: id.clone(), base: *base, width: *width, columns: columns.len() as u32 }
}

const BY_OP: [(&str, Scope); 2] = [("read", Scope::Read), ("write", Scope::Write)];

fn over_time(d: &Diagrams) -> Vec<Series> {
    let mut all = Vec::new();
    for (name, base, rates) in
        [("demanded", PageBase::Due, &d.demanded), ("delivered", PageBase::Completion, &d.delivered)]
    {
        for (op, scope) in BY_OP {
            let counts = rates.scope(scope);
            for (what, columns) in [("requests", counts.requests), ("bytes", counts.bytes)] {
                all.push(Series {
                    id: format!("{name}.{op}.{what}"),
                    base,
                    width: rates.axis().width_ns(),
                    columns,
                });
            }
        }
    }
    for (op, scope) in BY_OP {
        let occupancy = d.in_flight.scope(scope);
        let most = occupancy.axis().columns();
        let (bands, width) = (occupancy.bands(most), occupancy.band_ns(most));
        for (what, of) in BAND {
            let columns = bands.iter().map(of).collect();
            all.push(Series { id: format!("in-flight.{op}.{what}"), base: PageBase::Start, width, columns });
        }
    }
    let waiting = d.waiting.scope(Scope::All);
    let most = waiting.axis().columns();
    let (columns, width) = (waiting.bands(most).iter().map(|band| band.max).collect(), waiting.band_ns(most));
    all.push(Series { id: "waiting.most".into(), base: PageBase::Due, width, columns });
    turns(&mut all, PageBase::Completion, d.turns.axis(), d.turns.requests(), d.turns.turns());
    all
}

fn turns(all: &mut Vec<Series>, base: PageBase, axis: TimeAxis, requests: &[u64], turns: &[u64]) {
    for (id, columns) in [("turns.requests", requests), ("turns.turns", turns)] {
        all.push(Series { id: id.into(), base, width: axis.width_ns(), columns: columns.to_vec() });
    }
}

type OfBand = fn(&iosonar_analyze::Band) -> u64;
const BAND: [(&str, OfBand); 3] =
    [("least", |band| band.min), ("median", |band| band.median), ("most", |band| band.max)];

/// Demand of a load; a run has it in its own diagrams.
fn demanded(demand: &DemandAnalysis) -> Vec<Series> {
    let rates = &demand.series.per_second;
    let bytes = |sectors: &[u64]| sectors.iter().map(|n| n * SECTOR_BYTES).collect();
    [
        ("read.requests", rates.reads.clone()),
        ("write.requests", rates.writes.clone()),
        ("read.bytes", bytes(&rates.read_sectors)),
        ("write.bytes", bytes(&rates.write_sectors)),
    ]
    .into_iter()
    .map(|(id, columns)| Series {
        id: format!("demanded.{id}"),
        base: PageBase::Due,
        width: rates.width_ns,
        columns,
    })
    .collect()
}

fn working_sets(demand: &DemandAnalysis) -> Vec<Series> {
    let window = |set: &iosonar_analyze::demand::WindowSeries| Series {
        id: format!("working-set.{}", set.window_s.map_or("all".to_string(), |s| s.to_string())),
        base: PageBase::Due,
        width: set.step_s * 1_000_000_000,
        columns: set.sliding.pages.clone(),
    };
    demand.series.working_sets.iter().map(window).collect()
}

fn sizes(demand: &DemandAnalysis) -> Vec<PageSize> {
    let size = |c: &iosonar_analyze::demand::SizeCount| PageSize {
        from_bytes: c.first * SECTOR_BYTES,
        to_bytes: c.last * SECTOR_BYTES,
        reads: c.reads,
        writes: c.writes,
    };
    demand.series.sizes.iter().map(size).collect()
}

fn frequency(demand: &DemandAnalysis) -> Option<PageFrequency> {
    let (points, facts) = (&demand.series.rank_frequency.all, &demand.facts.frequency.all);
    let marker = |m: &iosonar_analyze::demand::MassMarker| {
        (format!("1/{} of the accesses", m.one_of), m.fewest.rank, m.fewest.accesses)
    };
    (!points.is_empty()).then(|| PageFrequency {
        points: points.clone(),
        markers: facts.markers.iter().map(marker).collect(),
        zipf_exponent: facts.zipf_exponent,
    })
}

fn miss_ratio(demand: &DemandAnalysis) -> Option<PageMissRatio> {
    let (series, facts) = (&demand.series.miss_ratio, &demand.facts.miss_ratio);
    let point = |p: &iosonar_analyze::demand::MissRatioPoint| {
        let ByOp { all, read, write } = p.miss;
        (p.cache_pages * PAGE_BYTES, all, read, write)
    };
    (!series.is_empty()).then(|| PageMissRatio {
        points: series.iter().map(point).collect(),
        knee: facts.knee.all.map(|knee| (knee.cache_bytes, knee.miss)),
        error: demand.facts.sampling.miss_ratio_error,
    })
}

fn parts(s: &Summary) -> Vec<PagePart> {
    let kinds = [
        ("target", &s.parts.targets),
        ("worker", &s.parts.workers),
        ("phase", &s.parts.phases),
        ("pass", &s.parts.passes),
    ];
    // A host with one target is this target.
    let hosts = s.hosts.iter().filter(|_| s.hosts.len() < s.parts.targets.len());
    let part = |kind: &str, p: &PartStats| PagePart {
        kind: kind.into(),
        name: p.name.clone(),
        completed: p.completed,
        failed: p.failed,
        rate: p.delivered.map(|r| r.requests_per_second),
        p50_ns: p.latency.map(|t| t.p50_ns),
        p99_ns: p.latency.and_then(|t| t.p99_ns),
        max_ns: p.latency.map(|t| t.max_ns),
    };
    let others = kinds.into_iter().flat_map(|(kind, parts)| parts.iter().map(move |p| part(kind, p)));
    hosts.map(|host| part("host", &host.figures)).chain(others).collect()
}
