//! Measures the missing cells in one run, and keeps them.

use super::answer::{Answer, MatrixRun};
use super::leftover;
use super::question::{Cells, Question};
use super::study::Study;
use crate::cells::{count_until, errors_in_files, failure_of, machine, state_of, stats_of};
use crate::verdict;
use iosonar_archive::{Archive, RunInfo, RunState};
use iosonar_cells::{Matrix, Unit};
use iosonar_host::Root;
use iosonar_host::environment::memory;
use iosonar_inputs::Input;
use iosonar_plan::Plan;
use iosonar_runner::{Concluded, Ended, Error, Notice, Session, new_run_id};
use iosonar_text::csv::Form;
use iosonar_text::shown;
use std::path::Path;

/// The matrix and its missing cells, in the order of their measurement; nothing is created.
///
/// # Errors
/// The question is refused.
pub fn missing(session: &Session, question: &Question) -> Result<(Matrix, Vec<Unit>), Error> {
    let opened = Opened::of(session, question)?;
    Ok((opened.matrix, opened.missing))
}

/// The plan that measures the missing cells; `None` if all cells are measured. It is not executed.
///
/// # Errors
/// The question is refused.
pub fn plan(session: &Session, question: &Question) -> Result<Option<Plan>, Error> {
    let opened = Opened::of(session, question)?;
    opened.keep_recovered(session)?;
    if opened.missing.is_empty() { Ok(None) } else { opened.plan().map(Some) }
}

/// Measures the missing cells. The directory of the results holds the question, the archive of each part, and the cells.
///
/// # Errors
/// The question or its plan is refused, a signal came before the first request, or a result cannot be written. Cells that stay without a
/// figure are no error: the answer says so.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    run_by(session, question, execute_here)
}

/// Executes a plan by threads of this process.
///
/// # Errors
/// The plan is refused, a signal came before the first request, or the result cannot be written.
pub fn execute_here(
    session: &Session,
    plan: Plan,
    dir: &Path,
    begin: &mut Begin<'_>,
) -> Result<Ended, Error> {
    let ready = session.prepare(plan).map_err(Error::refused)?;
    begin()?;
    session.execute(ready, dir)
}

/// Creates the directory of the results, when nothing was refused.
pub type Begin<'a> = dyn FnMut() -> Result<(), Error> + 'a;

/// Like [`run`], with a plan that `execute` executes: it prepares the plan, calls the function that it gets when nothing was refused, and makes
/// the result in the directory.
///
/// # Errors
/// Those of [`run`].
pub fn run_by(
    session: &Session,
    question: &Question,
    execute: impl FnOnce(&Session, Plan, &Path, &mut Begin<'_>) -> Result<Ended, Error>,
) -> Result<Answer, Error> {
    let mut opened = Opened::of(session, question)?;
    opened.keep_recovered(session)?;
    let part = match opened.missing.is_empty() {
        true => None,
        false => Some(opened.measure(session, question.no_records, execute)?),
    };
    let Opened { study, matrix, .. } = opened;
    let Study { dir, question: asked, table, lock, .. } = study;
    Ok(Answer { dir, asked, table, matrix, part, _lock: lock })
}

/// A matrix before the measurement of its missing cells.
struct Opened {
    study: Study,
    matrix: Matrix,
    missing: Vec<Unit>,
    /// Cells that are counted from the log of a part that was killed.
    recovered: usize,
}

impl Opened {
    fn of(session: &Session, question: &Question) -> Result<Opened, Error> {
        let mut study = match &question.cells {
            Cells::New { asked, out } => Study::planned(session, asked.clone(), out.clone())?,
            Cells::Resumed { dir, asked } => Study::open(session, dir, asked.as_ref())?,
        }
        .with_csv_form(Form { safe: question.csv_safe, crlf: false });
        study.question.destroy = question.destroy;
        study.question.keep |= question.keep;
        let recovered = study.recover();
        let matrix = study.question.matrix(new_run_id()).map_err(Error::refused)?;
        if recovered > 0 {
            study.tell(&matrix);
        }
        let missing = study.table.missing(&matrix, study.question.order(&matrix));
        Ok(Opened { study, matrix, missing, recovered })
    }

    fn keep_recovered(&self, session: &Session) -> Result<(), Error> {
        if self.recovered == 0 {
            return Ok(());
        }
        let recovered = self.recovered;
        remark(session, &format!("{recovered} cells are taken from the log of a part that was killed"));
        self.study.keep()
    }

    fn plan(&self) -> Result<Plan, Error> {
        // That of hosts is not known here.
        let is_here = !self.matrix.executors.iter().any(|executor| executor.host().is_some());
        let memory = memory(&Root::default()).total.known().copied().filter(|_| is_here);
        self.matrix.clone().claiming(memory).plan(&self.missing).map_err(Error::refused)
    }

    /// Measures the missing cells, and keeps the results.
    fn measure(
        &mut self,
        session: &Session,
        no_records: bool,
        execute: impl FnOnce(&Session, Plan, &Path, &mut Begin<'_>) -> Result<Ended, Error>,
    ) -> Result<MatrixRun, Error> {
        let plan = self.plan()?;
        leftover::remove(session, &self.study)?;
        let cells = self.missing.len() * self.matrix.tests.len();
        remark(session, &format!("{cells} cells to measure, results in {}", shown(&self.study.dir)));
        let dir = self.study.next_part();
        let ended = execute(session, plan, &dir, &mut || self.study.create())?;
        let (info, fake) = info_of(session, ended, no_records)?;
        let is_fake = fake.is_some();
        let archive = Archive::open(&dir).map_err(Error::broke)?;
        self.keep_part(archive, &info, fake)?;
        if no_records {
            self.study.drop_part(&dir)?;
        }
        self.study.table.errors.iter().for_each(|why| remark(session, why));
        if let RunState::Broken(why) = &info.state {
            remark(session, &format!("the run could not go on: {why}"));
        }
        let missing =
            self.study.table.missing(&self.matrix, self.missing.clone()).len() * self.matrix.tests.len();
        if missing > 0 {
            let dir = shown(&self.study.dir);
            remark(
                session,
                &format!("about {missing} cells are missing; to measure them: iosonar matrix --resume {dir}"),
            );
        }
        Ok(MatrixRun { info, missing, is_fake })
    }

    /// Counts and keeps the cells of a part. `fake` is the verdict on figures that are not what they claim to be.
    fn keep_part(&mut self, archive: Archive, info: &RunInfo, fake: Option<String>) -> Result<(), Error> {
        let Opened { study, matrix, .. } = self;
        study.table.machine = machine(&archive);
        let input = Input::of_archive(archive).map_err(Error::refused)?;
        let stats = stats_of(&input, info, count_until(matrix.stonewall))?;
        let failures = stats.iter().filter_map(failure_of);
        let errors: Vec<String> = failures.chain(errors_in_files(info)).collect();
        study.add(&stats, matrix, |table| {
            let missing = matrix.units().len() * matrix.tests.len();
            let missing = missing.saturating_sub(table.results.len());
            (table.state, table.missing_cells) = (Some(state_of(&info.state, missing == 0)), missing as u64);
            table.errors = errors;
            // The cells of an earlier part stay.
            table.fake = table.fake.take().or(fake);
        })
    }
}

/// How a part ended, and the verdict if its figures are fake. Only its cells are shown: its requests are in its archive.
fn info_of(session: &Session, ended: Ended, no_records: bool) -> Result<(RunInfo, Option<String>), Error> {
    if no_records {
        return Ok((ended.info, None));
    }
    let Concluded { info, figures, .. } =
        session.conclude(ended, Default::default()).map_err(Error::broke)?;
    Ok((info, verdict::report(session, &figures.summary)))
}

fn remark(session: &Session, text: &str) {
    session.observer.notice(&Notice::Remark(text));
}

#[cfg(test)]
mod tests {
    use super::super::CELLS;
    use super::*;
    use iosonar_cells::{Question as Asked, TableState, Timed};
    use iosonar_plan::{ByteSize, SyncFlag};
    use iosonar_runner::{ErrorKind, Observer, Silent};
    use std::sync::{Arc, Mutex};

    #[derive(Default)]
    struct Collected(Mutex<Vec<String>>);

    impl Observer for Collected {
        fn notice(&self, notice: &Notice<'_>) {
            self.0.lock().unwrap().push(notice.to_string());
        }
    }

    /// Writes and reads a file with two sizes of records.
    fn question(folder: &tempfile::TempDir) -> Question {
        let asked = Asked {
            files: vec![folder.path().join("file")],
            executors: Vec::new(),
            tests: vec!["write".into(), "read".into()],
            sizes: vec![ByteSize(1 << 16)],
            records: vec![ByteSize(4096), ByteSize(8192)],
            all_pairs: false,
            streams: vec![1],
            methods: vec!["sync".into()],
            depth: 1,
            repeat: 1,
            cold: false,
            direct: false,
            sync: SyncFlag::None,
            stonewall: true,
            stride: 17,
            timed: Timed::default(),
            seed: 1,
            keep: false,
            destroy: false,
            claim: None,
        };
        let cells = Cells::New { asked, out: folder.path().join("out") };
        Question { cells, destroy: false, keep: false, no_records: false, csv_safe: false }
    }

    #[test]
    fn a_matrix_is_measured_once() {
        let folder = tempfile::tempdir().unwrap();
        let observer = Arc::new(Collected::default());
        let session = Session::new(observer.clone());
        let new = question(&folder);
        let answer = run(&session, &new).unwrap();
        assert_eq!((answer.table.results.len(), answer.table.state), (4, Some(TableState::Complete)));
        assert_eq!(answer.part.as_ref().map(|part| (part.missing, part.is_fake)), Some((0, false)));
        assert_eq!(std::fs::read_to_string(answer.dir.join(CELLS)).unwrap(), answer.json());
        assert!(!folder.path().join("file").exists() && answer.dir.join("part-1").is_dir());
        let notices = observer.0.lock().unwrap().join("\n");
        assert!(notices.contains("iosonar: 4 cells to measure, results in "), "{notices}");
        // The answer keeps other processes out.
        let resumed =
            Question { cells: Cells::Resumed { dir: answer.dir.clone(), asked: None }, ..new.clone() };
        let error = run(&session, &resumed).unwrap_err();
        assert!(error.to_string().contains("another process measures this matrix"), "{error}");
        drop(answer);
        let again = run(&session, &resumed).unwrap();
        assert!(again.part.is_none() && again.table.results.len() == 4);
        drop(again);
        assert_eq!(plan(&session, &resumed).unwrap(), None);
        let error = run(&session, &new).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    }

    #[test]
    fn planning_and_listing_missing_cells_create_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let session = Session::new(Arc::new(Silent));
        let (matrix, units) = missing(&session, &question(&folder)).unwrap();
        assert_eq!((units.len(), matrix.tests.len()), (2, 2));
        assert_eq!(plan(&session, &question(&folder)).unwrap().unwrap().phases.len(), 4);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
