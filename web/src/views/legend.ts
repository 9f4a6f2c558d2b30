/** What colours mean, with real numbers. */

import type { Shades } from "../render/density";
import type { Scene } from "../charts/scene";
import { shadesOf } from "../charts/density-picture";
import { gridOf } from "../charts/sonar";
import { count, short } from "../render/units";
import { FLUSH_CLASS } from "../format/classes";
import { Sheet } from "./sheet";

const STEPS = 24;

export class Legend {
  private readonly sheet = new Sheet({ class: "v-legend", role: "img", "data-role": "legend" });

  get root(): HTMLElement {
    return this.sheet.canvas;
  }

  update(scene: Scene): void {
    const grid = gridOf(scene);
    if (!grid) return;
    const hasFlushes = grid.totals[FLUSH_CLASS] > 0;
    this.sheet.resize(hasFlushes ? 410 : 340, 18, scene.ratio);
    const p = this.sheet.begin(scene.palette.background);
    const style = { size: 11, color: scene.palette.faint, baseline: "middle" } as const;
    if (scene.other) {
      p.text(0, 9, "orange: more in B · purple: more in A · grey: may be chance", style);
      this.root.setAttribute("aria-label", "Orange: more in B. Purple: more in A. Grey: the difference may be chance.");
      return;
    }
    const { most } = scene.ink(grid.id);
    const shades = shadesOf(scene, grid.id);
    let x = p.measure("1", style) + 4;
    p.text(0, 9, "1", style);
    const ramps: readonly [string, Mixer][] = [
      ["reads", (n) => [n, 0]],
      ["both", (n) => [n / 2, n / 2]],
      ["writes", (n) => [0, n]],
    ];
    ramps.forEach(([, mixer], i) => ramp(p, x, 2 + i * 5, shades, most, mixer));
    x += 74;
    const end = `${short(most)} in a cell`;
    p.text(x, 9, end, style);
    x += p.measure(end, style) + 12;
    for (const [text, color] of [
      ["reads", scene.palette.read],
      ["writes", scene.palette.write],
      ["deferred", scene.palette.readPushed],
      ...(hasFlushes ? [["flushes", scene.palette.flush] as const] : []),
    ] as const) {
      p.fill({ x, y: 5, w: 8, h: 8 }, color);
      p.text(x + 11, 9, text, style);
      x += 19 + p.measure(text, style);
    }
    this.root.setAttribute(
      "aria-label",
      `Strength: 1 to ${count(most)} requests in a cell. Blue: reads, red: writes, violet: both, dark: deferred, teal: flushes.`,
    );
  }
}

type Mixer = (n: number) => [number, number];

function ramp(
  p: { fill: (box: { x: number; y: number; w: number; h: number }, color: string) => void },
  x: number,
  y: number,
  shades: Shades,
  most: number,
  mixer: Mixer,
): void {
  for (let i = 0; i < STEPS; i++) {
    const [r, w] = mixer(Math.max(1, Math.round(most ** (i / (STEPS - 1)))));
    const color = shades.color(r, w, 0, 0);
    const hex = [color & 255, (color >> 8) & 255, (color >> 16) & 255]
      .map((c) => c.toString(16).padStart(2, "0"))
      .join("");
    p.fill({ x: x + i * 3, y, w: 3, h: 5 }, `#${hex}`);
  }
}
