//! The numbers of each picture as CSV, for redrawing. A file has the stem of its picture.
//!
//! Tables are written row by row, without holding a whole one. Rows without requests are excluded from grids.

mod csv;
mod demand;
mod extents;
mod faults;
mod path;
mod run;

use crate::charts::lacks_delay;
use crate::{Folder, Material, Picture, RunMaterial};
use csv::Out;
use iosonar_analyze::demand::DemandAnalysis;
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{MachineSeries, PathFacts};
use iosonar_archive::Fault;
use std::io::{self, Write};
use std::path::PathBuf;

/// Options of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataOptions {
    /// Window of the smoothed curves, nanoseconds; 0 counts as 1.
    pub smooth_window_ns: u64,
    /// Defuse words that a spreadsheet takes for formulas.
    pub csv_safe: bool,
}

impl Default for DataOptions {
    fn default() -> Self {
        DataOptions { smooth_window_ns: 1_000_000_000, csv_safe: false }
    }
}

type RunWriter = fn(&RunMaterial<'_>, &DataOptions, &mut Out<'_>) -> io::Result<()>;
type MachineWriter = fn(&MachineSeries, &mut Out<'_>) -> io::Result<()>;
type ExtentsWriter = fn(&ExtentLatencies, &mut Out<'_>) -> io::Result<()>;
type FaultsWriter = fn(&[Fault], &mut Out<'_>) -> io::Result<()>;
type PathWriter = fn(&PathFacts, &mut Out<'_>) -> io::Result<()>;
type DemandWriter = fn(&DemandAnalysis, &mut Out<'_>) -> io::Result<()>;

/// Input of a table.
enum Source {
    Run(RunWriter),
    Demand(DemandWriter),
    /// The samples of a run's machine.
    Machine(MachineWriter),
    /// Latencies by extent.
    Extents(ExtentsWriter),
    /// Faults found by verification.
    Faults(FaultsWriter),
    /// Steps of the requests in the kernel.
    Path(PathWriter),
    /// A run, or a demand if there is no run.
    Either(RunWriter, DemandWriter),
}

/// A table and the stem of its file.
struct Table {
    stem: &'static str,
    source: Source,
}

const fn of_run(stem: &'static str, write: RunWriter) -> Table {
    Table { stem, source: Source::Run(write) }
}

const fn of_demand(stem: &'static str, write: DemandWriter) -> Table {
    Table { stem, source: Source::Demand(write) }
}

const fn of_either(stem: &'static str, run: RunWriter, demand: DemandWriter) -> Table {
    Table { stem, source: Source::Either(run, demand) }
}

/// Every table, in the order of the pictures. The smoothed ones have no picture: it would show values that were
/// never measured.
static TABLES: &[Table] = &[
    of_either("g000.overview.thrp", run::overview_requests, demand::requests),
    of_either("g000.overview.thrs", run::overview_bytes, demand::bytes),
    of_either("g00.thrp.setpoint", run::demanded_requests, demand::requests),
    of_either("g00.thrs.setpoint", run::demanded_bytes, demand::bytes),
    of_run("g00.thrp.completed", run::delivered_requests),
    of_run("g00.thrs.completed", run::delivered_bytes),
    of_run("g00.response", |m, _, out| run::over_time(m.responses(), out)),
    of_run("g01.latency.realtime", |m, _, out| run::over_time(&m.diagrams.latency, out)),
    of_run("g02.latency.setpoint", |m, _, out| run::over_time(&m.diagrams.latency_by_due, out)),
    of_run("g03.latency.completed", |m, _, out| run::over_time(&m.diagrams.latency_by_completion, out)),
    of_run("g03.latency.points", |m, _, out| run::over_numbers(&m.diagrams.latency_by_number, out)),
    of_run("g04.delay.setpoint", |m, _, out| run::over_time(&m.diagrams.delay, out)),
    of_run("g05.delay.points", |m, _, out| run::over_numbers(&m.diagrams.delay_by_number, out)),
    of_run("g06.latency.bins", |m, _, out| run::bins(&m.diagrams.latency, out)),
    of_run("g07.delay.bins", |m, _, out| run::bins(&m.diagrams.delay, out)),
    of_run("g08.latency.flying", |m, _, out| run::levels(&m.diagrams.in_flight, out)),
    of_run("g08.smooth.latency.flying", |m, options, out| run::smoothed(&m.diagrams.in_flight, options, out)),
    of_run("g09.delay.flying", |m, _, out| run::levels(&m.diagrams.waiting, out)),
    of_run("g09.smooth.delay.flying", |m, options, out| run::smoothed(&m.diagrams.waiting, options, out)),
    of_run("g10.latency.xy", |m, _, out| run::against("in_flight", &m.diagrams.latency_in_flight, out)),
    of_run("g11.delay.xy", |m, _, out| run::against("waiting", &m.diagrams.delay_waiting, out)),
    of_run("g12.latency.delay.xy", |m, _, out| run::against("delay_ns", &m.diagrams.latency_delay, out)),
    of_run("g20.response.percentiles", run::percentiles),
    of_demand("g30.ws_log", demand::working_sets),
    of_demand("g31.ws_lin", demand::working_sets),
    of_demand("g32.sum_dist", demand::spans),
    of_demand("g33.avg_dist", demand::distances),
    of_demand("g40.rqsize.bins", demand::sizes),
    of_demand("g41.rqpos.bins", demand::positions),
    of_demand("g42.turns.setpoint", demand::turns),
    of_run("g43.turns.completed", run::turns),
    of_demand("g44.freq.bins", demand::frequencies),
    of_demand("g45.miss_ratio", demand::miss_ratios),
    of_demand("g46.seek_map", demand::seek_map),
    of_run("g53.submit_lag", |m, _, out| run::over_time(&m.diagrams.issue_error, out)),
    of_run("g54.answer_lag", |m, _, out| run::over_time(&m.diagrams.reap_lag, out)),
    Table { stem: "g60.machine", source: Source::Machine(run::machine) },
    Table { stem: "g61.extents", source: Source::Extents(extents::table) },
    Table { stem: "g62.fault-map", source: Source::Faults(faults::list) },
    Table { stem: "g63.fault-strip", source: Source::Faults(faults::counts) },
    Table { stem: "g64.path", source: Source::Path(path::groups) },
];

/// Stems of all tables that the material supports, in the order of the pictures.
pub fn data_stems<'a>(material: &'a Material<'a>) -> impl Iterator<Item = &'static str> + 'a {
    let has = |table: &&Table| match table.source {
        Source::Run(_) => material.run.is_some() && !lacks_delay(table.stem, material),
        Source::Demand(_) => material.demand.is_some(),
        Source::Machine(_) => material.run.is_some_and(|run| run.machine.is_some()),
        Source::Extents(_) => material.run.is_some_and(|run| run.extents.is_some()),
        Source::Faults(_) => material.run.is_some_and(|run| run.faults().is_some()),
        Source::Path(_) => material.run.is_some_and(|run| run.summary.path.is_some()),
        Source::Either(..) => material.run.is_some() || material.demand.is_some(),
    };
    TABLES.iter().filter(has).map(|table| table.stem)
}

/// Writes the table of a picture; returns `false` if there is no such table, or the material does not suffice.
pub fn write_data(
    stem: &str,
    material: &Material<'_>,
    options: &DataOptions,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let Some(table) = TABLES.iter().find(|t| t.stem == stem) else { return Ok(false) };
    if lacks_delay(stem, material) {
        return Ok(false);
    }
    let (run, demand) = (&material.run, material.demand);
    let out = &mut Out { out, safe: options.csv_safe };
    match (&table.source, run, demand) {
        (Source::Run(write) | Source::Either(write, _), Some(run), _) => write(run, options, out)?,
        (Source::Demand(write) | Source::Either(_, write), _, Some(demand)) => write(demand, out)?,
        (Source::Machine(write), Some(RunMaterial { machine: Some(machine), .. }), _) => write(machine, out)?,
        (Source::Extents(write), Some(RunMaterial { extents: Some(found), .. }), _) => write(found, out)?,
        (Source::Faults(write), Some(run), _) if run.faults().is_some() => write(run.faults, out)?,
        (Source::Path(write), Some(run), _) => match &run.summary.path {
            Some(path) => write(path, out)?,
            None => return Ok(false),
        },
        _ => return Ok(false),
    }
    Ok(true)
}

/// Names of all files that [`write_data_files`] may write for these pictures; for all if `only` is empty.
pub fn data_files(only: &[Picture]) -> impl Iterator<Item = String> + '_ {
    let wanted = |table: &&Table| only.is_empty() || only.iter().any(|p| p.stem() == table.stem);
    TABLES.iter().filter(wanted).map(|table| file_name(table.stem))
}

fn file_name(stem: &str) -> String {
    format!("{stem}.csv")
}

/// Writes all tables that the material supports, or those of `only`, as `STEM.csv` into `folder`.
pub fn write_data_files(
    material: &Material<'_>,
    folder: &dyn Folder,
    only: &[&str],
    options: &DataOptions,
) -> io::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for stem in data_stems(material).filter(|stem| only.is_empty() || only.contains(stem)) {
        let mut fill = |out: &mut dyn Write| write_data(stem, material, options, out).map(drop);
        written.push(folder.write(&file_name(stem), &mut fill)?);
    }
    Ok(written)
}
