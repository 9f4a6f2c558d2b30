/** The page of a running run, served as the program serves it: it renews itself, and keeps the view. */

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Frame, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RunState } from "../live/state";
import type { ReportStats, ViewChange } from "../src/views/hook";
import { makeRequests, page as fixturePage } from "../test/fixture";
import { launch } from "./browser";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const style = read("../../crates/view/src/report/style.css") + read("../dist/viewer.css");
const r = makeRequests({ requests: 20_000 });
const report = fixturePage([r], {}, style, read("../dist/viewer.js"));
const POLICY = /POLICY: &str = "([^"]*)"/.exec(read("../../crates/view/src/live_page.rs"))![1]!.replace(/\\\n\s*/g, "");
const S = 1e9;
const END = Math.ceil(r.endNs / S) * S;

let browser: Browser;
let server: Server;
let page: Page;
let state: RunState;
let asked = 0;
/** Why there is no page. */
let broken = "";
const problems: string[] = [];

beforeAll(async () => {
  browser = await launch();
  server = createServer((request, response) => {
    const name = new URL(request.url!, "http://localhost").pathname.replace("/token/", "");
    const send = (type: string, text: string, policy = "default-src 'none'") =>
      response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": policy, "Cache-Control": "no-store" }).end(text);
    if (name === "") send("text/html; charset=utf-8", read("../live/live.html").replaceAll("{name}", "first"), POLICY);
    else if (name === "live.js") send("text/javascript", read("../dist/live.js"));
    else if (name === "state") {
      asked++;
      send("application/json", JSON.stringify(state));
    } else if (name === "page" && broken !== "") {
      response.writeHead(503, { "Content-Type": "text/plain" }).end(broken);
    } else if (name === "page") {
      send("text/html; charset=utf-8", report.replace(/"end_ns":\d+/, `"end_ns":${state.to_ns}`), "frame-ancestors 'self'");
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await browser.close();
  server.close();
});

beforeEach(async () => {
  state = { version: 1, is_growing: true, from_ns: 0, to_ns: END, requests: r.n, all_requests: r.n };
  problems.length = 0;
  page = await browser.newPage();
  page.on("pageerror", (error) => problems.push(`pageerror: ${String(error)}`));
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  await page.setViewport({ width: 1200, height: 900 });
});
afterEach(async () => {
  await page.close();
  expect(problems).toEqual([]);
});

async function opened(): Promise<void> {
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/token/`);
  await shows(1);
}

/** The run goes on by some seconds. */
function grow(seconds: number): void {
  const { version, from_ns, to_ns } = state;
  const from = from_ns > 0 ? from_ns + seconds * S : 0;
  state = { ...state, version: version + 1, from_ns: from, to_ns: to_ns + seconds * S };
}

/** Waits until a page is shown, and no other is there. */
async function shows(version: number): Promise<void> {
  await page.waitForFunction(
    (name) => {
      const all = [...document.querySelectorAll("iframe")];
      return all.length === 1 && all[0]!.src.includes(name) && all[0]!.dataset["next"] === undefined;
    },
    { timeout: 20_000 },
    `page?${version}`,
  );
}

async function frame(): Promise<Frame> {
  const handle = await page.$("iframe");
  return (await handle!.contentFrame())!;
}

async function set(view: ViewChange): Promise<void> {
  const inside = await frame();
  await inside.evaluate((change) => window.__report!.set(change), view);
  await inside.waitForFunction(() => window.__report!.isTold(), { timeout: 10_000, polling: 20 });
}

async function stats(): Promise<ReportStats> {
  return (await frame()).evaluate(() => window.__report!.stats());
}

/** Waits until the page has asked for the state some times more. */
async function asks(times: number): Promise<void> {
  const until = asked + times;
  while (asked < until) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("page of a running run", () => {
  test("shows all of a short run, and says so", async () => {
    await opened();
    expect((await stats()).domain.t).toEqual([0, END]);
    expect(await page.$eval("#state", (line) => line.textContent)).toMatch(/^running · .* · shown from its start, 20000 requests$/);
    grow(10);
    await shows(2);
    expect((await stats()).domain.t).toEqual([0, END + 10 * S]);
  });

  test("keeps time, latencies, base and scale of the view", async () => {
    await opened();
    const [t, y] = [[30 * S, 60 * S], [1e5, 1e8]] as const;
    await set({ t, y, base: "completion", yLinear: true, on: "r" });
    const before = await stats();
    grow(10);
    await shows(2);
    const after = await stats();
    expect(after.domain).toEqual(before.domain);
    expect([after.base, after.drawn, after.errors]).toEqual(["completion", before.drawn, 0]);
    expect(after.domain.t).toEqual(t);
  });

  test("a view that reaches the end moves with the run", async () => {
    await opened();
    await set({ t: [END - 20 * S, END] });
    grow(7);
    await shows(2);
    expect((await stats()).domain.t).toEqual([END - 13 * S, END + 7 * S]);
    grow(3);
    await shows(3);
    expect((await stats()).domain.t).toEqual([END - 10 * S, END + 10 * S]);
  });

  test("the window moves", async () => {
    state = { ...state, from_ns: END - 60 * S, requests: 500 };
    await opened();
    expect((await stats()).domain.t).toEqual([END - 60 * S, END]);
    expect(await page.$eval("#state", (line) => line.textContent)).toContain("the last 60.0 s, 500 of 20000 requests");
    grow(5);
    await shows(2);
    expect((await stats()).domain.t).toEqual([END - 55 * S, END + 5 * S]);
  });

  test("keeps what is open, and the place on the screen", async () => {
    await opened();
    const inside = await frame();
    await inside.evaluate(() => {
      document.querySelectorAll("details")[1]!.open = true;
      scrollTo(0, 300);
    });
    const top = () => document.getElementById("view")!.getBoundingClientRect().top;
    const before = await inside.evaluate(top);
    grow(5);
    await shows(2);
    const next = await frame();
    expect(await next.evaluate(() => document.querySelectorAll("details")[1]!.open)).toBe(true);
    expect(Math.abs((await next.evaluate(top)) - before)).toBeLessThanOrEqual(1);
  });

  test("is not replaced during a gesture, or while it is held", async () => {
    await opened();
    await page.mouse.move(500, 500);
    await page.mouse.down();
    grow(5);
    await asks(3);
    await shows(1);
    await page.mouse.up();
    await shows(2);
    await page.click("#hold");
    grow(5);
    await asks(3);
    await shows(2);
    await page.click("#hold");
    await shows(3);
  });

  test("says why there is no newer page, and asks again", async () => {
    await opened();
    broken = "the result is gone";
    grow(5);
    const says = (text: string) =>
      page.waitForFunction((t) => document.getElementById("state")!.textContent!.includes(t), { timeout: 20_000 }, text);
    await says("no news: the result is gone");
    await shows(1);
    broken = "";
    await shows(2);
    await says("running");
    problems.splice(0, problems.length, ...problems.filter((problem) => !problem.includes("503")));
  });

  test("asks no more once the run has ended and its last page is shown", async () => {
    await opened();
    grow(5);
    state = { ...state, is_growing: false };
    await shows(2);
    const before = asked;
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(asked).toBe(before);
    expect(await page.$eval("#state", (line) => line.textContent)).toMatch(/^ended · /);
  });
});
