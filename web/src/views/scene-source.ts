/** What charts draw from: the report, the view, and the colours of the theme or of paper. */

import type { ChartContext } from "../charts/chart";
import type { Scene } from "../charts/scene";
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

  /** For panels over time: one run, 0 is A. */
  of(index: number): Scene {
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

  /** For small panels. */
  get context(): ChartContext {
    const { report, palette } = this;
    return {
      meta: report.meta,
      palette,
      showB: this.viewState.view.shown !== "A",
      relation: (run, id) => report.runs[run]?.relation(id),
    };
  }
}
