//! The page of two matrices side by side: heat maps of both and of their difference. It needs no script.

use super::frame::{cautions, for_both_themes, page_of};
use crate::svg::escape_lines;
use crate::{MatrixGrid, change_svg, escape, heat_svg, matrix_range};
use std::fmt::Write;

/// One test in two matrices.
pub struct ComparedMaps {
    /// The baseline.
    pub a: MatrixGrid,
    /// The matrix compared with it.
    pub b: MatrixGrid,
    /// B divided by A, of cells that both have.
    pub ratio: MatrixGrid,
    /// Whether a cell shows a difference.
    pub is_shown: Vec<Vec<bool>>,
}

/// Two matrices to describe.
pub struct MatrixComparisonPart {
    /// Names of both.
    pub title: String,
    /// The answer in a sentence.
    pub answer: String,
    /// Cautions to read before believing the figures.
    pub cautions: Vec<String>,
    /// The comparison as text, with all figures.
    pub text: String,
    /// Tests, methods and numbers of streams.
    pub maps: Vec<ComparedMaps>,
}

/// The page, complete in itself: a part for each matrix that is compared with the baseline.
pub fn matrix_comparison_page(title: &str, parts: &[MatrixComparisonPart]) -> String {
    let mut body = String::new();
    for part in parts {
        _ = writeln!(body, "<h2>{}</h2>\n<p><b>{}</b></p>", escape(&part.title), escape(&part.answer));
        cautions(&mut body, &part.cautions);
        for maps in &part.maps {
            let range = matrix_range(&[maps.a.clone(), maps.b.clone()]);
            let both = [("A", &maps.a), ("B", &maps.b)];
            _ = writeln!(body, "<h3>{}</h3>", escape(&maps.ratio.title));
            for (name, grid) in both {
                let picture = for_both_themes(|theme| heat_svg(grid, range, theme, &|_, _| None));
                _ = writeln!(body, "<figure>\n<figcaption>{name}: MiB/s</figcaption>\n{picture}</figure>");
            }
            let is_shown = |file: usize, record: usize| {
                maps.is_shown.get(file).and_then(|row| row.get(record)).copied().unwrap_or(false)
            };
            let picture = for_both_themes(|theme| change_svg(&maps.ratio, theme, &is_shown));
            _ = writeln!(body, "<figure>\n<figcaption>change from A to B</figcaption>\n{picture}</figure>");
        }
        _ = writeln!(
            body,
            "<details><summary>All figures as text</summary>\n<pre>{}</pre></details>",
            escape_lines(&part.text)
        );
    }
    page_of(title, &body)
}
