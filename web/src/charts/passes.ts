/** Passes, each a dot: whether a figure is more than chance, and whether it drifts. */

import type { PagePart } from "../format/page";
import { bottomAxis, contains, nearest, outline, surround, valueAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { faded, type Palette } from "../render/palette";
import { LinearScale, LogScale, type Scale } from "../render/scale";
import { count, duration, plainDuration, short, significant } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";
import { interval, median, outliers } from "./statistics";

const DOT = 5;
function passesOf({ meta }: ChartContext): readonly PagePart[] {
  return (meta.runs[0]?.parts ?? []).filter((part) => part.kind === "pass");
}

/** A figure that every pass has. */
interface Figure {
  readonly name: string;
  readonly of: (pass: PagePart) => number | null;
  readonly format: (value: number) => string;
  readonly tick: (value: number) => string;
}

const FIGURES: readonly Figure[] = [
  { name: "requests/s", of: (pass) => pass.rate, format: significant, tick: short },
  { name: "p50 of the latency", of: (pass) => pass.p50_ns, format: duration, tick: plainDuration },
  { name: "p99 of the latency", of: (pass) => pass.p99_ns, format: duration, tick: plainDuration },
];

function known(passes: readonly PagePart[], figure: Figure): number[] {
  return passes.map(figure.of).filter((value): value is number => value !== null);
}

function draw(p: Painter, box: Box, context: ChartContext): Hover {
  const { palette } = context;
  const passes = passesOf(context);
  const keys = [
    { text: "median", color: palette.text },
    { text: "its 95 % interval", color: faded(palette.actual, 0.3), filled: true },
  ];
  const tallest = box.h / FIGURES.length;
  // The legend above the first and the axis below the last need room of their own.
  const heights = [tallest + 2, tallest - 20, tallest + 18];
  let top = box.y;
  const plots = FIGURES.map((figure, i) => {
    const last = i === FIGURES.length - 1;
    const around = { ...(i === 0 ? { keys } : {}), ...(last ? { x: "number of the pass" } : { bare: true }), y: figure.name };
    const plot = surround(p, { ...box, y: top, h: heights[i] ?? tallest }, palette, around);
    top += heights[i] ?? tallest;
    return plot;
  });
  const [first] = plots;
  if (first === undefined) return () => undefined;
  const x = new LinearScale(-1, passes.length, first.x, first.x + first.w);
  FIGURES.forEach((figure, i) => lane(p, plots[i] ?? first, palette, passes, figure, x));
  const ticks = x.ticks(Math.max(1, Math.floor(first.w / 40))).filter((i) => Number.isInteger(i) && i >= 0 && i < passes.length);
  bottomAxis(p, plots[plots.length - 1] ?? first, palette, ticks.map((i) => ({ at: x.at(i), text: String(i) })));
  return (px, py) => {
    if (!plots.some((plot) => contains(plot, px, py))) return undefined;
    const index = nearest(passes.map((_, i) => i), (i) => x.at(i), px) ?? 0;
    return words(passes, index);
  };
}

function lane(p: Painter, plot: Box, palette: Palette, passes: readonly PagePart[], figure: Figure, x: Scale): void {
  const values = known(passes, figure);
  const [low, high] = [Math.min(...values, Number.MAX_VALUE), Math.max(...values, 0)];
  outline(p, plot, palette.grid);
  if (!(low > 0) || values.length === 0) return;
  // Not from zero, because passes differ little: so a scale of ratios, and no bars.
  const y = new LogScale(low / 1.05, high * 1.05, plot.y + plot.h, plot.y);
  valueAxis(p, plot, palette, y, figure.tick);
  const bounds = interval(values);
  if (bounds !== undefined) p.fill({ x: plot.x, y: y.at(bounds[1]), w: plot.w, h: y.at(bounds[0]) - y.at(bounds[1]) }, faded(palette.actual, 0.3));
  p.line([[plot.x, y.at(median(values))], [plot.x + plot.w, y.at(median(values))]], { color: palette.text, width: 1 });
  const isOutlier = outliers(values);
  passes.forEach((pass, i) => {
    const value = figure.of(pass);
    if (value === null) return;
    const dot = { x: x.at(i) - DOT / 2, y: y.at(value) - DOT / 2, w: DOT, h: DOT };
    p.fill(dot, palette.text);
    if (isOutlier(value)) outline(p, { x: dot.x - 3, y: dot.y - 3, w: DOT + 6, h: DOT + 6 }, palette.bad);
  });
}

function words(passes: readonly PagePart[], index: number): string | undefined {
  const pass = passes[index];
  if (pass === undefined) return undefined;
  const said = FIGURES.flatMap((figure) => {
    const value = figure.of(pass);
    if (value === null) return [];
    return [`${figure.name} ${figure.format(value)}${outliers(known(passes, figure))(value) ? " (stands out)" : ""}`];
  });
  return [`${pass.name}: ${count(pass.completed)} completed`, ...said].join(", ");
}

function describe(context: ChartContext): string {
  const passes = passesOf(context);
  const found = context.meta.runs[0]?.findings.find((finding) => finding.kind === "passes")?.text;
  const said = FIGURES.flatMap((figure) => {
    const values = known(passes, figure);
    if (values.length === 0) return [];
    const bounds = interval(values);
    const between = bounds === undefined ? "no interval" : `95 % interval ${bounds.map(figure.format).join(" to ")}`;
    return [`${figure.name} ${figure.format(median(values))} (${between})`];
  });
  return `Medians of ${count(passes.length)} passes: ${said.join("; ")}${found === undefined ? "" : `; ${found.replace(/\.$/, "")}`}.`;
}

function table(context: ChartContext): string[][] {
  const rows = passesOf(context).map((pass) => [
    pass.name, count(pass.completed), count(pass.failed),
    ...FIGURES.map((figure) => { const value = figure.of(pass); return value === null ? "" : figure.format(value); }),
    pass.max_ns === null ? "" : duration(pass.max_ns),
  ]);
  return [["pass", "completed", "failed", ...FIGURES.map((figure) => figure.name), "max"], ...rows];
}

export const PASSES: SmallChart = {
  id: "passes",
  title: "Passes",
  height: 300,
  has: ({ runs }) => (runs[0]?.parts ?? []).filter((part) => part.kind === "pass").length > 1,
  describe,
  table,
  draw,
};
