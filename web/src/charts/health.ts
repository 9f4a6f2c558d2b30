/** The replayer's own doing: how late it submits what nothing held, and how late it may have seen an end. */

import type { PageGrid } from "../format/page";
import { contains, durationAxis, type Key, nothing, outline, surround, timeAxis } from "../render/axis";
import type { Box, Painter, Point } from "../render/painter";
import type { Palette } from "../render/palette";
import { LinearScale, LogScale } from "../render/scale";
import { count, counted, duration, moment } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";
import { Counts } from "./relation-counts";
import { picture } from "./relation-picture";

const KINDS = [
  ["issue_error", "issue delay: delay of what nothing held, log"],
  ["reap_lag", "completion poll delay: seen so much later while the thread was busy, log"],
] as const;
/** Overhead is told as what nearly all requests stay below. */
const NEARLY_ALL = 0.999;
/** For a 99th percentile; columns are taken together until they have so many. */
const ENOUGH = 100;

interface Lane {
  readonly grid: PageGrid;
  readonly title: string;
  /** Absent while it is not decoded. */
  readonly counts: Counts | undefined;
}

function lanes({ meta, relation }: ChartContext): Lane[] {
  return KINDS.flatMap(([id, title]) => {
    const grid = meta.runs[0]?.grids.find((g) => g.id === id);
    if (grid === undefined || total(grid) === 0) return [];
    const cells = relation(0, id);
    const edges = Array.from({ length: cells?.columns ?? 0 }, (_, i) => i * grid.width);
    return [{ grid, title, counts: cells === undefined ? undefined : Counts.of(meta.form, edges, cells) }];
  });
}

function total({ totals }: PageGrid): number {
  return totals.reduce((a, b) => a + b, 0);
}

function draw(p: Painter, box: Box, context: ChartContext): Hover {
  const { palette } = context;
  const end = context.meta.runs[0]?.end_ns ?? 0;
  const all = lanes(context);
  const keys: Key[] = [{ text: "p99", color: palette.text }];
  // The axis below the last and the legend above the first need about the same.
  const height = box.h / Math.max(1, all.length);
  const hovers = all.map((lane, i): Hover => {
    const last = i === all.length - 1;
    const around = { y: lane.title, ...(i === 0 ? { keys } : {}), ...(last ? { x: "time" } : { bare: true }) };
    const plot = surround(p, { ...box, y: box.y + i * height, h: height }, palette, around);
    outline(p, plot, palette.grid);
    if (last) timeAxis(p, plot, palette, 0, end, "time");
    return drawLane(p, plot, palette, lane, end);
  });
  return (px, py) => hovers.map((hover) => hover(px, py)).find((words) => words !== undefined);
}

function drawLane(p: Painter, plot: Box, palette: Palette, { grid, counts }: Lane, end: number): Hover {
  if (counts === undefined || counts.isEmpty) {
    nothing(p, plot, palette, counts === undefined ? `being read: ${counted(total(grid), "request")} …` : "no request of these classes");
    return () => undefined;
  }
  const low = counts.slotEdge(Math.max(0, counts.slots[0]));
  const high = Math.max(low * 10, counts.slotEdge(counts.slots[1] + 1));
  const y = new LogScale(low, high, plot.y + plot.h, plot.y);
  const x = new LinearScale(0, Math.max(1, end), plot.x, plot.x + plot.w);
  durationAxis(p, plot, palette, (ns) => y.at(ns), low, high);
  const span = (column: number): [number, number] => [x.at(column * grid.width), x.at((column + 1) * grid.width)];
  p.image(plot, picture(counts, plot, span, y, palette));
  p.clip(plot, () => p.line(p99(counts, grid.width, x, y, plot), { color: palette.text, width: 1.5 }));
  return (px, py) => {
    if (!contains(plot, px, py)) return undefined;
    const column = Math.floor(x.invert(px) / grid.width);
    const n = counts.total(column);
    return n === 0 ? undefined : `${moment(column * grid.width)}: ${counted(n, "request")}, median ${duration(counts.quantile(0.5, column))}`;
  };
}

/** Steps of columns, taken together until they have enough requests and are three pixels wide. */
function p99(counts: Counts, columnWidth: number, x: LinearScale, y: LogScale, plot: Box): Point[] {
  const points: Point[] = [];
  let [first, n] = [counts.columns[0], 0];
  for (let column = first; column <= counts.columns[1]; column++) {
    n += counts.total(column);
    const [left, right] = [x.at(first * columnWidth), x.at((column + 1) * columnWidth)];
    if (n < ENOUGH || right - left < 3) continue;
    const at = Math.min(plot.y + plot.h, y.at(counts.quantile(0.99, first, column)));
    points.push([left, at], [right, at]);
    [first, n] = [column + 1, 0];
  }
  return points;
}

function overhead({ counts }: Lane): string | undefined {
  return counts === undefined || counts.isEmpty ? undefined : duration(counts.quantile(NEARLY_ALL, ...counts.columns));
}

function name({ grid }: Lane): string {
  return grid.id.replace("_", " ");
}

function describe(context: ChartContext): string {
  const said = lanes(context).map((lane) => {
    const most = overhead(lane);
    return `${name(lane)} of ${counted(total(lane.grid), "request")}${most === undefined ? "" : `, below ${most} in 99.9 %`}`;
  });
  return `The replayer's own overhead: ${said.join("; ")}.`;
}

function table(context: ChartContext): string[][] {
  const shares = [0.5, 0.99, NEARLY_ALL];
  const rows = lanes(context).map((lane) => {
    const { counts } = lane;
    const times = shares.map((share) => (counts === undefined || counts.isEmpty ? "" : duration(counts.quantile(share, ...counts.columns))));
    return [name(lane), count(total(lane.grid)), ...times];
  });
  return [["overhead", "requests", "p50", "p99", "p99.9"], ...rows];
}

export const HEALTH: SmallChart = {
  id: "health",
  title: "The replayer's own overhead",
  height: 300,
  has: ({ runs }) => KINDS.some(([id]) => runs[0]?.grids.some((grid) => grid.id === id && total(grid) > 0)),
  describe,
  table,
  draw,
};
