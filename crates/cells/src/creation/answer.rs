//! Result of an experiment on creation methods.

use super::cause::{FreeSpaceBefore, Request, cause};
use super::correlation::Correlation;
use super::free::{FreeBefore, FreeStates};
use super::plan::{CREATE, FLUSH, SCAN};
use super::{Experiment, Method};
use crate::Repeated;
use crate::spread::Logs;
use crate::welch::{Change, Critical, welch};
use iosonar_analyze::{CellStats, DeviceReads, Statement};
use iosonar_layout::{Figures, figures_json};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

/// Version of the JSON format. Names and meanings are fixed within a version; fields may be added.
pub const ANSWER_VERSION: u32 = 1;

/// Scans are reported if the first differs from later ones by more than this factor.
const TOLD_RATIO: f64 = 1.25;

/// Error probability of the intervals of all methods together.
const ALPHA: f64 = 0.05;

/// Environment of an experiment.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Setting {
    /// Name and version of the program.
    pub tool: String,
    /// The command.
    pub command: String,
    /// Host, kernel and processor.
    pub machine: String,
    /// Type of the file system.
    pub file_system: String,
    /// Its device or image.
    pub source: String,
    /// Its mount options.
    pub mount_options: String,
    /// Bytes of each method's separate file system; absent if all share one.
    pub scratch_bytes: Option<u64>,
    /// Whether image files of these file systems use direct I/O; absent without images.
    pub image_direct: Option<bool>,
    /// How free space was prepared; absent if it was not.
    pub age: Option<String>,
    /// Minimum and maximum size of the prepared holes in bytes.
    #[serde(skip)]
    pub holes: Option<(u64, u64)>,
}

/// Results of an experiment.
pub struct Trial<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its environment.
    pub setting: Setting,
    /// Cells of the creation.
    pub creation: &'a [CellStats],
    /// Cells of the scans.
    pub scans: &'a [CellStats],
    /// Layouts of each method's files, in the order of methods.
    pub files: Vec<Vec<FileAnswer>>,
    /// Device reads during the scans.
    pub device_reads: ScanReads,
    /// Free space before files were created.
    pub free: FreeStates,
    /// Bytes of a page.
    pub page_bytes: u64,
}

/// Device reads while all files were scanned, in all rounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanReads {
    /// By method, for each method's separate device; empty if methods share one.
    pub of_methods: Vec<Option<DeviceReads>>,
    /// For the device that all methods share.
    pub shared: Option<DeviceReads>,
}

/// The answer of an experiment. Rates are in bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CreationAnswer {
    /// [`ANSWER_VERSION`].
    pub version: u32,
    /// Headline, reasons, worth and remedy; absent until it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<Statement>,
    /// The verdict on the scans, if their figures are not what they claim to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fake: Option<String>,
    /// Its environment.
    #[serde(flatten)]
    pub setting: Setting,
    /// Free space before files were created; absent if each method has a separate file system.
    #[serde(flatten)]
    pub free: Option<FreeBefore>,
    /// Bytes of each file.
    pub size_bytes: u64,
    /// Bytes of each read of a scan.
    pub scan_record_bytes: u64,
    /// Whether scans bypassed the page cache.
    pub scan_direct: bool,
    /// Seed of orders and random data.
    pub seed: u64,
    /// The order in which methods created their files.
    pub creation_order: Vec<String>,
    /// The order of methods in each round of scans.
    pub scan_orders: Vec<Vec<String>>,
    /// Each method, as typed.
    pub methods: Vec<MethodAnswer>,
    /// Reference method for comparisons: the one with the fewest fragments per file.
    pub reference: String,
    /// Correlation between fragments and the rate of scans.
    pub fragments_and_rate: Correlation,
    /// Mean size of the requests that the device read during the scans of all methods together, including foreign ones;
    /// absent if each method has a separate device.
    pub device_read_bytes_mean: Option<f64>,
    /// Conclusion in sentences.
    pub conclusion: Vec<String>,
    /// Cautions about the figures.
    pub cautions: Vec<String>,
}

/// Results of a method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodAnswer {
    /// Its words, joined.
    pub method: String,
    /// Free space of its separate file system before its files were created; absent if methods share one.
    #[serde(flatten)]
    pub free: Option<FreeBefore>,
    /// Its files.
    pub files: Vec<FileAnswer>,
    /// Size of an allocation request to the file system, in bytes.
    pub allocation_request_bytes: u64,
    /// Bytes written.
    pub created_bytes: u64,
    /// From opening the files to the last write; absent if creating them failed.
    pub create_seconds: Option<f64>,
    /// Time of the final flush.
    pub sync_seconds: Option<f64>,
    /// Rate of creation without the flush.
    pub create_bytes_per_second: Option<f64>,
    /// Rate of creation with the flush.
    pub create_and_sync_bytes_per_second: Option<f64>,
    /// CPU time of the creating threads.
    pub create_cpu_seconds: Option<f64>,
    /// Scans by round.
    pub scan: Vec<ScanAnswer>,
    /// All scans but the first.
    pub later_scans: Option<Spread>,
    /// Rate of the first scan divided by the median of the later ones.
    pub first_to_later: Option<f64>,
    /// Mean size of the requests that its device read during all of its scans; absent without a separate device.
    pub device_read_bytes_mean: Option<f64>,
    /// Change of later scans against those of the reference; absent for the reference.
    pub change: Option<Change>,
    /// Cause of the files' layout.
    pub cause: String,
}

/// Layout of a file. Figures are those of `layout map`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct FileAnswer {
    /// Path.
    pub path: String,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Number of allocation groups with its extents; absent if the file system has no groups.
    pub groups_used: Option<u64>,
    /// Whether its map was unchanged by the scans.
    pub unchanged_by_scans: bool,
    /// Fragments that exhaust the free range they were allocated from, i.e. leave no room for another request; absent
    /// if the ranges are unknown.
    pub free_ranges_filled: Option<u64>,
    /// For each fragment, the remaining bytes after it in its free range; absent if unknown.
    #[serde(skip)]
    pub left_after: Option<Vec<Option<u64>>>,
    /// Number of contiguous parts on the device.
    #[serde(skip)]
    pub fragments: u64,
    /// Median length of its mapping records.
    #[serde(skip)]
    pub median_record_bytes: Option<u64>,
    /// Bytes between records, forward and backward.
    #[serde(skip)]
    pub gap_bytes: u64,
    /// All figures.
    #[serde(flatten)]
    pub figures: Map<String, Value>,
}

/// A scan of a method's files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScanAnswer {
    /// Round, from 1.
    pub round: u32,
    /// Bytes read.
    pub bytes: u64,
    /// From the first read to the end of the last one; for several files the sum.
    pub seconds: f64,
    /// Rate.
    pub bytes_per_second: f64,
    /// Pages of the files in the page cache when their scans started; absent if the kernel did not report them.
    pub cached_pages_before_scan: Option<u64>,
}

/// Statistics of several rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Number of values.
    pub n: usize,
    /// Median.
    pub median: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Geometric mean.
    pub mean: f64,
    /// 95 % confidence interval of the mean; absent below two values.
    pub interval: Option<(f64, f64)>,
}

impl FileAnswer {
    /// Creates the answer for a file of `size` bytes with these figures.
    pub fn new(path: &Path, size: u64, figures: &Figures, has_groups: bool) -> FileAnswer {
        FileAnswer {
            path: path.display().to_string(),
            size_bytes: size,
            groups_used: has_groups.then(|| figures.groups_used()),
            unchanged_by_scans: true,
            free_ranges_filled: None,
            left_after: None,
            fragments: figures.fragments,
            median_record_bytes: figures.sizes.median(),
            gap_bytes: figures.gap_bytes,
            figures: figures_json(figures),
        }
    }
}

impl Trial<'_> {
    /// Computes the answer.
    pub fn answer(self) -> CreationAnswer {
        let experiment = self.experiment;
        let name = |number: &usize| experiment.methods[*number].to_string();
        let mut methods: Vec<MethodAnswer> =
            (0..experiment.methods.len()).map(|number| self.method(number)).collect();
        let reference = reference(&methods);
        compare(&mut methods, reference);
        let pairs: Vec<(f64, f64)> = methods.iter().filter_map(MethodAnswer::fragments_and_rate).collect();
        let mut answer = CreationAnswer {
            version: ANSWER_VERSION,
            story: None,
            fake: None,
            free: self.free.shared,
            size_bytes: experiment.size.0,
            scan_record_bytes: experiment.scan_record.min(experiment.size).0,
            scan_direct: experiment.scan_direct,
            seed: experiment.seed,
            creation_order: experiment.creation_order().iter().map(name).collect(),
            scan_orders: experiment.scan_orders().iter().map(|o| o.iter().map(name).collect()).collect(),
            reference: methods.get(reference).map(|m| m.method.clone()).unwrap_or_default(),
            methods,
            fragments_and_rate: Correlation::of(&pairs),
            device_read_bytes_mean: self.device_reads.shared.and_then(DeviceReads::mean_bytes),
            conclusion: Vec::new(),
            cautions: Vec::new(),
            setting: self.setting,
        };
        answer.conclusion = super::text::conclusion(&answer);
        answer.cautions = answer.found_cautions();
        answer
    }

    /// Cells of a test on a method's files.
    fn cells<'b>(
        &self,
        cells: &'b [CellStats],
        test: &'static str,
        number: usize,
    ) -> impl Iterator<Item = &'b CellStats> + use<'b> {
        let targets = self.experiment.targets(number);
        cells.iter().filter(move |stats| {
            let first = stats.streams.first();
            stats.cell.test == test && first.is_some_and(|stream| targets.contains(&stream.target))
        })
    }

    fn method(&self, number: usize) -> MethodAnswer {
        let method: &Method = &self.experiment.methods[number];
        let size = self.experiment.size;
        let request = Request::of(method, size);
        let mut files = self.files.get(number).cloned().unwrap_or_default();
        files
            .iter_mut()
            .for_each(|file| file.free_ranges_filled = request.filled(file.left_after.as_deref()));
        let created = self.cells(self.creation, CREATE, number).find(|stats| stats.is_whole);
        let flushed = self.cells(self.creation, FLUSH, number).next();
        let longest = |stats: &CellStats, time: fn(&iosonar_analyze::StreamStats) -> u64| {
            stats.streams.iter().map(time).max().unwrap_or(0)
        };
        let create_ns = created.map(|stats| longest(stats, |s| s.before_ns + s.all_span_ns));
        let sync_ns = created.map(|stats| {
            longest(stats, |s| s.flush_ns) + flushed.map_or(0, |stats| longest(stats, |s| s.flush_ns))
        });
        let bytes = created.map_or(0, |stats| stats.streams.iter().map(|s| s.all_bytes).sum());
        let rate =
            |ns: Option<u64>| ns.filter(|ns| *ns > 0 && bytes > 0).map(|ns| bytes as f64 / seconds(ns));
        let scan = self.scans_of(number);
        let later = Repeated::of(later_rates(&scan)).map(Spread::from);
        let device_reads = self.device_reads.of_methods.get(number).copied().flatten();
        let first_to_later = scan.first().zip(later).map(|(first, l)| first.bytes_per_second / l.median);
        MethodAnswer {
            method: method.to_string(),
            free: self.free.of_methods.get(number).cloned(),
            allocation_request_bytes: request.bytes,
            created_bytes: bytes,
            create_seconds: create_ns.map(seconds),
            sync_seconds: sync_ns.map(seconds),
            create_bytes_per_second: rate(create_ns),
            create_and_sync_bytes_per_second: rate(create_ns.zip(sync_ns).map(|(a, b)| a + b)),
            create_cpu_seconds: created.and_then(|stats| stats.cpu_ns).map(seconds),
            scan,
            later_scans: later,
            first_to_later,
            device_read_bytes_mean: device_reads.and_then(DeviceReads::mean_bytes),
            change: None,
            cause: cause(
                method,
                size,
                &files,
                FreeSpaceBefore { holes: self.setting.holes, free: self.free.of(number) },
            ),
            files,
        }
    }

    /// Scans that read all of a method's files.
    fn scans_of(&self, number: usize) -> Vec<ScanAnswer> {
        let expected = self.experiment.methods[number].files.count() as usize;
        let round = |round: u32| {
            let cells: Vec<&CellStats> = self
                .cells(self.scans, SCAN, number)
                .filter(|stats| stats.cell.repeat == round && stats.is_whole)
                .collect();
            let streams = || cells.iter().flat_map(|stats| &stats.streams);
            let bytes: u64 = streams().map(|stream| stream.all_bytes).sum();
            let ns: u64 = streams().map(|stream| stream.all_span_ns).sum();
            let cached: Option<u64> = streams().map(|stream| stream.cached_before).sum();
            (cells.len() == expected && ns > 0).then(|| ScanAnswer {
                round: round + 1,
                bytes,
                seconds: seconds(ns),
                bytes_per_second: bytes as f64 / seconds(ns),
                cached_pages_before_scan: cached.map(|bytes| bytes.div_ceil(self.page_bytes.max(1))),
            })
        };
        (0..self.experiment.rounds).filter_map(round).collect()
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Index of the method whose files have the fewest fragments; the first of equal ones.
fn reference(methods: &[MethodAnswer]) -> usize {
    // A file without blocks is read without device I/O.
    let can_be = |method: &MethodAnswer| method.files.iter().any(|file| file.fragments > 0);
    let numbered = methods.iter().enumerate().filter(|(_, method)| can_be(method));
    numbered
        .min_by(|a, b| a.1.mean_fragments().total_cmp(&b.1.mean_fragments()))
        .map_or(0, |(number, _)| number)
}

/// Rates of the compared scans: all but the first.
fn later_rates(scans: &[ScanAnswer]) -> impl Iterator<Item = f64> + '_ {
    scans.iter().skip(1).map(|scan| scan.bytes_per_second)
}

fn compare(methods: &mut [MethodAnswer], reference: usize) {
    let later = |method: &MethodAnswer| Logs::of(later_rates(&method.scan));
    let Some(base) = methods.get(reference).map(later) else { return };
    let alpha = ALPHA / (methods.len().saturating_sub(1).max(1)) as f64;
    let mut critical = Critical::default();
    for (number, method) in methods.iter_mut().enumerate() {
        let logs = later(method);
        if number != reference && base.n > 0 && logs.n > 0 {
            method.change = Some(welch(base, logs, alpha, &mut critical));
        }
    }
}

impl MethodAnswer {
    /// Fragments per MiB, and the rate of later scans; `None` for files without blocks.
    fn fragments_and_rate(&self) -> Option<(f64, f64)> {
        let fragments: u64 = self.files.iter().map(|file| file.fragments).sum();
        let bytes: u64 = self.files.iter().map(|file| file.size_bytes).sum();
        let per_mib = fragments as f64 / (bytes as f64 / f64::from(1 << 20));
        (fragments > 0).then_some(())?;
        Some((per_mib, self.later_scans?.median))
    }
}

impl From<Repeated> for Spread {
    fn from(of: Repeated) -> Spread {
        let Repeated { n, median, least, most, mean, .. } = of;
        Spread { n, median, min: least, max: most, mean, interval: of.interval() }
    }
}

impl CreationAnswer {
    fn found_cautions(&self) -> Vec<String> {
        let each = self.methods.iter().flat_map(|method| method.cautions(self.size_bytes));
        let shared = (self.setting.scratch_bytes.is_none() && self.methods.len() > 1).then(|| {
            "All methods share one file system: what one finds free depends on the files that others created before. \
             --scratch SIZE gives each a file system of its own."
                .to_string()
        });
        let aged = self.setting.age.as_ref().filter(|_| self.setting.scratch_bytes.is_none()).map(|_| {
            "Free space was prepared, and the file system was not mounted again: an allocator may not use at once what was \
             freed a moment ago. With --scratch it is mounted again."
                .to_string()
        });
        let image = self.setting.image_direct.map(|direct| {
            let through = if direct { "" } else { " and through the page cache of their file system" };
            format!(
                "The file systems are on loop devices with sparse image files{through}: the file system that holds the images \
                 decides where their blocks are on the device."
            )
        });
        let first = self.first_scans();
        each.chain(shared).chain(aged).chain(image).chain(first).collect()
    }

    /// Describes how first scans differ from later ones, although the page cache was empty before each.
    fn first_scans(&self) -> Option<String> {
        let ratios: Vec<f64> = self.methods.iter().filter_map(|method| method.first_to_later).collect();
        let far = ratios.iter().filter(|ratio| !(1.0 / TOLD_RATIO..=TOLD_RATIO).contains(*ratio)).count();
        let least = ratios.iter().copied().reduce(f64::min)?;
        let most = ratios.iter().copied().reduce(f64::max)?;
        (far > 0).then(|| {
            format!(
                "{far} of {} first scans ran at another rate than later ones ({least:.2} to {most:.2} of their median). Caches \
                 of the device, its controller and a host below are out of reach of this program; comparisons exclude first \
                 scans.",
                ratios.len()
            )
        })
    }
}

impl MethodAnswer {
    fn cautions(&self, size: u64) -> Vec<String> {
        let name = &self.method;
        let cached: Vec<u64> = self.scan.iter().filter_map(|scan| scan.cached_pages_before_scan).collect();
        let unknown = self.scan.len() - cached.len();
        let pages = cached.iter().copied().max().unwrap_or(0);
        let short = self.files.iter().find(|file| file.size_bytes != size);
        let changed = self.files.iter().filter(|file| !file.unchanged_by_scans).count();
        let cautions = [
            self.create_seconds.is_none().then(|| format!("{name}: creating its files failed or was stopped.")),
            (pages > 0).then(|| {
                format!("{name}: up to {pages} pages were in the page cache before a scan: such a scan is not cold.")
            }),
            (unknown > 0).then(|| {
                format!("{name}: before {unknown} scans the kernel did not tell what was in the page cache.")
            }),
            short.map(|file| format!("{name}: {} has {} bytes, and not {size}.", file.path, file.size_bytes)),
            (changed > 0).then(|| format!("{name}: the map of {changed} files changed during the scans.")),
        ];
        cautions.into_iter().flatten().collect()
    }
}
