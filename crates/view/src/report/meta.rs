//! The page's form: the data for the viewer in `web/` apart from the blocks of counts. These types are the contract; the
//! viewer's own are generated from them (`web/src/format/page.ts`), and a test proves that both are the same.
//!
//! Times are nanoseconds on the run's own clock and sizes bytes, unless a name says otherwise. All numbers stay below
//! 2^53, which JavaScript holds exactly: that is 104 days in nanoseconds.

use iosonar_analyze::CLASSES;
use std::collections::BTreeMap;
#[cfg(test)]
use ts_rs::TS;

/// Version of the form. A viewer is embedded beside its data, so no page meets another version than its own.
pub(super) const PAGE_VERSION: u32 = 3;

/// Everything that is not a block.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageMeta {
    /// Version of the form.
    pub(super) version: u32,
    /// Name and version of the program that wrote the page.
    pub(super) tool: String,
    /// What it is about, one line.
    pub(super) title: String,
    /// Form of grids.
    pub(super) form: GridForm,
    /// One run or load, or the two that are compared: A, then B.
    pub(super) runs: Vec<PageRun>,
    /// The same requests in A and B, if both executed the same load.
    pub(super) pairs: Option<PagePairs>,
}

/// The form that all grids share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct GridForm {
    /// Rows of durations. A column has two slots more: slot 0 is below `floor_ns`, the last is above all rows.
    pub(super) rows: u32,
    /// Rows for each factor of ten.
    pub(super) rows_per_decade: u32,
    /// Lower edge of the lowest row. Row r starts at ⌈floor · 10^(r / rows_per_decade)⌉.
    pub(super) floor_ns: u64,
    /// Columns of a tile.
    pub(super) tile_columns: u32,
}

/// Whether requests were executed, or are only wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub(super) enum PageKind {
    /// Something happened: a run, a replay, a recording with its times.
    Run,
    /// A load: nothing is known but what it demands.
    Load,
}

/// One run or load.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageRun {
    /// Whether anything happened.
    pub(super) kind: PageKind,
    /// Where it came from, as typed.
    pub(super) name: String,
    /// Hexadecimal digits of the run's identity; a load has none.
    pub(super) run_id: Option<String>,
    /// Wall clock at time zero, microseconds since 1970.
    pub(super) started_unix_us: Option<u64>,
    /// Last time at which anything was due or done.
    pub(super) end_ns: u64,
    /// All requests: each is in the demand.
    pub(super) requests: u64,
    /// Those that completed: each is in every grid of latency or delay.
    pub(super) completed: u64,
    /// Figures of the summary by their path in `iosonar show --json`: `latency.read.p99_ns`. Whatever describes the whole
    /// run is shown from here, not from grids. Empty for a load.
    pub(super) figures: BTreeMap<String, f64>,
    /// Whether requests were due at times of their own, so that delay and demand mean something.
    pub(super) has_timetable: bool,
    /// Limits, the ends of their lines, and what became of them.
    pub(super) limits: Vec<PageLimit>,
    /// Words over every picture: why the figures are no storage result, and that data was wrong.
    pub(super) stamps: Vec<String>,
    /// What to know before believing the figures, most severe first.
    pub(super) cautions: Vec<PageCaution>,
    /// What was found, in the order of the list in the page.
    pub(super) findings: Vec<PageFinding>,
    /// Modes of the latency, reads first, from fast to slow.
    pub(super) bands: Vec<PageBand>,
    /// Where passes after the first begin; where the plan has phases, those.
    pub(super) passes: Vec<PageMark>,
    /// Densities over time (or number) and duration.
    pub(super) grids: Vec<PageGrid>,
    /// Numbers over time.
    pub(super) series: Vec<PageSeries>,
    /// Densities over two quantities.
    pub(super) relations: Vec<PageRelation>,
    /// Places over time.
    pub(super) seek: Option<PageSeek>,
    /// Times by percentile.
    pub(super) percentiles: Vec<PagePercentiles>,
    /// Requests by length, ascending.
    pub(super) sizes: Vec<PageSize>,
    /// Uses of pages, most used first.
    pub(super) frequency: Option<PageFrequency>,
    /// Misses of a cache of a size.
    pub(super) miss_ratio: Option<PageMissRatio>,
    /// Targets, workers, phases and passes, each by itself.
    pub(super) parts: Vec<PagePart>,
    /// How many requests have their facts in the page.
    pub(super) detail: PageDetail,
    /// What was sampled of the machine; absent where there are not two samples.
    pub(super) machine: Option<PageMachine>,
    /// Causes of waiting over time; absent where none was found.
    pub(super) blame: Option<PageBlame>,
    /// Notes of users, by time.
    pub(super) notes: Vec<PageNote>,
}

/// A note of a user on a part of the time.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageNote {
    /// Start.
    pub(super) from_ns: u64,
    /// End; equal to the start for a moment.
    pub(super) to_ns: u64,
    /// Text of the user.
    pub(super) text: String,
}

/// A limit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageLimit {
    /// `latency` or `delay`.
    pub(super) of: String,
    /// The limit.
    pub(super) limit_ns: u64,
    /// Whether it was kept; absent where it does not apply.
    pub(super) passed: Option<bool>,
    /// Words for the end of the line.
    pub(super) text: String,
}

/// A caution.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageCaution {
    /// `severe`, `warning` or `note`.
    pub(super) severity: String,
    /// One sentence or two.
    pub(super) text: String,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub(super) enum PageFindingKind {
    /// A mode of the latency.
    Band,
    /// A time without completions.
    Stall,
    /// From here on the target cannot follow.
    Collapse,
    /// Something comes again and again.
    Period,
    /// Whether the level stayed the same.
    Steady,
    /// Differences between passes.
    Passes,
    /// Something that has no place of its own.
    Note,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageFinding {
    /// What it is about.
    pub(super) kind: PageFindingKind,
    /// One plain sentence.
    pub(super) text: String,
    /// Where to look: a part of the time that shows it well; absent where it concerns the whole run.
    pub(super) range: Option<PageRange>,
    /// Number of a stall, from 1.
    pub(super) number: Option<u32>,
    /// `read` or `write`, where only these are concerned.
    pub(super) op: Option<String>,
}

/// A part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageRange {
    /// Begin.
    pub(super) from_ns: u64,
    /// End, not before the start.
    pub(super) to_ns: u64,
}

/// A mode of the latency.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageBand {
    /// `read` or `write`.
    pub(super) op: String,
    /// Name for the bracket, for example `A 90 µs, 34 %`.
    pub(super) label: String,
    /// Lower end.
    pub(super) low_ns: u64,
    /// Most frequent latency.
    pub(super) peak_ns: u64,
    /// Upper end.
    pub(super) high_ns: u64,
    /// Share of the requests of this operation, 0 to 1.
    pub(super) share: f64,
    /// Time over which it was looked for.
    pub(super) range: PageRange,
    /// The share in equal parts of this time; absent where a part has none.
    pub(super) share_over_time: Vec<Option<f64>>,
}

/// A moment with a name.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageMark {
    /// Its name.
    pub(super) name: String,
    /// When.
    pub(super) at_ns: u64,
}

/// What the columns of a grid are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub(super) enum PageBase {
    /// When the request was really submitted.
    Start,
    /// When it was due.
    Due,
    /// When it completed.
    Completion,
    /// Its number in the order of completion, from 0; widths and ends are numbers, too.
    Number,
}

/// A density: exact counts over columns, duration and class. Its blocks have `data-k="grid/ID/CLASS"`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageGrid {
    /// Name: `latency.start`, `latency.due`, `latency.completion`, `latency.number`, the same of `response.` (absent where
    /// each response lies in the row of its latency), `delay.due`, `issue_error`, `reap_lag`; with `failed.` before it, of
    /// the failed requests, which are in no other grid: `failed.latency.start`.
    pub(super) id: String,
    /// What its columns are.
    pub(super) base: PageBase,
    /// Width of a column, a power of two.
    pub(super) width: u64,
    /// Number of columns.
    pub(super) columns: u32,
    /// Requests of each class: read, write, read-pushed, write-pushed, flush.
    pub(super) totals: [u64; CLASSES],
}

/// Numbers over time. Its block has `data-k="series/ID"`; if there is none, all are zero.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageSeries {
    /// Name: `demanded.read.requests`, `demanded.write.bytes`, `delivered.…`, `in-flight.read.least`, `….median`,
    /// `….most`, `waiting.most`, `turns.requests`, `turns.turns`, `working-set.60` (pages of 4 KiB touched
    /// in the 60 s before), `working-set.all`.
    pub(super) id: String,
    /// What its columns are.
    pub(super) base: PageBase,
    /// Width of a column.
    pub(super) width: u64,
    /// Number of columns.
    pub(super) columns: u32,
}

/// A density over two quantities. Its blocks are like those of a grid: `data-k="grid/ID/CLASS"`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageRelation {
    /// Name: `latency.in-flight`, `delay.waiting`, `latency.delay`.
    pub(super) id: String,
    /// Lower edge of each column: a number of requests, or nanoseconds.
    pub(super) edges: Vec<u64>,
    /// Whether columns are durations.
    pub(super) is_duration: bool,
    /// Requests of each class.
    pub(super) totals: [u64; CLASSES],
}

/// Where requests begin, over due time. Its blocks are like those of a grid, `data-k="grid/seek/read"` and `…/write`:
/// row r of places stands in slot r + 1.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageSeek {
    /// Width of a column.
    pub(super) width: u64,
    /// Number of columns.
    pub(super) columns: u32,
    /// Height of a row.
    pub(super) row_bytes: u64,
    /// Rows that hold anything.
    pub(super) rows: u32,
    /// Sizes of devices, where they are known.
    pub(super) device_bytes: Vec<u64>,
    /// Parts of the space that have names, as they were told.
    pub(super) places: Vec<PagePlace>,
}

/// A part of the space with a name: a partition, a file, a volume.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PagePlace {
    /// Its name; several parts may share one.
    pub(super) name: String,
    /// First byte.
    pub(super) from_bytes: u64,
    /// First byte after it.
    pub(super) to_bytes: u64,
}

/// A time by percentile.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PagePercentiles {
    /// `service` (submission to completion) or `response` (due to completion).
    pub(super) of: String,
    /// `all`, `read` or `write`.
    pub(super) scope: String,
    /// Number of requests.
    pub(super) requests: u64,
    /// Nines and time: (1, t) says that 90 % took at most t, (2, t) 99 %. Ends where ten requests remain.
    pub(super) points: Vec<(f64, u64)>,
}

/// Requests of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageSize {
    /// Shortest length that is counted here.
    pub(super) from_bytes: u64,
    /// Longest length that is counted here.
    pub(super) to_bytes: u64,
    /// Reads.
    pub(super) reads: u64,
    /// Writes.
    pub(super) writes: u64,
}

/// How often pages of 4 KiB are used.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageFrequency {
    /// Rank from 1, and uses.
    pub(super) points: Vec<(u64, u64)>,
    /// Fewest pages that hold a share of all uses: words, rank, uses.
    pub(super) markers: Vec<(String, u64, u64)>,
    /// Negative slope of the fitted line, log over log.
    pub(super) zipf_exponent: Option<f64>,
}

/// Share of page accesses that miss an LRU cache.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageMissRatio {
    /// Size of the cache in bytes; misses of all accesses, of reads, of writes, 0 to 1.
    pub(super) points: Vec<(u64, f64, f64, f64)>,
    /// Size and misses of all accesses at the knee.
    pub(super) knee: Option<(u64, f64)>,
    /// Standard error of the misses; 0 where every page was counted.
    pub(super) error: f64,
}

/// A host, a target, a worker, a phase or a pass by itself.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PagePart {
    /// `host`, `target`, `worker`, `phase` or `pass`.
    pub(super) kind: String,
    /// Its name.
    pub(super) name: String,
    /// Requests that completed.
    pub(super) completed: u64,
    /// Requests that failed.
    pub(super) failed: u64,
    /// Requests per second.
    pub(super) rate: Option<f64>,
    /// Median latency.
    pub(super) p50_ns: Option<u64>,
    /// 99th percentile of the latency.
    pub(super) p99_ns: Option<u64>,
    /// Longest latency.
    pub(super) max_ns: Option<u64>,
}

/// Which requests have their facts in the page, in blocks of class `points`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageDetail {
    /// Requests that have a submission and a completion.
    pub(super) requests: u64,
    /// Those of them in the page.
    pub(super) embedded: u64,
    /// Of those that are not exceptional, one of so many is in the page; 1: all of them.
    pub(super) one_of: u64,
    /// Whether they tell their lengths, places and workers; where not, those columns are zero.
    pub(super) has_places: bool,
    /// Name of the file with all of them that was written beside the page.
    pub(super) side_car: Option<String>,
}

/// What the machine did while the run went on: rates between the samples of its counters, and levels at them.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageMachine {
    /// When the steps of all curves begin, ascending, and the end of the last one.
    pub(super) times_ns: Vec<u64>,
    /// Those with a value above zero.
    pub(super) lanes: Vec<PageLane>,
    /// Devices that were sampled. The lanes have the curves of the busiest ones.
    pub(super) devices: u32,
}

/// Curves with one scale.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageLane {
    /// Name: `utilization`, `queue`, `await`, `merges`, `cpu`, `memory`, `events`.
    pub(super) id: String,
    /// What the values are, with their unit.
    pub(super) title: String,
    /// What stands after a value: `%`, `ms`, `/s`, `MB` (10^6 bytes), or nothing.
    pub(super) unit: String,
    /// A full scale, where there is one.
    pub(super) most: Option<f64>,
    /// Whether each curve lies on those before it.
    pub(super) is_stacked: bool,
    /// Whether the curves are those of devices.
    pub(super) is_by_device: bool,
    /// The curves; where they are stacked, from below to above.
    pub(super) curves: Vec<PageCurve>,
}

/// A curve: values in the unit of its lane.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageCurve {
    /// Its name: that of the device, of a state of the CPUs, and so on.
    pub(super) name: String,
    /// Value i holds from time i to time i + 1, with six significant digits; absent where nothing is known.
    pub(super) values: Vec<Option<f64>>,
}

/// Causes of waiting in slices of equal length.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageBlame {
    /// Begin of the first slice.
    pub(super) from_ns: u64,
    /// Length of a slice.
    pub(super) slice_ns: u64,
    /// One for each cause that was found, and for each device that others used.
    pub(super) rows: Vec<PageBlameRow>,
}

/// A cause over time.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageBlameRow {
    /// `halted`, `no-cpu`, `others`, `depth-full` or `conflicts`.
    pub(super) cause: String,
    /// Its name in the picture.
    pub(super) label: String,
    /// Words after a value: the whole of which it is a share.
    pub(super) measure: String,
    /// One value for each slice, 0 to 100.
    pub(super) percent: Vec<u8>,
}

/// The same requests in A and B.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PagePairs {
    /// Requests that completed in both.
    pub(super) pairs: u64,
    /// Share of them that took at least 3 % longer in B, 0 to 1.
    pub(super) slower_in_b: f64,
    /// Share of them that took at least 3 % less in B, 0 to 1.
    pub(super) faster_in_b: f64,
    /// One sentence with interval.
    pub(super) text: String,
    /// How often B ÷ A lies between two values.
    pub(super) ratios: Vec<PageRatio>,
    /// Latency in B over latency in A: `data-k="grid/pairs/CLASS"` in the blocks of A.
    pub(super) density: PageRelation,
}

/// A bar of the histogram of ratios.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(TS))]
pub(super) struct PageRatio {
    /// Binary logarithm of its lower end; absent for the first bar.
    pub(super) from_log2: Option<f64>,
    /// Binary logarithm of its upper end; absent for the last bar.
    pub(super) to_log2: Option<f64>,
    /// Share of the pairs, 0 to 1.
    pub(super) share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ts_rs::Config;

    /// The file that the viewer is built with.
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/format/page.ts");

    fn types() -> String {
        // Documentation and all: the viewer's authors read it there.
        let config = Config::new().with_large_int("number");
        let mut out = String::from(
            "// The page's form, generated from crates/view/src/report/meta.rs: change it there, then\n\
             // BLESS=1 cargo test -p iosonar-view --lib report::meta\n",
        );
        out += &format!("\n/** Version of the form. */\nexport const PAGE_VERSION = {PAGE_VERSION};\n");
        macro_rules! add {
            ($($name:ident),+) => {$(
                out += &format!("\n{}export {}\n", $name::docs().unwrap_or_default(), $name::decl(&config));
            )+};
        }
        add!(
            PageMeta,
            GridForm,
            PageKind,
            PageRun,
            PageNote,
            PageLimit,
            PageCaution,
            PageFindingKind,
            PageFinding,
            PageRange,
            PageBand,
            PageMark,
            PageBase,
            PageGrid,
            PageSeries,
            PageRelation,
            PageSeek,
            PagePlace,
            PagePercentiles,
            PageSize,
            PageFrequency,
            PageMissRatio,
            PagePart,
            PageDetail,
            PageMachine,
            PageLane,
            PageCurve,
            PageBlame,
            PageBlameRow,
            PagePairs,
            PageRatio
        );
        out
    }

    #[test]
    fn viewer_types_match_the_generated_file() {
        let types = types();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(FILE, &types).unwrap();
        }
        let kept = std::fs::read_to_string(FILE).unwrap_or_default();
        assert!(kept == types, "{FILE} differs; bless it with BLESS=1. Now it is:\n{types}");
    }
}
