//! The two forms of the workbook of `-b`. The extension of its name selects one.

use crate::biff2::worksheet;
use crate::settings::Settings;
use crate::workbook::workbook;
use iosonar_cells::{Matrix, Table};
use rust_xlsxwriter::XlsxError;
use std::path::Path;

/// Form of a workbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkbookForm {
    /// Office Open XML.
    Xlsx,
    /// One sheet, as IOzone 3 writes it.
    Biff2,
}

impl WorkbookForm {
    /// The form of a file: `Biff2` for `.xls` and `.wks`, otherwise `Xlsx`.
    pub fn of(name: &str) -> WorkbookForm {
        let extension = Path::new(name).extension().unwrap_or_default().to_ascii_lowercase();
        if extension == "xls" || extension == "wks" { WorkbookForm::Biff2 } else { WorkbookForm::Xlsx }
    }

    /// Builds the workbook in this form.
    ///
    /// # Errors
    /// More rows or columns than a sheet of `Xlsx` can hold.
    pub fn build(self, settings: &Settings, matrix: &Matrix, table: &Table) -> Result<Vec<u8>, XlsxError> {
        match self {
            WorkbookForm::Biff2 => Ok(worksheet(settings, matrix, table)),
            WorkbookForm::Xlsx => workbook(settings, matrix, table),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_the_form_by_extension() {
        for name in ["a.xls", "a.XLS", "dir.xlsx/a.wks"] {
            assert_eq!(WorkbookForm::of(name), WorkbookForm::Biff2, "{name}");
        }
        for name in ["a.xlsx", "a", "xls", "a.xls.gz", ".xls"] {
            assert_eq!(WorkbookForm::of(name), WorkbookForm::Xlsx, "{name}");
        }
    }
}
