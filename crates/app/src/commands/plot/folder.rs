//! The directory of the pictures.

use crate::args::plot::PlotArgs;
use crate::exit::Failure;
use crate::outputs::{PLOTS, PictureFolder, existing};
use iosonar_host::output::Gate;
use std::path::PathBuf;

/// Opens the directory of the pictures: beside the records of a run, otherwise named after the input.
pub fn folder<'a>(args: &PlotArgs, gate: &'a Gate<'a>) -> Result<PictureFolder<'a>, Failure> {
    PictureFolder::open(gate, &directory(args), existing(args.force))
}

fn directory(args: &PlotArgs) -> PathBuf {
    match (&args.out, args.inputs.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [dir]) if dir.is_dir() => dir.join(PLOTS),
        (None, inputs) => {
            let name = inputs[0].file_name().map_or("stdin".into(), |name| name.to_string_lossy());
            let name = if name == "-" { "stdin".into() } else { name };
            let stem = name.trim_end_matches(".gz").trim_end_matches(".load").trim_end_matches(".replay");
            PathBuf::from(format!("{stem}.plots"))
        }
    }
}
