import { describe, expect, test } from "vitest";
import { first, moved } from "./moved";
import { words } from "./state";

describe("state in words", () => {
  const state = { version: 1, is_growing: true, from_ns: 0, to_ns: 42.4e9, requests: 5, all_requests: 5 };

  test("a short run is shown whole", () => {
    expect(words(state, state)).toBe("running · 00:42 · shown from its start, 5 requests");
  });

  test("a window says what the figures cover", () => {
    const window = { ...state, is_growing: false, from_ns: 3600e9, to_ns: 3660e9, all_requests: 9000 };
    expect(words(window, window)).toBe("ended · 1:01:00 · all figures are of the last 60.0 s, 5 of 9000 requests");
    const short = { ...window, to_ns: 3600.0125e9 };
    expect(words(short, short)).toContain("the last 12.5 ms,");
  });
});

test("a page that is older than the state says up to which time it is", () => {
  const page = { version: 1, is_growing: true, from_ns: 6e9, to_ns: 16e9, requests: 20_000, all_requests: 33_000 };
  const now = { ...page, version: 2, from_ns: 20e9, to_ns: 30e9, all_requests: 61_000 };
  expect(words(now, page)).toBe(
    "running · 00:30, shown up to 00:16 · all figures are of the last 10.0 s, 20000 of 33000 requests",
  );
});

describe("view of the next page", () => {
  const S = 1e9;
  const [before, after] = [{ from_ns: 0, to_ns: 50 * S }, { from_ns: 10 * S, to_ns: 70 * S }];
  const [old, next] = [{ from_ns: 100 * S, to_ns: 160 * S }, { from_ns: 103.5 * S, to_ns: 163.5 * S }];

  test("the first page shows the window", () => {
    expect(first(before)).toBe("");
    expect(first(after)).toBe("t=10-70");
  });

  test("the whole run stays whole until it is longer than the window", () => {
    expect(moved("", before, { from_ns: 0, to_ns: 52 * S })).toBe("");
    expect(moved("#base=due", before, after)).toBe("t=10-70&base=due");
  });

  test("a view of the window moves with it", () => {
    expect(moved("#t=100-160&on=rw", old, next)).toBe("t=103.5-163.5&on=rw");
  });

  test("a view that reaches the end keeps its width", () => {
    expect(moved("#t=150-160&y=1e-4-10", old, next)).toBe("t=153.5-163.5&y=1e-4-10");
    expect(moved("#t=40-50", before, after)).toBe("t=60-70");
  });

  test("any other view stays", () => {
    expect(moved("#t=110.25-120&base=due&brush=111-112", old, next)).toBe("t=110.25-120&base=due&brush=111-112");
    expect(moved("#t=1e2-1.5e2", old, next)).toBe("t=100-150");
  });

  test("the time before the window stays in sight where it was wanted", () => {
    expect(moved("", old, next)).toBe("");
    expect(moved("#scale=linear", old, next)).toBe("scale=linear");
  });

  test("an address without a valid time is that of the whole page", () => {
    expect(moved("#t=5-3", before, after)).toBe("t=10-70");
    expect(moved("#set=1", before, after)).toBe("t=10-70&set=1");
  });
});
