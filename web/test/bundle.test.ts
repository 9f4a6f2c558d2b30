import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";

describe("bundle", () => {
  let text = "";
  beforeAll(() => {
    execFileSync(process.execPath, [new URL("../build.mjs", import.meta.url).pathname]);
    text = readFileSync(new URL("../dist/viewer.js", import.meta.url), "utf8");
  }, 60_000);

  test("is small", () => {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(150_000);
    expect(gzipSync(text, { level: 9 }).length).toBeLessThanOrEqual(55_000);
  });

  test("stays inside its element and needs no network", () => {
    for (const trap of ["</script", "<!--", "http:", "https:", "innerHTML", "eval("])
      expect(text.toLowerCase()).not.toContain(trap.toLowerCase());
  });
});
