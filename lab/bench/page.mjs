// Opens a page in headless Chromium without WebGL and measures what a reader would feel: first paint, until it can be used,
// frames while zooming and panning, a brush. Prints one JSON object. Usage: node lab/bench/page.mjs PAGE
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const puppeteer = require("puppeteer-core");
const FRAMES = 90;
const BROWSER_STARTS_MS = 2000;

const profile = mkdtempSync(join(tmpdir(), "page-bench-"));
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  userDataDir: profile,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-software-rasterizer",
  ],
});
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1400, height: 1000 });
  // A new browser is busy with itself for a second; that is not what the page costs.
  await new Promise((resolve) => setTimeout(resolve, BROWSER_STARTS_MS));
  const begin = performance.now();
  await page.goto(`file://${resolve(process.argv[2])}`, { waitUntil: "domcontentloaded", timeout: 120_000 });
  await page.evaluate(() => window.__report.ready);
  const ready = performance.now() - begin;
  const paint = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
  );
  // In and out and to the sides, one view for each frame, as a wheel or a hand would ask for them; the time between frames.
  const frames = await page.evaluate(async (count) => {
    const report = window.__report;
    await report.set({});
    const [from, to] = report.stats().domain.t;
    const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times = [];
    let before = await next();
    for (let i = 0; i < count; i++) {
      const width = (to - from) * (0.05 + 0.95 * Math.abs(Math.cos((i / count) * Math.PI)));
      const left = from + (to - from - width) * (i / count);
      void report.set({ t: [left, left + width] });
      const now = await next();
      times.push(now - before);
      before = now;
    }
    await report.set({ t: [from, to] });
    return times.sort((a, b) => a - b);
  }, FRAMES);
  const brush = await page.evaluate(async () => {
    const report = window.__report;
    const [from, to] = report.stats().domain.t;
    const start = performance.now();
    await report.set({ brush: [from + (to - from) * 0.3, from + (to - from) * 0.6] });
    return performance.now() - start;
  });
  // What the first frame behind a brush takes of the main thread (the sonar with its histograms, strips as there is time): callbacks run in the order in which they were asked for.
  const brushFrame = await page.evaluate(async () => {
    const report = window.__report;
    const [from, to] = report.stats().domain.t;
    const at = () => new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())));
    const times = [];
    for (let i = 0; i < 21; i++) {
      const begin = at();
      const drawn = report.set({ brush: [from + (to - from) * (0.1 + i * 0.02), from + (to - from) * 0.9] });
      times.push((await Promise.all([begin, at()])).reduce((a, b) => b - a));
      await drawn;
    }
    return times.sort((a, b) => a - b)[10];
  });
  const memory = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? null);
  console.log(JSON.stringify({
    paint_ms: paint,
    ready_ms: ready,
    frame_median_ms: frames[FRAMES >> 1],
    frame_p95_ms: frames[Math.floor(FRAMES * 0.95)],
    brush_ms: brush,
    brush_frame_ms: brushFrame,
    heap_bytes: memory,
    stats: await page.evaluate(() => window.__report.stats()),
  }));
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
}
