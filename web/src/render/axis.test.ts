import { describe, expect, it } from "vitest";
import { RecordingPainter } from "../../test/recording-painter";
import { durationAxis, fitted, surround, timeAxis, valueAxis } from "./axis";
import type { Box } from "./painter";
import { LIGHT } from "./palette";
import { LinearScale, LogScale } from "./scale";
import { plainByteRate, plainBytes } from "./units";

const WIDTHS = [1, 20, 47, 90, 150, 260, 380, 700, 1400];
const HEIGHTS = [1, 12, 40, 90, 180, 420];

function plots(): [RecordingPainter, Box][] {
  return WIDTHS.flatMap((w) =>
    HEIGHTS.map((h): [RecordingPainter, Box] => [new RecordingPainter(w + 80, h + 50), { x: 60, y: 12, w, h }]),
  );
}

function labels(p: RecordingPainter): string[] {
  return p.texts.map((drawn) => drawn.text);
}

function legible(p: RecordingPainter): void {
  expect(p.overlaps()).toEqual([]);
  expect(p.outside()).toEqual([]);
  expect(p.isFinite()).toBe(true);
}

describe("axes", () => {
  const times = [
    [0, 1], [0, 900], [0, 5e6], [0, 1e9], [0, 18.5e9], [0, 1340e9], [64.1e9, 66e9], [65.025e9, 65.0251e9], [0, 3600e9],
    [0, 5 * 3600e9], [7200e9, 7201e9], [7200e9, 7200.001e9], [0, 9 * 86_400e9], [5e9, 5e9], [-2e9, 3e9],
  ] as const;
  it.each(times)("of time from %d to %d", (from, to) => {
    for (const [p, box] of plots()) {
      timeAxis(p, box, LIGHT, from, to, "time");
      valueAxis(p, box, LIGHT, new LinearScale(0, 123, box.y + box.h, box.y), plainByteRate);
      legible(p);
    }
  });

  it.each([[0, 3], [0, 999], [0, 10_000_000], [123_456, 123_466], [0, 1e11]])("of numbers from %d to %d", (from, to) => {
    for (const [p, box] of plots()) {
      timeAxis(p, box, LIGHT, from, to, "number");
      valueAxis(p, box, LIGHT, new LogScale(1, 1e9, box.y + box.h, box.y), plainBytes);
      legible(p);
    }
  });

  it.each([[1e3, 1e11], [0, 1e9], [2e6, 3e6], [5e4, 5e4]])("of durations from %d to %d", (from, to) => {
    for (const [p, box] of plots()) {
      const scale = new LogScale(Math.max(1, from), to, box.y + box.h, box.y);
      durationAxis(p, box, LIGHT, (ns) => scale.at(ns), from, to);
      timeAxis(p, box, LIGHT, 0, 60e9, "time");
      legible(p);
    }
  });

  it("has the words that people use", () => {
    const p = new RecordingPainter(500, 300);
    const box = { x: 60, y: 10, w: 420, h: 200 };
    const scale = new LogScale(1e4, 1e10, 210, 10);
    durationAxis(p, box, LIGHT, (ns) => scale.at(ns), 1e4, 1e10);
    expect(labels(p)).toEqual(["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
  });

  it.each([
    [0, 1340e9, ["0", "200 s", "400 s", "600 s", "800 s", "1000 s", "1200 s"]],
    [64.1e9, 66e9, ["64.5 s", "65.0 s", "65.5 s", "66.0 s"]],
    [0, 250e6, ["0", "50 ms", "100 ms", "150 ms", "200 ms", "250 ms"]],
    [0, 4 * 3600e9, ["0", "1:00:00", "2:00:00", "3:00:00", "4:00:00"]],
    [1800e9, 5400e9, ["0:30:00", "0:40:00", "0:50:00", "1:00:00", "1:10:00", "1:20:00", "1:30:00"]],
  ])("tells times from %d to %d", (from, to, expected) => {
    const p = new RecordingPainter(600, 100);
    timeAxis(p, { x: 60, y: 0, w: 500, h: 50 }, LIGHT, from, to, "time");
    expect(labels(p)).toEqual(expected);
  });

  it("always has a label where there is room for one", () => {
    const p = new RecordingPainter(380, 100);
    timeAxis(p, { x: 60, y: 0, w: 300, h: 50 }, LIGHT, 65.025e9, 65.02500001e9, "time");
    expect(labels(p).length).toBeGreaterThan(0);
  });
});

describe("surroundings", () => {
  const keys = ["reads", "writes", "response", "a very long word for something small"].map((text) => ({ text, color: "#000000" }));
  it.each([60, 120, 250, 380, 900])("have room in %d pixels", (width) => {
    const p = new RecordingPainter(width, 280);
    const plot = surround(p, { x: 0, y: 0, w: width, h: 280 }, LIGHT, { keys, x: "size of the cache, log", y: "misses of all accesses" });
    valueAxis(p, plot, LIGHT, new LinearScale(0, 100, plot.y + plot.h, plot.y), String);
    timeAxis(p, plot, LIGHT, 0, 100e9, "time");
    legible(p);
  });

  it("cut what is too long", () => {
    const p = new RecordingPainter(100, 100);
    const style = { size: 11, color: "#000000" };
    expect(fitted(p, "short", style, 100)).toBe("short");
    const cut = fitted(p, "something rather long", style, 60);
    expect(cut.endsWith("…")).toBe(true);
    expect(p.measure(cut, style)).toBeLessThanOrEqual(60);
    expect(fitted(p, "long", style, 1)).toBe("");
  });
});
