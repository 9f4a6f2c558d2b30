/** What takes long: it runs in a worker, or, where there is none, in the page. */

import { type CountBlock, type PointBlockText, unpack } from "../format/block";
import { decodeSeries, eachCount } from "../format/counts";
import { decodePoints } from "../format/points";
import type { Done } from "../model/decoder";
import { addTo, emptyLevel, newTile, type Level, type Pyramid, pyramid, TILE } from "../model/pyramid";

export type Task =
  | { readonly kind: "grid"; readonly blocks: readonly CountBlock[]; readonly columns: number; readonly slots: number }
  | { readonly kind: "series"; readonly blocks: readonly CountBlock[]; readonly columns: number }
  | { readonly kind: "points"; readonly block: PointBlockText };

export async function carryOut(task: Task): Promise<Done<unknown>> {
  if (task.kind === "grid") return grid(task.blocks, task.columns, task.slots);
  if (task.kind === "series") return series(task.blocks, task.columns);
  const { n, fromUs, toUs, unit, crc, packed } = task.block;
  return { value: decodePoints(await unpack(packed, crc), n, fromUs, toUs, unit), skipped: [] };
}

async function grid(blocks: readonly CountBlock[], columns: number, slots: number): Promise<Done<Pyramid>> {
  const level = emptyLevel(columns);
  const skipped = await eachGood(blocks, (block, bytes) => readTiles(bytes, block, level, slots));
  return { value: pyramid(level, slots), skipped };
}

async function series(blocks: readonly CountBlock[], columns: number): Promise<Done<Float64Array>> {
  let value = new Float64Array(columns);
  const skipped = await eachGood(blocks, (_, bytes) => {
    value = decodeSeries(bytes, columns);
  });
  return { value, skipped };
}

async function eachGood(
  blocks: readonly CountBlock[],
  use: (block: CountBlock, bytes: Uint8Array) => void,
): Promise<string[]> {
  const skipped: string[] = [];
  for (const block of blocks) {
    try {
      use(block, await unpack(block.text, block.crc));
    } catch (error) {
      skipped.push(error instanceof Error ? error.message : String(error));
    }
  }
  return skipped;
}

/** Tiles of a block: slot after slot, 256 columns each. */
function readTiles(bytes: Uint8Array, block: CountBlock, level: Level, slots: number): void {
  const size = slots * TILE;
  eachCount(bytes, (index, count) => {
    const number = block.tile + Math.floor(index / size);
    if (number >= level.tiles.length) throw new Error("a tile lies beyond its grid");
    const cell = index % size;
    addTo((level.tiles[number] ??= newTile(slots)), cell >> 8, cell, count);
  });
}

/** Buffers that may move to the page instead of being copied. */
export function buffersOf(value: unknown, found: ArrayBuffer[] = []): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) {
    if (!found.includes(value.buffer as ArrayBuffer)) found.push(value.buffer as ArrayBuffer);
  } else if (Array.isArray(value)) {
    value.forEach((part) => buffersOf(part, found));
  } else if (typeof value === "object" && value !== null && !(value instanceof Map)) {
    Object.values(value).forEach((part) => buffersOf(part, found));
  }
  return found;
}
