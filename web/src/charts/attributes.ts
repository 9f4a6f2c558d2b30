/** Attributes of a request, each with the values into which requests are counted, in words. */

import { opOf, OPS } from "../format/classes";
import { classOf, durationOfCode, type Points } from "../format/points";
import { BATCH_NS, DIRECTIONS, type Neighbours, NO_FACT } from "../model/neighbours";
import { count, plainBytes, plainDuration } from "../render/units";
import { ordinateOf } from "./ordinate";
import type { Scene } from "./scene";

/** An attribute of requests. Its values are numbered from 0. */
export interface Attribute {
  readonly id: string;
  readonly title: string;
  /** Whether values have an order: neighbours are then compared as a distribution. */
  readonly isOrdered: boolean;
  /** Names of the values. */
  readonly values: readonly string[];
  /** The values of the requests of a block; −1 where one has none. */
  readonly valuesIn: (points: Points) => (i: number) => number;
  /** Ends “… of the selected requests”: those from value `from` up to but without `to`. */
  readonly predicate: (from: number, to: number) => string;
}

/** Facts about the order are known only where all requests are. */
export type Facts = ReadonlyMap<Points, Neighbours> | undefined;

/** Attributes that the page knows of some requests, and that can differ between them. */
export function attributesOf(scene: Scene, blocks: readonly Points[], facts: Facts, isWhole: boolean): Attribute[] {
  const { run, data } = scene;
  const placed = data.points.hasPlaces;
  return [
    operation(),
    ...(placed ? [size(blocks), place(blocks)] : []),
    numbered("target", "target", blocks, (p) => p.target, partNames(scene, "target"), (name) => `went to ${name}`),
    ...(placed ? [numbered("worker", "worker", blocks, (p) => p.worker, [], (name) => `were issued by ${name}`)] : []),
    numbered("pass", "pass", blocks, (p) => p.pass, partNames(scene, "pass"), (name) => `belong to ${name}`),
    deferred(),
    ...(run.has_timetable ? [delay()] : []),
    // A response consists of delay and latency.
    ...(ordinateOf(scene) === "response" ? [latency()] : []),
    ...(facts ? ofOrder(facts, placed, isWhole) : []),
  ].filter(({ values }) => values.length > 1);
}

function ofOrder(facts: ReadonlyMap<Points, Neighbours>, placed: boolean, isWhole: boolean): Attribute[] {
  return [
    gap(facts),
    batch(facts),
    ...(isWhole ? [inFlight(facts)] : []),
    ...(placed ? [direction(facts)] : []),
    ...(placed && isWhole ? [reuse(facts)] : []),
  ];
}

// ---- categories ----

const VERBS = { read: "are reads", write: "are writes", flush: "are flushes" } as const;

function operation(): Attribute {
  return {
    id: "operation",
    title: "operation",
    isOrdered: false,
    values: OPS,
    valuesIn: ({ classes }) => (i) => opOf(classOf(classes[i]!)),
    predicate: (value) => VERBS[OPS[value]!],
  };
}

function deferred(): Attribute {
  return {
    id: "deferred",
    title: "deferred by a conflict",
    isOrdered: false,
    values: ["not deferred", "deferred"],
    valuesIn: ({ classes }) => (i) => ((classOf(classes[i]!) & 2) === 2 ? 1 : 0),
    predicate: (value) => (value === 1 ? "were deferred by a conflict" : "were not deferred"),
  };
}

function partNames({ run }: Scene, kind: string): string[] {
  return run.parts.filter((part) => part.kind === kind).map(({ name }) => name);
}

type Numbers = (points: Points) => ArrayLike<number>;

/** A part of the run by its number. */
function numbered(
  id: string,
  title: string,
  blocks: readonly Points[],
  column: Numbers,
  names: readonly string[],
  predicate: (name: string) => string,
): Attribute {
  let most = 0;
  for (const points of blocks) {
    const numbers = column(points);
    for (let i = 0; i < points.n; i++) most = Math.max(most, numbers[i]!);
  }
  const first = id === "pass" ? 1 : 0;
  // A pass has a name or a number.
  const full = (n: number) => {
    const name = names[n];
    return name === undefined || name.startsWith(title) ? (name ?? `${title} ${n + first}`) : `${title} ${name}`;
  };
  return {
    id,
    title,
    isOrdered: false,
    values: Array.from({ length: most + 1 }, (_, n) => names[n] ?? `${title} ${n + first}`),
    valuesIn: (p) => {
      const numbers = column(p);
      return (i) => numbers[i]!;
    },
    predicate: (value) => predicate(full(value)),
  };
}

const DIRECTION_WORDS = [
  "begin where the request before on the target ended",
  "seek forward from the request before on the target",
  "seek backward from the request before on the target",
];

function direction(facts: ReadonlyMap<Points, Neighbours>): Attribute {
  return {
    id: "direction",
    title: "seek from the request before",
    isOrdered: false,
    values: DIRECTIONS,
    valuesIn: (p) => known(facts.get(p)?.direction),
    predicate: (value) => DIRECTION_WORDS[value]!,
  };
}

function reuse(facts: ReadonlyMap<Points, Neighbours>): Attribute {
  return {
    id: "reuse",
    title: "second use of the place",
    isOrdered: false,
    values: ["first use", "used before"],
    valuesIn: (p) => known(facts.get(p)?.isReuse),
    predicate: (value) => (value === 1 ? "begin at a place that was used before" : "begin at a place for the first time"),
  };
}

function known(facts: Uint8Array | undefined): (i: number) => number {
  return (i) => (facts === undefined || facts[i] === NO_FACT ? -1 : facts[i]!);
}

// ---- numbers ----

/** The last edge that is not above `x`; edges ascend, the first is the least. */
export function binOf(edges: ArrayLike<number>, x: number): number {
  let [low, high] = [0, edges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The bins of some numbers; −1 below all of them, and where there are no numbers. */
function binned(edges: ArrayLike<number>, numbers: ArrayLike<number> | undefined): (i: number) => number {
  return (i) => binOf(edges, numbers?.[i] ?? -1);
}

/** Lower edges of durations: 0, then 1, 1.5, 2, 3, 5, 7 of each power of ten up to 100 s. */
const DURATION_EDGES: readonly number[] = [
  0,
  ...Array.from({ length: 9 }, (_, decade) => [1, 1.5, 2, 3, 5, 7].map((n) => n * 10 ** (decade + 2))).flat(),
  1e11,
];

/** Values of an ordered attribute by their lower edges. */
function ranges(edges: readonly number[], write: (x: number) => string): string[] {
  return edges.map((edge, i) => (i + 1 < edges.length ? `${write(edge)} to ${write(edges[i + 1]!)}` : `${write(edge)} and more`));
}

/** “x or more” where the range ends with the last value, else “less than x”. */
function side(edges: readonly number[], from: number, to: number, least: (x: number) => string, below: (x: number) => string): string {
  return to >= edges.length ? least(edges[from]!) : below(edges[to]!);
}

/** Values of durations by their codes. */
function durationBins(): Uint8Array {
  return Uint8Array.from({ length: 1 << 16 }, (_, code) => Math.max(0, binOf(DURATION_EDGES, durationOfCode(code))));
}

function latency(): Attribute {
  const bins = durationBins();
  return {
    id: "latency",
    title: "latency",
    isOrdered: true,
    values: ranges(DURATION_EDGES, plainDuration),
    valuesIn: ({ latency }) => (i) => bins[latency[i]!]!,
    predicate: (from, to) =>
      side(
        DURATION_EDGES,
        from,
        to,
        (ns) => `have a latency of ${plainDuration(ns)} or more`,
        (ns) => `have a latency below ${plainDuration(ns)}`,
      ),
  };
}

function delay(): Attribute {
  const bins = durationBins();
  return {
    id: "delay",
    title: "delay before the submission",
    isOrdered: true,
    values: ranges(DURATION_EDGES, plainDuration),
    valuesIn: ({ delay }) => (i) => bins[delay[i]!]!,
    predicate: (from, to) =>
      side(
        DURATION_EDGES,
        from,
        to,
        (ns) => `were submitted ${plainDuration(ns)} or more after they were due`,
        (ns) => `were submitted less than ${plainDuration(ns)} after they were due`,
      ),
  };
}

function gap(facts: ReadonlyMap<Points, Neighbours>): Attribute {
  return {
    id: "gap",
    title: "time since the request before",
    isOrdered: true,
    values: ranges(DURATION_EDGES, plainDuration),
    // The first request of all has none: its gap is not a number, and lies below all edges.
    valuesIn: (p) => binned(DURATION_EDGES, facts.get(p)?.gapNs),
    predicate: (from, to) =>
      side(
        DURATION_EDGES,
        from,
        to,
        (ns) => `were submitted ${plainDuration(ns)} or more after the request before`,
        (ns) => `were submitted less than ${plainDuration(ns)} after the request before`,
      ),
  };
}

const BATCH_EDGES = [0, 1, 2, 3, 5, 9, 17, 33, 65];

function batch(facts: ReadonlyMap<Points, Neighbours>): Attribute {
  const within = plainDuration(BATCH_NS);
  const span = (edge: number, i: number) => {
    const last = (BATCH_EDGES[i + 1] ?? Infinity) - 1;
    return last === Infinity ? `${edge} and later` : last === edge ? String(edge) : `${edge} to ${last}`;
  };
  return {
    id: "batch",
    title: `position in a batch (gaps up to ${within})`,
    isOrdered: true,
    values: BATCH_EDGES.map((edge, i) => (edge === 0 ? "alone" : span(edge, i))),
    valuesIn: (p) => binned(BATCH_EDGES, facts.get(p)?.batch),
    predicate: (from, to) => {
      if (from === 1 && to >= BATCH_EDGES.length) return `were submitted within ${within} of another`;
      if (from === 0 && to === 1) return `have no other within ${within}`;
      const least = (n: number) => `are number ${n} or later of a batch`;
      return side(BATCH_EDGES, from, to, least, (n) => `are alone or among the first ${n - 1} of a batch`);
    },
  };
}

const FLIGHT_EDGES = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 4096];

function inFlight(facts: ReadonlyMap<Points, Neighbours>): Attribute {
  const name = (edge: number, i: number) => {
    const last = (FLIGHT_EDGES[i + 1] ?? Infinity) - 1;
    return last === edge ? String(edge) : last === Infinity ? `${count(edge)} and more` : `${count(edge)} to ${count(last)}`;
  };
  const others = (n: number) => `${count(n)} other${n === 1 ? "" : "s"}`;
  return {
    id: "in-flight",
    title: "others in flight at the submission",
    isOrdered: true,
    values: FLIGHT_EDGES.map(name),
    valuesIn: (p) => binned(FLIGHT_EDGES, facts.get(p)?.inFlight),
    predicate: (from, to) =>
      side(
        FLIGHT_EDGES,
        from,
        to,
        (n) => `were submitted while ${others(n)} or more were in flight`,
        (n) => (n === 1 ? "were submitted while no other was in flight" : `were submitted while fewer than ${others(n)} were in flight`),
      ),
  };
}

/** More different lengths than these are counted by powers of two. */
const MOST_SIZES = 16;

function size(blocks: readonly Points[]): Attribute {
  const edges = sizesOf(blocks);
  const isExact = edges.length <= MOST_SIZES;
  return {
    id: "size",
    title: "size",
    isOrdered: true,
    values: isExact ? edges.map(plainBytes) : ranges(edges, plainBytes),
    valuesIn: (p) => (i) => (isTransfer(p, i) ? binOf(edges, p.length[i]! * p.unit) : -1),
    predicate: (from, to) =>
      side(
        edges,
        from,
        to,
        (n) => `transfer ${plainBytes(n)}${isExact && to - from === 1 ? "" : " or more"}`,
        (n) => (isExact && to === 1 ? `transfer ${plainBytes(edges[0]!)}` : `transfer less than ${plainBytes(n)}`),
      ),
  };
}

function isTransfer(p: Points, i: number): boolean {
  return opOf(classOf(p.classes[i]!)) < 2;
}

/** All lengths where they are few, else powers of two. */
function sizesOf(blocks: readonly Points[]): number[] {
  const found = new Set<number>();
  let [least, most] = [Infinity, 0];
  for (const p of blocks) {
    for (let i = 0; i < p.n; i++) {
      if (!isTransfer(p, i)) continue;
      const bytes = p.length[i]! * p.unit;
      if (found.size <= MOST_SIZES) found.add(bytes);
      [least, most] = [Math.min(least, bytes), Math.max(most, bytes)];
    }
  }
  if (found.size <= MOST_SIZES) return [...found].sort((a, b) => a - b);
  const first = Math.floor(Math.log2(Math.max(least, 1)));
  return Array.from({ length: Math.floor(Math.log2(most)) - first + 1 }, (_, i) => 2 ** (first + i));
}

/** Parts of the places, at most. */
const PLACES = 32;

function place(blocks: readonly Points[]): Attribute {
  let most = 0;
  for (const p of blocks) for (let i = 0; i < p.n; i++) most = Math.max(most, p.place[i]! * p.unit);
  // A power of two, so that the edges are short.
  const part = 2 ** Math.max(0, Math.ceil(Math.log2((most + 1) / PLACES)));
  const edges = Array.from({ length: Math.floor(most / part) + 1 }, (_, i) => i * part);
  const write = (n: number) => (n === 0 ? "0" : plainBytes(n));
  return {
    id: "place",
    title: "place",
    isOrdered: true,
    values: ranges(edges, write),
    valuesIn: (p) => (i) => (isTransfer(p, i) ? Math.floor((p.place[i]! * p.unit) / part) : -1),
    predicate: (from, to) => side(edges, from, to, (n) => `begin at ${write(n)} or above`, (n) => `begin below ${write(n)}`),
  };
}
