/** Uses of each page, most used first: how much of the load a small, well-chosen part of the pages carries. */

import type { PageFrequency } from "../format/page";
import { bottomAxis, contains, type Key, logTicks, mark, nearest, outline, surround, valueAxis, Words } from "../render/axis";
import type { Box, Painter, Point } from "../render/painter";
import type { Palette } from "../render/palette";
import { LogScale } from "../render/scale";
import { count, short, significant } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";

const DASH = [5, 3];

function frequencyOf({ meta }: ChartContext): PageFrequency | undefined {
  return meta.runs.map((run) => run.frequency).find((f): f is PageFrequency => f !== null && f.points.length > 0);
}

/** Uses at a rank on the fitted line, which goes through the mean of the logarithms. */
function zipf({ points, zipf_exponent }: PageFrequency): ((rank: number) => number) | undefined {
  if (zipf_exponent === null) return undefined;
  const mean = (of: 0 | 1) => points.reduce((sum, point) => sum + Math.log(Math.max(1, point[of])), 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  return (rank) => Math.exp(y - zipf_exponent * (Math.log(rank) - x));
}

function keys(frequency: PageFrequency, palette: Palette): Key[] {
  const points: Key[] = [{ text: "pages", color: palette.read }];
  const line = frequency.zipf_exponent;
  return line === null ? points : [...points, { text: `Zipf, exponent ${significant(line)}`, color: palette.text, width: 1, dash: DASH }];
}

function draw(p: Painter, box: Box, context: ChartContext): Hover {
  const { palette } = context;
  const frequency = frequencyOf(context);
  if (frequency === undefined) return () => undefined;
  const plot = surround(p, box, palette, { keys: keys(frequency, palette), y: "uses of a page of 4 KiB, log", x: "rank of the page, log" });
  const ranks = frequency.points.map((point) => Math.max(1, point[0]));
  const uses = frequency.points.map((point) => Math.max(1, point[1]));
  const x = new LogScale(Math.min(...ranks), Math.max(...ranks, 10), plot.x, plot.x + plot.w);
  const y = new LogScale(1, Math.max(...uses, 10) * 1.2, plot.y + plot.h, plot.y);
  valueAxis(p, plot, palette, y, short);
  bottomAxis(p, plot, palette, logTicks(p, x, plot.w, short));
  outline(p, plot, palette.grid);
  const at = (rank: number, n: number): Point => [x.at(Math.max(1, rank)), y.at(Math.max(1e-6, n))];
  const line = zipf(frequency);
  p.clip(plot, () => {
    p.line(frequency.points.map(([rank, n]) => at(rank, Math.max(1, n))), { color: palette.read, width: 2 });
    const fitted = line === undefined ? [] : [x.from, x.to].map((rank) => at(rank, line(rank)));
    p.line(fitted, { color: palette.text, width: 1, dash: DASH });
  });
  const words = new Words(p, plot, palette);
  for (const [text, rank, n] of frequency.markers) {
    const [mx, my] = at(rank, Math.max(1, n));
    mark(p, [mx, my], palette.text);
    // Above a falling line there is room.
    if (!words.place(mx + 7, my - 8, text, "start")) words.place(mx - 7, my + 10, text, "end");
  }
  return (px, py) => {
    const point = contains(plot, px, py) ? nearest(frequency.points, ([rank]) => x.at(Math.max(1, rank)), px) : undefined;
    return point === undefined ? undefined : `page ${count(point[0])} by use: used ${times(point[1])}`;
  };
}

function times(n: number): string {
  return n === 1 ? "once" : `${count(n)} times`;
}

function describe(context: ChartContext): string {
  const frequency = frequencyOf(context);
  const [first, last] = [frequency?.points[0], frequency?.points[frequency.points.length - 1]];
  if (frequency === undefined || first === undefined || last === undefined) return "No page was used.";
  const middle = frequency.markers[frequency.markers.length - 1];
  const half = middle === undefined ? "" : `; ${middle[0]} fall on the ${count(middle[1])} most used ones`;
  const exponent = frequency.zipf_exponent;
  const slope = exponent === null ? "" : `; the slope is that of Zipf's law with exponent ${significant(exponent)}`;
  return `The most used page is used ${times(first[1])}, the one of rank ${count(last[0])} ${times(last[1])}${half}${slope}.`;
}

function table(context: ChartContext): string[][] {
  const frequency = frequencyOf(context);
  const markers = (frequency?.markers ?? []).map(([text, rank, n]) => [text, count(rank), count(n)]);
  const points = (frequency?.points ?? []).map(([rank, n]) => ["", count(rank), count(n)]);
  return [["fewest pages that hold", "rank", "uses"], ...markers, ...points];
}

export const FREQUENCY: SmallChart = {
  id: "frequency",
  title: "How often pages are used",
  height: 280,
  has: (meta) => meta.runs.some((run) => (run.frequency?.points.length ?? 0) > 0),
  describe,
  table,
  draw,
};
