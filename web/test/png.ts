/** PNG without compression, where there is no browser. */

import { crc32 } from "../src/format/crc32";
import type { Pixels } from "../src/render/painter";

/** Bytes of a stored block of deflate are counted in 16 bits. */
const STORED = 65_535;

function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return ((b << 16) | a) >>> 0;
}

function bigEndian(n: number): number[] {
  return [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255];
}

function joined(parts: readonly ArrayLike<number>[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A zlib stream that compresses nothing. */
function stored(bytes: Uint8Array): Uint8Array {
  const parts: ArrayLike<number>[] = [[0x78, 0x01]];
  for (let at = 0; at === 0 || at < bytes.length; at += STORED) {
    const n = Math.min(STORED, bytes.length - at);
    const isLast = at + n >= bytes.length ? 1 : 0;
    parts.push([isLast, n & 255, n >> 8, ~n & 255, (~n >> 8) & 255], bytes.subarray(at, at + n));
  }
  return joined([...parts, bigEndian(adler32(bytes))]);
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const body = joined([[...name].map((c) => c.charCodeAt(0)), data]);
  return joined([bigEndian(data.length), body, bigEndian(crc32(body))]);
}

/** A PNG of the pixels, not compressed. */
export function png(pixels: Pixels): Uint8Array {
  const row = pixels.width * 4;
  const lines = new Uint8Array((row + 1) * pixels.height);
  // Each line begins with the number of its filter: none.
  for (let y = 0; y < pixels.height; y++) lines.set(pixels.data.subarray(y * row, (y + 1) * row), y * (row + 1) + 1);
  const header = Uint8Array.from([...bigEndian(pixels.width), ...bigEndian(pixels.height), 8, 6, 0, 0, 0]);
  const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  return joined([signature, chunk("IHDR", header), chunk("IDAT", stored(lines)), chunk("IEND", new Uint8Array(0))]);
}

/** The same inside a `data:` address. */
export function pngAddress(pixels: Pixels): string {
  const bytes = png(pixels);
  const parts: string[] = [];
  // An argument for each byte; there may not be too many at once.
  for (let at = 0; at < bytes.length; at += 8192) parts.push(String.fromCharCode(...bytes.subarray(at, at + 8192)));
  return `data:image/png;base64,${btoa(parts.join(""))}`;
}
