/** Which share of the requests lies in each band, over time: a cache that warms up moves requests from a slow band to a fast. */

import type { PageBand, PageRun } from "../format/page";
import { type Operation, OPS } from "../format/classes";
import { timeAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { faded } from "../render/palette";
import { moment, percent } from "../render/units";
import { sign } from "./marks";
import { axisTitle, type Drawn, meanings, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";

/** Strength of the slowest band; the fastest has full colour. */
const SLOWEST = 0.25;

export const BAND_SHARES: TimeChart = {
  id: "band-shares",
  title: "Share of each band",
  height: 124,
  has: (run) => OPS.some((op) => bandsOf(run, op).length > 0),
  describe: () => "Share of the requests in each band of latency, over time.",
  table,
  draw,
  side: (p, _box, scene) =>
    meanings(
      p,
      scene,
      lanes(scene).flatMap(({ op, bands }) =>
        bands.map((band, i) => ({ text: `${op} ${band.label}`, color: color(scene, op, i, bands.length), filled: true })),
      ),
    ),
};

interface Lane {
  readonly op: Operation;
  /** From fast to slow. */
  readonly bands: readonly PageBand[];
}

/** The only band of an operation has everything always. */
function bandsOf(run: PageRun, op: string): PageBand[] {
  const bands = run.bands.filter((band) => band.op === op);
  return bands.length > 1 ? bands : [];
}

function lanes({ run, view }: Scene): Lane[] {
  return OPS.flatMap((op) => {
    const bands = bandsOf(run, op);
    return view.on[op] && bands.length > 0 ? [{ op, bands }] : [];
  });
}

function color(scene: Scene, op: Operation, rank: number, n: number): string {
  return faded(scene.palette[op], 1 - ((1 - SLOWEST) * rank) / (n - 1));
}

/** Begin of a part of the time: all bands share them. */
function partBegin({ range, share_over_time }: PageBand, part: number): number {
  return range.from_ns + ((range.to_ns - range.from_ns) * part) / share_over_time.length;
}

function shareAt(band: PageBand, ns: number): string {
  const { from_ns, to_ns } = band.range;
  const share = band.share_over_time[Math.floor(((ns - from_ns) / (to_ns - from_ns)) * band.share_over_time.length)];
  return share == null ? "–" : percent(share);
}

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const box = plotOf(p, 8);
  const [from, to] = scene.view.time;
  const found = lanes(scene);
  const height = (box.h - (found.length - 1) * 4) / Math.max(found.length, 1);
  const x = (ns: number) => box.x + ((ns - from) / (to - from)) * box.w;
  found.forEach(({ op, bands }, lane) => {
    const top = box.y + lane * (height + 4);
    p.clip({ ...box, y: top, h: height }, () => {
      const first = bands[0]!;
      first.share_over_time.forEach((_, part) => {
        const [a, b] = [x(partBegin(first, part)), x(partBegin(first, part + 1))];
        if (b < box.x || a > box.x + box.w) return;
        // The fastest lies below.
        let bottom = top + height;
        bands.forEach((band, i) => {
          const h = (band.share_over_time[part] ?? 0) * height;
          p.fill({ x: a, y: bottom - h, w: b - a, h }, color(scene, op, i, bands.length));
          bottom -= h;
        });
      });
    });
    sign(p, box, box.x + 6, top + 9, `${op}s`, scene.palette[op], scene.palette);
  });
  timeAxis(p, box, scene.palette, from, to, "time");
  axisTitle(p, box, scene.palette, "share of requests");
  timeTitle(p, box, scene.palette, "time since the start of the run");
  return { hover: (px) => hoverWords(found, from + ((px - box.x) / box.w) * (to - from)) };
}

function hoverWords(found: readonly Lane[], ns: number): string {
  const shares = found.flatMap(({ op, bands }) =>
    bands.map((band) => `${op} ${band.label.split(" ")[0]} ${shareAt(band, ns)}`),
  );
  return [moment(ns), ...shares].join(" · ");
}

function table(scene: Scene): string[][] {
  const bands = lanes(scene).flatMap((lane) => lane.bands);
  const first = bands[0];
  if (!first) return [["No band is in sight"]];
  const rows = first.share_over_time.map((_, part) => [
    moment(partBegin(first, part)),
    ...bands.map((band) => shareAt(band, partBegin(first, part + 0.5))),
  ]);
  return [["From", ...bands.map((band) => `${band.op} ${band.label}`)], ...rows];
}
