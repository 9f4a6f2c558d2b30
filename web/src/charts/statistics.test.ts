import { describe, expect, it } from "vitest";
import { interval, median, outliers } from "./statistics";

describe("statistics", () => {
  it("has medians", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([])).toBe(0);
  });

  it("has intervals of the median from 6 values on", () => {
    expect(interval([5, 1, 3, 2, 4])).toBeUndefined();
    expect(interval([5, 1, 3, 2, 4, 6])).toEqual([1, 6]);
    // Of 20 values the 6th from both sides: 2 · 0.0207 lie outside.
    expect(interval(Array.from({ length: 20 }, (_, i) => i + 1))).toEqual([6, 15]);
    expect(interval(Array.from({ length: 1001 }, (_, i) => i))).toBeUndefined();
  });

  it("knows who stands out", () => {
    const alike = [100, 101, 99, 100, 102, 98, 100, 101, 99, 100];
    expect(outliers([...alike, 160])(160)).toBe(true);
    expect(outliers([...alike, 104])(104)).toBe(false);
    expect(outliers([1, 1, 100])(100)).toBe(false);
    expect(outliers([0, 0, 0, 0, 0, 5])(5)).toBe(false);
  });
});
