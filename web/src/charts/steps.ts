/** Numbers over time as steps: never smoothed, and no more of them than pixels. */

import type { PageRun } from "../format/page";
import type { RunData } from "../model/run-data";
import type { Range } from "../model/view";
import type { Box, Point } from "../render/painter";

/** Neighbouring columns, taken together by powers of two until each is a pixel wide. */
export interface Steps {
  readonly from: number;
  /** Nanoseconds that a step is wide. */
  readonly wide: number;
  readonly values: Float64Array;
}

export type Combine = (values: Float64Array, begin: number, end: number) => number;

export const sum: Combine = (values, begin, end) => {
  let total = 0;
  for (let i = begin; i < end; i++) total += values[i]!;
  return total;
};
export const most: Combine = (values, begin, end) => {
  let found = 0;
  for (let i = begin; i < end; i++) found = Math.max(found, values[i]!);
  return found;
};
export const least: Combine = (values, begin, end) => {
  let found = values[begin] ?? 0;
  for (let i = begin; i < end; i++) found = Math.min(found, values[i]!);
  return found;
};
export const middle: Combine = (values, begin, end) => {
  if (end - begin < 2) return values[begin] ?? 0;
  const sorted = values.slice(begin, end).sort();
  return sorted[sorted.length >> 1]!;
};

export function steps(values: Float64Array, width: number, [from, to]: Range, pixels: number, combine: Combine): Steps {
  const group = 2 ** Math.max(0, Math.ceil(Math.log2((to - from) / Math.max(pixels, 1) / width)));
  const wide = width * group;
  const first = Math.max(0, Math.floor(from / wide));
  const end = Math.max(first, Math.min(Math.ceil(to / wide), Math.ceil(values.length / group)));
  const found = new Float64Array(end - first);
  for (let i = 0; i < found.length; i++) {
    const begin = (first + i) * group;
    found[i] = combine(values, begin, Math.min(begin + group, values.length));
  }
  return { from: first * wide, wide, values: found };
}

/**
 * Sums become rates. The last step ends with the run, not with its column; where less than half of it is left, its rate is that of
 * the last two, because what completes at the very end would be divided by next to nothing.
 */
export function perSecond(s: Steps, endNs: number): Steps {
  const lengthOf = (i: number) => Math.min(s.wide, Math.max(endNs - (s.from + i * s.wide), 0));
  const values = s.values.map((n, i) => {
    const length = lengthOf(i);
    if (length >= s.wide / 2) return (n / length) * 1e9;
    return i > 0 ? ((s.values[i - 1]! + n) / (s.wide + length)) * 1e9 : (n / (s.wide / 2)) * 1e9;
  });
  return { ...s, values };
}

/** The value at a time. */
export function valueAt(s: Steps, ns: number): number | undefined {
  return s.values[Math.floor((ns - s.from) / s.wide)];
}

export function largest(...all: Steps[]): number {
  return all.reduce((a, s) => s.values.reduce((b, v) => Math.max(b, v), a), 0);
}

/** The outline of steps, left to right. */
export function outlineOf(s: Steps, box: Box, [from, to]: Range, yOf: (value: number) => number): Point[] {
  const points: Point[] = [];
  const x = (ns: number) => box.x + Math.min(Math.max((ns - from) / (to - from), 0), 1) * box.w;
  s.values.forEach((value, i) => {
    const y = yOf(value);
    if (i > 0 && s.values[i - 1] === value && points.length > 1)
      points[points.length - 1] = [x(s.from + (i + 1) * s.wide), y];
    else points.push([x(s.from + i * s.wide), y], [x(s.from + (i + 1) * s.wide), y]);
  });
  return points;
}

/** The area below steps. */
export function below(points: readonly Point[], base: number): Point[] {
  const [first, last] = [points[0], points.at(-1)];
  return first && last ? [[first[0], base], ...points, [last[0], base]] : [];
}

/** Sum of several series in steps, or undefined where none is decoded. */
export function added(
  data: RunData,
  run: PageRun,
  ids: readonly string[],
  range: Range,
  pixels: number,
): Steps | undefined {
  let total: Steps | undefined;
  for (const id of ids) {
    const one = stepsOf(data, run, id, range, pixels, sum);
    if (!one) continue;
    if (!total || total.values.length !== one.values.length) total = one;
    else one.values.forEach((v, i) => (total!.values[i]! += v));
  }
  return total;
}

export function stepsOf(
  data: RunData,
  run: PageRun,
  id: string,
  range: Range,
  pixels: number,
  combine: Combine,
): Steps | undefined {
  const series = run.series.find((s) => s.id === id);
  const values = data.numbers(id);
  return series && values && series.columns > 0 ? steps(values, series.width, range, pixels, combine) : undefined;
}
