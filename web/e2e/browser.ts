/** Opens pages in a browser without a screen, and collects everything that goes wrong in them. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer, { type Browser, type Page } from "puppeteer-core";

const ALWAYS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Ways to start, by what there is for WebGL; the viewer must not care. */
export const ROWS = {
  plain: [],
  "no rasterizer": ["--disable-software-rasterizer"],
  swiftshader: ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
} as const;

export async function launch(row: keyof typeof ROWS = "no rasterizer"): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "iosonar-e2e-"));
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await puppeteer.launch({
    executablePath,
    args: [...ALWAYS, ...ROWS[row], `--user-data-dir=${profile}`],
  });
  // The browser still writes for a moment after it has gone; what it leaves then is no failure of a test.
  browser.on("disconnected", () =>
    setTimeout(() => {
      try {
        rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      } catch (error) {
        console.warn(`${profile} stays: ${String(error)}`);
      }
    }, 500),
  );
  return browser;
}

export interface Opened {
  readonly page: Page;
  readonly problems: string[];
  readonly file: string;
}

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly hash?: string;
  readonly dark?: boolean;
  readonly ratio?: number;
}

let count = 0;

/** Holds the pages that this process opens; goes with it. */
const PAGES = mkdtempSync(join(tmpdir(), "iosonar-page-"));
process.on("exit", () => rmSync(PAGES, { recursive: true, force: true }));

/** Opens HTML from a file, as users do. */
export async function open(
  browser: Browser,
  html: string,
  { width = 1400, height = 1000, hash = "", dark = false, ratio = 1 }: OpenOptions = {},
): Promise<Opened> {
  const file = join(PAGES, `report-${count++}.html`);
  writeFileSync(file, html);
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`pageerror: ${String(error)}`));
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith("blob:") && !url.startsWith("data:") && !url.endsWith(`.html${hash}`) && !url.endsWith(".html"))
      problems.push(`request: ${url}`);
  });
  await page.setViewport({ width, height, deviceScaleFactor: ratio });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  await page.goto(pathToFileURL(file).href + hash, { waitUntil: "load" });
  await page.waitForFunction(
    () => window.__report !== undefined || document.querySelector("[data-role=banner]") !== null,
    { timeout: 20_000 },
  );
  await page.evaluate(() => window.__report?.ready);
  return { page, problems, file };
}

/** Waits until all is drawn. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(() => window.__report!.set({}));
}

/** Waits until the address, the words and the tables say what is drawn: a while after the last change. */
export async function told(page: Page): Promise<void> {
  await settle(page);
  await page.waitForFunction(() => window.__report!.isTold(), { timeout: 10_000, polling: 20 });
}

/** Opens all panels that are one click away. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate(() => document.querySelectorAll<HTMLDetailsElement>("details.v-fold").forEach((fold) => (fold.open = true)));
  // The event that asks for drawing comes later.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
  await settle(page);
}
