// The page's form, generated from crates/view/src/report/meta.rs: change it there, then
// BLESS=1 cargo test -p iosonar-view --lib report::meta

/** Version of the form. */
export const PAGE_VERSION = 3;

/**
 * Everything that is not a block.
 */
export type PageMeta = { 
/**
 * Version of the form.
 */
version: number, 
/**
 * Name and version of the program that wrote the page.
 */
tool: string, 
/**
 * What it is about, one line.
 */
title: string, 
/**
 * Form of grids.
 */
form: GridForm, 
/**
 * One run or load, or the two that are compared: A, then B.
 */
runs: Array<PageRun>, 
/**
 * The same requests in A and B, if both executed the same load.
 */
pairs: PagePairs | null, };

/**
 * The form that all grids share.
 */
export type GridForm = { 
/**
 * Rows of durations. A column has two slots more: slot 0 is below `floor_ns`, the last is above all rows.
 */
rows: number, 
/**
 * Rows for each factor of ten.
 */
rows_per_decade: number, 
/**
 * Lower edge of the lowest row. Row r starts at ⌈floor · 10^(r / rows_per_decade)⌉.
 */
floor_ns: number, 
/**
 * Columns of a tile.
 */
tile_columns: number, };

/**
 * Whether requests were executed, or are only wanted.
 */
export type PageKind = "run" | "load";

/**
 * One run or load.
 */
export type PageRun = { 
/**
 * Whether anything happened.
 */
kind: PageKind, 
/**
 * Where it came from, as typed.
 */
name: string, 
/**
 * Hexadecimal digits of the run's identity; a load has none.
 */
run_id: string | null, 
/**
 * Wall clock at time zero, microseconds since 1970.
 */
started_unix_us: number | null, 
/**
 * Last time at which anything was due or done.
 */
end_ns: number, 
/**
 * All requests: each is in the demand.
 */
requests: number, 
/**
 * Those that completed: each is in every grid of latency or delay.
 */
completed: number, 
/**
 * Figures of the summary by their path in `iosonar show --json`: `latency.read.p99_ns`. Whatever describes the whole
 * run is shown from here, not from grids. Empty for a load.
 */
figures: { [key in string]: number }, 
/**
 * Whether requests were due at times of their own, so that delay and demand mean something.
 */
has_timetable: boolean, 
/**
 * Limits, the ends of their lines, and what became of them.
 */
limits: Array<PageLimit>, 
/**
 * Words over every picture: why the figures are no storage result, and that data was wrong.
 */
stamps: Array<string>, 
/**
 * What to know before believing the figures, most severe first.
 */
cautions: Array<PageCaution>, 
/**
 * What was found, in the order of the list in the page.
 */
findings: Array<PageFinding>, 
/**
 * Modes of the latency, reads first, from fast to slow.
 */
bands: Array<PageBand>, 
/**
 * Where passes after the first begin; where the plan has phases, those.
 */
passes: Array<PageMark>, 
/**
 * Densities over time (or number) and duration.
 */
grids: Array<PageGrid>, 
/**
 * Numbers over time.
 */
series: Array<PageSeries>, 
/**
 * Densities over two quantities.
 */
relations: Array<PageRelation>, 
/**
 * Places over time.
 */
seek: PageSeek | null, 
/**
 * Times by percentile.
 */
percentiles: Array<PagePercentiles>, 
/**
 * Requests by length, ascending.
 */
sizes: Array<PageSize>, 
/**
 * Uses of pages, most used first.
 */
frequency: PageFrequency | null, 
/**
 * Misses of a cache of a size.
 */
miss_ratio: PageMissRatio | null, 
/**
 * Targets, workers, phases and passes, each by itself.
 */
parts: Array<PagePart>, 
/**
 * How many requests have their facts in the page.
 */
detail: PageDetail, 
/**
 * What was sampled of the machine; absent where there are not two samples.
 */
machine: PageMachine | null, 
/**
 * Causes of waiting over time; absent where none was found.
 */
blame: PageBlame | null, 
/**
 * Notes of users, by time.
 */
notes: Array<PageNote>, };

/**
 * A note of a user on a part of the time.
 */
export type PageNote = { 
/**
 * Start.
 */
from_ns: number, 
/**
 * End; equal to the start for a moment.
 */
to_ns: number, 
/**
 * Text of the user.
 */
text: string, };

/**
 * A limit.
 */
export type PageLimit = { 
/**
 * `latency` or `delay`.
 */
of: string, 
/**
 * The limit.
 */
limit_ns: number, 
/**
 * Whether it was kept; absent where it does not apply.
 */
passed: boolean | null, 
/**
 * Words for the end of the line.
 */
text: string, };

/**
 * A caution.
 */
export type PageCaution = { 
/**
 * `severe`, `warning` or `note`.
 */
severity: string, 
/**
 * One sentence or two.
 */
text: string, };

/**
 * What a finding is about.
 */
export type PageFindingKind = "band" | "stall" | "collapse" | "period" | "steady" | "passes" | "note";

/**
 * Something that was found.
 */
export type PageFinding = { 
/**
 * What it is about.
 */
kind: PageFindingKind, 
/**
 * One plain sentence.
 */
text: string, 
/**
 * Where to look: a part of the time that shows it well; absent where it concerns the whole run.
 */
range: PageRange | null, 
/**
 * Number of a stall, from 1.
 */
number: number | null, 
/**
 * `read` or `write`, where only these are concerned.
 */
op: string | null, };

/**
 * A part of the time.
 */
export type PageRange = { 
/**
 * Begin.
 */
from_ns: number, 
/**
 * End, not before the start.
 */
to_ns: number, };

/**
 * A mode of the latency.
 */
export type PageBand = { 
/**
 * `read` or `write`.
 */
op: string, 
/**
 * Name for the bracket, for example `A 90 µs, 34 %`.
 */
label: string, 
/**
 * Lower end.
 */
low_ns: number, 
/**
 * Most frequent latency.
 */
peak_ns: number, 
/**
 * Upper end.
 */
high_ns: number, 
/**
 * Share of the requests of this operation, 0 to 1.
 */
share: number, 
/**
 * Time over which it was looked for.
 */
range: PageRange, 
/**
 * The share in equal parts of this time; absent where a part has none.
 */
share_over_time: Array<number | null>, };

/**
 * A moment with a name.
 */
export type PageMark = { 
/**
 * Its name.
 */
name: string, 
/**
 * When.
 */
at_ns: number, };

/**
 * What the columns of a grid are.
 */
export type PageBase = "start" | "due" | "completion" | "number";

/**
 * A density: exact counts over columns, duration and class. Its blocks have `data-k="grid/ID/CLASS"`.
 */
export type PageGrid = { 
/**
 * Name: `latency.start`, `latency.due`, `latency.completion`, `latency.number`, the same of `response.` (absent where
 * each response lies in the row of its latency), `delay.due`, `issue_error`, `reap_lag`; with `failed.` before it, of
 * the failed requests, which are in no other grid: `failed.latency.start`.
 */
id: string, 
/**
 * What its columns are.
 */
base: PageBase, 
/**
 * Width of a column, a power of two.
 */
width: number, 
/**
 * Number of columns.
 */
columns: number, 
/**
 * Requests of each class: read, write, read-pushed, write-pushed, flush.
 */
totals: [number, number, number, number, number], };

/**
 * Numbers over time. Its block has `data-k="series/ID"`; if there is none, all are zero.
 */
export type PageSeries = { 
/**
 * Name: `demanded.read.requests`, `demanded.write.bytes`, `delivered.…`, `in-flight.read.least`, `….median`,
 * `….most`, `waiting.most`, `turns.requests`, `turns.turns`, `working-set.60` (pages of 4 KiB touched
 * in the 60 s before), `working-set.all`.
 */
id: string, 
/**
 * What its columns are.
 */
base: PageBase, 
/**
 * Width of a column.
 */
width: number, 
/**
 * Number of columns.
 */
columns: number, };

/**
 * A density over two quantities. Its blocks are like those of a grid: `data-k="grid/ID/CLASS"`.
 */
export type PageRelation = { 
/**
 * Name: `latency.in-flight`, `delay.waiting`, `latency.delay`.
 */
id: string, 
/**
 * Lower edge of each column: a number of requests, or nanoseconds.
 */
edges: Array<number>, 
/**
 * Whether columns are durations.
 */
is_duration: boolean, 
/**
 * Requests of each class.
 */
totals: [number, number, number, number, number], };

/**
 * Where requests begin, over due time. Its blocks are like those of a grid, `data-k="grid/seek/read"` and `…/write`:
 * row r of places stands in slot r + 1.
 */
export type PageSeek = { 
/**
 * Width of a column.
 */
width: number, 
/**
 * Number of columns.
 */
columns: number, 
/**
 * Height of a row.
 */
row_bytes: number, 
/**
 * Rows that hold anything.
 */
rows: number, 
/**
 * Sizes of devices, where they are known.
 */
device_bytes: Array<number>, 
/**
 * Parts of the space that have names, as they were told.
 */
places: Array<PagePlace>, };

/**
 * A part of the space with a name: a partition, a file, a volume.
 */
export type PagePlace = { 
/**
 * Its name; several parts may share one.
 */
name: string, 
/**
 * First byte.
 */
from_bytes: number, 
/**
 * First byte after it.
 */
to_bytes: number, };

/**
 * A time by percentile.
 */
export type PagePercentiles = { 
/**
 * `service` (submission to completion) or `response` (due to completion).
 */
of: string, 
/**
 * `all`, `read` or `write`.
 */
scope: string, 
/**
 * Number of requests.
 */
requests: number, 
/**
 * Nines and time: (1, t) says that 90 % took at most t, (2, t) 99 %. Ends where ten requests remain.
 */
points: Array<[number, number]>, };

/**
 * Requests of a length.
 */
export type PageSize = { 
/**
 * Shortest length that is counted here.
 */
from_bytes: number, 
/**
 * Longest length that is counted here.
 */
to_bytes: number, 
/**
 * Reads.
 */
reads: number, 
/**
 * Writes.
 */
writes: number, };

/**
 * How often pages of 4 KiB are used.
 */
export type PageFrequency = { 
/**
 * Rank from 1, and uses.
 */
points: Array<[number, number]>, 
/**
 * Fewest pages that hold a share of all uses: words, rank, uses.
 */
markers: Array<[string, number, number]>, 
/**
 * Negative slope of the fitted line, log over log.
 */
zipf_exponent: number | null, };

/**
 * Share of page accesses that miss an LRU cache.
 */
export type PageMissRatio = { 
/**
 * Size of the cache in bytes; misses of all accesses, of reads, of writes, 0 to 1.
 */
points: Array<[number, number, number, number]>, 
/**
 * Size and misses of all accesses at the knee.
 */
knee: [number, number] | null, 
/**
 * Standard error of the misses; 0 where every page was counted.
 */
error: number, };

/**
 * A host, a target, a worker, a phase or a pass by itself.
 */
export type PagePart = { 
/**
 * `host`, `target`, `worker`, `phase` or `pass`.
 */
kind: string, 
/**
 * Its name.
 */
name: string, 
/**
 * Requests that completed.
 */
completed: number, 
/**
 * Requests that failed.
 */
failed: number, 
/**
 * Requests per second.
 */
rate: number | null, 
/**
 * Median latency.
 */
p50_ns: number | null, 
/**
 * 99th percentile of the latency.
 */
p99_ns: number | null, 
/**
 * Longest latency.
 */
max_ns: number | null, };

/**
 * Which requests have their facts in the page, in blocks of class `points`.
 */
export type PageDetail = { 
/**
 * Requests that have a submission and a completion.
 */
requests: number, 
/**
 * Those of them in the page.
 */
embedded: number, 
/**
 * Of those that are not exceptional, one of so many is in the page; 1: all of them.
 */
one_of: number, 
/**
 * Whether they tell their lengths, places and workers; where not, those columns are zero.
 */
has_places: boolean, 
/**
 * Name of the file with all of them that was written beside the page.
 */
side_car: string | null, };

/**
 * What the machine did while the run went on: rates between the samples of its counters, and levels at them.
 */
export type PageMachine = { 
/**
 * When the steps of all curves begin, ascending, and the end of the last one.
 */
times_ns: Array<number>, 
/**
 * Those with a value above zero.
 */
lanes: Array<PageLane>, 
/**
 * Devices that were sampled. The lanes have the curves of the busiest ones.
 */
devices: number, };

/**
 * Curves with one scale.
 */
export type PageLane = { 
/**
 * Name: `utilization`, `queue`, `await`, `merges`, `cpu`, `memory`, `events`.
 */
id: string, 
/**
 * What the values are, with their unit.
 */
title: string, 
/**
 * What stands after a value: `%`, `ms`, `/s`, `MB` (10^6 bytes), or nothing.
 */
unit: string, 
/**
 * A full scale, where there is one.
 */
most: number | null, 
/**
 * Whether each curve lies on those before it.
 */
is_stacked: boolean, 
/**
 * Whether the curves are those of devices.
 */
is_by_device: boolean, 
/**
 * The curves; where they are stacked, from below to above.
 */
curves: Array<PageCurve>, };

/**
 * A curve: values in the unit of its lane.
 */
export type PageCurve = { 
/**
 * Its name: that of the device, of a state of the CPUs, and so on.
 */
name: string, 
/**
 * Value i holds from time i to time i + 1, with six significant digits; absent where nothing is known.
 */
values: Array<number | null>, };

/**
 * Causes of waiting in slices of equal length.
 */
export type PageBlame = { 
/**
 * Begin of the first slice.
 */
from_ns: number, 
/**
 * Length of a slice.
 */
slice_ns: number, 
/**
 * One for each cause that was found, and for each device that others used.
 */
rows: Array<PageBlameRow>, };

/**
 * A cause over time.
 */
export type PageBlameRow = { 
/**
 * `halted`, `no-cpu`, `others`, `depth-full` or `conflicts`.
 */
cause: string, 
/**
 * Its name in the picture.
 */
label: string, 
/**
 * Words after a value: the whole of which it is a share.
 */
measure: string, 
/**
 * One value for each slice, 0 to 100.
 */
percent: Array<number>, };

/**
 * The same requests in A and B.
 */
export type PagePairs = { 
/**
 * Requests that completed in both.
 */
pairs: number, 
/**
 * Share of them that took at least 3 % longer in B, 0 to 1.
 */
slower_in_b: number, 
/**
 * Share of them that took at least 3 % less in B, 0 to 1.
 */
faster_in_b: number, 
/**
 * One sentence with interval.
 */
text: string, 
/**
 * How often B ÷ A lies between two values.
 */
ratios: Array<PageRatio>, 
/**
 * Latency in B over latency in A: `data-k="grid/pairs/CLASS"` in the blocks of A.
 */
density: PageRelation, };

/**
 * A bar of the histogram of ratios.
 */
export type PageRatio = { 
/**
 * Binary logarithm of its lower end; absent for the first bar.
 */
from_log2: number | null, 
/**
 * Binary logarithm of its upper end; absent for the last bar.
 */
to_log2: number | null, 
/**
 * Share of the pairs, 0 to 1.
 */
share: number, };
