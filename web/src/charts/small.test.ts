import { describe, expect, it } from "vitest";
import { pngAddress } from "../../test/png";
import { RecordingPainter } from "../../test/recording-painter";
import { empty, sampleContext, sampleMeta, sampleRun } from "../../test/sample";
import type { PageRun } from "../format/page";
import { DARK, LIGHT } from "../render/palette";
import { SvgPainter } from "../render/svg";
import type { ChartContext } from "./chart";
import { SMALL_CHARTS } from "./small";

/** Widths of panels, from a telephone's to a wide screen's. */
const WIDTHS = [240, 300, 380, 500, 900];

const one = sampleContext(false);
const two = sampleContext(true, DARK);

describe.each(SMALL_CHARTS.map((chart) => [chart.id, chart] as const))("%s", (_, chart) => {
  it.each(WIDTHS)("is legible in %d pixels", (width) => {
    for (const context of [one, two]) {
      const p = new RecordingPainter(width, chart.height);
      chart.draw(p, { x: 0, y: 0, w: width, h: chart.height }, context);
      expect(p.overlaps()).toEqual([]);
      expect(p.outside()).toEqual([]);
      expect(p.isFinite()).toBe(true);
      expect(p.texts.length).toBeGreaterThan(4);
      expect(p.fills.length + p.lines.length + p.images.length).toBeGreaterThan(5);
    }
  });

  it("is the same at another place", () => {
    const [here, there] = [new RecordingPainter(380, chart.height), new RecordingPainter(900, 900)];
    chart.draw(here, { x: 0, y: 0, w: 380, h: chart.height }, one);
    chart.draw(there, { x: 100, y: 200, w: 380, h: chart.height }, one);
    expect(there.texts.map((t) => [t.text, Math.round(t.box.y) - 200])).toEqual(here.texts.map((t) => [t.text, Math.round(t.box.y)]));
  });

  it("has words for whoever cannot see it", () => {
    for (const context of [one, two]) {
      const sentence = chart.describe(context);
      expect(sentence).toMatch(/^[A-Z].*\d.*\.$/);
      expect(sentence).not.toMatch(/NaN|undefined|null|Infinity/);
    }
  });

  it("has a table whose rows are as long as its head", () => {
    for (const context of [one, two]) {
      const [head, ...rows] = chart.table(context);
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) expect(row.length).toBe(head?.length);
      expect(rows.flat().join()).not.toMatch(/NaN|undefined|null|Infinity/);
    }
  });

  it("tells what lies under the pointer, and nothing beside it", () => {
    const p = new RecordingPainter(380, chart.height);
    const hover = chart.draw(p, { x: 0, y: 0, w: 380, h: chart.height }, one);
    const said: string[] = [];
    for (let x = 0; x < 380; x += 4) for (let y = 0; y < chart.height; y += 4) said.push(hover(x, y) ?? "");
    expect(said.filter((words) => words !== "").length).toBeGreaterThan(20);
    expect(said.join()).not.toMatch(/NaN|undefined|null|Infinity/);
    expect(hover(1, chart.height - 1)).toBeUndefined();
    expect(hover(-5, -5)).toBeUndefined();
  });

  it("is absent where there is nothing", () => {
    const bare = { ...sampleRun("bare", 1), percentiles: [], sizes: [], frequency: null, miss_ratio: null, parts: [], relations: [], grids: [] };
    expect(chart.has({ ...sampleMeta(), runs: [bare], pairs: null })).toBe(false);
    expect(chart.has({ ...sampleMeta(), runs: [], pairs: null })).toBe(false);
    expect(chart.has(one.meta)).toBe(true);
  });

  it("says so while counts are not there, or none is switched on", () => {
    const contexts: ChartContext[] = [
      { ...one, relation: () => undefined },
      { ...one, relation: (run, id) => empty(one.relation(run, id)?.columns ?? 1) },
    ];
    for (const context of contexts) {
      const p = new RecordingPainter(380, chart.height);
      chart.draw(p, { x: 0, y: 0, w: 380, h: chart.height }, context);
      expect(p.overlaps()).toEqual([]);
      expect(p.isFinite()).toBe(true);
      expect(chart.describe(context)).not.toMatch(/NaN|undefined|Infinity/);
      expect(chart.table(context).length).toBeGreaterThan(0);
    }
  });

  it("is an SVG without an address", () => {
    const p = new SvgPainter(380, chart.height, pngAddress);
    chart.draw(p, { x: 0, y: 0, w: 380, h: chart.height }, { ...one, palette: LIGHT });
    expect(p.toString()).not.toMatch(/NaN|undefined|Infinity/);
  });
});

it("has each chart once", () => {
  expect(new Set(SMALL_CHARTS.map((chart) => chart.id)).size).toBe(SMALL_CHARTS.length);
});

describe("odd data", () => {
  const times = { completed: 1, failed: 0, rate: null, p50_ns: null, p99_ns: null, max_ns: null };
  const odd: [string, Partial<PageRun>][] = [
    ["one point", {
      percentiles: [{ of: "service", scope: "all", requests: 10, points: [[0, 0]] }],
      sizes: [{ from_bytes: 512, to_bytes: 512, reads: 1, writes: 0 }],
      frequency: { points: [[1, 1]], markers: [], zipf_exponent: null },
      miss_ratio: { points: [[4096, 1, 1, 1]], knee: null, error: 0 },
      parts: [{ ...times, kind: "target", name: "a" }, { ...times, kind: "target", name: "b" }, { ...times, kind: "pass", name: "pass 0" }, { ...times, kind: "pass", name: "pass 1" }],
    }],
    ["zeros", {
      end_ns: 0,
      percentiles: [{ of: "service", scope: "all", requests: 100, points: [[0, 0], [1, 0]] }],
      sizes: [{ from_bytes: 0, to_bytes: 0, reads: 0, writes: 0 }],
      frequency: { points: [[0, 0], [1, 0]], markers: [["all", 0, 0]], zipf_exponent: 0 },
      miss_ratio: { points: [[0, 0, 0, 0]], knee: [0, 0], error: 0.5 },
      parts: ["target", "worker", "pass"].flatMap((kind) => Array.from({ length: 3 }, (_, i) => ({ ...times, kind, name: `${kind} ${i}`, rate: 0, p50_ns: 0, p99_ns: 0, max_ns: 0 }))),
    }],
    ["huge numbers", {
      end_ns: 2 ** 52,
      percentiles: [{ of: "response", scope: "all", requests: 1e13, points: [[0, 1], [12, 2 ** 52]] }],
      sizes: [{ from_bytes: 1, to_bytes: 1, reads: 1e13, writes: 1 }, { from_bytes: 2 ** 40, to_bytes: 2 ** 41, reads: 0, writes: 1e13 }],
      frequency: { points: [[1, 1e13], [1e13, 1]], markers: [["1/2 of the accesses", 1e6, 1e7]], zipf_exponent: 1 },
      miss_ratio: { points: [[4096, 1, 1, 1], [2 ** 52, 0, 0, 0]], knee: [2 ** 51, 0.1], error: 0.2 },
      parts: ["target", "worker", "pass"].flatMap((kind) => Array.from({ length: 4096 }, (_, i) => ({ ...times, kind, name: "x".repeat(300), rate: 1e9 * i, p50_ns: 1 + i, p99_ns: 1e12, max_ns: 1e15 }))),
    }],
  ];
  const charts = SMALL_CHARTS.flatMap((chart) => odd.map(([name, run]) => [chart.id, name, chart, run] as const));
  it.each(charts)("%s of %s", (_id, _name, chart, run) => {
    const meta = { ...one.meta, runs: [{ ...sampleRun("odd", 1), ...run }] };
    const context = { ...one, meta };
    const p = new RecordingPainter(300, chart.height);
    const hover = chart.draw(p, { x: 0, y: 0, w: 300, h: chart.height }, context);
    expect(p.overlaps()).toEqual([]);
    expect(p.outside()).toEqual([]);
    expect(p.isFinite()).toBe(true);
    const said = [chart.describe(context), ...chart.table(context).flat(), hover(150, 150) ?? "", hover(150, 60) ?? ""].join();
    expect(said).not.toMatch(/NaN|undefined|null|Infinity/);
  });

  const corners: [number, number][] = [[0, 0], [0, 513], [-1, 0], [-1, 513], [0, 200], [5, 0]];
  const relations = SMALL_CHARTS.filter(({ id }) => one.relation(0, id) !== undefined);
  it.each(relations.flatMap((chart) => corners.map((corner) => [chart.id, corner, chart] as const)))("%s with one request at %j", (id, [at, slot], chart) => {
    const columns = one.relation(0, id)?.columns ?? 1;
    const counts = empty(columns);
    const column = at < 0 ? columns - 1 : at;
    counts.reads[column * counts.slots + slot] = 1;
    const context = { ...one, relation: () => counts };
    const p = new RecordingPainter(380, chart.height);
    const hover = chart.draw(p, { x: 0, y: 0, w: 380, h: chart.height }, context);
    expect(p.overlaps()).toEqual([]);
    expect(p.isFinite()).toBe(true);
    const ink = p.images[0]?.pixels.data.filter((value, i) => i % 4 === 3 && value > 0).length;
    expect(ink).toBeGreaterThan(0);
    const said: string[] = [];
    for (let x = 0; x < 380; x += 2) for (let y = 0; y < chart.height; y += 2) said.push(hover(x, y) ?? "");
    expect(said.join("\n")).toContain(": 1 request");
  });
});
