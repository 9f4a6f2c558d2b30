/** Times of frames and of decoding, for eyes: `node e2e/run-shots.mjs perf REQUESTS [row]`. */

import { readFileSync } from "node:fs";
import { makeRequests, page as fixturePage } from "../test/fixture";
import { launch, open } from "./browser";

const FRAMES = 90;

export async function perf(requests: number): Promise<void> {
  const viewer = readFileSync("dist/viewer.js", "utf8");
  const begin = Date.now();
  const html = fixturePage([makeRequests({ requests })], { points: requests <= 1_000_000 }, "", viewer);
  console.log(`made ${(html.length / 1e6).toFixed(1)} MB in ${Date.now() - begin} ms`);
  const browser = await launch();
  const { page, problems } = await open(browser, html);
  // Time of the thread, not of the clock: other work on the machine does not count.
  const session = await page.createCDPSession();
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map((m) => [m.name, m.value]));
  };
  const before = await spent();
  const result = await page.evaluate(async () => {
    const hook = window.__report!;
    const ready = performance.now();
    const sonar = performance.getEntriesByName("sonar")[0]?.startTime;
    const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const box = document.querySelector("[data-panel=sonar] canvas")!.getBoundingClientRect();
    const plot = document.querySelector("[data-panel=sonar] .v-plot")!;
    const times: number[] = [];
    let last = performance.now();
    for (let i = 0; i < 90; i++) {
      const at = {
        clientX: box.left + 500 + (i % 7),
        clientY: box.top + 100,
        deltaY: i < 45 ? -60 : 60,
        bubbles: true,
        cancelable: true,
      };
      plot.dispatchEvent(new WheelEvent("wheel", { ...at, ctrlKey: true }));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      times.push(performance.now() - last);
      last = performance.now();
    }
    times.sort((a, b) => a - b);
    return {
      paint,
      sonar,
      ready,
      interval: [times[45], times[85]],
      stats: hook.stats(),
      memory: (performance as unknown as { memory?: { usedJSHeapSize: number } }).memory?.usedJSHeapSize,
    };
  });
  console.log(JSON.stringify(result), problems);
  const after = await spent();
  const perFrame = (name: string) => (((after[name] ?? 0) - (before[name] ?? 0)) / FRAMES) * 1000;
  console.log(
    `CPU ms per frame: script ${perFrame("ScriptDuration").toFixed(1)}, all ${perFrame("TaskDuration").toFixed(1)}`,
  );
  await browser.close();
}
