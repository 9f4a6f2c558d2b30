/** Axes, and what else stands around a plot. No two texts overlap, whatever its size: rather there are fewer of them. */

import type { Box, Color, Painter, Point, TextStyle } from "./painter";
import { faded, type Palette } from "./palette";
import { LogScale, roundStep, multiples, type Scale } from "./scale";
import { count, moment, plainBytes, plainDuration, short } from "./units";

/** Size of ticks' labels and of everything else around a plot. */
export const LABEL_SIZE = 11;
const LINE_HEIGHT = 15;
const TICK = 4;
/** Between an axis and the labels below it, and between those left of it and the axis. */
const BELOW = 8;
const ASIDE = 7;
/** Between two labels in a line. */
const GAP = 10;
/** What labels below a plot need. */
const BELOW_LABELS = 24;
/** From one tick to the next, at least and about. */
const TICKS_EVERY_X = 70;
const LEAST_EVERY_X = 30;
const TICKS_EVERY_Y = 26;

/** A place on an axis with its words. */
export interface Tick {
  readonly at: number;
  readonly text: string;
}

function label(palette: Palette, more: Partial<TextStyle> = {}): TextStyle {
  return { size: LABEL_SIZE, color: palette.faint, ...more };
}

/** Where a label below the axis lies: inside the picture, even if its tick is at the edge. */
function extent(p: Painter, tick: Tick, style: TextStyle): [left: number, right: number] {
  const width = p.measure(tick.text, style);
  const left = Math.max(0, Math.min(tick.at - width / 2, p.width - width));
  return [left, left + width];
}

function overlap(p: Painter, ticks: readonly Tick[], style: TextStyle): boolean {
  const extents = ticks.map((tick) => extent(p, tick, style)).sort((a, b) => a[0] - b[0]);
  return extents.some(([left], i) => i > 0 && left < (extents[i - 1]?.[1] ?? 0) + GAP);
}

/** Whether all of them have room side by side. */
function fits(p: Painter, ticks: readonly Tick[], style: TextStyle): boolean {
  return !overlap(p, ticks, style) && ticks.every((tick) => p.measure(tick.text, style) <= p.width);
}

/** Every second, third, … label until all have room: regular, so that none seems to be missing. */
function thinned(p: Painter, ticks: readonly Tick[], style: TextStyle): readonly Tick[] {
  for (let stride = 1; stride < ticks.length; stride++) {
    const some = ticks.filter((_, i) => i % stride === 0);
    if (fits(p, some, style)) return some;
  }
  const first = ticks.slice(0, 1);
  return fits(p, first, style) ? first : [];
}

/** The axis below a box with ticks of one's own. */
export function bottomAxis(p: Painter, box: Box, palette: Palette, ticks: readonly Tick[]): void {
  const bottom = box.y + box.h;
  const style = label(palette, { baseline: "top" });
  p.line([[box.x, bottom], [box.x + box.w, bottom]], { color: palette.axis, width: 1 });
  for (const tick of ticks) p.line([[tick.at, bottom], [tick.at, bottom + TICK]], { color: palette.axis, width: 1 });
  for (const tick of thinned(p, ticks, style)) p.text(extent(p, tick, style)[0], bottom + BELOW, tick.text, style);
}

/** Labels left of a box, with a light line across it for each. */
export function leftAxis(p: Painter, box: Box, palette: Palette, ticks: readonly Tick[]): void {
  const style = label(palette, { align: "end", baseline: "middle" });
  for (const { at } of ticks) p.line([[box.x, at], [box.x + box.w, at]], { color: palette.grid, width: 1 });
  p.line([[box.x, box.y], [box.x, box.y + box.h]], { color: palette.axis, width: 1 });
  let last = Number.POSITIVE_INFINITY;
  for (const { at, text } of [...ticks].sort((a, b) => b.at - a.at)) {
    if (last - at < LINE_HEIGHT || p.measure(text, style) > box.x - ASIDE) continue;
    p.text(box.x - ASIDE, at, text, style);
    last = at;
  }
}

/** Least distance of two ticks along y. */
function tightest(ticks: readonly number[], scale: Scale): number {
  const at = ticks.map((value) => scale.at(value));
  return at.reduce((least, y, i) => (i === 0 ? least : Math.min(least, Math.abs(y - (at[i - 1] ?? y)))), Number.POSITIVE_INFINITY);
}

/** As many round values as have room for a label each. */
function roomyTicks(scale: Scale, height: number): number[] {
  for (let n = Math.max(3, Math.floor(height / TICKS_EVERY_Y)); n > 1; n--) {
    const ticks = scale.ticks(n);
    if (tightest(ticks, scale) >= LINE_HEIGHT) return ticks;
  }
  return scale.ticks(1);
}

export function valueAxis(p: Painter, box: Box, palette: Palette, scale: Scale, format: (value: number) => string): void {
  const ticks = roomyTicks(scale, box.h).map((value) => ({ at: scale.at(value), text: format(value) }));
  leftAxis(p, box, palette, ticks);
}

/** A logarithmic axis of durations. `yOf` is asked for places, so that it may keep room for what has none. */
export function durationAxis(
  p: Painter,
  box: Box,
  palette: Palette,
  yOf: (ns: number) => number,
  fromNs: number,
  toNs: number,
): void {
  const low = Math.max(1, fromNs);
  const scale = new LogScale(low, Math.max(low, toNs), yOf(low), yOf(Math.max(low, toNs)));
  const height = Math.abs(scale.at(scale.to) - scale.at(low));
  leftAxis(p, box, palette, roomyTicks(scale, height).map((ns) => ({ at: yOf(ns), text: plainDuration(ns) })));
}

/** Ticks of a logarithmic scale for `bottomAxis`: as many as have room for their labels. */
export function logTicks(p: Painter, scale: Scale, width: number, format: (value: number) => string): Tick[] {
  const ticks = (n: number) => scale.ticks(n).map((value) => ({ at: scale.at(value), text: format(value) }));
  let n = Math.max(1, Math.floor(width / LEAST_EVERY_X));
  while (n > 1 && overlap(p, ticks(n), { size: LABEL_SIZE, color: "" })) n--;
  return ticks(n);
}

/** Powers of two of bytes for `bottomAxis`: 4 KiB, 16 KiB … */
export function byteTicks(scale: Scale, width: number): Tick[] {
  const [low, high] = [Math.log2(scale.from), Math.log2(scale.to)];
  const stride = [1, 2, 5, 10, 20].find((s) => ((high - low) / s) * 58 <= width) ?? 20;
  const ticks = multiples(low, high, stride).map((power) => ({ at: scale.at(2 ** power), text: plainBytes(2 ** power) }));
  return ticks.length > 0 ? ticks : [{ at: scale.at(scale.from), text: plainBytes(scale.from) }];
}

const DAY = 86_400;
/** Steps of clocks in seconds, for runs whose moments are told in hours. */
const CLOCK_STEPS = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY];
const HOUR_NS = 3600e9;

/** The least step with which ticks are no closer than `least`. */
function firstStep(least: number, clock: boolean): number {
  const seconds = least / 1e9;
  if (!clock || seconds <= 20) return Math.max(1, roundStep(least));
  return (CLOCK_STEPS.find((s) => s >= seconds) ?? DAY * roundStep(seconds / DAY)) * 1e9;
}

/** The next coarser step. */
function coarser(step: number, clock: boolean): number {
  const seconds = step / 1e9;
  const next = clock && seconds >= 60 ? CLOCK_STEPS.find((s) => s > seconds * 1.001) : undefined;
  if (next !== undefined) return next * 1e9;
  if (clock && seconds >= DAY) return step * 2;
  return clock && seconds >= 20 && seconds < 60 ? 60e9 : roundStep(step * 1.5);
}

/** The unit in which all labels of an axis are told, and its length in nanoseconds. */
function timeUnit(ns: number): [factor: number, unit: string] {
  const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  return units.find(([factor]) => ns >= factor) ?? [1, "ns"];
}

function timeText(step: number, most: number): (ns: number) => string {
  if (most >= HOUR_NS) return (ns) => (ns === 0 ? "0" : clockText(ns, step));
  const [factor, unit] = timeUnit(most);
  const decimals = Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9));
  return (ns) => (ns === 0 ? "0" : `${(ns / factor).toFixed(decimals).replace("-", "−")} ${unit}`);
}

/** Hours also where there are none: the same form all along an axis. */
function clockText(ns: number, step: number): string {
  return ns > 0 && ns < HOUR_NS ? moment(ns + HOUR_NS, step).replace(/^1/, "0") : moment(ns, step);
}

/** Times, or numbers of requests, below a box whose left edge is at `fromNs` and whose right edge is at `toNs`. */
export function timeAxis(p: Painter, box: Box, palette: Palette, fromNs: number, toNs: number, unit: "time" | "number"): void {
  const style = label(palette, { baseline: "top" });
  const span = toNs - fromNs;
  const most = Math.max(Math.abs(fromNs), Math.abs(toNs));
  const clock = unit === "time" && most >= HOUR_NS;
  let step = firstStep(span / Math.max(1, box.w / TICKS_EVERY_X), clock);
  const ticksOf = (): Tick[] => {
    const format = unit === "time" ? timeText(step, most) : (n: number) => (box.w < 300 ? short(n) : count(n));
    const values = span > 0 ? multiples(fromNs, toNs, step) : [fromNs];
    return values.map((value) => ({ at: span > 0 ? box.x + ((value - fromNs) / span) * box.w : box.x, text: format(value) }));
  };
  let ticks = ticksOf();
  while (ticks.length > 1 && !fits(p, ticks, style)) {
    step = coarser(step, clock);
    ticks = ticksOf();
  }
  bottomAxis(p, box, palette, ticks);
}

/** A text that is no wider than there is room, cut with an ellipsis if it must be. */
export function fitted(p: Painter, text: string, style: TextStyle, width: number): string {
  if (p.measure(text, style) <= width) return text;
  let length = text.length;
  while (length > 0 && p.measure(`${text.slice(0, length)}…`, style) > width) length--;
  return length > 0 ? `${text.slice(0, length).trimEnd()}…` : "";
}

/** A line of the legend. */
export interface Key {
  readonly text: string;
  readonly color: Color;
  /** A filled square instead of a line. */
  readonly filled?: boolean;
  readonly width?: number;
  readonly dash?: readonly number[];
  /** Squares on the line. */
  readonly marked?: boolean;
}

const SWATCH = 20;
const SQUARE = 10;

/** A small square around a point: the second code of a line beside its colour. */
export function mark(p: Painter, [x, y]: Point, color: Color, size = 6): void {
  p.fill({ x: x - size / 2, y: y - size / 2, w: size, h: size }, color);
}

function swatch(p: Painter, x: number, y: number, key: Key): void {
  if (key.filled === true) {
    p.fill({ x, y: y - SQUARE / 2, w: SQUARE, h: SQUARE }, key.color);
    return;
  }
  const stroke = { color: key.color, width: key.width ?? 2 };
  p.line([[x, y], [x + SWATCH, y]], key.dash === undefined ? stroke : { ...stroke, dash: key.dash });
  if (key.marked === true) mark(p, [x + SWATCH / 2, y], key.color);
}

/** What a plot has around it. */
export interface Surroundings {
  readonly keys?: readonly Key[];
  /** Above the plot, what y is. */
  readonly y?: string;
  /** Below the labels, what x is. */
  readonly x?: string;
  /** Room for labels at the left. */
  readonly left?: number;
  readonly right?: number;
  /** Whether nothing stands below the plot. */
  readonly bare?: boolean;
}

/** Draws legend and titles of axes, and returns the plot inside. */
export function surround(p: Painter, box: Box, palette: Palette, around: Surroundings): Box {
  const left = box.x + (around.left ?? 58);
  const right = box.x + box.w - (around.right ?? 12);
  let top = legend(p, box, palette, around.keys ?? []);
  if (around.y !== undefined) {
    const style = label(palette, { baseline: "top" });
    p.text(box.x + 2, top, fitted(p, around.y, style, box.w - 4), style);
    top += LINE_HEIGHT;
  }
  top += LINE_HEIGHT / 2 + 1;
  let bottom = box.y + box.h - (around.bare === true ? BELOW : BELOW_LABELS);
  if (around.x !== undefined) {
    const style = label(palette, { align: "end", baseline: "top" });
    p.text(right, box.y + box.h - LINE_HEIGHT, fitted(p, around.x, style, right - box.x - 2), style);
    bottom -= LINE_HEIGHT;
  }
  return { x: left, y: top, w: Math.max(1, right - left), h: Math.max(1, bottom - top) };
}

/** Draws the keys in as many lines as they need and returns the y below them. */
function legend(p: Painter, box: Box, palette: Palette, keys: readonly Key[]): number {
  const style = label(palette, { color: palette.text, baseline: "middle" });
  let [x, y] = [box.x + 2, box.y + LINE_HEIGHT / 2];
  for (const key of keys) {
    const sample = key.filled === true ? SQUARE : SWATCH;
    const text = fitted(p, key.text, style, box.w - sample - 12);
    const width = sample + 5 + p.measure(text, style) + GAP + 4;
    if (x + width - GAP > box.x + box.w && x > box.x + 2) [x, y] = [box.x + 2, y + LINE_HEIGHT];
    swatch(p, x, y, key);
    p.text(x + sample + 5, y, text, style);
    x += width;
  }
  return keys.length > 0 ? y + LINE_HEIGHT / 2 + 4 : box.y;
}

/** A plot without anything in it says why. */
export function nothing(p: Painter, box: Box, palette: Palette, why: string): void {
  const style: TextStyle = { size: 12, color: palette.faint, align: "middle", baseline: "middle" };
  p.text(box.x + box.w / 2, box.y + box.h / 2, fitted(p, why, style, box.w - 8), style);
}

/** The line around a plot. */
export function outline(p: Painter, { x, y, w, h }: Box, color: Color): void {
  p.line([[x, y], [x + w, y], [x + w, y + h], [x, y + h], [x, y]], { color, width: 1 });
}

/** Words inside a plot: those that would lie upon others or reach out of it are left out. */
export class Words {
  private readonly placed: Box[] = [];

  constructor(
    private readonly p: Painter,
    private readonly inside: Box,
    private readonly palette: Palette,
  ) {}

  /** Keeps words away from a box. */
  reserve(box: Box): void {
    this.placed.push(box);
  }

  /** Puts a text with its middle left, or right, at a point; says whether there was room. */
  place(x: number, y: number, text: string, align: "start" | "end", color: Color = this.palette.text): boolean {
    const style: TextStyle = { size: LABEL_SIZE, color, align, baseline: "middle" };
    const w = this.p.measure(text, style);
    const box = { x: align === "start" ? x : x - w, y: y - LINE_HEIGHT / 2, w, h: LINE_HEIGHT };
    if (!within(box, this.inside) || this.placed.some((other) => touch(box, other))) return false;
    this.placed.push(box);
    // What lies behind must not make it illegible.
    this.p.fill({ ...box, x: box.x - 2, w: w + 4 }, faded(this.palette.panel, 0.8));
    this.p.text(x, y, text, style);
    return true;
  }
}

function within(box: Box, outer: Box): boolean {
  return box.x >= outer.x && box.y >= outer.y && box.x + box.w <= outer.x + outer.w && box.y + box.h <= outer.y + outer.h;
}

function touch(a: Box, b: Box): boolean {
  return a.x < b.x + b.w + 3 && b.x < a.x + a.w + 3 && a.y < b.y + b.h && b.y < a.y + a.h;
}

/** Whether a point lies in a box. */
export function contains(box: Box, x: number, y: number): boolean {
  return x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h;
}

/** The element whose place is nearest to a point, if it is no further than `most`. */
export function nearest<T>(items: readonly T[], place: (item: T) => number, at: number, most = Number.POSITIVE_INFINITY): T | undefined {
  let [best, distance]: [T | undefined, number] = [undefined, most];
  for (const item of items) {
    const d = Math.abs(place(item) - at);
    if (d <= distance) [best, distance] = [item, d];
  }
  return best;
}
