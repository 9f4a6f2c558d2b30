//! The picture of a map, as a file that the user names.

use crate::args::layout::MapArgs;
use crate::exit::Failure;
use crate::outputs::existing;
use anyhow::{Context, anyhow};
use iosonar_archive::TOOL;
use iosonar_host::output::{Existing, Gate, OutputName};
use iosonar_layout::Map;
use iosonar_text::shown;
use iosonar_view::{Format, Style, Subject, layout_picture};
use std::io::Write;

/// A picture whose path has passed the gate.
pub struct Picture<'a> {
    gate: &'a Gate<'a>,
    name: OutputName,
    format: Format,
    existing: Existing,
}

impl<'a> Picture<'a> {
    /// The picture of `--picture`, checked before anything is read.
    pub fn of(args: &MapArgs, is_single: bool, gate: &'a Gate<'a>) -> Result<Option<Picture<'a>>, Failure> {
        let Some(path) = &args.picture else { return Ok(None) };
        let refused = |why: &str| Err(Failure::refused(anyhow!("--picture {}: {why}", shown(&path))));
        if !is_single {
            return refused("it shows one file: name one, and no directory");
        }
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let Some(format) = extension.and_then(|extension| Format::from_extension(&extension)) else {
            return refused("its form is not known: give a name that ends in .png or .svg");
        };
        let (name, existing) = (OutputName::new("--picture", path), existing(args.force));
        gate.check(&name, existing).map_err(Failure::refused)?;
        Ok(Some(Picture { gate, name, format, existing }))
    }

    /// Draws a map whose rows were kept.
    pub fn draw(&self, map: &Map) -> Result<(), Failure> {
        let bytes = bytes_of(map, self.format);
        let mut output = self.gate.create(&self.name, self.existing).map_err(Failure::refused)?;
        let cannot = || format!("--picture {}", shown(&self.name.path));
        output.write_all(&bytes).with_context(cannot)?;
        output.publish().with_context(cannot)?;
        Ok(())
    }
}

/// The picture of a map whose rows were kept, as a file.
pub fn bytes_of(map: &Map, format: Format) -> Vec<u8> {
    let subject =
        Subject { tool: TOOL.into(), command: crate::session::command_line(), ..Subject::default() };
    layout_picture(map, &subject, format, &Style::default())
}
