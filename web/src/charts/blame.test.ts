import { describe, expect, it } from "vitest";
import { RecordingPainter } from "../../test/recording-painter";
import { sampleMeta, sampleRun } from "../../test/sample";
import type { PageBlame, PageRun } from "../format/page";
import type { Range, View } from "../model/view";
import { DARK, LIGHT, type Palette } from "../render/palette";
import { blameStrips, mostIn, slicesIn } from "./blame";
import type { Scene } from "./scene";

/** Ten slices of 1 s from 2 s on. */
const BLAME: PageBlame = {
  from_ns: 2e9,
  slice_ns: 1e9,
  rows: [
    { cause: "halted", label: "halted", measure: "of the time", percent: [0, 0, 100, 100, 0, 0, 0, 0, 0, 0] },
    { cause: "others", label: "others on vda", measure: "of the device's greatest rate", percent: [10, 20, 30, 40, 50, 60, 70, 80, 90, 1] },
  ],
};

const run: PageRun = { ...sampleRun("run", 1), end_ns: 20e9, blame: BLAME };

function sceneOf(time: Range = [0, 20e9], palette: Palette = LIGHT, of: PageRun = run): Scene {
  return { meta: sampleMeta(), index: 0, run: of, view: { time, base: "start" } as View, palette, ratio: 1 } as Scene;
}

const strip = blameStrips([run])[0]!;

function drawn(scene: Scene, width = 1098) {
  const p = new RecordingPainter(width, strip.height);
  return { p, ...strip.draw(p, { x: 0, y: 0, w: width, h: strip.height }, scene) };
}

/** Boxes in a colour, as times and the opacity. */
function boxes(p: RecordingPainter, color: string, [from, to]: Range) {
  const plot = p.width - 98;
  const time = (x: number) => Math.round((from + ((x - 74) / plot) * (to - from)) / 1e8) / 10;
  return p.fills
    .filter((fill) => fill.color.startsWith(color))
    .map(({ box, color }) => [time(box.x), time(box.x + box.w), Number.parseInt(color.slice(7), 16)] as const);
}

describe("causes over time", () => {
  it("have a strip only where a run has any", () => {
    expect(blameStrips([{ ...run, blame: null }])).toEqual([]);
    expect(blameStrips([{ ...run, blame: null }, run])).toHaveLength(1);
    expect([strip.has(run), strip.has({ ...run, blame: null })]).toEqual([true, false]);
  });

  it.each([LIGHT, DARK])("are boxes at their times, the darker the more", (palette) => {
    const { p } = drawn(sceneOf([0, 20e9], palette));
    expect(boxes(p, palette.series[3]!, [0, 20e9])).toEqual([[4, 6, 255]]);
    const others = boxes(p, palette.series[1]!, [0, 20e9]);
    expect(others.map(([from, to]) => [from, to])).toEqual(Array.from({ length: 10 }, (_, i) => [2 + i, 3 + i]));
    const ink = others.map(([, , opacity]) => opacity).slice(0, 9);
    expect([...ink].sort((a, b) => a - b)).toEqual(ink);
    // One percent is still seen.
    expect(others[9]![2]).toBeGreaterThan(20);
  });

  it("follow the zoom, and stay inside of the plot", () => {
    const { p } = drawn(sceneOf([4.5e9, 5.5e9]));
    expect(boxes(p, LIGHT.series[3]!, [4.5e9, 5.5e9])).toEqual([[4.5, 5.5, 255]]);
    expect(boxes(drawn(sceneOf([13e9, 14e9])).p, LIGHT.series[1]!, [13e9, 14e9])).toEqual([]);
  });

  it("keep a short one in a narrow picture", () => {
    const percent = Array.from({ length: 512 }, (_, i) => (i === 300 ? 5 : 0));
    const short: PageRun = { ...run, blame: { from_ns: 0, slice_ns: 1e9, rows: [{ ...BLAME.rows[0]!, percent }] } };
    const { p } = drawn(sceneOf([0, 512e9], LIGHT, short), 200);
    expect(boxes(p, LIGHT.series[3]!, [0, 512e9])).toHaveLength(1);
  });

  it("have their figures under the pointer, in words and in a table", () => {
    const { hover } = drawn(sceneOf());
    expect(hover(74 + (4.5 / 20) * 1000, 20)).toBe("4.50 s · halted 100 % of the time · others on vda 30 % of the device's greatest rate");
    expect(hover(74 + (16 / 20) * 1000, 20)).toBe("16.00 s · no cause is known");
    expect(hover(10, 20)).toBeUndefined();
    expect(strip.describe(sceneOf())).toBe(
      "Causes of waiting over time. halted: up to 100 % of the time, from 4.00 s to 6.00 s; others on vda: up to 90 % of the device's greatest rate, from 2.00 s to 12.00 s.",
    );
    const [head, ...rows] = strip.table(sceneOf([2e9, 12e9]));
    expect(head).toEqual(["From", "halted", "others on vda"]);
    expect(rows).toHaveLength(24);
    expect(rows[5]).toEqual(["4.08 s", "100 %", "30 %"]);
  });

  it("know which slices a part of the time touches", () => {
    const row = BLAME.rows[1]!;
    expect(slicesIn(BLAME, row, [0, 1e9])).toEqual([0, 0]);
    expect(slicesIn(BLAME, row, [3.5e9, 4.5e9])).toEqual([1, 3]);
    expect(slicesIn(BLAME, row, [0, 100e9])).toEqual([0, 10]);
    expect(mostIn(BLAME, row, [3.5e9, 4.5e9])).toBe(30);
    expect(mostIn(BLAME, row, [50e9, 60e9])).toBeUndefined();
  });
});
