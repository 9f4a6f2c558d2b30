// Makes dist/viewer.js: one script that is the page's viewer and, from a blob of its own text, its worker.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { minify } from "terser";

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

// esbuild is quick, terser is thorough: the page is to stay small.
const { code: text } = await minify(await readFile(OUT, "utf8"), { ecma: 2020, compress: { passes: 3 }, mangle: true });
await writeFile(OUT, text);
// The bundle stands inside a <script> element: these would end it, or begin a comment that hides its end.
for (const trap of ["</script", "<!--", "http://", "https://"]) {
  if (text.toLowerCase().includes(trap)) throw new Error(`the bundle contains ${trap}`);
}
console.log(`dist/viewer.js: ${text.length} characters, ${gzipSync(text, { level: 9 }).length} bytes with gzip`);
