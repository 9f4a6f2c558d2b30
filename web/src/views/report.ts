/** The whole report: its runs, their numbers, and what follows from both for axes and colours. */

import { takeBlocks } from "../format/block";
import type { PageBase, PageMeta } from "../format/page";
import { InkScale } from "../render/density";
import { cells, fillWhole } from "../charts/density-picture";
import type { Workshop } from "../work/workshop";
import { addRange } from "../model/pyramid";
import { Rows } from "../model/rows";
import { FLUSH_CLASS } from "../format/classes";
import { RunData } from "../model/run-data";
import { figureOf } from "../charts/figures";
import { canShowResponse, countedAs } from "../charts/ordinate";
import type { Bounds, Ordinate, Range, Transfer, View } from "../model/view";

const BASES: readonly PageBase[] = ["start", "due", "completion", "number"];
/** Slots of room below and above all rows, so that what lies there is not at the very edge. */
const GUTTER = 6;
/** The shortest latencies. */
const LEAST_FIGURES = ["latency.all.min_ns", "latency.flush.min_ns"];
const ALL = { read: true, write: true, pushed: true, flush: true } as const;

export class Report {
  readonly rows: Rows;
  readonly runs: readonly RunData[];
  readonly skipped: string[] = [];
  private readonly inks = new Map<string, InkScale>();
  private readonly frequencies = new Map<string, Map<number, number>>();

  constructor(
    readonly meta: PageMeta,
    document: Document,
    workshop: Workshop,
    private readonly onChange: () => void,
  ) {
    this.rows = new Rows(meta.form);
    const blocks = takeBlocks(document, meta.runs.length);
    const skip = (what: string) => {
      this.skipped.push(what);
      this.changed();
    };
    this.runs = meta.runs.map(
      (run, i) => new RunData(run, meta.form, blocks[i]!, workshop, skip, (grid) => this.changed(grid)),
    );
  }

  /** What was measured of a grid does not hold when another run brings its part. */
  private changed(grid?: string): void {
    if (grid !== undefined) {
      this.frequencies.delete(grid);
      for (const key of [...this.inks.keys()]) if (key.startsWith(`${grid} `)) this.inks.delete(key);
    }
    this.onChange();
  }

  get isLoad(): boolean {
    return this.meta.runs.every((run) => run.kind === "load");
  }

  /** Whether any run has flushes. */
  get hasFlushes(): boolean {
    return this.meta.runs.some((run) => run.grids.some((grid) => grid.totals[FLUSH_CLASS] > 0));
  }

  /** Time bases for which there are counts. */
  get bases(): readonly PageBase[] {
    return BASES.filter((base) => this.meta.runs.some((run) => run.grids.some((g) => g.id === `latency.${base}`)));
  }

  /** The base that is shown first: two runs of a load only align by what was intended. */
  get firstBase(): PageBase {
    const bases = this.bases;
    const wanted: PageBase =
      this.meta.runs.length > 1 && this.meta.runs.every((run) => run.has_timetable) ? "due" : "start";
    return bases.includes(wanted) ? wanted : (bases[0] ?? "due");
  }

  /** Whether there is a choice of the ordinate. */
  get hasResponse(): boolean {
    return canShowResponse(this.meta.runs);
  }

  get firstOrdinate(): Ordinate {
    return this.hasResponse ? "response" : "latency";
  }

  /** The grid of a run that decides about axes and totals. */
  mainGrid({ run }: RunData): string {
    if (this.isLoad || this.bases.length === 0) return "seek";
    return `${countedAs(run, this.firstOrdinate)}.${this.firstBase}`;
  }

  /** Requests in the main grid of all runs. */
  get gridTotal(): number {
    const of = (run: RunData) => (run.grid(this.mainGrid(run)) ?? []).reduce((sum, p) => sum + (p?.total ?? 0), 0);
    return this.runs.reduce((sum, run) => sum + of(run), 0);
  }

  bounds(): Bounds {
    const end = Math.max(1000, ...this.meta.runs.map((run) => run.end_ns));
    const numbers = Math.max(2, ...this.meta.runs.map((run) => run.requests));
    return {
      time: [0, end],
      number: [0, numbers],
      y: [this.rows.duration(-GUTTER), this.rows.duration(this.rows.slots + GUTTER)],
    };
  }

  /** The view of the whole report; durations reach a little beyond all requests. */
  home(): View {
    const bounds = this.bounds();
    return {
      time: bounds.time,
      number: bounds.number,
      y: this.durations(),
      base: this.firstBase,
      ordinate: this.firstOrdinate,
      on: ALL,
      yLinear: false,
      transfer: "log",
      dots: true,
      bars: true,
      shown: "both",
      rate: "requests",
    };
  }

  private durations(): Range {
    const counts = new Float64Array(this.rows.slots);
    for (const run of this.runs) {
      const main = this.mainGrid(run);
      const columns = run.run.grids.find((g) => g.id === main)?.columns ?? 0;
      for (const p of run.grid(main) ?? []) if (p && columns > 0) addRange(p, 0, columns, counts);
    }
    const lowest = counts.findIndex((n) => n > 0);
    if (lowest < 0) return [1e4, 1e10];
    // Both ordinates have one axis. No response is shorter than its latency, and their grid need not be decoded for that.
    const shortest = this.meta.runs.flatMap((run) => LEAST_FIGURES.map((path) => figureOf(run, path) ?? Infinity));
    const low = Math.min(lowest, this.rows.slotOf(Math.min(...shortest)));
    const high = counts.findLastIndex((n) => n > 0);
    const margin = 8;
    // A limit close above the slowest request belongs into the picture.
    const limits = this.firstOrdinate === "response" ? [] : this.meta.runs.flatMap((run) => run.limits.filter((l) => l.of === "latency" && l.passed !== null));
    const near = limits
      .map((l) => this.rows.position(l.limit_ns))
      .filter((p) => p < high + this.rows.form.rows_per_decade);
    const top = Math.min(Math.max(high + 1 + margin, ...near.map((p) => p + margin)), this.rows.slots + GUTTER);
    return [this.rows.duration(Math.max(-GUTTER, low - margin)), this.rows.duration(top)];
  }

  /** How numbers of a grid become strength: from the whole report, so that all views compare. */
  ink(grid: string, transfer: Transfer): InkScale {
    const key = `${grid} ${transfer}`;
    let found = this.inks.get(key);
    if (!found) this.inks.set(key, (found = InkScale.of(transfer, this.frequenciesOf(grid))));
    return found;
  }

  private frequenciesOf(grid: string): Map<number, number> {
    const known = this.frequencies.get(grid);
    if (known) return known;
    const sum = new Map<number, number>();
    for (const run of this.runs) {
      const pyramids = run.grid(grid);
      if (!pyramids) continue;
      fillWhole(pyramids);
      for (const [count, n] of cells.frequencies()) sum.set(count, (sum.get(count) ?? 0) + n);
    }
    this.frequencies.set(grid, sum);
    return sum;
  }
}
