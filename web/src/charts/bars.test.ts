import { describe, expect, test } from "vitest";
import { random } from "../../test/fixture";
import { pointsOf, type TestRequest } from "../../test/points";
import { RecordingPainter } from "../../test/recording-painter";
import { sceneOf } from "../../test/scene";
import type { PagePart } from "../format/page";
import type { Range } from "../model/view";
import { LIGHT } from "../render/palette";
import { type Bars, barsOf, drawBars, MOST_BARS } from "./bars";
import type { Scene } from "./scene";

const GRID = "latency.start";
const BOX = { x: 74, y: 20, w: 900, h: 400 };
const DEFERRED_WRITE = 3;

const part = (name: string): PagePart => ({ kind: "target", name, completed: 1, failed: 0, rate: null, p50_ns: null, p99_ns: null, max_ns: null });

function some(n: number): TestRequest[] {
  const next = random(9);
  return Array.from({ length: n }, (_, i) => ({
    submittedUs: i * 100 + Math.floor(next() * 90),
    latencyNs: 1e5 + next() * 2e6,
    delayNs: next() < 0.3 ? next() * 1e6 : 0,
    flags: next() < 0.4 ? 1 : 0,
    target: i % 2,
    worker: i % 3,
    number: i,
  }));
}

function found(scene: Scene, height = BOX.h): Bars {
  const bars = barsOf(scene, GRID, height);
  if (!bars) throw new Error("no bars");
  return bars;
}

function drawn(scene: Scene): { readonly painter: RecordingPainter; readonly result: ReturnType<typeof drawBars> } {
  const painter = new RecordingPainter(1000, 454);
  return { painter, result: drawBars(painter, BOX, scene, found(scene)) };
}

describe("bars", () => {
  test("every request in flight in sight has a bar, and none overlaps another of its row", async () => {
    const requests = some(250);
    const time: Range = [5e6, 15e6];
    const { groups, number } = found(await sceneOf([pointsOf(requests)], {}, { time }));
    const start = (r: TestRequest) => r.submittedUs * 1000;
    const expected = requests.filter((r) => start(r) <= time[1] && start(r) + r.latencyNs! >= time[0] + 3000);
    expect(Math.abs(number - expected.length)).toBeLessThanOrEqual(1);
    expect(number).toBeGreaterThan(90);
    for (const { bars, rows } of groups)
      for (const a of bars) {
        expect(a.row).toBeLessThan(rows);
        for (const b of bars)
          if (a !== b && a.row === b.row) expect(Math.min(a.completed, b.completed)).toBeLessThanOrEqual(Math.max(a.due, b.due, time[0]));
      }
  });

  test("there are no bars for too many requests, for a sample, over numbers, and when they are switched off", async () => {
    const points = [pointsOf(some(MOST_BARS + 1))];
    expect(barsOf(await sceneOf(points), GRID, 400)).toBeUndefined();
    const few = [pointsOf(some(MOST_BARS))];
    expect(barsOf(await sceneOf(few), GRID, 400)?.number).toBe(MOST_BARS);
    expect(barsOf(await sceneOf(few, { one_of: 10 }), GRID, 400)).toBeUndefined();
    expect(barsOf(await sceneOf(few, {}, { base: "number" }), GRID, 400)).toBeUndefined();
    expect(barsOf(await sceneOf(few, {}, { bars: false }), GRID, 400)).toBeUndefined();
    const writes = found(await sceneOf(few, {}, { on: { read: false, write: true, pushed: true, flush: true } }));
    expect(writes.number).toBe(some(MOST_BARS).filter((r) => r.flags === 1).length);
  });

  test("groups are targets where there are several, else workers", async () => {
    const requests = some(60);
    const names = async (all: TestRequest[], places = true) =>
      found(await sceneOf([pointsOf(all)], { has_places: places }, {}, [part("disk a"), part("disk b")])).groups.map(({ name }) => name);
    expect(await names(requests)).toEqual(["disk a", "disk b"]);
    const oneTarget = requests.map((r) => ({ ...r, target: 0 }));
    expect(await names(oneTarget)).toEqual(["worker 0", "worker 1", "worker 2"]);
    expect(await names(oneTarget, false)).toEqual([undefined]);
  });

  test("an arrow leads from the request that a deferred one waited for", async () => {
    const at = (submittedUs: number, latencyNs: number, more: Partial<TestRequest>): TestRequest => ({ submittedUs, latencyNs, offset: 8192, length: 8192, ...more });
    const requests = [
      at(0, 1_000_000, { flags: 1, number: 0 }),
      // Ends last before the submission, but at another place.
      at(100, 1_890_000, { flags: 1, offset: 65536, number: 1 }),
      // Reads do not conflict with each other: this one overlaps the write.
      at(200, 1_700_000, { number: 2 }),
      at(2000, 500_000, { flags: DEFERRED_WRITE, delayNs: 1_950_000, offset: 4096, number: 3 }),
    ];
    const { painter, result } = drawn(await sceneOf([pointsOf(requests)], {}, { time: [0, 3e6] }));
    const arrows = painter.lines.filter(({ stroke }) => stroke.color === LIGHT.text);
    expect(arrows).toHaveLength(1);
    const x = (ns: number) => BOX.x + (ns / 3e6) * BOX.w;
    const [from, to] = arrows[0]!.points;
    expect(Math.abs(from![0] - x(1_900_000))).toBeLessThan(1);
    expect(Math.abs(to![0] - x(2_000_000))).toBeLessThan(1);
    expect(result.note).toContain("arrows");
    // The time that it was deferred is marked, too.
    expect(painter.hatches).toHaveLength(1);
  });

  test("a bar is found where it is drawn", async () => {
    const scene = await sceneOf([pointsOf(some(40))], {}, { time: [0, 5e6] });
    const { result } = drawn(scene);
    const points = scene.data.points.decoded[0]!;
    for (let i = 0; i < points.n; i++) {
      const place = result.placeOf!({ points, i });
      if (!place) continue;
      const hit = result.requestAt!(place[0] + 0.5, place[1])!;
      expect(hit.points).toBe(points);
      expect(result.hover(place[0] + 0.5, place[1])).toMatch(/^#\d+ · submitted/);
    }
    expect(result.requestAt!(BOX.x + 1, BOX.y + BOX.h - 1)).toBeUndefined();
  });

  test("waiting that has no room is left out, and the page says so", async () => {
    // All wait from the start: each would need a row.
    const requests = Array.from({ length: 200 }, (_, i): TestRequest => ({ submittedUs: i * 50, latencyNs: 40_000, delayNs: i * 50_000 }));
    const scene = await sceneOf([pointsOf(requests)], {}, { time: [0, 1e7] });
    expect(found(scene).hasWaiting).toBe(false);
    expect(drawn(scene).result.note).toContain("no room");
    expect(found(scene, 2000).hasWaiting).toBe(true);
  });
});
