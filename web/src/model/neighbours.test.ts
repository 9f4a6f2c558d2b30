import { describe, expect, test } from "vitest";
import { random } from "../../test/fixture";
import { pointsOf, type TestRequest } from "../../test/points";
import { BATCH_NS, NO_FACT, neighbours } from "./neighbours";
import { latencyNs, slackOf, submittedNs } from "./point-store";

const FLUSH = 16;

function some(n: number, seed: number): TestRequest[] {
  const next = random(seed);
  return Array.from({ length: n }, () => ({
    submittedUs: Math.floor(next() * n * 40),
    latencyNs: Math.floor(10 ** (4 + 3 * next())),
    flags: next() < 0.1 ? FLUSH : next() < 0.4 ? 1 : 0,
    offset: Math.floor(next() * 50) * 4096,
    length: 4096,
    target: Math.floor(next() * 3),
  }));
}

describe("neighbours", () => {
  test("facts equal those of a comparison of all pairs, in blocks that overlap", () => {
    const requests = some(600, 5);
    const sorted = [...requests].sort((a, b) => a.submittedUs - b.submittedUs);
    // As in a side-car: blocks in the order of completion, each sorted.
    const blocks = [0, 1, 2].map((b) => pointsOf(sorted.filter((_, i) => (i * 7 + (i >> 5)) % 3 === b)));
    const found = neighbours(blocks);
    const all = blocks.flatMap((p, b) =>
      Array.from({ length: p.n }, (_, i) => ({
        b,
        i,
        start: submittedNs(p, i),
        end: submittedNs(p, i) + Math.max(0, latencyNs(p, i) - slackOf(p, i, "completion")),
        key: `${p.target[i]} ${p.place[i]}`,
        isFlush: p.classes[i] === FLUSH,
        facts: found.get(p)!,
      })),
    );
    const times = all.map((r) => r.start).sort((a, b) => a - b);
    const isUnique = (t: number) => times.filter((u) => u === t).length === 1;
    let compared = 0;
    for (const r of all) {
      if (!isUnique(r.start)) continue;
      compared++;
      const before = all.filter((o) => o.start < r.start);
      expect(r.facts.inFlight[r.i]).toBe(before.filter((o) => o.end > r.start).length);
      const gap = r.start - Math.max(...before.map((o) => o.start));
      if (before.length > 0) expect(r.facts.gapNs[r.i]).toBe(gap);
      const next = Math.min(...all.filter((o) => o.start > r.start).map((o) => o.start));
      const isAlone = !(gap <= BATCH_NS) && !(next - r.start <= BATCH_NS);
      expect(r.facts.batch[r.i] === 0).toBe(isAlone);
      const isReuse = before.some((o) => o.key === r.key && !o.isFlush);
      expect(r.facts.isReuse[r.i]).toBe(r.isFlush ? NO_FACT : Number(isReuse));
    }
    expect(compared).toBeGreaterThan(400);
  });

  test("positions in a batch count from 1, and 0 is a request alone", () => {
    const points = pointsOf([0, 1000, 1050, 1150, 1251, 5000].map((submittedUs) => ({ submittedUs })));
    expect([...neighbours([points]).get(points)!.batch]).toEqual([0, 1, 2, 3, 0, 0]);
  });

  test("at depth 1 no other request is in flight", () => {
    let at = 0;
    const points = pointsOf(
      Array.from({ length: 200 }, (_, i) => {
        const latencyNs = 50_000 + ((i * 7919) % 1_000_000);
        const submittedUs = Math.floor(at / 1000);
        at += latencyNs + 700;
        return { submittedUs, latencyNs };
      }),
    );
    expect(Math.max(...neighbours([points]).get(points)!.inFlight)).toBe(0);
  });

  test("directions follow from the end of the request before on the same target", () => {
    const at = (submittedUs: number, offset: number, target = 0) => ({ submittedUs, offset, length: 8192, target });
    const points = pointsOf([at(0, 0), at(1, 8192), at(2, 0, 1), at(3, 65536), at(4, 4096), at(5, 8192, 1)]);
    expect([...neighbours([points]).get(points)!.direction]).toEqual([NO_FACT, 0, NO_FACT, 1, 2, 0]);
  });

  test("an empty page has no neighbours", () => {
    expect(neighbours([]).size).toBe(0);
  });
});
