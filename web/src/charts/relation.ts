/** How the time of a request goes with another quantity: density, and median and 99th percentile of each column. */

import { bottomAxis, contains, durationAxis, type Key, LABEL_SIZE, logTicks, nothing, outline, surround, Words } from "../render/axis";
import type { Box, Painter, Point, Stroke } from "../render/painter";
import { faded, type Palette } from "../render/palette";
import { duration, short } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";
import { type Counts, type Quantile, QUANTILES } from "./relation-counts";
import { Places, picture } from "./relation-picture";
import { countsOf, describe, type Kind, relationOf, table, underPointer } from "./relation-words";

const DASH = [6, 3];

function keys(palette: Palette, kind: Kind, hasB: boolean): Key[] {
  const lines = QUANTILES.map(({ name, width }): Key => ({ text: name, color: palette.text, width }));
  if (kind.isPairs === true) return [...lines, { text: "equal", color: palette.bad, width: 1.5, dash: DASH }];
  return hasB ? [{ text: "density: A", color: palette.read, filled: true }, ...lines, { text: "B", color: palette.text, dash: DASH }] : lines;
}

function chart(kind: Kind): SmallChart {
  return {
    id: kind.id,
    title: kind.title,
    height: 280,
    has: (meta) => (relationOf(meta, kind, 0)?.totals ?? []).some((n) => n > 0),
    describe: (context) => describe(context, kind),
    table: (context) => table(context, kind),
    draw: (p, box, context) => draw(p, box, context, kind),
    isFiltered: kind.isFiltered === true,
  };
}

function draw(p: Painter, box: Box, context: ChartContext, kind: Kind): Hover {
  const { palette } = context;
  const a = countsOf(context, kind, 0);
  const other = context.showB && kind.isPairs !== true ? countsOf(context, kind, 1) : undefined;
  const b = other?.isEmpty === false ? other : undefined;
  const plot = surround(p, box, palette, { keys: keys(palette, kind, b !== undefined), y: `${kind.y}, log`, x: `${kind.x}, log` });
  outline(p, plot, palette.grid);
  if (a === undefined || a.isEmpty) {
    nothing(p, plot, palette, a === undefined ? "is being read …" : "no request of these classes");
    return () => undefined;
  }
  const isDuration = relationOf(context.meta, kind, 0)?.is_duration === true;
  const places = new Places(a, b, plot, isDuration, kind.isPairs === true);
  durationAxis(p, plot, palette, (ns) => places.y.at(ns), places.y.from, places.y.to);
  if (places.gutterY > 0) besideGutter(p, plot, palette, places, kind);
  p.image(plot, picture(a, plot, (column) => places.span(column), places.y, palette, places.gutterY));
  axisBelow(p, plot, palette, places, kind);
  p.clip(plot, () => {
    if (kind.isPairs === true) diagonal(p, palette, places);
    const lines = QUANTILES.flatMap((quantile) => [
      ...quantileLines(a, places, quantile, palette),
      ...(b === undefined ? [] : quantileLines(b, places, quantile, palette, DASH)),
    ]);
    // A rim of the ground's colour keeps them apart from the density.
    for (const [points, { width }] of lines) p.line(points, { color: palette.background, width: width + 2 });
    for (const [points, stroke] of lines) p.line(points, stroke);
  });
  const words = new Words(p, plot, palette);
  if (kind.isPairs === true) {
    words.place(plot.x + 8, plot.y + 14, "slower in B", "start");
    words.place(plot.x + plot.w - 8, plot.y + plot.h - 14, "faster in B", "end");
  }
  if (kind.isQueue === true) guides(p, plot, palette, places, words);
  return (px, py) => (contains(plot, px, py) ? underPointer(a, kind, isDuration, places.columnAt(px), places.slotsAt(py)) : undefined);
}

/** Words for the strip of what is below all rows. */
function besideGutter(p: Painter, plot: Box, palette: Palette, { gutterY }: Places, kind: Kind): void {
  const style = { size: LABEL_SIZE, color: palette.faint, align: "end", baseline: "middle" } as const;
  p.text(plot.x - 7, plot.y + plot.h - gutterY / 2, kind.under[1], style);
}

/** Equally long in A and B. */
function diagonal(p: Painter, palette: Palette, { x, y }: Places): void {
  p.line([[x.at(x.from), y.at(x.from)], [x.at(x.to), y.at(x.to)]], { color: palette.bad, width: 1.5, dash: DASH });
}

function axisBelow(p: Painter, plot: Box, palette: Palette, places: Places, kind: Kind): void {
  const ticks = logTicks(p, places.x, plot.w, places.isDuration ? duration : short);
  // Numbers of requests are whole.
  const whole = ticks.filter(({ at }) => places.isDuration || Math.abs((places.x.invert(at) + 1e-6) % 1) < 1e-3);
  const gutter = places.gutterX > 0 ? [{ at: plot.x + places.gutterX / 2, text: kind.under[0] }] : [];
  bottomAxis(p, plot, palette, [...gutter, ...whole]);
}

/** Constant throughput is a straight line, by Little's law; only whole powers of ten that cross the plot well. */
function guides(p: Painter, plot: Box, palette: Palette, { x, y }: Places, words: Words): void {
  for (let rate = 1; rate <= 1e9; rate *= 10) {
    const ns = (n: number) => (n / rate) * 1e9;
    const from = Math.max(x.from, (y.from * rate) / 1e9);
    const to = Math.min(x.to, (y.to * rate) / 1e9);
    if (to < from * 1.5) continue;
    p.line([[x.at(from), y.at(ns(from))], [x.at(to), y.at(ns(to))]], { color: faded(palette.axis, 0.7), width: 1, dash: [2, 3] });
    words.place(Math.min(x.at(to), plot.x + plot.w) - 4, Math.max(y.at(ns(to)), plot.y) + 9, `${short(rate)}/s`, "end", palette.faint);
  }
}

/** Steps at a quantile of each column; columns with too few requests have none. */
function quantileLines(counts: Counts, places: Places, quantile: Quantile, { text }: Palette, dash?: readonly number[]): [Point[], Stroke][] {
  const lines: Point[][] = [[]];
  for (let column = counts.columns[0]; column <= counts.columns[1]; column++) {
    const isEnough = counts.total(column) >= quantile.least;
    // No line leads from what has no place on the scale to what has.
    if (!isEnough || counts.edge(column - 1) === 0) lines.push([]);
    if (!isEnough) continue;
    const ns = counts.quantile(quantile.share, column);
    const y = ns === 0 ? places.plot.y + places.plot.h - places.gutterY / 2 : places.y.at(ns);
    const [left, right] = places.span(column);
    lines[lines.length - 1]?.push([left, y], [right, y]);
  }
  const stroke: Stroke = { color: text, width: quantile.width, ...(dash === undefined ? {} : { dash }) };
  return lines.filter((line) => line.length > 0).map((line) => [line, stroke]);
}

export const LATENCY_IN_FLIGHT = chart({
  id: "latency.in-flight",
  title: "Latency and requests in flight",
  x: "requests of the same operation in flight",
  y: "latency",
  under: ["0", "< 1 µs"],
  unit: "in flight",
  isQueue: true,
});

export const LATENCY_DELAY = chart({
  id: "latency.delay",
  title: "Latency and delay of the same request",
  x: "delay (due to submission)",
  y: "latency",
  under: ["on time", "< 1 µs"],
  unit: "of delay",
  isFiltered: true,
});

export const DELAY_WAITING = chart({
  id: "delay.waiting",
  title: "Delay and waiting requests",
  x: "requests of the same operation waiting",
  y: "delay",
  under: ["0", "on time"],
  unit: "waiting",
});

export const PAIRS = chart({
  id: "pairs",
  title: "Latency of the same request in A and B",
  x: "latency in A",
  y: "latency in B",
  under: ["< 1 µs", "< 1 µs"],
  unit: "",
  isPairs: true,
});
