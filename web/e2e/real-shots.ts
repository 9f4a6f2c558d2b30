/** Pictures of pages that the program wrote, with the viewer of this tree: `node e2e/run-shots.mjs pages FROM TO`. */

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open } from "./browser";

export async function realShots(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  const viewer = readFileSync("dist/viewer.js", "utf8");
  const browser = await launch();
  for (const name of readdirSync(from).filter((n) => n.endsWith(".html"))) {
    const html = readFileSync(join(from, name), "utf8").replace(
      /(<script id="iosonar-viewer">)[\s\S]*?(<\/script>)/,
      (_, a: string, b: string) => a + viewer + b,
    );
    for (const dark of [false, true]) {
      const { page, problems } = await open(browser, html, { dark });
      await page.screenshot({ path: join(to, `${name}${dark ? "-dark" : ""}.png`) as `${string}.png`, fullPage: true });
      if (!dark) console.log(name, JSON.stringify(await page.evaluate(() => window.__report?.stats())), problems);
      await page.close();
    }
  }
  await browser.close();
}
