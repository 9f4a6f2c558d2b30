import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { Bytes, makeRequests, page, pointBytes, putCounts, random, sideCar } from "../../test/fixture";
import { unpack } from "./block";
import { decodeSeries, eachCount } from "./counts";
import { crc32 } from "./crc32";
import { inflate } from "./inflate";
import { Leb128 } from "./leb128";
import { codeOfDuration, decodePoints, durationOfCode } from "./points";
import { SideCar } from "./side-car";

describe("bytes", () => {
  test("CRC-32 of gzip", () => expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926));

  test("LEB128 and zigzag, up to 2^53", () => {
    const values = [0, 1, 127, 128, 300, 2 ** 31, 2 ** 32 + 5, 2 ** 53 - 1];
    const bytes = new Bytes();
    values.forEach((v) => bytes.leb(v));
    values.slice(0, 7).forEach((v) => bytes.zigzag(-v));
    const reader = new Leb128(bytes.done);
    expect(values.map(() => reader.next())).toEqual(values);
    expect(values.slice(0, 7).map(() => reader.nextZigzag() + 0)).toEqual(values.slice(0, 7).map((v) => 0 - v));
    expect(reader.isAtEnd).toBe(true);
    expect(() => reader.next()).toThrow("too short");
  });

  test.each([0, 1, 6, 9])(
    "inflates what zlib deflates at level %i",
    async (level) => {
      const next = random(level + 5);
      const bytes = Uint8Array.from({ length: 90_000 }, (_, i) => (i % 3 === 0 ? next() * 255 : i % 200));
      const packed = Uint8Array.from(deflateRawSync(bytes, { level }));
      expect(Buffer.from(await inflate(packed)).equals(bytes)).toBe(true);
      expect(await inflate(Uint8Array.from(deflateRawSync(new Uint8Array(0))))).toHaveLength(0);
      await expect(inflate(packed.subarray(0, packed.length >> 1))).rejects.toThrow();
    },
  );
});

describe("counts", () => {
  test("round trip with runs of zeros", () => {
    const next = random(2);
    const counts = Float64Array.from({ length: 3000 }, (_, i) =>
      next() < 0.8 ? 0 : Math.floor(next() * 1e6) * (i % 7),
    );
    const bytes = new Bytes();
    putCounts(bytes, counts);
    expect([...decodeSeries(bytes.done, 3000)]).toEqual([...counts]);
    let sum = 0;
    expect(eachCount(bytes.done, (_, n) => (sum += n))).toBe(sum);
  });

  test("a block that was changed is refused", async () => {
    const packed = Uint8Array.from(deflateRawSync(Uint8Array.of(1, 2, 3)));
    const crc = crc32(Uint8Array.of(1, 2, 3))
      .toString(16)
      .padStart(8, "0");
    expect([...(await unpack(packed, crc))]).toEqual([1, 2, 3]);
    expect([...(await unpack(Buffer.from(packed).toString("base64"), crc.toUpperCase()))]).toEqual([1, 2, 3]);
    await expect(unpack(packed, "00000000")).rejects.toThrow("CRC-32");
  });
});

describe("requests", () => {
  const r = makeRequests({ requests: 500 });
  const order = Uint32Array.from({ length: 500 }, (_, i) => i).sort((a, b) => r.submitted[a]! - r.submitted[b]!);

  test("codes of durations are right to a thousandth", () => {
    expect([codeOfDuration(0), durationOfCode(0)]).toEqual([0, 0]);
    for (const ns of [1, 17, 1e3, 123_456, 5e9, 3e11])
      expect(Math.abs(durationOfCode(codeOfDuration(ns)) / ns - 1)).toBeLessThan(0.0011);
  });

  test("round trip", () => {
    const from = Math.round(r.submitted[order[0]!]! / 1000);
    const p = decodePoints(pointBytes(r, 0, 500, order), 500, from, 0, 4096);
    order.forEach((i, k) => {
      expect((p.fromUs + p.submitted[k]!) * 1000).toBe(r.submitted[i]);
      expect(p.latency[k]).toBe(codeOfDuration(r.latency[i]!));
      expect(p.classes[k]! & 3).toBe(r.cls[i]);
      expect([p.number[k], p.place[k]! * 4096, p.length[k]! * 4096]).toEqual([i, r.place[i], r.length[i]]);
    });
  });

  test("side-car", async () => {
    const file = new Blob([Uint8Array.from(sideCar(r, "abc"))]);
    const found = await SideCar.open(file, "abc");
    expect(found.requests).toBe(500);
    const block = await found.read(0);
    const p = decodePoints(await unpack(block.packed, block.crc), block.n, block.fromUs, block.toUs, block.unit);
    expect([...p.number].sort((a, b) => a - b)).toEqual(Array.from({ length: 500 }, (_, i) => i));
    await expect(SideCar.open(file, "another")).rejects.toThrow("another run");
    await expect(SideCar.open(file.slice(0, 400), "abc")).rejects.toThrow("cut off");
    await expect(SideCar.open(new Blob(["nonsense"]), "abc")).rejects.toThrow("no .trace");
  });
});

test("the fixture gives the same page each time", () => {
  const make = () => page([makeRequests({ requests: 200, seed: 4 })], {}, "", "");
  expect(make()).toBe(make());
});
