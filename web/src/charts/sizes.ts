/** Requests by length, as a share of the requests and of the bytes: many small ones may be few of the bytes. */

import type { PageSize } from "../format/page";
import { bottomAxis, byteTicks, contains, nearest, outline, surround, valueAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import type { Palette } from "../render/palette";
import { LinearScale, LogScale, type Scale } from "../render/scale";
import { count, percent, plainBytes, plainPercent } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";

const WIDE = 8;
const NARROW = 4;
/** What is not zero is seen. */
const LEAST_HEIGHT = 2;
/** How far beside a bar the pointer may be. */
const REACH = 12;

interface Bar {
  readonly size: PageSize;
  /** Shares of all requests, or of all bytes. */
  readonly requests: Parts;
  readonly bytes: Parts;
}

interface Parts {
  readonly read: number;
  readonly write: number;
}

function lengthOf({ from_bytes, to_bytes }: PageSize): number {
  return (from_bytes + to_bytes) / 2;
}

function sizesOf({ meta }: ChartContext): readonly PageSize[] {
  return meta.runs.find((run) => run.sizes.length > 0)?.sizes ?? [];
}

function bars(context: ChartContext): Bar[] {
  const sizes = sizesOf(context);
  const requests = sizes.reduce((sum, s) => sum + s.reads + s.writes, 0);
  const all = sizes.reduce((sum, s) => sum + (s.reads + s.writes) * lengthOf(s), 0);
  const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0);
  return sizes.map((size) => ({
    size,
    requests: { read: share(size.reads, requests), write: share(size.writes, requests) },
    bytes: { read: share(size.reads * lengthOf(size), all), write: share(size.writes * lengthOf(size), all) },
  }));
}

/** Powers of two are what most programs ask for. */
function isPowerOfTwo(n: number): boolean {
  return n > 0 && Number.isInteger(Math.log2(n));
}

function name({ from_bytes, to_bytes }: PageSize): string {
  return from_bytes === to_bytes ? plainBytes(from_bytes) : `${plainBytes(from_bytes)} to ${plainBytes(to_bytes)}`;
}

function draw(p: Painter, box: Box, context: ChartContext): Hover {
  const { palette } = context;
  const all = bars(context);
  const keys = [{ text: "reads", color: palette.read, filled: true }, { text: "writes", color: palette.write, filled: true }];
  // The lower one has an axis below it, the upper one the legend above.
  const half = box.h / 2 - 10;
  const upper = surround(p, { ...box, h: half }, palette, { keys, y: "share of the requests", bare: true });
  const below = { y: "share of the bytes", x: "length of a request, log" };
  const lower = surround(p, { ...box, y: box.y + half, h: box.h - half }, palette, below);
  const lengths = all.flatMap(({ size }) => [Math.max(1, size.from_bytes), Math.max(1, size.to_bytes)]);
  const x = new LogScale(Math.min(...lengths) / 1.5, Math.max(...lengths) * 1.5, upper.x, upper.x + upper.w);
  lane(p, upper, palette, x, all, (bar) => bar.requests);
  lane(p, lower, palette, x, all, (bar) => bar.bytes);
  bottomAxis(p, lower, palette, byteTicks(x, lower.w));
  return (px, py) => {
    if (!contains(upper, px, py) && !contains(lower, px, py)) return undefined;
    const bar = nearest(all, ({ size }) => x.at(lengthOf(size)), px, REACH);
    return bar === undefined ? undefined : words(bar);
  };
}

function lane(p: Painter, plot: Box, palette: Palette, x: Scale, all: readonly Bar[], of: (bar: Bar) => Parts): void {
  const most = Math.max(...all.map((bar) => of(bar).read + of(bar).write), 0.01);
  const y = new LinearScale(0, most * 1.05, plot.y + plot.h, plot.y);
  valueAxis(p, plot, palette, y, plainPercent);
  outline(p, plot, palette.grid);
  for (const bar of all) {
    const { from_bytes, to_bytes } = bar.size;
    const width = isPowerOfTwo(from_bytes) ? WIDE : NARROW;
    const left = Math.min(x.at(from_bytes), x.at(lengthOf(bar.size)) - width / 2);
    const right = Math.max(x.at(to_bytes), x.at(lengthOf(bar.size)) + width / 2);
    let bottom = y.at(0);
    for (const op of ["read", "write"] as const) {
      const share = of(bar)[op];
      if (share <= 0) continue;
      const h = Math.max(LEAST_HEIGHT, y.at(0) - y.at(share));
      p.fill({ x: left, y: bottom - h, w: right - left, h }, palette[op]);
      bottom -= h;
    }
  }
}

function words({ size, requests, bytes: ofBytes }: Bar): string {
  return (
    `${name(size)}: ${count(size.reads)} reads, ${count(size.writes)} writes, ` +
    `${percent(requests.read + requests.write)} of the requests, ${percent(ofBytes.read + ofBytes.write)} of the bytes`
  );
}

function describe(context: ChartContext): string {
  const all = bars(context);
  const [first] = all;
  if (first === undefined) return "No request has a length.";
  const sum = ({ read, write }: Parts) => read + write;
  const often = all.reduce((a, b) => (sum(b.requests) > sum(a.requests) ? b : a), first);
  const heavy = all.reduce((a, b) => (sum(b.bytes) > sum(a.bytes) ? b : a), first);
  return (
    `Most frequent length: ${name(often.size)}, ${percent(sum(often.requests))} of the requests; ` +
    `most bytes are in requests of ${name(heavy.size)}: ${percent(sum(heavy.bytes))}.`
  );
}

function table(context: ChartContext): string[][] {
  const rows = bars(context).map(({ size, requests, bytes: ofBytes }) => [
    name(size),
    count(size.reads),
    count(size.writes),
    percent(requests.read + requests.write),
    percent(ofBytes.read + ofBytes.write),
  ]);
  return [["length", "reads", "writes", "of the requests", "of the bytes"], ...rows];
}

export const SIZES: SmallChart = {
  id: "sizes",
  title: "Lengths of requests",
  height: 280,
  has: (meta) => meta.runs.some((run) => run.sizes.length > 0),
  describe,
  table,
  draw,
  isFiltered: true,
};
