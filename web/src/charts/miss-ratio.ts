/** Misses of a cache of each size: what the load asks of a cache, whatever carries it out. */

import type { PageMissRatio } from "../format/page";
import { bottomAxis, byteTicks, contains, type Key, mark, nearest, outline, surround, valueAxis, Words } from "../render/axis";
import type { Box, Painter, Point } from "../render/painter";
import { faded, type Palette } from "../render/palette";
import { LinearScale, LogScale } from "../render/scale";
import { bytes, percent, plainPercent } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";

type MissPoint = PageMissRatio["points"][number];

/** All, reads, writes: place in a point, name and colour. */
const LINES = [
  [1, "all", "text"],
  [2, "reads", "read"],
  [3, "writes", "write"],
] as const satisfies readonly (readonly [1 | 2 | 3, string, keyof Palette])[];
/** Two standard errors on both sides. */
const ERRORS = 2;
const DASH = [5, 3];

function ratioOf({ meta }: ChartContext, run: number): PageMissRatio | undefined {
  const ratio = meta.runs[run]?.miss_ratio;
  return ratio === null || ratio === undefined || ratio.points.length === 0 ? undefined : ratio;
}

/** B only where it differs: the same load has the same curve. */
function shown(context: ChartContext): { a: PageMissRatio | undefined; b: PageMissRatio | undefined } {
  const [a, b] = [ratioOf(context, 0), context.showB ? ratioOf(context, 1) : undefined];
  return { a: a ?? b, b: a === undefined || JSON.stringify(a.points) === JSON.stringify(b?.points) ? undefined : b };
}

function keys(palette: Palette, hasB: boolean): Key[] {
  const lines = LINES.map(([, text, color]): Key => ({ text, color: palette[color] }));
  return hasB ? [...lines, { text: "B", color: palette.text, dash: DASH }] : lines;
}

function draw(p: Painter, box: Box, context: ChartContext): Hover {
  const { palette } = context;
  const { a, b } = shown(context);
  if (a === undefined) return () => undefined;
  const plot = surround(p, box, palette, {
    keys: keys(palette, b !== undefined),
    y: "page accesses that miss",
    x: "size of an LRU cache, log",
  });
  const sizes = [a, ...(b === undefined ? [] : [b])].flatMap((ratio) => ratio.points.map((point) => Math.max(1, point[0])));
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)];
  const x = new LogScale(low, Math.max(high, low * 2), plot.x, plot.x + plot.w);
  const y = new LinearScale(0, 1, plot.y + plot.h, plot.y);
  valueAxis(p, plot, palette, y, plainPercent);
  bottomAxis(p, plot, palette, byteTicks(x, plot.w));
  p.clip(plot, () => {
    for (const [i, , color] of LINES) {
      const at = (point: MissPoint, more = 0): Point => [x.at(point[0]), y.at(point[i] + more)];
      if (a.error > 0) ribbon(p, a, at, faded(palette[color], 0.15));
      p.line(a.points.map((point) => at(point)), { color: palette[color], width: 2 });
      if (b !== undefined) p.line(b.points.map((point) => at(point)), { color: palette[color], width: 2, dash: DASH });
    }
  });
  outline(p, plot, palette.grid);
  if (a.knee !== null) knee(p, plot, palette, a.knee, [x.at(a.knee[0]), y.at(a.knee[1])]);
  return (px, py) => {
    const point = contains(plot, px, py) ? nearest(a.points, (candidate) => x.at(candidate[0]), px) : undefined;
    return point === undefined ? undefined : words(point);
  };
}

function ribbon(p: Painter, ratio: PageMissRatio, at: (point: MissPoint, more: number) => Point, color: string): void {
  const above = ratio.points.map((point) => at(point, ERRORS * ratio.error));
  const below = ratio.points.map((point) => at(point, -ERRORS * ratio.error));
  p.area([...above, ...below.reverse()], color);
}

function knee(p: Painter, plot: Box, palette: Palette, [size]: readonly [number, number], [x, y]: Point): void {
  mark(p, [x, y], palette.text, 8);
  const words = new Words(p, plot, palette);
  const text = `knee at ${bytes(size)}`;
  // At the upper right of a falling curve there is room, unless the plot ends there.
  if (!words.place(x + 8, y - 12, text, "start")) words.place(x - 8, y + 14, text, "end");
}

function words([size, all, reads, writes]: MissPoint): string {
  return `${bytes(size)}: ${percent(all)} of all accesses miss, ${percent(reads)} of reads, ${percent(writes)} of writes`;
}

function describe(context: ChartContext): string {
  const { a } = shown(context);
  const [first, last] = [a?.points[0], a?.points[a.points.length - 1]];
  if (a === undefined || first === undefined || last === undefined) return "No page was accessed.";
  const bend = a.knee === null ? "" : `, with a knee at ${bytes(a.knee[0])}, where ${percent(a.knee[1])} miss`;
  return `Of all page accesses ${percent(first[1])} miss a cache of ${bytes(first[0])}, ${percent(last[1])} one of ${bytes(last[0])}${bend}.`;
}

function table(context: ChartContext): string[][] {
  const { a, b } = shown(context);
  const rows = (ratio: PageMissRatio | undefined, run: string) =>
    (ratio?.points ?? []).map(([size, ...misses]) => [...(b === undefined ? [] : [run]), bytes(size), ...misses.map(percent)]);
  const head = [...(b === undefined ? [] : ["run"]), "cache", "all", "reads", "writes"];
  return [head, ...rows(a, "A"), ...rows(b, "B")];
}

export const MISS_RATIO: SmallChart = {
  id: "miss-ratio",
  title: "Misses of a cache, by its size",
  height: 280,
  has: (meta) => meta.runs.some((run) => (run.miss_ratio?.points.length ?? 0) > 0),
  describe,
  table,
  draw,
};
