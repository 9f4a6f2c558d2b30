import { describe, expect, it } from "vitest";
import { machineOf, makeRequests } from "../../test/fixture";
import { RecordingPainter } from "../../test/recording-painter";
import { sampleMeta, sampleRun } from "../../test/sample";
import type { PageMachine, PageRun } from "../format/page";
import type { Range, View } from "../model/view";
import { DARK, LIGHT } from "../render/palette";
import type { Point } from "../render/painter";
import { pngAddress } from "../../test/png";
import { SvgPainter } from "../render/svg";
import { extentOf, inSight, machineStrips, thinned } from "./machine";
import type { Scene, TimeChart } from "./scene";

const requests = makeRequests({ requests: 100 });
const WIDTHS = [240, 340, 600, 1200];

function runOf(machine: PageMachine | null): PageRun {
  return { ...sampleRun("run", 1), end_ns: requests.endNs, machine };
}

function sceneOf(run: PageRun, time: Range = [0, requests.endNs], more: Partial<Scene> = {}, base: View["base"] = "start"): Scene {
  const view = { time, base, shown: "both" } as View;
  return { meta: sampleMeta(), index: 0, run, view, palette: LIGHT, ratio: 1, ...more } as Scene;
}

function drawn(chart: TimeChart, scene: Scene, width = 1098) {
  const p = new RecordingPainter(width, chart.height);
  return { p, ...chart.draw(p, { x: 0, y: 0, w: width, h: chart.height }, scene) };
}

/** Two devices and a stack over four steps of 10 ns; nothing was sampled in the third. */
const small: PageMachine = {
  times_ns: [0, 10, 20, 30, 40],
  devices: 3,
  lanes: [
    {
      id: "utilization",
      title: "Utilization, %",
      unit: "%",
      most: 100,
      is_stacked: false,
      is_by_device: true,
      curves: [
        { name: "sda", values: [50, 100, null, 25] },
        { name: "sdb", values: [0, 1.2345, null, 12.5] },
      ],
    },
    {
      id: "cpu",
      title: "CPUs, %",
      unit: "%",
      most: 100,
      is_stacked: true,
      is_by_device: false,
      curves: [
        { name: "programs", values: [10, 20, null, 30] },
        { name: "kernel", values: [5, 10, null, 15] },
      ],
    },
  ],
};
const [utilization, cpu] = machineStrips([runOf(small)]) as [TimeChart, TimeChart];
const whole = sceneOf(runOf(small), [0, 40]);
/** Of a plot that is 1000 pixels wide. */
const x = (ns: number) => 74 + (ns / 40) * 1000;

describe("strips of the machine", () => {
  it("are as many as lanes of any run, each once, and none without samples", () => {
    const of = (...machines: (PageMachine | null)[]) => machineStrips(machines.map(runOf)).map(({ id }) => id);
    expect(of(null)).toEqual([]);
    expect(of(small)).toEqual(["machine-utilization", "machine-cpu"]);
    expect(of(null, small)).toEqual(["machine-utilization", "machine-cpu"]);
    expect(of(small, machineOf(requests, 10))).toContain("machine-memory");
    expect(utilization.has(runOf(null))).toBe(false);
    expect(utilization.has(runOf({ ...small, lanes: small.lanes.slice(1) }))).toBe(false);
  });

  it("tell each curve with its unit under the pointer, and nothing beside the plot", () => {
    const { hover } = drawn(utilization, whole);
    expect(hover(x(5), 50)).toMatch(/ · sda 50 % · sdb 0 %$/);
    expect(hover(x(15), 50)).toMatch(/ · sda 100 % · sdb 1.23 %$/);
    expect(hover(x(25), 50)).toMatch(/ · sda – · sdb –$/);
    expect([hover(70, 50), hover(1080, 50)]).toEqual([undefined, undefined]);
    // Of a stack each value is its own, not the sum.
    expect(drawn(cpu, whole).hover(x(35), 50)).toMatch(/ · programs 30 % · kernel 15 %$/);
  });

  it("have lines that end at gaps", () => {
    const { p } = drawn(utilization, whole);
    const [one, two] = [LIGHT.series[0], LIGHT.series[1]].map((color) => p.lines.filter(({ stroke }) => stroke.color === color));
    expect([one!.length, two!.length]).toEqual([2, 2]);
    const xs = one!.map(({ points }) => points.map(([at]) => Math.round(at)));
    expect(xs).toEqual([[x(0), x(10), x(10), x(20)], [x(30), x(40)]]);
  });

  it("stack areas, the uppermost behind", () => {
    const { p } = drawn(cpu, whole);
    const tops = p.areas.map(({ points, color }) => [color, Math.min(...points.map(([, y]) => y))] as const);
    expect(tops.map(([color]) => color)).toEqual([LIGHT.series[1], LIGHT.series[1], LIGHT.series[0], LIGHT.series[0]]);
    // 92 pixels for 100 %.
    expect(tops.map(([, y]) => Math.round(100 - y))).toEqual([30, 45, 20, 30].map((n) => Math.round(n * 0.92)));
  });

  it("say how many devices are missing, and that samples have no numbers", () => {
    expect(drawn(utilization, whole).note).toBe("the 2 busiest of 3 devices");
    expect(drawn(cpu, whole).note).toBeUndefined();
    expect(drawn(utilization, sceneOf(runOf(small), [0, 40], {}, "number")).note).toMatch(/no numbers: these strips stay over time$/);
    expect(drawn(utilization, sceneOf(runOf({ ...small, devices: 2 }), [0, 40])).note).toBeUndefined();
  });

  it("show B dashed: in the colour of A where the name is the same", () => {
    const other = { ...small.lanes[0]!, curves: [{ name: "sdb", values: [9, 9, 9, 9] }, { name: "sdx", values: [8, 8, 8, 8] }] };
    const b = runOf({ ...small, lanes: [other, small.lanes[1]!] });
    const scene = sceneOf(runOf(small), [0, 40], { beside: { run: b } as NonNullable<Scene["beside"]> });
    const dashed = (chart: TimeChart) => drawn(chart, scene).p.lines.filter(({ stroke }) => stroke.dash !== undefined).map(({ stroke }) => stroke.color);
    expect(dashed(utilization)).toEqual([LIGHT.series[1], LIGHT.series[2]]);
    // The sum of a stack, in two parts.
    expect(dashed(cpu)).toEqual([LIGHT.text, LIGHT.text]);
    const names = (chart: TimeChart) => {
      const p = new RecordingPainter(208, chart.height);
      chart.side!(p, { x: 0, y: 0, w: 208, h: chart.height }, scene);
      return p.texts.map(({ text }) => text);
    };
    expect(names(utilization)).toEqual(["sda", "sdb", "the same in B", "sdx in B"]);
    expect(names(cpu)).toEqual(["programs", "kernel", "all in B"]);
  });

  it("describe what is in sight, also in a table", () => {
    expect(utilization.describe(whole)).toBe("Utilization, %, from samples of the kernel's counters: sda 25 to 100 %, sdb 0 to 12.5 %.");
    expect(utilization.table(whole)).toEqual([
      ["From", "sda", "sdb"],
      ["0", "50 %", "0 %"],
      ["0.00 s", "100 %", "1.23 %"],
      ["0.00 s", "–", "–"],
      ["0.00 s", "25 %", "12.5 %"],
    ].map((row, i) => [i === 0 ? "From" : expect.any(String), ...row.slice(1)]));
    expect(utilization.table(sceneOf(runOf(small), [50, 60]))).toHaveLength(1);
  });
});

describe("many samples", () => {
  const run = runOf(machineOf(requests, 4096));
  const strips = machineStrips([run]);

  it.each(strips.map((chart) => [chart.id, chart] as const))("%s is legible in any width, and an SVG", (_, chart) => {
    for (const width of WIDTHS)
      for (const palette of [LIGHT, DARK])
        for (const time of [[0, requests.endNs], [100e9, 100.5e9], [requests.endNs * 0.26, requests.endNs * 0.27]] as const) {
          const { p } = drawn(chart, sceneOf(run, time, { palette }), width);
          expect(p.overlaps()).toEqual([]);
          expect(p.outside()).toEqual([]);
          expect(p.isFinite()).toBe(true);
          const side = new RecordingPainter(208, chart.height);
          chart.side!(side, { x: 0, y: 0, w: 208, h: chart.height }, sceneOf(run, time, { palette }));
          expect([side.overlaps(), side.outside()]).toEqual([[], []]);
        }
    const svg = new SvgPainter(600, chart.height, pngAddress);
    chart.draw(svg, { x: 0, y: 0, w: 600, h: chart.height }, sceneOf(run));
    expect(svg.toString()).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("lose neither the least nor the most of a pixel", () => {
    const chart = strips[1]!;
    const { p, hover } = drawn(chart, sceneOf(run), 400);
    const lane = run.machine!.lanes[1]!;
    lane.curves.forEach(({ values }, i) => {
      const lines = p.lines.filter(({ stroke }) => stroke.color === LIGHT.series[i] && stroke.width === 1.5);
      const points = lines.flatMap(({ points: all }) => all);
      expect(points.length).toBeLessThan(1500);
      const known = values.flatMap((v) => (v === null ? [] : [v]));
      const top = Math.max(...lane.curves.flatMap((curve) => curve.values.map((v) => v ?? 0))) * 1.06;
      const y = (value: number) => 100 - (value / top) * 92;
      expect(Math.min(...points.map((point) => point[1]))).toBeCloseTo(y(Math.max(...known)), 6);
      expect(Math.max(...points.map((point) => point[1]))).toBeCloseTo(y(Math.min(...known)), 6);
    });
    expect(hover(200, 50)).toMatch(/nvme0n1 [\d.]+ to [\d.]+ · /);
  });

  it("keep the mean of each pixel in areas", () => {
    const { p } = drawn(strips[3]!, sceneOf(run), 400);
    const values = run.machine!.lanes[3]!.curves[0]!.values;
    const mean = (from: number, to: number) => extentOf({ times: run.machine!.times_ns, values }, [from, to])!.mean;
    const lowest = p.areas.filter(({ color }) => color === LIGHT.series[0]);
    const first = lowest[0]!.points[1]!;
    expect(100 - first[1]).toBeCloseTo(mean(0, requests.endNs / 302) * 0.92, 3);
    // A gap stays a gap.
    expect(lowest).toHaveLength(2);
  });
});

describe("parts of tracks", () => {
  const times = [0, 10, 20, 30];

  it("are the steps that a range touches", () => {
    expect(inSight(times, [0, 30])).toEqual([0, 3]);
    expect(inSight(times, [12, 14])).toEqual([1, 2]);
    expect(inSight(times, [-5, 5])).toEqual([0, 1]);
    expect(inSight(times, [35, 40])).toEqual([3, 3]);
    expect(inSight(times, [-9, -5])).toEqual([0, 0]);
  });

  it("have extents over time", () => {
    const track = { times, values: [10, null, 40] };
    expect(extentOf(track, [5, 25])).toEqual({ least: 10, mean: 25, most: 40 });
    expect(extentOf(track, [12, 15])).toBeUndefined();
    expect(extentOf(track, [29, 29])?.mean).toBeCloseTo(40, 9);
  });

  it("are thinned to four points in a column of pixels", () => {
    const points = Array.from({ length: 1000 }, (_, i): Point => [i / 100, (i * 37) % 101]);
    const kept = thinned(points);
    expect(kept.length).toBeLessThanOrEqual(40);
    for (let column = 0; column < 10; column++) {
      const ys = (all: readonly Point[]) => all.filter(([at]) => Math.floor(at) === column).map(([, y]) => y);
      const [before, after] = [ys(points), ys(kept)];
      expect([Math.min(...after), Math.max(...after)]).toEqual([Math.min(...before), Math.max(...before)]);
      expect([after[0], after.at(-1)]).toEqual([before[0], before.at(-1)]);
    }
    const few: Point[] = [[0, 1], [5, 1], [5, 2], [9, 2]];
    expect(thinned(few)).toEqual(few);
  });
});
