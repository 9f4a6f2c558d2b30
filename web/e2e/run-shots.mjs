// Bundles shots.ts and runs it.
import { build } from "esbuild";

const outfile = new URL("../node_modules/.cache/shots.mjs", import.meta.url).pathname;
await build({ entryPoints: [new URL("./shots.ts", import.meta.url).pathname], outfile, bundle: true, platform: "node", format: "esm", packages: "external" });
await import(outfile);
