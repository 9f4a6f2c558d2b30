/** The hand on a panel over time: pointing, dragging and the wheel become views. */

import { yScale } from "../charts/sonar";
import type { PageBase } from "../format/page";
import { panX, panY, type Range, type View, withX, withY, xBounds, xRange, zoomX, zoomY } from "../model/view";
import type { Point } from "../render/painter";
import { type DragKind, listen } from "./gestures";
import type { MarkLayer } from "./mark-layer";
import { valueAt } from "./panel-axis";
import type { SceneSource } from "./scene-source";
import type { TimePanel } from "./time-panel";
import type { ViewState } from "./view-state";

/** A new step of the history begins after a pause of the wheel. */
const WHEEL_PAUSE_MS = 600;
/** A box that is lower leaves the durations as they are. */
const LEAST_BOX_HEIGHT = 8;
/** A brush that is lower, or flatter than this part of its width, marks all durations: a hand moves a little up and down. */
const LEAST_BRUSH_HEIGHT = 20;
const FLATTEST_BRUSH = 0.1;

export class Hand {
  /** The panel that was last pointed at or has the focus. */
  active: TimePanel | undefined;
  private lastWheel = -Infinity;
  private overviewDrag: "move" | "draw" = "draw";

  constructor(
    private readonly viewState: ViewState,
    private readonly scenes: SceneSource,
    private readonly marks: MarkLayer,
    /** Where the strips are while the sonar is over numbers. */
    private readonly timeBase: PageBase,
    private readonly click: (panel: TimePanel, x: number, y: number) => void,
  ) {}

  listenTo(panel: TimePanel): void {
    panel.canvas.addEventListener("focus", () => (this.active = panel));
    listen(panel.plot, {
      hover: (x, y) => this.hover(panel, x, y),
      leave: () => this.leave(panel),
      click: (x, y) => this.click(panel, x, y),
      doubleClick: () => this.viewState.back(),
      begin: (kind, x) => this.beginDrag(panel, kind, x),
      drag: (kind, from, to) => this.drag(panel, kind, from, to),
      end: (kind, from, to) => this.endDrag(panel, kind, from, to),
      cancel: () => this.cancelDrag(),
      zoom: (axis, x, y, factor) => this.zoom(panel, axis, x, y, factor),
    });
  }

  // ---- pointing ----

  private hover(panel: TimePanel, x: number, y: number): void {
    this.active = panel;
    panel.read(panel.drawn?.hover(x, y) ?? undefined);
    this.marks.mark({ pointer: { panel, x, y } });
  }

  private leave(panel: TimePanel): void {
    const { pointer } = this.marks;
    panel.read(undefined);
    this.marks.mark({ pointer: pointer?.panel === panel ? undefined : pointer });
  }

  /** The value under the pointer, else the middle. */
  get pointerX(): number {
    const { pointer } = this.marks;
    const [from, to] = xRange(this.viewState.view);
    return pointer && !pointer.panel.isOverview ? this.valueAt(pointer.panel, pointer.x) : (from + to) / 2;
  }

  private valueAt(panel: TimePanel, x: number): number {
    return valueAt(panel, x, this.viewState);
  }

  private rangeBetween(panel: TimePanel, from: Point, to: Point): Range {
    return [this.valueAt(panel, Math.min(from[0], to[0])), this.valueAt(panel, Math.max(from[0], to[0]))];
  }

  /** A strip over time must not move the numbers of the sonar. */
  private isStripBesideNumbers(panel: TimePanel): boolean {
    return this.viewState.view.base === "number" && !panel.isSonar && !panel.isOverview;
  }

  // ---- wheel ----

  private zoom(panel: TimePanel, axis: "x" | "y", x: number, y: number, factor: number): void {
    const now = performance.now();
    const isNew = now - this.lastWheel > WHEEL_PAUSE_MS;
    this.lastWheel = now;
    this.viewState.show(axis === "y" ? this.zoomedY(panel, y, factor) : this.zoomedX(panel, x, factor), isNew);
  }

  private zoomedX(panel: TimePanel, x: number, factor: number): View {
    const { view, bounds } = this.viewState;
    const at = this.valueAt(panel, x);
    if (!this.isStripBesideNumbers(panel)) return zoomX(view, bounds, at, factor);
    return { ...view, time: zoomX({ ...view, base: this.timeBase }, bounds, at, factor).time };
  }

  private zoomedY(panel: TimePanel, y: number, factor: number): View {
    const { view, bounds } = this.viewState;
    const at = panel.isSonar ? yScale(this.scenes.of(0), panel.box).invert(y) : Math.sqrt(view.y[0] * view.y[1]);
    return zoomY(view, bounds, at, factor);
  }

  // ---- drags ----

  private beginDrag(panel: TimePanel, kind: DragKind, x: number): void {
    const { viewState } = this;
    viewState.hold();
    if (kind === "pan" && panel.isOverview) {
      const at = this.valueAt(panel, x);
      const [from, to] = xRange(viewState.view);
      const [a, b] = xBounds(viewState.view, viewState.bounds);
      // Outside of the frame, or where the frame is everything, a new one is drawn.
      this.overviewDrag = at >= from && at <= to && !(from <= a && to >= b) ? "move" : "draw";
    }
  }

  private drag(panel: TimePanel, kind: DragKind, from: Point, to: Point): void {
    const { view, held } = this.viewState;
    if (!held) return;
    if (kind === "box") return this.marks.mark({ box: { panel, from, to } });
    this.viewState.show(
      kind === "brush"
        ? { ...view, brush: this.rangeBetween(panel, from, to), brushY: this.brushedDurations(panel, from, to) }
        : panel.isOverview
          ? this.framed(panel, held, from, to)
          : this.panned(panel, held, from, to),
      false,
    );
  }

  /** The durations of a rectangle in the sonar; absent where a part of the time is brushed. */
  private brushedDurations(panel: TimePanel, from: Point, to: Point): Range | undefined {
    const [width, height] = [Math.abs(from[0] - to[0]), Math.abs(from[1] - to[1])];
    // Bars have no durations upward.
    if (!panel.isSonar || panel.drawn?.mode === "bars" || height < Math.max(LEAST_BRUSH_HEIGHT, width * FLATTEST_BRUSH)) return undefined;
    return this.durationsBetween(panel, from, to);
  }

  private durationsBetween(panel: TimePanel, from: Point, to: Point): Range {
    const { box } = panel;
    const { invert } = yScale(this.scenes.of(0), box);
    const inside = (y: number) => Math.min(Math.max(y, box.y), box.y + box.h);
    return [invert(inside(Math.max(from[1], to[1]))), invert(inside(Math.min(from[1], to[1])))];
  }

  /** The frame in the overview, moved or drawn anew. */
  private framed(panel: TimePanel, held: View, from: Point, to: Point): View {
    const [a, b] = [this.valueAt(panel, from[0]), this.valueAt(panel, to[0])];
    const [begin, end] = xRange(held);
    const range: Range =
      this.overviewDrag === "draw" ? [Math.min(a, b), Math.max(a, b)] : [begin + b - a, end + b - a];
    return withX(held, range, this.viewState.bounds);
  }

  private panned(panel: TimePanel, held: View, from: Point, to: Point): View {
    const { bounds, home } = this.viewState;
    const { box } = panel;
    const share = (from[0] - to[0]) / box.w;
    if (this.isStripBesideNumbers(panel))
      return { ...held, time: panX({ ...held, base: this.timeBase }, bounds, share).time };
    const view = panX(held, bounds, share);
    const isWhole = held.y[0] <= home.y[0] && held.y[1] >= home.y[1];
    return panel.isSonar && !isWhole && !held.yLinear ? panY(view, bounds, (to[1] - from[1]) / box.h) : view;
  }

  private endDrag(panel: TimePanel, kind: DragKind, from: Point, to: Point): void {
    this.viewState.release();
    this.marks.mark({ box: undefined });
    if (kind === "box") this.zoomToBox(panel, from, to);
  }

  private cancelDrag(): void {
    this.viewState.cancel();
    this.marks.mark({ box: undefined });
  }

  private zoomToBox(panel: TimePanel, from: Point, to: Point): void {
    const { view, bounds } = this.viewState;
    let zoomed = withX(view, this.rangeBetween(panel, from, to), bounds);
    if (panel.isSonar && Math.abs(from[1] - to[1]) > LEAST_BOX_HEIGHT)
      zoomed = withY(zoomed, this.durationsBetween(panel, from, to), bounds);
    this.viewState.show(zoomed);
  }
}
