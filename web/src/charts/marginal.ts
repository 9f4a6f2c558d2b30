/** Beside the sonar: how many requests took how long, on the same y axis, with brackets at the bands. */

import type { PageBand } from "../format/page";
import { type Operation, OPS } from "../format/classes";
import { xRange } from "../model/view";
import type { SlotBins } from "../render/density";
import type { Box, Painter, Point } from "../render/painter";
import { faded } from "../render/palette";
import { count, duration } from "../render/units";
import type { Hover } from "./chart";
import { barsOf } from "./bars";
import { gridIdOf, ordinateOf, timeOf } from "./ordinate";
import type { Scene } from "./scene";
import { drawDurations, gridOf, SONAR_ABOVE, slotsIn, stepWords, yScale, type YScale } from "./sonar";
import { BELOW, BESIDE, LEFT } from "./scene";
import { type VisibleCounts, visibleCounts } from "./visible-counts";

/** Room for brackets and their words. */
const LABELS = 116;

export function drawMarginal(p: Painter, _box: Box, scene: Scene): Hover {
  // Below the sonar, as on narrow screens, and beside bars it needs a separate axis.
  const hasBars = barsOf(scene, gridIdOf(scene), p.height) !== undefined;
  const left = p.width > BESIDE || hasBars ? LEFT : 4;
  const box: Box = {
    x: left,
    y: SONAR_ABOVE,
    w: Math.max(10, p.width - left - 4),
    h: Math.max(10, p.height - SONAR_ABOVE - BELOW),
  };
  const known = gridOf(scene);
  const found = known && visibleCounts(scene, known.id, known.base, scene.view.brush ?? xRange(scene.view), timeOf(scene));
  if (!found) return () => undefined;
  const { reads, writes, flushes, step } = found;
  const scale = yScale(scene, box);
  if (left === LEFT) drawDurations(p, box, scene, scale);
  const slots = slotsIn({ ...scene, ratio: 1 }, box, scale);
  // Bands are those of the latency.
  const hasBands = scene.run.bands.length > 0 && !hasBars && ordinateOf(scene) === "latency";
  const bars: Box = { ...box, w: Math.max(20, box.w - (hasBands ? LABELS : 0)) };
  const binned = [reads, writes, flushes].map((counts) => binsOf(counts, slots));
  const most = Math.max(1, ...binned.map((b) => b.reduce((a, n) => Math.max(a, n), 0)));
  p.line(
    [
      [box.x, box.y],
      [box.x, box.y + box.h],
    ],
    { color: scene.palette.axis, width: 1 },
  );
  binned.forEach((bins, op) =>
    drawBars(p, bars, bins, slots, most, scene.palette[OPS[op]!]),
  );
  if (hasBands) brackets(p, { ...box, x: bars.x + bars.w + 2, w: box.w - bars.w - 2 }, scene, scale);
  const seen = scene.view.brush ? "brushed" : "in sight";
  const what = step === undefined ? seen : `${seen} ± ${stepWords(scene, step)}`;
  p.text(box.x + 2, box.y + box.h + 6, `${what}, log`, { size: 11, color: scene.palette.faint, baseline: "top" });
  return (_x, y) => words(found, scene, scale.invert(y));
}

function binsOf(counts: Float64Array, slots: SlotBins): Float64Array {
  const bins = new Float64Array(slots.count);
  counts.forEach((n, slot) => {
    const bin = slots.ofSlot[slot]!;
    if (bin >= 0) bins[bin]! += n;
  });
  return bins;
}

/** Logarithmic, so that a single request is seen beside a million. */
function drawBars(p: Painter, box: Box, bins: Float64Array, slots: SlotBins, most: number, color: string): void {
  const length = (n: number) => (n === 0 ? 0 : (Math.log1p(n) / Math.log1p(most)) * (box.w - 4) + 1);
  const outline: Point[] = [[box.x, box.y]];
  let last = -1;
  slots.ofPixel.forEach((bin, y) => {
    const w = bin < 0 ? 0 : length(bins[bin]!);
    if (w === last) return;
    outline.push([box.x + Math.max(last, 0), box.y + y], [box.x + w, box.y + y]);
    last = w;
  });
  outline.push([box.x + Math.max(last, 0), box.y + box.h], [box.x, box.y + box.h]);
  p.area(outline, faded(color, 0.28));
  p.line(outline.slice(1, -1), { color, width: 1 });
}

/** The operation of a band. */
function opName(band: PageBand): Operation {
  return OPS.find((op) => op === band.op) ?? "read";
}

interface Label {
  readonly band: PageBand;
  readonly low: number;
  readonly high: number;
  y: number;
}

/** Brackets at the bands; reads and writes in lanes of their own, words pushed apart where they would overlap. */
function brackets(p: Painter, box: Box, scene: Scene, scale: YScale): void {
  const { palette, view } = scene;
  const inside = (y: number) => Math.min(Math.max(y, box.y), box.y + box.h);
  const labels = scene.run.bands
    .filter((b) => view.on[opName(b)])
    .map((band): Label => ({
      band,
      low: inside(scale.yOf(band.low_ns)),
      high: inside(scale.yOf(band.high_ns)),
      y: inside(scale.yOf(band.peak_ns)),
    }))
    .filter((l) => l.low - l.high > 1)
    .sort((a, b) => a.y - b.y);
  spread(labels, box);
  for (const { band, low, high, y } of labels) {
    const color = palette[opName(band)];
    const x = box.x + (band.op === "write" ? 8 : 3);
    p.line(
      [
        [x - 3, high + 1],
        [x, high + 1],
        [x, low - 1],
        [x - 3, low - 1],
      ],
      { color, width: 1.5 },
    );
    p.line(
      [
        [x, inside(scale.yOf(band.peak_ns))],
        [box.x + 13, y],
      ],
      { color: faded(color, 0.6), width: 1 },
    );
    p.text(box.x + 15, y, band.label, { size: 11, color, baseline: "middle" });
  }
}

/** Moves words down, then up, until each has a line. */
function spread(labels: Label[], box: Box): void {
  const line = 14;
  let free = box.y + line / 2;
  for (const label of labels) {
    label.y = Math.max(label.y, free);
    free = label.y + line;
  }
  let limit = box.y + box.h - line / 2;
  for (const label of [...labels].reverse()) {
    label.y = Math.min(label.y, limit);
    limit = label.y - line;
  }
}

function words({ reads, writes, flushes }: VisibleCounts, scene: Scene, ns: number): string | undefined {
  const slot = scene.rows.slotOf(ns);
  const [from, to] = [scene.rows.begin(slot), scene.rows.begin(slot + 1)];
  const flushed = flushes[slot] ? `, ${count(flushes[slot]!)} flushes` : "";
  return `${duration(from)} to ${duration(to)}: ${count(reads[slot] ?? 0)} reads, ${count(writes[slot] ?? 0)} writes${flushed}`;
}
