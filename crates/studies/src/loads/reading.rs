//! Reads loads by their times.

use super::question::Reading;
use iosonar_load::derive::in_time;
use iosonar_load::{LoadError, Text};
use iosonar_runner::{Error, Notice, Session};
use iosonar_trace::TimedRequest;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Reads the requests of a file, by time. Skipped or shifted requests are reported on demand.
pub fn read(
    session: &Session,
    path: &Path,
    text: Box<dyn BufRead + Send>,
    reading: Reading,
    is_reported: bool,
) -> Result<impl Iterator<Item = Result<TimedRequest, LoadError>> + use<>, Error> {
    let notice = notices(session, path);
    let notice = move |skipped: iosonar_load::Notice| {
        if is_reported {
            notice(skipped);
        }
    };
    in_time(Text::once(text), reading.backward, reading.skip_bad, notice).map_err(Error::refused)
}

/// Reports what is skipped of a load.
pub fn notices(session: &Session, path: &Path) -> impl Fn(iosonar_load::Notice) + use<> {
    let (observer, path) = (session.observer.clone(), path.to_path_buf());
    move |notice| observer.notice(&Notice::Load { path: &path, notice: &notice })
}

/// Refuses a second use of standard input.
pub fn check_stdin(loads: &[PathBuf]) -> Result<(), Error> {
    match loads.iter().filter(|path| path.as_os_str() == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Error::refused_because("- stands for standard input, which can be read only once")),
    }
}
