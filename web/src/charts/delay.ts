/** How late requests were submitted, and how many were waiting. */

import { FAILED } from "../format/points";
import { delayNs } from "../model/point-store";
import { type Range, timeInQuestion } from "../model/view";
import { addRange } from "../model/pyramid";
import { slotBins } from "../render/density";
import { durationAxis, leftAxis, nothing, outline, timeAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { faded } from "../render/palette";
import { LogScale } from "../render/scale";
import { count, duration, moment, plainDuration, short } from "../render/units";
import { columnsIn, fill, shadesOf, show } from "./density-picture";
import { markFailed } from "./failed";
import { type Cell, figureCell, figureOf } from "./figures";
import { type Figures, figures, figuresOfCodes, totalOf } from "./histogram";
import { collapseLine, limitLine, sign, stalls } from "./marks";
import { axisTitle, BELOW, DASHED_B, type Drawn, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";
import { eachPoint, fewPoints, isOfSummary, isWhole, MOST_COUNTED, stampAll, wholeCells, words } from "./sonar";
import { largest, most, outlineOf, type Steps, stepsOf, valueAt } from "./steps";
import { visibleCounts } from "./visible-counts";

const GRID = "delay.due";
const ABOVE = 8;

export const DELAY: TimeChart = {
  id: "delay",
  title: "Delay behind the timetable, and requests that wait",
  height: 254,
  has: (run) => run.has_timetable && run.grids.some((g) => g.id === GRID),
  describe,
  table,
  draw,
  isFiltered: true,
  side,
  marksFailed: true,
};

/** Room below the delays for the number of waiting requests, and the gap above it. */
const WAITING = 84;
const GAP = 10;
/** Pixels from one label of its axis to the next. */
const LEAST_TICK = 16;

/** Below the rows there is room for those on time, this high in slots. */
const ON_TIME = 40;

/** Slots from the gutter of those on time to a little above the longest delay or the limit. */
function domain(scene: Scene): [low: number, high: number] {
  const known = scene.run.grids.find((g) => g.id === GRID);
  const grid = scene.data.grid(GRID);
  const counts = new Float64Array(scene.rows.slots);
  if (known && grid) for (const p of grid) if (p) addRange(p, 0, known.columns, counts);
  const last = counts.findLastIndex((n) => n > 0);
  const limits = scene.run.limits
    .filter((l) => l.of === "delay" && l.passed !== null)
    .map((l) => scene.rows.position(l.limit_ns));
  return [-ON_TIME, Math.min(Math.max(last + 12, 200, ...limits.map((l) => l + 20)), scene.rows.slots)];
}

function yOf(scene: Scene, box: Box): (ns: number) => number {
  const [low, high] = domain(scene);
  return (ns) =>
    box.y + ((high - (ns < scene.rows.begin(1) ? -ON_TIME / 2 : scene.rows.position(ns))) / (high - low)) * box.h;
}

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const whole = plotOf(p, ABOVE);
  const box = { ...whole, h: whole.h - WAITING };
  const lower = { ...whole, y: box.y + box.h + GAP, h: WAITING - GAP };
  const range = scene.view.time;
  const [low, high] = domain(scene);
  const at = yOf(scene, box);
  // No tick at the very low end: there stands “on time”.
  durationAxis(p, box, scene.palette, at, scene.rows.begin(1) * 2, scene.rows.duration(high));
  p.text(box.x - 7, box.y + box.h - 6, "on time", {
    size: 11,
    color: scene.palette.faint,
    align: "end",
    baseline: "middle",
  });
  axisTitle(p, box, scene.palette, "delay, log");
  const backlog = backlogOf(scene, scene, box.w);
  const dots = drawDots(p, box, scene, at);
  const lit = dots ?? drawDensity(p, box, scene, low, high);
  const position = (y: number) => Math.max(high - (y / box.h) * (high - low), 0.01);
  if (dots === undefined) markFailed(p, box, scene, GRID, range, position);
  p.clip(box, () => {
    stalls(p, box, scene, false);
    collapseLine(p, box, scene, false);
  });
  limitLine(p, box, scene, "delay", at);
  if (backlog) drawBacklog(p, lower, scene, backlog);
  timeAxis(p, whole, scene.palette, range[0], range[1], "time");
  timeTitle(p, whole, scene.palette, "due time since the start of the run");
  return { hover: hover(box, scene, backlog, low, high), lit };
}

/** Where single requests are at hand and few, they are drawn as such. */
function drawDots(p: Painter, box: Box, scene: Scene, at: (ns: number) => number): number | undefined {
  const range = scene.view.time;
  const blocks = fewPoints(scene, GRID, range);
  return blocks && stampAll(p, box, scene, blocks, "due", range, (points, i) => at(delayNs(points, i))).lit;
}

function drawDensity(p: Painter, box: Box, scene: Scene, low: number, high: number): number {
  const known = scene.run.grids.find((g) => g.id === GRID);
  const grid = scene.data.grid(GRID);
  if (!known || !grid) return 0;
  const pixels = Math.round(box.h * scene.ratio);
  const columns = columnsIn(box, scene.view.time, known.width, known.columns, scene.ratio);
  const slots = slotBins(pixels, scene.rows.slots, (y) => Math.max(high - (y / pixels) * (high - low), 0.01), true);
  const shades = shadesOf(scene, GRID);
  fill(grid, columns, slots, scene);
  return show(p, box, columns, slots, shades);
}

/** The most requests that waited at once, in each step. */
function backlogOf({ data, run }: Pick<Scene, "data" | "run">, { view }: Scene, pixels: number): Steps | undefined {
  return stepsOf(data, run, "waiting.most", view.time, pixels, most);
}

/** Below the delays, on an axis of its own: logarithmic, with room for none below one. */
function drawBacklog(p: Painter, box: Box, scene: Scene, s: Steps): void {
  const inB = scene.beside && backlogOf(scene.beside, scene, box.w);
  const peak = peakOf(scene, s);
  const top = Math.max(peak, inB ? largest(inB) : 0);
  outline(p, box, scene.palette.grid);
  if (top < 1) return nothing(p, box, scene.palette, "no request waited in this part of the time");
  axisTitle(p, box, scene.palette, "waiting, log");
  const scale = new LogScale(0.5, Math.max(top, 10) * 2, box.y + box.h, box.y);
  const ticks = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].filter((n) => n <= scale.to);
  const stride = Math.ceil((ticks.length * LEAST_TICK) / box.h);
  leftAxis(p, box, scene.palette, ticks.filter((_, i) => i % stride === 0).map((n) => ({ at: scale.at(n), text: short(n) })));
  const line = (of: Steps, dash?: readonly number[]) =>
    p.line(outlineOf(of, box, scene.view.time, (n) => scale.at(Math.max(n, 0.5))), { color: scene.palette.text, width: 1.5, ...(dash && { dash }) });
  p.clip(box, () => {
    line(s);
    if (inB) line(inB, DASHED_B);
  });
  sign(p, box, box.x + 6, box.y + 9, `waiting, up to ${count(peak)}`, scene.palette.text, scene.palette);
}

/** The most that waited: of the whole run as the summary has it. */
function peakOf(scene: Scene, s: Steps): number {
  const told = isWhole(scene) ? figureOf(scene.run, "waiting.max") : undefined;
  return told ?? largest(s);
}

function hover(box: Box, scene: Scene, backlog: Steps | undefined, low: number, high: number) {
  return (x: number, y: number) => {
    const [from, to] = scene.view.time;
    const ns = from + ((x - box.x) / box.w) * (to - from);
    const position = high - ((y - box.y) / box.h) * (high - low);
    const late = position < 1 ? "on time" : `delay ${duration(scene.rows.duration(position))}`;
    const queue = backlog && valueAt(backlog, ns);
    return `${moment(ns)} · ${late}${queue === undefined ? "" : ` · ${count(queue)} waiting`}`;
  };
}

function delays(scene: Scene): Float64Array | undefined {
  const found = visibleCounts(scene, GRID, "due", timeInQuestion(scene.view), delayNs);
  return found?.reads.map((n, i) => n + found.writes[i]! + found.flushes[i]!);
}

function side(p: Painter, _box: Box, scene: Scene): (x: number, y: number) => string | undefined {
  const box: Box = { x: 4, y: ABOVE, w: p.width - 8, h: Math.max(10, p.height - ABOVE - BELOW - WAITING) };
  const counts = delays(scene);
  if (!counts) return () => undefined;
  const [low, high] = domain(scene);
  const greatest = counts.reduce((a, n) => Math.max(a, n), 1);
  const unit = box.h / (high - low);
  p.line(
    [
      [box.x, box.y],
      [box.x, box.y + box.h],
    ],
    { color: scene.palette.axis, width: 1 },
  );
  counts.forEach((n, slot) => {
    if (n === 0 || slot >= high) return;
    const length = (Math.log1p(n) / Math.log1p(greatest)) * (box.w - 4);
    const bottom = slot === 0 ? low : slot;
    p.fill(
      { x: box.x, y: box.y + (high - slot - 1) * unit, w: length, h: Math.max((slot + 1 - bottom) * unit, 1) },
      faded(scene.palette.text, 0.45),
    );
  });
  const onTime = (counts[0] ?? 0) / Math.max(totalOf(counts), 1);
  p.text(box.x + 2, box.y + box.h + 6, `${(onTime * 100).toFixed(1)} % within 1 µs`, {
    size: 11,
    color: scene.palette.faint,
    baseline: "top",
  });
  return (_x, y) => {
    const slot = Math.max(0, Math.floor(high - (y - box.y) / unit));
    return slot >= counts.length
      ? undefined
      : `${count(counts[slot]!)} requests about ${words(scene.rows.middle(slot))} late`;
  };
}

/** Figures of the delay: of the whole run those of the summary; of a part from single requests, else from stored columns. */
interface DelayFigures extends Figures {
  /** Width of a stored column, where the ends are those of columns and times are as wide as rows. */
  readonly step?: number;
}

function partFigures(scene: Scene): DelayFigures | undefined {
  const range = timeInQuestion(scene.view);
  return figuresOfPoints(scene, range) ?? figuresOfColumns(scene);
}

function figuresOfColumns(scene: Scene): DelayFigures | undefined {
  const counts = delays(scene);
  const step = scene.run.grids.find((g) => g.id === GRID)?.width;
  return counts && step ? { ...figures(counts, scene.rows, longestOf(scene)), step } : undefined;
}

/** The longest delay of the run; a ramp is not in the summary. */
function longestOf({ run }: Scene): number {
  if (figureOf(run, "delay.all.count") !== run.completed) return Infinity;
  return figureOf(run, "delay.all.max_ns") ?? Infinity;
}

function figuresOfPoints(scene: Scene, [from, to]: Range): Figures | undefined {
  const { points } = scene.data;
  if (!points.isSure("due") || points.near("due", [from, to]) > MOST_COUNTED) return undefined;
  const blocks = points.get("due", [from, to]);
  if (!blocks) return undefined;
  const counts = new Float64Array(1 << 16);
  eachPoint(blocks, scene, [from, to], (p, i) => p.classes[i]! & FAILED || counts[p.delay[i]!]!++, "due");
  return figuresOfCodes(counts, longestOf(scene));
}

function describe(scene: Scene): string {
  const what = "Delay of requests behind their timetable";
  if (isOfSummary(scene, "delay.all.count") && !scene.view.brush) {
    const time = (name: string) => words(figureOf(scene.run, `delay.all.${name}`));
    const waiting = figureOf(scene.run, "waiting.max");
    const queue = waiting === undefined ? "" : ` Up to ${count(waiting)} waited at the same time.`;
    return `${what}: median ${time("p50_ns")}, at most ${time("max_ns")}.${queue}`;
  }
  const f = partFigures(scene);
  return f ? `${what}: median ${about(f, f.p50)}, at most ${about(f, f.max)} in sight.` : `${what}.`;
}

function about({ step }: DelayFigures, ns: number | undefined): string {
  return `${step && ns ? "≈ " : ""}${words(ns)}`;
}

function table(scene: Scene): Cell[][] {
  const head = ["Requests", "p50", "p99", "max"];
  if (isOfSummary(scene, "delay.all.count") && !scene.view.brush)
    return [
      ["The whole run", ...head],
      wholeCells(scene, "All", "delay.all"),
      ["Waiting at the same time, most", figureCell(scene.run, scene.index, "waiting.max", count), "–", "–", "–"],
    ];
  const f = partFigures(scene);
  if (!f) return [["Not decoded yet"]];
  const name = `${scene.view.brush ? "Brushed" : "In sight"}${f.step ? ` (in steps of ${plainDuration(f.step)})` : ""}`;
  return [[name, ...head], ["All", count(f.requests), about(f, f.p50), about(f, f.p99), about(f, f.max)]];
}
