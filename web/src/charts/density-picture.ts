/** Draws the counts of a grid into a plot. Buffers are shared by all charts: they are drawn one after the other. */

import type { ClassPyramids } from "../model/run-data";
import type { Range } from "../model/view";
import { Cells, type ColumnBins, columnBins, DensityBrush, Shades, type SlotBins } from "../render/density";
import type { Box, Painter } from "../render/painter";
import { isOn } from "./histogram";
import type { Scene } from "./scene";

export const cells = new Cells();
export const brush = new DensityBrush();

const shades = new Map<string, Shades>();

/** The shades of a grid, kept while theme and ink stay. */
export function shadesOf(scene: Scene, grid: string): Shades {
  const scale = scene.ink(grid);
  const key = `${scene.palette.dark} ${grid} ${scene.view.transfer} ${scale.most}`;
  let found = shades.get(key);
  if (!found) {
    if (shades.size > 40) shades.clear();
    shades.set(key, (found = new Shades(scene.palette, scale)));
  }
  return found;
}

/** Columns of a grid in a plot. */
export function columnsIn(box: Box, range: Range, width: number, columns: number, ratio: number): ColumnBins {
  const levels = Math.ceil(Math.log2(Math.max(columns, 1))) + 1;
  return columnBins(range[0], range[1], Math.max(1, Math.round(box.w * ratio)), width, columns, levels);
}

/** Counts all classes that are switched on. */
export function fill(grid: ClassPyramids, columns: ColumnBins, slots: SlotBins, scene: Scene): void {
  cells.reset(columns.count, slots.count);
  grid.forEach((pyramid, cls) => {
    if (pyramid && isOn(cls, scene.view.on)) cells.addGrid(cls, pyramid, columns, slots);
  });
}

/** Paints what was counted; returns the number of lit pixels. */
export function show(p: Painter, box: Box, columns: ColumnBins, slots: SlotBins, shade: Shades): number {
  const { pixels, lit } = brush.paint(cells, columns, slots, (r, w, rp, wp, f) => shade.color(r, w, rp, wp, f));
  p.image(box, pixels);
  return lit;
}

/** Columns of a picture of the whole run by which strength is measured. */
const WHOLE = 1024;

/** Counts the whole of a grid, at the width of a picture. */
export function fillWhole(grid: ClassPyramids): void {
  const first = grid.find((p) => p !== undefined);
  if (!first) return cells.reset(0, 0);
  const level = Math.max(
    0,
    first.levels.findIndex((l) => l.columns <= WHOLE),
  );
  const count = first.levels[level]!.columns;
  const columns: ColumnBins = { level, first: 0, count, ofPixel: new Int32Array(0) };
  const slots: SlotBins = {
    count: first.slots,
    ofSlot: Int32Array.from({ length: first.slots }, (_, i) => i),
    ofPixel: new Int32Array(0),
  };
  cells.reset(count, first.slots);
  grid.forEach((p, cls) => p && cells.addGrid(cls, p, columns, slots));
}
