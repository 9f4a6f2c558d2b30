/** Targets and workers side by side: who carries how much, and who is slow. */

import type { PagePart } from "../format/page";
import { bottomAxis, contains, durationAxis, LABEL_SIZE, mark, outline, surround, type Tick, valueAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { faded, type Palette } from "../render/palette";
import { LinearScale, LogScale, roundStep } from "../render/scale";
import { count, duration, significant } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";
import { imbalance, KINDS, kindOf, type Lane, lanes } from "./lanes";

const MOST_BAR = 28;
/** What the number of a part needs. */
const NUMBER_WIDTH = 26;

function draw(p: Painter, box: Box, context: ChartContext): Hover {
  const { palette } = context;
  const all = lanes(context);
  const keys = [
    { text: "rate", color: palette.actual, filled: true },
    { text: "p50", color: palette.text, filled: true },
    { text: "p99", color: palette.bad, filled: true },
  ];
  const half = box.h / 2 - 2;
  const upper = surround(p, { ...box, h: half }, palette, { keys, y: "requests/s ÷ mean of their kind", bare: true });
  const lower = surround(p, { ...box, y: box.y + half, h: box.h - half }, palette, { y: "latency, log", x: numbersTitle(all) });
  const x = new LinearScale(0, 1, upper.x + 4, upper.x + upper.w - 4);
  rates(p, upper, palette, all, x);
  times(p, lower, palette, all, x);
  bottomAxis(p, lower, palette, KINDS.flatMap((kind) => numbers(kindOf(all, kind), x)));
  return (px, py) => {
    if (!contains(upper, px, py) && !contains(lower, px, py)) return undefined;
    const lane = all.find(({ from, width }) => px >= x.at(from) && px < x.at(from + width));
    return lane === undefined ? undefined : words(lane.part);
  };
}

function middle({ from, width }: Lane): number {
  return from + width / 2;
}

/** Every first, second, fifth … number, as there is room. */
function numbers(same: readonly Lane[], x: LinearScale): Tick[] {
  const each = x.at(same[0]?.width ?? 1) - x.at(0);
  const stride = roundStep(Math.max(1, NUMBER_WIDTH / each));
  return same.filter(({ number }) => number % stride === 0).map((lane) => ({ at: x.at(middle(lane)), text: String(lane.number) }));
}

function numbersTitle(all: readonly Lane[]): string {
  return KINDS.filter((kind) => kindOf(all, kind).length > 0).map((kind) => `number of the ${kind}`).join(", then ");
}

function rates(p: Painter, plot: Box, palette: Palette, all: readonly Lane[], x: LinearScale): void {
  // Above the bars stands the imbalance.
  const y = new LinearScale(0, Math.max(1, imbalance(all) ?? 1) * 1.4, plot.y + plot.h, plot.y);
  valueAxis(p, plot, palette, y, significant);
  outline(p, plot, palette.grid);
  for (const lane of all) {
    const width = Math.max(1, Math.min(MOST_BAR, (x.at(lane.width) - x.at(0)) * 0.75));
    p.fill({ x: x.at(middle(lane)) - width / 2, y: y.at(lane.load), w: width, h: y.at(0) - y.at(lane.load) }, palette.actual);
  }
  p.line([[plot.x, y.at(1)], [plot.x + plot.w, y.at(1)]], { color: palette.axis, width: 1, dash: [3, 3] });
  for (const kind of KINDS) {
    const same = kindOf(all, kind);
    const [first, last, ratio] = [same[0], same[same.length - 1], imbalance(same)];
    if (first === undefined || last === undefined || ratio === undefined) continue;
    const [left, right] = [x.at(first.from), x.at(last.from + last.width)];
    const style = { size: LABEL_SIZE, color: palette.text, baseline: "top" } as const;
    const text = `busiest ${significant(ratio)} ×`;
    if (p.measure(text, style) <= right - left) p.text(left, plot.y + 3, text, style);
  }
}

function times(p: Painter, plot: Box, palette: Palette, all: readonly Lane[], x: LinearScale): void {
  const known = all.flatMap(({ part }) => [part.p50_ns, part.p99_ns]).filter((ns): ns is number => ns !== null && ns > 0);
  const [low, high] = known.length > 0 ? [Math.min(...known) / 1.5, Math.max(...known) * 1.5] : [1e3, 1e9];
  const y = new LogScale(low, high, plot.y + plot.h, plot.y);
  durationAxis(p, plot, palette, (ns) => y.at(ns), low, high);
  outline(p, plot, palette.grid);
  for (const lane of all) {
    const [at, half, most] = [x.at(middle(lane)), lane.part.p50_ns, lane.part.p99_ns];
    if (half !== null && most !== null) p.line([[at, y.at(half)], [at, y.at(most)]], { color: faded(palette.axis, 0.6), width: 1 });
    if (most !== null) mark(p, [at, y.at(most)], palette.bad, 5);
    if (half !== null) mark(p, [at, y.at(half)], palette.text, 5);
  }
}

function words(part: PagePart): string {
  const time = (text: string, ns: number | null) => (ns === null ? [] : [`${text} ${duration(ns)}`]);
  const rate = part.rate === null ? [] : [`${significant(part.rate)} requests/s`];
  const failed = part.failed > 0 ? [`${count(part.failed)} failed`] : [];
  const times = [...time("p50", part.p50_ns), ...time("p99", part.p99_ns), ...time("max", part.max_ns)];
  return `${part.name}: ${[`${count(part.completed)} completed`, ...failed, ...rate, ...times].join(", ")}`;
}

function describe(context: ChartContext): string {
  const all = lanes(context);
  const said = KINDS.flatMap((kind) => {
    const ratio = imbalance(kindOf(all, kind));
    const number = count(kindOf(all, kind).length);
    return ratio === undefined ? [] : [`of ${number} ${kind}s the busiest has ${significant(ratio)} times the mean rate`];
  });
  return said.length === 0 ? "No rates are known." : `${said.join("; ")}.`.replace(/^o/, "O");
}

function table(context: ChartContext): string[][] {
  const time = (ns: number | null) => (ns === null ? "" : duration(ns));
  const rows = lanes(context).map(({ part, number }) => [
    `${part.kind} ${number}`, part.name, count(part.completed), count(part.failed), part.rate === null ? "" : significant(part.rate),
    time(part.p50_ns), time(part.p99_ns), time(part.max_ns),
  ]);
  return [["part", "name", "completed", "failed", "requests/s", "p50", "p99", "max"], ...rows];
}

export const PARTS: SmallChart = {
  id: "lanes",
  title: "Targets and workers",
  height: 280,
  has: ({ runs }) => KINDS.some((kind) => (runs[0]?.parts ?? []).filter((part) => part.kind === kind).length > 1),
  describe,
  table,
  draw,
};
