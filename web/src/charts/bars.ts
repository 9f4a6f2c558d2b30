/** Few requests in the sonar: a bar for each, due – submitted – completed, packed into rows by target or worker. */

import { opOf } from "../format/classes";
import { classOf, FAILED, type Points } from "../format/points";
import { delayNs, latencyNs, type PointRef, slackOf, span, submittedNs } from "../model/point-store";
import { type Range, xRange } from "../model/view";
import { MOST_DOTS } from "../render/dots";
import type { Box, Color, Painter, Point } from "../render/painter";
import { faded } from "../render/palette";
import { count, duration, moment } from "../render/units";
import { histogram, isOn, totalOf } from "./histogram";
import type { Drawn, Scene } from "./scene";

/** More requests than these in sight are dots. */
export const MOST_BARS = 300;
/** Rows are at most so high, and at least so high where waiting is drawn. */
const HIGHEST_ROW = 22;
const LOWEST_ROW = 3;
/** Between two groups. */
const GROUP_GAP = 16;

/** A request with its row. */
interface Bar extends PointRef {
  readonly due: number;
  readonly submitted: number;
  readonly completed: number;
  readonly cls: number;
  readonly isFailed: boolean;
  row: number;
}

/** Bars of one target or worker. */
interface Group {
  readonly name: string | undefined;
  readonly bars: readonly Bar[];
  readonly rows: number;
}

export interface Bars {
  readonly groups: readonly Group[];
  /** Whether rows have room for the time before the submission. */
  readonly hasWaiting: boolean;
  readonly number: number;
}

/** The bars of a view; absent where there are too many, or where not all requests are at hand. */
export function barsOf(scene: Scene, grid: string, height: number): Bars | undefined {
  const { view, data, run } = scene;
  const { points } = data;
  if (!view.bars || !view.dots || view.base === "number" || scene.other || !points.isComplete || points.isEmpty) return undefined;
  const range = xRange(view);
  const known = run.grids.find((g) => g.id === grid);
  const pyramids = known && data.grid(grid);
  if (!known || !pyramids) return undefined;
  // Before single requests are read: whole columns may have more than what is in sight.
  const about = histogram(pyramids, known.width, range, view.on).reduce((sum, counts) => sum + totalOf(counts), 0);
  if (about > MOST_DOTS) return undefined;
  const blocks = points.get("completion", range);
  const found = blocks && inSight(blocks, scene, range);
  return found && found.length > 0 ? packed(found, scene, range, height) : undefined;
}

/** Requests in flight at any time of a range; absent where they are too many. */
function inSight(blocks: readonly Points[], scene: Scene, range: Range): Bar[] | undefined {
  const found: Bar[] = [];
  for (const points of blocks) {
    const [[begin], [, end]] = [span(points, "completion", range), span(points, "start", range)];
    for (let i = begin; i < end; i++) {
      const flags = points.classes[i]!;
      const cls = classOf(flags);
      if (!isOn(cls, scene.view.on)) continue;
      const submitted = submittedNs(points, i);
      const completed = submitted + latencyNs(points, i);
      if (submitted > range[1] || completed < range[0]) continue;
      if (found.length === MOST_BARS) return undefined;
      const due = scene.run.has_timetable ? Math.max(0, submitted - delayNs(points, i)) : submitted;
      found.push({ points, i, due, submitted, completed, cls, isFailed: (flags & FAILED) !== 0, row: 0 });
    }
  }
  return found;
}

function packed(all: readonly Bar[], scene: Scene, range: Range, height: number): Bars {
  const groups = grouped(all, scene);
  const room = height - GROUP_GAP * groups.length;
  const pack = (hasWaiting: boolean) => groups.map(({ name, bars }) => ({ name, bars, rows: rowsOf(bars, range, hasWaiting) }));
  const wide = pack(true);
  const rows = wide.reduce((sum, group) => sum + group.rows, 0);
  if (rows * LOWEST_ROW <= room) return { groups: wide, hasWaiting: true, number: all.length };
  return { groups: pack(false), hasWaiting: false, number: all.length };
}

/** By target where there are several, else by worker where they are known, else all together. */
function grouped(all: readonly Bar[], { run, data }: Scene): { name: string | undefined; bars: Bar[] }[] {
  const names = run.parts.filter(({ kind }) => kind === "target").map(({ name }) => name);
  const column = (of: "target" | "worker") => [...new Set(all.map(({ points, i }) => points[of][i]!))].sort((a, b) => a - b);
  const split = (of: "target" | "worker", numbers: readonly number[], name: (n: number) => string) =>
    numbers.map((n) => ({ name: name(n), bars: all.filter(({ points, i }) => points[of][i] === n) }));
  const targets = column("target");
  if (targets.length > 1) return split("target", targets, (n) => names[n] ?? `target ${n}`);
  const workers = data.points.hasPlaces ? column("worker") : [];
  if (workers.length > 1) return split("worker", workers, (n) => `worker ${n}`);
  return [{ name: undefined, bars: [...all] }];
}

/** Gives each bar the first row that is free; returns the number of rows. */
function rowsOf(bars: readonly Bar[], range: Range, hasWaiting: boolean): number {
  const begin = (bar: Bar) => Math.max(hasWaiting ? bar.due : bar.submitted, range[0]);
  const free: number[] = [];
  for (const bar of [...bars].sort((a, b) => begin(a) - begin(b) || a.submitted - b.submitted)) {
    const row = free.findIndex((end) => end <= begin(bar));
    bar.row = row < 0 ? free.length : row;
    free[bar.row] = bar.completed;
  }
  return free.length;
}

/** Draws all bars. */
export function drawBars(p: Painter, box: Box, scene: Scene, { groups, hasWaiting, number }: Bars): Drawn {
  const range = xRange(scene.view);
  const x = (ns: number) => box.x + ((ns - range[0]) / (range[1] - range[0])) * box.w;
  const named = groups.filter(({ name }) => name !== undefined).length;
  const rows = groups.reduce((sum, group) => sum + group.rows, 0);
  const height = Math.min(HIGHEST_ROW, (box.h - GROUP_GAP * named - 2) / rows);
  const places: { readonly bar: Bar; readonly box: Box }[] = [];
  let top = box.y + 2;
  for (const { name, bars, rows } of groups) {
    if (name !== undefined) {
      p.text(box.x + 6, top + GROUP_GAP / 2, name, { size: 11, color: scene.palette.faint, bold: true, baseline: "middle" });
      top += GROUP_GAP;
    }
    for (const bar of bars) {
      const y = top + bar.row * height;
      const begin = x(hasWaiting ? bar.due : bar.submitted);
      const place = { x: begin, y, w: Math.max(x(bar.completed) - begin, 1), h: Math.max(height - (height > 5 ? 2 : 0.5), 1) };
      drawBar(p, place, x(bar.submitted), bar, scene);
      places.push({ bar, box: place });
    }
    top += rows * height;
  }
  const arrows = conflicts(places.map(({ bar }) => bar), scene);
  for (const [from, to] of arrows) arrow(p, endOf(places, from, x(from.completed)), endOf(places, to, x(to.submitted)), scene.palette.text);
  const at = (px: number, py: number) => barAt(places, px, py);
  return {
    hover: (px, py) => hoverWords(at(px, py), scene),
    requests: number,
    lit: number,
    failed: places.filter(({ bar }) => bar.isFailed).length,
    mode: "bars",
    level: 0,
    requestAt: at,
    placeOf: ({ points, i }) => {
      const found = places.find(({ bar }) => bar.points === points && bar.i === i);
      return found && [Math.min(Math.max(x(found.bar.submitted), box.x), box.x + box.w), found.box.y + found.box.h / 2];
    },
    note: noteOf(hasWaiting, places.some(({ bar }) => bar.submitted > bar.due), arrows.length > 0),
  };
}

function noteOf(hasWaiting: boolean, anyWaits: boolean, hasArrows: boolean): string {
  const waiting = !anyWaits ? "" : hasWaiting ? ", grey: due and not submitted" : "; the time before the submission has no room";
  return `a bar for each request in flight${waiting}${hasArrows ? "; arrows: waited for a conflicting request" : ""} (key o: dots)`;
}

function colorOf({ cls, isFailed }: Bar, { palette }: Scene): Color {
  if (isFailed) return palette.bad;
  return [palette.read, palette.write, palette.readPushed, palette.writePushed, palette.flush][cls]!;
}

function drawBar(p: Painter, box: Box, submitted: number, bar: Bar, scene: Scene): void {
  const wait = Math.max(0, Math.min(submitted - box.x, box.w));
  if (wait > 0) {
    const waiting = { ...box, w: wait };
    p.fill(waiting, faded(scene.palette.faint, 0.35));
    if (isDeferred(bar) && box.h > 3) p.hatch(waiting, faded(colorOf(bar, scene), 0.7));
  }
  p.fill({ ...box, x: box.x + wait, w: Math.max(box.w - wait, 1) }, colorOf(bar, scene));
}

function isDeferred({ cls }: Bar): boolean {
  return cls === 2 || cls === 3;
}

/** Each deferred request with the one in sight that overlaps it and completed last before its submission. */
function conflicts(bars: readonly Bar[], { data }: Scene): [from: Bar, to: Bar][] {
  if (!data.points.hasPlaces) return [];
  return bars.filter(isDeferred).flatMap((to): [Bar, Bar][] => {
    const before = bars.filter((from) => from !== to && endsBefore(from, to) && overlaps(from, to));
    const last = before.sort((a, b) => b.completed - a.completed)[0];
    return last ? [[last, to]] : [];
  });
}

/** Whether a request completed while another waited; completions are known to a step of the latency. */
function endsBefore(from: Bar, to: Bar): boolean {
  const slack = slackOf(from.points, from.i, "completion");
  return from.completed - slack <= to.submitted && from.completed + slack >= to.due;
}

function overlaps(a: Bar, b: Bar): boolean {
  const bytes = ({ points: p, i }: Bar) => [p.place[i]! * p.unit, (p.place[i]! + p.length[i]!) * p.unit] as const;
  const [[from, to], [begin, end]] = [bytes(a), bytes(b)];
  const writes = opOf(a.cls) === 1 || opOf(b.cls) === 1;
  return writes && a.points.target[a.i] === b.points.target[b.i] && from < end && begin < to;
}

function endOf(places: readonly { readonly bar: Bar; readonly box: Box }[], bar: Bar, x: number): Point {
  const { box } = places.find((place) => place.bar === bar)!;
  return [x, box.y + box.h / 2];
}

function arrow(p: Painter, from: Point, to: Point, color: Color): void {
  p.line([from, to], { color, width: 1.2 });
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const wing = (by: number): Point => [to[0] - 7 * Math.cos(angle + by), to[1] - 7 * Math.sin(angle + by)];
  p.area([to, wing(0.45), wing(-0.45)], color);
}

/** Thin bars are hit from a little above and below. */
const REACH = 3;

function barAt(places: readonly { readonly bar: Bar; readonly box: Box }[], x: number, y: number): Bar | undefined {
  const distance = ({ y: top, h }: Box) => Math.max(top - y, y - top - h, 0);
  const near = places.filter(({ box }) => x >= box.x - REACH && x <= box.x + box.w + REACH && distance(box) <= REACH);
  return near.sort((a, b) => distance(a.box) - distance(b.box))[0]?.bar;
}

function hoverWords(bar: Bar | undefined, { run }: Scene): string | undefined {
  if (!bar) return undefined;
  const { points, i, due, submitted, completed } = bar;
  const wait = run.has_timetable ? `, delay ${duration(submitted - due)}` : "";
  return `#${count(points.number[i]!)} · submitted ${moment(submitted, 1000)}${wait}, latency ${duration(completed - submitted)}`;
}
