//! The search: ramps, each chosen by the verdict on the one before.

use super::answer::Answer;
use super::question::{MOST_RATE, Question};
use super::ramp::{self, Ramp};
use iosonar_analyze::knee::{Doubt, KneeVerdict};
use iosonar_host::output::check_absent;
use iosonar_os::create::{new_dirs, new_file};
use iosonar_os::made::Undo;
use iosonar_plan::{Nanos, Rising, RisingShape};
use iosonar_runner::{Error, Notice, Session};
use iosonar_text::shown;
use std::io::Write;

/// Where the search starts, in requests per second.
const BEGIN: u64 = 10;
/// Final rate of a search ramp, as a multiple of its first.
const DECADE: u64 = 10;
/// Duration of such a ramp.
const COARSE: Nanos = Nanos::from_secs(4);
/// Maximum number of slow ramps, each around the rate found by the one before.
const FINE: u32 = 3;
/// Name of the answer in the directory of the results.
const ANSWER: &str = "knee.json";

/// Looks for the highest rate that a target sustains. The directory of the results holds the archive of each ramp and the answer as JSON.
///
/// # Errors
/// The question or a ramp is refused, a signal came before a ramp, or a result cannot be written. A ramp that a signal stops is no error:
/// the answer says so.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    question.check()?;
    check_absent("--out", &question.out).map_err(Error::refused)?;
    let mut search = Search { session, question, folder: Folder::default(), ramps: Vec::new() };
    search.execute()?;
    let answer = Answer::of(question, &search.ramps, &session.command)?;
    let path = question.out.join(ANSWER);
    new_file(&path)
        .and_then(|mut file| file.write_all(format!("{:#}\n", answer.to_json()).as_bytes()))
        .map_err(|error| Error::broke(error).context(format!("cannot write {}", shown(&path))))?;
    Ok(answer)
}

/// The directory of the results. It is created when the first ramp starts, and removed if empty.
#[derive(Default)]
pub(super) struct Folder {
    /// Created directories: only empty ones can be removed.
    made: Undo,
}

impl Folder {
    pub(super) fn create(&mut self, question: &Question) {
        // The archive, which cannot be created in it then, reports the error.
        new_dirs(&question.out).unwrap_or_default().into_iter().for_each(|made| self.made.push(made));
    }
}

struct Search<'a> {
    session: &'a Session,
    question: &'a Question,
    folder: Folder,
    ramps: Vec<Ramp>,
}

impl Search<'_> {
    fn execute(&mut self) -> Result<(), Error> {
        if let Some(rising) = self.question.single_ramp() {
            self.ramp("ramp", rising)?;
        } else if let Some(rate) = self.coarse()? {
            self.fine(rate)?;
        }
        Ok(())
    }

    /// Executes a ramp; returns its verdict, or `None` if it was ended from outside.
    fn ramp(&mut self, name: &str, rising: Rising) -> Result<Option<KneeVerdict>, Error> {
        let shape = if rising.shape == RisingShape::Linear { "evenly" } else { "exponentially" };
        self.session.observer.notice(&Notice::Remark(&format!(
            "{name}: {} to {} requests/s, {shape} in {}",
            rising.from, rising.to, rising.over
        )));
        let ramp = ramp::execute(self.session, self.question, &mut self.folder, name, rising)?;
        let verdict = ramp.is_whole().then(|| ramp.verdict.clone());
        self.ramps.push(ramp);
        Ok(verdict)
    }

    /// Finds the knee roughly: by ramps to ten times the rate of the one before, until one shows it.
    fn coarse(&mut self) -> Result<Option<f64>, Error> {
        let most = self.question.most;
        let mut from = self.question.from.unwrap_or(BEGIN);
        for number in 1.. {
            let to = from.saturating_mul(DECADE).min(most);
            let rising = Rising { from, to, over: COARSE, shape: RisingShape::Exponential };
            match self.ramp(&format!("coarse-{number}"), rising)? {
                None => return Ok(None),
                Some(KneeVerdict::Found(knee)) => return Ok(Some(knee.sustained_per_second)),
                Some(_) if to >= most => return Ok(None),
                // Ten times the rate shows nothing if the target hardly responds.
                Some(KneeVerdict::Unclear { why: Doubt::TooFew, .. })
                    if self.ramps.last().is_some_and(Ramp::is_far_behind) =>
                {
                    return Ok(None);
                }
                Some(_) => from = to,
            }
        }
        Ok(None)
    }

    /// Ramps slowly from half of a rate to half above it.
    fn fine(&mut self, mut rate: f64) -> Result<(), Error> {
        for number in 1..=FINE {
            let from = (rate * 0.5).max(1.0) as u64;
            let to = ((rate * 1.5).ceil() as u64).clamp(from + 1, MOST_RATE);
            let rising = Rising {
                from: from.min(to - 1),
                to,
                over: self.question.duration,
                shape: RisingShape::Linear,
            };
            match self.ramp(&format!("fine-{number}"), rising)? {
                Some(KneeVerdict::Found(knee)) if knee.from_the_start => rate = knee.sustained_per_second,
                Some(KneeVerdict::NotReached { at_least_per_second }) => {
                    rate = at_least_per_second.max(1.0) * 1.5
                }
                Some(KneeVerdict::Unclear { why: Doubt::EndedThere, .. }) => rate *= 1.3,
                _ => return Ok(()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::{ROWS, Reading};
    use super::*;
    use iosonar_analyze::knee::RampTally;
    use iosonar_archive::Archive;
    use iosonar_plan::{
        ByteSize, Engine, Generator, Job, Order, Overlap, OverlapPolicy, Phase, Plan, SimModel, Target,
        Workload,
    };
    use iosonar_runner::{ErrorKind, Observer};
    use std::sync::{Arc, Mutex};

    #[derive(Default)]
    struct Collected(Mutex<Vec<String>>);

    impl Observer for Collected {
        fn notice(&self, notice: &Notice<'_>) {
            self.0.lock().unwrap().push(notice.to_string());
        }
    }

    /// Random reads of a simulated device that serves `channels` requests at the same time.
    fn question(folder: &tempfile::TempDir, service: Nanos, channels: u32) -> Question {
        let workload = Workload::Generated(Generator::new(Order::Random, ByteSize(4096)));
        let target = Target { size: Some(ByteSize(1 << 30)), ..Target::new("dev") };
        let plan = Plan {
            engine: Engine::Sim(SimModel { service, channels, ..SimModel::default() }),
            overlap: Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() },
            ..Plan::new(1, vec![target], vec![Phase::of(vec![Job::new(0, 128, workload)])])
        };
        Question::of(plan, folder.path().join("knee"))
    }

    #[test]
    fn a_search_finds_the_rate_of_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let observer = Arc::new(Collected::default());
        let question = question(&folder, Nanos(5_000_000), 1);
        let answer = run(&Session::new(observer.clone()), &question).unwrap();
        let KneeVerdict::Found(knee) = &answer.verdict else { panic!("{answer:?}") };
        assert!((knee.sustained_per_second / 200.0 - 1.0).abs() < 0.05, "{knee:?}");
        let names: Vec<&str> = answer.ramps.iter().map(|ramp| ramp.name.as_str()).collect();
        assert_eq!((&names[..], answer.answer.as_str()), (&["coarse-1", "coarse-2", "fine-1"][..], "fine-1"));
        let remarks = observer.0.lock().unwrap().join("\n");
        assert!(
            remarks.contains("iosonar: coarse-1: 10 to 100 requests/s, exponentially in 4s\n"),
            "{remarks}"
        );
        let kept = std::fs::read_to_string(question.out.join(ANSWER)).unwrap();
        assert_eq!(kept, format!("{:#}\n", answer.to_json()));
        assert!(names.iter().all(|name| question.out.join(name).is_dir()));
    }

    #[test]
    fn a_single_ramp_of_a_fast_device_reaches_no_knee() {
        let folder = tempfile::tempdir().unwrap();
        let question = Question { from: Some(100), to: Some(2000), ..question(&folder, Nanos(10_000), 0) };
        let answer = run(&Session::new(Arc::new(Collected::default())), &question).unwrap();
        assert!(matches!(answer.verdict, KneeVerdict::NotReached { .. }), "{answer:?}");
        assert_eq!((answer.ramps.len(), answer.failed), (1, 0));
    }

    #[test]
    fn a_ramp_that_reached_its_end_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let question = Question { from: Some(100), to: Some(2000), ..question(&folder, Nanos(10_000), 0) };
        let answer = run(&Session::new(Arc::new(Collected::default())), &question).unwrap();
        let (archive, rising) = (Archive::open(&answer.dir).unwrap(), answer.ramps[0].demand);
        let (mut records, mut last) = (0, Nanos(0));
        archive
            .for_each_record(&mut |record| {
                records += 1;
                last = last.max(record.submitted.unwrap());
            })
            .unwrap();
        let rows = |tally: &RampTally| tally.rows(1, |time| rising.until(time));
        let rows_until = |end: Nanos| {
            let mut tally = RampTally::new(end.0, ROWS);
            archive.for_each_record(&mut |record| tally.add(record)).unwrap();
            rows(&tally)
        };
        let (all, some) = (|| Reading::of(&archive, rising).unwrap(), || Reading::new(rising));
        for reading in [all(), some()] {
            let figures = reading.complete(&answer.dir, records, true).unwrap();
            assert_eq!((rows(&figures.tally), figures.load_was_over), (rows_until(rising.over), false));
        }
        // A stopped ramp ends with its last request.
        for reading in [all(), some()] {
            let figures = reading.complete(&answer.dir, records, false).unwrap();
            assert_eq!(rows(&figures.tally), rows_until(last));
        }
        assert_ne!(rows_until(last), rows_until(rising.over));
        let readings = [all(), all(), some()];
        std::fs::remove_file(answer.dir.join("records.parquet")).unwrap();
        let [is_over, stopped, unread] = readings;
        assert!(is_over.complete(&answer.dir, records, true).is_ok());
        assert!(stopped.complete(&answer.dir, records, false).is_err());
        assert!(unread.complete(&answer.dir, records, true).is_err());
    }

    #[test]
    fn an_existing_directory_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let question = question(&folder, Nanos(10_000), 0);
        std::fs::create_dir(&question.out).unwrap();
        let error = run(&Session::new(Arc::new(Collected::default())), &question).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert_eq!(std::fs::read_dir(&question.out).unwrap().count(), 0);
    }
}
