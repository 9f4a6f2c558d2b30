//! Stores requests of a program as a load.

use iosonar_os::create::Unfinished;
use iosonar_plan::{Extent, Nanos, Op, SECTOR};
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_demand};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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

/// Why requests cannot be stored. Requests are numbered from 1.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file exists, or cannot be written.
    #[error("{}: {error}", iosonar_text::shown(path))]
    Io {
        /// The load.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// A load has no word for an operation: it has reads, writes, flushes, discards and write-zeroes.
    #[error(
        "request {number}: a load cannot hold '{op}'; it holds reads, writes, flushes, discards and write-zeroes"
    )]
    Unsupported {
        /// Which request.
        number: u64,
        /// Its operation.
        op: Op,
    },
    /// A request is not on whole sectors, has no length, or ends beyond the largest offset.
    #[error(
        "request {number}: offset {offset} and length {length} must be multiples of 512, with a length above 0 and an end below 2^63"
    )]
    Unaligned {
        /// Which request.
        number: u64,
        /// Its offset in bytes.
        offset: u64,
        /// Its length in bytes.
        length: u64,
    },
    /// A request is due before the one before it, or after 2^63 ns.
    #[error("request {number}: due at {due}, but times must not run backward from {last} or exceed 2^63 ns")]
    Due {
        /// Which request.
        number: u64,
        /// When it is due.
        due: Nanos,
        /// When the request before it is due.
        last: Nanos,
    },
}

/// Stores requests as a load in a new file, in the form of blkreplay's loads; returns their number. A plan replays them
/// (`workload = { kind = "trace", file = … }`). The load is stored first, so that a result names all that is needed to repeat
/// it. The requests are written one by one: their number may exceed the memory. Nothing remains after an error.
///
/// # Errors
/// The file exists or cannot be written, or a request does not fit a load.
pub fn write_load(path: &Path, requests: impl IntoIterator<Item = Request>) -> Result<u64, LoadError> {
    let cannot = |error| LoadError::Io { path: path.to_path_buf(), error };
    // Found before the requests are made. What appears meanwhile is not replaced either.
    if path.symlink_metadata().is_ok() {
        return Err(cannot(io::ErrorKind::AlreadyExists.into()));
    }
    let mut unfinished = Unfinished::begin(path.parent().unwrap_or(Path::new(""))).map_err(cannot)?;
    let mut out = BufWriter::new(unfinished.file());
    writeln!(out, "{LOAD_HEADER}").map_err(cannot)?;
    let (mut number, mut last) = (0, Nanos(0));
    for request in requests {
        number += 1;
        if request.due < last || request.due.0 >= 1 << 63 {
            return Err(LoadError::Due { number, due: request.due, last });
        }
        last = request.due;
        write_demand(&mut out, &timed(number, &request)?).map_err(cannot)?;
    }
    out.flush().map_err(cannot)?;
    drop(out);
    unfinished.name_new(path).map_err(cannot)?;
    Ok(number)
}

fn timed(number: u64, request: &Request) -> Result<TimedRequest, LoadError> {
    let &Request { due, op, offset, length } = request;
    let extent = match op {
        Op::Flush => Extent::default(),
        Op::Read | Op::Write | Op::Discard | Op::WriteZeroes => {
            let sectors = (offset / SECTOR, length / SECTOR);
            let is_whole = offset % SECTOR == 0 && length % SECTOR == 0 && length > 0;
            let extent = Extent::from_sectors(sectors.0, sectors.1).filter(|_| is_whole);
            extent.ok_or(LoadError::Unaligned { number, offset, length })?
        }
        _ => return Err(LoadError::Unsupported { number, op }),
    };
    Ok(TimedRequest {
        line: number,
        time: due,
        op,
        durability: Default::default(),
        extent,
        pushed: false,
        delay: Nanos(0),
        latency: Nanos(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::blkreplay::{Line, parse_line};

    fn read(due: u64, offset: u64, length: u64) -> Request {
        Request { due: Nanos(due), op: Op::Read, offset, length }
    }

    #[test]
    fn invalid_requests_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.load");
        let written = |requests: &[Request]| write_load(&path, requests.iter().copied()).unwrap_err();
        for place in [(100, 4096), (0, 0), (0, 100), (u64::MAX - 1023, 1024)] {
            let error = written(&[read(0, 0, 4096), read(1, place.0, place.1)]);
            assert!(matches!(error, LoadError::Unaligned { number: 2, .. }), "{error}");
        }
        let backward = written(&[read(5, 0, 512), read(4, 0, 512)]);
        assert!(matches!(backward, LoadError::Due { number: 2, .. }), "{backward}");
        assert!(matches!(written(&[read(1 << 63, 0, 512)]), LoadError::Due { number: 1, .. }));
        let truncate = Request { op: Op::Truncate, ..read(0, 0, 512) };
        assert!(matches!(written(&[truncate]), LoadError::Unsupported { number: 1, .. }));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(&path, "mine").unwrap();
        let exists = written(&[read(0, 0, 512)]);
        assert!(
            matches!(exists, LoadError::Io { error, .. } if error.kind() == io::ErrorKind::AlreadyExists)
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn operations_of_a_load_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.load");
        let ops = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::WriteZeroes];
        let requests =
            ops.iter().zip(1..).map(|(op, number)| Request { op: *op, ..read(number * 1000, 8192, 4096) });
        assert_eq!(write_load(&path, requests).unwrap(), 5);
        let text = std::fs::read_to_string(&path).unwrap();
        let parsed = text.lines().zip(1..).filter_map(|(line, number)| match parse_line(number, line) {
            Line::Request(request) => Some(request),
            _ => None,
        });
        let parsed: Vec<_> = parsed.map(|r| (r.op, r.time.0, r.extent.offset, r.extent.length)).collect();
        let wanted: Vec<_> = ops
            .into_iter()
            .zip(1..)
            .map(|(op, number)| {
                // A flush has no place.
                let (offset, length) = if op == Op::Flush { (0, 0) } else { (8192, 4096) };
                (op, number * 1000, offset, length)
            })
            .collect();
        assert_eq!(parsed, wanted);
    }
}
