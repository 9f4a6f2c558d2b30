/** Draws once a frame what changed; words and tables follow at leisure. */

import { notesHeight } from "../charts/note-marks";
import type { Scene } from "../charts/scene";
import { brushOf, type View, withOnly } from "../model/view";
import { writeAddress } from "./address";
import type { Bar } from "./bar";
import { BrushResult } from "./brush-result";
import type { FilterChips } from "./filter-chips";
import { Legend } from "./legend";
import { type MarkLayer, overOf } from "./mark-layer";
import type { NoteList } from "./note-list";
import type { NoticeBoard } from "./notice-board";
import type { Panels, VisiblePanel } from "./panels";
import type { Report } from "./report";
import type { SceneSource } from "./scene-source";
import type { SmallPanel } from "./small-panels";
import type { TimePanel } from "./time-panel";
import type { ViewState } from "./view-state";

const FRAMES_KEPT = 240;
/** After so long nothing further is begun in a frame. */
const FRAME_BUDGET_MS = 7;
/** Words wait until the view has been still for so long. */
const TELL_PAUSE_MS = 200;

export class Drawing {
  /** Milliseconds of the last frames. */
  readonly frames: number[] = [];
  readonly legend = new Legend();
  readonly brush = new BrushResult(
    () => this.viewState.change({ brush: undefined, brushY: undefined }),
    (only) => this.viewState.show(withOnly(this.viewState.view, only), false),
  );
  private isReady = false;
  private isDirty = true;
  private isOverDirty = true;
  private areSmallDirty = true;
  private smallLeft: SmallPanel[] = [];
  private pending = 0;
  private dataVersion = 0;
  private told: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly report: Report,
    private readonly viewState: ViewState,
    private readonly scenes: SceneSource,
    private readonly panels: Panels,
    private readonly marks: MarkLayer,
    private readonly bar: Bar,
    private readonly notices: NoticeBoard,
    private readonly chips: FilterChips,
    private readonly notes: NoteList,
    private readonly fail: (error: unknown) => void,
  ) {}

  // ---- what changed ----

  /** Before, there is nothing to draw. */
  begin(): void {
    this.isReady = true;
    this.themeChanged();
  }

  themeChanged(): void {
    this.scenes.applyTheme();
    this.allChanged();
  }

  dataChanged(): void {
    this.dataVersion++;
    this.allChanged();
  }

  allChanged(): void {
    this.areSmallDirty = true;
    this.changed();
  }

  viewChanged(before: View): void {
    const { theme, shown, on, only } = this.viewState.view;
    if (theme !== before.theme) this.scenes.applyTheme();
    // Small panels follow nothing else.
    if (theme !== before.theme || shown !== before.shown || on !== before.on || only !== before.only) this.areSmallDirty = true;
    this.changed();
  }

  marksChanged(): void {
    this.isOverDirty = true;
    this.request();
  }

  private changed(): void {
    this.isDirty = true;
    this.request();
  }

  get isDone(): boolean {
    return !this.isDirty && !this.areSmallDirty && !this.isOverDirty && this.smallLeft.length === 0;
  }

  // ---- frames ----

  private request(): void {
    if (!this.pending && this.isReady) this.pending = requestAnimationFrame(() => this.frame());
  }

  private frame(): void {
    this.pending = 0;
    const begin = performance.now();
    try {
      if (this.isDirty) this.drawAll();
      if (this.isOverDirty) this.drawOver();
      if (this.areSmallDirty) this.drawSmall();
      do this.drawNextSmall();
      while (this.smallLeft.length > 0 && performance.now() - begin < FRAME_BUDGET_MS);
    } catch (error) {
      // A broken panel must not take the others along in each frame.
      this.isDirty = this.isOverDirty = this.areSmallDirty = false;
      if (this.smallLeft.length > 0) this.request();
      this.fail(error);
    }
    if (this.frames.length === 0) performance.mark("sonar");
    this.frames.push(performance.now() - begin);
    if (this.frames.length > FRAMES_KEPT) this.frames.shift();
  }

  /** Everything, without waiting for a frame: paper does not wait. */
  drawNow(): void {
    this.drawAll();
    this.drawOver();
    this.drawSmall();
    while (this.smallLeft.length > 0) this.drawNextSmall();
    this.tell();
  }

  // ---- pictures ----

  private drawAll(): void {
    this.isDirty = false;
    this.isOverDirty = true;
    this.panels.shareAxis();
    this.drawPanels();
    const { palette } = this.scenes;
    this.bar.update(this.viewState.view, { read: palette.read, write: palette.write, pushed: palette.readPushed, flush: palette.flush });
    this.notices.tellDamage(this.report.skipped);
    const { only = [], notes = [] } = this.viewState.view;
    const index = this.panels.sonars()[0]?.index ?? 0;
    this.chips.update(only, this.scenes.filter(index), this.report.runs[index]?.points.detail.requests ?? 0);
    this.notes.update(notes);
    this.tellBrush(false);
    clearTimeout(this.told);
    this.told = setTimeout(() => {
      this.told = undefined;
      this.tell();
    }, TELL_PAUSE_MS);
  }

  /** Whether the address, the words and the tables say what is drawn. */
  get isTold(): boolean {
    return !this.isDirty && this.told === undefined;
  }

  /**
   * The sonar in each frame in which it is seen, what else is in sight while there is time, those first that have waited longest; what is out of
   * sight when nothing in sight moves any more.
   */
  private drawPanels(): void {
    const begin = performance.now();
    const rank = (panel: TimePanel) => (!panel.isInSight ? 2 : panel.isSonar ? 0 : 1);
    const visible = this.panels
      .visible()
      .sort((a, b) => rank(a.panel) - rank(b.panel) || a.panel.drawnAt - b.panel.drawnAt);
    let isMoving = false;
    for (const one of visible) {
      const { panel } = one;
      const mayWait = !this.scenes.isPrinting && rank(panel) > 0;
      const isLate = performance.now() - begin > FRAME_BUDGET_MS || (isMoving && !panel.isInSight);
      if (mayWait && isLate) return this.changed();
      if (this.drawPanel(one) && panel.isInSight) isMoving = true;
    }
  }

  /** Returns whether it had to be drawn. One that is broken does not take the others along. */
  private drawPanel(one: VisiblePanel): boolean {
    const { panels, scenes } = this;
    const height = panels.heightOf(one.panel, scenes.isPrinting) + (one.panel.id === "time-axis" ? notesHeight(scenes.whole(one.index)) : 0);
    try {
      const wasDrawn = one.panel.render(this.sceneOf(one), panels.titleOf(one), height, this.keyOf(one));
      if (wasDrawn) panels.updateToggle(one.panel);
      return wasDrawn;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  private sceneOf({ panel, index }: VisiblePanel): Scene {
    return panel.chart.isFiltered ? this.scenes.of(index) : this.scenes.whole(index);
  }

  /** What a panel's picture depends on. */
  private keyOf({ panel, index }: VisiblePanel): string {
    const { on, base, ordinate, transfer, shown, rate, time, number, y, yLinear, dots, bars, brush, only, notes } = this.viewState.view;
    const always = [index, this.dataVersion, this.scenes.palette.dark, on, transfer, only, notes];
    if (panel.isOverview) return JSON.stringify([always, base, ordinate]);
    if (panel.isSonar) return JSON.stringify([always, base, ordinate, shown, time, number, y, yLinear, dots, bars, brush]);
    return JSON.stringify([always, base === "number", rate, time, brush, shown, dots]);
  }

  private drawSmall(): void {
    this.areSmallDirty = false;
    this.smallLeft = [...this.panels.small];
    this.drawLegend();
  }

  /** One small chart a frame, more where there is time: none of them holds up the panels that move. */
  private drawNextSmall(): void {
    const panel = this.smallLeft.shift();
    panel?.render(this.scenes.context(panel.chart.isFiltered), this.scenes.ratio);
    panel?.tellFilter(this.viewState.view.only !== undefined);
    if (this.smallLeft.length > 0) this.request();
  }

  private drawLegend(): void {
    if (this.panels.sonars().length > 0) this.legend.update(this.scenes.of(0));
  }

  private drawOver(): void {
    this.isOverDirty = false;
    for (const one of this.panels.visible()) {
      const scene = this.scenes.of(one.index);
      one.panel.renderOver(scene, overOf(one, scene, this.marks));
    }
  }

  // ---- words ----

  /** What follows the view at leisure: words and tables. */
  tell(): void {
    const { scenes, panels, viewState } = this;
    if (!viewState.held && !scenes.isPrinting) writeAddress(viewState.hash);
    for (const one of panels.visible()) one.panel.tell(this.sceneOf(one));
    for (const panel of panels.small) panel.tell(scenes.context(panel.chart.isFiltered));
    this.drawLegend();
    this.tellBrush(true);
  }

  private tellBrush(isFinal: boolean): void {
    const scenes = this.panels.sonars().map(({ index }): Scene => ({ ...this.scenes.of(index), other: undefined }));
    // While a drag lasts, nothing is final: the panels must not move under the hand.
    this.brush.update(scenes, brushOf(this.viewState.view), isFinal && !this.viewState.held);
  }
}
