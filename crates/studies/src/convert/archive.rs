//! Traces as archives, or as files of records.

use crate::new_archive::NewArchive;
use anyhow::Context;
use iosonar_archive::{ArchiveWriter, RECORDS, RunInfo, RunState};
use iosonar_dialect_blkreplay::recording;
use iosonar_inputs::traces::Device;
use iosonar_os::create;
use iosonar_os::made::OwnDir;
use iosonar_runner::Error;
use iosonar_text::shown;
use iosonar_trace::Traced;
use std::path::{Path, PathBuf};

/// A trace converted to an archive, or to a file of records alone: it is written beside its path, and renamed when it is complete.
pub struct Converted {
    archive: NewArchive,
    partial: OwnDir,
    path: PathBuf,
    is_parquet: bool,
}

impl Converted {
    /// Starts the output for `path`. At most `together` records are held.
    pub fn begin(path: &Path, is_parquet: bool, origin: &str, together: usize) -> Result<Converted, Error> {
        let (plan, run) = recording(origin, 0);
        let environment = serde_json::json!({ "converted_from": origin });
        let beside = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let partial = OwnDir::new_in(beside, "convert").with_context(|| shown(path).to_string());
        let partial = partial.map_err(Error::refused)?;
        let dir = partial.path().join(ARCHIVE);
        let begun = RunInfo { state: RunState::Running, ..run.clone() };
        let writer = ArchiveWriter::create(&dir, &plan, &environment, &begun).map_err(Error::refused)?;
        let archive = NewArchive::of(writer, plan, run, together)?;
        Ok(Converted { archive, partial, path: path.to_path_buf(), is_parquet })
    }

    /// Adds a request; returns whether it became a record.
    #[inline]
    pub fn push(&mut self, request: &Traced, device: Device<'_>) -> Result<bool, Error> {
        self.archive.push(request, device)
    }

    /// Completes the output: Parquet and summary, or the records alone. `recorded`: statistics of the kernel's events, if the trace has
    /// them.
    pub fn end(self, remarks: &[String], recorded: Option<iosonar_archive::Recorded>) -> Result<(), Error> {
        let Converted { mut archive, partial, path, is_parquet } = self;
        if let Some(recorded) = recorded {
            archive.recorded(recorded);
        }
        partial.remove_leftovers();
        let whole = if is_parquet {
            archive.finish(remarks)?;
            partial.path().join(ARCHIVE).join(RECORDS)
        } else {
            archive.end(remarks)?;
            partial.path().join(ARCHIVE)
        };
        let renamed =
            create::rename_new(&whole, &path).with_context(|| format!("cannot write {}", shown(&path)));
        renamed.map_err(Error::broke)
    }
}

/// Name of the archive in the temporary directory, until it is complete.
const ARCHIVE: &str = "archive";
