//! Converts a command line to a matrix. Options that contradict each other or would have no effect are refused by name.

use crate::columns::Unit;
use crate::settings::{Client, Settings};
use iosonar_cells::{
    Burst, CROSSOVER, Calls, Made, Matrix, MixRule, OrderKind, Pair, Series, TESTS, Telemetry, Test, Timed,
    Transfer, pairs,
};
use iosonar_dialect_common::UsageError;
use iosonar_plan::{
    Access, ByteSize, Data, Dedupe, Engine, Executor, ExtraReads, Host, MmapOptions, Nanos, Order, RunId,
    ThinkTime,
};
use iosonar_text::shown;
use std::path::PathBuf;

/// Default test file.
const FILE: &str = "iozone.tmp";
/// Default prefix of the files of streams; their number follows.
const FILES: &str = "iozone.DUMMY.";
/// Default sizes.
const SIZE: ByteSize = ByteSize(512 << 10);
const RECORD: ByteSize = ByteSize(4 << 10);
/// Memory of `-m`.
const BUFFERS: ByteSize = ByteSize(16 << 20);
/// Bytes purged by `-p` if the size of the CPU cache is unknown: as IOzone.
const CPU_CACHE: ByteSize = ByteSize(1 << 20);
/// Default borders of the matrix.
const FILES_OF_MATRIX: (ByteSize, ByteSize) = (ByteSize(64 << 10), ByteSize(512 << 20));
const RECORDS_OF_MATRIX: (ByteSize, ByteSize) = (ByteSize(4 << 10), ByteSize(16 << 20));

/// Tests of throughput mode, in IOzone's order.
const THROUGHPUT: [&str; 13] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "backward_read",
    "stride_read",
    "random_read",
    "mixed",
    "random_write",
    "pwrite",
    "pread",
    "fwrite",
    "fread",
];

/// Returns the error of the first case that holds.
fn refuse_first(cases: impl IntoIterator<Item = (bool, &'static str)>) -> Result<(), UsageError> {
    match cases.into_iter().find(|(holds, _)| *holds) {
        Some((_, why)) => Err(UsageError::new(why)),
        None => Ok(()),
    }
}

/// Like [`refuse_first`], for cases of one option.
fn refuse_first_of<'a>(
    option: &str,
    cases: impl IntoIterator<Item = (bool, &'a str)>,
) -> Result<(), UsageError> {
    match cases.into_iter().find(|(holds, _)| *holds) {
        Some((_, why)) => Err(UsageError::new(format_args!("{option}: {why}"))),
        None => Ok(()),
    }
}

fn millis(ms: u32) -> Nanos {
    Nanos(u64::from(ms) * 1_000_000)
}

impl Settings {
    /// The matrix of this command line.
    ///
    /// # Errors
    /// Options contradict each other, or nothing is measured.
    pub fn matrix(&self, run_id: RunId) -> Result<Matrix, UsageError> {
        self.check_modes()?;
        self.check_borders()?;
        self.check_telemetry()?;
        self.check_methods()?;
        self.check_clients()?;
        self.check_content()?;
        let tests = self.selected()?;
        let streams = self.all_streams()?;
        let most = streams.iter().copied().max().unwrap_or(1);
        self.check_files_of_clients(most)?;
        let pairs = self.pairs(&streams)?;
        self.check_order(&tests, &pairs)?;
        self.check_outputs(&tests)?;
        self.check_jitter(&pairs)?;
        Ok(Matrix {
            streams,
            methods: vec![self.engine()],
            depth: self.asynchronous.map_or(1, |wanted| wanted.depth + 1),
            access: Access { buffered: !self.direct, sync: self.sync },
            sample_every: self.sample_every.unwrap_or(Nanos::SECOND),
            // The record of the eviction proves it: it contains the amount cached.
            cold: self.cold || self.remount.is_some(),
            remount: self.remount.as_ref().map(PathBuf::from),
            lock: self.lock,
            lock_requests: self.lock_records,
            shared: self.shared,
            telemetry: Telemetry {
                write: self.write_telemetry.as_ref().map(PathBuf::from),
                read: self.read_telemetry.as_ref().map(PathBuf::from),
            },
            cut: self.cut(),
            extra_reads: self.jitter.then(|| self.extra_reads()),
            stonewall: !self.no_stonewall,
            stride: self.stride.unwrap_or(17),
            mix: self.mix(),
            mix_in_order: self.mix_in_order,
            data: self.content(),
            // Foreign files (-+E) have no headers, telemetry may read unwritten data, and streams write a shared file
            // concurrently.
            checks_headers: !self.existing && !self.has_telemetry() && !self.shared,
            random: self.random_order(),
            buffer_set: if self.many_buffers { BUFFERS } else { ByteSize(0) },
            purge_cpu_cache: if self.purge { self.cpu_cache.unwrap_or(CPU_CACHE) } else { ByteSize(0) },
            rate: self.rate,
            think_time: self.think_time(),
            burst: self.burst.map(|(size, ms)| Burst { size, pause: millis(ms) }),
            pause: Nanos::from_secs(self.pause_s.into()),
            stagger: Nanos(u64::from(self.stagger_us.unwrap_or(0)) * 1000),
            executors: self.executors(most)?,
            keep: self.keep || self.existing || self.finds_file,
            destroy: self.destroy,
            seed: self.seed.unwrap_or(1),
            ..Matrix::new(self.paths(most), tests, pairs, run_id)
        })
    }

    /// CPUs for binding streams, in turn, of a machine with `count` CPUs.
    ///
    /// # Errors
    /// The first CPU does not exist.
    pub fn cpus(&self, count: u32) -> Result<Vec<u32>, UsageError> {
        let Some(first) = self.first_cpu else { return Ok(Vec::new()) };
        if first >= count {
            return Err(UsageError::new(format_args!(
                "-P {first}: there is no such CPU: name one from 0 to {}",
                count.saturating_sub(1)
            )));
        }
        Ok((first..count).chain(0..first).collect())
    }

    fn think_time(&self) -> Option<ThinkTime> {
        let time = millis(self.think_ms?);
        Some(ThinkTime { time, spin: time, blocks: 1 })
    }

    /// Direct reads are at least a page.
    fn extra_reads(&self) -> ExtraReads {
        ExtraReads { every: 100, size: ByteSize(if self.direct { ExtraReads::SECOND } else { 1 }) }
    }

    /// Steps that count as part of a test's time.
    pub fn timed(&self) -> Timed {
        Timed { fsync: self.with_fsync, close: self.with_close, think_time: self.with_think }
    }

    /// Unit of figures.
    pub fn unit(&self) -> Unit {
        match (self.in_ops, self.in_microseconds) {
            (true, _) => Unit::OpsPerSecond,
            (_, true) => Unit::MicrosecondsPerOp,
            _ => Unit::KibPerSecond,
        }
    }

    fn has_borders(&self) -> bool {
        let borders = [self.least_file, self.most_file, self.least_record, self.most_record];
        borders.iter().any(Option::is_some) || self.factor.is_some()
    }

    fn check_modes(&self) -> Result<(), UsageError> {
        let many = self.is_throughput();
        refuse_first_of(
            if self.counts_streams() { "-t" } else { "--on" },
            [
                (many && self.auto, "-a is a matrix of single streams: remove one of them"),
                (many && self.has_borders(), "-n, -g, -y, -q and -+x belong to -a: remove them"),
                (many && self.file.is_some(), "-f is the file of a single stream: name files with -F"),
                (many && self.remount.is_some(), "-U is for a single stream: remove one of them"),
                (many && self.in_microseconds, "-N is for a single stream: remove one of them"),
            ],
        )?;
        refuse_first([
            (!many && !self.files.is_empty(), "-F: it names files of several streams: add -t, or use -f"),
            (!many && self.mix_percent.is_some(), "-+p has no effect without -t: add it, or remove -+p"),
            (!many && self.mix_readers.is_some(), "-+K has no effect without -t: add it, or remove -+K"),
            (!many && self.mix_in_order, "-+B has no effect without -t: add it, or remove -+B"),
            (!many && self.stagger_us.is_some(), "-d has no effect without -t: add it, or remove -d"),
            (!many && self.shared, "-+L and -+V have no effect without -t: add it, or remove them"),
            (
                self.lock && self.shared,
                "-W locks the whole file, and streams of one file (-+L, -+V) would wait for each other forever: remove -W",
            ),
            (
                self.lock_records && self.asynchronous.is_some(),
                "-+l and -+L: asynchronous requests (-H, -k) cannot wait for locks: keep one of them",
            ),
            (!many && self.total_size, "-+k has no effect without -t: add it, or remove -+k"),
            (!many && self.tests.contains(&8), "-i 8: the mixed test needs several streams: add -t"),
            (self.mix_percent.is_some() && self.mix_readers.is_some(), "-+p and -+K: keep one of them"),
            (!many && self.cpu && !self.report, "-+u prints into the report: add -R, or remove -+u"),
            (
                self.with_think && self.think_ms.is_none(),
                "-+J has no effect without -J: add it, or remove -+J",
            ),
            (
                self.think_ms.is_some() && self.rate.is_some(),
                "-J and -+O: a rate has no pauses: keep one of them",
            ),
            (
                self.burst.is_some() && self.rate.is_some(),
                "-+b and -+O: a rate has no pauses: keep one of them",
            ),
            (
                self.think_ms.is_some() && self.burst.is_some(),
                "-J and -+b: both are pauses: keep one of them",
            ),
            (self.in_ops && self.in_microseconds, "-O and -N: keep one of them"),
            (
                self.least_streams > self.most_streams && self.most_streams.is_some(),
                "-l is above -u: swap them",
            ),
            (self.least_streams.is_some() && !self.streams.is_empty(), "-t and -l: keep one of them"),
            (self.most_streams.is_some() && !self.streams.is_empty(), "-t and -u: keep one of them"),
        ])
    }

    fn has_telemetry(&self) -> bool {
        self.write_telemetry.is_some() || self.read_telemetry.is_some()
    }

    fn check_telemetry(&self) -> Result<(), UsageError> {
        let has = self.has_telemetry();
        let (writes, reads) = self.telemetry;
        refuse_first([
            (has && self.auto, "-X and -Y set the sizes: remove -a"),
            (has && !self.sizes.is_empty(), "-X and -Y set the sizes: remove -s"),
            (has && !self.records.is_empty(), "-X and -Y set the sizes: remove -r"),
            (has && self.stride.is_some(), "-X and -Y: no test has a stride: remove -j"),
            (has && self.jitter, "-X and -Y name every request: remove -K"),
            (
                has && self.data.is_some(),
                "-X and -Y: what is not written cannot be checked: remove -V or -+d",
            ),
            (has && self.think_ms.is_some(), "-X and -Y have delays of their own: remove -J"),
            (has && self.burst.is_some(), "-X and -Y have delays of their own: remove -+b"),
            (has && self.rate.is_some(), "-X and -Y have delays of their own: remove -+O"),
            (has && self.asynchronous.is_some(), "-X and -Y: requests follow each other: remove -H or -k"),
            (has && !self.follows_selection(), "-X and -Y select tests 0 and 1: remove -i"),
            (
                self.write_telemetry.is_some() && self.read_telemetry.is_some() && reads.end > writes.end,
                "-Y reads beyond the last byte that -X writes: use another file",
            ),
        ])
    }

    /// `-X` selects test 0 and `-Y` test 1, which needs a file that exists or that test 0 has written.
    fn numbers(&self) -> Vec<u8> {
        match (&self.write_telemetry, &self.read_telemetry) {
            (None, None) => self.tests.clone(),
            (_, None) => vec![0],
            (None, Some(_)) if self.existing || self.finds_file || self.tests == [1] => vec![1],
            (_, Some(_)) => vec![0, 1],
        }
    }

    /// Whether `-i` selects the tests of the telemetry files.
    fn follows_selection(&self) -> bool {
        let mut selected = self.tests.clone();
        selected.sort_unstable();
        selected.dedup();
        selected.is_empty() || selected == self.numbers()
    }

    /// Sizes required by the telemetry files. Without one for writes, test 0 writes the file in whole records.
    fn telemetry_pair(&self) -> Pair {
        let (writes, reads) = self.telemetry;
        let record = writes.longest.max(reads.longest).max(1);
        let file = match (writes.end, self.numbers().contains(&0)) {
            (0, true) => reads.end.next_multiple_of(record),
            (0, false) => reads.end.max(record),
            (end, _) => end.max(record),
        };
        Pair { file: ByteSize(file), record: ByteSize(record) }
    }

    /// End of the range that `-Y` reads, if test 0 writes the file for it in whole records.
    fn cut(&self) -> ByteSize {
        let is_for_reads = self.read_telemetry.is_some() && self.write_telemetry.is_none();
        ByteSize(if is_for_reads { self.telemetry.1.end } else { 0 })
    }

    fn check_jitter(&self, pairs: &[Pair]) -> Result<(), UsageError> {
        let end = self.extra_reads().end();
        match pairs.iter().find(|pair| self.jitter && pair.file.0 / pair.record.0 * pair.record.0 < end) {
            Some(pair) => Err(UsageError::new(format_args!(
                "-K: a file of {} has no byte {end}, which is read, too: use larger files",
                pair.file
            ))),
            None => Ok(()),
        }
    }

    fn check_borders(&self) -> Result<(), UsageError> {
        let (files, records) = (self.file_borders(), self.record_borders());
        refuse_first([
            (!self.auto && self.has_borders(), "-n, -g, -y, -q and -+x have no effect without -a: add it"),
            (!self.auto && self.no_crossover, "-z has no effect without -a: add it, or remove -z"),
            (files.0 > files.1, "-n is above -g: swap them"),
            (records.0 > records.1, "-y is above -q: swap them"),
            (self.auto && records.0 > files.1, "-y is above -g: no record fits into any file"),
        ])
    }

    fn check_methods(&self) -> Result<(), UsageError> {
        let mapped = self.mmap.is_some();
        let reads_only = |number: &u8| TESTS.iter().all(|test| test.number != *number || !test.writes());
        let is_alien = |number: &u8| matches!(number, 6 | 7 | 9..=12);
        refuse_first([
            (
                mapped && self.asynchronous.is_some(),
                "-B, -D and -G map files, which -H and -k do not: keep one",
            ),
            (!mapped && self.advice.is_some(), "-+A is for mapped files: add -B, -D or -G, or remove it"),
            (!mapped && self.mixed_mmap, "-Z is for mapped files: add -B, -D or -G, or remove it"),
            (mapped && self.direct, "-I has no effect on mapped files (-B, -D, -G): keep one of them"),
            (
                mapped && self.tests.iter().any(is_alien),
                "-B, -D and -G: tests 6, 7 and 9 to 12 map no file: remove -i of them",
            ),
            (self.existing && self.numbers().is_empty(), "-+E: select reading tests with -i"),
            (
                self.existing && !self.numbers().iter().all(reads_only),
                "-+E: a selected test writes: remove its -i, or -+E",
            ),
            (
                self.existing && self.file.is_none() && self.files.is_empty(),
                "-+E: name the file with -f, or files with -F",
            ),
            (
                self.existing && self.content().is_some(),
                "-+E: the content of the file is not known: remove -V, -+d, -+w, -+X or -+Z",
            ),
        ])
    }

    fn check_content(&self) -> Result<(), UsageError> {
        let equal = self.equal_percent.is_some();
        refuse_first([
            (
                equal && self.data.is_some(),
                "-+w stands beside another option for what is written: keep one of them",
            ),
            (!equal && self.constant_percent.is_some(), "-+y has no effect without -+w: add it"),
            (!equal && self.equal_seed.is_some(), "-+S has no effect without -+w: add it"),
            (!equal && self.skew.is_some(), "-+W has no effect without -+w: add it"),
            (
                self.constant_percent.is_none() && self.local_percent.is_some(),
                "-+C has no effect without -+y: add it",
            ),
        ])
    }

    /// Data to write and check, in units that the matrix sets.
    fn content(&self) -> Option<Data> {
        let Some(percent) = self.equal_percent else { return self.data.clone() };
        Some(Data::Dedupe(Dedupe {
            constant_percent: self.constant_percent.unwrap_or(0),
            local_percent: self.local_percent.unwrap_or(0),
            seed: self.equal_seed.unwrap_or(1),
            skew: self.skew.unwrap_or(0),
            ..Dedupe::of(percent, RECORD)
        }))
    }

    fn random_order(&self) -> Order {
        if self.iozone_order { Order::MersenneShuffled } else { Order::Shuffled }
    }

    /// IOzone's order applies to random tests, and is held in memory.
    fn check_order(&self, tests: &[&Test], pairs: &[Pair]) -> Result<(), UsageError> {
        let is_random = tests.iter().any(|test| test.order == OrderKind::Random);
        if !self.iozone_order {
            return Ok(());
        }
        if !is_random {
            return Err(UsageError::new("--order has no effect: no selected test is random: add -i 2"));
        }
        let most = Order::MOST_MERSENNE;
        match pairs.iter().find(|pair| pair.records() > most) {
            Some(pair) => Err(UsageError::new(format_args!(
                "--order iozone: a file of {} has {} records of {}, and {most} fit into memory: use larger records, or remove it",
                pair.file,
                pair.records(),
                pair.record
            ))),
            None => Ok(()),
        }
    }

    fn check_outputs(&self, tests: &[&Test]) -> Result<(), UsageError> {
        let is_standard = |name: &Option<String>| name.as_deref() == Some("-");
        let has_latencies = tests.iter().any(|test| Settings::has_latency_file(test.name));
        refuse_first([
            (is_standard(&self.json) && is_standard(&self.csv), "--json - and --csv -: keep one of them"),
            (self.csv_safe && self.csv.is_none(), "--csv-safe has no effect without --csv: add --csv"),
            (self.latency_files && !has_latencies, "-Q is for tests 0 and 1: add -i 0 or -i 1, or remove -Q"),
        ])
    }

    /// Tests in their order.
    fn selected(&self) -> Result<Vec<&'static Test>, UsageError> {
        let many = self.is_throughput();
        let is_default = |test: &Test| match many {
            true => THROUGHPUT.contains(&test.name),
            false => test.number <= 7,
        };
        let numbers = self.numbers();
        let is_selected = |test: &&Test| match numbers.is_empty() {
            true => is_default(test) && (self.mmap.is_none() || test.calls == Calls::Chosen),
            false => numbers.contains(&test.number),
        };
        let mut tests: Vec<_> =
            TESTS.iter().filter(is_selected).filter(|test| !(self.no_retest && test.repeats)).collect();
        if many {
            let place = |test: &Test| THROUGHPUT.iter().position(|name| *name == test.name);
            tests.sort_by_key(|test| place(test).unwrap_or(THROUGHPUT.len()));
        }
        let makes_late = tests.iter().skip(1).any(|test| test.made == Made::Anew);
        if makes_late && tests[0].made == Made::Before {
            return Err(UsageError::new(format_args!(
                "-i {}: it needs a file that a test before it has written: add -i 0",
                tests[0].number
            )));
        }
        Ok(tests)
    }

    fn all_streams(&self) -> Result<Vec<u32>, UsageError> {
        let (least, most) = (self.least_streams, self.most_streams);
        let streams: Vec<u32> = match (least.or(most), most) {
            (Some(_), most) => {
                let least = least.unwrap_or(1);
                (least..=most.unwrap_or(least)).collect()
            }
            // A stream for each typed machine.
            (None, _) if self.streams.is_empty() => vec![self.clients.len().max(1) as u32],
            (None, _) => self.streams.clone(),
        };
        match self.files.len() {
            0 => Ok(streams),
            files if streams.iter().all(|count| *count as usize <= files) => Ok(streams),
            _ => Err(UsageError::new(
                "-F names fewer files than -t has streams: write it after the largest -t",
            )),
        }
    }

    /// Streams are processes, like IOzone's: local, or on the machines of `-+m` and `--on`.
    fn executors(&self, most: u32) -> Result<Vec<Executor>, UsageError> {
        let clients = self.clients.len();
        // Streams of one file are threads: one of them creates it, and the others find it open.
        match (&self.cluster, self.is_throughput(), self.threads || self.shared) {
            (Some(file), true, false) if clients < most as usize => Err(UsageError::new(format_args!(
                "-+m {file}: it names {clients} clients, and -t has {most} streams: add lines, or use a smaller -t"
            ))),
            (_, true, false) if clients > 0 => {
                let executor = |(process, client): (u32, &Client)| match client.host.clone() {
                    Some(host) => Executor::Host(Host { process: process as u16, ..host }),
                    None => Executor::Process,
                };
                Ok((0..most).zip(self.client_of_stream()).map(executor).collect())
            }
            (_, true, false) => Ok(vec![Executor::Process; most as usize]),
            _ => Ok(Vec::new()),
        }
    }

    /// The client of each stream: by turns, if there are more streams.
    fn client_of_stream(&self) -> impl Iterator<Item = &Client> {
        self.clients.iter().cycle()
    }

    /// Test file of each stream on a client.
    fn files_of_clients(&self, most: u32) -> impl Iterator<Item = PathBuf> {
        let file = |(stream, client): (u32, &Client)| match (&client.file, self.files.get(stream as usize)) {
            (Some(file), _) | (None, Some(file)) => file.into(),
            (None, None) => format!("{FILES}{stream}").into(),
        };
        (0..most).zip(self.client_of_stream()).map(file)
    }

    fn check_clients(&self) -> Result<(), UsageError> {
        let Some(option) = self.machines_option() else { return Ok(()) };
        let by_file = self.cluster.is_some();
        let names_files = self.clients.iter().any(|client| client.file.is_some());
        refuse_first_of(
            option,
            [
                (by_file && !self.on.is_empty(), "--on names the machines of streams, too: keep one of them"),
                (by_file && !self.is_throughput(), "its machines run streams: add -t"),
                (self.threads, "a stream on a machine is a process: remove -T"),
                (self.shared, "streams of several machines share no file: remove -+L or -+V"),
                (self.has_telemetry(), "-X and -Y name files of this machine: remove them"),
                (
                    by_file && !self.files.is_empty(),
                    "its file names the test files: remove -F, and write them at the end of its lines",
                ),
                (names_files && !self.files.is_empty(), "a host has a test file: remove it, or remove -F"),
            ],
        )
    }

    /// Two streams on one machine would overwrite each other's file.
    fn check_files_of_clients(&self, most: u32) -> Result<(), UsageError> {
        let Some(option) = self.machines_option() else { return Ok(()) };
        let clients = self.clients.len();
        if self.cluster.is_none() && (most as usize) < clients {
            return Err(UsageError::new(format_args!(
                "--on: it names {clients} machines, and -t has {most} streams: name fewer machines, or use a larger -t"
            )));
        }
        let host = |client: &Client| client.host.as_ref().map(|host| (host.name.clone(), host.dir.clone()));
        let places: Vec<_> = self.client_of_stream().map(host).zip(self.files_of_clients(most)).collect();
        let twice = places.iter().enumerate().find(|(at, place)| places[..*at].contains(place));
        let Some((_, (host, file))) = twice else { return Ok(()) };
        let place = match host {
            Some((name, dir)) if dir.is_empty() => format!("{name} use {}", shown(file)),
            Some((name, dir)) => format!("{name} use {} in {dir}", shown(file)),
            None => format!("this machine use {}", shown(file)),
        };
        Err(UsageError::new(format_args!(
            "{option}: two streams on {place}: give each a test file of its own"
        )))
    }

    fn paths(&self, most: u32) -> Vec<PathBuf> {
        if !self.clients.is_empty() {
            return self.files_of_clients(most).collect();
        }
        match (self.is_throughput(), &self.file) {
            (true, _) if self.files.is_empty() => (0..most).map(|n| format!("{FILES}{n}").into()).collect(),
            (true, _) => self.files.iter().map(PathBuf::from).collect(),
            (false, Some(file)) => vec![file.into()],
            (false, None) => vec![FILE.into()],
        }
    }

    fn file_borders(&self) -> (ByteSize, ByteSize) {
        let (least, most) = FILES_OF_MATRIX;
        (self.least_file.unwrap_or(least), self.most_file.unwrap_or(most))
    }

    fn record_borders(&self) -> (ByteSize, ByteSize) {
        let (least, most) = RECORDS_OF_MATRIX;
        (self.least_record.unwrap_or(least), self.most_record.unwrap_or(most))
    }

    fn pairs(&self, streams: &[u32]) -> Result<Vec<Pair>, UsageError> {
        if self.has_telemetry() {
            return Ok(vec![self.telemetry_pair()]);
        }
        let factor = self.factor.unwrap_or(2);
        let series = |(least, most)| Series { least, most, factor }.sizes().collect::<Vec<_>>();
        let given = |list: &[ByteSize], single: ByteSize, borders| match (list.is_empty(), self.auto) {
            (false, _) => list.to_vec(),
            (true, true) => series(borders),
            (true, false) => vec![single],
        };
        let mut files = given(&self.sizes, SIZE, self.file_borders());
        let records = given(&self.records, RECORD, self.record_borders());
        if self.total_size {
            let most: u64 = streams.iter().copied().max().unwrap_or(1).into();
            files.iter_mut().for_each(|file| file.0 /= most);
        }
        let largest = files.iter().max().copied().unwrap_or_default();
        if let Some(record) = self.records.iter().find(|record| **record > largest) {
            return Err(UsageError::new(format_args!(
                "-r {record}: it is larger than the file ({largest}): use a smaller record, or a larger -s"
            )));
        }
        let is_free = self.records.is_empty() && self.sizes.is_empty();
        let is_free = is_free && self.least_record.is_none() && self.most_record.is_none();
        let crossover = self.auto && !self.no_crossover && is_free && largest > CROSSOVER;
        let pairs = pairs(&files, &records, crossover);
        match pairs.is_empty() {
            true => Err(UsageError::new("-s: every record is larger than every file: use a larger file")),
            false => Ok(pairs),
        }
    }

    fn engine(&self) -> Engine {
        match (self.mmap, self.asynchronous) {
            (Some(msync), _) => Engine::Mmap(MmapOptions {
                msync,
                advice: self.advice.unwrap_or_default(),
                file_io_first: self.mixed_mmap,
            }),
            (None, Some(_)) => Engine::Posixaio,
            (None, None) => Engine::Sync,
        }
    }

    fn mix(&self) -> MixRule {
        match (self.mix_percent, self.mix_readers) {
            (Some(percent), _) => MixRule::Percent(percent),
            (None, Some(readers)) => MixRule::Readers(readers),
            (None, None) => MixRule::Alternate,
        }
    }

    /// Whether the selected tests only read.
    pub fn only_reads(&self, tests: &[&Test]) -> bool {
        tests.iter().all(|test| test.transfer == Transfer::Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Command, parse};

    fn matrix(line: &str) -> Result<Matrix, String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        match parse(&args).map_err(|error| error.to_string())? {
            Command::Run(settings) => settings.matrix(1).map_err(|error| error.to_string()),
            other => panic!("{other:?}"),
        }
    }

    fn names(line: &str) -> Vec<&'static str> {
        matrix(line).unwrap().tests.iter().map(|test| test.name).collect()
    }

    #[test]
    fn defaults_match_iozone() {
        let single = matrix("-w").unwrap();
        assert_eq!((single.pairs.len(), single.pairs[0].file, single.pairs[0].record), (1, SIZE, RECORD));
        assert_eq!((single.tests.len(), single.files.len(), single.streams), (13, 1, vec![1]));
        assert_eq!(matrix("-a").unwrap().pairs.len(), 126);
        assert_eq!(matrix("-a -z").unwrap().pairs.len(), 146);
        assert_eq!((matrix("-A").unwrap().pairs.len(), names("-A").len()), (146, 4));
        assert_eq!(names("-t 2"), THROUGHPUT);
        assert_eq!(matrix("-l 2 -u 4").unwrap().streams, [2, 3, 4]);
        assert_eq!(matrix("-t 2 -t 4").unwrap().files.len(), 4);
        assert_eq!(names("-i 0 -i 1 -+n"), ["write", "read"]);
        assert_eq!(names("-B").len(), 9);
    }

    #[test]
    fn streams_have_the_typed_machines_by_turns() {
        let placed = |line: &str, clients: &[(Option<&str>, Option<&str>)]| {
            let args: Vec<String> = line.split_whitespace().map(String::from).collect();
            let Ok(Command::Run(settings)) = parse(&args) else { panic!("{line}") };
            let client = |(host, file): &(Option<&str>, Option<&str>)| Client {
                host: host.map(Host::new),
                file: file.map(String::from),
            };
            let settings = Settings { clients: clients.iter().map(client).collect(), ..*settings };
            settings.matrix(1).map_err(|error| error.to_string()).map(|matrix| {
                let host = |executor: &Executor| executor.host().map_or("here".into(), |h| h.name.clone());
                let place = |(executor, file)| format!("{} {}", host(executor), shown(file));
                matrix.executors.iter().zip(&matrix.files).map(place).collect::<Vec<_>>()
            })
        };
        let two = [(Some("a"), None), (None, None)];
        let found = placed("--on a local -s 64k", &two).unwrap();
        assert_eq!(found, ["a iozone.DUMMY.0", "here iozone.DUMMY.1"]);
        let found = placed("-t 3 -F x y z --on a local", &two).unwrap();
        assert_eq!(found, ["a x", "here y", "a z"]);
        assert_eq!(placed("--on a:/m/x", &[(Some("a"), Some("/m/x"))]).unwrap(), ["a /m/x"]);
        for (line, clients, why) in [
            ("-t 2 --on a:/x", &[(Some("a"), Some("/x"))][..], "--on: two streams on a use /x: give each"),
            ("-t 1 -F y --on a:/x", &[(Some("a"), Some("/x"))], "--on: a host has a test file"),
            ("-t 1 --on a local", &two, "--on: it names 2 machines, and -t has 1 streams"),
            ("-T --on a local", &two, "--on: a stream on a machine is a process: remove -T"),
            ("-t 2 -+V --on a local", &two, "--on: streams of several machines share no file"),
            ("-a --on a local", &two, "--on: -a is a matrix of single streams"),
            ("-+m f -t 2 --on a local", &two, "-+m: --on names the machines of streams, too"),
        ] {
            let error = placed(line, clients).unwrap_err();
            assert!(error.starts_with(why), "{line}: {error}");
        }
    }

    #[test]
    fn parses_series_and_lists_of_sizes() {
        let files = |line: &str| {
            let mut files: Vec<u64> =
                matrix(line).unwrap().pairs.iter().map(|pair| pair.file.0 >> 10).collect();
            files.dedup();
            files
        };
        assert_eq!(files("-azR -i 0 -i 1 -i 2 -n 1M -g 10M -r 64K"), [1024, 2048, 4096, 8192]);
        assert_eq!(files("-a -n 100k -g 500k"), [100, 200, 400]);
        assert_eq!(files("-s 1m -s 3m -r 64k -r 8k"), [1024, 3072]);
        assert_eq!(files("-a -+x 4 -n 64 -g 1m"), [64, 256, 1024]);
        assert_eq!(files("-t 4 -+k -s 4m"), [1024]);
        // Any explicit size disables the crossover.
        assert_eq!(matrix("-a -y 4k -n 32m -g 32m").unwrap().pairs[0].record, RECORD);
        assert_eq!(matrix("-a -s 64m").unwrap().pairs.len(), 13);
    }

    #[test]
    fn read_telemetry_needs_no_write_test() {
        assert_eq!(names("-Y t -+n"), ["write", "read"]);
        assert_eq!(names("-Y t -i 1 -i 0 -+n"), ["write", "read"]);
        assert_eq!(names("-Y t -i 1 -+n"), ["read"]);
        assert_eq!(names("-+E -f x -Y t -+n"), ["read"]);
    }

    #[test]
    fn rejects_contradictory_options_by_name() {
        for (line, words) in [
            ("-t 2 -a", "-t: -a"),
            ("-t 2 -n 4", "-t: -n"),
            ("-t 2 -f x", "-t: -f"),
            ("-t 2 -N", "-t: -N"),
            ("-t 2 -U /mnt", "-t: -U"),
            ("-t 2 -F a b -t 4", "-F names fewer"),
            ("-a -n 2m -g 1m", "-n is above -g"),
            ("-a -y 2m -q 1m", "-y is above -q"),
            ("-n 1m", "without -a"),
            ("-s 64k -r 128k", "-r 128KiB: it is larger than the file"),
            ("-s 2k", "every record is larger"),
            ("-H 2 -B", "-B, -D and -G"),
            ("-I -G", "-I has no effect"),
            ("-i 8", "-i 8"),
            ("-i 1 -i 6", "-i 1: it needs a file"),
            ("-+E -f x", "-+E: select"),
            ("-+E -f x -i 0", "-+E: a selected test writes"),
            ("-+E -i 1", "-+E: name the file"),
            ("-O -N", "-O and -N"),
            ("-B -i 6", "tests 6, 7"),
            ("-+J", "-+J has no effect"),
            ("-J 1 -+O 5", "-J and -+O"),
            ("-X t -a", "remove -a"),
            ("-X t -s 1m", "remove -s"),
            ("-Y t -r 4k", "remove -r"),
            ("-Y t -j 3", "remove -j"),
            ("-X t -K", "remove -K"),
            ("-X t -V 3", "remove -V"),
            ("-X t -i 2", "select tests 0 and 1"),
            ("-X t -i 1", "select tests 0 and 1"),
            ("-Y t -i 2", "select tests 0 and 1"),
            ("-+E -f x -X t", "-+E: a selected test writes"),
            ("-+L", "-+L and -+V have no effect"),
            ("-t 2 -+V -W", "-W locks the whole file"),
            ("-+l -H 3", "-+l and -+L: asynchronous"),
            ("-K -s 4k", "-K: a file of 4KiB"),
            ("-+b 64,5 -+O 5", "-+b and -+O"),
            ("-J 1 -+b 64k,5", "-J and -+b"),
            ("-Q -i 6", "-Q is for tests 0 and 1"),
            ("--json - --csv -", "--json - and --csv -"),
            ("-+A 1", "-+A is for mapped files"),
            ("-Z", "-Z is for mapped files"),
            ("-+w 50 -+d", "-+w stands beside"),
            ("-+y 50", "-+y has no effect without -+w"),
            ("-+w 50 -+C 50", "-+C has no effect without -+y"),
            ("-+S 2", "-+S has no effect"),
            ("-+W 2", "-+W has no effect"),
            ("-V 1 -+X", "-+X stands beside"),
            ("-+E -f x -i 1 -+w 5", "-+E: the content"),
            ("--order iozone -i 0", "--order has no effect"),
            ("--sample-every 1ms", "--sample-every 1ms: a time from 10ms to 3600s is needed"),
            ("--sample-every often", "--sample-every often: a time"),
            ("--order upward", "--order upward: one of shuffled, iozone"),
            ("--order iozone -i 0 -i 2 -s 128g", "--order iozone: a file of 128GiB"),
        ] {
            let error = matrix(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
