/** The whole run in a strip: where one is, and the way to elsewhere. */

import { xBounds, xRange } from "../model/view";
import { slotBins } from "../render/density";
import type { Box, Painter } from "../render/painter";
import { faded } from "../render/palette";
import { columnsIn, fill, shadesOf, show } from "./density-picture";
import { collapseLine, stalls } from "./marks";
import { type Drawn, LEFT, RIGHT, type Scene, type TimeChart } from "./scene";
import { gridOf } from "./sonar";

export const OVERVIEW: TimeChart = {
  id: "overview",
  title: "Overview",
  height: 56,
  has: (run) => run.grids.some((g) => g.id.startsWith("latency.")),
  describe: () => "The whole run; the frame shows the part that the other panels show.",
  table: () => [],
  draw,
  isFiltered: true,
};

export function overviewPlot(p: { width: number; height: number }): Box {
  return { x: LEFT, y: 2, w: Math.max(10, p.width - LEFT - RIGHT), h: Math.max(10, p.height - 4) };
}

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const box = overviewPlot(p);
  const whole = xBounds(scene.view, scene.bounds);
  const isTime = scene.view.base !== "number";
  const everything: Scene = { ...scene, view: { ...scene.view, time: scene.bounds.time, number: scene.bounds.number } };
  p.clip(box, () => {
    if (isTime) stalls(p, box, everything, false);
    drawDensity(p, box, scene, whole);
    if (isTime) collapseLine(p, box, everything, false);
  });
  p.line(
    [
      [box.x, box.y + box.h],
      [box.x + box.w, box.y + box.h],
    ],
    { color: scene.palette.axis, width: 1 },
  );
  return { hover: () => undefined };
}

function drawDensity(p: Painter, box: Box, scene: Scene, whole: readonly [number, number]): void {
  const known = gridOf(scene);
  const grid = known && scene.data.grid(known.id);
  if (!known || !grid) return;
  const [low, high] = scene.durations.map((ns) => scene.rows.position(ns)) as [number, number];
  const pixels = Math.round(box.h * scene.ratio);
  const columns = columnsIn(box, whole, known.width, known.columns, scene.ratio);
  const slots = slotBins(pixels, scene.rows.slots, (y) => high - (y / pixels) * (high - low), true);
  // Asking for shades counts the whole grid, in the same cells.
  const shades = shadesOf(scene, known.id);
  fill(grid, columns, slots, scene);
  show(p, box, columns, slots, shades);
}

/** What is out of sight is veiled: over the picture, which need not be drawn again when one moves. */
export function drawFrame(p: Painter, scene: Scene): void {
  const box = overviewPlot(p);
  const [from, to] = xRange(scene.view);
  const [a, b] = xBounds(scene.view, scene.bounds);
  if (from <= a && to >= b) return;
  const x = (v: number) => box.x + ((v - a) / (b - a)) * box.w;
  const [left, right] = [x(from), Math.max(x(to), x(from) + 3)];
  const veil = faded(scene.palette.background, 0.65);
  p.fill({ x: box.x, y: box.y, w: left - box.x, h: box.h }, veil);
  p.fill({ x: right, y: box.y, w: box.x + box.w - right, h: box.h }, veil);
  p.line(
    [
      [left, box.y + 1],
      [right, box.y + 1],
      [right, box.y + box.h - 1],
      [left, box.y + box.h - 1],
      [left, box.y + 1],
    ],
    { color: scene.palette.text, width: 1.5 },
  );
}
