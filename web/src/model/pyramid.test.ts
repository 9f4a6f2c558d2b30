import { describe, expect, test } from "vitest";
import { add, addRange, countAt, emptyLevel, levelFor, pyramid } from "./pyramid";

const SLOTS = 6;

/** Deterministic numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

function filled(columns: number, cells: number) {
  const level = emptyLevel(columns);
  const plain = Array.from({ length: columns }, () => new Array<number>(SLOTS).fill(0));
  const next = random(columns + 7);
  for (let i = 0; i < cells; i++) {
    const [column, slot, count] = [Math.floor(next() * columns), Math.floor(next() * SLOTS), Math.ceil(next() * 40000)];
    add(level, SLOTS, column, slot, count);
    plain[column]![slot]! += count;
  }
  return { tree: pyramid(level, SLOTS), plain };
}

describe("pyramid", () => {
  test.each([1, 2, 3, 255, 256, 257, 1000])("keeps exact totals on each level of %i columns", (columns) => {
    const { tree, plain } = filled(columns, 500);
    const total = plain.flat().reduce((a, b) => a + b, 0);
    expect(tree.total).toBe(total);
    for (const level of tree.levels) {
      let sum = 0;
      for (const tile of level.tiles) tile?.cells.forEach((_, i) => (sum += countAt(tile, i)));
      expect(sum).toBe(total);
    }
    expect(tree.levels.at(-1)!.columns).toBe(1);
  });

  test.each([1, 5, 64, 257, 1000])("sums any range of %i columns", (columns) => {
    const { tree, plain } = filled(columns, 300);
    const next = random(3);
    for (let i = 0; i < 50; i++) {
      const [a, b] = [Math.floor(next() * (columns + 1)), Math.floor(next() * (columns + 1))];
      const [begin, end] = [Math.min(a, b), Math.max(a, b)];
      const sums = new Float64Array(SLOTS);
      addRange(tree, begin, end, sums);
      const wanted = new Float64Array(SLOTS);
      for (const column of plain.slice(begin, end)) column.forEach((n, slot) => (wanted[slot]! += n));
      expect([...sums]).toEqual([...wanted]);
    }
  });

  test("takes the level with columns at least as wide as asked", () => {
    const { tree } = filled(1000, 10);
    expect([0.1, 1, 1.5, 2, 3, 1e9].map((w) => levelFor(tree, w))).toEqual([0, 0, 1, 1, 2, tree.levels.length - 1]);
  });
});
