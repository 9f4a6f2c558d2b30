/** Service and response time by percentile, in nines: the area between both is what a closed loop would hide. */

import type { PageMeta, PagePercentiles } from "../format/page";
import { bottomAxis, contains, durationAxis, type Key, mark, nearest, outline, surround } from "../render/axis";
import type { Box, Painter, Point } from "../render/painter";
import { faded, type Palette } from "../render/palette";
import { LinearScale, LogScale } from "../render/scale";
import { count, duration } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";
import { type Cell, figureCell, figureOf } from "./figures";

const HALF = Math.log10(2);
const DASH = [5, 3];
/** Between two points of a curve, in nines. */
const STEP = 0.06;
/** Nines that differ less are the same share. */
const SAME = 1e-6;

interface Curve extends PagePercentiles {
  /** `A` or `B` where there are two, else empty. */
  readonly run: string;
  readonly index: number;
}

/** Percentiles that the summary has, by their nines. */
const NAMED: readonly (readonly [nines: number, name: string])[] = [
  [HALF, "p50_ns"],
  [1, "p90_ns"],
  [2, "p99_ns"],
  [3, "p99_9_ns"],
  [4, "p99_99_ns"],
  [5, "p99_999_ns"],
];

/** Where the summary has a percentile of a curve; undefined where it has none. */
function pathOf({ of, scope }: PagePercentiles, nines: number): string | undefined {
  const name = NAMED.find(([n]) => Math.abs(n - nines) < SAME)?.[1];
  return name && `${of === "service" ? "latency" : of}.${scope}.${name}`;
}

function curves({ meta, showB }: ChartContext): Curve[] {
  const compares = showB && meta.runs.length > 1;
  const runs = meta.runs.slice(0, compares ? 2 : 1);
  const all = runs.flatMap(({ percentiles }, i) =>
    percentiles.map((curve): Curve => ({ ...curve, run: compares ? (i === 0 ? "A" : "B") : "", index: i })),
  );
  // Reads or writes alone repeat the whole; beside another run there is room for the whole only.
  const whole = (curve: Curve) => all.find((c) => c.run === curve.run && c.of === curve.of && c.scope === "all");
  return all.filter((c) => c.points.length > 0 && (c.scope === "all" || (!compares && whole(c)?.requests !== c.requests)));
}

/** Requests of a scope in words. */
function several(scope: string): string {
  return scope === "all" ? "all" : scope === "flush" ? "flushes" : `${scope}s`;
}

function color(scope: string, palette: Palette): string {
  return scope === "read" || scope === "write" || scope === "flush" ? palette[scope] : palette.text;
}

/** `99.9` for three nines. */
function share(nines: number): string {
  const percent = 100 * (1 - 10 ** -nines);
  return percent.toFixed(Math.max(0, Math.ceil(nines - 2))).replace(/(\.\d*?)0+$/, "$1");
}

/** Time of a share: of the point there, never of one beside it. */
function timeAt(curve: Curve, nines: number): number | undefined {
  return curve.points.find((point) => Math.abs(point[0] - nines) < SAME)?.[1];
}

/** The same from the summary, where it has this percentile. */
function toldAt({ meta }: ChartContext, curve: Curve, nines: number): number | undefined {
  const path = pathOf(curve, nines);
  const told = path === undefined ? undefined : figureOf(meta.runs[curve.index], path);
  return told ?? timeAt(curve, nines);
}

function name(curve: Curve): string {
  return [curve.run, curve.of, curve.scope === "all" ? "" : `of ${several(curve.scope)}`].filter((word) => word !== "").join(" ");
}

/** 50 %, then whole nines, up to the last that any curve has. */
function stops(all: readonly Curve[]): number[] {
  const last = Math.max(0, ...all.flatMap((curve) => curve.points.map((point) => point[0])));
  return [HALF, ...Array.from({ length: Math.floor(last + 0.01) }, (_, i) => i + 1)];
}

function keys(all: readonly Curve[], palette: Palette): Key[] {
  const whats = [...new Set(all.map((c) => c.of))];
  const lines: Key[] = whats.map((of) => ({ text: of, color: palette.text, ...(of === "response" ? { dash: DASH } : {}) }));
  const scopes = [...new Set(all.map((c) => c.scope))];
  const ofScope = (scope: string): Key => ({ text: several(scope), color: color(scope, palette), filled: true });
  const marked: Key[] = all.some((c) => c.run === "B") ? [{ text: "B", color: palette.text, marked: true }] : [];
  return [...lines, ...(scopes.length > 1 ? scopes.map(ofScope) : []), ...marked];
}

function draw(p: Painter, box: Box, context: ChartContext): Hover {
  const { palette } = context;
  const all = curves(context);
  const plot = surround(p, box, palette, { keys: keys(all, palette), y: "time, log", x: "% of the requests took at most this" });
  const points = all.flatMap((curve) => curve.points);
  const last = Math.max(...points.map((point) => point[0]));
  // The faster half would take as much room as the slowest hundredth, and is in every histogram.
  const first = last > 1 ? HALF : 0;
  const times = points.filter((point) => point[0] >= first - STEP).map((point) => Math.max(1, point[1]));
  const [low, high] = [Math.min(...times) / 1.2, Math.max(...times) * 1.2];
  const x = new LinearScale(first, Math.max(1, last), plot.x, plot.x + plot.w);
  const y = new LogScale(low, high, plot.y + plot.h, plot.y);
  durationAxis(p, plot, palette, (ns) => y.at(ns), low, high);
  bottomAxis(p, plot, palette, stops(all).map((n) => ({ at: x.at(n), text: share(n) })));
  const at: Place = (point) => [x.at(point[0]), y.at(Math.max(1, point[1]))];
  p.clip(plot, () => {
    between(p, all, palette, at);
    all.forEach((curve) => line(p, curve, palette, at));
  });
  outline(p, plot, palette.grid);
  return (px, py) => (contains(plot, px, py) ? words(all, x.invert(px)) : undefined);
}

type Place = (point: readonly [number, number]) => Point;

function line(p: Painter, curve: Curve, palette: Palette, at: Place): void {
  const stroke = { color: color(curve.scope, palette), width: curve.scope === "all" ? 2 : 1.5 };
  p.line(curve.points.map(at), curve.of === "response" ? { ...stroke, dash: DASH } : stroke);
  // Of a few requests there is one point only.
  if (curve.points.length === 1) curve.points.forEach((point) => mark(p, at(point), stroke.color));
  if (curve.run === "B") stops([curve]).forEach((n) => markAt(p, curve, n, palette, at));
}

function markAt(p: Painter, curve: Curve, n: number, palette: Palette, at: Place): void {
  const ns = timeAt(curve, n);
  if (ns !== undefined) mark(p, at([n, ns]), palette.text);
}

/** The light area between service and response of all requests of A. */
function between(p: Painter, all: readonly Curve[], palette: Palette, at: Place): void {
  const [service, response] = ["service", "response"].map((of) => all.find((c) => c.of === of && c.scope === "all" && c.run !== "B"));
  if (service === undefined || response === undefined) return;
  p.area([...service.points.map(at), ...response.points.map(at).reverse()], faded(palette.actual, 0.18));
}

function words(all: readonly Curve[], nines: number): string {
  const point = nearest(all[0]?.points ?? [], (candidate) => candidate[0], nines)?.[0] ?? nines;
  const said = all.flatMap((curve) => {
    const ns = timeAt(curve, point);
    return ns === undefined ? [] : [`${name(curve)} ${duration(ns)}`];
  });
  return `${share(point)} % took at most: ${said.join(", ")}`;
}

function describe(context: ChartContext): string {
  const said = curves(context)
    .filter((curve) => curve.scope === "all")
    .map((curve) => {
      const [half, most] = [toldAt(context, curve, HALF), toldAt(context, curve, 2)];
      const parts = [
        ...(half === undefined ? [] : [`50 % at most ${duration(half)}`]),
        ...(most === undefined ? [] : [`99 % at most ${duration(most)}`]),
      ];
      return `${name(curve)} time of ${count(curve.requests)} requests: ${parts.join(", ") || "too few to tell"}`;
    });
  return `${said.join("; ")}.`.replace(/^./, (letter) => letter.toUpperCase());
}

function table(context: ChartContext): Cell[][] {
  const all = curves(context);
  const rows = stops(all).map((n) => [
    `${share(n)} %`,
    ...all.map((curve) => cellAt(context, curve, n)),
  ]);
  return [["of the requests", ...all.map(name)], ...rows];
}

function cellAt({ meta }: ChartContext, curve: Curve, nines: number): Cell {
  const path = pathOf(curve, nines);
  const run = meta.runs[curve.index];
  if (path !== undefined && figureOf(run, path) !== undefined) return figureCell(run, curve.index, path, duration);
  const ns = timeAt(curve, nines);
  return ns === undefined ? "" : duration(ns);
}

export const PERCENTILES: SmallChart = {
  id: "percentiles",
  title: "Service and response time by percentile",
  height: 280,
  has: (meta: PageMeta) => meta.runs.some(({ percentiles }) => percentiles.some((curve) => curve.points.length > 0)),
  describe,
  table,
  draw,
  isFiltered: true,
};
