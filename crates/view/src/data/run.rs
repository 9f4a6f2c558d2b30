//! Tables of runs.

use super::DataOptions;
use super::csv::{Csv, Out, row};
use crate::RunMaterial;
use iosonar_analyze::SLOTS;
use iosonar_analyze::{
    Cell, Class, ClassOccupancy, ClassSeries, Correlation, CountGrid, MachineSeries, ROWS, Scope,
    row_lower_edge,
};
use std::io;

/// Maximum rows for each curve of requests in flight.
const LEVELS: usize = 4_096;

/// First and last duration of a slot: at or above the first, below the second.
fn slot_range(slot: usize) -> (u64, Option<u64>) {
    match slot {
        0 => (0, Some(row_lower_edge(0))),
        slot => (row_lower_edge(slot - 1), (slot <= ROWS).then(|| row_lower_edge(slot))),
    }
}

type Unit = fn(&iosonar_analyze::CountSeries) -> &[u64];

fn of_requests(series: &iosonar_analyze::CountSeries) -> &[u64] {
    &series.requests
}

fn of_bytes(series: &iosonar_analyze::CountSeries) -> &[u64] {
    &series.bytes
}

pub(super) fn overview_requests(m: &RunMaterial<'_>, _: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    overview(m, "requests", of_requests, out)
}

pub(super) fn overview_bytes(m: &RunMaterial<'_>, _: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    overview(m, "bytes", of_bytes, out)
}

fn overview(m: &RunMaterial<'_>, name: &str, of: Unit, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["time_begin_ns", "time_end_ns", "side", name])?;
    let rates = m.diagrams.rates();
    let demanded = m.summary.has_target_rate().then_some(("demanded", rates.demanded));
    for (side, series) in demanded.into_iter().chain([("delivered", rates.delivered)]) {
        let sum = series.scope(Scope::All);
        for (i, n) in of(&sum).iter().enumerate() {
            let begin = (i as u64).saturating_mul(rates.width_ns);
            row!(csv, begin, begin.saturating_add(rates.width_ns), side, *n)?;
        }
    }
    Ok(())
}

pub(super) fn demanded_requests(m: &RunMaterial<'_>, _: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    let rates = m.diagrams.rates();
    by_class(rates.demanded, rates.width_ns, "requests", of_requests, out)
}

pub(super) fn demanded_bytes(m: &RunMaterial<'_>, _: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    let rates = m.diagrams.rates();
    by_class(rates.demanded, rates.width_ns, "bytes", of_bytes, out)
}

pub(super) fn delivered_requests(m: &RunMaterial<'_>, _: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    let rates = m.diagrams.rates();
    by_class(rates.delivered, rates.width_ns, "requests", of_requests, out)
}

pub(super) fn delivered_bytes(m: &RunMaterial<'_>, _: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    let rates = m.diagrams.rates();
    by_class(rates.delivered, rates.width_ns, "bytes", of_bytes, out)
}

fn by_class(series: &ClassSeries, width: u64, name: &str, of: Unit, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["time_begin_ns", "time_end_ns", "class", name])?;
    for class in Class::TRANSFERS {
        for (i, n) in of(series.of(class)).iter().enumerate().filter(|(_, n)| **n > 0) {
            let begin = (i as u64).saturating_mul(width);
            row!(csv, begin, begin.saturating_add(width), class.name(), *n)?;
        }
    }
    Ok(())
}

/// A grid over time.
pub(super) fn over_time(grid: &CountGrid, out: &mut Out<'_>) -> io::Result<()> {
    over(grid, ["time_begin_ns", "time_end_ns"], out)
}

/// A grid over the number of the request.
pub(super) fn over_numbers(grid: &CountGrid, out: &mut Out<'_>) -> io::Result<()> {
    over(grid, ["number_begin", "number_end"], out)
}

fn over(grid: &CountGrid, [begin, end]: [&str; 2], out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &[begin, end, "value_low_ns", "value_high_ns", "class", "requests"])?;
    let width = grid.axis().width_ns();
    let mut cells = vec![Cell::default(); SLOTS];
    for column in 0..grid.axis().columns() {
        cells.fill(Cell::default());
        grid.add_column(column, &mut cells);
        let begin = (column as u64).saturating_mul(width);
        for (slot, class, n) in filled(&cells) {
            let (low, high) = slot_range(slot);
            row!(csv, begin, begin.saturating_add(width), low, high, class.name(), n)?;
        }
    }
    Ok(())
}

/// Cells with requests: slot, class and number.
fn filled(cells: &[Cell]) -> impl Iterator<Item = (usize, Class, u64)> + '_ {
    let of_slot = |(slot, cell): (usize, &Cell)| {
        let cell = *cell;
        Class::ALL.into_iter().map(move |class| (slot, class, cell[class.index()]))
    };
    cells.iter().enumerate().flat_map(of_slot).filter(|(_, _, n)| *n > 0)
}

/// The sums of a grid over the whole time.
pub(super) fn bins(grid: &CountGrid, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["value_low_ns", "value_high_ns", "class", "requests"])?;
    for (slot, class, n) in filled(&grid.marginal()) {
        let (low, high) = slot_range(slot);
        row!(csv, low, high, class.name(), n)?;
    }
    Ok(())
}

/// Least, median and greatest number, and the exact mean over time, of each step.
pub(super) fn levels(levels: &ClassOccupancy, out: &mut Out<'_>) -> io::Result<()> {
    let names = ["time_begin_ns", "time_end_ns", "scope", "min", "median", "max", "mean"];
    let mut csv = Csv::new(out, &names)?;
    for scope in Scope::TRANSFERS {
        let occupancy = levels.scope(scope);
        let width = occupancy.band_ns(LEVELS);
        for (i, band) in occupancy.bands(LEVELS).into_iter().enumerate() {
            let begin = (i as u64).saturating_mul(width);
            let end = begin.saturating_add(width);
            row!(csv, begin, end, scope.name(), band.min, band.median, band.max, band.mean)?;
        }
    }
    Ok(())
}

/// Plain means of consecutive windows, each at its end. They are means over time, not over events, so that
/// a burst of requests does not count for more than its time. Inside a stored column the number counts as constant.
pub(super) fn smoothed(levels: &ClassOccupancy, options: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["window_end_ns", "scope", "mean"])?;
    for scope in Scope::TRANSFERS {
        let occupancy = levels.scope(scope);
        let (integral, width) = (occupancy.integral_ns(), occupancy.axis().width_ns());
        // Narrower windows than columns would only repeat them.
        let window = options.smooth_window_ns.max(width);
        let end_ns = occupancy.axis().end_ns();
        let mut begin = 0u64;
        while begin < end_ns {
            let end = begin.saturating_add(window).min(end_ns);
            let mean = part(&integral, width, begin..end) / (end - begin) as f64;
            row!(csv, end, scope.name(), mean)?;
            begin = end;
        }
    }
    Ok(())
}

/// Request-nanoseconds of a part of the time.
fn part(integral: &[u128], width: u64, time: std::ops::Range<u64>) -> f64 {
    let (first, last) = ((time.start / width) as usize, ((time.end - 1) / width) as usize);
    let share = |column: usize| {
        let begin = column as u64 * width;
        let covered = time.end.min(begin.saturating_add(width)) - time.start.max(begin);
        integral.get(column).map_or(0.0, |n| *n as f64 * covered as f64 / width as f64)
    };
    (first..=last).map(share).sum()
}

/// A duration over another quantity.
pub(super) fn against(name: &str, counts: &Correlation, out: &mut Out<'_>) -> io::Result<()> {
    let (low, high) = (format!("{name}_low"), format!("{name}_high"));
    let mut csv = Csv::new(out, &[&low, &high, "value_low_ns", "value_high_ns", "class", "requests"])?;
    for column in 0..counts.columns() {
        let begin = counts.lower_edge(column);
        let end = (column + 1 < counts.columns()).then(|| counts.lower_edge(column + 1));
        for (slot, class, n) in filled(counts.column(column)) {
            let (low, high) = slot_range(slot);
            row!(csv, begin, end, low, high, class.name(), n)?;
        }
    }
    Ok(())
}

/// Service and response time: number of requests that took no longer than a value.
pub(super) fn percentiles(m: &RunMaterial<'_>, _: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["time", "scope", "value_ns", "requests_up_to", "percent"])?;
    let Some(tally) = m.tally else { return Ok(()) };
    let has_response = m.summary.run.has_timetable && m.summary.knows_delay();
    let response = has_response.then(|| ("response", tally.response()));
    for (name, distributions) in [("service", tally.latency())].into_iter().chain(response) {
        for scope in Scope::BY_OP {
            let distribution = distributions.get(scope);
            let (total, mut below) = (distribution.count(), 0u64);
            for value in distribution.histogram().iter_recorded() {
                below += value.count_since_last_iteration();
                let percent = below as f64 / total as f64 * 100.0;
                row!(csv, name, scope.name(), value.value_iterated_to(), below, percent)?;
            }
        }
    }
    Ok(())
}

pub(super) fn turns(m: &RunMaterial<'_>, _: &DataOptions, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["time_begin_ns", "time_end_ns", "requests", "turns"])?;
    let turns = &m.diagrams.turns;
    let width = turns.axis().width_ns();
    for (i, (requests, turns)) in turns.requests().iter().zip(turns.turns()).enumerate() {
        let begin = (i as u64).saturating_mul(width);
        row!(csv, begin, begin.saturating_add(width), *requests, *turns)?;
    }
    Ok(())
}

/// Rates and levels between the samples of the machine's counters.
pub(super) fn machine(series: &MachineSeries, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["time_begin_ns", "time_end_ns", "of", "quantity", "value"])?;
    for (quantity, of, steps) in series.curves() {
        for step in steps {
            row!(csv, step.begin_ns, step.end_ns, of, quantity, step.value)?;
        }
    }
    Ok(())
}
