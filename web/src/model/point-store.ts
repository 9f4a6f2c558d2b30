/** Facts of requests: which blocks there are, which are decoded, and what is known about one request. */

import type { PointBlockText } from "../format/block";
import { opOf, OPS } from "../format/classes";
import type { PageBase, PageDetail } from "../format/page";
import { classOf, codeOfDuration, durationOfCode, EXCEPTIONAL, FAILED, type Points } from "../format/points";
import type { SideCar } from "../format/side-car";
import type { Decoder } from "./decoder";
import type { RequestFacts } from "./requests";
import type { Range } from "./view";

/** A request: block and place in it. */
export interface PointRef {
  readonly points: Points;
  readonly i: number;
}

interface Source {
  readonly n: number;
  readonly fromNs: number;
  readonly toNs: number;
  readonly read: () => Promise<PointBlockText>;
  points?: Points;
  state: "packed" | "asked" | "ready" | "bad";
}

/** Blocks of a side-car that stay decoded, 3 MB each. */
const KEPT_BLOCKS = 48;

/** Durations of all codes: a table is ten times faster than powers. */
const DURATIONS = Float64Array.from({ length: 1 << 16 }, (_, code) => durationOfCode(code));

export class PointStore {
  private sources: Source[];
  /** Whether there are all requests, not a sample. */
  isComplete: boolean;
  private isSideCar = false;

  constructor(
    readonly detail: PageDetail,
    blocks: readonly PointBlockText[],
    private readonly decoder: Decoder,
    private readonly onSkipped: (what: string) => void,
    private readonly onChange: () => void,
  ) {
    this.isComplete = detail.embedded === detail.requests && detail.one_of === 1;
    this.sources = blocks.map((block) => source(block.n, block.fromUs, block.toUs, () => Promise.resolve(block)));
  }

  /** A store of requests that are decoded already, and are all. */
  static of(detail: PageDetail, hasPlaces: boolean, blocks: readonly Points[]): PointStore {
    const store = new PointStore({ ...detail, has_places: hasPlaces }, [], {} as Decoder, () => undefined, () => undefined);
    store.sources = blocks.map((points) => ({
      ...source(points.n, points.fromUs, points.toUs, () => Promise.reject(new Error("it is decoded"))),
      points,
      state: "ready",
    }));
    return store;
  }

  /** From now on a side-car has all requests. */
  use(sideCar: SideCar): void {
    this.sources = sideCar.blocks.map((b, i) => source(b.n, b.from_us, b.to_us, () => sideCar.read(i)));
    this.isComplete = true;
    this.isSideCar = true;
    this.onChange();
  }

  /** Whether the blocks for a range certainly hold all of its requests. */
  isSure(base: PageBase): boolean {
    return this.isComplete && !this.isEmpty && !(this.isSideCar && (base === "due" || base === "completion"));
  }

  /** Whether lengths, places and workers are told: in a page for the sonar alone they are not, in a side-car always. */
  get hasPlaces(): boolean {
    return this.detail.has_places || this.isSideCar;
  }

  /** The range whose blocks hold the neighbours of the requests in `range`: everything where it is in the page. */
  context(range: Range): Range {
    return this.isSideCar ? range : [-Infinity, Infinity];
  }

  /** Whether some blocks hold every request of the run. */
  isAll(blocks: readonly Points[]): boolean {
    return this.isComplete && blocks.reduce((sum, { n }) => sum + n, 0) === this.detail.requests;
  }

  get isEmpty(): boolean {
    return this.sources.length === 0;
  }

  /** Requests in blocks that may have a part of the range. */
  near(base: PageBase, range: Range): number {
    return this.touching(base, range).reduce((sum, s) => sum + s.n, 0);
  }

  /** Decoded blocks for a range, or undefined while some of them are not; those are then asked for. */
  get(base: PageBase, range: Range): Points[] | undefined {
    const wanted = this.touching(base, range);
    for (const s of wanted) if (s.state === "packed") void this.load(s);
    if (wanted.some((s) => s.state === "asked" || s.state === "packed")) return undefined;
    if (this.isSideCar) this.forget(wanted);
    return wanted.flatMap((s) => (s.points ? [s.points] : []));
  }

  /** The same, when they are there. */
  async fetch(base: PageBase, range: Range): Promise<Points[]> {
    const wanted = this.touching(base, range);
    await Promise.all(wanted.map((s) => (s.state === "packed" || s.state === "asked" ? this.load(s) : undefined)));
    return wanted.flatMap((s) => (s.points ? [s.points] : []));
  }

  /** A request by its number, where its block is in the page or the side-car. */
  async find(number: number): Promise<PointRef | undefined> {
    const everything: Range = [-Infinity, Infinity];
    for (const points of await this.fetch("start", everything)) {
      const i = points.number.indexOf(number);
      if (i >= 0) return { points, i };
    }
    return undefined;
  }

  /** All decoded blocks. */
  get decoded(): Points[] {
    return this.sources.flatMap((s) => (s.points ? [s.points] : []));
  }

  get isDecoded(): boolean {
    return this.sources.every((s) => s.state === "ready");
  }

  /** Only submissions are known before a block is decoded: on another axis each block may have a part. */
  private touching(base: PageBase, [from, to]: Range): Source[] {
    if (base !== "start") return this.isSideCar && base !== "number" ? this.around([from, to]) : this.sources;
    return this.sources.filter((s) => s.toNs >= from && s.fromNs <= to);
  }

  /** A side-car has too many blocks to take all: those within a minute, which longer latencies and delays leave. */
  private around([from, to]: Range): Source[] {
    return this.sources.filter((s) => s.toNs >= from - 60e9 && s.fromNs <= to + 60e9);
  }

  private async load(s: Source): Promise<void> {
    s.state = "asked";
    try {
      s.points = await this.decoder.points(await s.read());
      s.state = "ready";
    } catch (error) {
      s.state = "bad";
      this.onSkipped(`requests: ${error instanceof Error ? error.message : String(error)}`);
    }
    this.onChange();
  }

  private forget(wanted: readonly Source[]): void {
    const others = this.sources.filter((s) => s.state === "ready" && !wanted.includes(s));
    for (const s of others.slice(0, Math.max(0, others.length + wanted.length - KEPT_BLOCKS))) {
      delete s.points;
      s.state = "packed";
    }
  }
}

function source(n: number, fromUs: number, toUs: number, read: () => Promise<PointBlockText>): Source {
  return { n, fromNs: fromUs * 1000, toNs: toUs * 1000, read, state: "packed" };
}

export function submittedNs(p: Points, i: number): number {
  return (p.fromUs + p.submitted[i]!) * 1000;
}

export function latencyNs(p: Points, i: number): number {
  return DURATIONS[p.latency[i]!]!;
}

/** Due to completion. */
export function responseNs(p: Points, i: number): number {
  return DURATIONS[p.delay[i]!]! + DURATIONS[p.latency[i]!]!;
}

export function delayNs(p: Points, i: number): number {
  return DURATIONS[p.delay[i]!]!;
}

/** Place on the axis of a base. */
export function xOf(p: Points, i: number, base: PageBase): number {
  if (base === "number") return p.number[i]!;
  const submitted = submittedNs(p, i);
  if (base === "start") return submitted;
  return base === "due" ? Math.max(0, submitted - DURATIONS[p.delay[i]!]!) : submitted + latencyNs(p, i);
}

/** Places in a block between which all requests of a range lie, and perhaps others. */
export function span(p: Points, base: PageBase, [from, to]: Range): [begin: number, end: number] {
  if (base === "number") return [0, p.n];
  const { delay, latency } = longest(p);
  const first = from - (base === "completion" ? latency : 0);
  const last = to + (base === "due" ? delay : 0);
  const at = (ns: number, inclusive: boolean) => {
    const us = ns / 1000 - p.fromUs;
    let [low, high] = [0, p.n];
    while (low < high) {
      const middle = (low + high) >> 1;
      const value = p.submitted[middle]!;
      if (inclusive ? value <= us : value < us) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [at(first, false), at(last, true)];
}

const known = new WeakMap<Points, { readonly delay: number; readonly latency: number }>();

/** The longest delay and latency in a block: so far may submissions be from the place on another axis. */
function longest(p: Points): { readonly delay: number; readonly latency: number } {
  let found = known.get(p);
  if (!found) {
    const most = (codes: Uint16Array) => DURATIONS[codes.reduce((a, b) => Math.max(a, b), 0)]! * 1.002;
    known.set(p, (found = { delay: most(p.delay), latency: most(p.latency) }));
  }
  return found;
}

/** How far from its true place a request may be: durations are told in steps of 0.2 %, submissions in microseconds. */
export function slackOf(p: Points, i: number, base: PageBase): number {
  if (base === "start" || base === "number") return 0;
  const ns = base === "due" ? delayNs(p, i) : latencyNs(p, i);
  return 1000 + ns * 0.001;
}

/** The most of it in some blocks. */
export function slack(blocks: readonly Points[], base: PageBase): number {
  if (base === "start" || base === "number") return 0;
  return 1000 + 0.001 * Math.max(0, ...blocks.map((p) => longest(p)[base === "due" ? "delay" : "latency"]));
}

export function factsOf({ points: p, i }: PointRef): RequestFacts {
  const flags = p.classes[i]!;
  const cls = classOf(flags);
  const [submitted, latency, delay] = [submittedNs(p, i), latencyNs(p, i), DURATIONS[p.delay[i]!]!];
  return {
    number: p.number[i]!,
    target: p.target[i]!,
    worker: p.worker[i]!,
    pass: p.pass[i]!,
    op: OPS[opOf(cls)],
    pushed: cls === 2 || cls === 3,
    failed: (flags & FAILED) !== 0,
    exceptional: (flags & EXCEPTIONAL) !== 0,
    dueNs: Math.max(0, submitted - delay),
    submittedNs: submitted,
    latencyNs: latency,
    delayNs: delay,
    completedNs: submitted + latency,
    offsetBytes: p.place[i]! * p.unit,
    lengthBytes: p.length[i]! * p.unit,
  };
}

/** How many requests took longer, and how many were in flight at a submission. */
export function standing(blocks: readonly Points[], facts: RequestFacts): { rank: number; inFlightThen: number } {
  const code = codeOfDuration(facts.latencyNs);
  let [slower, inFlight] = [0, 0];
  for (const p of blocks) {
    for (let i = 0; i < p.n; i++) {
      if (p.latency[i]! > code) slower++;
      const submitted = submittedNs(p, i);
      if (submitted < facts.submittedNs && submitted + latencyNs(p, i) > facts.submittedNs) inFlight++;
    }
  }
  return { rank: slower + 1, inFlightThen: inFlight };
}
