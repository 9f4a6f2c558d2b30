//! Work on each of the named files: failures are reported, and the others are done.

use crate::files::Walk;
use iosonar_runner::{Notice, Session};
use iosonar_text::shown;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How many of the files a verb succeeded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Success {
    /// All, or there were no files.
    All,
    /// Some.
    Some,
    /// None of them.
    None,
}

/// Results for files.
#[derive(Debug)]
pub(crate) struct Visited<T> {
    /// Results of the successful files, in the order in which they were found.
    pub found: Vec<T>,
    /// The failed files, and why. Each was reported already.
    pub errors: Vec<(String, String)>,
}

/// Calls `work` for each file, reports failures, and continues with the others.
pub(crate) fn visit<T>(
    session: &Session,
    named: &[PathBuf],
    mut work: impl FnMut(&Path) -> Result<T, String>,
) -> Visited<T> {
    let mut visited = Visited { found: Vec::new(), errors: Vec::new() };
    for file in Walk::of(named) {
        let done = file.and_then(|path| work(&path).map_err(|error| (path, error)));
        match done {
            Ok(found) => visited.found.push(found),
            Err((path, error)) => {
                session.observer.notice(&Notice::Remark(&format!("{}: {error}", shown(&path))));
                visited.errors.push((path.display().to_string(), error));
            }
        }
        session.observer.files(visited.found.len(), visited.errors.len());
    }
    visited
}

impl Success {
    /// Of files with a result, and of failed ones.
    pub(crate) fn of(found: usize, failed: usize) -> Success {
        match (found, failed) {
            (_, 0) => Success::All,
            (0, _) => Success::None,
            _ => Success::Some,
        }
    }
}

/// Paths of failed files and the reasons, as JSON.
pub(crate) fn errors_json(errors: &[(String, String)]) -> Vec<Value> {
    errors.iter().map(|(path, error)| json!({ "path": path, "error": error })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_runner::Observer;
    use std::sync::{Arc, Mutex};

    #[derive(Default)]
    struct Collected(Mutex<Vec<String>>);

    impl Observer for Collected {
        fn notice(&self, notice: &Notice<'_>) {
            self.0.lock().unwrap().push(notice.to_string());
        }

        fn files(&self, done: usize, failed: usize) {
            self.0.lock().unwrap().push(format!("{done}, {failed} failed"));
        }
    }

    #[test]
    fn a_file_that_fails_is_reported_and_the_others_are_done() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let observer = Arc::new(Collected::default());
        let session = Session::new(observer.clone());
        let visited = visit(&session, &[folder.path().into()], |path| match path.ends_with("b") {
            true => Err("it is b".to_string()),
            false => std::fs::read_to_string(path).map_err(|error| error.to_string()),
        });
        assert_eq!(visited.found, ["a", "c"]);
        let b = folder.path().join("b").display().to_string();
        assert_eq!(errors_json(&visited.errors), [json!({ "path": b, "error": "it is b" })]);
        let reported = observer.0.lock().unwrap().clone();
        let failure = format!("iosonar: {b}: it is b");
        assert_eq!(reported, ["1, 0 failed", failure.as_str(), "1, 1 failed", "2, 1 failed"]);
        assert_eq!(
            [Success::of(2, 1), Success::of(0, 1), Success::of(0, 0)],
            [Success::Some, Success::None, Success::All]
        );
    }
}
