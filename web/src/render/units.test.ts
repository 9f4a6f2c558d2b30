import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  byteRate, bytes, count, counted, duration, moment, number, percent, plainByteRate, plainBytes, plainDuration, plainPercent, short,
} from "./units";

/** What the text reports print of the same values, a value and its texts in a row; a test in `crates/text` writes it. */
const PRINTED = JSON.parse(
  readFileSync(new URL("../../../crates/text/tests/fixtures/numbers.json", import.meta.url), "utf8"),
) as Record<string, [value: number, ...texts: string[]][]>;

describe("the text reports", () => {
  const formats = { whole: [duration, bytes, count], real: [byteRate, number], share: [percent] };
  it.each(Object.entries(formats))("have the same texts of %s numbers", (name, formats) => {
    const rows = PRINTED[name] ?? [];
    expect(rows.length).toBeGreaterThan(20);
    const texts = (value: number) => formats.map((format) => format(value).replaceAll("\u2009", " "));
    expect(rows.map(([value]) => [value, ...texts(value)])).toEqual(rows);
  });
});

describe("units", () => {
  it.each([
    [0, "0"], [7, "7 ns"], [999, "999 ns"], [1_000, "1 µs"], [90_000, "90 µs"], [240_400, "240 µs"], [999_900, "1 ms"],
    [1_200_000, "1.2 ms"], [1_234_000, "1.23 ms"], [9_996_000, "10 ms"], [3_290_000_000, "3.29 s"],
    [1_234_567_000_000, "1\u2009235 s"], [-1_200_000, "−1.2 ms"],
  ])("duration %d is %s in plain", (ns, text) => expect(plainDuration(ns)).toBe(text));

  it.each([
    [0, "0 s"], [65.03e9, "65.03 s"], [65e9, "65.00 s"], [0.5e9, "0.50 s"], [3599.99e9, "3599.99 s"], [3600e9, "1:00:00"],
    [3903e9, "1:05:03"], [100_000e9, "27:46:40"], [-2e9, "−2.00 s"],
  ])("moment %d is %s", (ns, text) => expect(moment(ns)).toBe(text));

  it("has the digits that a step asks for", () => {
    expect(moment(65_025_659_000, 1_000)).toBe("65.025659 s");
    expect(moment(65_025_659_000, 1e9)).toBe("65 s");
    expect(moment(3_903_250_000_000, 1e6)).toBe("1:05:03.250");
  });

  it.each([
    [0, "0 B"], [1023, "1\u2009023 B"], [1024, "1 KiB"], [65_536, "64 KiB"], [1.5 * 2 ** 30, "1.5 GiB"], [2 ** 50, "1 PiB"],
  ])("%d bytes are %s in plain", (n, text) => expect(plainBytes(n)).toBe(text));

  it.each([[38e6, "38 MB/s"], [999, "999 B/s"], [1_234_567, "1.23 MB/s"], [0, "0 B/s"]])("%d bytes/s are %s in plain", (n, text) =>
    expect(plainByteRate(n)).toBe(text),
  );

  it.each([[0, "0"], [999, "999"], [1000, "1\u2009000"], [510_176, "510\u2009176"], [-1234, "−1\u2009234"]])(
    "count %d is %s",
    (n, text) => expect(count(n)).toBe(text),
  );

  it("counts things", () => {
    expect([0, 1, 2000].map((n) => counted(n, "request"))).toEqual(["0 requests", "1 request", "2\u2009000 requests"]);
  });

  it.each([[0, "0"], [12, "12"], [999, "999"], [999.7, "1k"], [4_900, "4.9k"], [12_345_678, "12.3M"], [0.5, "0.5"]])(
    "%d is short %s",
    (n, text) => expect(short(n)).toBe(text),
  );

  it.each([
    [0, "0 %"], [1, "100 %"], [0.5, "50 %"], [0.00001, "< 0.01 %"], [0.99999, "> 99.9 %"], [0.1234, "12.3 %"], [-0.05, "−5 %"],
  ])("share %d is %s in plain", (share, text) => expect(plainPercent(share)).toBe(text));
});
