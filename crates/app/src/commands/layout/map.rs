//! `iosonar layout map`: extent maps.

use super::picture::Picture;
use crate::args::layout::MapArgs;
use crate::exit::{Exit, Failure};
use crate::file_progress::show_files;
use crate::outputs::gate_of;
use iosonar_layout::Map;
use iosonar_plaintext as plaintext;
use iosonar_studies::layout::map::{self, Question};
use std::io::{BufWriter, Write};

/// Prints maps of files.
pub fn map(args: &MapArgs) -> Result<Exit, Failure> {
    let is_single = args.files.len() == 1 && !args.files[0].is_dir();
    let gate = gate_of(&args.files);
    let picture = Picture::of(args, is_single, &gate)?;
    let question = Question {
        files: args.files.clone(),
        flushes: !args.no_sync,
        keeps_extents: args.extents || picture.is_some() || is_single && !args.summary,
    };
    let mut answer = show_files(&args.progress, |session| map::run(session, &question));
    if let (Some(picture), Some(map)) = (picture, answer.maps.first_mut()) {
        picture.draw(map)?;
        if args.summary {
            (map.rows, map.beyond) = (None, None);
        }
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        serde_json::to_writer_pretty(&mut out, &answer.json()).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        text(args, is_single, &answer.maps, &mut out)?;
    }
    out.flush()?;
    Ok(answer.success().into())
}

fn text(args: &MapArgs, is_single: bool, maps: &[Map], out: &mut dyn Write) -> std::io::Result<()> {
    let unit = args.unit.into();
    if is_single || args.extents {
        maps.iter().try_for_each(|map| plaintext::map(map, unit, out))?;
    }
    match is_single || maps.is_empty() {
        true => Ok(()),
        false => plaintext::maps(maps, args.top, out),
    }
}
