/**
 * From exact counts to pixels: lightness tells the number of requests, hue the share of writes, dark pixels that requests
 * were pushed back, teal ones that there are flushes. Pure: no canvas, no page.
 */

import { FULL, type Pyramid, TILE } from "../model/pyramid";
import type { Transfer } from "../model/view";
import type { Pixels } from "./painter";
import { mix, type Palette, type Rgb, rgb } from "./palette";

/** Which bin each pixel along an axis shows; −1 is none. */
export interface Bins {
  readonly count: number;
  readonly ofPixel: Int32Array;
}

/** Bins of columns: `first` is the number of the first column on its level. */
export interface ColumnBins extends Bins {
  readonly level: number;
  readonly first: number;
}

/** Bins of slots: which bin each slot adds to. */
export interface SlotBins extends Bins {
  readonly ofSlot: Int32Array;
}

/** Columns over `pixels`, each at least a pixel wide, so that neighbours are alike. */
export function columnBins(
  from: number,
  to: number,
  pixels: number,
  width: number,
  columns: number,
  levels: number,
): ColumnBins {
  const perPixel = (to - from) / pixels;
  const level = Math.max(0, Math.min(Math.ceil(Math.log2(Math.max(perPixel / width, 1)) - 1e-9), levels - 1));
  const wide = width * 2 ** level;
  const last = Math.max(0, Math.ceil(columns / 2 ** level) - 1);
  const first = Math.min(Math.max(Math.floor(from / wide), 0), last);
  const end = Math.min(Math.max(Math.ceil(to / wide), first + 1), last + 1);
  const ofPixel = new Int32Array(pixels);
  for (let x = 0; x < pixels; x++) {
    const column = Math.floor((from + (x + 0.5) * perPixel) / wide);
    ofPixel[x] = column >= first && column < end ? column - first : -1;
  }
  return { level, first, count: end - first, ofPixel };
}

/**
 * Slots over `pixels`, from above. `position` tells the slot (with fractions) at a pixel. Slots that are lower than a pixel
 * are taken together, equally many where the axis is regular: else some pixels would look fuller than others.
 */
export function slotBins(pixels: number, slots: number, position: (y: number) => number, isRegular: boolean): SlotBins {
  const [top, bottom] = [position(0), position(pixels)];
  const group = isRegular ? Math.max(1, Math.ceil((top - bottom) / pixels - 1e-9)) : 1;
  const ofSlot = new Int32Array(slots).fill(-1);
  const ofPixel = new Int32Array(pixels).fill(-1);
  if (!isRegular) return irregularBins(pixels, slots, position, ofSlot, ofPixel);
  const first = Math.max(0, Math.floor((bottom + 1e-6) / group));
  const end = Math.min(Math.ceil(slots / group), Math.ceil((top - 1e-6) / group));
  for (let slot = Math.max(first * group, 0); slot < Math.min(end * group, slots); slot++)
    ofSlot[slot] = Math.floor(slot / group) - first;
  for (let y = 0; y < pixels; y++) {
    const bin = Math.floor(position(y + 0.5) / group) - first;
    if (bin >= 0 && bin < end - first) ofPixel[y] = bin;
  }
  return { count: Math.max(0, end - first), ofSlot, ofPixel };
}

/** A bin for each pixel; the slots whose middle lies in it add to it, and a slot that is higher fills several. */
function irregularBins(
  pixels: number,
  slots: number,
  position: (y: number) => number,
  ofSlot: Int32Array,
  ofPixel: Int32Array,
): SlotBins {
  let count = 0;
  let slot = Math.max(0, Math.floor(position(pixels)));
  for (let y = pixels - 1; y >= 0; y--) {
    const end = Math.min(slots, Math.floor(position(y)));
    if (slot < end) {
      for (; slot < end; slot++) ofSlot[slot] = count;
      ofPixel[y] = count++;
    } else if (slot < slots) {
      // The pixel lies within one slot, which reaches further up.
      if (ofSlot[slot] === -1) ofSlot[slot] = count++;
      ofPixel[y] = ofSlot[slot]!;
      if (position(y) >= slot + 1) slot++;
    }
  }
  return { count, ofSlot, ofPixel };
}

/** Counts of the classes in bins: `read[slotBin * columns + columnBin]`. Used again for each frame. */
export class Cells {
  columns = 0;
  rows = 0;
  /** Read, write, read-pushed, write-pushed, flush. */
  readonly counts: [Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array] = [
    new Uint32Array(0),
    new Uint32Array(0),
    new Uint32Array(0),
    new Uint32Array(0),
    new Uint32Array(0),
  ];
  private readonly used = [false, false, false, false, false];
  private sum = 0;

  reset(columns: number, rows: number): void {
    const size = columns * rows;
    for (let c = 0; c < this.counts.length; c++) {
      if (this.counts[c]!.length < size) this.counts[c] = new Uint32Array(size);
      else if (this.used[c]) this.counts[c]!.fill(0);
      this.used[c] = false;
    }
    this.columns = columns;
    this.rows = rows;
    this.sum = 0;
  }

  /** Adds what a pyramid has in the bins. */
  addGrid(cls: number, p: Pyramid, columns: ColumnBins, slots: SlotBins): void {
    const level = p.levels[Math.min(columns.level, p.levels.length - 1)]!;
    const into = this.counts[cls]!;
    this.used[cls] = true;
    const end = Math.min(columns.first + columns.count, level.columns);
    let sum = 0;
    for (let number = Math.floor(columns.first / TILE); number * TILE < end; number++) {
      const tile = level.tiles[number];
      if (!tile) continue;
      const begin = Math.max(columns.first - number * TILE, 0);
      const stop = Math.min(end - number * TILE, TILE);
      for (let slot = tile.low; slot < tile.high; slot++) {
        const row = slots.ofSlot[slot]!;
        if (row < 0) continue;
        const { cells, overflow } = tile;
        const shift = row * this.columns + number * TILE - columns.first;
        const base = slot * TILE;
        for (let column = begin; column < stop; column++) {
          const count = cells[base + column]!;
          if (count === 0) continue;
          const exact = count === FULL ? overflow.get(base + column)! : count;
          into[shift + column]! += exact;
          sum += exact;
        }
      }
    }
    this.sum += sum;
  }

  add(cls: number, column: number, row: number): void {
    this.used[cls] = true;
    this.counts[cls]![row * this.columns + column]!++;
    this.sum++;
  }

  put(cls: number, cell: number, count: number): void {
    this.used[cls] = true;
    this.counts[cls]![cell] = count;
    this.sum += count;
  }

  /** Requests in all cells. */
  total(): number {
    return this.sum;
  }

  /** Requests of all classes in a cell. */
  requests(cell: number): number {
    const [r, w, rp, wp, f] = this.counts;
    return r[cell]! + w[cell]! + rp[cell]! + wp[cell]! + f[cell]!;
  }

  /** Each number of requests above zero in a cell, and how many cells have it. */
  frequencies(): Map<number, number> {
    const found = new Map<number, number>();
    for (let i = 0; i < this.columns * this.rows; i++) {
      const n = this.requests(i);
      if (n) found.set(n, (found.get(n) ?? 0) + 1);
    }
    return found;
  }
}

/** Steps from reads only to writes only. */
const MIXES = 17;
/** Steps from one request to the most. */
const INKS = 64;
/** A single request is this strong, so that it can be seen. */
const LEAST_INK = 0.45;
/** Pushed requests and flushes, which are drawn above the others, are at least this strong. */
const LEAST_ABOVE = 0.5;

/** How numbers become strength, fixed over a report so that two views compare. */
export class InkScale {
  private constructor(
    readonly most: number,
    private readonly ink: (count: number) => number,
  ) {}

  /** `frequencies` of the whole run. */
  static of(transfer: Transfer, frequencies: ReadonlyMap<number, number>): InkScale {
    let most = 1;
    for (const count of frequencies.keys()) most = Math.max(most, count);
    if (most <= 1) return new InkScale(1, () => 1);
    if (transfer === "linear") return new InkScale(most, (n) => (n - 1) / (most - 1));
    if (transfer === "log") return new InkScale(most, (n) => Math.log(n) / Math.log(most));
    return new InkScale(most, ranks(frequencies));
  }

  /** 0 for one request to 1 for the most. */
  of(count: number): number {
    return Math.min(Math.max(this.ink(count), 0), 1);
  }
}

/** Equally many cells for each step of strength. */
function ranks(frequencies: ReadonlyMap<number, number>): (count: number) => number {
  const counts = [...frequencies].sort((a, b) => a[0] - b[0]);
  const below: number[] = [];
  let cells = 0;
  for (const [, n] of counts) {
    below.push(cells);
    cells += n;
  }
  const most = below.at(-1) || 1;
  return (count) => {
    let [low, high] = [0, counts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (counts[middle]![0] <= count) low = middle + 1;
      else high = middle;
    }
    return (below[low - 1] ?? 0) / most;
  };
}

/** The colours of a density in one theme. */
export class Shades {
  private readonly colors = new Uint32Array(MIXES * INKS);
  private readonly pushed: [Rgb, Rgb];
  private readonly flush: Rgb;
  private readonly ground: Rgb;
  private readonly inks = new Uint8Array(4096);

  constructor(
    palette: Palette,
    private readonly scale: InkScale,
  ) {
    const [ground, read, write] = [rgb(palette.background), rgb(palette.read), rgb(palette.write)];
    this.pushed = [rgb(palette.readPushed), rgb(palette.writePushed)];
    [this.flush, this.ground] = [rgb(palette.flush), ground];
    for (let m = 0; m < MIXES; m++) {
      const hue = mix(read, write, m / (MIXES - 1));
      for (let i = 0; i < INKS; i++) {
        this.colors[m * INKS + i] = packed(mix(ground, hue, LEAST_INK + ((1 - LEAST_INK) * i) / (INKS - 1)));
      }
    }
    for (let n = 1; n < this.inks.length; n++) this.inks[n] = this.inkOf(n);
  }

  /** Colour of a cell as alpha, blue, green, red; 0 where there is nothing. */
  color(read: number, write: number, readPushed: number, writePushed: number, flush = 0): number {
    const reads = read + readPushed;
    const transfers = reads + write + writePushed;
    if (flush === 0) return transfers === 0 ? 0 : this.ofTransfers(write, readPushed, writePushed, transfers);
    const ink = LEAST_INK + ((1 - LEAST_INK) * this.inkAt(transfers + flush)) / (INKS - 1);
    if (transfers === 0) return packed(mix(this.ground, this.flush, ink));
    const color = this.ofTransfers(write, readPushed, writePushed, transfers);
    return packed(mix(unpacked(color), this.flush, Math.max(LEAST_ABOVE, flush / (transfers + flush))));
  }

  private ofTransfers(write: number, readPushed: number, writePushed: number, count: number): number {
    const ink = this.inkAt(count);
    const step = Math.round(((write + writePushed) / count) * (MIXES - 1));
    const color = this.colors[step * INKS + ink]!;
    const pushed = readPushed + writePushed;
    if (pushed === 0) return color;
    const dark = mix(this.pushed[0], this.pushed[1], writePushed / pushed);
    return packed(mix(unpacked(color), dark, Math.max(LEAST_ABOVE, pushed / count)));
  }

  private inkAt(count: number): number {
    return count < this.inks.length ? this.inks[count]! : this.inkOf(count);
  }

  private inkOf(count: number): number {
    return Math.round(this.scale.of(count) * (INKS - 1));
  }
}

function packed([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function unpacked(color: number): Rgb {
  return [color & 255, (color >> 8) & 255, (color >> 16) & 255];
}

/** What was painted. */
export interface Painted {
  readonly pixels: Pixels;
  /** Pixels that are not empty. */
  readonly lit: number;
}

/** From the counts of the classes in a cell to its colour. */
export type CellColor = (r: number, w: number, rp: number, wp: number, f: number) => number;

/** Paints cells. The pixels are valid until the next picture is painted with the same brush. */
export class DensityBrush {
  private buffer = new Uint32Array(0);
  private cellColors = new Uint32Array(0);

  paint(
    cells: Cells,
    columns: Bins,
    rows: Bins,
    color: CellColor,
  ): Painted {
    const [width, height] = [columns.ofPixel.length, rows.ofPixel.length];
    const size = width * height;
    if (this.buffer.length < size) this.buffer = new Uint32Array(size);
    const out = this.buffer.subarray(0, size).fill(0);
    this.shade(cells, color);
    const lit = this.stretch(out, cells, columns, rows);
    return { pixels: { width, height, data: new Uint8ClampedArray(out.buffer as ArrayBuffer, 0, size * 4) }, lit };
  }

  private shade(cells: Cells, color: CellColor): void {
    const size = cells.columns * cells.rows;
    if (this.cellColors.length < size) this.cellColors = new Uint32Array(size);
    const { cellColors } = this;
    const [r, w, rp, wp, f] = cells.counts;
    for (let i = 0; i < size; i++) {
      const any = r[i]! | w[i]! | rp[i]! | wp[i]! | f[i]!;
      cellColors[i] = any === 0 ? 0 : color(r[i]!, w[i]!, rp[i]!, wp[i]!, f[i]!);
    }
  }

  /**
   * Fills the pixels of each cell. Cells that stand alone become at least two pixels wide and high, or they would be lost;
   * they cover nothing, as the cells around them are empty. Returns the number of lit pixels.
   */
  private stretch(out: Uint32Array, cells: Cells, columns: Bins, rows: Bins): number {
    const [width, height] = [columns.ofPixel.length, rows.ofPixel.length];
    const [xs, ys] = [extents(columns), extents(rows)];
    const { cellColors } = this;
    const { columns: count } = cells;
    let lit = 0;
    for (let row = 0; row < cells.rows; row++) {
      const y = ys[row * 2]!;
      const high = ys[row * 2 + 1]!;
      if (high === 0) continue;
      for (let column = 0; column < count; column++) {
        const color = cellColors[row * count + column]!;
        if (color === 0) continue;
        const x = xs[column * 2]!;
        const wide = xs[column * 2 + 1]!;
        if (wide === 0) continue;
        const grows = (wide === 1 || high === 1) && this.isAlone(cells, column, row);
        const right = Math.min(x + (grows ? Math.max(wide, 2) : wide), width);
        const bottom = Math.min(y + (grows ? Math.max(high, 2) : high), height);
        for (let py = y; py < bottom; py++) {
          for (let at = py * width + x; at < py * width + right; at++) out[at] = color;
        }
        lit += (right - x) * (bottom - y);
      }
    }
    return lit;
  }

  private isAlone(cells: Cells, column: number, row: number): boolean {
    for (let r = Math.max(row - 1, 0); r <= Math.min(row + 1, cells.rows - 1); r++) {
      for (let c = Math.max(column - 1, 0); c <= Math.min(column + 1, cells.columns - 1); c++) {
        if ((r !== row || c !== column) && this.cellColors[r * cells.columns + c] !== 0) return false;
      }
    }
    return true;
  }
}

/** First pixel of each bin and how many it has. */
function extents(bins: Bins): Int32Array {
  const found = new Int32Array(bins.count * 2);
  bins.ofPixel.forEach((bin, pixel) => {
    if (bin < 0) return;
    if (found[bin * 2 + 1] === 0) found[bin * 2] = pixel;
    found[bin * 2 + 1]!++;
  });
  return found;
}
