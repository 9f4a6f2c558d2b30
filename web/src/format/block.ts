/** Blocks of the page as they stand in the file, and the way to their bytes. */

import { fromBase64 } from "./base64";
import { crc32 } from "./crc32";
import { inflate } from "./inflate";

/** Counts of a grid, a relation or a series. */
export interface CountBlock {
  /** Number of the first tile. */
  readonly tile: number;
  /** Sum of all numbers. */
  readonly n: number;
  readonly crc: string;
  readonly text: string;
}

/** Facts of requests. */
export interface PointBlockText {
  readonly n: number;
  readonly fromUs: number;
  readonly toUs: number;
  readonly unit: number;
  readonly crc: string;
  /** Base64 in the page, a raw deflate stream in a side-car. */
  readonly packed: string | Uint8Array<ArrayBuffer>;
}

export interface RunBlocks {
  /** By `data-k`. */
  readonly counts: Map<string, CountBlock[]>;
  readonly points: PointBlockText[];
}

/** The bytes of a block; fails where they are not those that were written. */
export async function unpack(packed: string | Uint8Array<ArrayBuffer>, crc: string): Promise<Uint8Array> {
  const bytes = await inflate(typeof packed === "string" ? fromBase64(packed.trim()) : packed);
  const found = crc32(bytes).toString(16).padStart(8, "0");
  if (found !== crc.toLowerCase()) throw new Error(`CRC-32 ${found} instead of ${crc}`);
  return bytes;
}

/** Takes all blocks out of the document, so that their text is held only once. */
export function takeBlocks(document: Document, runs: number): RunBlocks[] {
  const all: RunBlocks[] = Array.from({ length: runs }, () => ({ counts: new Map(), points: [] }));
  for (const element of document.querySelectorAll<HTMLScriptElement>('script[type^="application/x-iosonar-"]')) {
    const run = all[Number(element.dataset["run"] ?? 0)];
    if (run) takeBlock(element, run);
    element.remove();
  }
  return all;
}

function takeBlock(element: HTMLScriptElement, run: RunBlocks): void {
  const number = (name: string) => Number(element.dataset[name] ?? 0);
  const text = element.textContent ?? "";
  const crc = element.dataset["crc32"] ?? "";
  if (element.type === "application/x-iosonar-points") {
    const [fromUs, toUs] = [number("fromUs"), number("toUs")];
    run.points.push({ n: number("n"), fromUs, toUs, unit: number("unit") || 1, crc, packed: text });
    return;
  }
  const key = element.dataset["k"] ?? "";
  const blocks = run.counts.get(key) ?? [];
  blocks.push({ tile: number("tile"), n: number("n"), crc, text });
  run.counts.set(key, blocks);
}
