import { describe, expect, test } from "vitest";
import { pointsOf } from "../../test/points";
import { sceneOf } from "../../test/scene";
import type { PageGrid, PageRun } from "../format/page";
import { latencyNs, responseNs } from "../model/point-store";
import { canShowResponse, gridIdOf, ordinateOf, timeOf } from "./ordinate";
import type { Scene } from "./scene";

const grid = (id: string): PageGrid => ({ id, base: "start", width: 1024, columns: 1, totals: [1, 0, 0, 0, 0] });
const scene = await sceneOf([pointsOf([{ submittedUs: 5, delayNs: 4000 }])], {}, { ordinate: "response" });
const both: PageRun = { ...scene.run, grids: [grid("latency.start"), grid("response.start")] };
/** Each response lies in the row of its latency. */
const equal: PageRun = { ...scene.run, grids: [grid("latency.start")] };
/** A recording: due times are not known. */
const unknown: PageRun = { ...equal, has_timetable: false };

const of = (run: PageRun, ...others: PageRun[]): Scene => ({ ...scene, run, meta: { ...scene.meta, runs: [run, ...others] } });

describe("ordinate", () => {
  test("responses can be shown where they are known of all runs and not all are latencies", () => {
    expect(canShowResponse([both])).toBe(true);
    expect(canShowResponse([equal])).toBe(false);
    expect(canShowResponse([equal, both])).toBe(true);
    expect(canShowResponse([both, unknown])).toBe(false);
  });

  test("a run without counts of responses shows its latencies as responses", () => {
    const [a, b] = [of(equal, both), of(both, equal)];
    expect([ordinateOf(a), gridIdOf(a), timeOf(a)]).toEqual(["response", "latency.start", latencyNs]);
    expect([ordinateOf(b), gridIdOf(b), timeOf(b)]).toEqual(["response", "response.start", responseNs]);
  });

  test("a difference is that of the latency unless both have counts of responses", () => {
    const against = (run: PageRun, other: PageRun): Scene => ({ ...of(run, other), other: { run: other } as Scene["data"] });
    expect(gridIdOf(against(both, equal))).toBe("latency.start");
    expect(gridIdOf(against(both, both))).toBe("response.start");
  });

  test("the key switches to the latency", () => {
    const latency = { ...of(both), view: { ...scene.view, ordinate: "latency" as const } };
    expect([gridIdOf(latency), timeOf(latency)]).toEqual(["latency.start", latencyNs]);
  });
});
