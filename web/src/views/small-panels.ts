/** The charts below the strips, which need no zoom. */

import type { ChartContext, Hover, SmallChart } from "../charts/chart";
import { NOT_FILTERED } from "../charts/filter";
import { SMALL_CHARTS } from "../charts/small";
import { stamp, stampsOf } from "../charts/stamp";
import type { PageMeta } from "../format/page";
import type { Painter } from "../render/painter";
import { el, setText } from "./dom";
import { Sheet } from "./sheet";
import { fillTable } from "./table";

export class SmallPanel {
  readonly root: HTMLElement;
  private readonly sheet = new Sheet({ role: "img", "data-role": "plot", tabindex: "0" });
  private readonly place: HTMLElement;
  private readonly readout = el("span", { class: "v-read", "data-role": "readout" });
  private readonly note = el("span", { class: "v-note", "data-role": "note" });
  private readonly details = el("details", { "data-role": "table" }, el("summary", {}, "table"));
  private hover: Hover | undefined;

  constructor(readonly chart: SmallChart) {
    this.place = el("div", { class: "v-side-less" }, this.sheet.canvas);
    const head = el("div", { class: "v-head" }, el("h3", {}, chart.title), this.note, this.readout);
    this.root = el(
      "section",
      { class: "v-panel", "data-panel": chart.id, "aria-label": chart.title },
      head,
      this.place,
      this.details,
    );
    this.sheet.canvas.addEventListener("pointermove", (e) =>
      setText(this.readout, this.hover?.(e.offsetX, e.offsetY) ?? ""),
    );
    this.sheet.canvas.addEventListener("pointerleave", () => setText(this.readout, ""));
  }

  get canvas(): HTMLCanvasElement {
    return this.sheet.canvas;
  }

  get size(): { readonly width: number; readonly height: number } {
    return this.sheet;
  }

  render(context: ChartContext, ratio: number): void {
    if (!this.sheet.resize(this.place.clientWidth, this.chart.height, ratio)) return;
    const p = this.sheet.begin(context.palette.background);
    this.hover = this.paint(p, context);
    this.canvas.setAttribute("aria-label", this.chart.describe(context));
    this.tell(context);
  }

  paint(p: Painter, context: ChartContext): Hover {
    const box = { x: 0, y: 0, w: p.width, h: p.height };
    const hover = this.chart.draw(p, box, context);
    stamp(p, box, stampsOf(context.meta.runs), context.palette);
    return hover;
  }

  /** What it cannot show. */
  tellFilter(hasFilter: boolean): void {
    setText(this.note, hasFilter && !this.chart.isFiltered ? NOT_FILTERED : "");
  }

  tell(context: ChartContext): void {
    if (this.details.open) fillTable(this.details, this.chart.table(context));
  }

  onOpen(use: () => void): void {
    this.details.addEventListener("toggle", () => this.details.open && use());
  }
}

export function smallPanels(meta: PageMeta): SmallPanel[] {
  return SMALL_CHARTS.filter((chart) => chart.has(meta)).map((chart) => new SmallPanel(chart));
}
