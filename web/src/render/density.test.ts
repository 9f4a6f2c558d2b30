import { describe, expect, test } from "vitest";
import { add, emptyLevel, pyramid } from "../model/pyramid";
import { Cells, columnBins, DensityBrush, InkScale, Shades, slotBins } from "./density";
import { DARK, LIGHT } from "./palette";

const SLOTS = 514;
const FREQUENCIES = new Map([
  [1, 50],
  [10, 20],
  [1000, 1],
]);

function channels(color: number): [number, number, number] {
  return [color & 255, (color >> 8) & 255, (color >> 16) & 255];
}

describe("bins", () => {
  test.each([
    [0, 1000, 300],
    [17.5, 93.2, 640],
    [0, 50_000, 1200],
    [999, 1000, 64],
  ])("columns from %d to %d over %i pixels are at least a pixel wide", (from, to, pixels) => {
    const bins = columnBins(from, to, pixels, 1, 1000, 11);
    const seen = new Set(bins.ofPixel);
    seen.delete(-1);
    expect(Math.max(...seen)).toBeLessThan(bins.count);
    if (bins.level > 0) expect(2 ** bins.level).toBeLessThan((2 * (to - from)) / pixels);
    expect(2 ** bins.level).toBeGreaterThanOrEqual(Math.min((to - from) / pixels, 1));
  });

  test("each slot in sight has pixels, and equally many share a bin", () => {
    for (const pixels of [100, 400, 514, 900]) {
      const bins = slotBins(pixels, SLOTS, (y) => SLOTS * (1 - y / pixels), true);
      expect(bins.ofSlot.every((b) => b >= 0)).toBe(true);
      expect(new Set(bins.ofPixel).size).toBe(bins.count);
    }
  });

  test("on an irregular axis no slot is lost", () => {
    const bins = slotBins(300, SLOTS, (y) => SLOTS * (1 - y / 300) ** 0.3, false);
    expect(bins.ofSlot.every((b) => b >= 0 && b < bins.count)).toBe(true);
    for (let y = 1; y < 300; y++) expect(bins.ofPixel[y]).toBeLessThanOrEqual(bins.ofPixel[y - 1]!);
  });
});

describe("counting", () => {
  test.each([
    [0, 1000],
    [100, 356],
    [255, 257],
    [511.5, 700.25],
  ])("what lies between columns %d and %d is all there, once", (from, to) => {
    const level = emptyLevel(1000);
    let wanted = 0;
    for (let i = 0; i < 4000; i++) {
      const [column, slot] = [(i * 7919) % 1000, (i * 31) % SLOTS];
      add(level, SLOTS, column, slot, 1 + (i % 5) * 30_000);
      if (column >= Math.floor(from) && column < Math.ceil(to)) wanted += 1 + (i % 5) * 30_000;
    }
    const tree = pyramid(level, SLOTS);
    const columns = columnBins(from, to, 1400, 1, 1000, tree.levels.length);
    const slots = slotBins(400, SLOTS, (y) => SLOTS * (1 - y / 400), true);
    const cells = new Cells();
    cells.reset(columns.count, slots.count);
    cells.addGrid(0, tree, columns, slots);
    expect(cells.total()).toBe(wanted);
  });
});

describe("ink", () => {
  test.each(["log", "equal", "linear"] as const)("%s grows with the count, from 0 to 1", (transfer) => {
    const scale = InkScale.of(transfer, FREQUENCIES);
    expect([scale.of(1), scale.of(1000), scale.of(5000)]).toEqual([0, 1, 1]);
    expect(scale.of(10)).toBeGreaterThan(scale.of(1));
    expect(scale.of(10)).toBeLessThan(1);
  });

  test("where nothing piles up all is drawn in full strength", () =>
    expect(InkScale.of("log", new Map([[1, 9]])).of(1)).toBe(1));
});

describe("shades", () => {
  const light = new Shades(LIGHT, InkScale.of("log", FREQUENCIES));

  test("nothing is nothing", () => expect(light.color(0, 0, 0, 0)).toBe(0));

  test("reads are blue, writes red, both violet; more is darker on light and lighter on dark", () => {
    const [read, write, both] = [
      light.color(1000, 0, 0, 0),
      light.color(0, 1000, 0, 0),
      light.color(500, 500, 0, 0),
    ].map(channels);
    expect(read![2]).toBeGreaterThan(read![0]);
    expect(write![0]).toBeGreaterThan(write![2]);
    expect(both![0]).toBeGreaterThan(read![0]);
    expect(both![2]).toBeGreaterThan(write![2]);
    const sum = (c: number) => channels(c).reduce((a, b) => a + b, 0);
    expect(sum(light.color(1, 0, 0, 0))).toBeGreaterThan(sum(light.color(1000, 0, 0, 0)));
    const dark = new Shades(DARK, InkScale.of("log", FREQUENCIES));
    expect(sum(dark.color(1, 0, 0, 0))).toBeLessThan(sum(dark.color(1000, 0, 0, 0)));
  });

  test("one request is seen", () => expect(channels(light.color(1, 0, 0, 0))[0]).toBeLessThan(160));

  test("one pushed request among thousands is seen", () => {
    const [without, with_] = [light.color(0, 9999, 0, 0), light.color(0, 9998, 0, 1)].map(channels);
    expect(without![0] - with_![0]).toBeGreaterThan(40);
  });
});

describe("painting", () => {
  /** Pixels that are lit, one cell a pixel. */
  function lit(points: readonly (readonly [number, number])[]): { at: (x: number, y: number) => boolean; lit: number } {
    const same = { count: 8, ofPixel: Int32Array.from({ length: 8 }, (_, i) => i) };
    const cells = new Cells();
    cells.reset(8, 8);
    points.forEach(([x, y]) => cells.add(0, x, y));
    const painted = new DensityBrush().paint(cells, same, same, () => 0xff0000ff);
    return { at: (x, y) => painted.pixels.data[(y * 8 + x) * 4 + 3] === 255, lit: painted.lit };
  }

  test("lone pixels grow, neighbours do not", () => {
    const picture = lit([
      [1, 1],
      [5, 5],
      [6, 5],
    ]);
    expect([picture.at(1, 1), picture.at(2, 1), picture.at(1, 2), picture.at(2, 2)]).toEqual([true, true, true, true]);
    expect([picture.at(5, 5), picture.at(6, 5), picture.at(7, 5), picture.at(5, 6)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(picture.lit).toBe(6);
  });

  test("at the edge nothing grows beyond it", () => expect(lit([[7, 7]]).lit).toBe(1));
});
