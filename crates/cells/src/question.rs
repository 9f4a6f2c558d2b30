//! A matrix in the user's words, so that it can be kept and continued.

use crate::shuffle::shuffle;
use crate::{Calls, Matrix, TESTS, Test, Timed, Unit, pairs, test_names};
use iosonar_plan::{Access, ByteSize, Claim, Engine, Executor, RunId, SyncFlag};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Specification of a matrix. It contains everything that affects the figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Test files, one per concurrent stream.
    pub files: Vec<PathBuf>,
    /// Where the streams are executed, which take turns in this list; empty: by threads of this process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executors: Vec<Executor>,
    /// Names of tests, in the order of execution on each file.
    pub tests: Vec<String>,
    /// Sizes of files.
    pub sizes: Vec<ByteSize>,
    /// Sizes of records.
    pub records: Vec<ByteSize>,
    /// Whether large files are measured with small records, too.
    pub all_pairs: bool,
    /// Numbers of concurrent files.
    pub streams: Vec<u32>,
    /// Names of methods.
    pub methods: Vec<String>,
    /// Queue depth, for methods that support it.
    pub depth: u32,
    /// Number of repetitions of each cell.
    pub repeat: u32,
    /// Files are evicted from the page cache before each test that reads.
    pub cold: bool,
    /// Files are opened with `O_DIRECT`.
    pub direct: bool,
    /// Flag for opening files.
    pub sync: SyncFlag,
    /// Readers stop when the first of them has finished.
    pub stonewall: bool,
    /// Records from one request of the stride test to the next.
    pub stride: u32,
    /// Steps that count as part of a test's time.
    pub timed: Timed,
    /// Seed of the order, and of everything random in the requests.
    pub seed: u64,
    /// Files are kept at the end.
    pub keep: bool,
    /// Existing files may be overwritten and deleted. This permission must be typed: it is neither stored nor read.
    #[serde(default, skip_serializing)]
    pub destroy: bool,
    /// Claim about the figures; `None`: the one suitable for the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

/// Maximum number of repetitions.
pub const MOST_REPETITIONS: u32 = 1000;
/// Maximum number of concurrent files.
pub const MOST_STREAMS: u32 = 1024;
/// Maximum queue depth.
pub const MOST_DEPTH: u32 = 65_536;
/// Maximum stride, in records.
pub const MOST_STRIDE: u32 = 1_000_000;
/// Maximum number of sizes, more than useful.
pub const MOST_SIZES: usize = 1000;
/// Maximum number of parts of a matrix: each has at least one job in the plan.
const MOST_UNITS: u64 = 200_000;

/// Names of methods, as users type them.
pub const METHODS: [&str; 9] =
    ["sync", "vsync", "pvsync", "threads", "stdio", "mmap", "posixaio", "aio", "uring"];

/// Engine of a method name.
fn engine(name: &str) -> Option<Engine> {
    Some(match name {
        "sync" => Engine::Sync,
        "vsync" => Engine::Vsync(Default::default()),
        "pvsync" => Engine::Pvsync(Default::default()),
        "threads" => Engine::Threads,
        "stdio" => Engine::Stdio(Default::default()),
        "mmap" => Engine::Mmap(Default::default()),
        "posixaio" => Engine::Posixaio,
        "aio" => Engine::Aio,
        "uring" => Engine::Uring(Default::default()),
        _ => return None,
    })
}

/// Why a question has no matrix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// Unknown test.
    #[error("--tests {0}: no such test; known are {known}", known = test_names())]
    UnknownTest(String),
    /// Unknown method.
    #[error("--methods {0}: no such method; known are {known}", known = METHODS.join(", "))]
    UnknownMethod(String),
    /// The first test needs a file.
    #[error("--tests: {0} needs a file that a test before it makes: add {1}")]
    NoFile(&'static str, &'static str),
    /// The mixed test with one stream.
    #[error("--tests mixed: some streams read and others write: give --streams 2 or more")]
    NoMix,
    /// A queue depth without a method that supports it.
    #[error(
        "--depth {0}: every one of --methods carries out one request after the other: add threads, posixaio, aio or uring"
    )]
    NoDepth(u32),
    /// Several methods, but a test that uses none of them.
    #[error(
        "--methods: {0} makes calls of its own, so that several methods make no difference to it: give it a matrix of its own"
    )]
    OwnCalls(&'static str),
    /// Direct I/O with methods that use the page cache.
    #[error("--direct: {0} always goes through the page cache: remove it from --methods")]
    NotDirect(String),
    /// A number outside of its limits.
    #[error("{field}: {value} is not within {least} to {most}: correct it")]
    Outside {
        /// Field name.
        field: &'static str,
        /// Value given.
        value: u64,
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// A list with too few or too many entries.
    #[error("{field}: it has {count} entries, and {least} to {most} are allowed: correct it")]
    Entries {
        /// Field name.
        field: &'static str,
        /// Number of entries.
        count: usize,
        /// Minimum.
        least: usize,
        /// Maximum.
        most: usize,
    },
    /// Too many parts for a plan.
    #[error(
        "repeat × methods × streams × sizes × records: there are {0} parts, and {MOST_UNITS} are the most: use fewer"
    )]
    TooMany(u64),
    /// Every record is larger than every file.
    #[error("--records: every record is larger than every file of --sizes")]
    Empty,
}

impl Question {
    /// Returns tests by name, in a valid order; `all`: every test that is possible with these numbers of streams, and
    /// affected by several methods if `methods` is above 1.
    ///
    /// # Errors
    /// A name is unknown, or the first test needs a file.
    pub fn tests_of(names: &[String], streams: &[u32], methods: usize) -> Result<Vec<String>, QuestionError> {
        let unknown = |name: &&String| *name != "all" && Test::named(name).is_none();
        if let Some(name) = names.iter().find(unknown) {
            return Err(QuestionError::UnknownTest(name.clone()));
        }
        let is_mixable = streams.iter().all(|streams| *streams > 1);
        let all = names.iter().any(|name| name == "all");
        let named = |test: &&Test| names.iter().any(|name| name == test.name);
        let fits = |test: &Test| {
            (is_mixable || test.name != "mixed") && (methods < 2 || test.calls == Calls::Chosen)
        };
        let wanted = |test: &&Test| named(test) || all && fits(test);
        let tests: Vec<&Test> = TESTS.iter().filter(wanted).collect();
        if tests.iter().any(|test| test.name == "mixed") && !is_mixable {
            return Err(QuestionError::NoMix);
        }
        match tests.first() {
            Some(first) if first.made == crate::Made::Before => {
                let maker = TESTS.iter().find(|t| t.number == first.number && t.made == crate::Made::Anew);
                Err(QuestionError::NoFile(first.name, maker.map_or("write", |test| test.name)))
            }
            _ => Ok(tests.iter().map(|test| test.name.to_string()).collect()),
        }
    }

    /// Refuses numbers and lists that would take too much memory or time, before anything is built from them.
    fn check_bounds(&self) -> Result<(), QuestionError> {
        let most_streams = self.streams.iter().copied().max().unwrap_or(1);
        let within = |field, value: u64, least: u64, most: u64| match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(QuestionError::Outside { field, value, least, most }),
        };
        within("repeat", self.repeat.into(), 1, MOST_REPETITIONS.into())?;
        within("depth", self.depth.into(), 1, MOST_DEPTH.into())?;
        within("stride", self.stride.into(), 1, MOST_STRIDE.into())?;
        let entries = |field, count: usize, least: usize, most: usize| match (least..=most).contains(&count) {
            true => Ok(()),
            false => Err(QuestionError::Entries { field, count, least, most }),
        };
        entries("streams", self.streams.len(), 1, MOST_STREAMS as usize)?;
        self.streams.iter().try_for_each(|n| within("streams", (*n).into(), 1, MOST_STREAMS.into()))?;
        entries("files", self.files.len(), most_streams as usize, MOST_STREAMS as usize)?;
        entries("tests", self.tests.len(), 1, TESTS.len())?;
        entries("methods", self.methods.len(), 1, METHODS.len())?;
        for (field, sizes) in [("sizes", &self.sizes), ("records", &self.records)] {
            entries(field, sizes.len(), 1, MOST_SIZES)?;
            sizes.iter().try_for_each(|size| within(field, size.0, 1, i64::MAX as u64))?;
        }
        Ok(())
    }

    /// Converts it to a matrix.
    ///
    /// # Errors
    /// A number is out of range, a word is unknown, or words contradict each other.
    pub fn matrix(&self, run_id: RunId) -> Result<Matrix, QuestionError> {
        self.check_bounds()?;
        let test = |name: &String| Test::named(name).ok_or_else(|| QuestionError::UnknownTest(name.clone()));
        let tests: Vec<_> = self.tests.iter().map(test).collect::<Result<_, _>>()?;
        let method = |name: &String| engine(name).ok_or_else(|| QuestionError::UnknownMethod(name.clone()));
        let methods: Vec<Engine> = self.methods.iter().map(method).collect::<Result<_, _>>()?;
        if self.depth > 1 && methods.iter().all(|method| method.is_serial()) {
            return Err(QuestionError::NoDepth(self.depth));
        }
        if let Some(method) = methods.iter().find(|method| self.direct && method.is_buffered()) {
            return Err(QuestionError::NotDirect(method.name().into()));
        }
        if let Some(test) = tests.iter().find(|test| methods.len() > 1 && test.calls != Calls::Chosen) {
            return Err(QuestionError::OwnCalls(test.name));
        }
        let pairs = pairs(&self.sizes, &self.records, !self.all_pairs);
        if pairs.is_empty() {
            return Err(QuestionError::Empty);
        }
        let parts = [self.methods.len(), self.streams.len(), pairs.len()];
        let parts = parts.iter().fold(u64::from(self.repeat), |all, some| all.saturating_mul(*some as u64));
        if parts > MOST_UNITS {
            return Err(QuestionError::TooMany(parts));
        }
        Ok(Matrix {
            executors: (0..self.files.len()).map(|stream| self.executor(stream).clone()).collect(),
            streams: self.streams.clone(),
            repeat: self.repeat,
            methods,
            depth: self.depth,
            access: Access { buffered: !self.direct, sync: self.sync },
            cold: self.cold,
            stonewall: self.stonewall,
            stride: self.stride,
            keep: self.keep,
            destroy: self.destroy,
            claim: self.claim,
            seed: self.seed,
            ..Matrix::new(self.files.clone(), tests, pairs, run_id)
        })
    }

    /// The executor of a stream: streams have the executors by turns.
    pub fn executor(&self, stream: usize) -> &Executor {
        self.executors.iter().cycle().nth(stream % self.executors.len().max(1)).unwrap_or(&Executor::Thread)
    }

    /// Returns the parts of its matrix in the order of measurement: each repetition has all of them, in a different
    /// order, so that drift during the run affects all cells equally.
    pub fn order(&self, matrix: &Matrix) -> Vec<Unit> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut units = matrix.units();
        let parts = (units.len() / self.repeat.max(1) as usize).max(1);
        units.chunks_mut(parts).for_each(|repetition| shuffle(repetition, &mut random));
        units
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn question() -> Question {
        let sizes = |kib: &[u64]| kib.iter().map(|kib| ByteSize(kib << 10)).collect::<Vec<_>>();
        Question {
            files: vec!["a".into(), "b".into()],
            executors: Vec::new(),
            tests: vec!["write".into(), "read".into()],
            sizes: sizes(&[64, 128, 256]),
            records: sizes(&[4, 128]),
            all_pairs: false,
            streams: vec![1, 2],
            methods: vec!["sync".into(), "mmap".into()],
            depth: 1,
            repeat: 3,
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
        }
    }

    #[test]
    fn randomizes_unit_order_per_repetition() {
        let question = question();
        let matrix = question.matrix(1).unwrap();
        let order = question.order(&matrix);
        assert_eq!(order.len(), 3 * 2 * 2 * 5);
        assert_eq!(order, question.order(&matrix));
        let mut orders = Vec::new();
        for (repeat, units) in order.chunks(20).enumerate() {
            assert!(units.iter().all(|unit| unit.repeat as usize == repeat));
            let mut places: Vec<Unit> = units.iter().map(|unit| Unit { repeat: 0, ..*unit }).collect();
            orders.push(places.clone());
            places.sort();
            places.dedup();
            assert_eq!(places.len(), 20);
        }
        assert!(orders[0] != orders[1] && orders[1] != orders[2]);
        assert!(matrix.plan(&order).is_ok());
    }

    #[test]
    fn destroy_is_never_stored() {
        let text = serde_json::to_string(&Question { destroy: true, ..question() }).unwrap();
        assert!(!text.contains("destroy"), "{text}");
        assert_eq!(serde_json::from_str::<Question>(&text).unwrap(), question());
    }

    #[test]
    fn streams_take_turns_on_their_hosts() {
        let host = |name: &str| Executor::Host(iosonar_plan::Host::new(name));
        let files = ["a", "b", "c"].map(std::path::PathBuf::from).to_vec();
        let question = Question { files, executors: vec![host("x"), host("y")], ..question() };
        assert_eq!(question.matrix(1).unwrap().executors, [host("x"), host("y"), host("x")]);
    }

    #[test]
    fn rejects_contradictory_options() {
        let names = |names: &str| names.split(' ').map(String::from).collect::<Vec<_>>();
        let tests = |text: &str, streams: &[u32]| Question::tests_of(&names(text), streams, 1);
        assert_eq!(tests("read write", &[1]), Ok(names("write read")));
        assert_eq!(tests("all", &[1]).unwrap().len(), TESTS.len() - 1);
        assert_eq!(tests("all", &[2]).unwrap().len(), TESTS.len());
        assert_eq!(tests("fread", &[1]), Err(QuestionError::NoFile("fread", "write")));
        assert_eq!(tests("write mixed", &[1, 2]), Err(QuestionError::NoMix));
        assert!(matches!(tests("reed", &[1]), Err(QuestionError::UnknownTest(_))));
        let of = |question: Question| question.matrix(1).map(|_| ());
        assert_eq!(of(Question { depth: 4, ..question() }), Err(QuestionError::NoDepth(4)));
        let unknown = Question { methods: names("sink"), ..question() };
        assert_eq!(of(unknown), Err(QuestionError::UnknownMethod("sink".into())));
        assert_eq!(of(Question { direct: true, ..question() }), Err(QuestionError::NotDirect("mmap".into())));
        let own = Question { tests: names("fwrite"), ..question() };
        assert_eq!(of(own), Err(QuestionError::OwnCalls("fwrite")));
        let large = Question { records: vec![ByteSize(1 << 30)], ..question() };
        assert_eq!(of(large), Err(QuestionError::Empty));
        let outside = |field, value, least, most| Err(QuestionError::Outside { field, value, least, most });
        assert_eq!(
            of(Question { repeat: u32::MAX, ..question() }),
            outside("repeat", u32::MAX.into(), 1, 1000)
        );
        assert_eq!(of(Question { streams: vec![1, 0], ..question() }), outside("streams", 0, 1, 1024));
        let sizes: Vec<ByteSize> = (1..=1000).map(|size| ByteSize(size << 10)).collect();
        let many = Question { sizes: sizes.clone(), records: sizes, ..question() };
        assert!(matches!(of(many), Err(QuestionError::TooMany(_))));
        assert!(METHODS.iter().all(|name| engine(name).is_some_and(|engine| engine.name() == *name)));
    }
}
