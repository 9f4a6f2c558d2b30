/** What the machine did meanwhile: devices, CPUs, memory and interrupts, from the samples of their counters. */

import type { PageCurve, PageLane, PageRun } from "../format/page";
import type { Range } from "../model/view";
import { timeAxis, valueAxis } from "../render/axis";
import type { Box, Painter, Point } from "../render/painter";
import { LinearScale } from "../render/scale";
import { moment, short, significant } from "../render/units";
import { collapseLine, stalls, xOfTime } from "./marks";
import { DASHED_B, type Drawn, type Meaning, meanings, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";
import { below } from "./steps";
import { TABLE_ROWS } from "./throughput";

/** Of a strip, where its curves' names need no more. */
const HEIGHT = 140;
/** Above and below the names of curves, and for each. */
const [NAMES, NAME] = [26, 18];

/** Values at times: from `times[i]` to `times[i + 1]` it is `values[i]`; null where nothing is known. */
interface Track {
  readonly name: string;
  readonly color: string;
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
}

/** A strip for each lane of any run, in the order of the picture `machine`. */
export function machineStrips(runs: readonly PageRun[]): TimeChart[] {
  const found = new Map<string, PageLane[]>();
  for (const run of runs)
    for (const lane of run.machine?.lanes ?? []) found.set(lane.id, [...(found.get(lane.id) ?? []), lane]);
  return [...found.values()].map(strip);
}

function strip(lanes: PageLane[]): TimeChart {
  const { id, title } = lanes[0]!;
  // Of two runs, one name more: that of the lines of B.
  const names = new Set(lanes.flatMap((lane) => lane.curves.map(({ name }) => name))).size + lanes.length - 1;
  return {
    id: `machine-${id}`,
    title,
    height: Math.max(HEIGHT, NAMES + NAME * names),
    has: (run) => laneOf(run, id) !== undefined,
    describe: (scene) => {
      const told = tracks(scene, id).map((track) => `${track.name} ${words(scene, id, track, scene.view.time)}`);
      return `${title}, from samples of the kernel's counters: ${told.join(", ")}.`;
    },
    table: (scene) => table(scene, id),
    draw: (p, _box, scene) => draw(p, scene, id),
    side: (p, _box, scene) => meanings(p, scene, meaningsOf(scene, id)),
    names,
  };
}

function laneOf({ machine }: PageRun, id: string): PageLane | undefined {
  return machine?.lanes.find((lane) => lane.id === id);
}

function tracks({ run, palette }: Pick<Scene, "run" | "palette">, id: string): Track[] {
  const curves = laneOf(run, id)?.curves ?? [];
  return curves.map((curve, i) => track(run, curve, palette.series[i % palette.series.length]!));
}

function track(run: PageRun, { name, values }: PageCurve, color: string): Track {
  return { name, color, times: run.machine!.times_ns, values };
}

/** Curves of B: those with a name of A have its colour; of a stack only the whole. */
function tracksOfB({ run, beside, palette }: Scene, id: string): Track[] {
  const lane = beside && laneOf(beside.run, id);
  if (!lane) return [];
  const inA = laneOf(run, id)?.curves.map(({ name }) => name) ?? [];
  let further = inA.length;
  const all = lane.curves.map((curve) => {
    const known = inA.indexOf(curve.name);
    return track(beside.run, curve, palette.series[(known < 0 ? further++ : known) % palette.series.length]!);
  });
  return lane.is_stacked ? stacked(all).slice(-1).map((sum) => ({ ...sum, name: "all", color: palette.text })) : all;
}

/** Each track on the sum of those before it. */
function stacked(all: readonly Track[]): Track[] {
  let under: readonly (number | null)[] = [];
  return all.map((one) => {
    under = one.values.map((v, i) => (v === null ? null : v + (under[i] ?? 0)));
    return { ...one, values: under };
  });
}

/** The steps that a range touches: first, and the one after the last. */
export function inSight(times: readonly number[], [from, to]: Range): [first: number, end: number] {
  return [Math.max(0, placeOf(times, from)), Math.min(times.length - 1, placeOf(times, to) + 1)];
}

/** The last time that is not after `ns`; −1 where there is none. */
function placeOf(times: readonly number[], ns: number): number {
  let [low, high] = [-1, times.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= ns) low = middle;
    else high = middle;
  }
  return low;
}

interface Extent {
  readonly least: number;
  /** Over the time. */
  readonly mean: number;
  readonly most: number;
}

/** What a track was in a part of the time; undefined where nothing is known of it. */
export function extentOf({ times, values }: Pick<Track, "times" | "values">, range: Range): Extent | undefined {
  let [least, most, sum, length] = [Infinity, 0, 0, 0];
  const [first, end] = inSight(times, range);
  for (let i = first; i < end; i++) {
    const value = values[i] ?? null;
    if (value === null) continue;
    // An instant has no length, but a value.
    const long = Math.max(Math.min(times[i + 1]!, range[1]) - Math.max(times[i]!, range[0]), 1e-3);
    [least, most, sum, length] = [Math.min(least, value), Math.max(most, value), sum + value * long, length + long];
  }
  return length > 0 ? { least, mean: sum / length, most } : undefined;
}

function draw(p: Painter, scene: Scene, id: string): Drawn {
  const box = plotOf(p, 8);
  const { run, view, palette } = scene;
  const lane = laneOf(run, id)!;
  const own = tracks(scene, id);
  const shown = lane.is_stacked ? stacked(own) : own;
  const inB = tracksOfB(scene, id);
  const top = lane.most ?? (Math.max(0, ...[...shown, ...inB].map((one) => extentOf(one, view.time)?.most ?? 0)) * 1.06 || 1);
  const scale = new LinearScale(0, top, box.y + box.h, box.y);
  valueAxis(p, box, palette, scale, (n) => tick(n, lane.unit));
  // A line at the very bottom or top is seen as a whole.
  p.clip({ ...box, y: box.y - 1, h: box.h + 2 }, () => {
    stalls(p, box, scene, false);
    // The uppermost of a stack lies behind those below it.
    for (const one of [...shown].reverse()) drawTrack(p, box, scene, one, scale, lane.is_stacked);
    for (const one of inB)
      for (const points of outlines(one, box, scene, scale)) p.line(points, { color: one.color, width: 1.5, dash: DASHED_B });
    collapseLine(p, box, scene, false);
  });
  timeAxis(p, box, palette, view.time[0], view.time[1], "time");
  timeTitle(p, box, palette, "time since the start of the run");
  return { hover: (x) => hover(box, scene, id, x), note: note(scene, lane) };
}

function drawTrack(p: Painter, box: Box, scene: Scene, one: Track, scale: LinearScale, isFilled: boolean): void {
  if (isFilled) {
    for (const points of outlines(averaged(one, box, scene.view.time), box, scene, scale)) p.area(below(points, box.y + box.h), one.color);
  } else for (const points of outlines(one, box, scene, scale)) p.line(points, { color: one.color, width: 1.5 });
}

/** A share of the time that is a pixel wide is the mean of its steps: areas stay true where steps are narrower. */
function averaged(one: Track, box: Box, [from, to]: Range): Track {
  const [first, end] = inSight(one.times, [from, to]);
  const pixels = Math.max(1, Math.floor(box.w));
  if (end - first <= pixels) return one;
  const times = Array.from({ length: pixels + 1 }, (_, i) => from + ((to - from) * i) / pixels);
  return { ...one, times, values: times.slice(1).map((b, i) => extentOf(one, [times[i]!, b])?.mean ?? null) };
}

/** The lines of a track, one for each part without a gap. */
function outlines({ times, values }: Track, box: Box, scene: Scene, scale: LinearScale): Point[][] {
  const x = xOfTime(scene, box);
  const [first, end] = inSight(times, scene.view.time);
  const found: Point[][] = [];
  let line: Point[] = [];
  for (let i = first; i < end; i++) {
    const value = values[i] ?? null;
    if (value === null) line = [];
    else {
      if (line.length === 0) found.push(line);
      const y = scale.at(value);
      line.push([x(times[i]!), y], [x(times[i + 1]!), y]);
    }
  }
  return found.map(thinned);
}

/** Of the points in a column of pixels only the first, the lowest, the highest and the last are left: no more can be seen. */
export function thinned(points: readonly Point[]): Point[] {
  const kept: Point[] = [];
  for (let begin = 0, end = 0; begin < points.length; begin = end) {
    const column = Math.floor(points[begin]![0]);
    let [low, high] = [begin, begin];
    for (end = begin; end < points.length && Math.floor(points[end]![0]) === column; end++) {
      if (points[end]![1] < points[low]![1]) low = end;
      if (points[end]![1] > points[high]![1]) high = end;
    }
    let last = -1;
    for (const place of [begin, Math.min(low, high), Math.max(low, high), end - 1]) if (place > last) kept.push(points[(last = place)]!);
  }
  return kept;
}

function meaningsOf(scene: Scene, id: string): Meaning[] {
  const lane = laneOf(scene.run, id);
  const own = tracks(scene, id).map(({ name, color }): Meaning => ({ text: name, color, filled: lane?.is_stacked === true }));
  const inB = tracksOfB(scene, id);
  const others = inB.filter(({ name }) => !own.some(({ text }) => text === name));
  const same = others.length < inB.length ? [{ text: "the same in B", color: scene.palette.text, dash: DASHED_B }] : [];
  return [...own, ...same, ...others.map(({ name, color }) => ({ text: `${name} in B`, color, dash: DASHED_B }))];
}

/** A label at the axis, where there is little room. */
function tick(value: number, unit: string): string {
  return unit === "" || unit === "/s" ? short(value) + unit : `${significant(value)} ${unit}`;
}

function withUnit(text: string, unit: string): string {
  return unit === "" ? text : `${text} ${unit}`;
}

/** A value, or from the least to the most where a range has several. */
function words({ run }: Scene, id: string, one: Track, range: Range): string {
  const found = extentOf(one, range);
  if (!found) return "–";
  const [low, high] = [significant(found.least), significant(found.most)];
  return withUnit(low === high ? low : `${low} to ${high}`, laneOf(run, id)?.unit ?? "");
}

/** At the pixel under the pointer. */
function hover(box: Box, scene: Scene, id: string, x: number): string | undefined {
  if (x < box.x || x > box.x + box.w) return undefined;
  const [from, to] = scene.view.time;
  const [ns, half] = [from + ((x - box.x) / box.w) * (to - from), (to - from) / box.w / 2];
  const times = scene.run.machine!.times_ns;
  const [first, end] = inSight(times, [ns - half, ns + half]);
  // Of one step, or two that meet there, it is the one below the pointer.
  const range: Range = end - first > 2 ? [ns - half, ns + half] : [ns, ns];
  return [moment(ns, to - from < 2e9 ? 1e6 : undefined), ...tracks(scene, id).map((one) => `${one.name} ${words(scene, id, one, range)}`)].join(" · ");
}

function note({ run, view }: Scene, lane: PageLane): string | undefined {
  const { lanes, devices } = run.machine!;
  const said: string[] = [];
  if (lane.is_by_device && lane.curves.length < devices) said.push(`the ${lane.curves.length} busiest of ${devices} devices`);
  if (view.base === "number" && lanes[0] === lane) said.push("samples have times, no numbers: these strips stay over time");
  return said.length > 0 ? said.join("; ") : undefined;
}

function table(scene: Scene, id: string): string[][] {
  const all = tracks(scene, id);
  const [times, { time }] = [scene.run.machine!.times_ns, scene.view];
  const [first, end] = inSight(times, time);
  const stride = Math.max(1, Math.ceil((end - first) / TABLE_ROWS));
  const rows: string[][] = [];
  for (let i = first; i < end; i += stride) {
    const range: Range = [times[i]!, times[Math.min(i + stride, end)]! - 1];
    rows.push([moment(times[i]!), ...all.map((one) => words(scene, id, one, range))]);
  }
  return rows.length > 0 ? [["From", ...all.map(({ name }) => name)], ...rows] : [["Nothing was sampled in sight"]];
}

