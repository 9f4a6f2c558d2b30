/** A page of two invented runs, for tests of charts. */

import type { ChartContext, RelationCounts } from "../src/charts/chart";
import type { GridForm, PageMeta, PagePart, PageRelation, PageRun } from "../src/format/page";
import { LIGHT, type Palette } from "../src/render/palette";

export const FORM: GridForm = { rows: 512, rows_per_decade: 64, floor_ns: 1000, tile_columns: 256 };
const SLOTS = FORM.rows + 2;
const END = 1340e9;
const COLUMNS = 1024;

/** The same numbers in each run of the tests. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Roughly normal, mean 0, deviation 1. */
function bell(next: () => number): number {
  return next() + next() + next() + next() - 2;
}

export function slotOf(ns: number): number {
  return Math.max(0, Math.min(SLOTS - 1, Math.floor(Math.log10(ns / FORM.floor_ns) * FORM.rows_per_decade) + 1));
}

function edgesOfNumbers(): number[] {
  const edges = Array.from({ length: 64 }, (_, i) => i);
  for (let octave = 64; edges.length < 256; octave *= 2)
    for (let i = 0; i < 16; i++) edges.push(octave + (octave / 16) * i);
  return edges;
}

function edgesOfDurations(): number[] {
  return Array.from({ length: 257 }, (_, i) => (i === 0 ? 0 : Math.ceil(1000 * 10 ** ((2 * i - 1) / 64))));
}

export const EDGES = { numbers: edgesOfNumbers(), durations: edgesOfDurations() };

export function empty(columns: number): RelationCounts {
  return { columns, slots: SLOTS, reads: new Uint32Array(columns * SLOTS), writes: new Uint32Array(columns * SLOTS) };
}

function filled(
  edges: readonly number[],
  seed: number,
  pick: (next: () => number) => [x: number, ns: number, write: boolean],
): RelationCounts {
  const counts = empty(edges.length);
  const next = random(seed);
  for (let i = 0; i < 40_000; i++) {
    const [x, ns, write] = pick(next);
    const column = edges.findLastIndex((edge) => edge <= x);
    const cells = write ? counts.writes : counts.reads;
    const cell = Math.max(0, column) * SLOTS + slotOf(ns);
    cells[cell] = (cells[cell] ?? 0) + 1;
  }
  return counts;
}

function latency(next: () => number, write: boolean): number {
  const bands: [number, number][] = write
    ? [
        [0.4, 55e3],
        [0.9, 240e3],
        [1, 3e6],
      ]
    : [
        [0.5, 90e3],
        [0.9, 620e3],
        [1, 9e6],
      ];
  const pick = next();
  const [, peak] = bands.find(([share]) => pick < share) ?? [1, 1e6];
  return peak * 10 ** (bell(next) * 0.15);
}

/** Counts of every relation and grid of the sample. */
export function relations(run: number): Map<string, RelationCounts> {
  const slow = run === 1 ? 1.4 : 1;
  const times = Array.from({ length: COLUMNS }, (_, i) => i * (END / COLUMNS));
  const isWrite = (next: () => number) => next() < 0.4;
  return new Map([
    [
      "latency.in-flight",
      filled(EDGES.numbers, 1 + run, (next) => {
        const [n, write] = [1 + Math.floor(128 * next() ** 3), isWrite(next)];
        return [n, slow * latency(next, write) * (1 + n / 20), write];
      }),
    ],
    [
      "latency.delay",
      filled(EDGES.durations, 3 + run, (next) => {
        const [write, late] = [isWrite(next), next() < 0.2];
        return [late ? 500 : 20e3 * 10 ** (next() * 4), slow * latency(next, write), write];
      }),
    ],
    [
      "delay.waiting",
      filled(EDGES.numbers, 5 + run, (next) => {
        const n = 1 + Math.floor(4000 * next() ** 5);
        return [n, n < 3 ? 400 : n * 1e5 * 10 ** (bell(next) * 0.2), isWrite(next)];
      }),
    ],
    ["issue_error", filled(times, 7, (next) => [next() * END, 6e3 * 10 ** (bell(next) * 0.2), isWrite(next)])],
    [
      "reap_lag",
      filled(times, 8, (next) => [
        next() * END,
        (next() < 0.05 ? 900e3 : 3e3) * 10 ** (bell(next) * 0.3),
        isWrite(next),
      ]),
    ],
    [
      "pairs",
      filled(EDGES.durations, 9, (next) => {
        const [write] = [isWrite(next)];
        const a = latency(next, write);
        return [a, next() < 0.7 ? a * 1.3 * 10 ** (bell(next) * 0.1) : latency(next, write), write];
      }),
    ],
  ]);
}

const TOTALS: [number, number, number, number, number] = [24_000, 15_000, 600, 400, 0];

function relation(id: string, edges: number[], isDuration: boolean): PageRelation {
  return { id, edges, is_duration: isDuration, totals: TOTALS };
}

function part(kind: string, name: string, rate: number, ns: number): PagePart {
  return {
    kind,
    name,
    completed: Math.round(rate * 1340),
    failed: 3,
    rate,
    p50_ns: ns,
    p99_ns: ns * 30,
    max_ns: ns * 9000,
  };
}

function curve(of: string, scope: string, requests: number, base: number) {
  const points = Array.from({ length: Math.floor(Math.log10(requests / 10) * 32) + 1 }, (_, i): [number, number] => {
    const nines = i / 32;
    const queue = of === "response" && nines > 1.5 ? (nines - 1.5) * 0.9 : 0;
    return [nines, Math.round(base * 10 ** (nines * 0.7 + queue + (nines > 2.5 ? (nines - 2.5) * 0.3 : 0)))];
  });
  return { of, scope, requests, points };
}

export function sampleRun(name: string, slow: number): PageRun {
  const next = random(slow * 100);
  const grid = (id: string) => ({ id, base: "due" as const, width: END / COLUMNS, columns: COLUMNS, totals: TOTALS });
  const rates = Array.from({ length: 8 }, () => 490 + 20 * next());
  return {
    kind: "run",
    name,
    run_id: "0123456789ab",
    started_unix_us: 1_700_000_000_000_000,
    end_ns: END,
    requests: 523_012,
    completed: 523_012,
    figures: {},
    has_timetable: true,
    limits: [],
    stamps: [],
    cautions: [],
    bands: [],
    passes: [],
    series: [],
    seek: null,
    findings: [
      { kind: "passes", text: "8 passes: no drift and no outlier shown", range: null, number: null, op: null },
    ],
    grids: [grid("issue_error"), grid("reap_lag")],
    relations: [
      relation("latency.in-flight", EDGES.numbers, false),
      relation("delay.waiting", EDGES.numbers, false),
      relation("latency.delay", EDGES.durations, true),
    ],
    percentiles: [
      curve("service", "all", 523_012, 80e3 * slow),
      curve("service", "read", 313_000, 110e3 * slow),
      curve("service", "write", 210_012, 50e3 * slow),
      curve("response", "all", 523_012, 130e3 * slow),
      curve("response", "read", 313_000, 170e3 * slow),
      curve("response", "write", 210_012, 100e3 * slow),
    ],
    sizes: [
      { from_bytes: 512, to_bytes: 512, reads: 900, writes: 2100 },
      { from_bytes: 4096, to_bytes: 4096, reads: 230_000, writes: 90_000 },
      { from_bytes: 8192, to_bytes: 8192, reads: 40_000, writes: 30_000 },
      { from_bytes: 12_288, to_bytes: 12_288, reads: 500, writes: 22_000 },
      { from_bytes: 16_384, to_bytes: 16_384, reads: 42_000, writes: 60_012 },
      { from_bytes: 65_536, to_bytes: 65_536, reads: 0, writes: 5_000 },
      { from_bytes: 131_073, to_bytes: 262_144, reads: 700, writes: 100 },
    ],
    frequency: {
      points: Array.from({ length: 200 }, (_, i): [number, number] => [
        Math.round(1.07 ** i),
        Math.max(1, Math.round(20_000 / 1.07 ** (i * 0.8))),
      ]),
      markers: [
        ["1/64 of the accesses", 3, 9000],
        ["1/16 of the accesses", 20, 1900],
        ["1/4 of the accesses", 900, 85],
        ["1/2 of the accesses", 9000, 14],
      ],
      zipf_exponent: 0.83,
    },
    miss_ratio: {
      points: Array.from({ length: 60 }, (_, i): [number, number, number, number] => {
        const all = 0.05 + 0.9 / (1 + Math.exp((i - 30) / 5));
        return [4096 * Math.round(1.32 ** i), all, Math.min(1, all * 1.05), all * 0.8];
      }),
      knee: [4096 * Math.round(1.32 ** 36), 0.27],
      error: slow > 1 ? 0 : 0.01,
    },
    parts: [
      ...["data/ibdata1", "data/ibdata2", "log/redo"].map((path, i) =>
        part("target", path, 200 + 90 * i, 200e3 * (i + 1)),
      ),
      ...Array.from({ length: 16 }, (_, i) => part("worker", `worker ${i}`, 30 + 10 * next(), 200e3 + 90e3 * next())),
      ...rates.map((rate, i) =>
        part("pass", `pass ${i}`, i === 5 ? rate * 0.6 : rate, i === 5 ? 900e3 : 240e3 + 9e3 * next()),
      ),
    ],
    detail: { requests: 523_012, embedded: 523_012, one_of: 1, has_places: true, side_car: null },
    machine: null,
    blame: null,
    notes: [],
  };
}

export function sampleMeta(): PageMeta {
  const ratios = Array.from({ length: 50 }, (_, i) => ({
    from_log2: i === 0 ? null : (i - 25) / 8,
    to_log2: i === 49 ? null : (i - 24) / 8,
    share: Math.exp(-(((i - 28) / 6) ** 2)) / 10.6,
  }));
  const text = "In 95 of 100 cases such a difference is no chance: median ratio 1.32, interval 1.30 to 1.34";
  return {
    version: 1,
    tool: "iosonar 0",
    title: "sample",
    form: FORM,
    runs: [sampleRun("first", 1), sampleRun("second", 1.4)],
    pairs: {
      pairs: 522_000,
      slower_in_b: 0.63,
      faster_in_b: 0.29,
      text,
      ratios,
      density: relation("pairs", EDGES.durations, true),
    },
  };
}

export function sampleContext(showB: boolean, palette: Palette = LIGHT): ChartContext {
  const counts = [relations(0), relations(1)];
  return { meta: sampleMeta(), palette, showB, relation: (run, id) => counts[run]?.get(id) };
}
