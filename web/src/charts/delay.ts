/** How late requests were submitted, and how many were waiting. */

import { FAILED } from "../format/points";
import { delayNs } from "../model/point-store";
import { type Range, timeInQuestion } from "../model/view";
import { addRange } from "../model/pyramid";
import { slotBins } from "../render/density";
import { durationAxis, timeAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { faded } from "../render/palette";
import { LogScale } from "../render/scale";
import { count, duration, moment } from "../render/units";
import { columnsIn, fill, shadesOf, show } from "./density-picture";
import { type Cell, figureOf } from "./figures";
import { byOperation, type Figures, figures, figuresOfCodes, histogram, totalOf } from "./histogram";
import { collapseLine, limitLine, stalls } from "./marks";
import { DASHED_B, type Drawn, plotOf, type Scene, type TimeChart } from "./scene";
import { eachPoint, fewPoints, isOfSummary, MOST_COUNTED, stampAll, wholeCells, words } from "./sonar";
import { largest, outlineOf, type Steps, stepsOf, sum, valueAt } from "./steps";

const GRID = "delay.due";
const ABOVE = 8;

export const DELAY: TimeChart = {
  id: "delay",
  title: "Delay behind the timetable",
  height: 160,
  has: (run) => run.has_timetable && run.grids.some((g) => g.id === GRID),
  describe,
  table,
  draw,
  side,
};

/** Below the rows there is room for those on time, this high in slots. */
const ON_TIME = 16;

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
  const box = plotOf(p, ABOVE);
  const range = scene.view.time;
  const [low, high] = domain(scene);
  const at = yOf(scene, box);
  // No tick at the very low end: there stands “on time”.
  durationAxis(p, box, scene.palette, at, scene.rows.begin(1) * 2, scene.rows.duration(high));
  p.text(box.x - 7, box.y + box.h - 5, "on time", {
    size: 11,
    color: scene.palette.faint,
    align: "end",
    baseline: "middle",
  });
  const backlog = backlogOf(scene, scene, box.w);
  const lit = drawDots(p, box, scene, at) ?? drawDensity(p, box, scene, low, high);
  p.clip(box, () => {
    stalls(p, box, scene, false);
    if (backlog) drawBacklog(p, box, scene, backlog);
    collapseLine(p, box, scene, false);
  });
  limitLine(p, box, scene, "delay", at);
  timeAxis(p, box, scene.palette, range[0], range[1], "time");
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

/** Requests that wait, on average over a step. */
function backlogOf({ data, run }: Pick<Scene, "data" | "run">, { view }: Scene, pixels: number): Steps | undefined {
  const s = stepsOf(data, run, "waiting.request-ns", view.time, pixels, sum);
  return s && { ...s, values: s.values.map((ns) => ns / s.wide) };
}

/** On its own logarithmic scale, told at its end. */
function drawBacklog(p: Painter, box: Box, scene: Scene, s: Steps): void {
  const top = largest(s);
  const inB = scene.beside && backlogOf(scene.beside, scene, box.w);
  const all = inB ? largest(s, inB) : top;
  if (all < 1) return;
  const scale = new LogScale(1, Math.max(all, 10) * 1.3, box.y + box.h, box.y);
  const line = (of: Steps, dash?: readonly number[]) => {
    const points = outlineOf(of, box, scene.view.time, (n) => scale.at(Math.max(n, 1)));
    p.line(points, { color: faded(scene.palette.background, 0.8), width: 4 });
    p.line(points, { color: scene.palette.text, width: 1.5, ...(dash && { dash }) });
  };
  line(s);
  if (inB) line(inB, DASHED_B);
  if (top < 1) return;
  const peak = s.values.indexOf(top);
  const x =
    box.x + ((s.from + (peak + 0.5) * s.wide - scene.view.time[0]) / (scene.view.time[1] - scene.view.time[0])) * box.w;
  const label = `${count(top)} waiting`;
  const style = { size: 11, color: scene.palette.text, baseline: "middle" } as const;
  const width = p.measure(label, style);
  const left = Math.min(Math.max(x - width / 2, box.x + 4), box.x + box.w - width - 4);
  const y = Math.max(scale.at(top) - 9, box.y + 8);
  p.fill({ x: left - 2, y: y - 7, w: width + 4, h: 14 }, faded(scene.palette.background, 0.85));
  p.text(left, y, label, style);
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
  const known = scene.run.grids.find((g) => g.id === GRID);
  const grid = scene.data.grid(GRID);
  if (!known || !grid) return undefined;
  const [reads, writes] = byOperation(histogram(grid, known.width, timeInQuestion(scene.view), scene.view.on), scene.rows.slots);
  return reads.map((n, i) => n + writes[i]!);
}

function side(p: Painter, _box: Box, scene: Scene): (x: number, y: number) => string | undefined {
  const box: Box = { x: 4, y: ABOVE, w: p.width - 8, h: p.height - ABOVE - 26 };
  const counts = delays(scene);
  if (!counts) return () => undefined;
  const [low, high] = domain(scene);
  const most = counts.reduce((a, n) => Math.max(a, n), 1);
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
    const length = (Math.log1p(n) / Math.log1p(most)) * (box.w - 4);
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
    return `${what}: median ${time("p50_ns")}, at most ${time("max_ns")}.`;
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
    return [["The whole run", ...head], wholeCells(scene, "All", "delay.all")];
  const f = partFigures(scene);
  if (!f) return [["Not decoded yet"]];
  const name = `${scene.view.brush ? "Brushed" : "In sight"}${f.step ? ` (in steps of ${duration(f.step)})` : ""}`;
  return [[name, ...head], ["All", count(f.requests), about(f, f.p50), about(f, f.p99), about(f, f.max)]];
}
