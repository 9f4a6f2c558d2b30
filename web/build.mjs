// Makes dist/viewer.js: one script that is the page's viewer and, from a blob of its own text, its worker;
// dist/viewer.css, which belongs into the head; and dist/live.js, the script of the page that shows a running run.
import { build } from "esbuild";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { minify } from "terser";
import ts from "typescript";

const OUT = new URL("./dist/viewer.js", import.meta.url);
const SOURCE = new URL("./src/", import.meta.url).pathname;
/** Names that others use, too: in the data of the page, in files with all requests, in tests. */
const CONTRACTS = ["format/page.ts", "format/side-car.ts", "views/hook.ts"].map((file) => SOURCE + file);

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

await build({
  entryPoints: [SOURCE + "views/style.css"],
  outfile: new URL("./dist/viewer.css", import.meta.url).pathname,
  minify: true,
});

await build({
  entryPoints: [new URL("./live/live.ts", import.meta.url).pathname],
  outfile: new URL("./dist/live.js", import.meta.url).pathname,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});

// esbuild is quick, terser is thorough: the page is to stay small.
const { code: text } = await minify(await readFile(OUT, "utf8"), {
  ecma: 2020,
  compress: { passes: 3 },
  mangle: { properties: { regex: await ownNames() } },
});
await writeFile(OUT, text);
// The bundle stands inside a <script> element: these would end it, or begin a comment that hides its end.
for (const trap of ["</script", "<!--", "http://", "https://"]) {
  if (text.toLowerCase().includes(trap)) throw new Error(`the bundle contains ${trap}`);
}
console.log(`dist/viewer.js: ${text.length} characters, ${gzipSync(text, { level: 9 }).length} bytes with gzip`);

/**
 * Names of members that nobody but us reads, and that may be shortened: declared in our classes and interfaces, not in the
 * contracts, and in no string, because a key may be made of one. Names of the browser that TypeScript does not know yet are
 * written as strings.
 */
async function ownNames() {
  const isSource = (file) => file.endsWith(".ts") && !file.endsWith(".test.ts");
  const files = (await readdir(SOURCE, { recursive: true })).filter(isSource).map((file) => SOURCE + file);
  const own = new Set();
  const kept = new Set();
  for (const file of files) {
    const text = await readFile(file, "utf8");
    const isContract = CONTRACTS.includes(file);
    if (!isContract) for (const name of members(text)) own.add(name);
    for (const some of isContract ? [text] : strings(text)) for (const [word] of some.matchAll(/[\w$]+/g)) kept.add(word);
  }
  return new RegExp(`^(?:${[...own].filter((name) => !kept.has(name)).sort().join("|")})$`);
}

function parse(text) {
  return ts.createSourceFile("a.ts", text, ts.ScriptTarget.ES2022, true);
}

function members(text) {
  const found = [];
  const visit = (node) => {
    const isMember = ts.isClassElement(node) || ts.isTypeElement(node) || ts.isParameterPropertyDeclaration(node, node.parent);
    if (isMember && node.name && ts.isIdentifier(node.name)) found.push(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(parse(text));
  return found;
}

function strings(text) {
  const found = [];
  const visit = (node) => {
    // Names of files are no keys.
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(parse(text));
  return found;
}
