//! A result in blkreplay's form, read as the records of a run.

use crate::{OpenError, Pieces, Source};
use iosonar_archive::Record;
use iosonar_dialect_blkreplay::{Imported, import};
use iosonar_trace::blkreplay::{Line, REPLAY_HEADER, parse_line};
use std::io::{self, BufRead, Read};

/// Range of a file that is searched for its header.
const HEAD_BYTES: u64 = 1 << 20;

/// A result that was read once, for the facts at its end.
pub(super) struct ResultFile {
    source: Source,
    pub(super) imported: Imported,
}

/// Whether a text is a result in blkreplay's form: its header precedes the first request.
///
/// # Errors
/// It cannot be opened.
pub fn is_result(source: &Source) -> Result<bool, OpenError> {
    let mut head = source.text()?.take(HEAD_BYTES);
    let mut line = Vec::new();
    while matches!(head.read_until(b'\n', &mut line), Ok(read) if read > 0) {
        let words = String::from_utf8_lossy(&line);
        if words.trim() == REPLAY_HEADER {
            return Ok(true);
        }
        if matches!(parse_line(1, &words), Line::Request(_)) {
            break;
        }
        line.clear();
    }
    Ok(false)
}

impl ResultFile {
    pub(super) fn open(source: Source, name: &str) -> Result<ResultFile, OpenError> {
        let imported = import(source.text()?, name, &mut |_| Ok(()))?;
        Ok(ResultFile { source, imported })
    }

    pub(super) fn read(&self, name: &str, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        let mut out = Pieces::new(f);
        let mut keep = |record: &Record| {
            out.push(*record);
            Ok(())
        };
        let text = self.source.text().map_err(io::Error::other)?;
        import(text, name, &mut keep).map_err(io::Error::other)?;
        out.end();
        Ok(())
    }
}
