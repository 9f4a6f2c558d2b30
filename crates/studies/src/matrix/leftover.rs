//! Test files of killed parts of a matrix. They are removed if they are proved to be its own.
//!
//! The proof is their content: each sector that a matrix writes names the run that wrote it. Sectors not reached by a write may be zeros. A
//! file of zeros only, or an empty one, is its own if it was created while a part of the matrix ran.

use super::study::Study;
use iosonar_archive::{Archive, LOG, RunState};
use iosonar_content::SectorHeader;
use iosonar_os::made::{FileId, Made};
use iosonar_plan::{RunId, SECTOR};
use iosonar_runner::{Error, Notice, Session};
use iosonar_text::shown;
use std::fs::{File, Metadata, symlink_metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A part that was killed.
struct Killed {
    run_id: RunId,
    /// From its start to the last kept record, extended by the time that records may wait in memory.
    lasted: (SystemTime, SystemTime),
}

/// Maximum time for which a writer holds records in memory.
const UNWRITTEN: Duration = Duration::from_secs(1);

/// Removes test files of killed parts that are in the way of the next part. Any other file stays, for the plan to refuse it.
pub(super) fn remove(session: &Session, study: &Study) -> Result<(), Error> {
    // Files of other users prove nothing: the plan refuses existing test files.
    if study.question.destroy || !study.is_own {
        return Ok(());
    }
    let killed: Vec<Killed> = study.parts().filter_map(|part| killed(&part)).collect();
    let is_here = |stream: usize| study.question.executor(stream).host().is_none();
    let files =
        study.question.files.iter().enumerate().filter(|(number, _)| !killed.is_empty() && is_here(*number));
    for (_, path) in files {
        let Ok(found) = symlink_metadata(path) else { continue };
        if !found.is_file() {
            continue;
        }
        let refused = |error: io::Error| Error::refused(error).context(path.display().to_string());
        let own = own(path, &found, &killed).map_err(refused)?;
        let Some(own) = own else {
            return Err(Error::refused_because(format_args!(
                "{}: the file exists, and it does not hold what this matrix wrote: move it away, or overwrite it with --destroy",
                shown(&path)
            )));
        };
        own.remove().map_err(refused)?;
        session.observer.notice(&Notice::Remark(&format!(
            "{} was left by a part of this matrix that was killed: it is removed",
            shown(&path)
        )));
    }
    Ok(())
}

/// A part whose run did not end. A running one would have its matrix locked.
fn killed(part: &Path) -> Option<Killed> {
    let archive = Archive::open(part).ok()?;
    let run = archive.run();
    if run.state != RunState::Running {
        return None;
    }
    let start = SystemTime::UNIX_EPOCH + Duration::from_nanos(run.started_unix_ns);
    let log: PathBuf = part.join(LOG);
    let last = log.metadata().and_then(|log| log.modified()).unwrap_or(start);
    Some(Killed { run_id: archive.plan().run_id, lasted: (start - UNWRITTEN, last + UNWRITTEN) })
}

/// The file at the path, if a killed part created it.
fn own(path: &Path, found: &Metadata, killed: &[Killed]) -> io::Result<Option<Made>> {
    let file = File::open(path)?;
    let opened = file.metadata()?;
    let made = Made::proved(path, "it holds what a part of this matrix wrote, or is empty since that part")?;
    if (opened.dev(), opened.ino()) != (found.dev(), found.ino()) || made.id() != FileId::of(&file)? {
        return Ok(None);
    }
    // Without a birth time from the file system, the content decides.
    let born = opened.created().ok();
    let lasted = |part: &Killed, born| (part.lasted.0..=part.lasted.1).contains(&born);
    let is_of_run = |run: RunId| killed.iter().any(|part| part.run_id == run);
    let is_own = match content(file, &is_of_run)? {
        Content::Own => true,
        Content::Zeros => born.is_some_and(|born| killed.iter().any(|part| lasted(part, born))),
        Content::Foreign => false,
    };
    Ok(is_own.then_some(made))
}

/// Content of a file.
#[derive(Debug, PartialEq)]
enum Content {
    /// Sectors of the matrix, and perhaps zeros.
    Own,
    /// Nothing, or zeros.
    Zeros,
    /// Something else.
    Foreign,
}

fn content(mut file: impl Read, is_of_run: &dyn Fn(RunId) -> bool) -> io::Result<Content> {
    let (mut found, mut piece) = (Content::Zeros, Vec::with_capacity(1 << 20));
    loop {
        piece.clear();
        if file.by_ref().take(1 << 20).read_to_end(&mut piece)? == 0 {
            return Ok(found);
        }
        let (sectors, rest) = piece.as_chunks::<{ SECTOR as usize }>();
        for sector in sectors {
            match SectorHeader::decode(sector) {
                Ok(header) if is_of_run(header.run_id) => found = Content::Own,
                _ if sector.iter().all(|byte| *byte == 0) => {}
                _ => return Ok(Content::Foreign),
            }
        }
        if rest.iter().any(|byte| *byte != 0) {
            return Ok(Content::Foreign);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_content::fill;
    use iosonar_plan::Fill;

    fn sectors(run_id: RunId, count: u64) -> Vec<u8> {
        let first = SectorHeader { run_id, phase: 1, sector: 8, sequence: 2, ..SectorHeader::default() };
        let mut bytes = vec![0; (count * SECTOR) as usize];
        fill(&mut bytes, first, Fill { random_percent: 100 });
        bytes
    }

    #[test]
    fn recognizes_only_data_written_by_the_run_as_own() {
        let holds = |bytes: Vec<u8>| content(&bytes[..], &|run| run == 7).unwrap();
        assert_eq!(holds(sectors(7, 5)), Content::Own);
        assert_eq!(holds([sectors(7, 3), vec![0; 700]].concat()), Content::Own);
        assert_eq!(holds(Vec::new()), Content::Zeros);
        assert_eq!(holds(vec![0; 5000]), Content::Zeros);
        assert_eq!(holds(sectors(8, 1)), Content::Foreign);
        assert_eq!(holds(b"precious".to_vec()), Content::Foreign);
        let mut damaged = sectors(7, 3000);
        damaged[2999 * 512 + 100] ^= 1;
        assert_eq!(holds(damaged), Content::Foreign);
        assert_eq!(holds([sectors(7, 3), b"more".to_vec()].concat()), Content::Foreign);
    }
}
