import { describe, expect, it } from "vitest";
import { LinearScale, LogScale, roundStep } from "./scale";

describe("linear scale", () => {
  it("goes there and back", () => {
    const scale = new LinearScale(10, 30, 200, 100);
    expect(scale.at(10)).toBe(200);
    expect(scale.at(30)).toBe(100);
    expect(scale.invert(scale.at(17))).toBeCloseTo(17, 9);
  });

  it("has ticks at 1, 2, 5", () => {
    expect(new LinearScale(0, 1, 0, 100).ticks(5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(new LinearScale(0, 0.3, 0, 100).ticks(3)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(new LinearScale(-5, 43, 0, 100).ticks(5)).toEqual([0, 10, 20, 30, 40]);
    expect(new LinearScale(3, 3, 0, 100).ticks(5)).toEqual([3]);
  });

  it("has about as many ticks as asked for", () => {
    for (let span = 1e-6; span < 1e15; span *= 1.7) {
      const ticks = new LinearScale(span * 0.3, span * 1.3, 0, 1).ticks(8);
      expect(ticks.length).toBeGreaterThanOrEqual(3);
      expect(ticks.length).toBeLessThanOrEqual(9);
    }
  });
});

describe("log scale", () => {
  it("goes there and back", () => {
    const scale = new LogScale(1e3, 1e9, 300, 0);
    expect(scale.at(1e6)).toBeCloseTo(150, 9);
    expect(scale.invert(scale.at(12_345))).toBeCloseTo(12_345, 6);
    expect(scale.at(0)).toBe(300);
  });

  it("has ticks at decades, finer if there is room", () => {
    expect(new LogScale(1e3, 1e6, 0, 1).ticks(4)).toEqual([1e3, 1e4, 1e5, 1e6]);
    expect(new LogScale(1, 100, 0, 1).ticks(6)).toEqual([1, 2, 5, 10, 20, 50, 100]);
    expect(new LogScale(1, 1e12, 0, 1).ticks(4)).toEqual([1, 1e3, 1e6, 1e9, 1e12]);
    expect(new LogScale(0.001, 1, 0, 1).ticks(3)).toEqual([0.001, 0.01, 0.1, 1]);
  });

  it("has ticks within a part of a decade", () => {
    expect(new LogScale(3.1, 4.2, 0, 1).ticks(6)).toEqual([3.2, 3.4, 3.6, 3.8, 4, 4.2]);
    expect(new LogScale(5, 5, 0, 1).ticks(5)).toEqual([5]);
  });
});

it("rounds steps up", () => {
  expect([0.9, 1, 1.1, 2.1, 5.1, 70].map(roundStep)).toEqual([1, 1, 2, 5, 10, 100]);
});
