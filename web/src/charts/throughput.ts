/** Rates that the load wants, and that are done. Hatched is what is missing. */

import type { PageRun } from "../format/page";
import type { RunData } from "../model/run-data";
import type { Range, View } from "../model/view";
import { timeAxis, valueAxis } from "../render/axis";
import type { Box, Painter, Point } from "../render/painter";
import { faded } from "../render/palette";
import { LinearScale } from "../render/scale";
import { byteRate, count, moment, percent, plainByteRate, short } from "../render/units";
import { collapseLine, stalls } from "./marks";
import { axisTitle, DASHED_B, type Drawn, meanings, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";
import { added, below, largest, outlineOf, perSecond, type Steps, valueAt } from "./steps";

export const THROUGHPUT: TimeChart = {
  id: "throughput",
  title: "Throughput, wanted and done",
  height: 164,
  has: (run) => run.series.some((s) => /^(demanded|delivered)\./.test(s.id)),
  describe: (scene) =>
    scene.run.kind === "load"
      ? "Requests per second that the load wants."
      : "Requests per second, wanted and done, over time.",
  table,
  draw,
  isFiltered: true,
  side: (p, _box, scene) => {
    const { run, palette } = scene;
    const demanded = { text: "wanted", color: palette.demanded, dash: [5, 3] };
    if (run.kind === "load") return meanings(p, scene, [demanded]);
    const delivered = { text: "done", color: faded(palette.actual, 0.75), filled: true };
    const missing = { text: "not done then", color: faded(palette.demanded, 0.35), filled: true };
    const inB = scene.beside ? [{ text: "done in B", color: palette.text, dash: DASHED_B }] : [];
    return meanings(p, scene, [...(run.has_timetable ? [demanded, delivered, missing] : [delivered]), ...inB]);
  },
};

interface Rates {
  readonly demanded: Steps | undefined;
  readonly delivered: Steps | undefined;
}

function ids(what: string, view: View): string[] {
  const ops = [view.on.read ? "read" : "", view.on.write ? "write" : ""].filter((op) => op !== "");
  return ops.map((op) => `${what}.${op}.${view.rate}`);
}

function rates(data: RunData, run: PageRun, view: View, range: Range, pixels: number): Rates {
  const of = (what: string) => {
    const sums = added(data, run, ids(what, view), range, pixels);
    return sums && perSecond(sums, run.end_ns);
  };
  return {
    demanded: run.has_timetable || run.kind === "load" ? of("demanded") : undefined,
    delivered: run.kind === "load" ? undefined : of("delivered"),
  };
}

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const box = plotOf(p, 8);
  const range = scene.view.time;
  const { demanded, delivered } = rates(scene.data, scene.run, scene.view, range, box.w);
  const { beside } = scene;
  const inB = beside && rates(beside.data, beside.run, scene.view, range, box.w).delivered;
  const words = scene.view.rate === "bytes" ? plainByteRate : (n: number) => `${short(n)}/s`;
  const top = largest(...[demanded, delivered, inB].flatMap((s) => (s ? [s] : []))) * 1.06 || 1;
  const scale = new LinearScale(0, top, box.y + box.h, box.y);
  valueAxis(p, box, scene.palette, scale, words);
  p.clip(box, () => {
    stalls(p, box, scene, false);
    const points = (s: Steps) => outlineOf(s, box, range, (v) => scale.at(v));
    if (delivered) {
      p.area(below(points(delivered), box.y + box.h), faded(scene.palette.actual, 0.75));
      p.line(points(delivered), { color: scene.palette.actual, width: 1 });
    }
    if (demanded && delivered) hatchMissing(p, box, range, demanded, delivered, scale, scene.palette.demanded);
    if (demanded) p.line(points(demanded), { color: scene.palette.demanded, width: 2, dash: [5, 3] });
    if (inB) p.line(points(inB), { color: scene.palette.text, width: 1.5, dash: DASHED_B });
    collapseLine(p, box, scene, false);
  });
  timeAxis(p, box, scene.palette, range[0], range[1], "time");
  axisTitle(p, box, scene.palette, `${scene.view.rate} per second`);
  timeTitle(p, box, scene.palette, "time since the start");
  return { hover: hover(box, range, demanded, delivered, scene.view.rate) };
}

/** Boxes between demand and delivery, wherever a tenth of the demand is missing. */
function hatchMissing(
  p: Painter,
  box: Box,
  [from, to]: Range,
  demanded: Steps,
  delivered: Steps,
  scale: LinearScale,
  color: string,
): void {
  const x = (ns: number) => box.x + ((ns - from) / (to - from)) * box.w;
  let shape: { begin: number; above: Point[]; under: Point[] } | undefined;
  const finish = () => {
    if (shape) stripe(p, [...shape.above, ...shape.under.reverse()], box, color);
    shape = undefined;
  };
  demanded.values.forEach((wanted, i) => {
    const [a, b] = [demanded.from + i * demanded.wide, demanded.from + (i + 1) * demanded.wide];
    const got = valueAt(delivered, (a + b) / 2) ?? 0;
    if (wanted - got < wanted * 0.1) return finish();
    shape ??= { begin: a, above: [], under: [] };
    shape.above.push([x(a), scale.at(wanted)], [x(b), scale.at(wanted)]);
    shape.under.push([x(a), scale.at(got)], [x(b), scale.at(got)]);
  });
  finish();
}

/** Vertical hatching of a shape between two step lines: cheaper than stripes in each of a thousand boxes. */
function stripe(p: Painter, shape: readonly Point[], box: Box, color: string): void {
  const half = shape.length / 2;
  const tint = faded(color, 0.22);
  p.area(shape, tint);
  for (let i = 0; i + 1 < half; i += 2) {
    const [a, b] = [shape[i]!, shape[i + 1]!];
    const low = shape[shape.length - 1 - i]![1];
    for (let x = Math.ceil(a[0] / 6) * 6; x < Math.min(b[0], box.x + box.w); x += 6) {
      if (x >= box.x)
        p.line(
          [
            [x, a[1]],
            [x, low],
          ],
          { color: faded(color, 0.7), width: 1 },
        );
    }
  }
}

function hover(
  box: Box,
  [from, to]: Range,
  demanded: Steps | undefined,
  delivered: Steps | undefined,
  rate: View["rate"],
) {
  const told = (n: number) => (rate === "bytes" ? byteRate(n) : `${count(n)} requests/s`);
  return (x: number) => {
    const ns = from + ((x - box.x) / box.w) * (to - from);
    const wanted = demanded && valueAt(demanded, ns);
    const got = delivered && valueAt(delivered, ns);
    const parts = [moment(ns)];
    if (wanted !== undefined) parts.push(`wanted ${told(wanted)}`);
    if (got !== undefined) parts.push(`done ${told(got)}`);
    if (wanted && got !== undefined) parts.push(percent(got / wanted));
    return parts.join(" · ");
  };
}

/** Rows of tables over time. */
export const TABLE_ROWS = 24;

function table(scene: Scene): string[][] {
  const { demanded, delivered } = rates(scene.data, scene.run, scene.view, scene.view.time, TABLE_ROWS);
  const longest = demanded ?? delivered;
  if (!longest) return [["Not decoded yet"]];
  const told = (n: number | undefined) =>
    n === undefined ? "–" : scene.view.rate === "bytes" ? byteRate(n) : `${count(n)}/s`;
  const rows = [...longest.values].map((_, i) => {
    const at = longest.from + (i + 0.5) * longest.wide;
    return [
      moment(longest.from + i * longest.wide),
      told(demanded && valueAt(demanded, at)),
      told(delivered && valueAt(delivered, at)),
    ];
  });
  return [["From", "Wanted", "Done"], ...rows];
}
