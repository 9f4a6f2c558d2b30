/**
 * Pages of real runs, as the program writes them: what they show is compared with what the program exports otherwise.
 * `IOSONAR_PAGES` is a directory that lab/web.sh --pages has filled.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, ElementHandle } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageLane, PageMachine } from "../src/format/page";
import { LIGHT, rgb } from "../src/render/palette";
import { significant } from "../src/render/units";
import { launch, type Opened, open, settle, told, unfold } from "./browser";

const PAGES = process.env["IOSONAR_PAGES"] ?? "";

interface Request {
  readonly write: boolean;
  readonly submitted: number;
  readonly latency: number;
}

/** Every completed request, read by nothing that made the page. */
function exported(): Request[] {
  const [head, ...lines] = readFileSync(join(PAGES, "requests.csv"), "utf8").trim().split("\n");
  const names = head!.split(",");
  const [op, outcome, submitted, completed] = ["op", "outcome", "submitted_ns", "completed_ns"].map((n) => names.indexOf(n));
  return lines
    .map((line) => line.split(","))
    .filter((cells) => cells[outcome!] === "completed")
    .map((cells) => ({
      write: cells[op!] === "write",
      submitted: Number(cells[submitted!]),
      latency: Number(cells[completed!]) - Number(cells[submitted!]),
    }));
}

/** Names of lanes and curves in the table of `plot --only machine --data`; devices are called the same there. */
const QUANTITIES: Record<string, string> = {
  utilization: "utilization_percent",
  queue: "mean_queue",
  await: "await_ms",
  merges: "merges_per_second",
  cpu: "cpu_percent",
  memory: "bytes",
  events: "per_second",
};
const CURVES: Record<string, string> = {
  "soft interrupts": "soft_interrupts",
  "idle, I/O waited": "io_wait",
  "taken by the host": "steal",
  "being written": "writeback",
  "task switches": "context_switches",
};

interface Sampled {
  readonly begin: number;
  readonly end: number;
  readonly value: number;
}

/** The steps of each curve, by quantity and name, read by nothing that made the page. */
function sampledSteps(): Map<string, Sampled[]> {
  const steps = new Map<string, Sampled[]>();
  const [, ...lines] = readFileSync(join(PAGES, "g60.machine.csv"), "utf8").trim().split("\n");
  for (const line of lines) {
    const [begin, end, of, quantity, value] = line.split(",");
    const key = `${quantity} ${of}`;
    steps.set(key, [...(steps.get(key) ?? []), { begin: Number(begin), end: Number(end), value: Number(value) }]);
  }
  return steps;
}

function stepsOf(steps: Map<string, Sampled[]>, lane: PageLane, name: string): Sampled[] {
  const factor = lane.unit === "MB" ? 1e6 : 1;
  const of = steps.get(`${QUANTITIES[lane.id]} ${CURVES[name] ?? name}`) ?? [];
  return of.map((step) => ({ ...step, value: step.value / factor }));
}

const UNITS: Record<string, number> = {
  ns: 1, µs: 1e3, ms: 1e6, s: 1e9, "": 1, "/s": 1, "%": 0.01,
  B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
  "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9,
};

/** Whether a text is a value, rounded to the digits that it shows. */
function shownAs(value: number, text: string): boolean {
  const [, digits, unit] = /^([\d\s.]+?)\s*([^\d\s.]*)$/.exec(text.trim()) ?? [];
  const factor = UNITS[unit ?? "?"];
  if (digits === undefined || factor === undefined) return false;
  const number = digits.replace(/\s/g, "");
  const last = 10 ** -(number.split(".")[1]?.length ?? 0);
  return Math.abs(Number(number) - value / factor) <= last * 0.5000001;
}

/** Pages, and the runs that they show. */
const PAGES_OF_RUNS: [string, string[]][] = [
  ["run", ["a"]],
  ["part", ["a"]],
  ["overload", ["over"]],
  ["hostile", ["hostile"]],
  ["compare", ["a", "b"]],
];

/** Compares every figure of a page with the summaries of the runs that it shows; returns how many there were. */
async function checkFigures(browser: Browser, folder: string, name: string, runs: readonly string[]): Promise<number> {
  const o = await open(browser, readFileSync(join(folder, `${name}.html`), "utf8"));
  const summaries = runs.map((run) => JSON.parse(readFileSync(join(folder, `${run}.summary.json`), "utf8")));
  // Tables of panels are made when they are opened.
  await o.page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
  await told(o.page);
  const found = await o.page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("[data-figure]")].map((e) => ({
      path: e.dataset["figure"]!,
      run: Number(e.dataset["run"]),
      value: e.dataset["value"]!,
      text: e.textContent!,
      where: e.closest<HTMLElement>("[data-panel]")?.dataset["panel"] ?? "text",
    })),
  );
  expect(new Set(found.map((f) => f.where))).toEqual(new Set(["text", "sonar", "delay", "percentiles", ...(runs.length > 1 ? ["sonar-b"] : [])]));
  for (const { path, run, value, text } of found) {
    const told = path.split(".").reduce((at, key) => at?.[key], summaries[run]);
    expect(Number(value), path).toBe(told);
    expect(shownAs(Number(value), text), `${path} = ${value} is shown as ${text}`).toBe(true);
  }
  const label = await o.page.evaluate(() => document.querySelector("[data-panel=percentiles] canvas")!.getAttribute("aria-label")!);
  const half = /50 % at most ([^,;.]*(?:\.\d+)?[^,;.]*)/.exec(label)![1]!;
  expect(shownAs(summaries[0].latency.all.p50_ns, half), label).toBe(true);
  await o.page.close();
  return found.length;
}

describe.skipIf(PAGES === "")("pages of real runs", () => {
  let browser: Browser;
  beforeAll(async () => {
    expect(existsSync(join(PAGES, "run.html"))).toBe(true);
    browser = await launch();
  });
  afterAll(() => browser.close());

  const opened = (name: string): Promise<Opened> => open(browser, readFileSync(join(PAGES, `${name}.html`), "utf8"));
  const stats = (o: Opened) => o.page.evaluate(() => window.__report!.stats());
  const completed = (o: Opened) =>
    o.page.evaluate(() => {
      const meta = JSON.parse(document.getElementById("iosonar-meta")!.textContent!);
      return meta.runs.map((run: { completed: number }) => run.completed).reduce((a: number, b: number) => a + b);
    });

  it.each(["run", "part", "overload", "compare", "hostile", "sampled", "sampled-compare"])("%s: every request is counted, nothing goes wrong", async (name) => {
    const o = await opened(name);
    const s = await stats(o);
    expect(s.gridTotal).toBe(await completed(o));
    expect(s.errors).toBe(0);
    expect(s.skipped).toBe(0);
    expect(s.drawn).toBe(s.gridTotal);
    await o.page.evaluate(() => window.__report!.set({ ordinate: "latency" }));
    expect((await stats(o)).drawn).toBe(s.gridTotal);
    expect(o.problems).toEqual([]);
    await o.page.close();
  });

  it.each(PAGES_OF_RUNS)("%s: every figure is the one of show --json", async (name, runs) => {
    expect(await checkFigures(browser, PAGES, name, runs)).toBeGreaterThan(50);
  });

  it.each([["run", "a"], ["overload", "over"], ["hostile", "hostile"]])("%s: the first screen is the story of show --json", async (name, run) => {
    const o = await opened(name);
    const { story } = JSON.parse(readFileSync(join(PAGES, `${run}.summary.json`), "utf8"));
    const texts = (selector: string) => o.page.$$eval(selector, (all) => all.map((e) => e.textContent!.replaceAll("\u00a0", " ")));
    expect(await texts(".headline")).toEqual([story.headline]);
    expect(await texts(".story dd[title]")).toEqual((story.because ?? []).map(({ text }: { text: string }) => text));
    expect(await texts(".event")).toHaveLength(Math.min(12, story.events?.length ?? 0));
    expect(await o.page.$$eval("[data-panel=blame] canvas[data-role=plot]", (all) => all.length)).toBe(story.blame ? 1 : 0);
    const bottom = await o.page.$eval("[data-panel=sonar] .v-plot", (e) => e.getBoundingClientRect().bottom);
    expect(bottom).toBeLessThanOrEqual(1000);
    await o.page.close();
  });

  it("marks failed requests, and tells how many", async () => {
    const o = await opened("hostile");
    const failed = JSON.parse(readFileSync(join(PAGES, "hostile.summary.json"), "utf8")).counts.all.failed as number;
    const told = await o.page.$$eval("[data-role=failed] [data-figure]", (all) => all.map((e) => (e as HTMLElement).dataset["value"]));
    expect(told).toEqual([String(failed), String(failed)]);
    const heads = await o.page.$$eval("[data-panel] h3", (all) => all.map((e) => e.textContent!));
    expect(heads.join()).not.toContain("every request");
    expect((await stats(o)).failed).toBe(failed);
    await o.page.close();
    const run = await opened("run");
    expect(await run.page.$eval("[data-panel=sonar] h3", (e) => e.textContent)).toMatch(/^(Response|Latency) of every request$/);
    expect(await run.page.$$eval("[data-role=failed] *", (all) => all.length)).toBe(0);
    await run.page.close();
  });

  it("shows responses first where requests waited, and none where the responses are the latencies", async () => {
    for (const [name, ordinate] of [["overload", "Response"], ["load", undefined]] as const) {
      const o = await opened(name);
      const titles = await o.page.$$eval("[data-panel=sonar] h3", (all) => all.map((e) => e.textContent!.split(" ")[0]));
      expect(titles).toEqual(ordinate ? [ordinate] : []);
      await o.page.close();
    }
  });

  it("has one peak of waiting requests, the summary's", async () => {
    const o = await opened("overload");
    const most = JSON.parse(readFileSync(join(PAGES, "over.summary.json"), "utf8")).waiting.max as number;
    const label = await o.page.$eval("[data-panel=delay] canvas", (e) => e.getAttribute("aria-label")!);
    expect(label.replace(/\s/g, "")).toContain(`Upto${most}waited`);
    await o.page.close();
  });

  it("zooms to single requests, and shows as many as there are", async () => {
    const o = await opened("run");
    const all = exported();
    for (const [from, to] of [[10e9, 10.5e9], [24.99e9, 25.01e9], [39.9e9, 40e9]] as const) {
      await o.page.evaluate((t) => window.__report!.set({ t, base: "start", dots: true, bars: false }), [from, to] as [number, number]);
      const s = await stats(o);
      const [begin, end] = s.domain.t;
      expect(s.mode).toBe("dots");
      // Submissions are kept in microseconds.
      const us = (ns: number) => Math.floor(ns / 1000) * 1000;
      const inside = all.filter((r) => us(r.submitted) >= begin && us(r.submitted) < end);
      expect(Math.abs(s.drawn - inside.length)).toBeLessThanOrEqual(1);
    }
    await o.page.close();
  });

  it("switches classes off and on", async () => {
    const o = await opened("run");
    const all = exported();
    await o.page.evaluate(() => window.__report!.set({ on: "w" }));
    expect((await stats(o)).drawn).toBe(all.filter((r) => r.write).length);
    await o.page.close();
  });

  it("draws what was sampled of the machine: values and pixels", async () => {
    const o = await opened("sampled");
    await unfold(o.page);
    const machine = await o.page.evaluate((): PageMachine => JSON.parse(document.getElementById("iosonar-meta")!.textContent!).runs[0].machine);
    const steps = sampledSteps();
    expect(machine.lanes.map(({ id }) => id)).toEqual(expect.arrayContaining(["cpu", "memory", "events"]));
    for (const lane of machine.lanes)
      for (const { name, values } of lane.curves) {
        const told = stepsOf(steps, lane, name);
        expect(told.length, `${lane.id} ${name}`).toBeGreaterThan(lane.id === "await" ? 0 : 10);
        const at = (ns: number) => told.find(({ begin, end }) => begin <= ns && ns < end)?.value;
        values.forEach((value, i) => {
          const wanted = at(machine.times_ns[i]!);
          if (value === null || wanted === undefined) expect([value, wanted], `${lane.id} ${name} ${i}`).toEqual([null, undefined]);
          else expect(Math.abs(value - wanted), `${lane.id} ${name} ${i}`).toBeLessThanOrEqual(Math.abs(wanted) * 1e-5);
        });
      }
    const ink = await o.page.$$eval(
      "[data-panel^=machine-]",
      (strips, colors) =>
        strips.map((strip) => {
          const canvas = strip.querySelector<HTMLCanvasElement>("[data-role=plot]")!;
          const { data } = canvas.getContext("2d")!.getImageData(74, 0, canvas.width - 98, canvas.height - 40);
          let n = 0;
          // Lines between two rows of pixels are paler.
          const isLike = (i: number, color: readonly number[]) => color.every((c, channel) => Math.abs(data[i + channel]! - c) <= 60);
          for (let i = 0; i < data.length; i += 4) if (colors.some((color) => isLike(i, color))) n++;
          return n;
        }),
      LIGHT.series.map(rgb),
    );
    expect(ink).toHaveLength(machine.lanes.length);
    // A fast disk is hardly busy: its lines lie on the axis, or are short.
    const ofDisk = ["await", "utilization"];
    machine.lanes.forEach(({ id }, i) => expect(ink[i], id).toBeGreaterThan(ofDisk.includes(id) ? 0 : 100));
    expect(o.problems).toEqual([]);
    await o.page.close();
  });

  it("tells the sampled values under the pointer", async () => {
    const o = await opened("sampled");
    await unfold(o.page);
    const machine = await o.page.evaluate((): PageMachine => JSON.parse(document.getElementById("iosonar-meta")!.textContent!).runs[0].machine);
    const steps = sampledSteps();
    for (const lane of machine.lanes) {
      const first = stepsOf(steps, lane, lane.curves[0]!.name);
      for (const { begin, end } of [first[0]!, first[first.length >> 1]!]) {
        await o.page.evaluate((t) => window.__report!.set({ t }), [begin, end] as [number, number]);
        const at = await o.page.evaluate((id) => {
          const plot = document.querySelector(`[data-panel=machine-${id}] .v-plot`)!;
          plot.scrollIntoView({ block: "center" });
          const { left, top, width } = plot.getBoundingClientRect();
          return { x: left + 74 + (width - 98) / 2, y: top + 40 };
        }, lane.id);
        await o.page.mouse.move(at.x, at.y);
        const told = await o.page.$eval(`[data-panel=machine-${lane.id}] [data-role=readout]`, (e) => e.textContent!);
        const wanted = lane.curves.map(({ name }) => {
          const step = stepsOf(steps, lane, name).find((s) => s.begin === begin);
          return `${name} ${step ? `${significant(Number(step.value.toPrecision(6)))} ${lane.unit}` : "–"}`.trim();
        });
        expect(told.split(" · ").slice(1), lane.id).toEqual(wanted);
      }
    }
    await o.page.close();
  });

  it("shows B's samples beside A's, and none of simulated runs", async () => {
    const o = await opened("sampled-compare");
    expect(await o.page.$eval("[data-panel=machine-events] h3", (e) => e.textContent)).toBe("A · Events per second (B: dashed)");
    expect((await stats(o)).errors).toBe(0);
    expect(await o.page.$$eval("#table-machine td, #table-machine-b td", (all) => all.length)).toBeGreaterThan(20);
    await o.page.close();
    const simulated = await opened("run");
    expect(await simulated.page.$$eval("[data-panel^=machine-], #table-machine", (all) => all.length)).toBe(0);
    await simulated.page.close();
  });

  it("takes the file that lies beside the page", async () => {
    const o = await opened("part");
    const chooser = (await o.page.$("input[type=file]")) as ElementHandle<HTMLInputElement> | null;
    expect(chooser).not.toBeNull();
    await chooser!.uploadFile(join(PAGES, "part.trace"));
    await o.page.waitForFunction(() => document.body.textContent!.includes("part.trace"), { timeout: 10_000, polling: 100 }).catch(() => undefined);
    await o.page.evaluate(() => window.__report!.set({ t: [10e9, 10.5e9], base: "start", dots: true, bars: false }));
    const difference = async () => {
      await settle(o.page);
      const s = await stats(o);
      const inside = exported().filter((r) => r.submitted >= s.domain.t[0] && r.submitted < s.domain.t[1]);
      return s.mode === "dots" ? Math.abs(s.drawn - inside.length) : Number.POSITIVE_INFINITY;
    };
    await expect.poll(difference, { timeout: 5000 }).toBeLessThanOrEqual(2);
    await o.page.close();
  });

  it("a load has a page without latencies", async () => {
    const o = await opened("load");
    const panels = await o.page.evaluate(() => [...window.__report!.panels]);
    expect(panels).toContain("seek");
    expect(panels).toContain("throughput");
    expect(panels).not.toContain("sonar");
    expect((await stats(o)).errors).toBe(0);
    expect(o.problems).toEqual([]);
    await o.page.close();
  });

  it("foreign names stay text", async () => {
    const o = await opened("hostile");
    expect(await o.page.evaluate(() => "hacked" in window)).toBe(false);
    const scripts = await o.page.evaluate(() => [...document.scripts].filter((s) => s.type === "" && s.id !== "iosonar-viewer").length);
    expect(scripts).toBe(0);
    expect(await o.page.evaluate(() => document.body.textContent!.includes("<script>window.hacked=1"))).toBe(true);
    await o.page.close();
  });

  it("a ramp into overload shows where it cannot follow", async () => {
    const o = await opened("overload");
    const found = await o.page.evaluate(() => document.getElementById("findings")?.textContent ?? "");
    expect(found).toContain("cannot follow");
    await o.page.close();
  });
});

/** Pages of the runs of lab/gallery.sh, which starts this: each `NAME.html` beside its `NAME.summary.json`. */
const GALLERY = process.env["IOSONAR_GALLERY_PAGES"] ?? "";

describe.skipIf(GALLERY === "")("pages of the gallery", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  const names = GALLERY === "" ? [] : readdirSync(GALLERY).flatMap((file) => /^(.*)\.html$/.exec(file)?.[1] ?? []);
  it.each(names)("%s: every figure is the one of show --json", async (name) => {
    expect(await checkFigures(browser, GALLERY, name, [name])).toBeGreaterThan(50);
  });
});
