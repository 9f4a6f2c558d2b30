import { describe, expect, test } from "vitest";
import { random } from "../../test/fixture";
import { pointsOf, type TestRequest } from "../../test/points";
import { END, sceneOf } from "../../test/scene";
import { EXCEPTIONAL } from "../format/points";
import { bubbleUp, type BubbleUp, percentWords } from "./bubble-up";

/** Single requests at first, then batches whose requests wait for each other. */
function bursts(): TestRequest[] {
  const next = random(3);
  const all: TestRequest[] = [];
  for (let i = 0; i < 800; i++)
    all.push({ submittedUs: i * 10_000, latencyNs: 100_000 * (0.9 + 0.2 * next()), offset: Math.floor(next() * 1e6) * 4096, number: all.length });
  for (let i = 0; i < 40; i++)
    for (let k = 0; k < 10; k++)
      all.push({ submittedUs: i * 200_000 + 5_000 + k * 10, latencyNs: 1e6 * (k + 1), flags: 1, offset: Math.floor(next() * 1e6) * 4096, number: all.length });
  return all.sort((a, b) => a.submittedUs - b.submittedUs);
}

function compared(found: BubbleUp | string): BubbleUp {
  if (typeof found === "string") throw new Error(found);
  return found;
}

const sentenceOf = (found: BubbleUp, id: string) => found.differences.find(({ attribute }) => attribute.id === id)!.sentence;

describe("comparison of brushed requests", () => {
  test("names the attributes that make the slow ones different", async () => {
    const found = compared(bubbleUp(await sceneOf([pointsOf(bursts())]), { x: [0, END], y: [5e5, 1e10] }));
    expect([found.inside, found.outside]).toEqual([400, 800]);
    expect(sentenceOf(found, "batch")).toBe("100 % of the selected requests were submitted within 100 µs of another, 0 % of the others.");
    expect(sentenceOf(found, "operation")).toBe("100 % of the selected requests are writes, 0 % of the others.");
    const certain = found.differences.filter((d) => d.isCertain).map((d) => d.attribute.id);
    expect(certain).toEqual(expect.arrayContaining(["operation", "batch", "gap", "in-flight"]));
    // Places were drawn at random for both.
    expect(certain).not.toContain("place");
    expect(found.notes).toEqual([]);
  });

  test("differences are sorted, and all shares sum to 1", async () => {
    const { differences } = compared(bubbleUp(await sceneOf([pointsOf(bursts())]), { x: [1e9, 3e9], y: [5e6, 1e10] }));
    const distances = differences.map((d) => d.distance);
    expect(distances).toEqual([...distances].sort((a, b) => b - a));
    for (const { inside, outside } of differences)
      for (const side of [inside, outside]) expect(side.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9);
  });

  test("two halves of the same requests do not differ by more than chance", async () => {
    const next = random(11);
    const all = Array.from({ length: 4000 }, (_, i): TestRequest => ({
      submittedUs: Math.floor(((i + next()) / 4000) * (END / 1000)),
      latencyNs: 10 ** (4 + next()),
      flags: next() < 0.5 ? 1 : 0,
      offset: Math.floor(next() * 1e6) * 4096,
      worker: Math.floor(next() * 32),
    })).sort((a, b) => a.submittedUs - b.submittedUs);
    const found = compared(bubbleUp(await sceneOf([pointsOf(all)]), { x: [0, END / 2] }));
    expect(found.differences.filter((d) => d.isCertain)).toEqual([]);
  });

  test("fewer than 30 requests on a side give no statement", async () => {
    const scene = await sceneOf([pointsOf(bursts())]);
    expect(bubbleUp(scene, { x: [0, 1e8] })).toMatch(/^20 selected requests are too few to compare/);
    expect(bubbleUp(scene, { x: [0, 8e9] })).toMatch(/^0 other requests are too few/);
  });

  test("a sample counts what it stands for, and knows no order", async () => {
    const rare = Array.from({ length: 60 }, (_, i) => ({ submittedUs: i * 100_000, latencyNs: 5e6, flags: EXCEPTIONAL | 1 }));
    const common = Array.from({ length: 200 }, (_, i) => ({ submittedUs: 50 + i * 30_000, flags: i % (i < 100 ? 2 : 4) === 0 ? 1 : 0 }));
    const all = [...rare, ...common].sort((a, b) => a.submittedUs - b.submittedUs);
    const scene = await sceneOf([pointsOf(all)], { requests: 200_060, one_of: 1000 });
    const found = compared(bubbleUp(scene, { x: [0, 3e9] }));
    const operation = found.differences.find(({ attribute }) => attribute.id === "operation")!;
    // 30 exceptional writes count once; the others are half and half.
    expect(operation.inside[1]).toBeGreaterThan(0.5);
    expect(operation.inside[1]).toBeLessThan(0.501);
    expect(found.differences.map(({ attribute }) => attribute.id)).not.toContain("batch");
    expect(found.notes.join(" ")).toMatch(/one of 1.000 others/);
  });

  test("a percentage hides neither a rare value nor its absence", () => {
    expect([0, 0.004, 0.853, 0.996, 1].map(percentWords)).toEqual(["0 %", "0.4 %", "85 %", "99.6 %", "100 %"]);
  });
});
