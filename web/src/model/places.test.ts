import { describe, expect, it } from "vitest";
import type { PageRun } from "../format/page";
import { placeAt, placesLike } from "./places";

const place = (name: string, from_bytes: number, to_bytes: number) => ({ name, from_bytes, to_bytes });
const run = {
  seek: { places: [place("sda1", 0, 1000), place("data/ibdata1", 100, 200), place("data/ibdata1", 500, 600)] },
} as unknown as PageRun;

describe("places", () => {
  it("are told by the smallest around a byte", () => {
    expect(placeAt(run, 150)?.name).toBe("data/ibdata1");
    expect(placeAt(run, 200)?.name).toBe("sda1");
    expect(placeAt(run, 1000)).toBeUndefined();
  });
  it("are found by a part of their name", () => {
    expect(placesLike(run, " IBDATA").map((p) => p.from_bytes)).toEqual([100, 500]);
    expect(placesLike(run, " ")).toEqual([]);
  });
});
