//! Settings of an IOzone command line.

use iosonar_plan::{ByteSize, Data, Host, MapAdvice, MsyncPolicy, Nanos, SyncFlag};

/// Settings of a command line, option by option.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The command line as typed, without the program's name.
    pub typed: String,
    /// All pairs of sizes (`-a`).
    pub auto: bool,
    /// Small records on large files, too (`-z`).
    pub no_crossover: bool,
    /// Tests by number (`-i`); empty: all.
    pub tests: Vec<u8>,
    /// File sizes (`-s`).
    pub sizes: Vec<ByteSize>,
    /// Record sizes (`-r`).
    pub records: Vec<ByteSize>,
    /// Smallest file of the matrix (`-n`).
    pub least_file: Option<ByteSize>,
    /// Largest file of the matrix (`-g`).
    pub most_file: Option<ByteSize>,
    /// Smallest record of the matrix (`-y`).
    pub least_record: Option<ByteSize>,
    /// Largest record of the matrix (`-q`).
    pub most_record: Option<ByteSize>,
    /// Factor of both series (`-+x`).
    pub factor: Option<u64>,
    /// Test file (`-f`).
    pub file: Option<String>,
    /// Test files of the streams (`-F`).
    pub files: Vec<String>,
    /// Numbers of streams (`-t`); empty: a single one, without throughput mode.
    pub streams: Vec<u32>,
    /// Fewest streams (`-l`).
    pub least_streams: Option<u32>,
    /// Most streams (`-u`).
    pub most_streams: Option<u32>,
    /// Streams are threads (`-T`), not processes.
    pub threads: bool,
    /// File with the machines of the streams (`-+m`).
    pub cluster: Option<String>,
    /// Machines of the streams (`--on`).
    pub on: Vec<String>,
    /// Machines that are named by either option, set by the caller.
    pub clients: Vec<Client>,
    /// Streams do not stop when the first is done (`-x`).
    pub no_stonewall: bool,
    /// Print a line for each stream (`-C`).
    pub per_stream: bool,
    /// The size of `-s` is that of all files together (`-+k`).
    pub total_size: bool,
    /// Percent of readers in the mixed test (`-+p`).
    pub mix_percent: Option<u32>,
    /// Readers in the mixed test (`-+K`).
    pub mix_readers: Option<u32>,
    /// The mixed test goes in order (`-+B`).
    pub mix_in_order: bool,
    /// Flushes are part of the time (`-e`).
    pub with_fsync: bool,
    /// Closing is part of the time (`-c`).
    pub with_close: bool,
    /// Strongest requested open flag (`-o`, `-+D`, `-+r`).
    pub sync: SyncFlag,
    /// The page cache is bypassed (`-I`).
    pub direct: bool,
    /// Files are mapped (`-B`), and the sync after each write (`-D`, `-G`).
    pub mmap: Option<MsyncPolicy>,
    /// madvise(2) advice for mapped files (`-+A`).
    pub advice: Option<MapAdvice>,
    /// Mapped files are used through their descriptors, too (`-Z`).
    pub mixed_mmap: bool,
    /// Requests use the parts of 16 MiB in turn (`-m`).
    pub many_buffers: bool,
    /// The CPU cache is purged before each test (`-p`).
    pub purge: bool,
    /// Size of the CPU cache (`-S`).
    pub cpu_cache: Option<ByteSize>,
    /// Asynchronous requests (`-H`, `-k`).
    pub asynchronous: Option<Async>,
    /// Files are locked during a test (`-W`).
    pub lock: bool,
    /// Each request locks its bytes (`-+l`, `-+L`).
    pub lock_records: bool,
    /// All streams use one file (`-+L`, `-+V`).
    pub shared: bool,
    /// Extra reads of sequential readers (`-K`).
    pub jitter: bool,
    /// Telemetry file of writes (`-X`).
    pub write_telemetry: Option<String>,
    /// Telemetry file of reads (`-Y`).
    pub read_telemetry: Option<String>,
    /// Properties of these files, set after reading them: of writes and of reads.
    pub telemetry: (TelemetryFacts, TelemetryFacts),
    /// Records between requests of the stride test (`-j`).
    pub stride: Option<u32>,
    /// No test is repeated (`-+n`).
    pub no_retest: bool,
    /// The CPU that the first stream is bound to (`-P`).
    pub first_cpu: Option<u32>,
    /// Delay between the releases of consecutive streams, in microseconds (`-d`).
    pub stagger_us: Option<u32>,
    /// Operations per second of each stream (`-+O`).
    pub rate: Option<u32>,
    /// Milliseconds of busy waiting between requests (`-J`).
    pub think_ms: Option<u32>,
    /// That waiting is part of the time (`-+J`).
    pub with_think: bool,
    /// Bytes of a burst, and milliseconds after it (`-+b`).
    pub burst: Option<(ByteSize, u32)>,
    /// Seconds between tests (`-+q`).
    pub pause_s: u32,
    /// Files stay (`-w`).
    pub keep: bool,
    /// Files exist and are only read (`-+E`).
    pub existing: bool,
    /// `-Y` finds its file, so nothing writes it first; set by the caller.
    pub finds_file: bool,
    /// Data to write and check (`-V`, `-+d`, `-+X`, `-+Z`).
    pub data: Option<Data>,
    /// Percent of each record that is equal in all files (`-+w`).
    pub equal_percent: Option<u8>,
    /// Percent of that which is one word (`-+y`).
    pub constant_percent: Option<u8>,
    /// Percent of that which is equal within a file only (`-+C`).
    pub local_percent: Option<u8>,
    /// Chooses what is equal (`-+S`).
    pub equal_seed: Option<u64>,
    /// Added to the number of a stream (`-+W`).
    pub skew: Option<u32>,
    /// Random tests go in IOzone's order (`--order iozone`).
    pub iozone_order: bool,
    /// Time between two samples of the machine's counters (`--sample-every`).
    pub sample_every: Option<Nanos>,
    /// The offsets of all requests are printed (`--trace-offsets`).
    pub trace_offsets: bool,
    /// A text report after the table (`-R`).
    pub report: bool,
    /// A workbook (`-b`).
    pub workbook: Option<String>,
    /// The machine in the banner (`-M`).
    pub machine: bool,
    /// Operations per second (`-O`).
    pub in_ops: bool,
    /// Microseconds per operation (`-N`).
    pub in_microseconds: bool,
    /// CPU use of each test (`-+u`).
    pub cpu: bool,
    /// Each of tests 0 and 1 has a file of latencies (`-Q`).
    pub latency_files: bool,
    /// Each stream has a file of histograms (`-+z`).
    pub histogram_files: bool,
    /// Each stream has a file of time stamps (`-+T`).
    pub stamp_files: bool,
    /// `--json`.
    pub json: Option<String>,
    /// `--csv`.
    pub csv: Option<String>,
    /// `--csv-safe`.
    pub csv_safe: bool,
    /// `--out`.
    pub out: Option<String>,
    /// `--cold`.
    pub cold: bool,
    /// Mount point that is unmounted and mounted again before each test (`-U`).
    pub remount: Option<String>,
    /// `--destroy`.
    pub destroy: bool,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--show-plan`.
    pub show_plan: bool,
    /// `--dry-run`.
    pub dry_run: bool,
    /// Options without effect, one sentence each.
    pub notices: Vec<String>,
}

/// A process that is a stream (`-+m`, `--on`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its host; `None`: this machine.
    pub host: Option<Host>,
    /// Its test file, in its working directory; `None`: a name with the number of the stream.
    pub file: Option<String>,
}

/// Properties of a telemetry file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TelemetryFacts {
    /// First byte after all of its requests.
    pub end: u64,
    /// Bytes of its longest request.
    pub longest: u64,
}

/// Asynchronous requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Async {
    /// Number in flight in addition to the one waited for.
    pub depth: u32,
}

impl Settings {
    /// Whether `-Y` alone reads an existing file, and writes only a missing one.
    pub fn may_find_file(&self) -> bool {
        let is_alone =
            self.read_telemetry.is_some() && self.write_telemetry.is_none() && self.tests.is_empty();
        is_alone && !self.existing && !self.destroy
    }

    /// Files that the command line reads, each with its option.
    pub fn input_files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("-X", &self.write_telemetry), ("-Y", &self.read_telemetry), ("-+m", &self.cluster)];
        let named = all.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?)));
        named.chain(self.on.iter().filter_map(|word| Some(("--on", word.strip_prefix('@')?))))
    }

    /// Word for a stream.
    pub(crate) fn stream_word(&self) -> &'static str {
        if self.threads || self.shared { "thread" } else { "process" }
    }

    /// Whether several streams are measured together.
    pub fn is_throughput(&self) -> bool {
        self.counts_streams() || !self.on.is_empty()
    }

    /// Whether the number of streams is typed.
    pub(crate) fn counts_streams(&self) -> bool {
        !self.streams.is_empty() || self.least_streams.is_some() || self.most_streams.is_some()
    }

    /// The option that names the machines of the streams.
    pub(crate) fn machines_option(&self) -> Option<&'static str> {
        let by_file = self.cluster.as_ref().map(|_| "-+m");
        by_file.or_else(|| (!self.on.is_empty()).then_some("--on"))
    }
}
