//! Pictures of `layout run`: each file on its disk.

use super::picture::bytes_of;
use crate::exit::Failure;
use anyhow::Context;
use iosonar_campaign::creation::CreationAnswer;
use iosonar_layout::Map;
use iosonar_os::create::new_file;
use iosonar_view::Format;
use std::io::Write;
use std::path::Path;

/// Draws the first file of each method. `maps` has the files of all methods, in their order.
pub fn draw(answer: &CreationAnswer, maps: &[Map], out: &Path) -> Result<(), Failure> {
    let mut first = 0;
    for method in &answer.methods {
        if let Some(map) = maps.get(first) {
            let path = out.join(format!("map-{}.png", method.method));
            let picture = bytes_of(map, Format::Png);
            let written = new_file(&path).and_then(|mut file| file.write_all(&picture));
            written.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::broke)?;
        }
        first += method.files.len();
    }
    Ok(())
}
