/** Pictures of the page for eyes: `node e2e/run-shots.mjs DIR [requests]`. */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeRequests, page as fixturePage } from "../test/fixture";
import { launch, open, type OpenOptions } from "./browser";
import { perf } from "./perf";
import { realShots } from "./real-shots";

if (process.argv[2] === "pages") {
  await realShots(process.argv[3]!, process.argv[4]!);
  process.exit(0);
}
if (process.argv[2] === "perf") {
  await perf(Number(process.argv[3] ?? 1e6));
  process.exit(0);
}

const [directory = "e2e/shots", requests = "60000"] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const viewer = readFileSync("dist/viewer.js", "utf8");
const style = ["../crates/view/src/report/style.css", "dist/viewer.css"].map((f) => readFileSync(f, "utf8")).join("");
const one = fixturePage([makeRequests({ requests: Number(requests) })], {}, style, viewer);
const two = fixturePage(
  [makeRequests({ requests: 20000 }), makeRequests({ requests: 20000, slower: 1.6 })],
  {},
  style,
  viewer,
);
const load = fixturePage([makeRequests({ requests: 20000 })], { kind: "load" }, style, viewer);
const sampled = fixturePage([makeRequests({ requests: 60000 })], { points: false }, style, viewer);

const shots: readonly [string, string, OpenOptions][] = [
  ["light", one, {}],
  ["dark", one, { dark: true }],
  ["zoom", one, { hash: "#t=98-106" }],
  ["dots", one, { hash: "#t=99-100.5&y=1e-5-1" }],
  ["bars", one, { hash: "#t=98-98.5" }],
  ["bars-dark-narrow", one, { hash: "#t=98-98.5", dark: true, width: 390, height: 800 }],
  ["number", one, { hash: "#base=number" }],
  ["linear", one, { hash: "#scale=linear" }],
  ["brush", one, { hash: "#brush=100-150" }],
  ["brush-slow", one, { hash: "#brush=100-250&durations=0.01-10" }],
  ["brush-dark", one, { hash: "#brush=100-250&durations=0.01-10", dark: true }],
  ["brush-narrow", one, { hash: "#brush=100-250&durations=0.01-10", width: 390, height: 800 }],
  ["two", two, {}],
  ["difference", two, { hash: "#show=difference" }],
  ["load", load, {}],
  ["sampled", sampled, { hash: "#t=99-100.5" }],
  ["narrow", one, { width: 600 }],
];
const wanted = process.argv[4]?.split(",");
const browser = await launch();
for (const [name, html, options] of shots) {
  if (wanted && !wanted.includes(name)) continue;
  const { page, problems } = await open(browser, html, options);
  await page.screenshot({ path: join(directory, `${name}.png`) as `${string}.png`, fullPage: true });
  console.log(name, JSON.stringify(await page.evaluate(() => window.__report?.stats())), problems);
  await page.close();
}
await browser.close();
