/** A run with a part of its requests: what the page has counted of all is counted again from single requests. */

import { CLASSES, opOf } from "../format/classes";
import type { PagePercentiles, PageRun, PageSize } from "../format/page";
import { classOf, codeOfDuration, type Column, durationOfCode, FAILED, type Points } from "../format/points";
import type { RelationCounts } from "../charts/chart";
import type { Decoder } from "./decoder";
import { type Levels, levels } from "./levels";
import { delayNs, latencyNs, PointStore, responseNs, submittedNs, xOf } from "./point-store";
import { add, emptyLevel, pyramid } from "./pyramid";
import type { Rows } from "./rows";
import { type ClassPyramids, RunData } from "./run-data";

/** 1 for each request of a block that stays. */
export type Kept = ReadonlyMap<Points, Uint8Array>;

/** Column and slot of a request; absent where it is not counted. */
type Cell = (p: Points, i: number) => readonly [column: number, slot: number] | undefined;

const CODES = 1 << 16;
const BASES = ["start", "due", "completion", "number"] as const;
const TIMES = { latency: latencyNs, response: responseNs, delay: delayNs } as const;
const NO_DECODER = {} as Decoder;
const ignore = () => undefined;

export class FilteredRun extends RunData {
  private readonly counted = new Map<string, ClassPyramids>();
  private readonly sums = new Map<string, Float64Array>();
  private readonly flights = new Map<string, Levels>();
  private latencyDelay: RelationCounts | undefined;

  constructor(
    readonly whole: RunData,
    readonly kept: Kept,
    private readonly rows: Rows,
    private readonly parts: readonly Points[] = [...kept].map(([points, mask]) => subset(points, mask)),
  ) {
    const run = described(whole.run, parts);
    const points = PointStore.of(run.detail, whole.points.hasPlaces, parts);
    super(run, rows.form, { counts: new Map(), points: [] }, NO_DECODER, ignore, ignore, points);
  }

  override grid(id: string): ClassPyramids | undefined {
    const known = this.counted.get(id);
    if (known) return known;
    const form = this.run.grids.find((g) => g.id === id) ?? (id === "seek" ? this.run.seek : undefined);
    const cell = form && this.cellOf(id, form.width);
    if (!form || !cell) return this.whole.grid(id);
    const found = this.count(form.columns, cell);
    this.counted.set(id, found);
    return found;
  }

  override async loadGrid(): Promise<void> {}

  /** How a grid counts; undefined for what single requests do not tell. */
  private cellOf(id: string, width: number): Cell | undefined {
    const { rows } = this;
    const seek = this.run.seek;
    if (id === "seek" && seek)
      return (p, i) => [Math.floor(xOf(p, i, "due") / width), 1 + Math.floor((p.place[i]! * p.unit) / seek.row_bytes)];
    const [, failed, of, base] = /^(failed\.)?(latency|response|delay)\.(\w+)$/.exec(id) ?? [];
    const time = TIMES[of as keyof typeof TIMES];
    const x = BASES.find((b) => b === base);
    if (!time || !x) return undefined;
    const wanted = failed === undefined ? 0 : FAILED;
    return (p, i) =>
      (p.classes[i]! & FAILED) === wanted ? [Math.floor(xOf(p, i, x) / width), rows.slotOf(time(p, i))] : undefined;
  }

  private count(columns: number, cell: Cell): ClassPyramids {
    const { slots } = this.rows;
    const found = CLASSES.map(() => emptyLevel(columns));
    const used = CLASSES.map(() => false);
    this.each((p, i) => {
      const [column, slot] = cell(p, i) ?? [];
      if (column === undefined || slot === undefined) return;
      const cls = classOf(p.classes[i]!);
      used[cls] = true;
      // Times are known to 0.2 %: the last may lie behind the last column.
      add(found[cls]!, slots, Math.min(Math.max(column, 0), columns - 1), Math.min(slot, slots - 1), 1);
    });
    return found.map((level, cls) => (used[cls] ? pyramid(level, slots) : undefined));
  }

  override numbers(id: string): Float64Array | undefined {
    const series = this.run.series.find((s) => s.id === id);
    if (!series || !this.whole.numbers(id)) return undefined;
    const [, what, op, unit] = /^(demanded|delivered|in-flight|waiting)\.(?:(read|write)\.)?(\w+)$/.exec(id) ?? [];
    if (what === undefined || unit === undefined) return this.whole.numbers(id);
    const { width, columns } = series;
    if (what === "in-flight" || what === "waiting")
      return this.flight(what, op === undefined ? undefined : op === "read" ? 0 : 1, width, columns)[unit as keyof Levels];
    const known = this.sums.get(id);
    if (known) return known;
    const found = this.rates(what === "delivered", op === "read" ? 0 : 1, unit === "bytes", width, columns);
    this.sums.set(id, found);
    return found;
  }

  private rates(isDone: boolean, op: number, isBytes: boolean, width: number, columns: number): Float64Array {
    const sums = new Float64Array(columns);
    this.each((p, i) => {
      if (opOf(classOf(p.classes[i]!)) !== op || (isDone && p.classes[i]! & FAILED)) return;
      const at = Math.floor(xOf(p, i, isDone ? "completion" : "due") / width);
      sums[Math.min(at, columns - 1)]! += isBytes ? p.length[i]! * p.unit : 1;
    });
    return sums;
  }

  private flight(what: "in-flight" | "waiting", op: number | undefined, width: number, columns: number): Levels {
    const key = `${what} ${op} ${width}`;
    const known = this.flights.get(key);
    if (known) return known;
    const [starts, ends]: [number[], number[]] = [[], []];
    this.each((p, i) => {
      if (op !== undefined && opOf(classOf(p.classes[i]!)) !== op) return;
      const submitted = submittedNs(p, i);
      starts.push(what === "waiting" ? xOf(p, i, "due") : submitted);
      ends.push(what === "waiting" ? submitted : submitted + latencyNs(p, i));
    });
    const found = levels(Float64Array.from(starts).sort(), Float64Array.from(ends).sort(), width, columns);
    this.flights.set(key, found);
    return found;
  }

  override relation(id: string): RelationCounts | undefined {
    const known = this.run.relations.find((r) => r.id === id);
    if (id !== "latency.delay" || !known || !this.whole.relation(id)) return this.whole.relation(id);
    return (this.latencyDelay ??= this.byDelay(known.edges));
  }

  private byDelay(edges: readonly number[]): RelationCounts {
    const { slots } = this.rows;
    const columns = edges.length;
    const [reads, writes] = [new Uint32Array(columns * slots), new Uint32Array(columns * slots)];
    this.each((p, i) => {
      const op = opOf(classOf(p.classes[i]!));
      if (op === 2 || p.classes[i]! & FAILED) return;
      const behind = edges.findIndex((edge) => edge > delayNs(p, i));
      const column = Math.max(0, (behind < 0 ? columns : behind) - 1);
      (op === 0 ? reads : writes)[column * slots + this.rows.slotOf(latencyNs(p, i))]!++;
    });
    return { columns, slots, reads, writes };
  }

  private each(use: (p: Points, i: number) => void): void {
    for (const p of this.parts) for (let i = 0; i < p.n; i++) use(p, i);
  }
}

/** The requests of a block that stay. */
function subset(points: Points, mask: Uint8Array): Points {
  const pick = <T extends Column>(column: T): T => column.filter((_, i) => mask[i] === 1) as T;
  const { submitted, latency, delay, classes, length, place, number, target, worker, pass } = points;
  return {
    ...points,
    n: mask.reduce((sum, kept) => sum + kept, 0),
    submitted: pick(submitted),
    latency: pick(latency),
    delay: pick(delay),
    classes: pick(classes),
    length: pick(length),
    place: pick(place),
    number: pick(number),
    target: pick(target),
    worker: pick(worker),
    pass: pick(pass),
  };
}

/** What the page says of the run; figures and bands of all requests are none of a part. */
function described(run: PageRun, parts: readonly Points[]): PageRun {
  const n = parts.reduce((sum, p) => sum + p.n, 0);
  let completed = 0;
  for (const p of parts) for (let i = 0; i < p.n; i++) if (!(p.classes[i]! & FAILED)) completed++;
  return {
    ...run,
    completed,
    figures: {},
    bands: [],
    percentiles: run.percentiles.map((curve) => percentilesOf(curve, parts)),
    sizes: run.sizes.map((size) => sizeOf(size, parts)),
    detail: { ...run.detail, requests: n, embedded: n, one_of: 1 },
  };
}

/** Nines of the points of a curve: steps, and those that have names. */
const NINES = [...Array.from({ length: 150 }, (_, i) => i * 0.06), Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8].sort((a, b) => a - b);
/** So many requests remain above the last point. */
const LEFT_ABOVE = 10;

function percentilesOf({ of, scope }: PagePercentiles, parts: readonly Points[]): PagePercentiles {
  const time = of === "response" ? responseNs : latencyNs;
  const ops = { all: [0, 1], read: [0], write: [1], flush: [2] }[scope] ?? [];
  const counts = new Float64Array(CODES);
  let requests = 0;
  for (const p of parts)
    for (let i = 0; i < p.n; i++) {
      if (p.classes[i]! & FAILED || !ops.includes(opOf(classOf(p.classes[i]!)))) continue;
      counts[codeOfDuration(time(p, i))]!++;
      requests++;
    }
  const points: [number, number][] = [];
  let [code, seen] = [-1, 0];
  for (const nines of NINES) {
    const above = requests * 10 ** -nines;
    if (above < LEFT_ABOVE) break;
    while (seen < Math.max(1, Math.ceil(requests - above - 1e-6))) seen += counts[++code]!;
    points.push([nines, durationOfCode(code)]);
  }
  return { of, scope, requests, points };
}

function sizeOf(size: PageSize, parts: readonly Points[]): PageSize {
  const found = [0, 0, 0];
  for (const p of parts)
    for (let i = 0; i < p.n; i++) {
      const bytes = p.length[i]! * p.unit;
      if (bytes >= size.from_bytes && bytes <= size.to_bytes) found[opOf(classOf(p.classes[i]!))]!++;
    }
  return { ...size, reads: found[0]!, writes: found[1]! };
}
