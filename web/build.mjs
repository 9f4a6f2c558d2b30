// Makes dist/viewer.js: one script that is the page's viewer and, from a blob of its own text, its worker.
import { build } from "esbuild";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const OUT = new URL("./dist/viewer.js", import.meta.url);

await build({
  entryPoints: [new URL("./src/main.ts", import.meta.url).pathname],
  outfile: OUT.pathname,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});

const text = await readFile(OUT, "utf8");
// The bundle stands inside a <script> element: these would end it, or begin a comment that hides its end.
for (const trap of ["</script", "<!--", "http://", "https://"]) {
  if (text.toLowerCase().includes(trap)) throw new Error(`the bundle contains ${trap}`);
}
console.log(`dist/viewer.js: ${text.length} characters, ${gzipSync(text, { level: 9 }).length} bytes with gzip`);
