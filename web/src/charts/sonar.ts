/** The sonar: each request over time and latency, as density or, where there are few, as dots. */

import type { PageBase, PageGrid } from "../format/page";
import { CLASSES, opOf, OPS } from "../format/classes";
import { classOf, codeOfDuration, FAILED, type Points } from "../format/points";
import type { ClassPyramids } from "../model/run-data";
import { latencyNs, slack, slackOf, span, submittedNs, xOf } from "../model/point-store";
import type { Rows } from "../model/rows";
import { type Brush, type Range, xBounds, xRange } from "../model/view";
import { type ColumnBins, type SlotBins, slotBins } from "../render/density";
import { dotSize, DotSheet, FAILED_STAMP, MOST_DOTS, stamps } from "../render/dots";
import { durationAxis, timeAxis, valueAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { rgb } from "../render/palette";
import { LinearScale } from "../render/scale";
import { count, counted, duration, moment, plainDuration } from "../render/units";
import { cells, brush, columnsIn, fill, shadesOf, show } from "./density-picture";
import { barsOf, drawBars } from "./bars";
import { failedOf, markFailed } from "./failed";
import { type Cell, figureCell, figureOf } from "./figures";
import { byOperation, columnsOf, type Figures, figures, figuresOfCodes, histogram, isOn, type SlotCounts, totalOf } from "./histogram";
import { collapseLine, heldCurves, limitLine, MARKS, passMarks, stalls } from "./marks";
import { gridIdOf, MEANINGS, ORDINATE_WORDS, ordinateOf, timeOf } from "./ordinate";
import { axisTitle, type Drawn, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";

/** Points that are counted on the fly, at most: 40 ms on a small machine. */
export const MOST_COUNTED = 2_000_000;

export const BASE_WORDS = {
  start: "submission",
  due: "intended start",
  completion: "completion",
  number: "request number",
} as const;

export function gridOf(scene: Scene): PageGrid | undefined {
  const id = gridIdOf(scene);
  return scene.run.grids.find((g) => g.id === id);
}

/** From durations to pixels, with places for what lies below and above all rows. */
export interface YScale {
  /** Slot (with fractions) at a pixel below the top. */
  readonly position: (y: number) => number;
  readonly yOf: (ns: number) => number;
  readonly invert: (y: number) => number;
}

export function yScale(scene: Scene, box: Box): YScale {
  const { rows, view } = scene;
  const [low, high] = view.y;
  const inside = (ns: number) => Math.min(Math.max(ns, rows.duration(0.5)), rows.duration(rows.slots - 0.5));
  if (view.yLinear) {
    const scale = new LinearScale(0, high, box.y + box.h, box.y);
    const position = (y: number) => rows.position(Math.max(scale.invert(box.y + y), rows.duration(0)));
    return { position, yOf: (ns) => scale.at(inside(ns)), invert: (y) => Math.max(0, scale.invert(y)) };
  }
  const [bottom, top] = [rows.position(low), rows.position(high)];
  const position = (y: number) => top - (y / box.h) * (top - bottom);
  const yOf = (ns: number) => box.y + ((top - rows.position(inside(ns))) / (top - bottom)) * box.h;
  return { position, yOf, invert: (y) => rows.duration(position(y - box.y)) };
}

export function slotsIn(scene: Scene, box: Box, scale: YScale): SlotBins {
  const pixels = Math.max(1, Math.round(box.h * scene.ratio));
  return slotBins(pixels, scene.rows.slots, (y) => scale.position((y / pixels) * box.h), !scene.view.yLinear);
}

export function drawDurations(p: Painter, box: Box, scene: Scene, scale: YScale): void {
  const { rows, view, palette } = scene;
  if (view.yLinear) {
    valueAxis(p, box, palette, new LinearScale(0, view.y[1], box.y + box.h, box.y), plainDuration);
    return;
  }
  durationAxis(
    p,
    box,
    palette,
    scale.yOf,
    Math.max(view.y[0], rows.begin(1)),
    Math.min(view.y[1], rows.begin(rows.slots - 1)),
  );
}

export const SONAR: TimeChart = {
  id: "sonar",
  title: "Latency of completed requests",
  height: 454,
  has: (run) => run.grids.some((g) => g.id.startsWith("latency.") && g.totals.some((n) => n > 0)),
  describe: describe,
  table: table,
  draw: draw,
  isFiltered: true,
  marksFailed: true,
};

/** Where the plot lies in a panel: the shell needs it for pointers. */
export const SONAR_ABOVE = MARKS + 4;

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const box = plotOf(p, SONAR_ABOVE);
  const scale = yScale(scene, box);
  const range = xRange(scene.view);
  const isTime = scene.view.base !== "number";
  const ordinate = ordinateOf(scene);
  const bars = barsOf(scene, gridIdOf(scene), box.h);
  if (!bars) drawDurations(p, box, scene, scale);
  axisTitle(p, box, scene.palette, bars ? "single requests" : `${ordinate}${scene.view.yLinear ? "" : ", log"}`);
  let drawn: Drawn = { hover: () => undefined };
  p.clip(box, () => {
    if (isTime) stalls(p, box, scene, false);
    drawn = bars ? drawBars(p, box, scene, bars) : drawRequests(p, box, scene, scale, range);
    if (bars) return;
    // Dots have marks of their own for failed requests.
    if (drawn.mode !== "dots" && gridOf(scene)) {
      drawn = { ...drawn, failed: markFailed(p, box, scene, gridIdOf(scene), range, scale.position) };
    }
    if (scene.view.base === (ordinate === "latency" ? "start" : "due")) heldCurves(p, box, scene, scale.yOf);
  });
  if (isTime) {
    p.clip({ x: box.x, y: 0, w: box.w, h: box.y + box.h }, () => {
      stallTicks(p, box, scene);
      passMarks(p, box, scene, true);
      collapseLine(p, box, scene, true);
    });
  }
  // The limit is one of latency.
  if (ordinate === "latency" && !bars) limitLine(p, box, scene, "latency", scale.yOf);
  timeAxis(p, box, scene.palette, range[0], range[1], isTime ? "time" : "number");
  timeTitle(p, box, scene.palette, bars ? "time since the start of the run" : isTime ? `time of ${BASE_WORDS[scene.view.base]} since the start of the run` : "number of the request");
  return bars ? drawn : { ...drawn, hover: hover(scene, box, scale) };
}

function stallTicks(p: Painter, box: Box, scene: Scene): void {
  stalls(p, { ...box, h: 0 }, scene, true);
}

function drawRequests(p: Painter, box: Box, scene: Scene, scale: YScale, range: Range): Drawn {
  const none: Drawn = { hover: () => undefined };
  const known = gridOf(scene);
  const grid = known && scene.data.grid(known.id);
  if (!known || !grid) return { ...none, note: known ? "decoding …" : "there are no counts for this time base" };
  const columns = columnsIn(box, range, known.width, known.columns, scene.ratio);
  const slots = slotsIn(scene, box, scale);
  if (scene.other) return drawDifference(p, box, scene, known, columns);
  // Asking for shades counts the whole grid, in the same cells.
  const shades = shadesOf(scene, known.id);
  fill(grid, columns, slots, scene);
  const requests = cells.total();
  const pixelsPerColumn = known.width / ((range[1] - range[0]) / columns.ofPixel.length);
  const fine = drawPoints(p, box, scene, scale, slots, range, requests, pixelsPerColumn);
  if (fine) return fine;
  const lit = show(p, box, columns, slots, shades);
  const drawn: Drawn = { ...none, requests, lit, mode: "density", level: columns.level };
  if (pixelsPerColumn <= 2) return drawn;
  return { ...drawn, note: drawExceptional(p, box, scene, scale, range, known.width) };
}

/** Requests of a strip over intended starts, where they are all at hand and few enough to be dots. */
export function fewPoints(scene: Scene, grid: string, range: Range): readonly Points[] | undefined {
  const { points } = scene.data;
  const width = scene.run.grids.find((g) => g.id === grid)?.width ?? scene.run.seek?.width ?? 0;
  const pyramids = scene.data.grid(grid);
  if (!scene.view.dots || !points.isComplete || points.isEmpty || !pyramids) return undefined;
  const requests = histogram(pyramids, width, range, scene.view.on).reduce((sum, counts) => sum + totalOf(counts), 0);
  return requests < MOST_DOTS ? points.get("due", range) : undefined;
}

/** Single requests instead of counts, where all of them are at hand and the counts are too coarse or few. */
function drawPoints(
  p: Painter,
  box: Box,
  scene: Scene,
  scale: YScale,
  slots: SlotBins,
  range: Range,
  requests: number,
  perColumn: number,
): Drawn | undefined {
  const { points } = scene.data;
  const { base, dots } = scene.view;
  if (!dots || !points.isComplete || points.isEmpty) return undefined;
  const wantsDots = requests < MOST_DOTS;
  if (!wantsDots && (perColumn <= 1 || points.near(base, range) > MOST_COUNTED)) return undefined;
  const blocks = points.get(base, range);
  if (!blocks) return undefined;
  if (wantsDots) return drawDots(p, box, scene, scale, blocks, range);
  return countPoints(p, box, scene, slots, blocks, range);
}

/** Counts requests into columns as wide as a pixel. */
function countPoints(
  p: Painter,
  box: Box,
  scene: Scene,
  slots: SlotBins,
  blocks: readonly Points[],
  range: Range,
): Drawn {
  const columns = columnsIn(box, range, (range[1] - range[0]) / Math.round(box.w * scene.ratio), 1, 1);
  const width = Math.round(box.w * scene.ratio);
  const each: ColumnBins = {
    ...columns,
    level: 0,
    first: 0,
    count: width,
    ofPixel: Int32Array.from({ length: width }, (_, x) => x),
  };
  const perPixel = (range[1] - range[0]) / width;
  const shades = shadesOf(scene, gridIdOf(scene));
  const time = timeOf(scene);
  cells.reset(width, slots.count);
  eachPoint(blocks, scene, range, (points, i, x) => {
    // As in the stored columns: what failed has marks of its own.
    if (points.classes[i]! & FAILED) return;
    const row = slots.ofSlot[scene.rows.slotOf(time(points, i))]!;
    const column = Math.floor((x - range[0]) / perPixel);
    if (row >= 0 && column >= 0 && column < width) cells.add(classOf(points.classes[i]!), column, row);
  });
  const requests = cells.total();
  const lit = show(p, box, each, slots, shades);
  return { hover: () => undefined, requests, lit, mode: "counted", level: 0 };
}

function drawDots(p: Painter, box: Box, scene: Scene, scale: YScale, blocks: readonly Points[], range: Range): Drawn {
  const time = timeOf(scene);
  const place = (points: Points, i: number) => scale.yOf(time(points, i));
  const { requests, lit } = stampAll(p, box, scene, blocks, scene.view.base, range, place);
  return { hover: () => undefined, requests, lit, mode: "dots", level: 0 };
}

/** Stamps a dot for each request whose place is in the box: first they are counted, as few of them are drawn larger. */
export function stampAll(
  p: Painter,
  box: Box,
  scene: Scene,
  blocks: readonly Points[],
  base: PageBase,
  range: Range,
  yOf: (points: Points, i: number) => number,
): { requests: number; lit: number } {
  const { ratio } = scene;
  const isInside = (y: number) => y >= box.y - 0.5 && y <= box.y + box.h + 0.5;
  let requests = 0;
  eachPoint(blocks, scene, range, (points, i) => (requests += isInside(yOf(points, i)) ? 1 : 0), base);
  if (requests === 0 || requests > MOST_DOTS) return { requests, lit: 0 };
  const sheet = new DotSheet(Math.round(box.w * ratio), Math.round(box.h * ratio));
  const kinds = stamps(scene.palette, dotSize(requests, ratio), ratio);
  const perPixel = (range[1] - range[0]) / (box.w * ratio);
  const stamp = (points: Points, i: number, x: number) => {
    const y = yOf(points, i);
    const flags = points.classes[i]!;
    if (isInside(y))
      sheet.put((x - range[0]) / perPixel, (y - box.y) * ratio, kinds[flags & FAILED ? FAILED_STAMP : classOf(flags)]!);
  };
  eachPoint(blocks, scene, range, stamp, base);
  p.image(box, sheet.pixels);
  return { requests, lit: sheet.lit };
}

/** Over counts that are stretched: what is known of single requests, and a sentence about the rest. */
function drawExceptional(
  p: Painter,
  box: Box,
  scene: Scene,
  scale: YScale,
  range: Range,
  width: number,
): string | undefined {
  const { points } = scene.data;
  const finest = scene.view.base === "number" ? `${count(width)} requests` : plainDuration(width);
  const { one_of, side_car } = points.detail;
  if (points.isComplete && !points.isEmpty) return scene.view.dots ? "reading single requests …" : undefined;
  const blocks = points.get(scene.view.base, range);
  const time = timeOf(scene);
  const place = (of: Points, i: number) => scale.yOf(time(of, i));
  const found = blocks ? stampAll(p, box, scene, blocks, scene.view.base, range, place).requests : 0;
  const dots = found > 0 ? `; dots: exceptional requests and one of ${count(one_of)} others` : "";
  const file = side_car === null ? "a .trace file (report --side-car)" : "the .trace file";
  return `finest stored column ${finest}${dots}; drop ${file} here to go deeper`;
}

/** Calls `use` for each request of classes that are switched on, near the range. */
export function eachPoint(
  blocks: readonly Points[],
  scene: Scene,
  range: Range,
  use: (points: Points, i: number, x: number) => void,
  base: PageBase = scene.view.base,
): void {
  const { on } = scene.view;
  const shown = CLASSES.map((_, cls) => isOn(cls, on));
  for (const points of blocks) {
    const [begin, end] = span(points, base, range);
    for (let i = begin; i < end; i++) {
      if (!shown[classOf(points.classes[i]!)]) continue;
      const x = base === "start" ? submittedNs(points, i) : xOf(points, i, base);
      if (x >= range[0] && x <= range[1]) use(points, i, x);
    }
  }
}

/** Pixels of a cell in which two runs are compared: as few as leave enough requests in it. */
const POOLED = [4, 8, 16];
const ENOUGH = 20;

/** More in B is orange, more in A purple, grey what may be chance. */
function drawDifference(p: Painter, box: Box, scene: Scene, known: PageGrid, fine: ColumnBins): Drawn {
  const [a, b] = [scene.data.grid(known.id), scene.other?.grid(known.id)];
  if (!a || !b) return { hover: () => undefined, note: "decoding …" };
  const factor = total(scene.run.completed) / total(scene.meta.runs[1]?.completed ?? 0);
  for (const pooled of POOLED) {
    const coarse = { ...scene, ratio: scene.ratio / pooled };
    const columns = columnsIn(box, xRange(scene.view), known.width, known.columns, coarse.ratio);
    const slots = slotsIn(coarse, box, yScale(scene, box));
    const requests = countBoth(a, b, columns, slots, scene);
    if (requests.perCell < ENOUGH && pooled !== POOLED.at(-1)) continue;
    const { pixels, lit } = brush.paint(cells, columns, slots, (x, y) => differenceColor(scene, x, y * factor));
    p.image(box, pixels);
    return {
      hover: () => undefined,
      requests: requests.all,
      lit: lit * pooled * pooled,
      mode: "density",
      level: fine.level,
    };
  }
  return { hover: () => undefined };
}

/** Fills the cells with A in the place of reads and B in the place of writes. */
function countBoth(
  a: ClassPyramids,
  b: ClassPyramids,
  columns: ColumnBins,
  slots: SlotBins,
  scene: Scene,
): { all: number; perCell: number } {
  fill(a, columns, slots, scene);
  const before = summed();
  fill(b, columns, slots, scene);
  const after = summed();
  cells.reset(columns.count, slots.count);
  let [all, used] = [0, 0];
  before.forEach((n, i) => {
    const both = n + after[i]!;
    if (both === 0) return;
    all += both;
    used++;
    cells.put(0, i, n);
    cells.put(1, i, after[i]!);
  });
  return { all, perCell: all / Math.max(used, 1) };
}

function total(n: number): number {
  return Math.max(n, 1);
}

function summed(): Uint32Array {
  return Uint32Array.from({ length: cells.columns * cells.rows }, (_, i) => cells.requests(i));
}

const PURPLE = { light: "#542788", dark: "#b2abe8" };
const ORANGE = { light: "#b35806", dark: "#fdb863" };

function differenceColor(scene: Scene, a: number, b: number): number {
  const theme = scene.palette.dark ? "dark" : "light";
  const z = Math.abs(b - a) / Math.sqrt(a + b);
  const ground = rgb(scene.palette.background);
  if (z < 2) return pack(ground.map((c, i) => c + (rgb(scene.palette.faint)[i]! - c) * 0.35));
  const strength = 0.4 + 0.6 * Math.min(Math.abs(Math.log2((b + 0.5) / (a + 0.5))) / 3, 1);
  const to = rgb(b > a ? ORANGE[theme] : PURPLE[theme]);
  return pack(ground.map((c, i) => c + (to[i]! - c) * strength));
}

function pack([red = 0, green = 0, blue = 0]: number[]): number {
  return ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
}

/** Time (and wall clock) and latency under the pointer. */
function hover(scene: Scene, box: Box, scale: YScale) {
  return (x: number, y: number) => {
    if (x < box.x || x > box.x + box.w || y < box.y || y > box.y + box.h) return undefined;
    const [from, to] = xRange(scene.view);
    const at = from + ((x - box.x) / box.w) * (to - from);
    return `${whereWords(scene, at, (to - from) / box.w)} · ${duration(scale.invert(y))}`;
  };
}

/** A place on the x axis; `step` is what a pixel stands for. */
export function whereWords(scene: Scene, at: number, step: number): string {
  if (scene.view.base === "number") return `request ${count(at)}`;
  return `${moment(at, Math.min(step, 1e7))}${wallClock(scene, at)}`;
}

export function wallClock(scene: Scene, ns: number): string {
  const begin = scene.run.started_unix_us;
  if (begin === null) return "";
  const date = new Date(begin / 1000 + ns / 1e6);
  const two = (n: number) => String(n).padStart(2, "0");
  return ` (${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())})`;
}

/** Figures of what is in sight or brushed. */
export interface SonarFigures {
  /** What was counted, from the first end up to but without the second. */
  readonly range: Range;
  /** Durations that were counted, where not all were. */
  readonly y?: Range | undefined;
  /** Width of a stored column, where the ends had to be moved to edges of columns. */
  readonly step?: number;
  /** Whether no request is so near to an end that it may lie on the other side. */
  readonly isExact: boolean;
  readonly classes: readonly number[];
  readonly read: Figures;
  readonly write: Figures;
  readonly flush: Figures;
  /** Reads and writes. */
  readonly all: Figures;
}

const CODES = 1 << 16;
const lastFigures = new WeakMap<object, { readonly key: string; readonly found: SonarFigures }>();

/** From single requests where all of them are at hand, else from the stored columns. */
export function sonarFigures(scene: Scene, { x: range, y }: Brush, mostCounted = MOST_COUNTED): SonarFigures | undefined {
  const { points } = scene.data;
  const { base } = scene.view;
  const isAtHand = points.isSure(base) && points.near(base, range) <= mostCounted;
  const blocks = isAtHand ? points.get(base, range) : undefined;
  // A damaged block would be missing without a word.
  if (!blocks || blocks.reduce((n, b) => n + b.n, 0) < points.near(base, range)) return figuresOfGrid(scene, range, y);
  const key = JSON.stringify([base, ordinateOf(scene), range, y, scene.view.on, blocks.length]);
  const known = lastFigures.get(points);
  if (known?.key === key) return known.found;
  const found = figuresOfPoints(scene, range, y, blocks);
  lastFigures.set(points, { key, found });
  return found;
}

function figuresOfPoints(scene: Scene, range: Range, y: Range | undefined, blocks: readonly Points[]): SonarFigures {
  const { base } = scene.view;
  const [from, to] = range;
  // The end of the run belongs to it.
  const end = to >= xBounds(scene.view, scene.bounds)[1] ? Infinity : to;
  const classes = CLASSES.map(() => 0);
  const counts = OPS.map(() => new Float64Array(CODES)) as [Float64Array, Float64Array, Float64Array];
  const most = slack(blocks, base);
  const time = timeOf(scene);
  const isLatency = time === latencyNs;
  let unsure = 0;
  eachPoint(blocks, scene, [from - most, to + most], (points, i, x) => {
    // As in the stored columns, only what succeeded.
    if (points.classes[i]! & FAILED) return;
    if (y && !isWithin(time(points, i), y)) return;
    const near = slackOf(points, i, base);
    if (near > 0 && (Math.abs(x - from) < near || Math.abs(x - end) < near)) unsure++;
    if (x < from || x >= end) return;
    const cls = classOf(points.classes[i]!);
    classes[cls]!++;
    counts[opOf(cls)][isLatency ? points.latency[i]! : codeOfDuration(time(points, i))]!++;
  });
  const [reads, writes, flushes] = counts;
  const of = (counts: Float64Array) => figuresOfCodes(counts, longestOf(scene));
  return {
    range,
    y,
    isExact: unsure === 0,
    classes,
    read: of(reads),
    write: of(writes),
    flush: figuresOfCodes(flushes),
    all: of(reads.map((n, i) => n + writes[i]!)),
  };
}

export function isWithin(ns: number, [from, to]: Range): boolean {
  return ns >= from && ns < to;
}

function figuresOfGrid(scene: Scene, range: Range, y: Range | undefined): SonarFigures | undefined {
  const known = gridOf(scene);
  const grid = known && scene.data.grid(known.id);
  if (!known || !grid) return undefined;
  const counts = histogram(grid, known.width, range, scene.view.on);
  const [begin, end] = columnsOf(known.width, known.columns, range);
  const rows = y && cutTo(counts, scene.rows, y);
  const [reads, writes, flushes] = byOperation(counts, scene.rows.slots);
  const of = (counts: Float64Array) => figures(counts, scene.rows, longestOf(scene));
  return {
    range: [begin * known.width, Math.min(end * known.width, xBounds(scene.view, scene.bounds)[1])],
    y: rows,
    step: known.width,
    isExact: true,
    classes: counts.map(totalOf),
    read: of(reads),
    write: of(writes),
    flush: figures(flushes, scene.rows),
    all: of(reads.map((n, i) => n + writes[i]!)),
  };
}

/** Leaves only the rows that touch some durations; returns what these rows cover. */
function cutTo(counts: SlotCounts, rows: Rows, [from, to]: Range): Range {
  const [first, last] = [rows.slotOf(from), rows.slotOf(to)];
  // A row that begins at the end has nothing of the range.
  const end = rows.begin(last) >= to ? last : last + 1;
  for (const of of counts) of?.fill(0, 0, first).fill(0, end);
  return [rows.begin(first), end >= rows.slots ? Infinity : rows.begin(end)];
}

/** The longest time of the run, by the summary. It leaves out what belongs to a ramp, and then does not bind. */
function longestOf(scene: Scene): number {
  const { run } = scene;
  const figure = (name: string) => figureOf(run, `${ordinateOf(scene)}.${name}`);
  const counted = (figure("all.count") ?? 0) + (figure("flush.count") ?? 0);
  if (counted !== run.completed) return Infinity;
  return figure("all.max_ns") ?? Infinity;
}

/** A brush to the digits in which it is told, so that what is said is what was counted. */
export function told(scene: Scene, { x: [from, to], y }: Brush): { readonly brush: Brush; readonly step: number } {
  const least = scene.view.base === "number" ? 1 : 1e3;
  const step = Math.min(Math.max(10 ** Math.floor(Math.log10((to - from) / 1000)), least), least === 1 ? 1 : 1e6);
  const begin = Math.round(from / step) * step;
  const x: Range = [begin, Math.max(Math.round(to / step) * step, begin + step)];
  return { brush: { x, y: y && [toDigits(y[0]), toDigits(y[1])] }, step };
}

/** Three significant digits of a duration, in whole nanoseconds. */
function toDigits(ns: number): number {
  return Math.round(Number(ns.toPrecision(3)));
}

function describe(scene: Scene): string {
  const bandWords = (op: string) => {
    const found = scene.run.bands.filter((b) => b.op === op && b.share >= 0.02);
    if (found.length === 0) return "";
    const peaks = found.map((b) => duration(b.peak_ns)).join(", ");
    return ` ${op === "read" ? "Reads" : "Writes"} mostly about ${peaks}.`;
  };
  const held = scene.run.findings.filter((f) => f.kind === "stall").length;
  const end = scene.run.findings.find((f) => f.kind === "collapse" && f.range);
  const stallWords = held > 0 ? ` ${held} ${held === 1 ? "stall" : "stalls"}.` : "";
  const endWords = end?.range ? ` Collapse at ${moment(end.range.from_ns)}.` : "";
  const over = scene.view.base === "number" ? "number" : "time";
  const failed = failedOf(scene);
  const failedWords = failed > 0 ? ` ${counted(failed, "failed request")} marked by crosses.` : "";
  const ordinate = ordinateOf(scene);
  const bands = ordinate === "latency" ? bandWords("read") + bandWords("write") : "";
  return `${ORDINATE_WORDS[ordinate]} (${MEANINGS[ordinate]}) of ${count(scene.run.completed)} requests over ${over}.${bands}${stallWords}${endWords}${failedWords}`;
}

/** A row of the summary's figures, for the whole run. */
export function wholeCells({ run, index }: Scene, name: string, path: string): Cell[] {
  const times = ["p50_ns", "p99_ns", "max_ns"].map((figure) => figureCell(run, index, `${path}.${figure}`, duration));
  return [name, figureCell(run, index, `${path}.count`, count), ...times];
}

/** Whether nothing but the whole run is asked for, so that the summary has the figures. */
export function isOfSummary(scene: Scene, path: string): boolean {
  const { read, write, pushed } = scene.view.on;
  return isWhole(scene) && read && write && pushed && figureOf(scene.run, path) !== undefined;
}

function table(scene: Scene): Cell[][] {
  const of = ordinateOf(scene);
  const title = ORDINATE_WORDS[of];
  if (isOfSummary(scene, `${of}.all.count`)) return [
    [`${title}, the whole run`, "Requests", "p50", "p99", "max"],
    wholeCells(scene, "Reads", `${of}.read`),
    wholeCells(scene, "Writes", `${of}.write`),
    wholeCells(scene, "All", `${of}.all`),
    ...(figureOf(scene.run, `${of}.flush.count`) === undefined ? [] : [wholeCells(scene, "Flushes", `${of}.flush`)]),
  ];
  const found = sonarFigures(scene, told(scene, { x: xRange(scene.view) }).brush);
  if (!found) return [["Not decoded yet"]];
  const head = `${title}, in sight${found.step ? ` (in steps of ${stepWords(scene, found.step)})` : ""}`;
  return [
    [head, "Requests", "p50", "p99", "max"],
    figureCells("Reads", found, found.read),
    figureCells("Writes", found, found.write),
    figureCells("All", found, found.all),
    ...(found.flush.requests > 0 ? [figureCells("Flushes", found, found.flush)] : []),
  ];
}

export function isWhole({ view, bounds }: Scene): boolean {
  const [[from, to], [a, b]] = [xRange(view), xBounds(view, bounds)];
  return from <= a && to >= b;
}

export function stepWords(scene: Scene, step: number): string {
  return scene.view.base === "number" ? `${count(step)} requests` : plainDuration(step);
}

/** A row of figures; what is only known roughly says so. */
export function figureCells(name: string, found: SonarFigures, f: Figures): string[] {
  const times = [f.p50, f.p99, f.max].map((ns) => roughly(found, ns));
  return [name, `${found.isExact ? "" : "≈ "}${count(f.requests)}`, ...times];
}

/** Rows are 3.7 % wide. */
export function roughly({ step }: SonarFigures, ns: number | undefined): string {
  return `${step && ns ? "≈ " : ""}${words(ns)}`;
}

export function words(ns: number | undefined): string {
  return ns === undefined ? "–" : ns === 0 ? "< 1 µs" : duration(ns);
}
