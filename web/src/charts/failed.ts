/** Failed requests in pictures of times: they are in no count of latencies, and have a mark of their own. */

import type { Box, Painter } from "../render/painter";
import type { Range } from "../model/view";
import { type ColumnBins, slotBins } from "../render/density";
import { DotSheet, FAILED_STAMP, stamps } from "../render/dots";
import { cells, columnsIn, fill } from "./density-picture";
import { figureOf } from "./figures";
import type { Scene } from "./scene";

/** CSS pixels of a mark, and from one to the next: no two overlap. */
const MARK = 7;
const STEP = 10;

/** Failed requests of the whole run; 0 where there are none. */
export function failedOf({ run }: Pick<Scene, "run">): number {
  return figureOf(run, "counts.all.failed") ?? 0;
}

/** One mark where any failed, from the counts of `grid`. `position` tells the slot at a pixel below the top of the box. */
export function markFailed(p: Painter, box: Box, scene: Scene, grid: string, range: Range, position: (y: number) => number): number {
  const known = scene.run.grids.find((g) => g.id === `failed.${grid}`);
  const counts = known && scene.data.grid(known.id);
  if (!known || !counts || scene.other) return 0;
  const { ratio } = scene;
  const columns = columnsIn(box, range, known.width, known.columns, 1 / STEP);
  const rows = Math.max(1, Math.round(box.h / STEP));
  const slots = slotBins(rows, scene.rows.slots, (y) => position((y / rows) * box.h), grid === "delay.due" || !scene.view.yLinear);
  fill(counts, columns, slots, scene);
  const sheet = new DotSheet(Math.round(box.w * ratio), Math.round(box.h * ratio));
  const cross = stamps(scene.palette, Math.round(MARK * ratio), ratio)[FAILED_STAMP]!;
  // On a ground of its own: over a full band a cross would drown.
  const ground = stamps({ ...scene.palette, read: scene.palette.background }, Math.round((MARK + 2) * ratio), ratio)[0]!;
  const [xs, ys] = [middles(columns, box.w), middles(slots, box.h)];
  for (const [column, x] of xs)
    for (const [row, y] of ys)
      if (cells.counts.some((of) => of[row * cells.columns + column]! > 0)) [ground, cross].forEach((mark) => sheet.put(x * ratio, y * ratio, mark));
  const failed = cells.total();
  if (failed > 0) p.image(box, sheet.pixels);
  return failed;
}

/** Where each bin has its middle, in pixels. */
function middles({ ofPixel }: Pick<ColumnBins, "ofPixel">, length: number): Map<number, number> {
  const ends = new Map<number, [number, number]>();
  ofPixel.forEach((bin, i) => bin >= 0 && ends.set(bin, [ends.get(bin)?.[0] ?? i, i + 1]));
  return new Map([...ends].map(([bin, [a, b]]) => [bin, (((a + b) / 2) * length) / ofPixel.length]));
}
