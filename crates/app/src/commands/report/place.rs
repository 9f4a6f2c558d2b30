//! Paths of the page and its side-cars.

use crate::args::report::ReportArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_host::output::{Existing, Gate, Output, OutputError, OutputName};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// Path of the page: in the directory of a result, or beside a file.
pub fn page_path(args: &ReportArgs) -> Result<PathBuf, Failure> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let first = &args.inputs[0];
    if args.inputs.len() == 1 && first.is_dir() {
        return Ok(first.join("report.html"));
    }
    let name = match first.file_name().filter(|_| first.as_path() != Path::new("-")) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "report".to_string(),
    };
    Ok(PathBuf::from(format!("{name}.html")))
}

/// Paths of the side-cars of A and of B.
pub fn side_car_paths(out: &Path) -> [PathBuf; 2] {
    ["trace", "b.trace"].map(|extension| out.with_extension(extension))
}

/// Paths of the page and its side-cars.
pub struct PageFiles {
    pub gate: Gate<'static>,
    pub existing: Existing,
    pub page: PathBuf,
}

impl PageFiles {
    /// Refuses names that may not be written, before anything is read.
    pub fn check(&self, args: &ReportArgs) -> Result<(), Failure> {
        let side_cars = if args.side_car { side_car_paths(&self.page).to_vec() } else { Vec::new() };
        let refuse = |why| Err(Failure::refused(anyhow!("--out {}: {why}", shown(&self.page))));
        if args.side_car && self.page.metadata().is_ok_and(|facts| !facts.is_file()) {
            return refuse("it is no file, and --side-car writes beside the page: name a file");
        }
        if side_cars.contains(&self.page) {
            return refuse(
                "--side-car writes a file of this very name: give the page another one, say .html",
            );
        }
        let mut paths = side_cars.iter().chain([&self.page]);
        paths.try_for_each(|path| self.gate.check(&name(path), self.existing)).map_err(Failure::refused)
    }

    /// Creates a file that is published when it is whole.
    pub fn create(&self, path: &Path) -> Result<Output, OutputError> {
        self.gate.create(&name(path), self.existing)
    }
}

fn name(path: &Path) -> OutputName {
    OutputName::new("--out", path)
}
