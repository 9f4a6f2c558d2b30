/**
 * Writes report pages in their documented form (`docs/page.md`), from requests with known properties: no other program is
 * needed to test the viewer. The same seed gives the same page.
 */

import { deflateRawSync } from "node:zlib";
import {
  PAGE_VERSION,
  type PageBase,
  type PageBlame,
  type PageFinding,
  type PageGrid,
  type PageMachine,
  type PageMeta,
  type PageNote,
  type PageRelation,
  type PageRun,
  type PageSeries,
} from "../src/format/page";
import { crc32 } from "../src/format/crc32";
import { codeOfDuration } from "../src/format/points";
import { Rows } from "../src/model/rows";

export const FORM = { rows: 512, rows_per_decade: 64, floor_ns: 1000, tile_columns: 256 };
export const ROWS = new Rows(FORM);
const SLOTS = FORM.rows + 2;
const SECOND = 1e9;
/** A name that wants to be more than a name. */
export const HOSTILE_NAME = 'data/<script>alert(1)</script>\nsecond line \u202egnp.exe &amp; "quoted"';

export interface Requests {
  readonly n: number;
  readonly due: Float64Array;
  readonly submitted: Float64Array;
  readonly latency: Float64Array;
  /** 0 to 4: read, write, read-pushed, write-pushed, flush. */
  readonly cls: Uint8Array;
  readonly place: Float64Array;
  readonly length: Uint32Array;
  readonly stalls: readonly { from: number; to: number; held: number }[];
  readonly endNs: number;
  readonly collapseNs: number;
}

export interface FixtureOptions {
  readonly requests?: number;
  readonly seed?: number;
  /** Everything slower by this factor: for B. */
  readonly slower?: number;
}

/** Numbers from 0 to 1, the same for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Medians of the bands and their shares. */
export const BANDS = {
  read: [
    [90e3, 0.34],
    [620e3, 0.44],
    [9e6, 0.22],
  ],
  write: [
    [55e3, 0.5],
    [240e3, 0.4],
    [3e6, 0.1],
  ],
} as const;

const LENGTH_NS = 400 * SECOND;
const COLLAPSE_NS = 340 * SECOND;

export function makeRequests({ requests: n = 60_000, seed = 1, slower = 1 }: FixtureOptions = {}): Requests {
  const next = random(seed);
  const stalls = Array.from({ length: 12 }, (_, i) => {
    const from = (22 + i * 26 + next() * 8) * SECOND;
    return { from, to: from + (0.4 + next() * 1.8) * SECOND, held: 0 };
  });
  const [due, submitted, latency] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
  const [cls, place, length] = [new Uint8Array(n), new Float64Array(n), new Uint32Array(n)];
  for (let i = 0; i < n; i++) {
    const at = bursty((i / (n - 1)) * LENGTH_NS, next);
    due[i] = i === 0 ? 0 : i === n - 1 ? LENGTH_NS - 1e6 : at;
  }
  due.sort();
  let stall = 0;
  for (let i = 0; i < n; i++) {
    const isWrite = next() < 0.38;
    const isPushed = !isWrite && next() < 0.004;
    cls[i] = (isWrite ? 1 : 0) + (isPushed ? 2 : 0);
    const late =
      due[i]! > COLLAPSE_NS
        ? (due[i]! - COLLAPSE_NS) * 0.2 * next()
        : next() < 0.7
          ? next() * 900
          : 1e4 * 10 ** (next() * 2);
    // Whole microseconds, as stored.
    submitted[i] = i === 0 ? 0 : Math.round((due[i]! + late) / 1000) * 1000;
    latency[i] = sample(isWrite ? BANDS.write : BANDS.read, next) * slower * (isPushed ? 12 : 1);
    while (stall < 11 && stalls[stall]!.to < submitted[i]!) stall++;
    const s = stalls[stall]!;
    if (submitted[i]! >= s.from && submitted[i]! < s.to) {
      latency[i] = s.to - submitted[i]! + latency[i]!;
      s.held++;
    }
    place[i] = Math.floor((isWrite ? 6e9 + ((i * 131072) % 2e9) : next() ** 2 * 40e9) / 4096) * 4096;
    length[i] = next() < 0.6 ? 4096 : next() < 0.7 ? 16384 : 65536;
  }
  latency[Math.floor(n / 2)] = 0;
  // One giant: submitted after a quarter, done before the end.
  const giant = Math.floor(n * 0.2);
  latency[giant] = 300 * SECOND;
  latency[n - 1] = 50e3;
  latency.forEach((ns, i) => (latency[i] = Math.round(ns)));
  let endNs = 0;
  for (let i = 0; i < n; i++) endNs = Math.max(endNs, submitted[i]! + latency[i]!);
  return { n, due, submitted, latency, cls, place, length, stalls, endNs, collapseNs: COLLAPSE_NS };
}

function bursty(at: number, next: () => number): number {
  return next() < 0.15 ? Math.floor(at / 5e9) * 5e9 + next() * 3e8 : at + (next() - 0.5) * 1e9 > 0 ? at : 0;
}

function sample(bands: readonly (readonly [number, number])[], next: () => number): number {
  let left = next();
  const found = bands.find(([, share]) => (left -= share) < 0) ?? bands[0]!;
  const normal = Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());
  return found[0] * Math.exp(normal * 0.22);
}

// ---- encoding ----

export class Bytes {
  private out = new Uint8Array(1 << 16);
  private length = 0;

  put(byte: number): void {
    if (this.length === this.out.length) {
      const wider = new Uint8Array(this.out.length * 2);
      wider.set(this.out);
      this.out = wider;
    }
    this.out[this.length++] = byte;
  }

  leb(value: number): void {
    let left = value;
    while (left >= 0x80) {
      this.put((left % 0x80) | 0x80);
      left = Math.floor(left / 0x80);
    }
    this.put(left);
  }

  zigzag(value: number): void {
    this.leb(value >= 0 ? 2 * value : -2 * value - 1);
  }

  get done(): Uint8Array {
    return this.out.subarray(0, this.length);
  }
}

/** Numbers as in blocks of counts; runs of zeros end with the part. */
export function putCounts(bytes: Bytes, counts: ArrayLike<number>): void {
  let zeros = 0;
  for (let i = 0; i <= counts.length; i++) {
    const count = counts[i] ?? -1;
    if (count === 0) {
      zeros++;
      continue;
    }
    if (zeros > 0) {
      bytes.put(0);
      bytes.leb(zeros - 1);
      zeros = 0;
    }
    if (count > 0) bytes.leb(count);
  }
}

function packed(bytes: Uint8Array): { text: string; crc: string } {
  return {
    text: deflateRawSync(bytes, { level: 9 }).toString("base64"),
    crc: crc32(bytes).toString(16).padStart(8, "0"),
  };
}

function countBlock(run: number, key: string, tile: number, n: number, bytes: Bytes): string {
  const { text, crc } = packed(bytes.done);
  return `<script type="application/x-iosonar-grid" data-run="${run}" data-k="${key}" data-tile="${tile}" data-n="${n}" data-crc32="${crc}">${text}</script>\n`;
}

/** Tiles in a block of about 1 MiB of text. */
const TILES_PER_BLOCK = 16;
const CLASS_NAMES = ["read", "write", "read-pushed", "write-pushed", "flush"];

/** Cells by column and slot, as blocks. */
function gridBlocks(
  run: number,
  id: string,
  columns: number,
  cell: (i: number) => readonly [column: number, slot: number],
  r: Requests,
): { text: string; totals: [number, number, number, number, number] } {
  const totals: [number, number, number, number, number] = [0, 0, 0, 0, 0];
  let text = "";
  for (let cls = 0; cls < CLASS_NAMES.length; cls++) {
    const tiles = Math.ceil(columns / 256);
    const cells = new Uint32Array(tiles * 256 * SLOTS);
    for (let i = 0; i < r.n; i++) {
      if (r.cls[i] !== cls) continue;
      const [column, slot] = cell(i);
      cells[Math.floor(column / 256) * 256 * SLOTS + slot * 256 + (column % 256)]!++;
      totals[cls]!++;
    }
    if (totals[cls] === 0) continue;
    for (let first = 0; first < tiles; first += TILES_PER_BLOCK) {
      const bytes = new Bytes();
      const part = cells.subarray(first * 256 * SLOTS, (first + TILES_PER_BLOCK) * 256 * SLOTS);
      for (let at = 0; at < part.length; at += 256 * SLOTS) putCounts(bytes, part.subarray(at, at + 256 * SLOTS));
      const n = part.reduce((a, b) => a + b, 0);
      if (n > 0) text += countBlock(run, `grid/${id}/${CLASS_NAMES[cls]}`, first, n, bytes);
    }
  }
  return { text, totals };
}

export function pointBytes(r: Requests, begin: number, end: number, order: ArrayLike<number>): Uint8Array {
  const bytes = new Bytes();
  const at = (k: number) => order[k]!;
  const each = (use: (i: number) => void) => {
    for (let k = begin; k < end; k++) use(at(k));
  };
  let last = Math.round(r.submitted[at(begin)]! / 1000);
  each((i) => {
    const us = Math.round(r.submitted[i]! / 1000);
    bytes.leb(us - last);
    last = us;
  });
  for (const of of [(i: number) => r.latency[i]!, (i: number) => Math.max(0, r.submitted[i]! - r.due[i]!)]) {
    each((i) => bytes.put(codeOfDuration(of(i)) & 255));
    each((i) => bytes.put(codeOfDuration(of(i)) >> 8));
  }
  each((i) => bytes.put(r.cls[i]! | (r.latency[i]! > 5e9 ? 8 : 0)));
  each((i) => bytes.leb(r.length[i]! / 4096));
  for (const of of [(i: number) => r.place[i]! / 4096, (i: number) => i]) {
    let before = 0;
    each((i) => {
      bytes.zigzag(of(i) - before);
      before = of(i);
    });
  }
  each(() => bytes.leb(0));
  each((i) => bytes.leb(i % 4));
  each(() => bytes.leb(0));
  return bytes.done;
}

const PER_BLOCK = 65_536;

/** Requests by submission. */
function orderOf(r: Requests): Uint32Array {
  return Uint32Array.from({ length: r.n }, (_, i) => i).sort((a, b) => r.submitted[a]! - r.submitted[b]!);
}

function pointBlocks(run: number, r: Requests): string {
  const order = orderOf(r);
  let text = "";
  for (let begin = 0; begin < r.n; begin += PER_BLOCK) {
    const end = Math.min(begin + PER_BLOCK, r.n);
    const { text: body, crc } = packed(pointBytes(r, begin, end, order));
    const us = (k: number) => Math.round(r.submitted[order[k]!]! / 1000);
    text += `<script type="application/x-iosonar-points" data-run="${run}" data-n="${end - begin}" data-from-us="${us(begin)}" data-to-us="${us(end - 1)}" data-unit="4096" data-crc32="${crc}">${body}</script>\n`;
  }
  return text;
}

/** The file beside the page. */
export function sideCar(r: Requests, runId: string): Uint8Array {
  const order = orderOf(r);
  const parts: Uint8Array[] = [Buffer.from("IOSONARP")];
  const blocks: unknown[] = [];
  let at = 8;
  for (let begin = 0; begin < r.n; begin += PER_BLOCK) {
    const end = Math.min(begin + PER_BLOCK, r.n);
    const bytes = pointBytes(r, begin, end, order);
    const body = deflateRawSync(bytes);
    const us = (k: number) => Math.round(r.submitted[order[k]!]! / 1000);
    blocks.push({
      at,
      bytes: body.length,
      n: end - begin,
      from_us: us(begin),
      to_us: us(end - 1),
      unit: 4096,
      crc32: crc32(bytes).toString(16).padStart(8, "0"),
    });
    parts.push(body);
    at += body.length;
  }
  const index = Buffer.from(JSON.stringify({ version: 1, run_id: runId, requests: r.n, blocks }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(index.length));
  return Buffer.concat([...parts, index, length, Buffer.from("IOSONARX")]);
}

// ---- what a run says about itself ----

export function widthFor(end: number, columns: number): number {
  return 2 ** Math.ceil(Math.log2(end / columns));
}

function series(
  run: number,
  id: string,
  width: number,
  columns: number,
  values: Float64Array,
  base: PageBase = "start",
): [PageSeries, string] {
  const bytes = new Bytes();
  putCounts(bytes, values);
  const n = values.reduce((a, b) => a + b, 0);
  return [{ id, base, width, columns }, n > 0 ? countBlock(run, `series/${id}`, 0, n, bytes) : ""];
}

interface Part {
  readonly run: PageRun;
  readonly blocks: string;
}

export interface PageOptions extends FixtureOptions {
  readonly kind?: "run" | "load";
  /** How many of the requests have their facts in the page: all, or none. */
  readonly points?: boolean;
  /** Why it is no storage result. */
  readonly stamps?: readonly string[];
  /** Whether there are grids of responses: without them the responses are the latencies. */
  readonly response?: boolean;
  /** Steps between the samples of the machine's counters; 0: there are none. */
  readonly samples?: number;
  /** Whether causes are known over time: they are, unless this says otherwise. */
  readonly blame?: boolean;
  /** Notes of users. */
  readonly notes?: readonly PageNote[];
}

function gridsOf(run: number, r: Requests, withResponse: boolean): { grids: PageGrid[]; text: string } {
  const response = (i: number) => Math.max(0, r.submitted[i]! - r.due[i]!) + r.latency[i]!;
  const specs: [string, PageBase, (i: number) => number, (i: number) => number][] = [
    ["latency.start", "start", (i) => r.submitted[i]!, (i) => r.latency[i]!],
    ["latency.due", "due", (i) => r.due[i]!, (i) => r.latency[i]!],
    ["latency.completion", "completion", (i) => r.submitted[i]! + r.latency[i]!, (i) => r.latency[i]!],
    ["latency.number", "number", (i) => i, (i) => r.latency[i]!],
    ["delay.due", "due", (i) => r.due[i]!, (i) => Math.max(0, r.submitted[i]! - r.due[i]!)],
  ];
  if (withResponse)
    specs.push(
      ["response.start", "start", (i) => r.submitted[i]!, response],
      ["response.due", "due", (i) => r.due[i]!, response],
      ["response.completion", "completion", (i) => r.submitted[i]! + r.latency[i]!, response],
      ["response.number", "number", (i) => i, response],
    );
  const grids: PageGrid[] = [];
  let text = "";
  for (const [id, base, x, y] of specs) {
    const end = base === "number" ? r.n : r.endNs + 1;
    const width =
      base === "number" ? Math.max(1, widthFor(end, 4096)) : widthFor(end, id === "latency.start" ? 16_384 : 4096);
    const columns = Math.ceil(end / width);
    const made = gridBlocks(run, id, columns, (i) => [Math.floor(x(i) / width), ROWS.slotOf(y(i))], r);
    grids.push({ id, base, width, columns, totals: made.totals });
    text += made.text;
  }
  return { grids, text };
}

function seriesOf(run: number, r: Requests, isLoad: boolean): [PageSeries, string][] {
  const width = widthFor(r.endNs + 1, 4096);
  const columns = Math.ceil((r.endNs + 1) / width);
  const empty = () => new Float64Array(columns);
  const found: [PageSeries, string][] = [];
  for (const [op, name] of [
    [0, "read"],
    [1, "write"],
  ] as const) {
    const [wanted, wantedBytes, done, doneBytes, opened] = [empty(), empty(), empty(), empty(), empty()];
    for (let i = 0; i < r.n; i++) {
      if ((r.cls[i]! & 1) !== op) continue;
      const [d, c, s] = [r.due[i]!, r.submitted[i]! + r.latency[i]!, r.submitted[i]!].map((ns) =>
        Math.floor(ns / width),
      ) as [number, number, number];
      wanted[d]!++;
      wantedBytes[d]! += r.length[i]!;
      done[c]!++;
      doneBytes[c]! += r.length[i]!;
      opened[s]!++;
    }
    found.push(
      series(run, `demanded.${name}.requests`, width, columns, wanted, "due"),
      series(run, `demanded.${name}.bytes`, width, columns, wantedBytes, "due"),
    );
    if (isLoad) continue;
    found.push(
      series(run, `delivered.${name}.requests`, width, columns, done, "completion"),
      series(run, `delivered.${name}.bytes`, width, columns, doneBytes, "completion"),
    );
    let level = 0;
    const levels = opened.map((n, i) => (level += n - done[i]!));
    found.push(
      series(
        run,
        `in-flight.${name}.least`,
        width,
        columns,
        levels.map((n) => Math.floor(n * 0.6)),
      ),
    );
    found.push(
      series(
        run,
        `in-flight.${name}.median`,
        width,
        columns,
        levels.map((n) => n),
      ),
    );
    found.push(
      series(
        run,
        `in-flight.${name}.most`,
        width,
        columns,
        levels.map((n, i) => n + Math.ceil(opened[i]! * 0.4)),
      ),
    );
  }
  if (!isLoad) {
    const waiting = empty();
    for (let i = 0; i < r.n; i++)
      waiting[Math.floor(r.due[i]! / width)]! += Math.round(Math.max(0, r.submitted[i]! - r.due[i]!));
    found.push(series(run, "waiting.most", width, columns, waiting.map((ns) => Math.ceil(ns / width))));
  }
  for (const [name, factor] of [
    ["1", 40],
    ["6", 200],
    ["60", 1500],
    ["600", 6000],
    ["all", 6001],
  ] as const) {
    found.push(
      series(
        run,
        `working-set.${name}`,
        width,
        columns,
        empty().map((_, i) =>
          Math.round(factor * 20 * Math.min(1, (i + 3) / (factor / 4)) * (1 + 0.1 * Math.sin(i / 40))),
        ),
        "due",
      ),
    );
  }
  return found;
}

function seekOf(run: number, r: Requests): { seek: NonNullable<PageRun["seek"]>; text: string } {
  const width = widthFor(r.endNs + 1, 2048);
  const columns = Math.ceil((r.endNs + 1) / width);
  const top = r.place.reduce((a, b) => Math.max(a, b), 0) + 1;
  const rowBytes = 2 ** Math.ceil(Math.log2(top / 512));
  const { text } = gridBlocks(
    run,
    "seek",
    columns,
    (i) => [Math.floor(r.due[i]! / width), 1 + Math.floor(r.place[i]! / rowBytes)],
    r,
  );
  return { seek: { width, columns, row_bytes: rowBytes, rows: Math.ceil(top / rowBytes), device_bytes: [42e9], places: PLACES }, text };
}

/** A volume and a file in it; names of files may be anything. */
export const PLACES = [
  { name: "volume", from_bytes: 0, to_bytes: 40e9 },
  { name: "data/<script>alert(1)</script>", from_bytes: 10e9, to_bytes: 20e9 },
];

function relationsOf(run: number, r: Requests): { relations: PageRelation[]; text: string } {
  const edges = Array.from({ length: 64 }, (_, i) => i * 2);
  const flight = gridBlocks(
    run,
    "latency.in-flight",
    64,
    (i) => [Math.min(63, Math.floor((r.latency[i]! / 1e6) % 40)), ROWS.slotOf(r.latency[i]!)],
    r,
  );
  const slots = Array.from({ length: SLOTS }, (_, i) => ROWS.begin(i)).filter((_, i) => i % 4 === 0);
  const column = (ns: number) =>
    Math.max(
      0,
      slots.findLastIndex((edge) => edge <= ns),
    );
  const delay = gridBlocks(
    run,
    "latency.delay",
    slots.length,
    (i) => [column(Math.max(0, r.submitted[i]! - r.due[i]!)), ROWS.slotOf(r.latency[i]!)],
    r,
  );
  return {
    relations: [
      { id: "latency.in-flight", edges, is_duration: false, totals: flight.totals },
      { id: "latency.delay", edges: slots, is_duration: true, totals: delay.totals },
    ],
    text: flight.text + delay.text,
  };
}

function findingsOf(r: Requests): PageFinding[] {
  const stalls = r.stalls.map((s, i): PageFinding => {
    const text = `Stall ${i + 1}: at ${(s.from / 1e9).toFixed(2)} s nothing completed for ${((s.to - s.from) / 1e9).toFixed(2)} s; ${s.held} requests held.`;
    return { kind: "stall", text, range: { from_ns: s.from, to_ns: s.to }, number: i + 1, op: null };
  });
  return [
    {
      kind: "collapse",
      text: "The target cannot follow after 340 s.",
      range: { from_ns: r.collapseNs, to_ns: r.endNs },
      number: null,
      op: null,
    },
    ...stalls,
    { kind: "note", text: "Whole run: nothing else.", range: null, number: null, op: null },
  ];
}

function bandsOf(end: number): PageRun["bands"] {
  const names = "ABC";
  const unit = (ns: number) => (ns >= 1e6 ? `${ns / 1e6} ms` : `${ns / 1e3} µs`);
  return (["read", "write"] as const).flatMap((op) =>
    BANDS[op].map(([peak, share], i) => ({
      op,
      label: `${names[i]} ${unit(peak)}, ${Math.round(share * 100)} %`,
      low_ns: Math.round(peak * 0.55),
      peak_ns: peak,
      high_ns: Math.round(peak * 1.9),
      share,
      range: { from_ns: 0, to_ns: end },
      share_over_time: Array.from({ length: 40 }, (_, k) => share * (1 + 0.2 * Math.sin(k / 5))),
    })),
  );
}

function percentilesOf(r: Requests): PageRun["percentiles"] {
  const of = (name: string, value: (i: number) => number, scope: string, has: (i: number) => boolean) => {
    const sorted = Float64Array.from(
      Array.from({ length: Math.min(r.n, 200_000) }, (_, i) => i)
        .filter(has)
        .map(value),
    ).sort();
    const points: [number, number][] = [];
    for (let nines = 0; 10 ** -nines * sorted.length > 10; nines += 0.05)
      points.push([nines, sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * (1 - 10 ** -nines)))]!]);
    return { of: name, scope, requests: sorted.length, points };
  };
  const response = (i: number) => r.latency[i]! + Math.max(0, r.submitted[i]! - r.due[i]!);
  return (["all", "read", "write"] as const).flatMap((scope) => {
    const has = (i: number) => scope === "all" || (r.cls[i]! & 1) === (scope === "read" ? 0 : 1);
    return [of("service", (i) => r.latency[i]!, scope, has), of("response", response, scope, has)];
  });
}

/** The figures of a summary, exact. */
function figuresOf(r: Requests): Record<string, number> {
  const found: Record<string, number> = { "counts.all.completed": r.n, "counts.all.failed": 0 };
  const delay = (i: number) => Math.max(0, r.submitted[i]! - r.due[i]!);
  const times = { latency: (i: number) => r.latency[i]!, delay, response: (i: number) => r.latency[i]! + delay(i) };
  for (const [what, value] of Object.entries(times))
    for (const scope of ["all", "read", "write"]) {
      const all = Array.from({ length: r.n }, (_, i) => i).filter((i) => scope === "all" || (r.cls[i]! & 1) === (scope === "read" ? 0 : 1));
      const sorted = Float64Array.from(all.map(value)).sort();
      if (sorted.length === 0) continue;
      const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
      const key = `${what}.${scope}`;
      found[`${key}.count`] = sorted.length;
      for (const [name, share] of [["min", 0], ["p50", 0.5], ["p90", 0.9], ["p99", 0.99], ["max", 1]] as const) found[`${key}.${name}_ns`] = at(share);
    }
  return found;
}

/** Nothing was sampled in these steps, of a hundred. */
const GAP = [25, 30] as const;

/** Four of five devices, CPUs and memory; nothing is above zero in the other lanes. */
export function machineOf(r: Requests, steps: number): PageMachine {
  const next = random(7);
  const curve = (name: string, most: number) => ({
    name,
    values: Array.from({ length: steps }, (_, i) => {
      const share = (i * 100) / steps;
      return share >= GAP[0] && share < GAP[1] ? null : Number((most * (0.3 + 0.7 * next())).toPrecision(6));
    }),
  });
  const lane = (id: string, title: string, unit: string, most: number | null, curves: ReturnType<typeof curve>[]) =>
    ({ id, title, unit, most, is_stacked: id === "cpu", is_by_device: curves.length === 4, curves });
  const devices = ["nvme0n1", "nvme1n1", "dm-0", 'sda<b>"'];
  return {
    times_ns: Array.from({ length: steps + 1 }, (_, i) => Math.round((i * r.endNs) / steps)),
    lanes: [
      lane("utilization", "Utilization, %", "%", 100, devices.map((name, i) => curve(name, 100 - 20 * i))),
      lane("queue", "Requests in device and queue", "", null, devices.map((name, i) => curve(name, 40 / (i + 1)))),
      lane("await", "Time per request, ms", "ms", null, devices.map((name) => curve(name, 4))),
      lane("cpu", "CPUs, %", "%", 100, [
        curve("programs", 20),
        curve("kernel", 30),
        curve("soft interrupts", 4),
        curve("idle, I/O waited", 30),
        curve("taken by the host", 10),
      ]),
      lane("memory", "Page cache to write, MB", "MB", null, [curve("dirty", 12_000), curve("being written", 700)]),
    ],
    devices: 5,
  };
}

/** A halt, others on a device whose name is no markup, and a full depth at the end, in 500 slices. */
export function blameOf(r: Requests): PageBlame {
  const slices = 500;
  const row = (cause: string, label: string, measure: string, of: (i: number) => number) => ({
    cause,
    label,
    measure,
    percent: Array.from({ length: slices }, (_, i) => of(i)),
  });
  return {
    from_ns: 0,
    slice_ns: Math.ceil(r.endNs / slices),
    rows: [
      row("halted", "halted", "of the time", (i) => (i >= 200 && i < 215 ? 100 : 0)),
      row("others", 'others on sda<b>"', "of the device's greatest rate", (i) => (i >= 60 && i < 120 ? 40 + (i % 50) : i % 3)),
      row("depth-full", "depth full", "of the response", (i) => (i > 400 ? 70 : 0)),
    ],
  };
}

function runOf(index: number, r: Requests, options: PageOptions): Part {
  const isLoad = options.kind === "load";
  const all = seriesOf(index, r, isLoad);
  const seek = seekOf(index, r);
  const grids = isLoad ? { grids: [], text: "" } : gridsOf(index, r, options.response ?? false);
  const relations = isLoad ? { relations: [], text: "" } : relationsOf(index, r);
  const hasPoints = !isLoad && (options.points ?? true);
  const run: PageRun = {
    kind: options.kind ?? "run",
    name: HOSTILE_NAME,
    run_id: isLoad ? null : `0123456789abcdef${index}`,
    started_unix_us: isLoad ? null : 1_700_000_000_000_000,
    end_ns: r.endNs,
    requests: r.n,
    completed: isLoad ? 0 : r.n,
    figures: isLoad ? {} : figuresOf(r),
    has_timetable: true,
    limits: isLoad
      ? []
      : [
          { of: "latency", limit_ns: 5e9, passed: false, text: "limit 5 s: FAILED, 1 above, first at 80.0 s" },
          { of: "delay", limit_ns: 60e9, passed: true, text: "limit 60 s: passed, max 12 s" },
        ],
    stamps: [...(options.stamps ?? [])],
    cautions: [{ severity: "warning", text: `The file ${HOSTILE_NAME} was not opened with O_DIRECT.` }],
    findings: isLoad ? [] : findingsOf(r),
    bands: isLoad ? [] : bandsOf(r.endNs),
    passes: isLoad ? [] : [{ name: "pass 2", at_ns: 200e9 }],
    grids: grids.grids,
    series: all.map(([s]) => s),
    relations: relations.relations,
    seek: seek.seek,
    percentiles: isLoad ? [] : percentilesOf(r),
    sizes: [4096, 16384, 65536].map((bytes) => {
      let [reads, writes] = [0, 0];
      for (let i = 0; i < r.n; i++) if (r.length[i] === bytes) r.cls[i]! & 1 ? writes++ : reads++;
      return { from_bytes: bytes, to_bytes: bytes, reads, writes };
    }),
    frequency: {
      points: Array.from({ length: 60 }, (_, i) => [Math.round(1.2 ** i), Math.round(9000 / 1.2 ** (i * 0.8)) + 1]),
      markers: [
        ["1/4", 12, 900],
        ["1/2", 300, 60],
      ],
      zipf_exponent: 0.8,
    },
    miss_ratio: {
      points: Array.from({ length: 40 }, (_, i) => [
        2 ** (20 + i * 0.4),
        1 / (1 + i * 0.2),
        1 / (1 + i * 0.22),
        1 / (1 + i * 0.1),
      ]),
      knee: [2 ** 28, 0.3],
      error: 0.004,
    },
    parts: isLoad
      ? []
      : Array.from({ length: 4 }, (_, i) => ({
          kind: "worker",
          name: `worker ${i}`,
          completed: Math.floor(r.n / 4),
          failed: 0,
          rate: r.n / 4 / 400,
          p50_ns: 300e3 + i * 1e4,
          p99_ns: 12e6,
          max_ns: 2e9,
        })),
    detail: {
      requests: isLoad ? 0 : r.n,
      embedded: hasPoints ? r.n : 0,
      has_places: true,
      one_of: hasPoints ? 1 : 100,
      side_car: hasPoints ? null : "run.trace",
    },
    machine: isLoad || options.samples === 0 ? null : machineOf(r, options.samples ?? 400),
    blame: isLoad || options.blame === false ? null : blameOf(r),
    notes: [...(options.notes ?? [])],
  };
  const blocks =
    grids.text +
    seek.text +
    relations.text +
    all.map(([, text]) => text).join("") +
    (hasPoints ? pointBlocks(index, r) : "");
  return { run, blocks };
}

// ---- the page ----

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** The whole file. `style` and `viewer` are those of the program. */
export function page(runs: readonly Requests[], options: PageOptions, style: string, viewer: string): string {
  const parts = runs.map((r, i) => runOf(i, r, options));
  const meta = {
    version: PAGE_VERSION,
    tool: "iosonar 0.0.0",
    title: `${HOSTILE_NAME} → null device`,
    form: FORM,
    runs: parts.map((p) => p.run),
    pairs: null,
  } satisfies PageMeta;
  const findings = parts[0]!.run.findings.map((f, i) => `<li data-finding="${i}">${escaped(f.text)}</li>`).join("\n");
  const csp =
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline' blob:; worker-src blob:; connect-src 'none'";
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>fixture</title><style>${style}</style></head><body><main>
<header><h1>${escaped(meta.title)}</h1><p class="faint">fixture · ${runs[0]!.n} requests</p></header>
<section class="story"><p class="headline"><b>The target cannot follow: 200/s wanted, 120/s done.</b></p></section>
<section class="cautions"><ul>${meta.runs[0]!.cautions.map((c) => `<li><b>⚠ Warning.</b> ${escaped(c.text)}</li>`).join("")}</ul></section>
<figure id="overview-image"><p>The whole run as a picture.</p></figure>
<div id="view"></div>
<section class="events" aria-label="Events"><h2>Events</h2><ol>
<li class="event"><p><a href="#t=100-120">100 s to 120 s</a> <b>60 %</b> of the lost time</p><p>Others used the disk.</p></li>
</ol></section>
<h2>Findings</h2><ol id="findings">${findings}</ol>
</main>
<script type="application/json" id="iosonar-meta">${JSON.stringify(meta).replace(/</g, "\\u003c")}</script>
<script id="iosonar-viewer">${viewer}</script>
${parts.map((p) => p.blocks).join("")}<div id="iosonar-end" hidden></div>
</body></html>
`;
}
