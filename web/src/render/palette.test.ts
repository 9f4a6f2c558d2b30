import { describe, expect, it } from "vitest";
import { ciede2000, contrast, lab, type Triple, VISIONS } from "../../test/vision";
import { DARK, faded, LIGHT, mix, type Palette, rgb } from "./palette";

type Name = Exclude<keyof Palette, "dark" | "series">;

const MARKS: readonly Name[] = ["read", "write", "readPushed", "writePushed", "flush", "demanded", "actual", "ok", "bad", "axis"];
const WORDS: readonly Name[] = ["text", "faint", "caution"];
/** Colours that meet in a panel and are told apart by nothing else. A limit's line among requests has words at its end. */
const PANELS: readonly (readonly Name[])[] = [
  ["read", "write", "readPushed", "writePushed", "flush"],
  ["read", "write", "demanded", "actual"],
  ["read", "write", "text"],
  ["demanded", "actual", "bad"],
  ["ok", "bad"],
];

function pairs(names: readonly Name[]): [Name, Name][] {
  return names.flatMap((a, i) => names.slice(i + 1).map((b): [Name, Name] => [a, b]));
}

describe.each([
  ["light", LIGHT],
  ["dark", DARK],
])("%s", (_, palette) => {
  it.each(MARKS)("%s has 3:1 on the panel", (name) => {
    expect(contrast(rgb(palette[name]), rgb(palette.panel))).toBeGreaterThanOrEqual(3);
  });

  it("lines of a series have 3:1 on the panel", () => {
    for (const color of palette.series) expect(contrast(rgb(color), rgb(palette.panel)), color).toBeGreaterThanOrEqual(3);
  });

  it.each(Object.entries(VISIONS))("lines of a series differ under %s vision", (_, vision) => {
    palette.series.forEach((a, i) => {
      for (const b of palette.series.slice(i + 1)) {
        const difference = ciede2000(lab(rgb(a), vision), lab(rgb(b), vision));
        expect(difference, `${a} and ${b}`).toBeGreaterThanOrEqual(12);
      }
    });
  });

  it.each(WORDS)("%s has 4.5:1 on panel and background", (name) => {
    for (const ground of [palette.panel, palette.background]) {
      expect(contrast(rgb(palette[name]), rgb(ground))).toBeGreaterThanOrEqual(4.5);
    }
  });

  it.each(Object.entries(VISIONS))("colours of a panel differ under %s vision", (_, vision) => {
    for (const [a, b] of PANELS.flatMap(pairs)) {
      const difference = ciede2000(lab(rgb(palette[a]), vision), lab(rgb(palette[b]), vision));
      expect(difference, `${a} and ${b}`).toBeGreaterThanOrEqual(12);
    }
  });
});

describe("colours", () => {
  it("are read, faded and mixed", () => {
    expect(rgb("#1a5fb4")).toEqual([26, 95, 180]);
    expect(rgb("#1a5fb480")).toEqual([26, 95, 180]);
    expect(faded("#1a5fb4", 0.5)).toBe("#1a5fb480");
    expect(faded("#1a5fb4", 0)).toBe("#1a5fb400");
    expect(mix([0, 0, 0], [10, 20, 30], 0.5)).toEqual([5, 10, 15]);
  });

  it("have the known contrast", () => {
    expect(contrast([0, 0, 0], [255, 255, 255])).toBeCloseTo(21, 6);
    expect(contrast(rgb("#ff0000"), [255, 255, 255])).toBeCloseTo(4, 2);
  });

  /** Of the paper's table 1. */
  const KNOWN: [Triple, Triple, number][] = [
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
    [[50, 3.1571, -77.2803], [50, 0, -82.7485], 2.8615],
    [[50, 2.8361, -74.02], [50, 0, -82.7485], 3.4412],
    [[50, 0, 0], [50, -1, 2], 2.3669],
    [[50, 2.49, -0.001], [50, -2.49, 0.0009], 7.1792],
    [[50, 2.49, -0.001], [50, -2.49, 0.0011], 7.2195],
    [[50, 2.5, 0], [73, 25, -18], 27.1492],
    [[50, 2.5, 0], [61, -5, 29], 22.8977],
    [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
    [[2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082],
  ];
  it.each(KNOWN)("%j and %j differ by %d", (a, b, difference) => {
    expect(ciede2000(a, b)).toBeCloseTo(difference, 4);
    expect(ciede2000(b, a)).toBeCloseTo(difference, 4);
  });
});
