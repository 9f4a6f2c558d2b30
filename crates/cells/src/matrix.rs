//! The matrix: which tests, on files of which sizes, with records of which sizes, how often.

use crate::phases::phases_of;
use crate::{Pair, Test};
use iosonar_plan::{
    Access, ByteSize, Claim, Data, Engine, Executor, ExtraReads, Faults, FileLifecycle, InvalidPlan, Nanos,
    Order, Overlap, OverlapPolicy, Pacing, Phase, Plan, RunId, SyncFlag, Target, ThinkTime,
};
use std::path::PathBuf;

/// A matrix of tests, sizes and streams.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Test files: one per concurrent stream.
    pub files: Vec<PathBuf>,
    /// Executors of the tests on each file; files beyond the list are executed by threads.
    pub executors: Vec<Executor>,
    /// Tests in the order of execution on each file.
    pub tests: Vec<&'static Test>,
    /// Sizes of files and records.
    pub pairs: Vec<Pair>,
    /// Numbers of concurrent files, each measured separately.
    pub streams: Vec<u32>,
    /// Number of repetitions, at least one.
    pub repeat: u32,
    /// Engines for tests without their own calls, each measured separately; at least one.
    pub methods: Vec<Engine>,
    /// Queue depth of those tests.
    pub depth: u32,
    /// How files are opened.
    pub access: Access,
    /// Files are evicted from the page cache before each test that reads.
    pub cold: bool,
    /// Mount point of the files' file system, which is unmounted and mounted again before each test.
    pub remount: Option<PathBuf>,
    /// Files are locked during each test.
    pub lock: bool,
    /// Each request locks its bytes.
    pub lock_requests: bool,
    /// All streams use the first file.
    pub shared: bool,
    /// Telemetry files for write-only and read-only tests, which replace their order.
    pub telemetry: Telemetry,
    /// Final length of files after tests that write, if it is not a multiple of the record; 0: unchanged.
    pub cut: ByteSize,
    /// Extra reads of sequential readers.
    pub extra_reads: Option<ExtraReads>,
    /// Readers stop when the first of them has finished.
    pub stonewall: bool,
    /// Records from one request of the stride test to the next.
    pub stride: u32,
    /// Time between two samples of the machine's counters.
    pub sample_every: Nanos,
    /// Streams of the mixed test that read.
    pub mix: MixRule,
    /// The mixed test goes from the start of each file to its end.
    pub mix_in_order: bool,
    /// Order of records in random tests: each once.
    pub random: Order,
    /// Data to write, and expected in every byte read; `None`: sectors with headers.
    pub data: Option<Data>,
    /// Without `data`: each sector read must be as written to its place by some run.
    pub checks_headers: bool,
    /// Memory used by requests in turn; 0: the minimum.
    pub buffer_set: ByteSize,
    /// Memory read before each test to purge the CPU cache; 0: no purge.
    pub purge_cpu_cache: ByteSize,
    /// Requests per second of each stream; `None`: as fast as possible.
    pub rate: Option<u32>,
    /// Pauses between the requests of each stream; not with a rate.
    pub think_time: Option<ThinkTime>,
    /// Requests come in bursts, without other pauses.
    pub burst: Option<Burst>,
    /// Idle time between two tests.
    pub pause: Nanos,
    /// Delay between the starts of consecutive streams.
    pub stagger: Nanos,
    /// CPUs that streams are bound to, in turn; empty: the kernel chooses.
    pub cpus: Vec<u32>,
    /// The targets are devices, which are opened, but neither created nor deleted.
    pub is_device: bool,
    /// Files are kept at the end.
    pub keep: bool,
    /// Existing files may be overwritten and deleted.
    pub destroy: bool,
    /// Claim about the figures; `None`: that of [`Plan::claim`].
    pub claim: Option<Claim>,
    /// Seed of everything random.
    pub seed: u64,
    /// Run id in written blocks.
    pub run_id: RunId,
}

/// Files with the places of requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Telemetry {
    /// For tests that write.
    pub write: Option<PathBuf>,
    /// For tests that read.
    pub read: Option<PathBuf>,
}

/// Requests in bursts: after each, written data is flushed, followed by a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Bytes of a burst.
    pub size: ByteSize,
    /// From the end of its flush to the next burst.
    pub pause: Nanos,
}

impl Burst {
    /// Requests of a burst, if each has `request` bytes.
    pub(crate) fn requests(self, request: ByteSize) -> u64 {
        self.size.0.div_ceil(request.0.max(1)).max(1)
    }
}

/// Which streams of the mixed test read; the others write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MixRule {
    /// The first, the third and so on.
    #[default]
    Alternate,
    /// This percentage, the first ones.
    Percent(u32),
    /// This many, the first ones.
    Readers(u32),
}

impl MixRule {
    /// Whether a stream of `streams` streams reads.
    pub fn reads(self, stream: u32, streams: u32) -> bool {
        match self {
            MixRule::Alternate => stream.is_multiple_of(2),
            MixRule::Percent(percent) => stream < streams * percent.min(100) / 100,
            MixRule::Readers(readers) => stream < readers,
        }
    }
}

/// All tests on files of one size, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    /// Sizes of file and record.
    pub pair: Pair,
    /// Number of concurrent files.
    pub streams: u32,
    /// Index of the method in the matrix.
    pub method: usize,
    /// Number of the repetition, from 0.
    pub repeat: u32,
}

/// Maximum number of jobs of a plan: each takes about a kilobyte.
const MOST_JOBS: u64 = 200_000;

/// Why a matrix cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// No cell to measure.
    #[error("there is no cell to measure: every record is larger than every file")]
    Empty,
    /// The plan would be too large.
    #[error(
        "there are {0} tests of single streams to do, and {MOST_JOBS} fit into a plan: use fewer sizes or streams"
    )]
    TooMany(u64),
    /// An invalid plan.
    #[error(transparent)]
    Invalid(#[from] InvalidPlan),
}

impl Matrix {
    /// One stream and one repetition of synchronous calls through the page cache, as fast as possible.
    pub fn new(files: Vec<PathBuf>, tests: Vec<&'static Test>, pairs: Vec<Pair>, run_id: RunId) -> Matrix {
        Matrix {
            files,
            executors: Vec::new(),
            tests,
            pairs,
            streams: vec![1],
            repeat: 1,
            methods: vec![Engine::Sync],
            depth: 1,
            access: Access { buffered: true, sync: SyncFlag::None },
            sample_every: Nanos::SECOND,
            cold: false,
            remount: None,
            lock: false,
            lock_requests: false,
            shared: false,
            telemetry: Telemetry::default(),
            cut: ByteSize(0),
            extra_reads: None,
            stonewall: true,
            stride: 17,
            mix: MixRule::default(),
            mix_in_order: false,
            random: Order::Shuffled,
            data: None,
            checks_headers: false,
            buffer_set: ByteSize(0),
            purge_cpu_cache: ByteSize(0),
            rate: None,
            think_time: None,
            burst: None,
            pause: Nanos(0),
            stagger: Nanos(0),
            cpus: Vec::new(),
            is_device: false,
            keep: false,
            destroy: false,
            claim: None,
            seed: 1,
            run_id,
        }
    }

    /// Claims the speed of memory if there is no other claim, and all files in use at once fit into the page cache of a
    /// machine with `memory` bytes: IOzone's manual calls that the buffer cache.
    #[must_use]
    pub fn claiming(self, memory: Option<u64>) -> Matrix {
        let most = |sizes: &mut dyn Iterator<Item = u64>| sizes.max().unwrap_or(0);
        let largest = most(&mut self.pairs.iter().map(|pair| pair.file.0));
        let streams = most(&mut self.streams.iter().map(|streams| u64::from(*streams)));
        let is_cached = self.access == Access { buffered: true, sync: SyncFlag::None }
            && !self.is_device
            && !self.cold
            && self.remount.is_none()
            && memory.is_some_and(|memory| largest.saturating_mul(streams) < memory);
        let claim = self.claim.or(is_cached.then_some(Claim::Cache));
        Matrix { claim, ..self }
    }

    /// Returns its parts, in order: by repetition, method, streams, and pair.
    pub fn units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for repeat in 0..self.repeat.max(1) {
            for method in 0..self.methods.len() {
                for streams in &self.streams {
                    let unit = |pair: &Pair| Unit { pair: *pair, streams: *streams, method, repeat };
                    units.extend(self.pairs.iter().map(unit));
                }
            }
        }
        units
    }

    /// Returns a plan that executes these parts, one after the other.
    ///
    /// # Errors
    /// There is no part, or the matrix is not expressible as a plan.
    pub fn plan(&self, units: &[Unit]) -> Result<Plan, MatrixError> {
        let jobs = units.iter().map(|unit| u64::from(unit.streams)).sum::<u64>() * self.tests.len() as u64;
        if jobs > MOST_JOBS {
            return Err(MatrixError::TooMany(jobs));
        }
        let mut phases: Vec<Phase> = units.iter().flat_map(|unit| phases_of(self, *unit)).collect();
        let after_others = phases.iter_mut().skip(1).flat_map(|phase| &mut phase.jobs);
        after_others
            .for_each(|job| job.options.start_delay = job.options.start_delay.saturating_add(self.pause));
        let used = phases.iter().map(|phase| phase.jobs.len()).max().ok_or(MatrixError::Empty)?;
        let own = (0..used.min(self.files.len())).map(|number| self.target(number));
        let targets = match (self.shared, self.files.first()) {
            // The first one creates the file, and deletes it.
            (true, Some(path)) => own.take(1).chain((1..used).map(|_| Target::new(path))).collect(),
            _ => own.collect(),
        };
        let plan = Plan {
            seed: self.seed,
            destroy: self.destroy,
            claim: self.claim,
            engine: self.methods.first().copied().ok_or(MatrixError::Empty)?,
            access: self.access,
            pacing: Pacing { pin: self.cpus.clone(), ..Pacing::default() },
            sample_every: self.sample_every,
            // A cell with missing requests is invalid.
            faults: Faults { max_errors: Some(0), ..Faults::default() },
            overlap: Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() },
            ..Plan::new(self.run_id, targets, phases)
        };
        plan.validate()?;
        Ok(plan)
    }

    fn target(&self, number: usize) -> Target {
        let (writes, makes) = (self.tests.iter().any(|test| test.writes()), self.makes_files());
        let file = FileLifecycle {
            create: makes,
            must_be_new: writes && !self.is_device,
            delete: makes && !self.keep,
            ..FileLifecycle::default()
        };
        let executor = self.executors.get(number).cloned().unwrap_or_default();
        Target { file, executor, ..Target::new(&self.files[number]) }
    }

    /// Whether its tests create the files; otherwise they must exist.
    pub fn makes_files(&self) -> bool {
        !self.is_device && self.tests.first().is_some_and(|test| test.made == crate::Made::Anew)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TESTS;
    use iosonar_plan::{Pace, PhaseEnd, Workload};

    fn matrix(streams: u32) -> Matrix {
        let pair =
            |file: u64, record: u64| Pair { file: ByteSize(file << 10), record: ByteSize(record << 10) };
        let files = (0..streams).map(|number| format!("file.{number}").into()).collect();
        let tests = TESTS.iter().filter(|test| streams > 1 || test.number != 8).collect();
        let pairs = vec![pair(64, 4), pair(100, 64), pair(1024, 1024)];
        Matrix {
            streams: vec![streams],
            repeat: 2,
            cold: true,
            lock: true,
            ..Matrix::new(files, tests, pairs, 7)
        }
    }

    #[test]
    fn plan_has_one_phase_per_test_and_cell() {
        for streams in [1, 3] {
            let matrix = matrix(streams);
            let units = matrix.units();
            assert_eq!(units.len(), 6);
            let plan = matrix.plan(&units).unwrap();
            assert_eq!(plan.phases.len(), 6 * matrix.tests.len());
            assert_eq!(plan.targets.len(), streams as usize);
            assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
            let cells: Vec<_> = plan.phases.iter().map(|phase| phase.cell.clone().unwrap()).collect();
            assert!(cells.iter().enumerate().all(|(n, cell)| !cells[..n].contains(cell)));
            assert_eq!(cells[0].test, "write");
        }
    }

    #[test]
    fn warm_files_that_fit_in_memory_claim_cache() {
        let warm = |more: Matrix| Matrix { cold: false, ..more };
        let of = |matrix: Matrix, memory| matrix.claiming(memory).claim;
        assert_eq!(of(warm(matrix(3)), Some(4 << 20)), Some(Claim::Cache));
        assert_eq!(of(warm(matrix(3)), Some(3 << 20)), None);
        assert_eq!(of(warm(matrix(3)), None), None);
        assert_eq!(of(matrix(1), Some(1 << 30)), None);
        let direct = Access { buffered: false, ..Access::default() };
        assert_eq!(of(Matrix { access: direct, ..warm(matrix(1)) }, Some(1 << 30)), None);
        let claimed = Matrix { claim: Some(Claim::Filesystem), ..warm(matrix(1)) };
        assert_eq!(of(claimed, Some(1 << 30)), Some(Claim::Filesystem));
    }

    /// 100 KiB hold one whole record of 64 KiB.
    #[test]
    fn uses_only_whole_records() {
        let plan = matrix(1).plan(&matrix(1).units()).unwrap();
        for phase in &plan.phases {
            let (cell, job) = (phase.cell.as_ref().unwrap(), &phase.jobs[0]);
            let Workload::Generated(generator) = &job.workload else { panic!("it is generated") };
            let bytes = cell.file.0 / cell.record.0 * cell.record.0;
            assert_eq!(generator.stop.bytes, Some(iosonar_plan::Space::Bytes(ByteSize(bytes))), "{cell:?}");
        }
    }

    #[test]
    fn rejects_too_many_phases() {
        let matrix = Matrix { streams: (1..=1024).collect(), ..matrix(1) };
        assert!(matches!(matrix.plan(&matrix.units()), Err(MatrixError::TooMany(_))));
    }

    #[test]
    fn only_readers_stop_at_the_stonewall() {
        let matrix = matrix(3);
        let plan = matrix.plan(&matrix.units()).unwrap();
        for phase in &plan.phases {
            let test = Test::named(&phase.cell.as_ref().unwrap().test).unwrap();
            let first = phase.coordination.ends == PhaseEnd::First;
            assert_eq!(first, !test.writes(), "{}", phase.name);
        }
        let without = Matrix { stonewall: false, ..matrix };
        let plan = without.plan(&without.units()).unwrap();
        assert!(plan.phases.iter().all(|phase| phase.coordination.ends == PhaseEnd::All));
    }

    #[test]
    fn staggers_streams_and_pauses_between_tests() {
        let (pause, stagger) = (Nanos(5_000), Nanos(7));
        let matrix = Matrix { pause, stagger, rate: Some(50), cpus: vec![1, 0], ..matrix(3) };
        let plan = matrix.plan(&matrix.units()).unwrap();
        let delays = |phase: usize| {
            plan.phases[phase].jobs.iter().map(|job| job.options.start_delay.0).collect::<Vec<_>>()
        };
        assert_eq!([delays(0), delays(1)], [vec![0, 7, 14], vec![5_000, 5_007, 5_014]]);
        let is_paced =
            |job: &iosonar_plan::Job| job.workload.generator().is_some_and(|g| g.pace != Pace::Closed);
        assert!(plan.phases.iter().flat_map(|phase| &phase.jobs).all(is_paced));
        assert_eq!(plan.pacing.pin, [1, 0]);
    }

    #[test]
    fn bursts_end_with_flush_and_pause() {
        let burst = Burst { size: ByteSize(10 << 10), pause: Nanos(3_000) };
        let matrix = Matrix { burst: Some(burst), ..matrix(1) };
        let plan = matrix.plan(&matrix.units()).unwrap();
        for phase in &plan.phases {
            let generator = phase.jobs[0].workload.generator().unwrap();
            let requests = (10u64 << 10).div_ceil(generator.longest());
            assert_eq!(
                generator.thinktime.map(|think| (think.time.0, think.blocks)),
                Some((3_000, requests))
            );
            let flushed = generator.flush.map(|rule| rule.after_writes);
            assert_eq!(flushed, generator.only_writes().then_some(requests), "{}", phase.name);
        }
    }

    #[test]
    fn mix_has_the_requested_readers() {
        let readers = |rule: MixRule| (0..4).filter(|stream| rule.reads(*stream, 4)).collect::<Vec<_>>();
        assert_eq!(readers(MixRule::Alternate), [0, 2]);
        assert_eq!(readers(MixRule::Percent(75)), [0, 1, 2]);
        assert_eq!(readers(MixRule::Percent(0)), [0u32; 0]);
        assert_eq!(readers(MixRule::Readers(1)), [0]);
    }
}
