//! The matrix that is measured: the command line with what its files and this machine add.

use super::super::processors;
use super::clients::with_clients;
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_cells::{Matrix, Pair};
use iosonar_dialect_iozone::{Settings, TelemetryFacts};
use iosonar_host::Root;
use iosonar_host::environment::{cache_bytes, memory};
use iosonar_os::bounded::{LIST_LIMIT, read_text};
use iosonar_plan::ByteSize;
use iosonar_runner::new_run_id;
use iosonar_text::shown;
use iosonar_trace::read_telemetry;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Adds to the command line the contents of the files that it names.
pub fn completed(settings: &Settings) -> Result<Settings, Failure> {
    let settings = with_clients(settings)?;
    let telemetry = (
        telemetry_of("-X", settings.write_telemetry.as_deref())?,
        telemetry_of("-Y", settings.read_telemetry.as_deref())?,
    );
    finding_file(Settings { telemetry, ..settings })
}

/// The matrix of the settings on this machine.
pub fn matrix_of(settings: &Settings) -> Result<Matrix, Failure> {
    let matrix = settings.matrix(new_run_id()).map_err(Failure::refused)?;
    // Files of other machines are examined there.
    let is_elsewhere = matrix.executors.iter().any(|executor| executor.host().is_some());
    let is_device = !is_elsewhere && matrix.files.iter().any(|file| is_block_device(file));
    let cpus = settings.cpus(processors()).map_err(Failure::refused)?;
    let purge_cpu_cache = match settings.purge && settings.cpu_cache.is_none() {
        true => cpu_cache().unwrap_or(matrix.purge_cpu_cache),
        false => matrix.purge_cpu_cache,
    };
    let memory = memory(&Root::default()).total.known().copied().filter(|_| !is_elsewhere);
    Ok(Matrix { is_device, cpus, purge_cpu_cache, ..matrix }.claiming(memory))
}

/// Adapts `-Y` to an existing test file, which is not written then.
fn finding_file(settings: Settings) -> Result<Settings, Failure> {
    if !settings.may_find_file() {
        return Ok(settings);
    }
    let files = settings.matrix(new_run_id()).map_err(Failure::refused)?.files;
    if !files.iter().all(|file| file.is_file()) {
        return Ok(settings);
    }
    let mut settings = Settings { finds_file: true, ..settings };
    settings
        .notices
        .push("-Y: the test file exists, so it is read and kept, and test 0 does not write it".into());
    Ok(settings)
}

/// Size of the largest CPU cache; `None` if unknown.
fn cpu_cache() -> Option<ByteSize> {
    cache_bytes(&Root::default()).known().map(|bytes| ByteSize((*bytes).min(1 << 30)))
}

/// Reads a telemetry file; empty if none is named.
fn telemetry_of(option: &str, file: Option<&str>) -> Result<TelemetryFacts, Failure> {
    let Some(file) = file else { return Ok(TelemetryFacts::default()) };
    let refuse = |why: String| Failure::refused(anyhow!("{option} {file}: {why}"));
    let text = read_text(Path::new(file), LIST_LIMIT).map_err(|error| refuse(error.to_string()))?;
    let entries = read_telemetry(&text).map_err(|error| refuse(error.to_string()))?;
    let extents = || entries.iter().map(|entry| entry.extent);
    Ok(TelemetryFacts {
        end: extents().map(|extent| extent.end()).max().unwrap_or(0),
        longest: extents().map(|extent| extent.length).max().unwrap_or(0),
    })
}

fn is_block_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_block_device())
}

/// Checks that files which no test creates exist and are long enough.
pub fn check_files(matrix: &Matrix) -> Result<(), Failure> {
    let is_elsewhere = matrix.executors.iter().any(|executor| executor.host().is_some());
    if matrix.makes_files() || is_elsewhere {
        return Ok(());
    }
    let is_listed = matrix.telemetry.read.is_some();
    let needed = |pair: &Pair| if is_listed { pair.file } else { pair.bytes() };
    let needed = matrix.pairs.iter().map(needed).max().unwrap_or_default();
    for file in &matrix.files {
        let path = shown(&file);
        let found = file.metadata().map_err(|error| {
            Failure::refused(anyhow!(
                "file {path}: {error}; the selected tests read a file that exists: add -i 0, or name one"
            ))
        })?;
        if found.is_file() && found.len() < needed.0 {
            return Err(Failure::refused(anyhow!(
                "file {path}: it holds {} bytes, and tests read {}: {}",
                found.len(),
                needed.0,
                if is_listed { "name another file, or another one with -Y" } else { "use a smaller -s" }
            )));
        }
    }
    Ok(())
}
