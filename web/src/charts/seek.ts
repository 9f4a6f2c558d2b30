/** Where requests begin, over the time for which they are wanted. */

import { placeAt, sizeOf } from "../model/places";
import { addRange } from "../model/pyramid";
import { timeInQuestion } from "../model/view";
import { slotBins } from "../render/density";
import { timeAxis, valueAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { faded } from "../render/palette";
import { bytes, count, moment, plainBytes } from "../render/units";
import type { Hover } from "./chart";
import { ByteScale } from "./byte-scale";
import { columnsIn, fill, shadesOf, show } from "./density-picture";
import { columnsOf, isOn } from "./histogram";
import { sign, stalls } from "./marks";
import { fewPoints, stampAll } from "./sonar";
import { axisTitle, BELOW, BESIDE, type Drawn, LEFT, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";

export const SEEK_GRID = "seek";
const ABOVE = 8;

export const SEEK: TimeChart = {
  id: "seek",
  title: "Places",
  height: 234,
  has: (run) => run.seek !== null && run.seek.rows > 0,
  describe: (scene) => `Places of requests over time, from 0 to ${bytes(height(scene))}.`,
  table,
  draw,
  isFiltered: true,
  side,
};

function height(scene: Scene): number {
  const seek = scene.run.seek!;
  return seek.rows * seek.row_bytes;
}

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const box = plotOf(p, ABOVE);
  const seek = scene.run.seek!;
  const range = scene.view.time;
  const scale = new ByteScale(height(scene), box.y + box.h, box.y);
  valueAxis(p, box, scene.palette, scale, plainBytes);
  const grid = scene.data.grid(SEEK_GRID);
  let lit = 0;
  const few = scene.data.points.hasPlaces ? fewPoints(scene, SEEK_GRID, range) : undefined;
  if (few) {
    lit = stampAll(p, box, scene, few, "due", range, (points, i) => scale.at(points.place[i]! * points.unit)).lit;
  } else if (grid) {
    const pixels = Math.round(box.h * scene.ratio);
    const columns = columnsIn(box, range, seek.width, seek.columns, scene.ratio);
    const slots = slotBins(pixels, scene.rows.slots, (y) => 1 + (1 - y / pixels) * seek.rows, true);
    const shades = shadesOf(scene, SEEK_GRID);
    fill(grid, columns, slots, scene);
    lit = show(p, box, columns, slots, shades);
  }
  p.clip(box, () => stalls(p, box, scene, false));
  names(p, box, scene, scale);
  for (const size of seek.device_bytes) {
    const y = scale.at(size);
    if (y < box.y || y > box.y + box.h) continue;
    p.line(
      [
        [box.x, y],
        [box.x + box.w, y],
      ],
      { color: scene.palette.axis, width: 1, dash: [6, 3] },
    );
    sign(
      p,
      box,
      box.x + 6,
      y - 9 < box.y ? y + 10 : y - 9,
      `end of device, ${bytes(size)}`,
      scene.palette.faint,
      scene.palette,
    );
  }
  timeAxis(p, box, scene.palette, range[0], range[1], "time");
  axisTitle(p, box, scene.palette, "offset on the target");
  timeTitle(p, box, scene.palette, "due time since the start");
  const hover: Hover = (x, y) => {
    const ns = range[0] + ((x - box.x) / box.w) * (range[1] - range[0]);
    const at = Math.max(0, scale.invert(y));
    const named = placeAt(scene.run, at);
    return `${moment(ns)} · at ${bytes(at)}${named ? ` · ${named.name}` : ""}`;
  };
  return { hover, lit };
}

/** Pixels that a name needs. */
const NAME_HEIGHT = 15;

/** Names of parts, the longest first, wherever there is room; ends of parts as hairlines. */
function names(p: Painter, box: Box, scene: Scene, scale: ByteScale): void {
  const taken: number[] = [];
  const inside = (y: number) => Math.min(Math.max(y, box.y), box.y + box.h);
  const color = scene.palette.text;
  for (const place of [...scene.run.seek!.places].sort((a, b) => sizeOf(b) - sizeOf(a))) {
    const [top, bottom] = [inside(scale.at(place.to_bytes)), inside(scale.at(place.from_bytes))];
    const middle = (top + bottom) / 2;
    const isFree = taken.every((y) => Math.abs(y - middle) >= NAME_HEIGHT);
    if (bottom - top < 2 || !isFree) continue;
    taken.push(middle);
    p.fill({ x: box.x, y: top, w: 4, h: bottom - top - 1 }, faded(color, 0.5));
    for (const y of [top, bottom]) p.fill({ x: box.x, y, w: box.w, h: 1 }, faded(color, 0.2));
    sign(p, box, box.x + 10, middle, place.name, color, scene.palette);
  }
}

/** Requests by row of places over what is in sight: reads, writes. */
function byPlace(scene: Scene): [Float64Array, Float64Array] {
  const seek = scene.run.seek!;
  const found: [Float64Array, Float64Array] = [new Float64Array(scene.rows.slots), new Float64Array(scene.rows.slots)];
  scene.data.grid(SEEK_GRID)?.forEach((p, cls) => {
    const [begin, end] = columnsOf(seek.width, seek.columns, timeInQuestion(scene.view));
    if (p && isOn(cls, scene.view.on)) addRange(p, begin, end, found[cls & 1]!);
  });
  return found;
}

function side(p: Painter, _box: Box, scene: Scene): Hover {
  // On narrow screens it stands below the map and needs an axis of its own.
  const left = p.width > BESIDE ? LEFT : 4;
  const box: Box = { x: left, y: ABOVE, w: Math.max(10, p.width - left - 4), h: Math.max(10, p.height - ABOVE - BELOW) };
  const seek = scene.run.seek!;
  if (left === LEFT) valueAxis(p, box, scene.palette, new ByteScale(height(scene), box.y + box.h, box.y), plainBytes);
  const [reads, writes] = byPlace(scene);
  const group = Math.max(1, Math.ceil(seek.rows / box.h));
  const grouped = (counts: Float64Array, begin: number) =>
    counts.subarray(begin + 1, Math.min(begin + group, seek.rows) + 1).reduce((a, n) => a + n, 0);
  let most = 1;
  for (let row = 0; row < seek.rows; row += group) most = Math.max(most, grouped(reads, row), grouped(writes, row));
  const unit = box.h / seek.rows;
  p.line(
    [
      [box.x, box.y],
      [box.x, box.y + box.h],
    ],
    { color: scene.palette.axis, width: 1 },
  );
  for (let row = 0; row < seek.rows; row += group) {
    const y = box.y + box.h - (row + group) * unit;
    const bar = (n: number, color: string) => {
      if (n > 0)
        p.fill({ x: box.x + 1, y, w: Math.max(1, (n / most) * (box.w - 6)), h: group * unit }, faded(color, 0.5));
    };
    bar(grouped(reads, row), scene.palette.read);
    bar(grouped(writes, row), scene.palette.write);
  }
  p.text(box.x + 2, box.y + box.h + 6, `most: ${count(most)}`, {
    size: 11,
    color: scene.palette.faint,
    baseline: "top",
  });
  return (_x, y) => {
    const row = Math.floor((box.y + box.h - y) / unit);
    if (row < 0 || row >= seek.rows) return undefined;
    return `${bytes(row * seek.row_bytes)} and up: ${count(reads[row + 1]!)} reads, ${count(writes[row + 1]!)} writes`;
  };
}

/** Parts of the space that the table tells apart. */
const PARTS = 16;

function table(scene: Scene): string[][] {
  const seek = scene.run.seek!;
  const [reads, writes] = byPlace(scene);
  const step = Math.max(1, Math.ceil(seek.rows / PARTS));
  const rows: string[][] = [];
  for (let row = 0; row < seek.rows; row += step) {
    const sum = (counts: Float64Array) =>
      count(counts.subarray(row + 1, Math.min(row + step, seek.rows) + 1).reduce((a, n) => a + n, 0));
    rows.push([bytes(row * seek.row_bytes), sum(reads), sum(writes)]);
  }
  return [["From", "Reads", "Writes"], ...rows];
}
