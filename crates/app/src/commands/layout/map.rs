//! `iosonar layout map`: extent maps.

use super::picture::Picture;
use super::{Visited, files, visit};
use crate::exit::{Exit, Failure};
use crate::layout_args::MapArgs;
use crate::outputs::gate_of;
use iosonar_host::{Fact, Root, file_system_of};
use iosonar_layout::{Addresses, Extent, Groups, Map, MapsJson, Scan, Volume};
use iosonar_os::extents::{Extents, attributes, xfs_geometry};
use iosonar_os::{block_bytes, statx};
use iosonar_view::{show_map, show_maps};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Prints maps of files.
pub fn map(args: &MapArgs) -> Result<Exit, Failure> {
    let is_single = args.files.len() == 1 && !args.files[0].is_dir();
    let gate = gate_of(&args.files);
    let picture = Picture::of(args, is_single, &gate)?;
    let keeps_extents = args.extents || picture.is_some() || is_single && !args.summary;
    let mut reader = Reader::new(!args.no_sync, keeps_extents);
    let mut visited = visit(&args.files, &args.progress, |path| reader.read(path));
    // Where one file is as fragmented as another, the order stays that of the names.
    visited.found.sort_by_key(|map| Reverse((map.figures.fragments, map.figures.records)));
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

fn json(visited: &Visited<Map>, out: &mut dyn Write) -> std::io::Result<()> {
    let document = MapsJson { tool: super::TOOL, maps: &visited.found, errors: &visited.errors };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn text(args: &MapArgs, is_single: bool, maps: &[Map], out: &mut dyn Write) -> std::io::Result<()> {
    let unit = args.unit.into();
    if is_single || args.extents {
        maps.iter().try_for_each(|map| show_map(map, unit, out))?;
    }
    match is_single || maps.is_empty() {
        true => Ok(()),
        false => show_maps(maps, args.top, out),
    }
}

/// Reads maps.
pub struct Reader {
    /// Whether files are flushed first.
    syncs: bool,
    /// Whether more than figures are kept.
    keeps_extents: bool,
    /// What is known about file systems, by mount and device number.
    volumes: HashMap<(Option<u64>, u64), Arc<Volume>>,
}

impl Reader {
    pub fn new(syncs: bool, keeps_extents: bool) -> Reader {
        Reader { syncs, keeps_extents, volumes: HashMap::new() }
    }

    /// The map of a file, or why it has none.
    pub fn read(&mut self, path: &Path) -> Result<Map, String> {
        let (file, facts) = files::open(path)?;
        let attributes = attributes(&file).ok();
        let mut volume = self.volume(path, &file, facts.dev()).map_err(|error| error.to_string())?;
        if attributes.is_some_and(|found| found.is_realtime) {
            // The realtime device has no allocation groups of the data device.
            let addresses = Addresses::RealtimeDevice;
            volume = Arc::new(Volume { groups: None, bytes: None, addresses, ..(*volume).clone() });
        }
        let mut scan = Scan::new(facts.len(), volume.block_bytes, volume.groups, self.keeps_extents);
        for extent in Extents::of(&file, self.syncs) {
            let extent = extent.map_err(|error| in_words(&error, &volume))?;
            scan.add(Extent::new(extent.logical, extent.physical, extent.length, extent.flags));
        }
        let (figures, kept) = scan.finish();
        let (rows, beyond) = kept.unzip();
        let extent_size_hint = attributes.map_or(0, |found| found.extent_size_bytes.into());
        let (path, size, is_synced) = (path.to_path_buf(), facts.len(), self.syncs);
        Ok(Map { path, volume, size, extent_size_hint, is_synced, figures, rows, beyond })
    }

    fn volume(&mut self, path: &Path, file: &File, device: u64) -> std::io::Result<Arc<Volume>> {
        let mount = statx::extra(path).ok().and_then(|extra| extra.mount_id);
        if let Some(known) = self.volumes.get(&(mount, device)) {
            return Ok(Arc::clone(known));
        }
        let volume = Arc::new(describe(path, file)?);
        self.volumes.insert((mount, device), Arc::clone(&volume));
        Ok(volume)
    }
}

fn describe(path: &Path, file: &File) -> std::io::Result<Volume> {
    let (kind, mount_point, source) = match file_system_of(path, &Root::default()) {
        Fact::Known(found) => (found.kind, Some(found.mount_point), Some(found.source)),
        Fact::Absent { .. } => ("unknown file system".to_string(), None, None),
    };
    let geometry = xfs_geometry(file).ok().filter(|found| kind == "xfs" && found.group_bytes > 0);
    Ok(Volume {
        addresses: Addresses::of(&kind),
        kind,
        mount_point,
        source,
        block_bytes: block_bytes(file)?,
        groups: geometry.map(|found| Groups { count: found.groups, bytes: found.group_bytes }),
        bytes: geometry.map(|found| found.data_bytes),
    })
}

/// Why a file has no map.
fn in_words(error: &std::io::Error, volume: &Volume) -> String {
    let kind = &volume.kind;
    let is_unsupported = error.kind() == ErrorKind::Unsupported || error.raw_os_error() == Some(ENOTTY);
    match (is_unsupported, kind.as_str()) {
        (true, "tmpfs" | "ramfs") => format!("{kind} has no extent maps: its files are in memory"),
        (true, _) => format!("{kind} reports no extent maps (FIEMAP): {error}"),
        _ => format!("cannot read its extents on {kind}: {error}"),
    }
}

/// What a file system without ioctls answers.
const ENOTTY: i32 = 25;
