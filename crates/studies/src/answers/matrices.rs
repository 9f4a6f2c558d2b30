//! Kept matrices: their text, and their tables.

use super::told;
use crate::matrix::{CELLS, asked, table_of};
use iosonar_cells::{Table, table_text};
use iosonar_os::bounded::{ARCHIVE_LIMIT, read_text};
use iosonar_runner::Error;
use iosonar_text::shown;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A table with its path as typed.
pub type NamedTable = (String, Table);

/// Returns the tables if all inputs are matrices; `None` if no input is.
///
/// # Errors
/// Some are matrices and others are not, or a table cannot be read.
pub fn matrices(paths: &[PathBuf]) -> Result<Option<Vec<NamedTable>>, Error> {
    let files: Vec<Option<PathBuf>> = paths.iter().map(|path| cells_of(path)).collect();
    let Some(matrix) = files.iter().position(Option::is_some) else { return Ok(None) };
    if let Some(other) = files.iter().position(Option::is_none) {
        return Err(Error::refused_because(format_args!(
            "{} is no matrix, and {} is one: compare matrices with matrices, and runs with runs",
            shown(&paths[other]),
            shown(&paths[matrix])
        )));
    }
    let read = |(path, file): (&PathBuf, PathBuf)| {
        let text = read_text(&file, ARCHIVE_LIMIT)
            .map_err(|error| Error::refused(error).context(shown(&file).to_string()))?;
        Ok((path.display().to_string(), table_of(&file, &text)?))
    };
    paths.iter().zip(files.into_iter().flatten()).map(read).collect::<Result<_, _>>().map(Some)
}

/// The file with the cells of a matrix: in its directory, or the JSON file itself.
fn cells_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join(CELLS)).filter(|cells| cells.exists());
    }
    let mut head = [0; 64];
    let read = File::open(path).ok().filter(|_| path.is_file())?.read(&mut head).ok()?;
    let first = head[..read].iter().find(|byte| !byte.is_ascii_whitespace());
    (first == Some(&b'{')).then(|| path.to_path_buf())
}

/// The answer in a directory, from the text of its cells. The question determines the cautions.
pub(super) fn text(dir: &Path, cells: &str) -> Result<String, Error> {
    let table = table_of(&dir.join(CELLS), cells)?;
    let matrix = asked(dir).and_then(|question| question.matrix(0).ok());
    let mut text = told(table.story.as_ref()) + &table_text(&table, matrix.as_ref());
    if matrix.is_none() {
        text += "Cautions on these figures are missing: matrix.json, the question, cannot be read.\n";
    }
    if table.missing_cells > 0 {
        let (missing, dir) = (table.missing_cells, shown(&dir));
        text +=
            &format!("Cells that are missing: {missing}; to measure them: iosonar matrix --resume {dir}\n");
    }
    Ok(text)
}
