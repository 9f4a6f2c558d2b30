//! The page of a matrix: heat maps in which a click on a cell opens its measurements and its latencies. It needs no script.

use super::frame::{cautions, facts, for_both_themes, heading, page_of, story};
use crate::charts::latency_svg;
use crate::{MatrixGrid, escape, heat_svg, matrix_range};
use iosonar_analyze::Statement;
use std::fmt::Write;

/// A matrix to describe.
pub struct MatrixPage<'a> {
    /// The files that were measured.
    pub title: String,
    /// Its story, at the top; `None` in a directory of an earlier version.
    pub story: Option<&'a Statement>,
    /// Lines below: machine, command.
    pub lines: Vec<String>,
    /// Cautions to read before believing the figures.
    pub cautions: Vec<String>,
    /// A heat map for each.
    pub grids: &'a [MatrixGrid],
    /// Cells of each grid: rows of files, columns of records; absent if not measured.
    pub cells: Vec<Vec<Vec<Option<MatrixCell>>>>,
}

/// Details of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatrixCell {
    /// Its name.
    pub title: String,
    /// Its figures, in sentences.
    pub lines: Vec<String>,
    /// Latency histogram: lower edge in nanoseconds, and count; steps of 1/8 of a factor of two.
    pub histogram: Vec<(u64, u64)>,
}

const HATCHED: &str = "Hatched cells vary more than the cells differ: the 95 % interval of the cell spans a larger factor than the \
                       medians of its map do, without the lowest and the highest tenth of them.";

/// The page, complete in itself.
pub fn matrix_page(page: &MatrixPage<'_>) -> String {
    let mut out = String::new();
    story(&mut out, &page.title, page.story, "cells.json");
    facts(&mut out, &page.lines);
    cautions(&mut out, &page.cautions);
    out.push_str("<p>A click on a cell shows its repetitions and how long its requests took.</p>\n");
    if page.grids.iter().any(MatrixGrid::has_noise) {
        _ = writeln!(out, "<p>{HATCHED}</p>");
    }
    let range = matrix_range(page.grids);
    for (number, (grid, cells)) in page.grids.iter().zip(&page.cells).enumerate() {
        let id = |row: usize, column: usize| format!("cell-{number}-{row}-{column}");
        let link = |row: usize, column: usize| {
            let is_there = cells.get(row).and_then(|row| row.get(column)).is_some_and(Option::is_some);
            is_there.then(|| format!("#{}", id(row, column)))
        };
        let picture = for_both_themes(|theme| heat_svg(grid, range, theme, &link));
        _ = writeln!(
            out,
            "<h2>{}</h2>\n<figure id=\"grid-{number}\">\n{picture}</figure>",
            escape(&grid.title)
        );
        for (row, cells) in cells.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                if let Some(cell) = cell {
                    out.push_str(&section(&id(row, column), number, cell));
                }
            }
        }
    }
    page_of(heading(&page.title, page.story), &out)
}

fn section(id: &str, grid: usize, cell: &MatrixCell) -> String {
    let lines: String = cell.lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
    let picture = match cell.histogram.is_empty() {
        true => String::new(),
        false => for_both_themes(|theme| latency_svg(&cell.histogram, theme)),
    };
    format!(
        "<section class=\"cell\" id=\"{id}\">\n<a class=\"close\" href=\"#grid-{grid}\" aria-label=\"close\">×</a>\n\
         <h2>{}</h2>\n{lines}{picture}</section>\n",
        escape(&cell.title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measured_cell_links_to_its_details() {
        let grid = MatrixGrid {
            title: "read, sync".into(),
            stem: "read".into(),
            files: vec![65_536, 131_072],
            records: vec![4096, 131_072],
            values: vec![vec![Some(1e9), None], vec![Some(2e9), Some(3e9)]],
            noisy: vec![vec![true, true], vec![false, false]],
            ..MatrixGrid::default()
        };
        let cell = |n: u64| {
            let histogram = if n == 3 { Vec::new() } else { vec![(1000 * n, 5), (3000 * n, 1)] };
            Some(MatrixCell { title: format!("cell {n} <x>"), lines: vec!["3 times".into()], histogram })
        };
        let page = MatrixPage {
            title: "a & b".into(),
            story: None,
            lines: vec!["machine".into()],
            cautions: vec!["memory".into()],
            grids: &[grid],
            cells: vec![vec![vec![cell(1), None], vec![cell(2), cell(3)]]],
        };
        let html = matrix_page(&page);
        for id in ["cell-0-0-0", "cell-0-1-0", "cell-0-1-1"] {
            // From the picture for light pages, and from the one for dark ones.
            assert_eq!(html.matches(&format!("href=\"#{id}\"")).count(), 2, "{id}");
            assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
        assert!(
            !html.contains("cell-0-0-1") && html.contains("cell 2 &lt;x&gt;") && html.contains("a &amp; b")
        );
        assert_eq!(html.matches("data-hatched=\"true\"").count(), 2, "one cell, in both themes");
        assert_eq!(html.matches(HATCHED).count(), 1);
        assert!(html.contains("<h1>a &amp; b</h1>") && html.contains("Latency of 6 requests"));
        let story = Statement { headline: "Speeds of <memory>.".into(), ..Statement::default() };
        let page = MatrixPage { story: Some(&story), ..page };
        let html = matrix_page(&page);
        assert!(html.contains("<h1>Speeds of &lt;memory&gt;.</h1>\n<dl class=\"facts\">"));
        assert!(html.contains("<p><b>a &amp; b</b></p>"), "the page names what was measured");
        assert!(!html.contains("<script"));
        let calm = [MatrixGrid { noisy: Vec::new(), ..page.grids[0].clone() }];
        assert!(!matrix_page(&MatrixPage { grids: &calm, ..page }).to_lowercase().contains("hatched"));
    }
}
