//! Pictures and the page of a matrix.

use crate::exit::Failure;
use crate::outputs::{PictureFolder, gate_of};
use anyhow::Context;
use iosonar_analyze::{Caution, CautionId, Severity};
use iosonar_cells::{CellResult, Grid, mib, rates};
use iosonar_host::output::Existing;
use iosonar_os::create::write_whole;
use iosonar_plan::ByteSize;
use iosonar_studies::matrix::Answer;
use iosonar_text::shown;
use iosonar_text::units::{Charset, duration, number};
use iosonar_view::{
    Format, MatrixCell, MatrixGrid, MatrixMaterial, MatrixPage, Plateau, PlotOptions, Subject, matrix_page,
    plot_matrix,
};
use std::collections::BTreeMap;

/// Name of the page.
pub const PAGE: &str = "matrix.html";

/// Draws all grids, and writes the page. Pictures of an earlier part are replaced.
pub fn draw(answer: &Answer) -> Result<(), Failure> {
    let matrix = &answer.matrix;
    let grids = answer.table.grids();
    let drawn: Vec<MatrixGrid> =
        grids.iter().map(|grid| picture_of(grid, answer, grid.is_cached(matrix))).collect();
    // Every picture says that figures are those of the page cache, or may be.
    let caution = |text| Caution { id: CautionId::NotDirect, severity: Severity::Warning, text };
    let subject = Subject {
        cautions: answer.table.cautions(matrix).into_iter().map(caution).collect(),
        what: format!("{} on {}", answer.files(), answer.table.machine.words),
        how: answer.how(),
        tool: answer.table.tool.clone(),
        command: answer.table.command.clone(),
        ..Subject::default()
    };
    let options = PlotOptions { formats: vec![Format::Png, Format::Svg], ..PlotOptions::default() };
    let gate = gate_of(&[]);
    let folder = PictureFolder::open(&gate, &answer.dir, Existing::ReplaceOwn)?;
    plot_matrix(&MatrixMaterial { subject: &subject, grids: &drawn }, &folder, &options)?;
    folder.keep();
    let page = MatrixPage {
        title: format!("File operations on {}", answer.files()),
        story: answer.table.story.as_ref(),
        lines: vec![answer.table.machine.words.clone(), answer.how(), answer.table.command.clone()],
        cautions: answer.table.cautions(matrix),
        grids: &drawn,
        cells: grids.iter().map(cells_of).collect(),
    };
    let path = answer.dir.join(PAGE);
    let written = write_whole(&path, matrix_page(&page).as_bytes());
    written.with_context(|| format!("cannot write {}", shown(&path))).map_err(Failure::broke)
}

fn picture_of(grid: &Grid, answer: &Answer, is_cached: bool) -> MatrixGrid {
    let plateaus = grid.plateaus(&answer.table.machine, is_cached).into_iter().map(|found| Plateau {
        from_file: found.from_file,
        to_file: found.to_file,
        bytes_per_second: found.bytes_per_second,
        name: found.name.into(),
    });
    MatrixGrid {
        title: grid.title(),
        stem: grid.stem(),
        files: grid.files.clone(),
        records: grid.records.clone(),
        values: grid.medians(),
        plateaus: plateaus.collect(),
        noisy: grid.noisy(),
    }
}

fn cells_of(grid: &Grid) -> Vec<Vec<Option<MatrixCell>>> {
    let row = |(file, row): (&u64, &Vec<Vec<&CellResult>>)| {
        let cell = |(record, cell): (&u64, &Vec<&CellResult>)| cell_of(grid, *file, *record, cell);
        grid.records.iter().zip(row).map(cell).collect()
    };
    grid.files.iter().zip(&grid.cells).map(row).collect()
}

/// Text of the page on a cell; `None` if it was not measured.
fn cell_of(grid: &Grid, file: u64, record: u64, repetitions: &[&CellResult]) -> Option<MatrixCell> {
    let found = rates(repetitions)?;
    let mut lines = vec![format!(
        "median {} MiB/s ({} MB/s) of {} repetitions, from {} to {} MiB/s",
        mib(found.median),
        number(found.median / 1e6),
        found.n,
        mib(found.least),
        mib(found.most)
    )];
    if let Some((low, high)) = found.interval() {
        let mean = mib(found.mean);
        lines.push(format!("geometric mean {mean} MiB/s, 95 % interval {} to {} MiB/s", mib(low), mib(high)));
    }
    for r in repetitions {
        let time = |ns: u64| duration(ns, Charset::Unicode);
        let latency = r.latency.map(|t| {
            let p99 = t.p99_ns.map(|p99| format!(", p99 {}", time(p99))).unwrap_or_default();
            format!("; latency p50 {}{p99}, longest {}", time(t.p50_ns), time(t.max_ns))
        });
        let latency = latency.unwrap_or_default();
        let cpu = r.cpu_ns.map(|ns| format!(", CPU {}", time(ns))).unwrap_or_default();
        let (rate, elapsed) = (mib(r.bytes_per_second), time(r.elapsed_ns));
        lines.push(format!(
            "repetition {}: {rate} MiB/s, {} requests in {elapsed}{cpu}{latency}",
            r.repeat + 1,
            r.ops
        ));
    }
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    repetitions.iter().flat_map(|r| &r.histogram).for_each(|(ns, n)| *counts.entry(*ns).or_default() += n);
    Some(MatrixCell {
        title: format!("{}: file {}, record {}", grid.title(), ByteSize(file), ByteSize(record)),
        lines,
        histogram: counts.into_iter().collect(),
    })
}
