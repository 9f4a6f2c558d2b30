/** How much is touched again and again: bytes of pages used within windows of different lengths. */

import { timeAxis, valueAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { bytes, moment, plainBytes } from "../render/units";
import { LogByteScale } from "./byte-scale";
import { collapseLine } from "./marks";
import { axisTitle, type Drawn, meanings, plotOf, type Scene, type TimeChart, timeTitle } from "./scene";
import { largest, most, outlineOf, type Steps, stepsOf, valueAt } from "./steps";
import { TABLE_ROWS } from "./throughput";

const PAGE = 4096;
const PREFIX = "working-set.";

interface Line {
  /** Seconds, infinite for the whole time before. */
  readonly window: number;
  readonly steps: Steps;
}

export const WORKING_SET: TimeChart = {
  id: "working-set",
  title: "Working set: bytes touched within a window of time",
  height: 184,
  has: (run) => run.series.some((s) => s.id.startsWith(PREFIX)),
  describe: (scene) => {
    const all = lines(scene, 1000).at(-1);
    return `Bytes touched within windows of time${all ? `; at most ${bytes(largest(all.steps))} ${windowWords(all.window)}` : ""}.`;
  },
  table,
  draw,
  side: (p, _box, scene) => {
    const found = lines(scene, 1);
    const told = found.map((line, i) => ({
      text: windowWords(line.window),
      color: scene.palette.text,
      ...strokeOf(i, found.length),
    }));
    return meanings(p, scene, told.reverse());
  },
};

function lines(scene: Scene, pixels: number): Line[] {
  const found = scene.run.series.flatMap(({ id }): Line[] => {
    if (!id.startsWith(PREFIX)) return [];
    const name = id.slice(PREFIX.length);
    const steps = stepsOf(scene.data, scene.run, id, scene.view.time, pixels, most);
    return steps
      ? [
          {
            window: name === "all" ? Infinity : Number(name),
            steps: { ...steps, values: steps.values.map((n) => n * PAGE) },
          },
        ]
      : [];
  });
  return found.sort((a, b) => a.window - b.window);
}

function windowWords(seconds: number): string {
  return seconds === Infinity ? "since the begin" : `in the last ${seconds} s`;
}

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const box = plotOf(p, 8);
  const found = lines(scene, box.w);
  const top = largest(...found.map((l) => l.steps)) * 1.4 || PAGE * 2;
  const low = found.flatMap((l) => [...l.steps.values]).reduce((a, n) => (n > 0 && n < a ? n : a), top / 2);
  const scale = new LogByteScale(Math.max(low / 1.3, PAGE / 2), top, box.y + box.h, box.y);
  valueAxis(p, box, scene.palette, scale, plainBytes);
  p.clip(box, () => {
    found.forEach((line, i) => {
      const points = outlineOf(line.steps, box, scene.view.time, (n) => scale.at(Math.max(n, scale.from)));
      p.line(points, { color: scene.palette.text, ...strokeOf(i, found.length) });
    });
    collapseLine(p, box, scene, false);
  });
  timeAxis(p, box, scene.palette, scene.view.time[0], scene.view.time[1], "time");
  axisTitle(p, box, scene.palette, "bytes touched, log");
  timeTitle(p, box, scene.palette, "time since the start");
  const [from, to] = scene.view.time;
  return {
    hover: (x) => {
      const ns = from + ((x - box.x) / box.w) * (to - from);
      return [moment(ns), ...found.map((l) => `${windowWords(l.window)} ${bytes(valueAt(l.steps, ns) ?? 0)}`)].join(
        " · ",
      );
    },
  };
}

/** Shorter windows have shorter dashes. */
function strokeOf(i: number, n: number): { width: number; dash?: readonly number[] } {
  return i === n - 1 ? { width: 2 } : { width: 1.3, dash: [1 + i * 3, 2 + i] };
}

function table(scene: Scene): string[][] {
  const found = lines(scene, TABLE_ROWS);
  const first = found[0];
  if (!first) return [["Not decoded yet"]];
  const rows = [...first.steps.values].map((_, i) => {
    const at = first.steps.from + (i + 0.5) * first.steps.wide;
    return [moment(first.steps.from + i * first.steps.wide), ...found.map((l) => bytes(valueAt(l.steps, at) ?? 0))];
  });
  return [["From", ...found.map((l) => windowWords(l.window))], ...rows];
}
