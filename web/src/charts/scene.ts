/** What charts over time draw: one run, one view, one theme. */

import type { PageMeta, PageRun } from "../format/page";
import type { RunData } from "../model/run-data";
import type { Rows } from "../model/rows";
import type { Bounds, Range, View } from "../model/view";
import type { InkScale } from "../render/density";
import type { PointRef } from "../model/point-store";
import type { Box, Color, Painter, Point } from "../render/painter";
import type { Palette } from "../render/palette";
import type { Hover } from "./chart";
import type { Cell } from "./figures";

export interface Scene {
  readonly meta: PageMeta;
  /** 0 is A. */
  readonly index: number;
  readonly run: PageRun;
  readonly data: RunData;
  /** B, where the difference to A is shown. */
  readonly other?: RunData | undefined;
  /** B, where strips of A show it, too, dashed. */
  readonly beside?: Pick<Scene, "run" | "data"> | undefined;
  readonly view: View;
  readonly bounds: Bounds;
  /** Durations of all requests. */
  readonly durations: Range;
  readonly rows: Rows;
  readonly palette: Palette;
  /** Device pixels for each CSS pixel. */
  readonly ratio: number;
  /** Strength of colours for a grid, fixed over the report. */
  readonly ink: (grid: string) => InkScale;
}

/** What was drawn, for whoever asks. */
export interface Drawn {
  readonly hover: Hover;
  /** Requests in the picture. */
  readonly requests?: number;
  readonly lit?: number;
  readonly mode?: "density" | "counted" | "dots" | "bars";
  readonly level?: number;
  /** Failed requests in sight, where they have marks. */
  readonly failed?: number;
  /** A sentence about what cannot be shown. */
  readonly note?: string | undefined;
  /** Where requests do not lie at their durations: which one is at a pixel, and where one lies. */
  readonly requestAt?: (x: number, y: number) => PointRef | undefined;
  readonly placeOf?: (request: PointRef) => Point | undefined;
}

/** A chart whose x axis is the one that all panels share. */
export interface TimeChart {
  readonly id: string;
  readonly title: string;
  /** CSS pixels. */
  readonly height: number;
  readonly has: (run: PageRun) => boolean;
  readonly describe: (scene: Scene) => string;
  readonly table: (scene: Scene) => readonly (readonly Cell[])[];
  readonly draw: (p: Painter, box: Box, scene: Scene) => Drawn;
  /** Whether it can show a part of the requests. */
  readonly isFiltered?: boolean;
  /** Whether failed requests have marks in it, which a legend explains. */
  readonly marksFailed?: boolean;
  /** How many lines and areas have their names beside it, where two lines of words may not be what they need. */
  readonly names?: number;
  /** What stands beside it and shares its y axis. */
  readonly side?: (p: Painter, box: Box, scene: Scene) => Hover;
}

/** What a line or an area means. */
export interface Meaning {
  readonly text: string;
  readonly color: Color;
  /** A filled square instead of a line. */
  readonly filled?: boolean;
  readonly dash?: readonly number[];
  readonly width?: number;
}

/** Beside a strip: what its lines and areas mean. */
export function meanings(p: Painter, scene: Scene, all: readonly Meaning[]): Hover {
  const isBelow = p.width > BESIDE;
  let [left, y] = [isBelow ? LEFT : 12, isBelow ? 10 : 18];
  all.forEach(({ text, color, filled, dash, width }) => {
    const needed = 28 + p.measure(text, { size: 12, color: scene.palette.text });
    if (isBelow && left > LEFT && left + needed > p.width) [left, y] = [LEFT, y + 18];
    if (filled === true) p.fill({ x: left, y: y - 5, w: 20, h: 10 }, color);
    else
      p.line(
        [
          [left, y],
          [left + 20, y],
        ],
        { color, width: width ?? 2, ...(dash ? { dash } : {}) },
      );
    p.text(left + 28, y, text, { size: 12, color: scene.palette.text, baseline: "middle" });
    if (isBelow) left += needed + 16;
    else y += 18;
  });
  return () => undefined;
}

/** Lines of B over those of A. */
export const DASHED_B = [2, 3];

/** What is wider stands below a plot, not beside it. */
export const BESIDE = 300;
/** Height of the words about lines and areas, where they stand below a plot of such a width. */
export function meaningsBelow(names: number | undefined, width: number): number {
  const inLine = Math.max(1, Math.floor((width - LEFT) / 130));
  return 4 + 18 * (names === undefined ? 2 : Math.ceil(names / inLine));
}

/** Left of every plot over time: room for labels. */
export const LEFT = 74;
export const RIGHT = 24;
/** Below: ticks, their labels and the title. */
export const BELOW = 40;

/** Names the y axis, at the left edge of the panel. */
export function axisTitle(p: Painter, box: Box, palette: Palette, text: string): void {
  p.text(8, box.y + box.h / 2, text, { size: 11, color: palette.faint, align: "middle", baseline: "middle", rotate: -90 });
}

/** Names the x axis, below its labels. */
export function timeTitle(p: Painter, box: Box, palette: Palette, text: string): void {
  const style = { size: 11, color: palette.faint, baseline: "top" } as const;
  // In a narrow panel it may be wider than the plot.
  const width = p.measure(text, style);
  const left = Math.max(0, Math.min(box.x + (box.w - width) / 2, p.width - width));
  p.text(left, box.y + box.h + BELOW - 14, text, style);
}

/** The plot inside a panel with `above` pixels for what stands over it. */
export function plotOf(p: { width: number; height: number }, above: number): Box {
  return { x: LEFT, y: above, w: Math.max(10, p.width - LEFT - RIGHT), h: Math.max(10, p.height - above - BELOW) };
}
