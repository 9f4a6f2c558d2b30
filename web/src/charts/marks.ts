/** What stands in a plot over time beside the numbers: stalls, collapse, passes, limits. */

import type { PageFinding, PageRun } from "../format/page";
import type { Box, Painter, Point, TextStyle } from "../render/painter";
import { faded, type Palette } from "../render/palette";
import type { Scene } from "./scene";

/** Above the plot: room for numbers of stalls and names of passes. */
export const MARKS = 18;

export function xOfTime(scene: Scene, box: Box): (ns: number) => number {
  const [from, to] = scene.view.time;
  return (ns) => box.x + ((ns - from) / (to - from)) * box.w;
}

/** Grey curtains where nothing came back; `withNumbers` also above the plot. */
export function stalls(p: Painter, box: Box, scene: Scene, withNumbers: boolean): void {
  const x = xOfTime(scene, box);
  let last = -Infinity;
  for (const { kind, range, number } of scene.run.findings) {
    if (kind !== "stall" || !range) continue;
    const [a, b] = [Math.max(x(range.from_ns), box.x), Math.min(x(range.to_ns), box.x + box.w)];
    if (b < box.x || a > box.x + box.w) continue;
    p.fill({ x: a, y: box.y, w: Math.max(b - a, 1), h: box.h }, faded(scene.palette.faint, 0.22));
    if (!withNumbers) continue;
    const at = (a + b) / 2;
    p.area(
      [
        [at - 4, box.y - 6],
        [at + 4, box.y - 6],
        [at, box.y],
      ],
      scene.palette.faint,
    );
    if (number === null || at - last < 16) continue;
    p.text(at, box.y - 12, String(number), {
      size: 11,
      color: scene.palette.text,
      align: "middle",
      baseline: "middle",
    });
    last = at;
  }
}

/** What a stall held came back at its end: over submissions, the latency L = end − t. */
export function heldCurves(p: Painter, box: Box, scene: Scene, yOf: (ns: number) => number): void {
  const x = xOfTime(scene, box);
  const [from, to] = scene.view.time;
  for (const { kind, range } of scene.run.findings) {
    if (kind !== "stall" || !range || range.to_ns < from || range.from_ns > to) continue;
    const held = range.to_ns - range.from_ns;
    // Equal steps of the logarithm: the curve is steep at its end.
    const points = Array.from({ length: 33 }, (_, i): Point => {
      const left = Math.max(held * 0.7 ** i, 1000);
      return [x(range.to_ns - left), yOf(left)];
    });
    if (points.at(-1)![0] - points[0]![0] > 6)
      p.line(points, { color: faded(scene.palette.text, 0.6), width: 1, dash: [4, 3] });
  }
}

export function collapse(run: PageRun): PageFinding | undefined {
  return run.findings.find((f) => f.kind === "collapse" && f.range !== null);
}

/** The line from which on the target cannot follow. */
export function collapseLine(p: Painter, box: Box, scene: Scene, withWords: boolean): void {
  const found = collapse(scene.run);
  if (!found?.range) return;
  const { range, text } = found;
  const x = xOfTime(scene, box)(range.from_ns);
  if (x < box.x || x > box.x + box.w) return;
  p.line(
    [
      [x, box.y],
      [x, box.y + box.h],
    ],
    { color: scene.palette.bad, width: 2 },
  );
  if (withWords)
    sign(p, box, x + 6, box.y + 10, text.split(":")[0]!, scene.palette.bad, scene.palette);
}

/** Where passes behind the first begin. */
export function passMarks(p: Painter, box: Box, scene: Scene, withNames: boolean): void {
  const x = xOfTime(scene, box);
  let free = -Infinity;
  const style: TextStyle = { size: 11, color: scene.palette.faint, bold: true };
  for (const { at_ns, name } of scene.run.passes) {
    const at = x(at_ns);
    if (at < box.x || at > box.x + box.w) continue;
    p.line(
      [
        [at, box.y],
        [at, box.y + box.h],
      ],
      { color: scene.palette.axis, width: 1, dash: [2, 3] },
    );
    if (!withNames || at < free) continue;
    sign(p, box, at + 4, box.y + 10, name, style.color, scene.palette);
    free = at + 8 + p.measure(name, style);
  }
}

/** The line of a limit, with words at its end. */
export function limitLine(p: Painter, box: Box, scene: Scene, of: string, yOf: (ns: number) => number): void {
  for (const limit of scene.run.limits) {
    if (limit.of !== of || limit.passed === null) continue;
    const y = yOf(limit.limit_ns);
    if (!(y >= box.y && y <= box.y + box.h)) continue;
    const color = limit.passed ? scene.palette.ok : scene.palette.bad;
    p.line(
      [
        [box.x, y],
        [box.x + box.w, y],
      ],
      { color, width: 1.5 },
    );
    const words = `${limit.passed ? "✓" : "✕"} ${limit.text}`;
    const width = p.measure(words, { size: 11, color, bold: true });
    const below = y - 16 < box.y;
    sign(p, box, box.x + box.w - width - 6, below ? y + 10 : y - 9, words, color, scene.palette);
  }
}

/** Words on the ground of the panel, so that they can be read over anything; kept inside the plot. */
export function sign(p: Painter, box: Box, x: number, y: number, words: string, color: string, palette: Palette): void {
  const readable = palette.dark || color !== palette.ok ? color : palette.text;
  const style: TextStyle = { size: 11, color: readable, bold: true, baseline: "middle" };
  const width = p.measure(words, style);
  const left = Math.max(box.x + 2, Math.min(x, box.x + box.w - width - 4));
  p.fill({ x: left - 3, y: y - 8, w: width + 6, h: 16 }, faded(palette.background, 0.85));
  p.text(left, y, words, style);
}
