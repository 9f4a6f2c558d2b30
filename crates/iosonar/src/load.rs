//! Stores requests of a program as a load.

use iosonar_os::create::Unfinished;
use iosonar_plan::{Extent, Nanos, Op, SECTOR};
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_demand};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A request of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it is due, since the start of the run.
    pub due: Nanos,
    /// The operation.
    pub op: Op,
    /// Where it begins, in bytes: a multiple of 512. Ignored if the operation has no place.
    pub offset: u64,
    /// Its length in bytes: a multiple of 512 above 0. Ignored if the operation has no place.
    pub length: u64,
}

/// Why requests cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file exists, or cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A request is not on whole sectors, or has none.
    #[error("request {0}: offset and length are not multiples of 512, or the length is 0")]
    Uneven(u64),
    /// A request lies beyond the largest offset.
    #[error("request {0} ends beyond 2^63 bytes")]
    Beyond(u64),
    /// A request is due before the one before it.
    #[error("request {0} is due before request {before}", before = .0 - 1)]
    Backward(u64),
}

/// Stores requests as a load in a new file, in the form of blkreplay's loads; returns their number. A plan replays them
/// (`workload = { kind = "trace", file = … }`). The load is stored first, so that a result names all that is needed to repeat
/// it. The requests are written one by one: their number may exceed the memory. Nothing remains after an error.
///
/// # Errors
/// The file exists or cannot be written, or a request does not fit a load.
pub fn write_load(path: &Path, requests: impl IntoIterator<Item = Request>) -> Result<u64, LoadError> {
    let folder = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut unfinished = Unfinished::begin(folder)?;
    let mut out = BufWriter::new(unfinished.file());
    writeln!(out, "{LOAD_HEADER}")?;
    let (mut number, mut last) = (0, Nanos(0));
    for request in requests {
        number += 1;
        if request.due < last {
            return Err(LoadError::Backward(number));
        }
        last = request.due;
        write_demand(&mut out, &timed(number, &request)?)?;
    }
    out.flush()?;
    drop(out);
    unfinished.name_new(path)?;
    Ok(number)
}

fn timed(number: u64, request: &Request) -> Result<TimedRequest, LoadError> {
    Ok(TimedRequest {
        line: number,
        time: request.due,
        op: request.op,
        durability: Default::default(),
        extent: if request.op.has_place() { extent(number, request)? } else { Extent::default() },
        pushed: false,
        delay: Nanos(0),
        latency: Nanos(0),
    })
}

fn extent(number: u64, request: &Request) -> Result<Extent, LoadError> {
    let (offset, length) = (request.offset, request.length);
    if offset % SECTOR != 0 || length % SECTOR != 0 || length == 0 {
        return Err(LoadError::Uneven(number));
    }
    Extent::from_sectors(offset / SECTOR, length / SECTOR).ok_or(LoadError::Beyond(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(due: u64, offset: u64, length: u64) -> Request {
        Request { due: Nanos(due), op: Op::Read, offset, length }
    }

    #[test]
    fn requests_that_do_not_fit_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.load");
        let written = |requests: &[Request]| write_load(&path, requests.iter().copied()).unwrap_err();
        assert!(matches!(written(&[read(0, 0, 4096), read(1, 100, 4096)]), LoadError::Uneven(2)));
        assert!(matches!(written(&[read(0, 0, 0)]), LoadError::Uneven(1)));
        assert!(matches!(written(&[read(0, u64::MAX - 1023, 1024)]), LoadError::Beyond(1)));
        let backward = written(&[read(5, 0, 512), read(4, 0, 512)]);
        assert_eq!(backward.to_string(), "request 2 is due before request 1");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn stores_all_operations_in_blkreplays_form() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.load");
        let flush = Request { due: Nanos(2_000), op: Op::Flush, offset: 0, length: 0 };
        let write = Request { op: Op::Write, ..read(1_000, 8192, 4096) };
        assert_eq!(write_load(&path, [write, flush]).unwrap(), 2);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = text.lines().skip(1).map(|line| line.replace(' ', "")).collect();
        assert_eq!(lines, ["0.000001000;16;8;W;0.0;0.0", "#flush;0.000002000;0.0;0.0"]);
        let exists = write_load(&path, [write]).unwrap_err();
        assert!(matches!(exists, LoadError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists));
    }
}
