import { describe, expect, test } from "vitest";
import { levels } from "./levels";

const of = (pairs: readonly (readonly [number, number])[], width: number, columns: number) =>
  levels(
    Float64Array.from(pairs, ([a]) => a).sort(),
    Float64Array.from(pairs, ([, b]) => b).sort(),
    width,
    columns,
  );

describe("levels", () => {
  test("least, median and most of each band", () => {
    const { least, median, most } = of([[2, 18], [4, 8], [5, 6], [12, 13]], 10, 3);
    expect([...least]).toEqual([0, 0, 0]);
    expect([...median]).toEqual([1, 1, 0]);
    expect([...most]).toEqual([3, 2, 0]);
  });

  test("an end and a start at the same time are no overlap, and no duration is no debt", () => {
    const { least, most } = of([[1, 4], [4, 6], [7, 7]], 10, 1);
    expect([least[0], most[0]]).toEqual([0, 1]);
  });
});
