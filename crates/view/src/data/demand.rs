//! Tables of loads.

use super::csv::{Csv, Out, row};
use iosonar_analyze::demand::{ConsecutiveSeries, DemandAnalysis, SECTOR_BYTES};
use iosonar_plan::Op;
use std::io;

/// Requests in each window.
pub(super) fn requests(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let rates = &d.series.throughput;
    windows(rates.width_ns, &rates.reads, &rates.writes, ["reads", "writes"], 1, out)
}

pub(super) fn bytes(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let rates = &d.series.throughput;
    let names = ["read_bytes", "written_bytes"];
    windows(rates.width_ns, &rates.read_sectors, &rates.write_sectors, names, SECTOR_BYTES, out)
}

fn windows(
    width: u64,
    reads: &[u64],
    writes: &[u64],
    [read, write]: [&str; 2],
    factor: u64,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let mut csv = Csv::new(out, &["time_begin_ns", "time_end_ns", read, write])?;
    for (i, (read, write)) in reads.iter().zip(writes).enumerate() {
        let begin = (i as u64).saturating_mul(width);
        let end = begin.saturating_add(width);
        row!(csv, begin, end, read.saturating_mul(factor), write.saturating_mul(factor))?;
    }
    Ok(())
}

/// Sliding windows; the infinite one has no length.
pub(super) fn working_sets(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let names = ["window_s", "end_s", "first_sectors", "sectors", "pages_4k"];
    let mut csv = Csv::new(out, &names)?;
    for window in &d.series.working_sets {
        let sets = &window.sliding;
        for (i, ((start, touched), pages)) in
            sets.start.iter().zip(&sets.touched).zip(&sets.pages).enumerate()
        {
            let end = (i as u64 + 1).saturating_mul(window.step_s);
            row!(csv, window.window_s, end, *start, *touched, *pages)?;
        }
    }
    Ok(())
}

/// Consecutive windows with their length and number.
fn consecutive(d: &DemandAnalysis) -> impl Iterator<Item = (u64, &ConsecutiveSeries)> {
    d.series.working_sets.iter().filter_map(|w| Some((w.window_s?, w.consecutive.as_ref()?)))
}

pub(super) fn spans(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["window_s", "begin_s", "first_sectors", "sum_dist_sectors"])?;
    for (window, series) in consecutive(d) {
        for (k, (start, span)) in series.sets.start.iter().zip(&series.sum_dist).enumerate() {
            row!(csv, window, (k as u64).saturating_mul(window), *start, *span)?;
        }
    }
    Ok(())
}

pub(super) fn distances(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["window_s", "begin_s", "avg_dist_sectors", "mean_gap_sectors"])?;
    for (window, series) in consecutive(d) {
        for (k, (average, gap)) in series.avg_dist.iter().zip(&series.mean_gap).enumerate() {
            row!(csv, window, (k as u64).saturating_mul(window), *average, *gap)?;
        }
    }
    Ok(())
}

pub(super) fn sizes(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["first_sectors", "last_sectors", "reads", "writes"])?;
    d.series.sizes.iter().try_for_each(|s| row!(csv, s.first, s.last, s.reads, s.writes))
}

pub(super) fn positions(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["begin_sector", "end_sector", "reads", "writes"])?;
    let cells = &d.series.positions;
    for (i, (reads, writes)) in cells.reads.iter().zip(&cells.writes).enumerate() {
        let begin = (i as u64).saturating_mul(cells.cell_sectors);
        if reads + writes > 0 {
            row!(csv, begin, begin.saturating_add(cells.cell_sectors), *reads, *writes)?;
        }
    }
    Ok(())
}

pub(super) fn turns(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let turns = &d.series.turns;
    windows(turns.width_ns, &turns.requests, &turns.turns, ["requests", "turns"], 1, out)
}

/// Number of pages by frequency of use.
pub(super) fn frequencies(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["scope", "rank_first", "rank_last", "accesses"])?;
    let groups = &d.series.frequency_groups;
    for (scope, groups) in [("all", &groups.all), ("read", &groups.read), ("write", &groups.write)] {
        let mut rank = 0u64;
        for group in groups {
            row!(csv, scope, rank + 1, rank + group.pages, group.accesses)?;
            rank += group.pages;
        }
    }
    Ok(())
}

/// Misses in parts of the accesses, from each size of the cache on.
pub(super) fn miss_ratios(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["cache_pages_4k", "miss_all", "miss_reads", "miss_writes"])?;
    let points = &d.series.miss_ratio;
    points.iter().try_for_each(|m| row!(csv, m.cache_pages, m.miss.all, m.miss.read, m.miss.write))
}

pub(super) fn seek_map(d: &DemandAnalysis, out: &mut Out<'_>) -> io::Result<()> {
    let names = ["time_begin_ns", "time_end_ns", "begin_sector", "end_sector", "class", "requests"];
    let mut csv = Csv::new(out, &names)?;
    let map = &d.series.seek_map;
    for column in 0..map.columns {
        let time = map.column_ns.saturating_mul(column as u64);
        for row in 0..map.rows {
            let sector = map.row_sectors.saturating_mul(row as u64);
            for op in [Op::Read, Op::Write] {
                let n = u64::from(map.count(column, row, op));
                if n > 0 {
                    let (time_end, end) =
                        (time.saturating_add(map.column_ns), sector.saturating_add(map.row_sectors));
                    row!(csv, time, time_end, sector, end, op.name(), n)?;
                }
            }
        }
    }
    Ok(())
}
