/** Requests by duration over a part of x: what the marginals, the brush and the tables tell. */

import { addRange, type Pyramid } from "../model/pyramid";
import type { Rows } from "../model/rows";
import type { Classes, Range } from "../model/view";
import { FLUSH_CLASS } from "../format/classes";
import { durationOfCode } from "../format/points";

/** Counts by slot of the classes; absent where a class has nothing or is switched off. */
export type SlotCounts = readonly (Float64Array | undefined)[];

/** Whether a class (read, write, read-pushed, write-pushed, flush) is switched on. */
export function isOn(cls: number, on: Classes): boolean {
  if (cls === FLUSH_CLASS) return on.flush;
  return (cls & 1 ? on.write : on.read) && (cls < 2 || on.pushed);
}

/** Stored columns that touch a range. */
export function columnsOf(width: number, columns: number, [from, to]: Range): [begin: number, end: number] {
  return [Math.max(0, Math.floor(from / width)), Math.min(columns, Math.ceil(to / width))];
}

export function histogram(
  grid: readonly (Pyramid | undefined)[],
  width: number,
  range: Range,
  on: Classes,
): SlotCounts {
  return grid.map((p, cls) => {
    if (!p || !isOn(cls, on)) return undefined;
    const counts = new Float64Array(p.slots);
    const [begin, end] = columnsOf(width, p.levels[0]!.columns, range);
    addRange(p, begin, end, counts);
    return counts;
  });
}

export function totalOf(counts: Float64Array | undefined): number {
  return counts ? counts.reduce((a, b) => a + b, 0) : 0;
}

/** Reads and writes, each with those that were pushed back, and flushes. */
export function byOperation(
  counts: SlotCounts,
  slots: number,
): [reads: Float64Array, writes: Float64Array, flushes: Float64Array] {
  const add = (...classes: number[]) => {
    const into = new Float64Array(slots);
    for (const one of classes.map((cls) => counts[cls])) one?.forEach((n, slot) => (into[slot]! += n));
    return into;
  };
  return [add(0, 2), add(1, 3), add(FLUSH_CLASS)];
}

/** What part of a histogram is told in words. */
export interface Figures {
  readonly requests: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
  readonly max: number | undefined;
}

/** Percentiles to the width of a row, 3.7 %; nothing is longer than what is known to be the longest. */
export function figures(all: Float64Array, rows: Rows, longest = Infinity): Figures {
  return told(all, (slot) => Math.min(rows.middle(slot), longest));
}

/** Percentiles of single requests, counted by the codes of their durations: to 0.1 %. */
export function figuresOfCodes(all: Float64Array, longest = Infinity): Figures {
  return told(all, (code) => Math.min(durationOfCode(code), longest));
}

function told(all: Float64Array, value: (slot: number) => number): Figures {
  const requests = totalOf(all);
  const at = (share: number) => {
    if (requests === 0) return undefined;
    let left = Math.max(1, Math.ceil(requests * share));
    return value(all.findIndex((n) => (left -= n) <= 0));
  };
  return { requests, p50: at(0.5), p99: at(0.99), max: at(1) };
}
