import { describe, expect, test } from "vitest";
import { Rows } from "./rows";

describe("rows", () => {
  const rows = new Rows({ floor_ns: 1000, rows: 512, rows_per_decade: 64, tile_columns: 256 });

  test("each slot begins with its lower edge", () => {
    for (let slot = 1; slot < rows.slots; slot++) {
      expect(rows.slotOf(rows.begin(slot))).toBe(slot);
      expect(rows.slotOf(rows.begin(slot) - 1)).toBe(slot - 1);
    }
  });

  test("a slot holds the durations between its edges, whatever their size", () => {
    for (let ns = 1; ns < 2 ** 63; ns = ns * 1.0137 + 0.5) {
      const slot = rows.slotOf(ns);
      expect(rows.begin(slot)).toBeLessThanOrEqual(ns);
      if (slot + 1 < rows.slots) expect(ns).toBeLessThan(rows.begin(slot + 1));
    }
  });

  test.each([
    [0, 0],
    [-5, 0],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 513],
  ])("%d lies in slot %i", (ns, slot) => expect(rows.slotOf(ns)).toBe(slot));
});
