/** A panel over time: its elements, its canvases, and what lies under the pointer. */

import type { Drawn, Scene, TimeChart } from "../charts/scene";
import { drawFrame, overviewPlot } from "../charts/overview";
import { BESIDE, meaningsBelow, plotOf } from "../charts/scene";
import { SONAR_ABOVE } from "../charts/sonar";
import { stamp, stampsOf } from "../charts/stamp";
import { TIME_AXIS } from "../charts/time-axis";
import type { Hover } from "../charts/chart";
import { NOT_FILTERED } from "../charts/filter";
import { figureCell } from "../charts/figures";
import { markNotes } from "../charts/note-marks";
import type { Box, Painter } from "../render/painter";
import { faded } from "../render/palette";
import { count } from "../render/units";
import { el, setText } from "./dom";
import { Sheet } from "./sheet";
import { fillTable, mark } from "./table";

/** What is drawn over a panel: nothing of it needs the counts. */
export interface Over {
  /** Pixel of the crosshair, in all panels. */
  readonly x?: number | undefined;
  /** Only in the panel under the pointer. */
  readonly y?: number | undefined;
  /** Pixels between which is brushed. */
  readonly brush?: readonly [number, number] | undefined;
  /** Upper and lower pixel of the brushed durations; absent: all. */
  readonly brushY?: readonly [number, number] | undefined;
  /** The box that is being zoomed to. */
  readonly box?: Box | undefined;
  /** Where the picked request lies. */
  readonly picked?: readonly [number, number] | undefined;
}

export class TimePanel {
  readonly root: HTMLElement;
  readonly head: HTMLElement;
  readonly plot: HTMLElement;
  drawn: Drawn | undefined;
  /** When it was last seen to be right. */
  drawnAt = 0;
  isInSight = true;
  private readonly title: HTMLElement;
  private readonly sheet: Sheet;
  private readonly over = new Sheet({ class: "v-over", "aria-hidden": "true" });
  private readonly side: Sheet | undefined;
  private readonly readout = el("span", { class: "v-read", "data-role": "readout" });
  private readonly note = el("span", { class: "v-note", "data-role": "note" });
  private readonly failed = el("span", { class: "v-failed", "data-role": "failed" });
  private readonly details = el("details", { "data-role": "table" }, el("summary", {}, "table"));
  private sideHover: Hover | undefined;
  private key = "";
  private overKey = "";

  constructor(
    readonly id: string,
    readonly chart: TimeChart,
  ) {
    this.sheet = new Sheet({ role: "img", "data-role": "plot", tabindex: "0" });
    this.side = chart.side
      ? new Sheet({ role: "img", "data-role": "marginal", "aria-label": "Distribution of what is in sight" })
      : undefined;
    this.title = el("h3", {}, chart.title);
    this.head = el("div", { class: "v-head" }, this.title, this.failed, this.note, this.readout);
    this.plot = el("div", { class: "v-plot" }, this.sheet.canvas, this.over.canvas);
    const side = el("div", { class: "v-side" }, ...(this.side ? [this.side.canvas] : []));
    const row = el("div", { class: "v-row" }, this.plot, side);
    const strip = this.isSonar ? "" : " v-strip";
    this.root = el("section", { class: `v-panel${strip}`, "data-panel": id, "aria-label": chart.title });
    if (!this.isBare) this.root.append(this.head);
    this.root.append(row);
    if (!this.isBare) this.root.append(this.details);
    // The last entry is how it is now.
    new IntersectionObserver((entries) => (this.isInSight = entries.at(-1)!.isIntersecting)).observe(this.root);
    this.side?.canvas.addEventListener("pointermove", (e) => this.read(this.sideHover?.(e.offsetX, e.offsetY)));
    this.side?.canvas.addEventListener("pointerleave", () => this.read(undefined));
  }

  get isSonar(): boolean {
    return this.chart.id === "sonar";
  }

  /** It shows everything. */
  get isOverview(): boolean {
    return this.chart.id === "overview";
  }

  /** It has no head and no table. */
  private get isBare(): boolean {
    return this.isOverview || this.chart === TIME_AXIS;
  }

  get canvas(): HTMLCanvasElement {
    return this.sheet.canvas;
  }

  get size(): { readonly width: number; readonly height: number } {
    return this.sheet;
  }

  /** The part of the canvas that is time. */
  get box(): Box {
    if (this.isOverview) return overviewPlot(this.sheet);
    return plotOf(this.sheet, this.isSonar ? SONAR_ABOVE : 8);
  }

  /** `key` tells all that the picture depends on: the same again is not drawn again. Returns whether it was drawn. */
  render(scene: Scene, title: string, height: number, key: string): boolean {
    const wanted = `${key} ${this.plot.clientWidth} ${height} ${scene.ratio}`;
    this.drawnAt = performance.now();
    if (wanted === this.key) return false;
    this.key = wanted;
    setText(this.title, title);
    if (this.chart.marksFailed) this.tellFailed(scene);
    const { palette, ratio } = scene;
    if (!this.sheet.resize(this.plot.clientWidth, height, ratio)) return false;
    const painter = this.sheet.begin(palette.background);
    this.drawn = this.paint(painter, scene);
    setText(this.note, [this.drawn.note, this.isUnfiltered(scene) ? NOT_FILTERED : undefined].filter(Boolean).join("; "));
    if (!this.canvas.hasAttribute("aria-label")) this.canvas.setAttribute("aria-label", this.chart.describe(scene));
    const side = this.side;
    const wide = side?.canvas.parentElement?.clientWidth ?? 0;
    const high = wide > BESIDE && !/sonar|delay/.test(this.chart.id) ? meaningsBelow(this.chart.names, wide) : height;
    if (side?.resize(wide, high, ratio)) {
      const p = side.begin(palette.background);
      this.sideHover = this.chart.side!(p, { x: 0, y: 0, w: p.width, h: p.height }, scene);
    }
    return true;
  }

  /** Counters of the machine are of no requests. */
  private isUnfiltered({ view }: Scene): boolean {
    return view.only !== undefined && !this.chart.isFiltered && !this.chart.id.startsWith("machine-");
  }

  /** The legend of the marks, with the number of the whole run. */
  private tellFailed(scene: Scene): void {
    const failed = figureCell(scene.run, scene.index, "counts.all.failed", count);
    const isThere = typeof failed !== "string" && failed.value > 0;
    if (!isThere || this.failed.childElementCount > 0) return;
    const number = el("span", {}, failed.text);
    mark(number, failed);
    this.failed.append("✕ ", number, " failed");
  }

  /** The same picture on any painter, to be saved. */
  paint(p: Painter, scene: Scene): Drawn {
    const drawn = this.chart.draw(p, { x: 0, y: 0, w: p.width, h: p.height }, scene);
    if (this.chart !== TIME_AXIS && !(this.isSonar && scene.view.base === "number")) this.markNotes(p, scene);
    const runs = [scene.run, scene.other?.run, scene.beside?.run];
    if (this.chart !== TIME_AXIS) stamp(p, this.box, stampsOf(runs), scene.palette);
    return drawn;
  }

  private markNotes(p: Painter, scene: Scene): void {
    const { view, bounds } = scene;
    const shown = this.isOverview ? { ...scene, view: { ...view, time: bounds.time } } : scene;
    p.clip(this.box, () => markNotes(p, this.box, shown));
  }

  /** Words and numbers for whoever does not see the picture; not in each frame. */
  tell(scene: Scene): void {
    this.canvas.setAttribute("aria-label", this.chart.describe(scene));
    if (this.details.open) fillTable(this.details, this.chart.table(scene));
  }

  onOpen(use: () => void): void {
    this.details.addEventListener("toggle", () => this.details.open && use());
  }

  renderOver(scene: Scene, over: Over): void {
    const { width, height } = this.sheet;
    const frame = this.isOverview ? scene.view : undefined;
    const wanted = JSON.stringify([over, frame, width, height, scene.ratio, scene.palette.dark]);
    if (wanted === this.overKey) return;
    this.overKey = wanted;
    // Even an empty canvas costs each frame something.
    this.over.canvas.hidden = frame === undefined && Object.values(over).every((mark) => mark === undefined);
    if (!this.over.resize(width, height, scene.ratio)) return;
    const p = this.over.begin();
    const { palette } = scene;
    const box = this.box;
    if (this.isOverview) drawFrame(p, scene);
    if (over.brush) {
      const [a, b] = over.brush;
      const [left, right] = [Math.max(a, box.x), Math.min(b, box.x + box.w)];
      const [high, low] = over.brushY ?? [box.y, box.y + box.h];
      const [top, bottom] = [Math.max(high, box.y), Math.min(low, box.y + box.h)];
      if (right > left && bottom > top) {
        p.fill({ x: left, y: top, w: right - left, h: bottom - top }, faded(palette.demanded, 0.18));
        const edge = { color: palette.demanded, width: 1.5 };
        for (const x of [left, right]) p.line([[x, top], [x, bottom]], edge);
        if (over.brushY) for (const y of [top, bottom]) p.line([[left, y], [right, y]], edge);
      }
    }
    if (over.box) {
      const { x, y, w, h } = over.box;
      p.line(
        [
          [x, y],
          [x + w, y],
          [x + w, y + h],
          [x, y + h],
          [x, y],
        ],
        { color: palette.text, width: 1.5, dash: [4, 3] },
      );
    }
    if (over.x !== undefined && over.x >= box.x && over.x <= box.x + box.w) {
      p.line(
        [
          [over.x, box.y],
          [over.x, box.y + box.h],
        ],
        { color: faded(palette.text, 0.5), width: 1 },
      );
      if (over.y !== undefined)
        p.line(
          [
            [box.x, over.y],
            [box.x + box.w, over.y],
          ],
          { color: faded(palette.text, 0.35), width: 1 },
        );
    }
    if (over.picked) ring(p, over.picked, palette.text, palette.background);
  }

  /** Puts something beside the title. */
  addToHead(element: HTMLElement): void {
    this.title.after(element);
  }

  /** What lies under the pointer, in words. */
  read(words: string | undefined): void {
    setText(this.readout, words ?? "");
  }
}

/** A ring around the picked request, readable on any ground. */
function ring(p: Painter, [x, y]: readonly [number, number], color: string, ground: string): void {
  const circle = Array.from(
    { length: 25 },
    (_, i) => [x + 9 * Math.cos((i / 12) * Math.PI), y + 9 * Math.sin((i / 12) * Math.PI)] as const,
  );
  p.line(circle, { color: ground, width: 5 });
  p.line(circle, { color, width: 2 });
}
