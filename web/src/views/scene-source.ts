/** What charts draw from: the report, the view, and the colours of the theme or of paper. */

import type { ChartContext } from "../charts/chart";
import { type Filtered, filtered } from "../charts/filter";
import type { Scene } from "../charts/scene";
import { FilteredRun } from "../model/filtered-run";
import { DARK, LIGHT, type Palette } from "../render/palette";
import type { Report } from "./report";
import { deviceRatio } from "./sheet";
import type { ViewState } from "./view-state";

export class SceneSource {
  isPrinting = false;
  private readonly darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

  constructor(
    private readonly report: Report,
    private readonly viewState: ViewState,
  ) {}

  onSystemTheme(use: () => void): void {
    this.darkQuery.addEventListener("change", use);
  }

  get palette(): Palette {
    if (this.isPrinting) return LIGHT;
    const theme = this.viewState.view.theme ?? (this.darkQuery.matches ? "dark" : "light");
    return theme === "dark" ? DARK : LIGHT;
  }

  get ratio(): number {
    return this.isPrinting ? 2 : deviceRatio();
  }

  /** The page around the panels follows. */
  applyTheme(): void {
    document.documentElement.dataset["theme"] = this.palette.dark ? "dark" : "light";
  }

  /** For panels over time: one run, 0 is A, with the requests that the filter leaves. */
  of(index: number): Scene {
    const scene = this.whole(index);
    const data = this.left(index);
    const { other, beside } = scene;
    const b = other || beside ? this.left(1) : undefined;
    return {
      ...scene,
      ...(data && { data, run: data.run }),
      ...(other && b && { other: b }),
      ...(beside && b && { beside: { run: b.run, data: b } }),
    };
  }

  /** What the filter leaves of a run; undefined without a filter, and where there is none of it. */
  private left(index: number): FilteredRun | undefined {
    const found = this.filter(index);
    return found instanceof FilteredRun ? found : undefined;
  }

  /** The filtered run; undefined without a filter. */
  filter(index: number): Filtered | undefined {
    const { only } = this.viewState.view;
    return only && filtered(this.whole(index), only);
  }

  /** With all requests. */
  whole(index: number): Scene {
    const { report, palette, ratio } = this;
    const { view, bounds, home } = this.viewState;
    const data = report.runs[index]!;
    const second = report.runs[1];
    return {
      meta: report.meta,
      index,
      run: data.run,
      data,
      other: view.shown === "difference" ? second : undefined,
      beside: second && index === 0 && view.shown !== "A" ? { run: second.run, data: second } : undefined,
      view,
      bounds,
      durations: home.y,
      rows: report.rows,
      palette,
      ratio,
      ink: (grid) => report.ink(grid, view.transfer),
    };
  }

  /** For small panels; those that can show a part of the requests get what the filter leaves. */
  context(isFiltered = false): ChartContext {
    const { report, palette } = this;
    const runs = report.runs.map((run, i) => (isFiltered ? this.left(i) : undefined) ?? run);
    return {
      meta: isFiltered ? { ...report.meta, runs: runs.map(({ run }) => run) } : report.meta,
      palette,
      showB: this.viewState.view.shown !== "A",
      relation: (run, id) => runs[run]?.relation(id),
    };
  }
}
