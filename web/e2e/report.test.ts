import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BANDS,
  blameOf,
  HOSTILE_NAME,
  machineOf,
  makeRequests,
  page as fixturePage,
  type Requests,
  ROWS,
  sideCar,
  widthFor,
} from "../test/fixture";
import { DARK, LIGHT } from "../src/render/palette";
import { significant } from "../src/render/units";
import type { ReportStats } from "../src/views/hook";
import { launch, open, type Opened, type OpenOptions, ROWS as BROWSERS, settle, told, unfold } from "./browser";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const style = read("../../crates/view/src/report/style.css") + read("../dist/viewer.css");
const viewer = read("../dist/viewer.js");
const r = makeRequests({ requests: 40_000 });
const html = fixturePage([r], {}, style, viewer);
const WIDTH = widthFor(r.endNs + 1, 16_384);

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const stats = (page: Page): Promise<ReportStats> => page.evaluate(() => window.__report!.stats());

async function shown<T>(source: string, options: OpenOptions, use: (opened: Opened) => Promise<T>): Promise<T> {
  const opened = await open(browser, source, options);
  try {
    const result = await use(opened);
    expect(opened.problems).toEqual([]);
    return result;
  } finally {
    await opened.page.close();
  }
}

/** Requests in the columns of a level that touch a range, of classes that are wanted. */
function expected(
  of: Requests,
  [from, to]: readonly [number, number],
  level: number,
  has: (i: number) => boolean = () => true,
): number {
  const width = WIDTH * 2 ** level;
  let n = 0;
  for (let i = 0; i < of.n; i++) {
    const column = Math.floor(of.submitted[i]! / width);
    if (column >= Math.floor(from / width) && column < Math.ceil(to / width) && has(i)) n++;
  }
  return n;
}

/** Where the sonar's plot lies on the screen. */
async function plot(page: Page): Promise<{ x: number; y: number; w: number; h: number }> {
  return page.evaluate(() => {
    const element = document.querySelector("[data-panel=sonar] .v-plot")!;
    element.scrollIntoView({ block: "center" });
    const { left, top, width, height } = element.getBoundingClientRect();
    return { x: left + 74, y: top + 22, w: width - 98, h: height - 48 };
  });
}

/** Turns the wheel with Ctrl. */
const zoom = async (page: Page) => {
  await page.keyboard.down("Control");
  await page.mouse.wheel({ deltaY: -300 });
  await page.keyboard.up("Control");
  await settle(page);
};

describe.each(Object.keys(BROWSERS) as (keyof typeof BROWSERS)[])("browser: %s", (row) => {
  test("opens, shows every request, asks for nothing", async () => {
    const own = await launch(row);
    const { page, problems } = await open(own, html);
    const found = await stats(page);
    expect([found.gridTotal, found.drawn, found.requests]).toEqual([r.n, r.n, r.n]);
    expect([found.errors, found.skipped, found.webgl]).toEqual([0, 0, false]);
    const { w, h } = await plot(page);
    expect(found.litPixels / (w * h)).toBeGreaterThan(0.02);
    expect(problems).toEqual([]);
    await own.close();
  });
});

describe("sonar", () => {
  test("bands have their colours at their places", () =>
    shown(html, {}, async ({ page }) => {
      const colors = await page.evaluate(
        async (bands) => {
          const found: Record<string, [number, number, number]> = {};
          const { y } = window.__report!.stats().domain;
          const canvas = document.querySelector<HTMLCanvasElement>("[data-panel=sonar] [data-role=plot]")!;
          const ctx = canvas.getContext("2d")!;
          const [height, width] = [canvas.height - 62, canvas.width - 98];
          for (const [name, ns] of Object.entries(bands)) {
            const at = Math.round(22 + (1 - Math.log(ns / y[0]) / Math.log(y[1] / y[0])) * height);
            const sum: [number, number, number] = [0, 0, 0];
            const { data } = ctx.getImageData(74, at, width, 1);
            for (let i = 0; i < data.length; i += 4) {
              for (let c = 0; c < 3; c++) sum[c]! += data[i + c]!;
            }
            found[name] = sum;
          }
          return found;
        },
        { slowReads: BANDS.read[2][0], writes: BANDS.write[1][0] },
      );
      expect(colors["slowReads"]![2]).toBeGreaterThan(colors["slowReads"]![0] * 1.1);
      expect(colors["writes"]![0]).toBeGreaterThan(colors["writes"]![2] * 1.1);
    }));

  test("has many colours, and another ground in the dark", async () => {
    const look = (page: Page) =>
      page.evaluate(() => {
        const canvas = document.querySelector<HTMLCanvasElement>("[data-panel=sonar] [data-role=plot]")!;
        const data = new Uint32Array(
          canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data.buffer,
        );
        return { ground: data[0]!, colors: new Set(data).size };
      });
    await shown(html, {}, async ({ page }) => {
      const light = await look(page);
      expect(light.colors).toBeGreaterThan(8);
      await page.click("[data-role=theme]");
      await settle(page);
      expect((await look(page)).ground).not.toBe(light.ground);
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(17, 21, 27)");
    });
  });

  test("the wheel alone scrolls the page", () =>
    shown(html, {}, async ({ page }) => {
      const { x, y, w, h } = await plot(page);
      await page.mouse.move(x + w / 2, y + h / 2);
      const before = await stats(page);
      const top = await page.evaluate(() => window.scrollY);
      await page.mouse.wheel({ deltaY: 300 });
      await page.waitForFunction((from) => window.scrollY > from, { timeout: 5000 }, top);
      await settle(page);
      expect((await stats(page)).domain).toEqual(before.domain);
    }));

  test("Ctrl and the wheel zoom around the pointer and count what is in sight", () =>
    shown(html, { hash: "#dots=off" }, async ({ page }) => {
      const { x, y, w, h } = await plot(page);
      await page.mouse.move(x + w * 0.25, y + h / 2);
      const before = await stats(page);
      await zoom(page);
      const after = await stats(page);
      const share = (range: readonly [number, number], at: number) => (at - range[0]) / (range[1] - range[0]);
      const at = before.domain.t[0] + 0.25 * (before.domain.t[1] - before.domain.t[0]);
      expect(after.domain.t[1] - after.domain.t[0]).toBeLessThan((before.domain.t[1] - before.domain.t[0]) * 0.7);
      expect(share(after.domain.t, at)).toBeCloseTo(0.25, 2);
      expect(after.drawn).toBe(expected(r, after.domain.t, after.level));
      expect(after.drawn).toBeLessThan(r.n);
      await page.keyboard.press("Backspace");
      await settle(page);
      expect((await stats(page)).domain).toEqual(before.domain);
    }));

  test("Ctrl, Shift and the wheel zoom the durations", () =>
    shown(html, {}, async ({ page }) => {
      const { x, y, w, h } = await plot(page);
      await page.mouse.move(x + w / 2, y + h / 2);
      const before = await stats(page);
      await page.keyboard.down("Shift");
      await zoom(page);
      await page.keyboard.up("Shift");
      const after = await stats(page);
      expect(after.domain.t).toEqual(before.domain.t);
      expect(Math.log(after.domain.y[1] / after.domain.y[0])).toBeLessThan(
        Math.log(before.domain.y[1] / before.domain.y[0]),
      );
    }));

  test("dots: exactly the requests in sight", () =>
    shown(html, {}, async ({ page }) => {
      const range = [98e9, 106e9] as const;
      await page.evaluate((t) => window.__report!.set({ t }), range as [number, number]);
      const found = await stats(page);
      const inside = r.submitted.filter((s) => s >= range[0] && s <= range[1]).length;
      expect([found.mode, found.drawn]).toEqual(["dots", inside]);
    }));

  test.each(["due", "completion", "number"] as const)("all requests are there by %s", (base) =>
    shown(html, { hash: `#base=${base}` }, async ({ page }) => {
      const found = await stats(page);
      expect([found.base, found.drawn]).toEqual([base, r.n]);
      await page.evaluate(() => window.__report!.set({ yLinear: true, transfer: "equal" }));
      expect((await stats(page)).drawn).toBe(r.n);
    }),
  );

  test("keys switch classes", () =>
    shown(html, {}, async ({ page }) => {
      await page.keyboard.press("r");
      await settle(page);
      expect((await stats(page)).drawn).toBe(r.cls.filter((c) => c & 1).length);
      await page.keyboard.press("r");
      await page.keyboard.press("p");
      await settle(page);
      expect((await stats(page)).drawn).toBe(r.cls.filter((c) => c < 2).length);
      expect(await page.$eval("[data-on=pushed]", (b) => b.getAttribute("aria-pressed"))).toBe("false");
    }));

  test("Shift-drag brushes: the table tells what lies inside", () =>
    shown(html, {}, async ({ page }) => {
      const { x, y, w, h } = await plot(page);
      await page.keyboard.down("Shift");
      await page.mouse.move(x + w * 0.3, y + h / 2);
      await page.mouse.down();
      await page.mouse.move(x + w * 0.4, y + h / 2, { steps: 5 });
      await page.mouse.up();
      await page.keyboard.up("Shift");
      await told(page);
      const { domain } = await stats(page);
      const hash = new URL(page.url()).hash;
      const [from = 0, to = 0] = /brush=([\d.]+)-([\d.]+)/
        .exec(hash)!
        .slice(1)
        .map((s) => Number(s) * 1e9);
      expect((from - domain.t[0]) / (domain.t[1] - domain.t[0])).toBeCloseTo(0.3, 2);
      const cells = await page.$$eval("[data-role=brush] tr", (rows) =>
        rows.map((row) => [...row.children].map((cell) => cell.textContent!.replace(/\s/g, ""))),
      );
      // What is told are milliseconds.
      const [a, b] = [from, to].map((ns) => Math.round(ns / 1e6) * 1e6) as [number, number];
      const inside = [...r.submitted.keys()].filter((i) => r.submitted[i]! >= a && r.submitted[i]! < b);
      expect(cells[2]![1]).toBe(String(inside.filter((i) => r.cls[i]! & 1).length));
      expect(cells[3]![1]).toBe(String(inside.length));
      const words = await page.$eval("[data-role=brush-words]", (e) => e.textContent!);
      expect(words).toContain("writes");
      expect(words).toContain(`${(a / 1e9).toFixed(3)} s`);
      await page.keyboard.press("Escape");
      await settle(page);
      expect(await page.$eval("[data-role=brush]", (e) => e.closest("div")!.hidden)).toBe(true);
    }));

  test("a short brush counts requests, not columns", () =>
    shown(html, {}, async ({ page }) => {
      // Far less than a stored column, with ends on requests: the first is inside, the last is not.
      const sorted = [...r.submitted].sort((a, b) => a - b);
      const [from, to] = [sorted[20_000]!, sorted[20_007]!];
      for (const on of ["rwp", "w"]) {
        await page.evaluate((brush, on) => window.__report!.set({ brush, on }), [from, to] as [number, number], on);
        await told(page);
        const cells = await page.$$eval("[data-role=brush] tr", (rows) =>
          rows.map((row) => [...row.children].map((cell) => cell.textContent!.replace(/\s/g, ""))),
        );
        const inside = [...r.submitted.keys()].filter((i) => r.submitted[i]! >= from && r.submitted[i]! < to);
        const all = inside.filter((i) => on === "rwp" || (r.cls[i]! & 1) === 1);
        expect(cells[3]![1]).toBe(String(all.length));
        const longest = Math.max(...all.map((i) => r.latency[i]!));
        const words = /^([\d.]+)(µs|ms|s)$/.exec(cells[3]![4]!)!;
        const ns = Number(words[1]) * { µs: 1e3, ms: 1e6, s: 1e9 }[words[2] as "µs" | "ms" | "s"];
        expect(Math.abs(ns / longest - 1)).toBeLessThan(0.007);
      }
    }));

  test("a brush of many requests is exact when it rests, and stays so under the pointer", async () => {
    const many = makeRequests({ requests: 150_000 });
    await shown(fixturePage([many], {}, style, viewer), {}, async ({ page }) => {
      await page.evaluate(() => window.__report!.set({ base: "due", brush: [100e9, 100.001e9] }));
      const inside = many.due.filter((d) => d >= 100e9 && d < 100.001e9).length;
      const all = () =>
        page.$$eval("[data-role=brush] tr", (rows) => {
          const cells = rows.map((row) => [...row.children].map((cell) => cell.textContent!));
          return cells.find(([name]) => name === "all")?.[1];
        });
      await expect.poll(all, { timeout: 5000 }).toBe(String(inside));
      const { x, y, w, h } = await plot(page);
      await page.mouse.move(x + w / 3, y + h / 3);
      await page.mouse.move(x + w / 2, y + h / 2);
      await new Promise((resolve) => setTimeout(resolve, 600));
      expect(await all()).toBe(String(inside));
    });
  });

  test("without single requests a brush tells in which steps it counts", () =>
    shown(fixturePage([r], { points: false }, style, viewer), {}, async ({ page }) => {
      const brush = [100.001e9, 100.002e9] as [number, number];
      await page.evaluate((brush) => window.__report!.set({ brush }), brush);
      await told(page);
      const words = await page.$eval("[data-role=brush-words]", (e) => e.textContent!);
      expect(words).toMatch(/\(in steps of [\d.]+ ms\)/);
      const reads = expected(r, brush, 0, (i) => (r.cls[i]! & 1) === 0);
      expect(words).toContain(`: ${reads} reads`);
    }));

  test("Shift-drag up or down selects a rectangle, and tells how it differs from the rest", () =>
    shown(html, {}, async ({ page }) => {
      const { x, y, w, h } = await plot(page);
      await page.keyboard.down("Shift");
      await page.mouse.move(x + w * 0.3, y + h * 0.1);
      await page.mouse.down();
      await page.mouse.move(x + w * 0.6, y + h * 0.55, { steps: 5 });
      // The panels must not move under the hand.
      expect(await page.$eval(".v-brush", (e) => (e as HTMLElement).hidden)).toBe(true);
      await page.mouse.up();
      await page.keyboard.up("Shift");
      await told(page);
      const { hash } = new URL(page.url());
      const ends = (name: string) => new RegExp(`${name}=([^&-]+(?:e-\\d+)?)-([^&]+)`).exec(hash)!.slice(1).map((s) => Number(s) * 1e9);
      const [from, to] = ends("brush").map((ns) => Math.round(ns / 1e6) * 1e6) as [number, number];
      const [low, high] = ends("durations").map((ns) => Number(ns.toPrecision(3))) as [number, number];
      expect(low).toBeGreaterThan(1e5);
      expect(high).toBeGreaterThan(1e9);
      const isIn = (i: number) => r.submitted[i]! >= from && r.submitted[i]! < to && r.latency[i]! >= low && r.latency[i]! < high;
      const all = [...r.submitted.keys()];
      const inside = all.filter(isIn);
      const rows = await page.$$eval("[data-role=brush] tr", (rows) => rows.map((row) => row.children[1]!.textContent!.replace(/\s/g, "")));
      // A request at an edge may lie on either side of it: durations are known to 0.1 %.
      expect(Math.abs(Number(rows[3]) - inside.length)).toBeLessThanOrEqual(3);
      const writes = (of: number[]) => Math.round((100 * of.filter((i) => r.cls[i]! & 1).length) / of.length);
      const shares = await page.$eval("[data-attribute=operation] .v-bins span:nth-child(2)", (e) => (e as HTMLElement).title);
      const [selected, others] = shares.match(/[\d.]+ %/g)!.map(parseFloat) as [number, number];
      expect(Math.abs(selected - writes(inside))).toBeLessThanOrEqual(1);
      expect(Math.abs(others - writes(all.filter((i) => !isIn(i))))).toBeLessThanOrEqual(1);
      const sentences = await page.$$eval("[data-role=bubble-up] li p", (all) => all.map((e) => e.textContent!));
      expect(sentences.length).toBeGreaterThan(0);
      for (const words of sentences) expect(words).toMatch(/^[<>\d. ]+% of the selected requests .+, [<>\d. ]+% of the others\.$/);
    }));

  test("the result of a brush stands beside the sonar, on a narrow screen below it", async () => {
    const places = (page: Page) =>
      page.evaluate(() => {
        const of = (selector: string) => document.querySelector(selector)!.getBoundingClientRect().toJSON() as DOMRect;
        return { result: of(".v-brush"), sonar: of("[data-panel=sonar]"), delay: of("[data-panel=delay]") };
      });
    const hash = "#brush=100-250&durations=0.01-10";
    await shown(html, { hash }, async ({ page }) => {
      await told(page);
      const { result, sonar, delay } = await places(page);
      expect(result.left).toBeGreaterThanOrEqual(sonar.right);
      expect(Math.abs(result.top - sonar.top)).toBeLessThan(200);
      expect(result.bottom - result.top).toBeLessThanOrEqual(1000);
      // All panels keep one time axis.
      expect(delay.width).toBe(sonar.width);
      await page.click("[data-role=clear-brush]");
      await settle(page);
      await told(page);
      expect((await places(page)).sonar.width).toBeGreaterThan(sonar.width + 300);
    });
    await shown(html, { hash, width: 390, height: 800 }, async ({ page }) => {
      await told(page);
      const { result, sonar, delay } = await places(page);
      expect(result.top).toBeGreaterThanOrEqual(sonar.bottom - 1);
      expect(result.top).toBeLessThan(sonar.bottom + 20);
      expect(result.bottom).toBeLessThanOrEqual(delay.top);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    });
  });

  test("without single requests nothing is compared, and the page says so", () =>
    shown(fixturePage([r], { points: false }, style, viewer), { hash: "#brush=100-250&durations=0.01-10" }, async ({ page }) => {
      await told(page);
      expect(await page.$eval("[data-role=bubble-up]", (e) => e.textContent)).toContain("no single requests");
      const [low, high] = [ROWS.begin(ROWS.slotOf(10e6)), ROWS.begin(ROWS.slotOf(10e9) + 1)];
      const words = await page.$eval("[data-role=brush-words]", (e) => e.textContent!);
      const reads = expected(r, [100e9, 250e9], 0, (i) => (r.cls[i]! & 1) === 0 && r.latency[i]! >= low && r.latency[i]! < high);
      expect(words.replace(/\s/g, "")).toContain(`:${reads}reads`);
    }));

  test("the sonar shows responses first, and latencies by a key, with every request on each base", () =>
    shown(fixturePage([r], { response: true }, style, viewer), {}, async ({ page }) => {
      const title = () => page.$eval("[data-panel=sonar] h3", (e) => e.textContent);
      expect(await title()).toMatch(/^Response/);
      const first = await stats(page);
      expect([first.gridTotal, first.drawn]).toEqual([r.n, r.n]);
      for (const base of ["due", "completion", "number", "start"] as const) {
        await page.evaluate((base) => window.__report!.set({ base }), base);
        expect((await stats(page)).drawn).toBe(r.n);
      }
      const marks = await page.$eval("[data-panel=sonar] [data-role=plot]", (e) => (e as HTMLCanvasElement).toDataURL());
      await page.keyboard.press("y");
      await told(page);
      expect(await title()).toMatch(/^Latency/);
      expect((await stats(page)).drawn).toBe(r.n);
      expect((await stats(page)).domain.y).toEqual(first.domain.y);
      expect(new URL(page.url()).hash).toContain("of=latency");
      expect(await page.$eval("[data-panel=sonar] [data-role=plot]", (e) => (e as HTMLCanvasElement).toDataURL())).not.toBe(marks);
      await page.click("[data-role=ordinate]");
      await settle(page);
      expect(await title()).toMatch(/^Response/);
    }));

  test("a rectangle over responses counts responses, from requests and from columns", async () => {
    const response = (i: number) => Math.max(0, r.submitted[i]! - r.due[i]!) + r.latency[i]!;
    const cells = async (page: Page) => {
      await page.evaluate(() => window.__report!.set({ brush: [345e9, 400e9], brushY: [1e9, 100e9] }));
      await told(page);
      return page.$$eval("[data-role=brush] tr", (rows) => rows.map((row) => [...row.children].map((c) => c.textContent!.replace(/\s/g, ""))));
    };
    const inside = [...r.submitted.keys()].filter((i) => r.submitted[i]! >= 345e9 && r.submitted[i]! < 400e9 && response(i) >= 1e9 && response(i) < 100e9);
    await shown(fixturePage([r], { response: true }, style, viewer), {}, async ({ page }) => {
      const [head, , , all] = await cells(page);
      expect(head![0]).toBe("Response");
      expect(Math.abs(Number(all![1]) - inside.length)).toBeLessThanOrEqual(3);
      const words = await page.$$eval("[data-attribute=delay] p, [data-attribute=latency] p", (e) => e.map((p) => p.textContent!));
      expect(words.join(" ")).toContain("after they were due");
    });
    await shown(fixturePage([r], { response: true, points: false }, style, viewer), {}, async ({ page }) => {
      const [, , , all] = await cells(page);
      // Whole columns and rows.
      expect(Number(all![1])).toBeGreaterThanOrEqual(inside.length);
      expect(Number(all![1])).toBeLessThan(inside.length * 1.1);
    });
  });

  test("a page whose responses are its latencies has no choice of the ordinate", () =>
    shown(html, {}, async ({ page }) => {
      expect(await page.$("[data-role=ordinate]")).toBeNull();
      await page.keyboard.press("y");
      await settle(page);
      expect(await page.$eval("[data-panel=sonar] h3", (e) => e.textContent)).toMatch(/^Latency/);
    }));

  test("fewer than 300 requests are bars, and dots by a key; a click on a bar tells its facts", () =>
    shown(html, {}, async ({ page, problems }) => {
      const t = [98e9, 98.5e9] as [number, number];
      await page.evaluate((t) => window.__report!.set({ t }), t);
      await settle(page);
      const bars = await stats(page);
      const inFlight = [...r.submitted.keys()].filter((i) => r.submitted[i]! <= t[1] && r.submitted[i]! + r.latency[i]! >= t[0]);
      expect(bars.mode).toBe("bars");
      // Completions are known to 0.1 %.
      expect(Math.abs(bars.drawn - inFlight.length)).toBeLessThanOrEqual(1);
      // A request that is certainly in sight, longer than a pixel.
      const long = inFlight.find((i) => r.submitted[i]! > t[0] + 5e7 && r.latency[i]! > 5e6 && r.latency[i]! < 1e8)!;
      const { x, y, w, h } = await plot(page);
      const at = x + ((r.submitted[long]! + r.latency[long]! / 2 - t[0]) / (t[1] - t[0])) * w;
      const words = () => page.$eval("[data-panel=sonar] [data-role=readout]", (e) => e.textContent!.replace(/\s/g, ""));
      let row = y;
      for (; row < y + h && !(await words()).startsWith(`#${long}·`); row += 4) await page.mouse.move(at, row);
      expect(await words()).toContain(`#${long}·`);
      await page.mouse.click(at, row - 4);
      await page.waitForSelector("[data-role=card]:not([hidden])", { timeout: 5000 });
      expect((await page.$eval("[data-role=card]", (e) => e.textContent!)).replace(/\s/g, "")).toContain(`#${long}·`);
      await page.keyboard.press("o");
      await settle(page);
      const inside = r.submitted.filter((s) => s >= t[0] && s <= t[1]).length;
      expect([(await stats(page)).mode, (await stats(page)).drawn]).toEqual(["dots", inside]);
      await page.click("[data-role=bars]");
      await settle(page);
      expect((await stats(page)).mode).toBe("bars");
      await page.keyboard.press("0");
      await settle(page);
      expect(await page.$eval("[data-role=bars]", (e) => (e as HTMLElement).hidden)).toBe(true);
      expect(problems).toEqual([]);
    }));

  test("Alt-drag zooms to a box, dragging pans", () =>
    shown(html, {}, async ({ page }) => {
      const { x, y, w, h } = await plot(page);
      await page.keyboard.down("Alt");
      await page.mouse.move(x + w * 0.2, y + h * 0.3);
      await page.mouse.down();
      await page.mouse.move(x + w * 0.4, y + h * 0.7, { steps: 4 });
      await page.mouse.up();
      await page.keyboard.up("Alt");
      await settle(page);
      const boxed = await stats(page);
      expect(boxed.domain.t[0] / r.endNs).toBeCloseTo(0.2, 2);
      expect(boxed.domain.t[1] / r.endNs).toBeCloseTo(0.4, 2);
      expect(boxed.domain.y[1]).toBeLessThan(20e9);
      await page.mouse.move(x + w * 0.5, y + h * 0.5);
      await page.mouse.down();
      await page.mouse.move(x + w * 0.75, y + h * 0.5, { steps: 4 });
      await page.mouse.up();
      await settle(page);
      expect((await stats(page)).domain.t[0] / r.endNs).toBeCloseTo(0.15, 2);
    }));

  test("a click tells the facts of the nearest request", () =>
    shown(html, {}, async ({ page }) => {
      const giant = r.latency.indexOf(300e9);
      const at = r.submitted[giant]!;
      await page.evaluate((t) => window.__report!.set({ t, bars: false }), [at - 1e6, at + 1e6] as [number, number]);
      const { x, y, w, h } = await plot(page);
      const { domain } = await stats(page);
      const position = ROWS.slots - 0.5;
      const [low, high] = [ROWS.position(domain.y[0]), ROWS.position(domain.y[1])];
      await page.mouse.click(x + w / 2, y + ((high - position) / (high - low)) * h);
      await page.waitForFunction(() => !document.querySelector<HTMLElement>("[data-role=card]")!.hidden, {
        timeout: 5000,
      });
      const text = await page.$eval("[data-role=card]", (e) => e.textContent!);
      expect(text.replace(/\s/g, "")).toContain(String(giant));
      expect(text).toMatch(/300 s/);
    }));
});

/** Fingers, as the browser sees them; puppeteer's own know only one at a time. */
async function touch(page: Page, steps: readonly (readonly (readonly [number, number])[])[]): Promise<void> {
  const session = await page.createCDPSession();
  let before = 0;
  for (const fingers of [...steps, []]) {
    const type = fingers.length === 0 ? "touchEnd" : fingers.length > before ? "touchStart" : "touchMove";
    const touchPoints = fingers.map(([x, y], id) => ({ x, y, id }));
    await session.send("Input.dispatchTouchEvent", { type, touchPoints });
    before = fingers.length;
  }
  await session.detach();
}

describe("filter", () => {
  const writes = [...r.cls].filter((cls) => cls & 1).length;
  const drawn = async (page: Page) => (await stats(page)).drawn;

  test("a click on a bar filters all panels; removing the chip brings everything back", () =>
    shown(html, { hash: "#brush=100-250&durations=0.01-10" }, async ({ page }) => {
      await told(page);
      const pixels = (panel: string) =>
        page.evaluate((id) => {
          const of = (selector: string) => document.querySelector<HTMLCanvasElement>(`[data-panel="${id}"] ${selector}`);
          const canvas = of("[data-role=plot]") ?? of("canvas")!;
          const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
          let sum = 0;
          for (let i = 0; i < data.length; i++) sum = (sum * 31 + data[i]!) >>> 0;
          return sum;
        }, panel);
      const panels = ["overview", "sonar", "throughput", "delay", "in-flight", "seek", "percentiles", "sizes", "latency.delay"];
      const looks = () => Promise.all(panels.map(pixels));
      const before = await looks();
      const words = () => page.$eval("[data-panel=throughput] [data-role=plot]", (e) => e.getAttribute("aria-label"));
      expect(await drawn(page)).toBe(r.n);
      await page.click('[data-attribute=operation] [data-value="write"]');
      await told(page);
      expect(await drawn(page)).toBe(writes);
      expect(new URL(page.url()).hash).toContain("only=operation%3Awrite");
      const chip = () => page.$$eval("[data-role=filter] button", (all) => all.map((e) => e.textContent));
      expect(await chip()).toEqual(["operation: write ×"]);
      expect((await page.$eval("[data-role=filter-count]", (e) => e.textContent!)).replace(/[^\d ]/g, "").replace(/(\d) (?=\d{3})/g, "$1")).toContain(String(writes));
      const after = await looks();
      panels.forEach((id, i) => expect(after[i], id).not.toBe(before[i]));
      expect(await words()).toBeTruthy();
      // What cannot be filtered says so.
      expect(await page.$eval("[data-panel=band-shares] [data-role=note]", (e) => e.textContent)).toContain("all requests, not filtered");
      expect(await page.$eval("[data-panel=frequency] [data-role=note]", (e) => e.textContent)).toContain("all requests, not filtered");
      // The table of the brush counts the rest alone.
      const reads = await page.$$eval("[data-role=brush] tr", (rows) => rows[1]!.children[1]!.textContent);
      expect(reads).toBe("0");
      await page.click("[data-only=operation]");
      await told(page);
      expect(await drawn(page)).toBe(r.n);
      expect(new URL(page.url()).hash).not.toContain("only=");
      expect(await chip()).toEqual([]);
      expect(await looks()).toEqual(before);
    }));

  test("a link restores it, several hold together, and keys choose a bar", () =>
    shown(html, { hash: "#only=operation:write&only=worker:worker%201&brush=100-250" }, async ({ page }) => {
      await told(page);
      const isLeft = (i: number) => (r.cls[i]! & 1) === 1 && i % 4 === 1;
      const left = [...r.cls.keys()].filter(isLeft).length;
      expect(await drawn(page)).toBe(left);
      await page.focus("[data-attribute=size] [data-value]").catch(() => undefined);
      const bar = await page.$("[data-value]");
      if (bar) {
        await bar.focus();
        await page.keyboard.press("Enter");
        await told(page);
        expect((await page.$$("[data-role=filter] button")).length).toBe(3);
        expect(await drawn(page)).toBeLessThan(left);
      }
    }));

  test("a value that no request has leaves nothing, and hostile ones stay text", () =>
    shown(html, { hash: `#only=target:${encodeURIComponent("</button><img src=x onerror=alert(1)>")}` }, async ({ page }) => {
      await told(page);
      expect(await drawn(page)).toBe(0);
      expect(await page.$eval("[data-role=filter] button", (e) => [e.childElementCount, e.textContent])).toEqual([0, "target: </button><img src=x onerror=alert(1)> ×"]);
      expect(await page.$$eval("#view img", (all) => all.length)).toBe(0);
    }));

  test("without all requests it says that it cannot", () =>
    shown(fixturePage([r], { points: false }, style, viewer), { hash: "#only=operation:write" }, async ({ page }) => {
      await told(page);
      expect(await drawn(page)).toBe(r.n);
      expect(await page.$eval("[data-role=filter-count]", (e) => e.textContent)).toContain("not all requests are in the page");
    }));

  test("two runs are both filtered, and so is their difference", () =>
    shown(fixturePage([r, makeRequests({ requests: 5000, seed: 9 })], {}, style, viewer), { hash: "#only=operation:read&show=B" }, async ({ page }) => {
      await told(page);
      const b = makeRequests({ requests: 5000, seed: 9 });
      expect(await drawn(page)).toBe([...b.cls].filter((cls) => !(cls & 1)).length);
      await page.evaluate(() => window.__report!.set({ shown: "difference" }));
      expect(await drawn(page)).toBe([...r.cls, ...b.cls].filter((cls) => !(cls & 1)).length);
    }));
});

describe("notes", () => {
  const text = 'cache </script><img src=x onerror="alert(1)"> full & "quoted"';
  const noted = fixturePage([r], { notes: [{ from_ns: 100e9, to_ns: 150e9, text }, { from_ns: 300e9, to_ns: 300e9, text: "a moment" }] }, style, viewer);
  /** Pixels of a panel in the colour of notes. */
  const lit = (page: Page, panel: string) =>
    page.evaluate(
      (id, color) => {
        const canvas = document.querySelector<HTMLCanvasElement>(`[data-panel="${id}"] [data-role=plot]`)!;
        const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
        const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
        let n = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i] === red && data[i + 1] === green && data[i + 2] === blue) n++;
        return n;
      },
      panel,
      LIGHT.actual,
    );
  const axis = (page: Page) => page.$eval("[data-panel=time-axis] [data-role=plot]", (e) => [e.getAttribute("aria-label")!, e.clientHeight] as const);

  test("of the archive stand on the time axis with their text, which stays text", () =>
    shown(noted, {}, async ({ page }) => {
      await told(page);
      const [words, height] = await axis(page);
      expect(words).toContain(`Note 1, 100`);
      expect(words).toContain(text);
      expect(height).toBe(28 + 36);
      expect(await lit(page, "time-axis")).toBeGreaterThan(50);
      expect(await page.$$eval("#view img, .notes img, .notes script", (all) => all.length)).toBe(0);
      // Out of sight it is not drawn.
      await page.evaluate(() => window.__report!.set({ t: [200e9, 250e9] }));
      expect(await lit(page, "time-axis")).toBe(0);
    }));

  test("a reader writes one on what is brushed; the link carries it, and it can be removed", () =>
    shown(html, { hash: "#brush=100-150" }, async ({ page }) => {
      await told(page);
      expect(await axis(page)).toEqual([expect.not.stringContaining("Note"), 28]);
      await page.click("[data-role=note]");
      await page.type("[data-role=note-text]", text);
      await page.keyboard.press("Enter");
      await told(page);
      const { hash } = new URL(page.url());
      expect(hash).toMatch(/note=100-150%3Acache/);
      expect(hash).not.toMatch(/[<>" ]/);
      const items = (of: Page) => of.$$eval("[data-role=link-notes] li", (all) => all.map((e) => [e.textContent, e.querySelectorAll("img, script").length]));
      expect(await items(page)).toEqual([[expect.stringContaining(text), 0]]);
      expect((await axis(page))[0]).toContain(text);
      await shown(html, { hash }, async ({ page: other }) => {
        await told(other);
        expect(await items(other)).toEqual(await items(page));
        expect(await lit(other, "time-axis")).toBeGreaterThan(30);
        // Its link leads to its time, and keeps it.
        await other.click("[data-role=link-notes] a");
        await told(other);
        expect((await stats(other)).domain.t).toEqual([50e9, 200e9]);
        expect(await items(other)).toHaveLength(1);
        await other.click("[data-role=note-remove]");
        await told(other);
        expect(new URL(other.url()).hash).not.toContain("note=");
        expect(await other.$eval("[data-role=notes]", (e) => (e as HTMLElement).hidden)).toBe(true);
      });
    }));

  test("key m opens the field, Escape closes it, and an empty text is no note", () =>
    shown(html, {}, async ({ page }) => {
      await page.keyboard.press("m");
      const isOpen = () => page.evaluate(() => document.activeElement?.getAttribute("data-role") === "note-text");
      expect(await isOpen()).toBe(true);
      await page.keyboard.press("Escape");
      expect(await isOpen()).toBe(false);
      await page.keyboard.press("m");
      await page.keyboard.press("Enter");
      await told(page);
      expect(new URL(page.url()).hash).toBe("");
    }));

  test("are printed", () =>
    shown(noted, { hash: "#note=200-220:of%20the%20link" }, async ({ page }) => {
      await told(page);
      await page.emulateMediaType("print");
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      expect(await lit(page, "time-axis")).toBeGreaterThan(50);
      const seen = await page.$eval("[data-role=notes]", (e) => [e.textContent, e.getBoundingClientRect().height > 20] as const);
      expect(seen).toEqual([expect.stringContaining("of the link"), true]);
    }));
});

describe("view as a picture", () => {
  test("is one PNG of the panels in sight, with a caption", () =>
    shown(html.replace('<div id="view">', '<p class="headline"><b>Every burst outran the target</b></p><div id="view">'), { hash: "#t=100-200&only=operation:write" }, async ({ page }) => {
      await told(page);
      const to = mkdtempSync(join(tmpdir(), "iosonar-saved-"));
      const client = await page.createCDPSession();
      await client.send("Page.setDownloadBehavior", { behavior: "allow", downloadPath: to });
      await plot(page);
      await page.click("[data-role=save-view]");
      const file = () => readdirSync(to).find((name) => name.endsWith(".png"));
      await expect.poll(file, { timeout: 10_000 }).toBeTruthy();
      expect(file()).toMatch(/\.view\.png$/);
      const bytes = readFileSync(join(to, file()!));
      rmSync(to, { recursive: true });
      expect([...bytes.subarray(0, 8)]).toEqual([137, 80, 78, 71, 13, 10, 26, 10]);
      const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
      const found = await page.evaluate(async (base64) => {
        const image = new Image();
        image.src = `data:image/png;base64,${base64}`;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const ctx = canvas.getContext("2d")!;
        ctx.drawImage(image, 0, 0);
        const dark = (x: number, y: number, w: number, h: number) => {
          const { data } = ctx.getImageData(x, y, w, h);
          let n = 0;
          for (let i = 0; i < data.length; i += 4) if (data[i]! + data[i + 1]! + data[i + 2]! < 450) n++;
          return n;
        };
        const sonar = document.querySelector("[data-panel=sonar]")!.getBoundingClientRect();
        // Lines of the caption: headline, name, view, filter; then the panels.
        return { width: sonar.width, lines: [16, 38, 56, 74].map((y) => dark(16, y, 300, 16)), rest: dark(0, 130, image.width, image.height - 130), sonar: sonar.height };
      }, bytes.toString("base64"));
      expect(width).toBe(Math.round(found.width + 32));
      expect(height).toBeGreaterThan(found.sonar);
      // What is folded is not in sight.
      expect(height).toBeLessThan(1000 + found.sonar / 2);
      for (const line of found.lines) expect(line).toBeGreaterThan(60);
      expect(found.rest).toBeGreaterThan(2000);
    }));
});

describe("touch", () => {
  test("one finger pans, two zoom, a long press picks", () =>
    shown(html, {}, async ({ page }) => {
      const { x, y, w, h } = await plot(page);
      const at = (share: number) => [x + w * share, y + h / 2] as const;
      await page.evaluate(() => window.__report!.set({ t: [100e9, 200e9] }));
      await touch(page, [[at(0.6)], [at(0.5)], [at(0.4)]]);
      await settle(page);
      const panned = (await stats(page)).domain.t;
      expect(panned[0]).toBeCloseTo(120e9, -9);
      expect(panned[1] - panned[0]).toBeCloseTo(100e9, -3);
      await touch(page, [[at(0.45)], [at(0.45), at(0.55)], [at(0.4), at(0.6)], [at(0.3), at(0.7)]]);
      await settle(page);
      const zoomed = (await stats(page)).domain.t;
      // Four times as far apart: a quarter of the time, around the same middle; fingers move one after the other.
      expect(zoomed[1] - zoomed[0]).toBeCloseTo(25e9, -9);
      expect(Math.abs((zoomed[0] + zoomed[1]) / 2 - 170e9)).toBeLessThan(2.5e9);
      const request = 1234;
      const when = r.submitted[request]!;
      await page.evaluate((t) => window.__report!.set({ t, base: "start", bars: false }), [when - 1e8, when + 1e8] as [number, number]);
      const { domain } = await stats(page);
      const [low, high] = [ROWS.position(domain.y[0]), ROWS.position(domain.y[1])];
      const top = y + ((high - ROWS.position(r.latency[request]!)) / (high - low)) * h;
      const session = await page.createCDPSession();
      await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x: x + w / 2, y: top, id: 0 }] });
      await page.waitForSelector("[data-role=card]:not([hidden])", { timeout: 5000 });
      await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
      expect(await page.$eval("[data-role=card]", (e) => e.textContent!)).toMatch(/^#/);
    }));
});

describe("places", () => {
  test("have their names under the pointer, in the card, and are found", () =>
    shown(html, {}, async ({ page, problems }) => {
      const name = "data/<script>alert(1)</script>";
      const box = await page.evaluate(() => {
        const plot = document.querySelector("[data-panel=seek] .v-plot")!;
        plot.scrollIntoView({ block: "center" });
        const { left, top, height } = plot.getBoundingClientRect();
        return { left, top, height };
      });
      const named = new Set<string>();
      for (let step = 1; step < 40; step++) {
        await page.mouse.move(box.left + 400, box.top + (box.height * step) / 40);
        named.add((await page.$eval("[data-panel=seek] [data-role=readout]", (e) => e.textContent!)).split(" · ")[2] ?? "");
      }
      expect(named).toContain(name);
      expect(named).toContain("volume");
      await page.keyboard.press("/");
      await page.keyboard.type("SCRIPT");
      await page.keyboard.press("Enter");
      const told = () => page.$eval("[data-role=status]", (e) => e.textContent!);
      expect(await told()).toMatch(new RegExp(`^${name.replace(/[()]/g, ".")}: 9.31 GiB to 18.6 GiB`));
      await page.keyboard.press("/");
      await page.keyboard.type("nowhere");
      await page.keyboard.press("Enter");
      expect(await told()).toMatch(/nor a name/);
      const inFile = r.place.findIndex((p) => p >= 10e9 && p < 20e9);
      await page.keyboard.press("/");
      await page.keyboard.type(`#${inFile}`);
      await page.keyboard.press("Enter");
      await page.waitForSelector("[data-role=card]:not([hidden])", { timeout: 5000 });
      expect(await page.$eval("[data-role=card]", (e) => e.textContent!)).toContain(`(${name} + `);
      expect(problems).toEqual([]);
    }));
});

/** Strips of the machine, and how many of their pixels have the colour of each curve. */
function inked(page: Page, colors: readonly string[]): Promise<Record<string, number[]>> {
  return page.evaluate((colors) => {
    const strips = [...document.querySelectorAll<HTMLElement>("[data-panel^=machine-]")].filter((e) => !e.hidden);
    return Object.fromEntries(
      strips.map((strip) => {
        const canvas = strip.querySelector<HTMLCanvasElement>("[data-role=plot]")!;
        const { data } = canvas.getContext("2d")!.getImageData(74, 0, canvas.width - 98, canvas.height - 40);
        const found = new Map<number, number>();
        for (let i = 0; i < data.length; i += 4) {
          const color = (data[i]! << 16) | (data[i + 1]! << 8) | data[i + 2]!;
          found.set(color, (found.get(color) ?? 0) + 1);
        }
        return [strip.dataset["panel"]!, colors.map((color) => found.get(Number.parseInt(color.slice(1), 16)) ?? 0)];
      }),
    );
  }, colors);
}

/** What a panel tells at a share of its width. */
async function readAt(page: Page, panel: string, share: number): Promise<string> {
  const at = await page.evaluate((panel) => {
    const plot = document.querySelector(`[data-panel=${panel}] .v-plot`)!;
    plot.scrollIntoView({ block: "center" });
    const { left, top, width } = plot.getBoundingClientRect();
    return { left: left + 74, top, width: width - 98 };
  }, panel);
  await page.mouse.move(at.left + at.width * share, at.top + 40);
  return page.$eval(`[data-panel=${panel}] [data-role=readout]`, (e) => e.textContent!);
}

describe("machine", () => {
  const machine = machineOf(r, 400);
  const step = r.endNs / 400;
  const allShown = (source: string, options: OpenOptions, use: (opened: Opened) => Promise<void>) =>
    shown(source, options, async (opened) => {
      await unfold(opened.page);
      await use(opened);
    });

  test("is folded until it is opened", () =>
    shown(html, {}, async ({ page }) => {
      const isSeen = () => page.$eval("[data-panel=machine-cpu] canvas", (e) => e.checkVisibility());
      expect(await isSeen()).toBe(false);
      await page.focus("[data-fold^=Machine] > summary");
      await page.keyboard.press("Enter");
      await settle(page);
      expect(await isSeen()).toBe(true);
      expect((await inked(page, LIGHT.series))["machine-cpu"]!.every((n) => n > 20)).toBe(true);
      expect(await page.$eval("[data-panel=working-set] canvas", (e) => e.checkVisibility())).toBe(false);
    }));

  test.each([["light", LIGHT], ["dark", DARK]] as const)("every curve of every strip is drawn, %s", (_, { series, dark }) =>
    allShown(html, { dark }, async ({ page }) => {
      const found = await inked(page, series);
      expect(Object.keys(found)).toEqual(machine.lanes.map(({ id }) => `machine-${id}`));
      for (const { id, curves } of machine.lanes)
        curves.forEach(({ name }, i) => expect(found[`machine-${id}`]![i], `${id}, ${name}`).toBeGreaterThan(20));
    }));

  test("the pointer tells the values of the step below it, and follows zoom and bases", () =>
    allShown(html, {}, async ({ page }) => {
      for (const [at, base] of [[7, "start"], [40, "due"], [300, "completion"]] as const) {
        await page.evaluate((t, base) => window.__report!.set({ t, base }), [at * step, (at + 1) * step] as [number, number], base);
        for (const { id, unit, curves } of machine.lanes) {
          const told = (await readAt(page, `machine-${id}`, 0.5)).split(" · ").slice(1);
          const wanted = curves.map(({ name, values }) => `${name} ${significant(values[at]!)} ${unit}`.trim());
          expect(told, id).toEqual(wanted);
        }
      }
      await page.evaluate((end) => window.__report!.set({ t: [0, end] }), r.endNs);
      expect(await readAt(page, "machine-utilization", 0.24)).toMatch(/nvme0n1 [\d.]+/);
      // Nothing was sampled there.
      expect(await readAt(page, "machine-utilization", 0.27)).toMatch(/nvme0n1 – · /);
    }));

  test("by number they stay over time, and one says so", () =>
    allShown(html, { hash: "#base=number" }, async ({ page }) => {
      const notes = await page.$$eval("[data-panel^=machine-] [data-role=note]", (all) => all.map((e) => e.textContent!));
      expect(notes.filter((note) => note.includes("these strips stay over time"))).toHaveLength(1);
      expect(notes.filter((note) => note.includes("the 4 busiest of 5 devices"))).toHaveLength(3);
      expect((await inked(page, LIGHT.series))["machine-cpu"]!.every((n) => n > 20)).toBe(true);
    }));

  test.each([600, 360])("names of curves stand below in %d pixels, and nothing is cut", (width) =>
    allShown(html, { width }, async ({ page }) => {
      const sides = await page.$$eval("[data-panel^=machine-] .v-side canvas", (all) =>
        (all as HTMLCanvasElement[]).map((canvas) => {
          const { data, width } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
          const ground = new Uint32Array(data.buffer)[0]!;
          const rows = new Uint32Array(data.buffer).reduce((last, color, i) => (color === ground ? last : Math.floor(i / width)), 0);
          return { free: canvas.height - rows, isIn: canvas.getBoundingClientRect().right <= innerWidth };
        }),
      );
      expect(sides).toHaveLength(machine.lanes.length);
      // Letters reach below their line: of a cut one, pixels would stand in the last row.
      for (const { free, isIn } of sides) expect([free > 2, isIn]).toEqual([true, true]);
    }));

  test("are saved as SVG with their lines", () =>
    allShown(html, {}, async ({ page }) => {
      await page.evaluate(() => {
        const saved: Blob[] = ((window as unknown as { saved: Blob[] }).saved = []);
        const make = URL.createObjectURL.bind(URL);
        URL.createObjectURL = (blob: Blob) => (saved.push(blob), make(blob));
      });
      await page.focus("[data-panel=machine-cpu] canvas[tabindex='0']");
      await page.keyboard.press("S");
      await page.waitForFunction(() => (window as unknown as { saved: Blob[] }).saved.length > 0, { timeout: 5000 });
      const text = await page.evaluate(() => (window as unknown as { saved: Blob[] }).saved[0]!.text());
      for (const color of LIGHT.series) expect(text).toContain(color);
      expect(text).toMatch(/^<svg/);
    }));

  test("two runs: A shows B dashed, B has strips of its own", () =>
    allShown(fixturePage([r, makeRequests({ requests: 5000, seed: 9 })], {}, style, viewer), {}, async ({ page }) => {
      const title = () => page.$eval("[data-panel=machine-cpu] h3", (e) => e.textContent!);
      expect(await title()).toBe("A · CPUs, % (B: dashed)");
      await page.keyboard.press("b");
      await settle(page);
      expect(await title()).toBe("B · CPUs, %");
      expect((await inked(page, LIGHT.series))["machine-cpu"]!.every((n) => n > 20)).toBe(true);
    }));

  test("a run without samples has no such strips, and says nothing", () =>
    allShown(fixturePage([makeRequests({ requests: 2000 })], { samples: 0 }, style, viewer), {}, async ({ page }) => {
      expect(await page.$$eval("[data-panel^=machine-]", (all) => all.length)).toBe(0);
      expect((await stats(page)).errors).toBe(0);
    }));
});

describe("causes over time", () => {
  const readout = (page: Page) => page.$eval("[data-panel=blame] [data-role=readout]", (e) => e.textContent!);
  const colors = (page: Page) =>
    page.$eval("[data-panel=blame] [data-role=plot]", (e) => {
      const canvas = e as HTMLCanvasElement;
      const { data } = canvas.getContext("2d")!.getImageData(74, 9, canvas.width - 98, canvas.height - 49);
      return new Set(new Uint32Array(data.buffer)).size;
    });

  test("stand below the sonar, and follow its zoom", () =>
    shown(html, {}, async ({ page }) => {
      const order = await page.$$eval("#view [data-panel]", (all) => all.map((e) => (e as HTMLElement).dataset["panel"]));
      expect(order.indexOf("blame")).toBe(order.indexOf("sonar") + 1);
      expect(await colors(page)).toBeGreaterThan(20);
      const { slice_ns } = blameOf(r);
      const halt = [200.5 * slice_ns, 201.5 * slice_ns] as [number, number];
      await page.evaluate((t) => window.__report!.set({ t }), halt);
      const at = await page.$eval("[data-panel=blame] .v-plot", (e) => {
        e.scrollIntoView({ block: "center" });
        const { left, top, width } = e.getBoundingClientRect();
        return { x: left + 74 + (width - 98) / 2, y: top + 20 };
      });
      await page.mouse.move(at.x, at.y);
      expect(await readout(page)).toContain("halted 100 % of the time");
      expect(await readout(page)).not.toContain("depth full");
    }));

  test("have words and a table for those who do not see them", () =>
    shown(html, { dark: true }, async ({ page }) => {
      const label = await page.$eval("[data-panel=blame] canvas", (e) => e.getAttribute("aria-label")!);
      expect(label).toContain("halted: up to 100 % of the time");
      await page.click("[data-panel=blame] summary");
      await told(page);
      expect(await page.$$eval("[data-panel=blame] th", (all) => all.map((e) => e.textContent))).toContain('others on sda<b>"');
    }));

  test("have no strip where none is known", () =>
    shown(fixturePage([r], { blame: false }, style, viewer), {}, async ({ page }) => {
      expect(await page.$("[data-panel=blame]")).toBeNull();
    }));
});

describe("stamps", () => {
  test("what is no storage result says so inside of every picture", async () => {
    const few = makeRequests({ requests: 2000 });
    const look = (stamps: readonly string[]) =>
      new Promise<Record<string, number>>((resolve, reject) =>
        shown(fixturePage([few], { stamps }, style, viewer), { width: 1000 }, async ({ page }) => {
          await settle(page);
          // The sum of all pixels of each picture.
          const sums = await page.$$eval(":not([data-panel=time-axis]) > * > * > canvas[data-role=plot], .v-grid canvas[data-role=plot]", (all) =>
            all.map((canvas) => {
              const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
              return [canvas.closest("[data-panel]")!.getAttribute("data-panel")!, data.reduce((a, n) => a + n, 0)] as const;
            }),
          );
          resolve(Object.fromEntries(sums));
        }).catch(reject),
      );
    const [plain, stamped] = [await look([]), await look(["NOT A STORAGE RESULT"])];
    expect(Object.keys(plain).length).toBeGreaterThan(12);
    for (const [panel, sum] of Object.entries(plain)) expect(stamped[panel], panel).not.toBe(sum);
  });
});

describe("page", () => {
  test("findings are buttons, and n walks them", () =>
    shown(html, {}, async ({ page }) => {
      await page.click("#findings li[data-finding='4'] button");
      await settle(page);
      const stall = r.stalls[3]!;
      const { domain } = await stats(page);
      expect(domain.t[0]).toBeLessThan(stall.from);
      expect(domain.t[1]).toBeGreaterThan(stall.to);
      expect(domain.t[1] - domain.t[0]).toBeLessThan(10e9);
      await page.keyboard.press("n");
      await settle(page);
      expect((await stats(page)).domain.t[1]).toBeGreaterThan(r.stalls[4]!.to);
      expect(await page.$eval("#findings li[data-finding='5'] button", (b) => b.getAttribute("aria-current"))).toBe(
        "true",
      );
    }));

  test("a link restores the view", () =>
    shown(html, { hash: "#t=64.1-66.0&y=1e-4-10&base=due&on=rw&theme=dark" }, async ({ page }) => {
      const { domain, base } = await stats(page);
      expect([domain.t, base]).toEqual([[64.1e9, 66e9], "due"]);
      expect(domain.y[0]).toBeCloseTo(1e5, 3);
      expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    }));

  test("going to a time and to a request", () =>
    shown(html, {}, async ({ page }) => {
      await page.keyboard.press("/");
      await page.keyboard.type("200");
      await page.keyboard.press("Enter");
      await settle(page);
      const { domain } = await stats(page);
      expect((domain.t[0] + domain.t[1]) / 2).toBeCloseTo(200e9, -3);
      await page.keyboard.press("/");
      await page.keyboard.type("#1234");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => !document.querySelector<HTMLElement>("[data-role=card]")!.hidden, {
        timeout: 5000,
      });
    }));

  test("links inside of the page keep the view, tiles lead to panels", () =>
    shown(html, { hash: "#t=64.1-66.0", height: 700 }, async ({ page }) => {
      const before = (await stats(page)).domain;
      await page.evaluate(() => {
        location.hash = "#counts";
        const tile = document.createElement("a");
        tile.href = "#view";
        tile.id = "tile";
        tile.dataset["panelLink"] = "delay";
        tile.textContent = "delay";
        document.body.prepend(tile);
      });
      await new Promise((resolve) => setTimeout(resolve, 100));
      await settle(page);
      expect((await stats(page)).domain).toEqual(before);
      await page.evaluate(() => window.scrollTo(0, 0));
      await page.click("#tile");
      await settle(page);
      const found = await page.evaluate(() => ({
        focused: document.activeElement!.closest("[data-panel]")?.getAttribute("data-panel"),
        top: document.querySelector("[data-panel=delay]")!.getBoundingClientRect().top,
        bar: document.querySelector("[data-role=bar]")!.getBoundingClientRect().bottom,
      }));
      expect(found.focused).toBe("delay");
      expect(found.top).toBeGreaterThanOrEqual(found.bar);
      expect(found.top).toBeLessThan(350);
      expect((await stats(page)).domain).toEqual(before);
    }));

  test("a finding is brought into sight, and messages stay in sight", () =>
    shown(html, { height: 700 }, async ({ page }) => {
      for (const y of [0, 100_000]) {
        await page.evaluate((y) => window.scrollTo(0, y), y);
        await page.keyboard.press("n");
        await settle(page);
        const top = await page.$eval("[data-panel=sonar]", (e) => e.getBoundingClientRect().top);
        expect(top).toBeGreaterThan(-50);
        expect(top).toBeLessThan(450);
      }
      await page.keyboard.press("/");
      await page.keyboard.type("9999");
      await page.keyboard.press("Enter");
      const status = await page.$eval("[data-role=status]", (e) => ({
        text: e.textContent,
        top: e.getBoundingClientRect().top,
      }));
      expect(status.text).toMatch(/^the run ends at .*; #9999 is request 9999$/);
      expect(status.top).toBeGreaterThan(0);
      expect(status.top).toBeLessThan(200);
      await page.keyboard.press("Escape");
      expect(await page.$eval("[data-role=status]", (e) => e.textContent)).toBe("");
    }));

  test("by number, going to a time changes to time", () =>
    shown(html, { hash: "#base=number" }, async ({ page }) => {
      await page.keyboard.press("/");
      await page.keyboard.type("2\u200900 s");
      await page.keyboard.press("Enter");
      await settle(page);
      const { base, domain } = await stats(page);
      expect(base).toBe("start");
      expect((domain.t[0] + domain.t[1]) / 2).toBeCloseTo(200e9, -3);
    }));

  test("hostile names stay text", () =>
    shown(html, {}, async ({ page }) => {
      expect(await page.$eval("[data-role=bar] h2", (e) => e.textContent)).toContain(HOSTILE_NAME);
      expect(await page.$$eval("#view script", (all) => all.length)).toBe(0);
    }));

  test("everything has a name, and keys reach every panel", () =>
    shown(html, {}, async ({ page }) => {
      const found = await page.evaluate(() => {
        const canvases = [...document.querySelectorAll("#view canvas[role=img]")];
        const panels = [...document.querySelectorAll<HTMLElement>("[data-panel]")].filter((p) => !p.hidden);
        return {
          nameless: canvases
            .filter((c) => !c.getAttribute("aria-label"))
            .map((c) => c.closest("[data-panel]")?.getAttribute("data-panel")),
          unreachable: panels.filter((p) => !p.querySelector("canvas[tabindex='0']")).length,
          buttons: [...document.querySelectorAll("#view button")].filter(
            (b) => b.getBoundingClientRect().height < 24 && b.getBoundingClientRect().height > 0,
          ).length,
        };
      });
      expect(found).toEqual({ nameless: [], unreachable: 0, buttons: 0 });
    }));

  test("tables hold the numbers of the pictures", () =>
    shown(html, {}, async ({ page }) => {
      await page.evaluate(() => document.querySelectorAll<HTMLDetailsElement>("#view details").forEach((d) => (d.open = true)));
      const cells = () =>
        page.$$eval("#view details", (all) => Math.min(...all.map((d) => d.querySelectorAll("td").length)));
      await expect.poll(cells, { timeout: 5000 }).toBeGreaterThan(0);
    }));

  test("help opens and closes", () =>
    shown(html, {}, async ({ page }) => {
      await page.keyboard.type("?");
      await page.waitForSelector("dialog[open]", { timeout: 3000 });
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !document.querySelector("dialog[open]"), { timeout: 3000 });
    }));

  test("a file that is cut off says so, and shows what there is", async () => {
    const cut = html.slice(0, html.length * 0.6);
    await shown(cut, {}, async ({ page }) => {
      expect(await page.$eval("[data-role=banner]", (e) => e.textContent)).toMatch(/cut off at [\d.]+ MB/);
      expect((await stats(page)).drawn).toBeGreaterThan(0);
    });
  });

  test("a damaged block is left out and told", async () => {
    const at = html.indexOf('data-k="grid/latency.start/read"');
    const crc = html.indexOf('data-crc32="', at) + 12;
    const damaged = `${html.slice(0, crc)}00000000${html.slice(crc + 8)}`;
    await shown(damaged, {}, async ({ page }) => {
      const found = await stats(page);
      expect(found.skipped).toBe(1);
      expect(found.gridTotal).toBeLessThan(r.n);
      expect(await page.$eval("[data-role=damage]", (e) => [(e as HTMLElement).hidden, e.textContent])).toEqual([
        false,
        expect.stringContaining("damaged"),
      ]);
    });
  });

  test("without worker and built-in base64 it works as well", async () => {
    const poor = html.replace(
      "<body>",
      "<body><script>delete window.Worker; delete Uint8Array.fromBase64;</script>",
    );
    await shown(poor, {}, async ({ page }) => {
      expect(await page.evaluate(() => typeof Worker)).toBe("undefined");
      expect((await stats(page)).gridTotal).toBe(r.n);
    });
  });

  test("the print is light, and has two pages unless more is opened", () =>
    shown(html, { dark: true }, async ({ page }) => {
      const pages = async () => {
        const pdf = Buffer.from(await page.pdf({ format: "A4", margin: { top: "10mm", bottom: "10mm", left: "12mm", right: "12mm" } }));
        expect(pdf.length).toBeGreaterThan(50_000);
        return pdf.toString("latin1").match(/\/Type \/Page\b(?!s)/g)?.length;
      };
      expect(await pages()).toBe(2);
      await page.$$eval("#view details", (all) => all.forEach((d) => (d.open = true)));
      await told(page);
      expect(await pages()).toBeGreaterThan(2);
    }));
});

describe("order", () => {
  const top = (page: Page, selector: string) => page.$eval(selector, (e) => e.getBoundingClientRect().top + window.scrollY);

  test.each([1400, 900, 390])("headline, picture, causes, events, then lanes, in %d pixels", (width) =>
    shown(html, { width, height: 1000 }, async ({ page }) => {
      const order = [".headline", "[data-panel=sonar]", "[data-panel=blame]", ".events", "[data-panel=throughput]", ".v-grid", "#findings"];
      const tops: number[] = [];
      for (const selector of order) tops.push(await top(page, selector));
      expect([...tops].sort((a, b) => a - b)).toEqual(tops);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }));

  test("the first screen ends with the causes", () =>
    shown(html, {}, async ({ page }) => {
      const bottom = await page.$eval("[data-panel=blame] .v-plot", (e) => e.getBoundingClientRect().bottom);
      expect(bottom).toBeLessThan(1000);
    }));

  test("an event shows its time, and the picture stays where it is", () =>
    shown(html, {}, async ({ page }) => {
      await page.evaluate(() => window.scrollTo(0, 100));
      await page.click(".event a");
      await settle(page);
      const [from, to] = (await stats(page)).domain.t;
      expect([from, to]).toEqual([100e9, 120e9]);
      expect(await page.evaluate(() => window.scrollY)).toBe(100);
    }));

  test("one time axis stays at the bottom; by number the sonar has its own", () =>
    shown(html, {}, async ({ page }) => {
      const isCut = (id: string) => page.$eval(`[data-panel=${id}] .v-plot`, (e) => getComputedStyle(e).clipPath !== "none");
      const bottom = () => page.$eval("[data-panel=time-axis]", (e) => window.innerHeight - e.getBoundingClientRect().bottom);
      for (const y of [0, 600]) {
        await page.evaluate((y) => window.scrollTo(0, y), y);
        expect(Math.abs(await bottom())).toBeLessThanOrEqual(1);
      }
      expect([await isCut("sonar"), await isCut("throughput"), await isCut("time-axis")]).toEqual([true, true, false]);
      const label = () => page.$eval("[data-panel=time-axis] canvas", (e) => e.getAttribute("aria-label")!);
      await page.evaluate(() => window.__report!.set({ t: [50e9, 60e9] }));
      await told(page);
      expect(await label()).toBe("Time since the start, from 50.00 s to 60.00 s.");
      await page.evaluate(() => window.__report!.set({ base: "number" }));
      expect([await isCut("sonar"), await isCut("throughput")]).toEqual([false, true]);
    }));
});

describe("other pages", () => {
  test("without single requests the page says how fine it is, and a .trace file goes deeper", async () => {
    const sampled = fixturePage([r], { points: false }, style, viewer);
    await shown(sampled, { hash: "#t=99-100&bars=off" }, async ({ page, file }) => {
      expect(await page.$eval("[data-panel=sonar] [data-role=note]", (e) => e.textContent)).toMatch(
        /finest stored column .* drop the .trace file/,
      );
      const trace = join(dirname(file), "run.trace");
      writeFileSync(trace, sideCar(r, "0123456789abcdef0"));
      const input = await page.$("input[type=file]");
      await (input as unknown as { uploadFile(path: string): Promise<void> }).uploadFile(trace);
      await page.waitForFunction(() => window.__report!.stats().mode === "dots", { timeout: 5000 });
      const inside = r.submitted.filter((s) => s >= 99e9 && s <= 100e9).length;
      expect((await stats(page)).drawn).toBe(inside);
    });
  });

  test("a load: places, working set, demand", async () => {
    const load = fixturePage([makeRequests({ requests: 5000 })], { kind: "load" }, style, viewer);
    await shown(load, {}, async ({ page }) => {
      const panels = await page.$$eval("[data-panel]", (all) => all.map((e) => e.getAttribute("data-panel")));
      expect(panels.slice(0, 3)).toEqual(["seek", "working-set", "throughput"]);
      const found = await stats(page);
      expect([found.gridTotal, found.requests]).toEqual([5000, 5000]);
    });
  });

  test("two runs: strips of A show B, too", () =>
    shown(fixturePage([r, makeRequests({ requests: 5000, seed: 9 })], {}, style, viewer), {}, async ({ page }) => {
      const title = () => page.$eval("[data-panel=throughput] h3", (e) => e.textContent!);
      expect(await title()).toMatch(/^A · .* \(B: dashed\)$/);
      await page.keyboard.press("a");
      await settle(page);
      expect(await title()).toMatch(/^A · [^(]*$/);
    }));

  test("two runs: both, one, and their difference", async () => {
    const two = fixturePage(
      [makeRequests({ requests: 8000 }), makeRequests({ requests: 8000, slower: 2 })],
      {},
      style,
      viewer,
    );
    await shown(two, {}, async ({ page }) => {
      const visible = () =>
        page.$$eval("[data-panel^=sonar]", (all) =>
          all.filter((e) => !(e as HTMLElement).hidden).map((e) => e.getAttribute("data-panel")),
        );
      expect(await visible()).toEqual(["sonar", "sonar-b"]);
      expect((await stats(page)).drawn).toBe(16_000);
      await page.evaluate(() => window.__report!.set("#sel=B:4000"));
      await page.waitForFunction(
        () => /^B · #4\s?000 .*in the other run/.test(document.querySelector("[data-role=card]")!.textContent!),
        { timeout: 5000 },
      );
      await page.waitForFunction(() => location.hash.includes("sel=B:4000"), { timeout: 5000 });
      await page.keyboard.press("Escape");
      await page.keyboard.press("b");
      await settle(page);
      expect(await visible()).toEqual(["sonar-b"]);
      expect((await stats(page)).drawn).toBe(8000);
      await page.keyboard.press("x");
      await settle(page);
      expect(await visible()).toEqual(["sonar"]);
      expect((await stats(page)).drawn).toBe(16_000);
    });
  });
});
