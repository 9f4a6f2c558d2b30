import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { sampleRun } from "../../test/sample";
import type { RequestFacts } from "../model/requests";
import { cardText, replayExcerpt, shellWord } from "./card";

const run = sampleRun("first", 1);
const request: RequestFacts = {
  number: 8_123_456, target: 1, worker: 3, pass: 0, op: "write", pushed: true, failed: false, exceptional: true,
  dueNs: 65_025_659_000, submittedNs: 65_026_859_000, latencyNs: 3.29e9, delayNs: 1.2e6, completedNs: 68_316_859_000,
  offsetBytes: 13_255_376_896, lengthBytes: 65_536, inFlightThen: 128, rank: 17, band: "C 3 ms, 10 %", other: { latencyNs: 0.41e9 },
};

describe("card", () => {
  it("tells everything", () => {
    expect(cardText(request, run).replaceAll("\u2009", " ")).toBe(
      "#8 123 456 · write 64 KiB @ 12.345 GiB (byte 13 255 376 896) · target 1 (data/ibdata2) · worker 3 · pass 1 · " +
        "intended 65.025659 s · started +1.20 ms · latency 3.29 s · completed 68.316859 s · deferred · in flight then 128 · " +
        'band "C 3 ms, 10 %" · rank 17 slowest · in the other run 410 ms (× 0.125)',
    );
  });

  it("leaves out what is not known", () => {
    const { inFlightThen, rank, band, other, ...known } = request;
    expect([inFlightThen, rank, band, other]).not.toContain(undefined);
    const plain = { ...known, pushed: false, failed: true, target: 0, offsetBytes: 512 };
    expect(cardText(plain, { ...run, parts: [], has_timetable: false }).replaceAll("\u2009", " ")).toBe(
      "#8 123 456 · write 64 KiB @ 512 B · target 0 · worker 3 · started 65.026859 s · FAILED after 3.29 s · completed 68.316859 s",
    );
  });
});

describe("excerpt", () => {
  it("has a second on both sides", () => {
    expect(replayExcerpt(request, run)).toBe("iosonar plot first --range 64.025s..69.317s --only sonar");
  });

  it("does not begin before the run", () => {
    const early = { ...request, dueNs: 0, submittedNs: 5_000, completedNs: 90_000 };
    expect(replayExcerpt(early, run)).toBe("iosonar plot first --range 0s..1.001s --only sonar");
  });
});

describe("words for a shell", () => {
  const names = [
    "runs/first.g000", "with blank", "it's", "$(reboot)", "`reboot`", "a;b|c&d>e<f", "*?[x]", "~", "#x", "!!", "a\\b", "", "=ls",
    "new\nline", "tab\t'quoted'\\", "esc\u001b[31m", "\u009bred", "right\u202eto left", "zero\u200bwidth", "\u007f", "ü 日本 😀",
    "<script>alert(1)</script>", "\u001b9 digits", "--data",
  ];
  it.each(names)("%j come through", (name) => {
    const word = shellWord(name);
    const seen = execFileSync("bash", ["-c", `printf %s ${word}`], { encoding: "utf8" });
    expect(seen).toBe(name.startsWith("-") ? `./${name}` : name);
    expect(word).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
