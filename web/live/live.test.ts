import { describe, expect, test } from "vitest";
import { words } from "./state";

describe("state in words", () => {
  const state = { version: 1, is_growing: true, from_ns: 0, to_ns: 42.4e9, requests: 5, all_requests: 5 };

  test("a short run is shown whole", () => {
    expect(words(state)).toBe("running · 00:42 · shown from its start, 5 requests");
  });

  test("a window says what the figures cover", () => {
    const window = { ...state, is_growing: false, from_ns: 3600e9, to_ns: 3660e9, all_requests: 9000 };
    expect(words(window)).toBe("ended · 1:01:00 · all figures are of its last 60.0 s, 5 of 9000 requests");
    expect(words({ ...window, to_ns: 3600.0125e9 })).toContain("its last 12.5 ms,");
  });
});
