/** Requests in flight: from the least to the most of each moment, and the median. */

import { timeAxis, valueAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { faded } from "../render/palette";
import { LinearScale } from "../render/scale";
import { count, moment } from "../render/units";
import { collapseLine, sign, stalls } from "./marks";
import { axisTitle, DASHED_B, type Drawn, meanings, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";
import { largest, least, middle, most, outlineOf, type Steps, stepsOf, valueAt } from "./steps";
import { TABLE_ROWS } from "./throughput";

interface Lane {
  readonly op: "read" | "write";
  readonly least: Steps;
  readonly median: Steps;
  readonly most: Steps;
  readonly medianInB?: Steps | undefined;
}

export const IN_FLIGHT: TimeChart = {
  id: "in-flight",
  title: "In flight",
  height: 164,
  has: (run) => run.series.some((s) => s.id.startsWith("in-flight.")),
  describe: (scene) => {
    const found = lanes(scene, 1000).map(
      (l) => `${l.op === "read" ? "reads" : "writes"} up to ${count(largest(l.most))}`,
    );
    return `Requests in flight over time${found.length > 0 ? `: ${found.join(", ")}` : ""}.`;
  },
  table,
  draw,
  isFiltered: true,
  side: (p, _box, scene) =>
    meanings(p, scene, [
      { text: "median of each moment", color: scene.palette.text, width: 1.5 },
      ...(scene.beside ? [{ text: "the same in B", color: scene.palette.text, dash: DASHED_B }] : []),
      { text: "least to most", color: faded(scene.palette.text, 0.3), filled: true },
    ]),
};

function lanes(scene: Scene, pixels: number): Lane[] {
  const { view, beside } = scene;
  return (["read", "write"] as const).flatMap((op) => {
    if (!view.on[op]) return [];
    const of = (what: string, combine: typeof most, { data, run }: Pick<Scene, "data" | "run"> = scene) =>
      stepsOf(data, run, `in-flight.${op}.${what}`, view.time, pixels, combine);
    const [low, median, high] = [of("least", least), of("median", middle), of("most", most)];
    const medianInB = beside && of("median", middle, beside);
    return low && median && high ? [{ op, least: low, median, most: high, medianInB }] : [];
  });
}

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const box = plotOf(p, 8);
  const found = lanes(scene, box.w).filter((lane) => largest(lane.most) > 0);
  const top = largest(...found.flatMap((l) => [l.most, l.medianInB ?? l.most])) * 1.1 || 1;
  const height = (box.h - (found.length - 1) * 8) / Math.max(found.length, 1);
  found.forEach((lane, i) => drawLane(p, { ...box, y: box.y + i * (height + 8), h: height }, scene, lane, top));
  p.clip(box, () => {
    stalls(p, box, scene, false);
    collapseLine(p, box, scene, false);
  });
  timeAxis(p, box, scene.palette, scene.view.time[0], scene.view.time[1], "time");
  axisTitle(p, box, scene.palette, "requests in flight");
  timeTitle(p, box, scene.palette, "time since the start of the run");
  return { hover: hover(box, scene, found) };
}

/** Reads and writes have lanes of their own on one scale. */
function drawLane(p: Painter, box: Box, scene: Scene, lane: Lane, top: number): void {
  const scale = new LinearScale(0, top, box.y + box.h, box.y);
  const color = lane.op === "read" ? scene.palette.read : scene.palette.write;
  valueAxis(p, box, scene.palette, scale, (n) => (Number.isInteger(n) ? count(n) : ""));
  p.line(
    [
      [box.x, box.y + box.h],
      [box.x + box.w, box.y + box.h],
    ],
    { color: scene.palette.axis, width: 1 },
  );
  p.clip(box, () => {
    const points = (s: Steps) => outlineOf(s, box, scene.view.time, (v) => scale.at(v));
    p.area([...points(lane.most), ...points(lane.least).reverse()], faded(color, 0.3));
    p.line(points(lane.median), { color, width: 1.5 });
    if (lane.medianInB) p.line(points(lane.medianInB), { color, width: 1.5, dash: DASHED_B });
  });
  sign(p, box, box.x + 6, box.y + 9, `${lane.op}s`, color, scene.palette);
}

function hover(box: Box, scene: Scene, found: readonly Lane[]) {
  return (x: number) => {
    const [from, to] = scene.view.time;
    const ns = from + ((x - box.x) / box.w) * (to - from);
    return [moment(ns), ...found.map((lane) => `${lane.op}s ${laneWords(lane, ns)}`)].join(" · ");
  };
}

function laneWords(lane: Lane, ns: number): string {
  const [low, median, high] = [lane.least, lane.median, lane.most].map((s) => valueAt(s, ns) ?? 0);
  return `${count(median!)} (${count(low!)} to ${count(high!)})`;
}

function table(scene: Scene): string[][] {
  const found = lanes(scene, TABLE_ROWS);
  const first = found[0];
  if (!first) return [["Not decoded yet"]];
  const rows = [...first.most.values].map((_, i) => {
    const begin = first.most.from + i * first.most.wide;
    return [moment(begin), ...found.map((lane) => laneWords(lane, begin + first.most.wide / 2))];
  });
  return [["From", ...found.map((lane) => `${lane.op}s: median (least to most)`)], ...rows];
}
