/** What is shown: which part of which axis, which classes, and how. Plain data; every change makes a new one. */

import type { PageBase } from "../format/page";

export type Range = readonly [from: number, to: number];
export type Transfer = "log" | "equal" | "linear";
export type Shown = "both" | "A" | "B" | "difference";
export type Ordinate = "response" | "latency";
export type Theme = "light" | "dark";

export interface Classes {
  readonly read: boolean;
  readonly write: boolean;
  readonly pushed: boolean;
  readonly flush: boolean;
}

export interface View {
  /** Nanoseconds on the run's clock. */
  readonly time: Range;
  /** Requests, where the columns are numbers. */
  readonly number: Range;
  /** Durations in nanoseconds. */
  readonly y: Range;
  readonly base: PageBase;
  /** What the durations of the sonar are. */
  readonly ordinate: Ordinate;
  readonly on: Classes;
  readonly yLinear: boolean;
  readonly transfer: Transfer;
  /** Whether dots are drawn where there are few requests. */
  readonly dots: boolean;
  /** Whether very few requests are bars instead. */
  readonly bars: boolean;
  readonly shown: Shown;
  readonly rate: "requests" | "bytes";
  /** Number of the picked request. */
  readonly picked?: number | undefined;
  /** Its run: 0 is A, as is absent. */
  readonly pickedIn?: number | undefined;
  /** Absent: as the system says. */
  readonly theme?: Theme | undefined;
  /** The brushed part, on the axis of the base. */
  readonly brush?: Range | undefined;
  /** The brushed durations in nanoseconds; absent: all. */
  readonly brushY?: Range | undefined;
  /** Only requests with all of these values are shown; absent: all requests. */
  readonly only?: readonly Only[] | undefined;
  /** Notes of readers, which the link carries. */
  readonly notes?: readonly Note[] | undefined;
}

/** A value of an attribute, both by their names. */
export interface Only {
  readonly attribute: string;
  readonly value: string;
}

/** A note on a part of the time in nanoseconds, with one line of text. */
export interface Note {
  readonly time: Range;
  readonly text: string;
}

/** `view` with one more condition, in place of another one on the attribute. */
export function withOnly(view: View, only: Only): View {
  const others = (view.only ?? []).filter(({ attribute }) => attribute !== only.attribute);
  return { ...view, only: [...others, only] };
}

/** `view` without a condition. */
export function withoutOnly(view: View, { attribute }: Only): View {
  const left = (view.only ?? []).filter((only) => only.attribute !== attribute);
  return { ...view, only: left.length > 0 ? left : undefined };
}

/** A brushed rectangle: a part of the x axis, and durations; without them all. */
export interface Brush {
  readonly x: Range;
  readonly y?: Range | undefined;
}

export function brushOf({ brush, brushY }: View): Brush | undefined {
  return brush && { x: brush, y: brushY };
}

/** How far one can go. */
export interface Bounds {
  readonly time: Range;
  readonly number: Range;
  readonly y: Range;
}

/** The shortest range that can be shown. */
const LEAST = { time: 2000, number: 4 };
const LEAST_FACTOR = 1.2;

/** The range along x. */
export function xRange(view: View): Range {
  return view.base === "number" ? view.number : view.time;
}

/** The part of the time that figures tell about: what is brushed, else what is in sight. */
export function timeInQuestion({ brush, base, time }: View): Range {
  return brush && base !== "number" ? brush : time;
}

export function xBounds(view: View, bounds: Bounds): Range {
  return view.base === "number" ? bounds.number : bounds.time;
}

export function withX(view: View, range: Range, bounds: Bounds): View {
  const axis = view.base === "number" ? "number" : "time";
  return { ...view, [axis]: within(range, bounds[axis], LEAST[axis]) };
}

/** Zooms by a factor; what lies at `at` stays where it is. */
export function zoomX(view: View, bounds: Bounds, at: number, factor: number): View {
  const [a, b] = xRange(view);
  return withX(view, [at - (at - a) * factor, at + (b - at) * factor], bounds);
}

/** Moves by a share of what is shown. */
export function panX(view: View, bounds: Bounds, share: number): View {
  const [a, b] = xRange(view);
  const by = (b - a) * share;
  return withX(view, [a + by, b + by], bounds);
}

export function withY(view: View, range: Range, bounds: Bounds): View {
  const logs = within(logarithms(range), logarithms(bounds.y), Math.log(LEAST_FACTOR));
  return { ...view, y: [Math.exp(logs[0]), Math.exp(logs[1])] };
}

/** Zooms the durations, which are logarithmic. */
export function zoomY(view: View, bounds: Bounds, at: number, factor: number): View {
  const [a, b] = logarithms(view.y);
  const fixed = Math.log(Math.max(at, 1));
  return withY(view, [Math.exp(fixed - (fixed - a) * factor), Math.exp(fixed + (b - fixed) * factor)], bounds);
}

export function panY(view: View, bounds: Bounds, share: number): View {
  const [a, b] = logarithms(view.y);
  const by = (b - a) * share;
  return withY(view, [Math.exp(a + by), Math.exp(b + by)], bounds);
}

function logarithms([a, b]: Range): Range {
  return [Math.log(Math.max(a, 1)), Math.log(Math.max(b, 1))];
}

/** A range inside others: it is moved before it is cut. */
export function within([a, b]: Range, [low, high]: Range, least: number): Range {
  const length = Math.min(Math.max(b - a, least), high - low);
  const middle = (a + b) / 2;
  const from = b - a < least ? middle - least / 2 : a;
  const begin = Math.min(Math.max(from, low), high - length);
  return [begin, begin + length];
}

/** Whether both show the same part; only such changes make a step of the history. */
export function samePlace(a: View, b: View): boolean {
  const same = (p: Range, q: Range) => p[0] === q[0] && p[1] === q[1];
  return a.base === b.base && same(a.time, b.time) && same(a.number, b.number) && same(a.y, b.y);
}

/** Views that were looked at, to go back and forth. */
export class History {
  private past: View[] = [];
  private future: View[] = [];

  /** Remembers a view that is being left. */
  leave(view: View): void {
    const last = this.past.at(-1);
    if (last && samePlace(last, view)) return;
    this.past.push(view);
    if (this.past.length > 200) this.past.shift();
    this.future = [];
  }

  back(now: View): View | undefined {
    return History.step(this.past, this.future, now);
  }

  forward(now: View): View | undefined {
    return History.step(this.future, this.past, now);
  }

  private static step(from: View[], to: View[], now: View): View | undefined {
    let view = from.pop();
    while (view && samePlace(view, now)) view = from.pop();
    if (view) to.push(now);
    return view && { ...now, base: view.base, time: view.time, number: view.number, y: view.y };
  }
}
