//! The plans of an experiment: one that creates the files, and one that scans them.

use crate::creation::{Content, Files, FillOrder, Method, SpaceBefore, Way};
use crate::shuffle::shuffle;
use iosonar_plan::{
    Access, AtEnd, ByteSize, Cell, Coordination, Data, Decimal, Dedupe, Engine, Faults, FileLifecycle,
    FileStep, FlushOp, FlushRule, Generator, InvalidPlan, Job, JobOptions, Memory, Nanos, Order, Overlap,
    OverlapPolicy, Phase, Plan, RunId, SECTOR, Space, Stop, Target, Workload,
};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;
use std::path::PathBuf;

/// Test name of the cells that create files.
pub const CREATE: &str = "create";
/// Test name of the cells that flush files which were reopened repeatedly.
pub const FLUSH: &str = "flush";
/// Test name of the cells that scan files.
pub const SCAN: &str = "scan";

/// Writers start one after the other, as programs do. If they started simultaneously, each would find the allocation
/// group of the others locked, and XFS would choose another one.
const STAGGER: Nanos = Nanos(2_000_000);

/// Files of one size, created by several methods and scanned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Experiment {
    /// The methods.
    pub methods: Vec<Method>,
    /// Bytes of each file.
    pub size: ByteSize,
    /// Bytes of each read of a scan.
    pub scan_record: ByteSize,
    /// Scans bypass the page cache.
    pub scan_direct: bool,
    /// Number of scans of all files.
    pub rounds: u32,
    /// Seed of the orders of methods and of random data.
    pub seed: u64,
    /// Time between two samples of the machine's counters.
    pub sample_every: Nanos,
    /// Run id in the data.
    pub run_id: RunId,
}

/// Why an experiment has no plan.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A size is not a multiple of another one.
    #[error("--size {size} is no multiple of {of} in the method '{method}': use another one of them")]
    NoMultiple {
        /// The method.
        method: String,
        /// Bytes of a file.
        size: ByteSize,
        /// Required divisor.
        of: ByteSize,
    },
    /// Contradicting parts of a method.
    #[error("the method '{method}': {every} is no multiple of {write}: use another one of them")]
    Uneven {
        /// The method.
        method: String,
        /// A distance in bytes.
        every: ByteSize,
        /// Bytes of a write.
        write: ByteSize,
    },
    /// Not expressible as a plan.
    #[error(transparent)]
    Plan(#[from] InvalidPlan),
}

impl Experiment {
    /// Number of files of each method, in the order of methods.
    pub fn files(&self) -> impl Iterator<Item = u32> + '_ {
        self.methods.iter().map(|method| method.files.count())
    }

    /// The order in which methods create their files.
    pub fn creation_order(&self) -> Vec<usize> {
        self.orders().remove(0)
    }

    /// The order of methods in each round of scans.
    pub fn scan_orders(&self) -> Vec<Vec<usize>> {
        self.orders().split_off(1)
    }

    /// Each round has all methods in a different order, so that drift affects all equally.
    fn orders(&self) -> Vec<Vec<usize>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut order: Vec<usize> = (0..self.methods.len()).collect();
        (0..=self.rounds)
            .map(|_| {
                let before = order.clone();
                // With two methods chance alone would often repeat an order; otherwise chance decides.
                while order == before && order.len() > 1 {
                    shuffle(&mut order, &mut random);
                }
                order.clone()
            })
            .collect()
    }

    /// Returns the plan that creates the files, which must not exist. `files` has the paths of each method.
    ///
    /// # Errors
    /// See [`ExperimentError`].
    pub fn creation(&self, files: &[Vec<PathBuf>]) -> Result<Plan, ExperimentError> {
        let mut phases = Vec::new();
        for number in self.creation_order() {
            phases.push(self.create(number)?);
            phases.extend(self.methods[number].reopen_every.map(|_| self.flush(number)));
        }
        let targets = self.methods.iter().zip(files).flat_map(|(method, files)| {
            let sync_every_passes = method.fsync_passes().unwrap_or(0);
            let file = FileLifecycle {
                create: true,
                must_be_new: true,
                sync_every_passes,
                ..FileLifecycle::default()
            };
            files.iter().map(move |path| Target { file, ..Target::new(path) })
        });
        let targets = targets.collect();
        let most = self.methods.iter().map(|m| m.write_bytes(self.size).0 * u64::from(m.files.count())).max();
        self.plan(targets, phases, most.unwrap_or(0))
    }

    /// Returns the plan that scans them, one after the other, after evicting each from the page cache.
    ///
    /// # Errors
    /// See [`ExperimentError`].
    pub fn scans(&self, files: &[Vec<PathBuf>]) -> Result<Plan, ExperimentError> {
        let orders = self.scan_orders().into_iter().enumerate();
        let phases = orders.flat_map(|(round, order)| {
            order.into_iter().flat_map(move |number| {
                (1..)
                    .zip(self.targets(number))
                    .map(move |(file, target)| self.scan(round as u32, number, file, target))
            })
        });
        let targets = files.iter().flatten().map(Target::new).collect();
        self.plan(targets, phases.collect(), self.scan_record.0)
    }

    fn plan(&self, targets: Vec<Target>, phases: Vec<Phase>, data: u64) -> Result<Plan, ExperimentError> {
        // Targets share the data memory equally, and only those of one phase need it at a time.
        let buffers = ByteSize(data.saturating_mul(targets.len() as u64).max(Memory::default().buffers.0));
        let plan = Plan {
            seed: self.seed,
            engine: Engine::Threads,
            memory: Memory { buffers, ..Memory::default() },
            sample_every: self.sample_every,
            // A file with missing data is not the requested file.
            faults: Faults { max_errors: Some(0), ..Faults::default() },
            overlap: Overlap { policy: OverlapPolicy::Allow, ..Overlap::default() },
            ..Plan::new(self.run_id, targets, phases)
        };
        plan.validate()?;
        Ok(plan)
    }

    /// Target numbers of a method.
    pub(super) fn targets(&self, number: usize) -> Range<u16> {
        let first: u32 = self.files().take(number).sum();
        first as u16..(first + self.methods[number].files.count()) as u16
    }

    fn cell(&self, test: &str, number: usize, record: ByteSize, repeat: u32) -> Cell {
        let method = &self.methods[number];
        Cell {
            test: test.into(),
            file: self.size,
            record,
            streams: method.files.count(),
            method: method.to_string(),
            repeat,
        }
    }

    fn create(&self, number: usize) -> Result<Phase, ExperimentError> {
        let method = &self.methods[number];
        let write = method.write_bytes(self.size);
        self.check(method, write)?;
        let jobs =
            (0..).zip(self.targets(number)).map(|(file, target)| self.writer(method, write, file, target));
        let in_turn = matches!(method.files, Files::InTurn(_));
        Ok(Phase {
            name: format!("{CREATE} {method}"),
            cell: Some(self.cell(CREATE, number, write, 0)),
            passes: method.reopen_every.map_or(1, |every| (self.size.0 / every.0) as u32),
            coordination: Coordination { in_turn, ..Coordination::default() },
            ..Phase::of(jobs.collect())
        })
    }

    /// Checks that the sizes of a method divide each other.
    fn check(&self, method: &Method, write: ByteSize) -> Result<(), ExperimentError> {
        let in_order = method.order == FillOrder::Sequential;
        let sector = (method.way == Way::Direct).then_some(ByteSize(SECTOR));
        let whole =
            [Some(write).filter(|_| !in_order && method.way != Way::None), method.reopen_every, sector];
        if let Some(of) = whole.into_iter().flatten().find(|of| !self.size.0.is_multiple_of(of.0)) {
            return Err(ExperimentError::NoMultiple { method: method.to_string(), size: self.size, of });
        }
        let distances = [method.fsync_every, method.reopen_every];
        match distances.into_iter().flatten().find(|every| !every.0.is_multiple_of(write.0)) {
            Some(every) => Err(ExperimentError::Uneven { method: method.to_string(), every, write }),
            None => Ok(()),
        }
    }

    fn writer(&self, method: &Method, write: ByteSize, file: u64, target: u16) -> Job {
        let amount = method.reopen_every.unwrap_or(self.size);
        let (order, region) = match method.order {
            FillOrder::Sequential => (Order::Sequential, None),
            FillOrder::Random => (Order::Shuffled, Some(Space::Bytes(self.size))),
            FillOrder::Reverse => (Order::Backward, Some(Space::Bytes(self.size))),
        };
        let stop = match method.way {
            Way::None => Stop { requests: Some(0), ..Stop::default() },
            _ => Stop { bytes: Some(Space::Bytes(amount)), cut_last: region.is_none(), ..Stop::default() },
        };
        let writes = method.way != Way::None;
        let flush = |every: ByteSize| FlushRule { after_writes: every.0 / write.0, op: FlushOp::Fsync };
        let generator = Generator {
            read_percent: Decimal::whole(0),
            flush: method.fsync_every.filter(|_| writes && method.fsync_passes().is_none()).map(flush),
            at_end: AtEnd::Extend,
            region,
            pass_offset: method.reopen_every.unwrap_or_default(),
            stop,
            ..Generator::new(order, write)
        };
        let options = JobOptions {
            access: Some(Access { buffered: method.is_buffered(), sync: method.sync }),
            engine: (method.way == Way::Mmap).then(|| Engine::Mmap(Default::default())),
            data: data(method.content),
            start_delay: match method.files {
                Files::Together(_) | Files::Apart(_) => Nanos(STAGGER.0 * file),
                Files::One | Files::InTurn(_) => Nanos(0),
            },
            before: before(method, self.size),
            after: match method.reopen_every {
                Some(_) => vec![FileStep::Close],
                None => vec![FileStep::Fsync, FileStep::Close],
            },
            ..JobOptions::default()
        };
        Job { options, ..Job::new(target, 1, Workload::Generated(generator)) }
    }

    /// A method that reopens its files flushes once, at the end.
    fn flush(&self, number: usize) -> Phase {
        let generator = Generator {
            read_percent: Decimal::whole(0),
            at_end: AtEnd::Extend,
            stop: Stop { requests: Some(0), ..Stop::default() },
            ..Generator::new(Order::Sequential, self.methods[number].write_bytes(self.size))
        };
        let options = JobOptions {
            access: Some(Access { buffered: true, ..Access::default() }),
            before: vec![FileStep::Open],
            after: vec![FileStep::Fsync, FileStep::Close],
            ..JobOptions::default()
        };
        let job = |target| Job {
            options: options.clone(),
            ..Job::new(target, 1, Workload::Generated(generator.clone()))
        };
        let method = &self.methods[number];
        Phase {
            name: format!("{FLUSH} {method}"),
            cell: Some(self.cell(FLUSH, number, method.write_bytes(self.size), 0)),
            ..Phase::of(self.targets(number).map(job).collect())
        }
    }

    fn scan(&self, round: u32, number: usize, file: u32, target: u16) -> Phase {
        let generator = Generator {
            stop: Stop { bytes: Some(Space::Bytes(self.size)), cut_last: true, ..Stop::default() },
            ..Generator::new(Order::Sequential, self.scan_record.min(self.size))
        };
        let options = JobOptions {
            access: Some(Access { buffered: !self.scan_direct, ..Access::default() }),
            before: vec![FileStep::Open, FileStep::Evict],
            after: vec![FileStep::Close],
            ..JobOptions::default()
        };
        let method = &self.methods[number];
        let of_several = if method.files.count() > 1 { format!(" file {file}") } else { String::new() };
        Phase {
            name: format!("{SCAN} {} {method}{of_several}", round + 1),
            cell: Some(self.cell(SCAN, number, self.scan_record.min(self.size), round)),
            ..Phase::of(vec![Job { options, ..Job::new(target, 1, Workload::Generated(generator)) }])
        }
    }
}

/// `None`: sectors with headers, which are incompressible.
fn data(content: Content) -> Option<Data> {
    match content {
        Content::Random => None,
        Content::Zeros => Some(Data::Byte(0)),
        Content::Compressible(percent) => {
            let dedupe = Dedupe::of(percent, ByteSize(4096));
            Some(Data::Dedupe(Dedupe { constant_percent: 100, ..dedupe }))
        }
    }
}

fn before(method: &Method, size: ByteSize) -> Vec<FileStep> {
    // Each pass opens the file created by the preparation.
    let open = if method.reopen_every.is_some() { FileStep::Open } else { FileStep::Create };
    let space = match method.space {
        SpaceBefore::Grows => None,
        SpaceBefore::Truncated => Some(FileStep::Truncate(size)),
        SpaceBefore::Allocated => Some(FileStep::Extend(size)),
        SpaceBefore::AllocatedKeepSize => Some(FileStep::Allocate(size)),
        SpaceBefore::ZeroRange => Some(FileStep::ZeroRange(size)),
    };
    [Some(open), method.extent_hint.map(FileStep::ExtentHint), space].into_iter().flatten().collect()
}
