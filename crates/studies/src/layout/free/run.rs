//! Asks the file system.

use super::answer::Answer;
use super::question::Question;
use iosonar_host::free_space::read_free_space;
use iosonar_runner::Error;
use iosonar_text::shown;

/// Counts the free ranges of a file system.
///
/// # Errors
/// The file system does not report them, or the path is no file and no directory.
pub fn run(question: &Question) -> Result<Answer, Error> {
    let Question { path, flushes } = question;
    let (report, _) = read_free_space(path, *flushes, 0)
        .map_err(|error| Error::refused_because(format_args!("{}: {error}", shown(path))))?;
    Ok(Answer { report })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_runner::ErrorKind;

    #[test]
    fn a_file_system_without_free_ranges_is_refused() {
        let error = run(&Question { path: "/proc".into(), flushes: false }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(
            error.to_string().starts_with("/proc: proc does not report its free space by GETFSMAP"),
            "{error}"
        );
    }
}
