/** Requests by duration in the range that is seen: from single requests where they are there, else from stored columns. */

import type { PageBase } from "../format/page";
import { opOf, OPS } from "../format/classes";
import { classOf, FAILED, type Points } from "../format/points";
import type { Range } from "../model/view";
import { byOperation, histogram } from "./histogram";
import type { Scene } from "./scene";
import { eachPoint } from "./sonar";

/** Points that are counted in a frame, at most. */
const MOST_IN_A_FRAME = 300_000;
/** Of so many stored columns the two at the ends may reach out of sight. */
const ENOUGH_COLUMNS = 1024;

export interface VisibleCounts {
  readonly reads: Float64Array;
  readonly writes: Float64Array;
  readonly flushes: Float64Array;
  /** Width of the stored columns, where those at the ends may count what is out of sight. */
  readonly step?: number;
}

export function visibleCounts(
  scene: Scene,
  grid: string,
  base: PageBase,
  range: Range,
  value: (points: Points, i: number) => number,
): VisibleCounts | undefined {
  const known = scene.run.grids.find((g) => g.id === grid);
  const pyramids = known && scene.data.grid(grid);
  if (!known || !pyramids) return undefined;
  const isCoarse = (range[1] - range[0]) / known.width < ENOUGH_COLUMNS;
  const exact = isCoarse ? ofPoints(scene, base, range, value) : undefined;
  if (exact) return exact;
  const [reads, writes, flushes] = byOperation(histogram(pyramids, known.width, range, scene.view.on), scene.rows.slots);
  return { reads, writes, flushes, ...(isCoarse ? { step: known.width } : {}) };
}

function ofPoints(scene: Scene, base: PageBase, range: Range, value: (points: Points, i: number) => number): VisibleCounts | undefined {
  const { points } = scene.data;
  if (!points.isSure(base) || points.near(base, range) > MOST_IN_A_FRAME) return undefined;
  const blocks = points.get(base, range);
  if (!blocks || blocks.reduce((n, b) => n + b.n, 0) < points.near(base, range)) return undefined;
  const found = OPS.map(() => new Float64Array(scene.rows.slots)) as [Float64Array, Float64Array, Float64Array];
  const count = (p: Points, i: number) => {
    if (p.classes[i]! & FAILED) return;
    found[opOf(classOf(p.classes[i]!))]![scene.rows.slotOf(value(p, i))]!++;
  };
  eachPoint(blocks, scene, range, count, base);
  const [reads, writes, flushes] = found;
  return { reads, writes, flushes };
}
