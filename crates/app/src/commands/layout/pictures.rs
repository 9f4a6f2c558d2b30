//! Pictures of `layout run`: each file on its disk.

use super::TOOL;
use crate::exit::Failure;
use anyhow::Context;
use iosonar_campaign::creation::{CreationAnswer, MethodAnswer};
use iosonar_layout::Map;
use iosonar_os::create::new_file;
use iosonar_view::{Format, Style, Subject, layout_picture};
use std::io::Write;
use std::path::Path;

/// Draws the first file of each method. `maps` has the files of all methods, in their order.
pub fn draw(answer: &CreationAnswer, maps: &[Map], out: &Path) -> Result<(), Failure> {
    let mut first = 0;
    for method in &answer.methods {
        if let Some(map) = maps.get(first) {
            let subject =
                Subject { tool: TOOL.into(), command: answer.setting.command.clone(), ..Subject::default() };
            let bytes = layout_picture(map, &subject, Format::Png, &Style::default());
            let path = out.join(name(method));
            let written = new_file(&path).and_then(|mut file| file.write_all(&bytes));
            written.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::broke)?;
        }
        first += method.files.len();
    }
    Ok(())
}

fn name(method: &MethodAnswer) -> String {
    format!("map-{}.png", method.method)
}
