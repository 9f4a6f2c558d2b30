/** Where the counts over two quantities lie in a plot, and their pixels. */

import { type Bins, Cells, DensityBrush, InkScale, Shades, type SlotBins, slotBins } from "../render/density";
import type { Box, Pixels } from "../render/painter";
import type { Palette } from "../render/palette";
import { LogScale } from "../render/scale";
import type { Counts } from "./relation-counts";

/** Room for what has no place on a logarithmic axis, and the gap beside it. */
const GUTTER = 14;
const GUTTER_GAP = 8;
/** How far beside the pointer requests may lie. */
const REACH = 1;
/** A narrower range would make much of nothing. */
const LEAST_RATIO = 6;

/** Widened to both sides if it is narrow. */
function wide(from: number, to: number): [number, number] {
  const missing = Math.sqrt(Math.max(1, (LEAST_RATIO * from) / to));
  return [from / missing, to * missing];
}

export class Places {
  readonly x: LogScale;
  readonly y: LogScale;
  /** Widths of what lies beside the scales: 0 if nothing is there. */
  readonly gutterX: number;
  readonly gutterY: number;

  /** The axes reach over A and B, so that both fit. */
  constructor(
    private readonly a: Counts,
    b: Counts | undefined,
    readonly plot: Box,
    readonly isDuration: boolean,
    isSquare: boolean,
  ) {
    const both = b === undefined ? [a] : [a, b];
    this.gutterX = both.some((c) => c.edge(c.columns[0]) === 0) ? GUTTER : 0;
    this.gutterY = both.some((c) => c.slots[0] === 0) ? GUTTER : 0;
    // The first column on the scale is the one behind the gutter.
    const first = (c: Counts) => this.left(c.edge(c.columns[0]) === 0 ? 1 : c.columns[0]);
    const last = (c: Counts) => this.left(Math.max(2, c.columns[1] + 1));
    let [x0, x1] = wide(Math.min(...both.map(first)), Math.max(...both.map(last)));
    let [y0, y1] = wide(
      Math.min(...both.map((c) => c.slotEdge(Math.max(1, c.slots[0])))),
      Math.max(...both.map((c) => c.slotEdge(c.slots[1] + 1))),
    );
    if (isSquare) [x0, x1, y0, y1] = [Math.min(x0, y0), Math.max(x1, y1), Math.min(x0, y0), Math.max(x1, y1)];
    const gap = (gutter: number) => (gutter > 0 ? gutter + GUTTER_GAP : 0);
    this.x = new LogScale(x0, x1, plot.x + gap(this.gutterX), plot.x + plot.w);
    this.y = new LogScale(y0, y1, plot.y + plot.h - gap(this.gutterY), plot.y);
  }

  /** Where a column begins on the scale. A number of requests lies in the middle of its column. */
  private left(column: number): number {
    const edge = this.a.edge(column);
    return this.isDuration ? Math.max(1, edge) : Math.max(0.5, edge - 0.5);
  }

  /** First and last pixel of a column. */
  span(column: number): [number, number] {
    if (this.a.edge(column) === 0) return [this.plot.x, this.plot.x + this.gutterX];
    return [this.x.at(this.left(column)), this.x.at(this.left(column + 1))];
  }

  columnAt(px: number): number | undefined {
    if (this.gutterX > 0 && px < this.x.at(this.x.from)) return px <= this.plot.x + this.gutterX ? 0 : undefined;
    return this.a.columnOf(this.x.invert(px) + (this.isDuration ? 0 : 0.5));
  }

  /** First and last slot at a pixel, whose rows may be lower than it. */
  slotsAt(py: number): [number, number] | undefined {
    if (py > this.y.at(this.y.from)) return this.gutterY > 0 && py >= this.plot.y + this.plot.h - this.gutterY ? [0, 0] : undefined;
    const [low, high] = [py + REACH, py - REACH].map((y) => Math.max(1, Math.floor(this.a.slotOf(this.y.invert(y)))));
    return low === undefined || high === undefined ? undefined : [low, high];
  }
}

interface ColumnBins extends Bins {
  readonly ofColumn: Int32Array;
}

/** Columns side by side; those that share a pixel are one bin. */
function columnBins(counts: Counts, plot: Box, span: (column: number) => [number, number]): ColumnBins {
  const width = Math.max(1, Math.round(plot.w));
  const ofPixel = new Int32Array(width).fill(-1);
  const ofColumn = new Int32Array(counts.columns[1] + 1).fill(-1);
  let [bins, end] = [0, 0];
  for (let column = counts.columns[0]; column <= counts.columns[1]; column++) {
    const [left, right] = span(column);
    const begin = Math.max(0, Math.min(Math.round(left - plot.x), width - 1));
    const stop = Math.min(Math.max(Math.round(right - plot.x), begin + 1), width);
    if (bins === 0 || begin >= end) bins++;
    ofColumn[column] = bins - 1;
    if (stop > end) ofPixel.fill(bins - 1, Math.max(begin, end), stop);
    end = Math.max(end, stop);
  }
  return { count: bins, ofPixel, ofColumn };
}

/** Slots above one another; `gutter` pixels at the bottom are for what is below all rows. */
function rowBins(counts: Counts, plot: Box, y: LogScale, gutter: number): SlotBins {
  const bottom = Math.max(1, Math.round(y.at(y.from) - plot.y));
  const bins = slotBins(bottom, counts.slots[1] + 1, (pixel) => counts.slotOf(y.invert(plot.y + pixel)), true);
  const ofPixel = new Int32Array(Math.max(bottom, Math.round(plot.h))).fill(-1);
  ofPixel.set(bins.ofPixel);
  if (gutter === 0) return { ...bins, ofPixel };
  // What is below all rows stands by itself.
  bins.ofSlot[0] = bins.count;
  ofPixel.fill(bins.count, ofPixel.length - gutter);
  return { count: bins.count + 1, ofSlot: bins.ofSlot, ofPixel };
}

/** The density of a plot in the colours of the sonar. */
export function picture(counts: Counts, plot: Box, span: (column: number) => [number, number], y: LogScale, palette: Palette, gutter = 0): Pixels {
  const [columns, rows] = [columnBins(counts, plot, span), rowBins(counts, plot, y, gutter)];
  const { reads, writes, slots } = counts.cells;
  const cells = new Cells();
  cells.reset(columns.count, rows.count);
  for (let column = counts.columns[0]; column <= counts.columns[1]; column++) {
    const bin = columns.ofColumn[column] ?? -1;
    for (let slot = counts.slots[0]; slot <= counts.slots[1]; slot++) {
      const row = rows.ofSlot[slot] ?? -1;
      if (row < 0) continue;
      cells.counts[0][row * columns.count + bin]! += reads[column * slots + slot] ?? 0;
      cells.counts[1][row * columns.count + bin]! += writes[column * slots + slot] ?? 0;
    }
  }
  const shades = new Shades(palette, InkScale.of("log", cells.frequencies()));
  return new DensityBrush().paint(cells, columns, rows, (r, w, rp, wp) => shades.color(r, w, rp, wp)).pixels;
}
