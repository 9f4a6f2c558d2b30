/** Scenes of pages with single requests, without blocks to decode. */

import type { Scene } from "../src/charts/scene";
import type { PageDetail, PageRun } from "../src/format/page";
import type { Points } from "../src/format/points";
import { PointStore } from "../src/model/point-store";
import { Rows } from "../src/model/rows";
import type { RunData } from "../src/model/run-data";
import type { Range, View } from "../src/model/view";
import { LIGHT } from "../src/render/palette";
import { FORM, sampleMeta, sampleRun } from "./sample";

export const END = 10e9;

/** A scene of a page with some requests, over ten seconds. */
export async function sceneOf(
  blocks: readonly Points[],
  detail: Partial<PageDetail> = {},
  change: Partial<View> = {},
  parts: PageRun["parts"] = [],
): Promise<Scene> {
  const n = blocks.reduce((sum, p) => sum + p.n, 0);
  const all: PageDetail = { requests: n, embedded: n, one_of: 1, has_places: true, side_car: null, ...detail };
  const texts = blocks.map((p) => ({ n: p.n, fromUs: p.fromUs, toUs: p.toUs, unit: p.unit, crc: "", packed: "" }));
  const decoder = { points: async (text: (typeof texts)[number]) => blocks[texts.indexOf(text)]! };
  const points = new PointStore(all, texts as never, decoder as never, () => undefined, () => undefined);
  await points.fetch("start", [-Infinity, Infinity]);
  // Its blocks are empty: only single requests are drawn.
  const grid = { id: "latency.start", base: "start" as const, width: 1024, columns: 1, totals: [n, 0, 0, 0, 0] as [number, number, number, number, number] };
  const run: PageRun = { ...sampleRun("first", 1), detail: all, parts, grids: [grid] };
  const view: View = {
    time: [0, END],
    number: [0, n],
    y: [1e4, 1e10],
    base: "start",
    ordinate: "latency",
    on: { read: true, write: true, pushed: true, flush: true },
    yLinear: false,
    transfer: "log",
    dots: true,
    bars: true,
    shown: "both",
    rate: "requests",
    ...change,
  };
  const bounds = { time: [0, END] as Range, number: [0, n] as Range, y: [500, 200e9] as Range };
  const data = { run, points, grid: () => [] } as unknown as RunData;
  return { meta: sampleMeta(), index: 0, run, data, view, bounds, durations: view.y, rows: new Rows(FORM), palette: LIGHT, ratio: 1, ink: () => undefined as never };
}
