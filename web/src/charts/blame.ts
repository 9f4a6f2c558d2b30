/** Causes of waiting over time: a row for each, the stronger the more. */

import type { PageBlame, PageBlameRow, PageRun } from "../format/page";
import type { Range } from "../model/view";
import { timeAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { faded, type Palette } from "../render/palette";
import { moment } from "../render/units";
import { xOfTime } from "./marks";
import { BELOW, type Drawn, meanings, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";
import { TABLE_ROWS } from "./throughput";

/** Above the rows, and from one to the next: that of their names beside them. */
const [ABOVE, ROW] = [9, 18];
/** Opacity of the least value above zero: it must be seen. */
const LEAST_INK = 0.1;
/** Place of a cause's colour among those of lines and areas. */
const COLORS: Readonly<Record<string, number>> = { halted: 3, "no-cpu": 4, others: 1, "depth-full": 0, conflicts: 2 };

/** The strip below the sonar; none where no run has a cause. */
export function blameStrips(runs: readonly PageRun[]): TimeChart[] {
  const names = Math.max(0, ...runs.map(({ blame }) => blame?.rows.length ?? 0));
  if (names === 0) return [];
  const strip: TimeChart = {
    id: "blame",
    title: "Causes over time (stronger: more)",
    height: ABOVE + ROW * names + BELOW,
    has: ({ blame }) => blame !== null,
    describe: ({ run, view }) => `Causes of waiting over time. ${rowsOf(run).map((row) => sentence(run.blame!, row, view.time)).join("; ")}.`,
    table,
    draw,
    side: (p, _box, scene) =>
      meanings(p, scene, rowsOf(scene.run).map(({ label, cause }) => ({ text: label, color: colorOf(scene.palette, cause), filled: true }))),
    names,
  };
  return [strip];
}

function rowsOf({ blame }: PageRun): readonly PageBlameRow[] {
  return blame?.rows ?? [];
}

function colorOf(palette: Palette, cause: string): string {
  const place = COLORS[cause];
  return place === undefined ? palette.faint : palette.series[place]!;
}

/** First slice of a part of the time, and the one after its last. */
export function slicesIn({ from_ns, slice_ns }: PageBlame, row: PageBlameRow, [from, to]: Range): Range {
  const bounded = (slice: number) => Math.min(Math.max(slice, 0), row.percent.length);
  const first = bounded(Math.floor((from - from_ns) / slice_ns));
  return [first, Math.max(first, bounded(Math.ceil((to - from_ns) / slice_ns)))];
}

/** The greatest value in a part of the time; undefined where it has no slice. */
export function mostIn(blame: PageBlame, row: PageBlameRow, range: Range): number | undefined {
  const [first, end] = slicesIn(blame, row, range);
  return end > first ? Math.max(...row.percent.slice(first, end)) : undefined;
}

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const box = plotOf(p, ABOVE);
  const { run, palette, view } = scene;
  rowsOf(run).forEach((row, i) => {
    const line: Box = { x: box.x, y: box.y + ROW * i + 1, w: box.w, h: ROW - 3 };
    p.fill(line, faded(palette.grid, 0.4));
    drawRow(p, line, scene, row);
  });
  timeAxis(p, box, palette, view.time[0], view.time[1], "time");
  timeTitle(p, box, palette, "time since the start of the run");
  return { hover: (x) => hover(box, scene, x) };
}

/** A pixel has the greatest of its slices, so that a short one is seen; equal neighbours are one box. */
function drawRow(p: Painter, line: Box, scene: Scene, row: PageBlameRow): void {
  const blame = scene.run.blame!;
  const color = colorOf(scene.palette, row.cause);
  const [from, to] = scene.view.time;
  const pixels = Math.max(1, Math.floor(line.w));
  const at = (pixel: number) => from + ((to - from) * pixel) / pixels;
  const [left, right] = [blame.from_ns, blame.from_ns + row.percent.length * blame.slice_ns].map(xOfTime(scene, line)) as [number, number];
  const fill = (begin: number, end: number, percent: number) => {
    const [a, b] = [Math.max(line.x + (begin / pixels) * line.w, left), Math.min(line.x + (end / pixels) * line.w, right)];
    if (b > a) p.fill({ ...line, x: a, w: b - a }, faded(color, LEAST_INK + (1 - LEAST_INK) * (percent / 100)));
  };
  let [begin, value] = [0, 0];
  for (let pixel = 0; pixel <= pixels; pixel++) {
    const next = pixel < pixels ? (mostIn(blame, row, [at(pixel), at(pixel + 1)]) ?? 0) : 0;
    if (next === value) continue;
    if (value > 0) fill(begin, pixel, value);
    [begin, value] = [pixel, next];
  }
}

/** The causes at the pixel under the pointer. */
function hover(box: Box, { run, view }: Scene, x: number): string | undefined {
  if (x < box.x || x > box.x + box.w || !run.blame) return undefined;
  const [from, to] = view.time;
  const [ns, half] = [from + ((x - box.x) / box.w) * (to - from), (to - from) / box.w / 2];
  const found = rowsOf(run).flatMap((row) => {
    const most = mostIn(run.blame!, row, [ns - half, ns + half]) ?? 0;
    return most > 0 ? [`${row.label} ${most} % ${row.measure}`] : [];
  });
  return [moment(ns, to - from < 2e9 ? 1e6 : undefined), ...(found.length > 0 ? found : ["no cause is known"])].join(" · ");
}

/** A row in words: its greatest value in sight, and between which times it has any. */
function sentence(blame: PageBlame, row: PageBlameRow, range: Range): string {
  const [first, end] = slicesIn(blame, row, range);
  const some = row.percent.slice(first, end);
  const begin = some.findIndex((percent) => percent > 0);
  if (begin < 0) return `${row.label}: not in sight`;
  const at = (slice: number) => moment(blame.from_ns + (first + slice) * blame.slice_ns);
  return `${row.label}: up to ${Math.max(...some)} % ${row.measure}, from ${at(begin)} to ${at(some.findLastIndex((percent) => percent > 0) + 1)}`;
}

function table({ run, view }: Scene): string[][] {
  const [from, to] = view.time;
  const step = (to - from) / TABLE_ROWS;
  const part = (i: number): Range => [from + i * step, from + (i + 1) * step];
  const cells = (range: Range) => rowsOf(run).map((row) => mostIn(run.blame!, row, range)).map((most) => (most === undefined ? "–" : `${most} %`));
  return [["From", ...rowsOf(run).map(({ label }) => label)], ...Array.from({ length: TABLE_ROWS }, (_, i) => [moment(part(i)[0]), ...cells(part(i))])];
}
