//! Files that IOzone's reports go to.

use crate::exit::Failure;
use iosonar_campaign::{Matrix, Table};
use iosonar_dialect_iozone::{Settings, workbook, worksheet};
use iosonar_host::Root;
use iosonar_host::output::{Gate, OutputName, Reserved, Role};
use std::io::Write;
use std::path::Path;

/// Every file that output goes to, tested before the run: none is a target, and none is named twice.
pub struct Reservations {
    json: Option<Reserved>,
    csv: Option<Reserved>,
    /// With the form that the name asks for.
    workbook: Option<(Reserved, Form)>,
}

/// Form of a workbook.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Office Open XML.
    Xlsx,
    /// One sheet, as IOzone 3 writes it.
    Biff2,
}

impl Reservations {
    /// Tests all files that the command line names.
    pub fn of<'a>(
        settings: &Settings,
        targets: impl Iterator<Item = &'a Path>,
    ) -> Result<Reservations, Failure> {
        let root = Root::default();
        let mut gate = Gate::new(&root);
        targets.enumerate().for_each(|(number, path)| gate.forbid(path, Role::Target(number)));
        let mut reserve = |option: &str, name: &Option<String>| {
            let reserve = |name: &String| gate.reserve(&OutputName::new(option, name), false);
            name.as_ref().map(reserve).transpose().map_err(Failure::refused)
        };
        let form = |name: &String| if name.ends_with(".xls") { Form::Biff2 } else { Form::Xlsx };
        let form = settings.workbook.as_ref().map(form);
        Ok(Reservations {
            json: reserve("--json", &settings.json)?,
            csv: reserve("--csv", &settings.csv)?,
            workbook: reserve("-b", &settings.workbook)?.zip(form),
        })
    }

    /// Writes all of them.
    pub fn write(self, settings: &Settings, matrix: &Matrix, table: &Table) -> Result<(), Failure> {
        let write = |reserved: Reserved, bytes: &[u8]| {
            let mut file = reserved.open()?;
            file.write_all(bytes).and_then(|()| file.flush())
        };
        self.json.map(|file| write(file, table.to_json().as_bytes())).transpose()?;
        self.csv.map(|file| write(file, table.csv().as_bytes())).transpose()?;
        if let Some((file, form)) = self.workbook {
            let bytes = match form {
                Form::Biff2 => worksheet(settings, matrix, table),
                Form::Xlsx => workbook(settings, matrix, table).map_err(anyhow::Error::from)?,
            };
            write(file, &bytes)?;
        }
        Ok(())
    }
}
