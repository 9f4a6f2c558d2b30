/** The x axis of a panel: pixels and what they stand for. */

import { type Bounds, type Range, type View, xBounds, xRange } from "../model/view";
import type { TimePanel } from "./time-panel";

/** What is shown of what there is. */
interface Shown {
  readonly view: View;
  readonly bounds: Bounds;
}

/** The overview shows everything; the sonar may be over numbers while the strips stay over time. */
export function rangeOf(panel: TimePanel, { view, bounds }: Shown): Range {
  if (panel.isOverview) return xBounds(view, bounds);
  return panel.isSonar ? xRange(view) : view.time;
}

export function sharesAxis(a: TimePanel, b: TimePanel, view: View): boolean {
  if (a.isOverview || b.isOverview) return false;
  return view.base !== "number" || a.isSonar === b.isSonar;
}

/** The value at a pixel; beside the plot that of its edge. */
export function valueAt(panel: TimePanel, x: number, shown: Shown): number {
  const [from, to] = rangeOf(panel, shown);
  const { box } = panel;
  return from + ((Math.min(Math.max(x, box.x), box.x + box.w) - box.x) / box.w) * (to - from);
}

/** The pixel of a value, which may lie beside the plot. */
export function pixelOf(panel: TimePanel, shown: Shown): (value: number) => number {
  const [from, to] = rangeOf(panel, shown);
  const { box } = panel;
  return (value) => box.x + ((value - from) / (to - from)) * box.w;
}
