/** What is marked over the panels: the place of the pointer, a box, a picked request. */

import { timeOf } from "../charts/ordinate";
import type { Scene } from "../charts/scene";
import { yScale } from "../charts/sonar";
import { type PointRef, xOf } from "../model/point-store";
import type { Range } from "../model/view";
import type { Box, Point } from "../render/painter";
import { pixelOf, sharesAxis } from "./panel-axis";
import type { VisiblePanel } from "./panels";
import type { Over, TimePanel } from "./time-panel";

/** Whoever marks something says so by `mark`, that it is drawn. */
export class MarkLayer {
  pointer: { readonly panel: TimePanel; readonly x: number; readonly y: number } | undefined;
  /** The box that is being zoomed to, from corner to corner. */
  box: { readonly panel: TimePanel; readonly from: Point; readonly to: Point } | undefined;
  /** The picked request and the index of its run. */
  picked: { readonly request: PointRef; readonly run: number } | undefined;

  constructor(private readonly onChange: () => void) {}

  mark(change: Partial<Pick<MarkLayer, "pointer" | "box" | "picked">>): void {
    Object.assign(this, change);
    this.onChange();
  }
}

/** The marks in the pixels of one panel. */
export function overOf({ panel, index }: VisiblePanel, scene: Scene, { pointer, box, picked }: MarkLayer): Over {
  const { isOverview, isSonar } = panel;
  const { view } = scene;
  const { brush, brushY } = view;
  const x = pixelOf(panel, scene);
  const isBrushed = brush && (isSonar || isOverview || view.base !== "number");
  const isUnder = pointer?.panel === panel && !isOverview;
  return {
    x: pointer && (isUnder || sharesAxis(pointer.panel, panel, view)) ? pointer.x : undefined,
    y: isUnder ? pointer.y : undefined,
    brush: isBrushed ? [x(brush[0]), x(brush[1])] : undefined,
    brushY: isBrushed && isSonar && brushY && panel.drawn?.mode !== "bars" ? pixelsOf(brushY, panel, scene) : undefined,
    box: box?.panel === panel ? boxOf(box.from, box.to) : undefined,
    picked: isSonar && picked?.run === index ? placeOf(panel, picked.request, scene) : undefined,
  };
}

/** Where a request lies, if it is in sight. */
function placeOf(panel: TimePanel, { points, i }: PointRef, scene: Scene): Point | undefined {
  const { box, drawn } = panel;
  if (drawn?.placeOf) return drawn.placeOf({ points, i });
  const x = pixelOf(panel, scene)(xOf(points, i, scene.view.base));
  const y = yScale(scene, box).yOf(timeOf(scene)(points, i));
  const isInside = x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h;
  return isInside ? [x, y] : undefined;
}

/** Upper and lower pixel of some durations. */
function pixelsOf([from, to]: Range, panel: TimePanel, scene: Scene): [top: number, bottom: number] {
  const { yOf } = yScale(scene, panel.box);
  return [yOf(to), yOf(from)];
}

function boxOf(a: Point, b: Point): Box {
  return { x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]), w: Math.abs(a[0] - b[0]), h: Math.abs(a[1] - b[1]) };
}
