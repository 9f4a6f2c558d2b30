/** Facts of each request that follow from the order of all requests: those before it, in flight with it, and on its place. */

import { FLUSH_CLASS } from "../format/classes";
import { classOf, type Points } from "../format/points";
import { latencyNs, slackOf, submittedNs } from "./point-store";

/** Longest time between two submissions of one batch. */
export const BATCH_NS = 100_000;

/** Where a request begins: where the request before it on the target ended, above it, below it. */
export const DIRECTIONS = ["in order", "forward", "backward"] as const;
/** Stands for requests to which a fact does not apply: a flush has no place. */
export const NO_FACT = 255;

/** Facts of the requests of a block, in its order. */
export interface Neighbours {
  /** Time since the submission of the request before; NaN for the first of all. */
  readonly gapNs: Float64Array;
  /** Position in a batch, from 1; 0 for a request alone. */
  readonly batch: Uint32Array;
  /** Requests that were submitted before and certainly not completed at the submission. */
  readonly inFlight: Uint32Array;
  /** Place in `DIRECTIONS`. */
  readonly direction: Uint8Array;
  /** 1 where a request before began at the same place of the same target. */
  readonly isReuse: Uint8Array;
}

/** A request of several blocks. */
interface Order {
  /** Blocks and places in them, by submission. */
  readonly block: Uint16Array;
  readonly place: Uint32Array;
}

/** Facts of all requests of some blocks. */
export function neighbours(blocks: readonly Points[]): Map<Points, Neighbours> {
  const all = blocks.map(({ n }): Neighbours => ({
    gapNs: new Float64Array(n),
    batch: new Uint32Array(n),
    inFlight: new Uint32Array(n),
    direction: new Uint8Array(n),
    isReuse: new Uint8Array(n),
  }));
  const order = bySubmission(blocks);
  times(blocks, order, all);
  places(blocks, order, all);
  return new Map(blocks.map((points, b) => [points, all[b]!]));
}

/** Blocks are sorted, and overlap little: they are merged in pairs. */
function bySubmission(blocks: readonly Points[]): Order {
  const at = ({ block, place }: Order, k: number) => submittedNs(blocks[block[k]!]!, place[k]!);
  let runs = blocks.map(({ n }, b): Order => ({
    block: new Uint16Array(n).fill(b),
    place: Uint32Array.from({ length: n }, (_, i) => i),
  }));
  while (runs.length > 1) {
    const merged: Order[] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(runs[i + 1] ? merge(runs[i]!, runs[i + 1]!, at) : runs[i]!);
    runs = merged;
  }
  return runs[0] ?? { block: new Uint16Array(0), place: new Uint32Array(0) };
}

function merge(a: Order, b: Order, at: (order: Order, k: number) => number): Order {
  const [n, m] = [a.place.length, b.place.length];
  const block = new Uint16Array(n + m);
  const place = new Uint32Array(n + m);
  for (let i = 0, j = 0, k = 0; k < n + m; k++) {
    const isFirst = j >= m || (i < n && at(a, i) <= at(b, j));
    const [from, of] = isFirst ? [a, i++] : [b, j++];
    block[k] = from.block[of]!;
    place[k] = from.place[of]!;
  }
  return { block, place };
}

/** Gaps, batches, and requests in flight: those submitted before, less those completed before. */
function times(blocks: readonly Points[], { block, place }: Order, all: readonly Neighbours[]): void {
  const n = place.length;
  const starts = new Float64Array(n);
  const ends = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    const [points, i] = [blocks[block[k]!]!, place[k]!];
    starts[k] = submittedNs(points, i);
    // Completions are exact to a step of the latency. The early end of the step counts: at depth 1 no other request is in flight.
    ends[k] = starts[k]! + Math.max(0, latencyNs(points, i) - slackOf(points, i, "completion"));
  }
  ends.sort();
  for (let k = 0, completed = 0, batch = 0; k < n; k++) {
    const [facts, i] = [all[block[k]!]!, place[k]!];
    const gap = k === 0 ? NaN : starts[k]! - starts[k - 1]!;
    while (completed < k && ends[completed]! <= starts[k]!) completed++;
    batch = gap <= BATCH_NS ? batch + 1 : 1;
    const isAlone = batch === 1 && !(k + 1 < n && starts[k + 1]! - starts[k]! <= BATCH_NS);
    facts.gapNs[i] = gap;
    facts.inFlight[i] = k - completed;
    facts.batch[i] = isAlone ? 0 : batch;
  }
}

function places(blocks: readonly Points[], { block, place }: Order, all: readonly Neighbours[]): void {
  let targets = 1;
  for (const { n, target } of blocks) for (let i = 0; i < n; i++) targets = Math.max(targets, target[i]! + 1);
  const ends = new Float64Array(targets).fill(NaN);
  const used = new KeySet(place.length);
  for (let k = 0; k < place.length; k++) {
    const [points, facts, i] = [blocks[block[k]!]!, all[block[k]!]!, place[k]!];
    const target = points.target[i]!;
    const begin = points.place[i]! * points.unit;
    if (classOf(points.classes[i]!) === FLUSH_CLASS) {
      facts.direction[i] = facts.isReuse[i] = NO_FACT;
      continue;
    }
    const before = ends[target]!;
    facts.direction[i] = Number.isNaN(before) ? NO_FACT : begin === before ? 0 : begin > before ? 1 : 2;
    facts.isReuse[i] = used.add(begin * targets + target) ? 0 : 1;
    ends[target] = begin + points.length[i]! * points.unit;
  }
}

/** Numbers from 0, in memory that does not grow: ten times faster than a `Set` of a million of them. */
class KeySet {
  private readonly keys: Float64Array;
  private readonly mask: number;

  constructor(most: number) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(2 * most, 2)));
    this.keys = new Float64Array(size).fill(-1);
    this.mask = size - 1;
  }

  /** Returns whether it was missing. */
  add(key: number): boolean {
    const low = key % 0x1_0000_0000;
    let at = (Math.imul(low | 0, 0x9e3779b1) ^ Math.imul((key - low) / 0x1_0000_0000, 0x85ebca6b)) >>> 0;
    for (at = (at ^ (at >>> 15)) & this.mask; this.keys[at] !== -1; at = (at + 1) & this.mask)
      if (this.keys[at] === key) return false;
    this.keys[at] = key;
    return true;
  }
}
