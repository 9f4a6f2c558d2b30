/** In which attributes the brushed requests differ from the others in sight. */

import { FAILED, EXCEPTIONAL, type Points } from "../format/points";
import { FilteredRun, type Kept } from "../model/filtered-run";
import { neighbours } from "../model/neighbours";
import { type Brush, type Range, xRange } from "../model/view";
import { count, plainPercent } from "../render/units";
import { type Attribute, attributesOf } from "./attributes";
import { ordinateOf, timeOf } from "./ordinate";
import type { Scene } from "./scene";
import { eachPoint, isWithin, MOST_COUNTED } from "./sonar";

/** Fewer requests inside or outside give no statement. */
export const FEWEST = 30;
/** Differences that chance exceeds in one of a thousand comparisons are named. */
const CHANCE = 0.001;

/** An attribute with its distribution inside and outside of the brush. */
export interface Difference {
  readonly attribute: Attribute;
  /** Shares of the values, 0 to 1. */
  readonly inside: Float64Array;
  readonly outside: Float64Array;
  /** Kolmogorov–Smirnov distance of ordered values, total variation of others: 0 to 1. */
  readonly distance: number;
  /** Whether the distance is larger than chance makes it. */
  readonly isCertain: boolean;
  readonly sentence: string;
}

export interface BubbleUp {
  /** Requests that were compared. */
  readonly inside: number;
  readonly outside: number;
  /** By distance, the largest first. */
  readonly differences: readonly Difference[];
  /** Sentences about what was compared, and what was not. */
  readonly notes: readonly string[];
}

/** A comparison, or the sentence why there is none. */
export function bubbleUp(scene: Scene, brush: Brush): BubbleUp | string {
  const { data } = scene;
  // Facts about neighbours are those among all requests.
  return data instanceof FilteredRun ? compared({ ...scene, data: data.whole }, brush, data.kept) : compared(scene, brush);
}

function compared(scene: Scene, brush: Brush, kept?: Kept): BubbleUp | string {
  const { points } = scene.data;
  if (points.isEmpty) return "The page has no single requests to compare: open the .trace file (report --side-car).";
  const { base } = scene.view;
  const range = union(xRange(scene.view), brush.x);
  const context = points.context(range);
  if (points.near(base, context) > MOST_COUNTED)
    return `More than ${count(MOST_COUNTED)} requests are in sight. Zoom in to compare them.`;
  const blocks = points.get(base, context);
  if (!blocks) return "Reading single requests …";
  const known = tablesOf(scene, blocks);
  const weight = points.isComplete ? () => 1 : weightOf(points.detail.one_of);
  const counted = countAll(scene, brush, blocks, range, known, weight, kept);
  const { inside, outside } = counted;
  if (inside.n < FEWEST || outside.n < FEWEST) return tooFew(inside.n, outside.n);
  const differences = known
    .flatMap(({ attribute }, a) => difference(attribute, inside.counts[a]!, outside.counts[a]!) ?? [])
    .sort((a, b) => b.distance - a.distance);
  return { inside: inside.n, outside: outside.n, differences, notes: notesOf(scene, points.isAll(blocks)) };
}

/** An attribute with the values of all requests: they are found once, and counted for each brush. */
export interface Table {
  readonly attribute: Attribute;
  readonly columns: ReadonlyMap<Points, Uint16Array>;
}

/** Stands for no value. */
const NONE = 0xffff;

const lastTables = new WeakMap<object, { readonly ordinate: string; readonly blocks: readonly Points[]; readonly tables: readonly Table[] }>();

/** The attributes of some blocks. */
export function tablesOf(scene: Scene, blocks: readonly Points[]): readonly Table[] {
  const { points } = scene.data;
  const ordinate = ordinateOf(scene);
  const last = lastTables.get(points);
  const isSame = last?.ordinate === ordinate && last.blocks.length === blocks.length && last.blocks.every((b, i) => b === blocks[i]);
  if (last && isSame) return last.tables;
  // The order of requests is known where none is missing between them.
  const facts = points.isComplete ? neighbours(blocks) : undefined;
  const tables = attributesOf(scene, blocks, facts, points.isAll(blocks)).map((attribute): Table => ({
    attribute,
    columns: new Map(blocks.map((block) => [block, columnOf(attribute, block)])),
  }));
  lastTables.set(points, { ordinate, blocks, tables });
  return tables;
}

function columnOf(attribute: Attribute, block: Points): Uint16Array {
  const value = attribute.valuesIn(block);
  const column = new Uint16Array(block.n);
  for (let i = 0; i < block.n; i++) {
    const found = value(i);
    column[i] = found < 0 ? NONE : found;
  }
  return column;
}

function union(a: Range, b: Range): Range {
  return [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
}

function tooFew(inside: number, outside: number): string {
  const what = inside < FEWEST ? `${count(inside)} selected` : `${count(outside)} other`;
  const remedy = inside < FEWEST ? "Select more" : "Zoom out, or select fewer";
  const isOne = (inside < FEWEST ? inside : outside) === 1;
  return `${what} request${isOne ? " is" : "s are"} too few to compare: at least ${FEWEST} selected and ${FEWEST} others are needed. ${remedy}.`;
}

function notesOf(scene: Scene, isWhole: boolean): string[] {
  const { detail, isComplete } = scene.data.points;
  if (isWhole) return [];
  if (isComplete) return ["Requests in flight and second uses are known only where all requests of the run are in sight."];
  return [
    `The page has ${count(detail.embedded)} of ${count(detail.requests)} requests: the exceptional ones and one of ${count(detail.one_of)} others, which count ${count(detail.one_of)} times.`,
    "Gaps, batches, requests in flight and second uses need all requests: open the .trace file.",
  ];
}

/** A request of a sample stands for several; an exceptional one is always in the page. */
function weightOf(oneOf: number): (flags: number) => number {
  return (flags) => (flags & EXCEPTIONAL ? 1 : oneOf);
}

/** Requests of one side of the brush. */
interface Side {
  /** Requests, without weights. */
  n: number;
  /** By attribute: weights by value, and at the end the sum of their squares. */
  readonly counts: readonly Counts[];
}

/** Weights by value. */
interface Counts {
  readonly values: Float64Array;
  /** Sum of the weights' squares, from which follows how much the counts are worth. */
  squares: number;
}

function countAll(
  scene: Scene,
  { x: [from, to], y }: Brush,
  blocks: readonly Points[],
  range: Range,
  known: readonly Table[],
  weight: (flags: number) => number,
  kept: Kept | undefined,
): { readonly inside: Side; readonly outside: Side } {
  const side = (): Side => ({
    n: 0,
    counts: known.map(({ attribute }) => ({ values: new Float64Array(attribute.values.length), squares: 0 })),
  });
  const sides = [side(), side()] as const;
  const time = timeOf(scene);
  for (const block of blocks) {
    const [requests, of] = [new Uint32Array(block.n), new Uint8Array(block.n)];
    const mask = kept?.get(block);
    let n = 0;
    eachPoint([block], scene, range, (points, i, at) => {
      if (mask?.[i] === 0) return;
      // As in all figures of latency, without the failed ones.
      if (points.classes[i]! & FAILED) return;
      const isInside = at >= from && at < to && (!y || isWithin(time(points, i), y));
      of[n] = isInside ? 0 : 1;
      requests[n++] = i;
      sides[of[n - 1]!]!.n++;
    });
    known.forEach(({ columns }, a) => {
      const column = columns.get(block)!;
      const [inside, outside] = sides.map(({ counts }) => counts[a]!) as [Counts, Counts];
      for (let k = 0; k < n; k++) {
        const value = column[requests[k]!]!;
        if (value === NONE) continue;
        const counts = of[k] === 0 ? inside : outside;
        const w = weight(block.classes[requests[k]!]!);
        counts.values[value]! += w;
        counts.squares += w * w;
      }
    });
  }
  return { inside: sides[0], outside: sides[1] };
}

/** Compares two distributions; absent where a side has too few values. */
export function difference(attribute: Attribute, inside: Counts, outside: Counts): Difference | undefined {
  const [a, b] = [shares(inside), shares(outside)];
  if (!a || !b || a.worth < FEWEST || b.worth < FEWEST) return undefined;
  const found = attribute.isOrdered ? ordered(a.shares, b.shares) : unordered(a.shares, b.shares);
  if (found.distance === 0) return undefined;
  const pooled = 1 / a.worth + 1 / b.worth;
  const expected = attribute.isOrdered ? 0 : meanOfChance(a.shares, b.shares, a.worth, b.worth);
  // Bounds of Dvoretzky, Kiefer and Wolfowitz, and of McDiarmid.
  const bound = Math.sqrt((Math.log((attribute.isOrdered ? 2 : 1) / CHANCE) / 2) * pooled);
  return {
    attribute,
    inside: a.shares,
    outside: b.shares,
    distance: found.distance,
    isCertain: found.distance > expected + bound,
    sentence: sentence(attribute, a.shares, b.shares, found.from, found.to),
  };
}

/** Shares, and of how many equal requests they are worth. */
function shares({ values, squares }: Counts): { readonly shares: Float64Array; readonly worth: number } | undefined {
  const sum = values.reduce((all, n) => all + n, 0);
  return sum > 0 ? { shares: values.map((n) => n / sum), worth: (sum * sum) / squares } : undefined;
}

/** What differs most: values from `from` up to but without `to`, more frequent inside than outside. */
interface Found {
  readonly distance: number;
  readonly from: number;
  readonly to: number;
}

/** The largest difference of the cumulated shares. */
function ordered(a: Float64Array, b: Float64Array): Found {
  let best: Found = { distance: 0, from: 0, to: a.length };
  let ahead = 0;
  for (let end = 1; end < a.length; end++) {
    ahead += a[end - 1]! - b[end - 1]!;
    if (Math.abs(ahead) <= best.distance + 1e-12) continue;
    best = ahead > 0 ? { distance: ahead, from: 0, to: end } : { distance: -ahead, from: end, to: a.length };
  }
  return best;
}

/** Half of the sum of the differences; the value that is most ahead stands for them. */
function unordered(a: Float64Array, b: Float64Array): Found {
  let [sum, most] = [0, 0];
  a.forEach((share, i) => {
    sum += Math.abs(share - b[i]!);
    if (share - b[i]! > a[most]! - b[most]!) most = i;
  });
  return { distance: sum / 2, from: most, to: most + 1 };
}

/** The total variation that two samples of one distribution have on average. */
function meanOfChance(a: Float64Array, b: Float64Array, n: number, m: number): number {
  const each = a.map((share, i) => {
    const p = (share * n + b[i]! * m) / (n + m);
    return Math.sqrt((2 / Math.PI) * p * (1 - p) * (1 / n + 1 / m));
  });
  return each.reduce((sum, x) => sum + x, 0) / 2;
}

function sentence({ predicate }: Attribute, a: Float64Array, b: Float64Array, from: number, to: number): string {
  const share = (of: Float64Array) => percentWords(of.subarray(from, to).reduce((sum, n) => sum + n, 0));
  return `${share(a)} of the selected requests ${predicate(from, to)}, ${share(b)} of the others.`;
}

/** Whole percent, unless that hides a rare value or its absence. */
export function percentWords(share: number): string {
  // Sums of shares miss 0 and 1 by less than this.
  const near = Math.abs(share) < 1e-9 ? 0 : Math.abs(share - 1) < 1e-9 ? 1 : share;
  return plainPercent(near > 0.01 && near < 0.99 ? Math.round(near * 100) / 100 : near);
}
