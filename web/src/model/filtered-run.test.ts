import { describe, expect, test } from "vitest";
import { filtered, canFilter } from "../charts/filter";
import { bubbleUp } from "../charts/bubble-up";
import type { Scene } from "../charts/scene";
import { pointsOf, type TestRequest } from "../../test/points";
import { END, sceneOf } from "../../test/scene";
import { FAILED } from "../format/points";
import { FilteredRun } from "./filtered-run";
import type { RunData } from "./run-data";
import { totalOf } from "../charts/histogram";
import { addRange } from "./pyramid";

const REQUESTS: TestRequest[] = Array.from({ length: 900 }, (_, i) => ({
  submittedUs: i < 450 ? i * 5_000 : 2_250_000 + (i - 450) * 16_000,
  latencyNs: i % 3 === 0 ? 5e6 : 2e5,
  delayNs: i % 2 === 0 ? 0 : 1e6,
  flags: (i % 3 === 0 ? 1 : 0) | (i === 30 ? FAILED : 0),
  length: i % 5 === 0 ? 8192 : 4096,
  offset: i * 4096,
  target: i % 2,
  number: i,
}));

/** A scene whose run has the series and grids of a page. */
async function scene(): Promise<Scene> {
  const one = await sceneOf([pointsOf(REQUESTS.slice(0, 400)), pointsOf(REQUESTS.slice(400))]);
  const width = 2 ** 26;
  const columns = Math.ceil(END / width);
  const grid = (id: string, base: "start" | "due" | "completion" | "number") =>
    ({ id, base, width: base === "number" ? 1 : width, columns: base === "number" ? 900 : columns, totals: [0, 0, 0, 0, 0] as [number, number, number, number, number] });
  const series = (id: string, base: "start" | "due" | "completion") => ({ id, base, width, columns });
  const run = {
    ...one.run,
    grids: [grid("latency.start", "start"), grid("latency.completion", "completion"), grid("latency.number", "number"), grid("failed.latency.start", "start"), grid("delay.due", "due")],
    series: [
      series("demanded.read.requests", "due"),
      series("demanded.write.bytes", "due"),
      series("delivered.write.requests", "completion"),
      series("in-flight.write.most", "start"),
      series("waiting.most", "due"),
    ],
    seek: { width, columns, row_bytes: 65536, rows: 60, device_bytes: [], places: [] },
    percentiles: [{ of: "service", scope: "all", requests: 0, points: [] }],
    sizes: [{ from_bytes: 4096, to_bytes: 4096, reads: 0, writes: 0 }, { from_bytes: 8192, to_bytes: 8192, reads: 0, writes: 0 }],
  } as Scene["run"];
  const data = { run, points: one.data.points, grid: () => [], numbers: () => new Float64Array(columns), relation: () => undefined } as unknown as RunData;
  return { ...one, run, data };
}

const left = (found: unknown): FilteredRun => {
  if (!(found instanceof FilteredRun)) throw new Error(String(found));
  return found;
};

const inGrid = (run: FilteredRun, id: string) => {
  const columns = run.run.grids.find((g) => g.id === id)?.columns ?? run.run.seek!.columns;
  return run.grid(id)!.map((p) => {
    if (!p) return 0;
    const into = new Float64Array(p.slots);
    addRange(p, 0, columns, into);
    return totalOf(into);
  });
};

describe("filtered run", () => {
  test("counts exactly the requests with a value, in every grid", async () => {
    const one = await scene();
    const writes = left(filtered(one, [{ attribute: "operation", value: "write" }]));
    // 300 writes, one of which failed.
    expect(writes.points.detail.requests).toBe(300);
    expect(writes.run.completed).toBe(299);
    for (const id of ["latency.start", "latency.completion", "latency.number", "delay.due"]) expect(inGrid(writes, id)).toEqual([0, 299, 0, 0, 0]);
    expect(inGrid(writes, "failed.latency.start")).toEqual([0, 1, 0, 0, 0]);
    expect(inGrid(writes, "seek")).toEqual([0, 300, 0, 0, 0]);
    const sum = (id: string) => totalOf(writes.numbers(id));
    expect(sum("demanded.read.requests")).toBe(0);
    expect(sum("delivered.write.requests")).toBe(299);
    const bytes = REQUESTS.filter((r) => r.flags! & 1).reduce((all, r) => all + r.length!, 0);
    expect(sum("demanded.write.bytes")).toBe(bytes);
    expect(Math.max(...writes.numbers("in-flight.write.most")!)).toBe(1);
    expect(Math.max(...writes.numbers("waiting.most")!)).toBe(1);
  });

  test("sizes and percentiles are those of the requests that stay", async () => {
    const writes = left(filtered(await scene(), [{ attribute: "operation", value: "write" }]));
    const large = REQUESTS.filter((r) => r.flags! & 1 && r.length === 8192).length;
    expect(writes.run.sizes.map((s) => [s.reads, s.writes])).toEqual([[0, 300 - large], [0, large]]);
    const curve = writes.run.percentiles[0]!;
    expect(curve.requests).toBe(299);
    const half = curve.points.find(([nines]) => nines === Math.log10(2))!;
    expect(half[1] / 5e6).toBeCloseTo(1, 2);
    // Ten requests remain above the last point.
    expect(299 * 10 ** -curve.points.at(-1)![0]).toBeGreaterThanOrEqual(10);
  });

  test("several conditions hold together, and an unknown value leaves nothing", async () => {
    const one = await scene();
    const both = left(filtered(one, [{ attribute: "operation", value: "write" }, { attribute: "size", value: "8 KiB" }]));
    expect(both.points.detail.requests).toBe(REQUESTS.filter((r) => r.flags! & 1 && r.length === 8192).length);
    expect(left(filtered(one, [{ attribute: "operation", value: "trim" }])).points.detail.requests).toBe(0);
    expect(left(filtered(one, [{ attribute: "colour", value: "red" }])).points.detail.requests).toBe(0);
  });

  test("a comparison within it knows the neighbours among all requests", async () => {
    const one = await scene();
    const data = left(filtered(one, [{ attribute: "operation", value: "write" }]));
    const found = bubbleUp({ ...one, data, run: data.run }, { x: [0, 2.25e9] });
    if (typeof found === "string") throw new Error(found);
    expect(found.inside + found.outside).toBe(299);
    // The request before a write is a read, 5 or 16 ms earlier; among writes alone it would be 15 or 48 ms.
    const gap = found.differences.find(({ attribute }) => attribute.id === "gap")!;
    const used = (of: Float64Array) => gap.attribute.values.filter((_, i) => of[i]! > 0.02);
    expect([used(gap.inside), used(gap.outside)]).toEqual([["5 ms to 7 ms"], ["15 ms to 20 ms"]]);
  });

  test("needs all requests", async () => {
    const one = await sceneOf([pointsOf(REQUESTS)], { requests: 9000, one_of: 10 });
    expect(canFilter(one.data)).toBe(false);
    expect(filtered(one, [{ attribute: "operation", value: "write" }])).toBe("impossible");
  });
});

