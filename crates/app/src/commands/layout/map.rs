//! `iosonar layout map`: extent maps.

use super::picture::Picture;
use super::{Visited, files, visit};
use crate::args::layout::MapArgs;
use crate::exit::{Exit, Failure};
use crate::outputs::gate_of;
use iosonar_host::extent_map::{Keep, MapReader};
use iosonar_layout::{Map, MapsJson};
use iosonar_plaintext as plaintext;
use std::cmp::Reverse;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Prints maps of files.
pub fn map(args: &MapArgs) -> Result<Exit, Failure> {
    let is_single = args.files.len() == 1 && !args.files[0].is_dir();
    let gate = gate_of(&args.files);
    let picture = Picture::of(args, is_single, &gate)?;
    let keeps_extents = args.extents || picture.is_some() || is_single && !args.summary;
    let keeps = if keeps_extents { Keep::Extents } else { Keep::Figures };
    let mut reader = MapReader::new(!args.no_sync, keeps);
    let mut visited = visit(&args.files, &args.progress, |path| map_of(&mut reader, path));
    // Equally fragmented files stay in the order of the names.
    visited.found.sort_by_key(|map| Reverse((map.figures.least_fragments(), map.figures.records)));
    if let (Some(picture), Some(map)) = (picture, visited.found.first_mut()) {
        picture.draw(map)?;
        if args.summary {
            (map.rows, map.beyond) = (None, None);
        }
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        json(&visited, &mut out)?;
    } else {
        text(args, is_single, &visited.found, &mut out)?;
    }
    out.flush()?;
    Ok(visited.exit())
}

/// Maps a file that was named or found, or returns the reason of a failure.
pub fn map_of(reader: &mut MapReader, path: &Path) -> Result<Map, String> {
    let (file, _) = files::open(path)?;
    reader.read(path, &file).map_err(|error| error.to_string())
}

fn json(visited: &Visited<Map>, out: &mut dyn Write) -> std::io::Result<()> {
    let document = MapsJson { tool: super::TOOL, maps: &visited.found, errors: &visited.errors };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
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
