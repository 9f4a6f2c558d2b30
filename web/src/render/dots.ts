/** Single requests as dots, drawn into pixels: colour and, where they are large enough, shape tell the class. */

import type { Pixels } from "./painter";
import { type Palette, rgb } from "./palette";

/** Above this many in sight they are counted instead. */
export const MOST_DOTS = 20_000;
/** From this size on shapes differ. */
const SHAPED = 6;

/** What a dot says beside its place. */
export interface DotClass {
  readonly color: number;
  readonly mask: Uint8Array;
}

/** Device pixels across: large where there are few. */
export function dotSize(dots: number, ratio: number): number {
  const css = dots < 600 ? 8 : dots < 3000 ? 6 : dots < 8000 ? 4 : 3;
  return Math.round(css * ratio);
}

/** Place of the stamp of failed requests. */
export const FAILED_STAMP = 5;

/** Stamps of read, write, read-pushed, write-pushed, flush and failed. */
export function stamps(palette: Palette, size: number, ratio: number): DotClass[] {
  const shaped = size / ratio >= SHAPED;
  const [disc, triangle, diamond, square, cross] = [isDisc, isTriangle, isDiamond, isSquare, isCross];
  const make = (color: string, inside: Inside) => ({
    color: packed(color),
    mask: mask(size, shaped ? inside : isDisc),
  });
  return [
    make(palette.read, disc),
    make(palette.write, triangle),
    make(palette.readPushed, diamond),
    make(palette.writePushed, diamond),
    make(palette.flush, square),
    { color: packed(palette.bad), mask: mask(Math.max(size, Math.round(SHAPED * ratio)), cross) },
  ];
}

type Inside = (x: number, y: number) => boolean;

// x and y from −1 to 1, y downward.
const isDisc: Inside = (x, y) => x * x + y * y <= 1.02;
const isTriangle: Inside = (x, y) => y <= 0.85 && Math.abs(x) <= (y + 1) * 0.58;
const isDiamond: Inside = (x, y) => Math.abs(x) + Math.abs(y) <= 1.05;
const isSquare: Inside = (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.8;
const isCross: Inside = (x, y) => Math.abs(Math.abs(x) - Math.abs(y)) < 0.34;

function mask(size: number, inside: Inside): Uint8Array {
  const bits = new Uint8Array(size * size);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (inside(((x + 0.5) / size) * 2 - 1, ((y + 0.5) / size) * 2 - 1)) bits[y * size + x] = 1;
    }
  }
  return bits;
}

function packed(color: string): number {
  const [red, green, blue] = rgb(color);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Where stamps are put. */
export class DotSheet {
  private static memory = new Uint32Array(0);
  private readonly out: Uint32Array;
  readonly pixels: Pixels;
  /** Pixels that are not empty. */
  lit = 0;

  /** The pixels are valid until the next sheet: all use the same memory. */
  constructor(width: number, height: number) {
    const size = width * height;
    if (DotSheet.memory.length < size) DotSheet.memory = new Uint32Array(size);
    this.out = DotSheet.memory.subarray(0, size).fill(0);
    this.pixels = { width, height, data: new Uint8ClampedArray(DotSheet.memory.buffer, 0, size * 4) };
  }

  /** The middle of a stamp at device pixels. */
  put(x: number, y: number, { mask: bits, color }: DotClass): void {
    const size = Math.round(Math.sqrt(bits.length));
    const { width, height } = this.pixels;
    const [left, top] = [Math.round(x - size / 2), Math.round(y - size / 2)];
    for (let row = Math.max(0, -top); row < size && top + row < height; row++) {
      for (let column = Math.max(0, -left); column < size && left + column < width; column++) {
        if (!bits[row * size + column]) continue;
        const at = (top + row) * width + left + column;
        if (this.out[at] === 0) this.lit++;
        this.out[at] = color;
      }
    }
  }
}
