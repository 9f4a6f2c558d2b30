import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";

describe("bundle", () => {
  let text = "";
  let style = "";
  beforeAll(() => {
    execFileSync(process.execPath, [new URL("../build.mjs", import.meta.url).pathname]);
    const read = (file: string) => readFileSync(new URL(`../dist/${file}`, import.meta.url), "utf8");
    text = read("viewer.js");
    style = read("viewer.css");
  }, 60_000);

  test("is small", () => {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(200_000);
    expect(gzipSync(text, { level: 9 }).length).toBeLessThanOrEqual(75_000);
    // With the page's own it stands in the head.
    expect(Buffer.byteLength(style)).toBeLessThanOrEqual(8_000);
  });

  test("stays inside its element and needs no network", () => {
    for (const trap of ["</script", "</style", "<!--", "http:", "https:", "innerHTML", "eval("])
      expect((text + style).toLowerCase()).not.toContain(trap.toLowerCase());
  });
});
