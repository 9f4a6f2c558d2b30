/** The requests with some values of attributes, as a run of their own. */

import { FilteredRun, type Kept } from "../model/filtered-run";
import type { Points } from "../format/points";
import type { RunData } from "../model/run-data";
import type { Only, Range } from "../model/view";
import { tablesOf } from "./bubble-up";
import type { Scene } from "./scene";
import { MOST_COUNTED } from "./sonar";

/** A filtered run; `reading` while requests are read, `impossible` where not all of them are at hand. */
export type Filtered = FilteredRun | "reading" | "impossible";

/** Whether the page can filter a run: it has all requests, and not too many to count them again. */
export function canFilter({ run, points }: RunData): boolean {
  return run.kind === "run" && points.isComplete && !points.isEmpty && points.detail.requests <= MOST_COUNTED;
}

/** Beside the title of a panel that shows all requests while others are filtered. */
export const NOT_FILTERED = "all requests, not filtered";

const EVERYTHING: Range = [-Infinity, Infinity];
const last = new WeakMap<RunData, { readonly key: string; readonly blocks: readonly Points[]; readonly run: FilteredRun }>();

/** The last filter of a run is kept. */
export function filtered(scene: Scene, only: readonly Only[]): Filtered {
  const { data } = scene;
  if (!canFilter(data)) return "impossible";
  const blocks = data.points.get("start", EVERYTHING);
  if (!blocks) return "reading";
  const key = JSON.stringify(only);
  const known = last.get(data);
  if (known?.key === key && known.blocks.length === blocks.length && known.blocks.every((b, i) => b === blocks[i])) return known.run;
  const run = new FilteredRun(data, keptBy(scene, blocks, only), scene.rows);
  last.set(data, { key, blocks, run });
  return run;
}

/** A request stays if it has all values. What a run does not have, none of its requests has. */
function keptBy(scene: Scene, blocks: readonly Points[], only: readonly Only[]): Kept {
  // The latency is an attribute where responses are shown; a filter by it holds on the other ordinate, too.
  const tables = tablesOf({ ...scene, view: { ...scene.view, ordinate: "response" } }, blocks);
  const conditions = only.map(({ attribute, value }) => {
    const table = tables.find((t) => t.attribute.id === attribute);
    // Several targets may have one name.
    const wanted = new Set((table?.attribute.values ?? []).flatMap((name, i) => (name === value ? [i] : [])));
    return { table, wanted };
  });
  return new Map(
    blocks.map((block) => {
      const columns = conditions.map(({ table }) => table?.columns.get(block));
      const mask = Uint8Array.from({ length: block.n }, (_, i) =>
        conditions.every(({ wanted }, c) => wanted.has(columns[c]?.[i] ?? -1)) ? 1 : 0,
      );
      return [block, mask];
    }),
  );
}
