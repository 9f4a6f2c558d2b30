/** The viewer: holds the view, draws what changed once a frame, and turns gestures and keys into views. */

import type { ChartContext } from "../charts/chart";
import { BAND_SHARES } from "../charts/band-shares";
import { DELAY } from "../charts/delay";
import { IN_FLIGHT } from "../charts/in-flight";
import { OVERVIEW } from "../charts/overview";
import type { Scene, TimeChart } from "../charts/scene";
import { SEEK } from "../charts/seek";
import { SONAR, whereWords, yScale } from "../charts/sonar";
import { drawMarginal } from "../charts/marginal";
import { THROUGHPUT } from "../charts/throughput";
import { WORKING_SET } from "../charts/working-set";
import { SideCar } from "../format/side-car";
import { fromHash, toHash } from "../model/hash";
import { placesLike } from "../model/places";
import { latencyNs, type PointRef, xOf } from "../model/point-store";
import {
  type Bounds,
  History,
  panX,
  panY,
  type Range,
  samePlace,
  type View,
  withX,
  withY,
  xBounds,
  xRange,
  zoomX,
  zoomY,
} from "../model/view";
import { DARK, LIGHT, type Palette } from "../render/palette";
import { bytes, count, moment } from "../render/units";
import type { Workshop } from "../work/workshop";
import { Bar } from "./bar";
import { BrushResult } from "./brush-result";
import { el, setText } from "./dom";
import { Findings } from "./findings";
import { type DragKind, listen } from "./gestures";
import { openHelp } from "./help";
import { listenToKeys } from "./keys";
import { Legend } from "./legend";
import { nearestRequest, PickCard } from "./pick";
import { Report } from "./report";
import { savePng, saveSvg } from "./save";
import { deviceRatio } from "./sheet";
import { type SmallPanel, smallPanels } from "./small-panels";
import { type Over, TimePanel } from "./time-panel";

const STRIPS: readonly TimeChart[] = [BAND_SHARES, THROUGHPUT, DELAY, IN_FLIGHT, SEEK, WORKING_SET];
/** Of a load nothing but the demand is known. */
const LOAD_STRIPS: readonly TimeChart[] = [SEEK, WORKING_SET, THROUGHPUT];
/** A new step of the history begins after a pause of the wheel. */
const WHEEL_PAUSE_MS = 600;
const FRAMES_KEPT = 240;
/** 180 mm on paper. */
const PRINT_WIDTH = 680;
const PRINTED_ROWS = 40;
/** After so long nothing further is begun in a frame. */
const FRAME_BUDGET_MS = 7;

export class App {
  readonly report: Report;
  readonly frames: number[] = [];
  errors = 0;
  private bounds: Bounds;
  private home: View;
  private view: View;
  private readonly history = new History();
  private readonly panels: { readonly panel: TimePanel; readonly run: (view: View) => number | undefined }[] = [];
  private readonly small: SmallPanel[];
  private readonly bar: Bar;
  private readonly findings: Findings;
  private readonly brush = new BrushResult(() => this.change({ brush: undefined }));
  private readonly legend = new Legend();
  private readonly card = new PickCard(() => this.unpick());
  private readonly damage = el("p", { class: "v-alert", role: "alert", "data-role": "damage", hidden: "" });
  private readonly live = el("p", { class: "v-hidden", role: "status", "aria-live": "polite" });
  private readonly status = el("div", { class: "v-status", "data-role": "status" });
  private readonly darkQuery = window.matchMedia("(prefers-color-scheme: dark)");
  private isReady = false;
  private isPrinting = false;
  private pending = 0;
  private smallLeft: SmallPanel[] = [];
  private dataVersion = 0;
  private isDirty = true;
  private areSmallDirty = true;
  private isOverDirty = true;
  private told: ReturnType<typeof setTimeout> | undefined;
  private lastWheel = 0;
  private settling: Promise<void> | undefined;
  private before: View | undefined;
  private dragBox: { panel: TimePanel; from: readonly [number, number]; to: readonly [number, number] } | undefined;
  private pointer: { panel: TimePanel; x: number; y: number } | undefined;
  private picked: { readonly request: PointRef; readonly run: number } | undefined;
  private active: TimePanel | undefined;

  constructor(
    private readonly root: HTMLElement,
    meta: Report["meta"],
    private readonly workshop: Workshop,
  ) {
    this.report = new Report(meta, document, workshop, () => this.dataChanged());
    this.bounds = this.report.bounds();
    this.home = this.report.home();
    this.view = this.home;
    this.bar = this.makeBar();
    this.small = smallPanels(meta);
    this.findings = new Findings(meta.runs[0]?.findings ?? [], this.bounds.time, (range, text) =>
      this.goToRange(range, text),
    );
    this.layOut();
    this.listen();
  }

  /** Decodes what the first view needs; then everything is drawn. */
  async start(): Promise<void> {
    const { report } = this;
    const main = report.mainGrid;
    await Promise.all(report.runs.map((run) => run.loadGrid(main)));
    this.home = report.home();
    this.view = fromHash(location.hash, this.home, this.bounds);
    this.isReady = true;
    this.applyTheme();
    this.invalidate();
    await Promise.all(report.runs.flatMap((run) => [run.loadSeries(), run.loadRelations()]));
    const pairs = report.meta.pairs;
    if (pairs) await report.runs[0]?.loadRelation(pairs.density.id, pairs.density.edges.length);
    this.areSmallDirty = true;
    this.invalidate();
    await this.settled();
    this.restorePick();
  }

  /** When nothing is being decoded and everything is drawn; all who wait, wait together. */
  settled(): Promise<void> {
    return (this.settling ??= this.settle());
  }

  private async settle(): Promise<void> {
    do {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      await this.workshop.idle();
      // Whoever waited for the worker goes on first.
      await new Promise((resolve) => setTimeout(resolve));
    } while (
      this.isDirty ||
      this.areSmallDirty ||
      this.isOverDirty ||
      this.smallLeft.length > 0 ||
      this.workshop.isBusy
    );
    this.settling = undefined;
  }

  get current(): View {
    return this.view;
  }

  get sonars(): TimePanel[] {
    return this.visible().flatMap(({ panel }) => (panel.chart.id === "sonar" ? [panel] : []));
  }

  get panelIds(): string[] {
    return [...this.panels.map(({ panel }) => panel.id), ...this.small.map((s) => s.chart.id)];
  }

  // ---- view ----

  /** Shows another view; with `step` one can go back to the present one. */
  show(view: View, step = true): void {
    if (step && !samePlace(view, this.view)) this.history.leave(this.view);
    const themed = view.theme !== this.view.theme;
    const sided = view.shown !== this.view.shown || view.on !== this.view.on;
    this.view = view;
    if (themed) this.applyTheme();
    if (themed || sided) this.areSmallDirty = true;
    this.invalidate();
  }

  change(change: Partial<View>): void {
    this.show(
      { ...this.view, ...change, ...(change.base && change.base !== this.view.base ? { brush: undefined } : {}) },
      change.base !== undefined,
    );
  }

  apply(hash: string): void {
    this.show(fromHash(hash, this.home, this.bounds));
    this.restorePick();
  }

  /** The request that the view tells of, whose facts may have to be read first. */
  private restorePick(): void {
    const { picked, pickedIn } = this.view;
    if (picked !== undefined) void this.pickNumber(picked, false, pickedIn ?? 0);
    else if (this.picked) this.unpick();
  }

  private step(view: View | undefined): void {
    if (view) this.show(view, false);
  }

  private goToRange(range: Range, text: string): void {
    this.show(withX(this.overTime, range, this.bounds));
    setText(this.status, "");
    setText(this.live, text);
    this.reveal();
  }

  /** The view, over time. */
  private get overTime(): View {
    return this.view.base === "number" ? { ...this.view, base: this.report.firstBase, brush: undefined } : this.view;
  }

  private goTo(text: string): void {
    // Thin blanks too: numbers are copied from this page.
    const told = text.replace(/\s/g, "");
    const { isLoad, runs } = this.report;
    const number = /^#(\d+)$/.exec(told);
    if (number && isLoad) return this.say("a load has no single requests");
    if (number) return void this.pickNumber(Number(number[1]), true, this.view.shown === "B" && runs.length > 1 ? 1 : 0);
    const seconds = told
      .replace(/s$/, "")
      .split(":")
      .reduce((sum, part) => sum * 60 + Number(part || NaN), 0);
    if (!Number.isFinite(seconds)) return this.goToPlace(text);
    const end = this.bounds.time[1];
    if (seconds * 1e9 > end) {
      const request = !isLoad && /^\d+$/.test(told) ? `; #${told} is request ${told}` : "";
      return this.say(`the ${isLoad ? "load" : "run"} ends at ${moment(end)}${request}`);
    }
    this.centre(seconds * 1e9, this.overTime);
  }

  private goToPlace(text: string): void {
    const found = this.report.runs.flatMap(({ run }) => placesLike(run, text));
    const first = found[0];
    const panel = this.visible().find(({ panel }) => panel.chart === SEEK)?.panel;
    if (!first || !panel) return this.say(`“${text}” is neither a time nor a request, nor a name of a place`);
    const others = found.length > 1 ? `; ${count(found.length - 1)} more like it` : "";
    this.scrollTo(panel.root);
    this.say(`${first.name}: ${bytes(first.from_bytes)} to ${bytes(first.to_bytes)}${others}`);
  }

  private centre(at: number, view: View): void {
    const [from, to] = xRange(view);
    const [a, b] = xBounds(view, this.bounds);
    const half = Math.min(to - from, (b - a) / 20) / 2;
    this.show(withX(view, [at - half, at + half], this.bounds));
    setText(this.status, "");
    this.reveal();
  }

  private say(text: string): void {
    setText(this.live, text);
    setText(this.status, text);
  }

  // ---- layout ----

  private makeBar(): Bar {
    const { meta, bases } = this.report;
    const mayGoDeeper = meta.runs.some((run) => run.detail.embedded < run.detail.requests);
    return new Bar(meta.title, this.view, bases, meta.runs.length, mayGoDeeper, {
      change: (change) => this.change(change),
      toggleTheme: () => this.toggleTheme(),
      goTo: (text) => this.goTo(text),
      back: () => this.step(this.history.back(this.view)),
      forward: () => this.step(this.history.forward(this.view)),
      home: () => this.goHome(),
      help: openHelp,
      savePng: () => this.save("png"),
      saveSvg: () => this.save("svg"),
      openSideCar: (file) => void this.openSideCar(file),
    });
  }

  private layOut(): void {
    const runs = this.report.meta.runs;
    const first = runs[0];
    if (!first) return;
    const single = (view: View) => (view.shown === "B" && runs.length > 1 ? 1 : 0);
    this.add(OVERVIEW, "overview", single);
    if (runs.length === 1) this.add(withMarginal(SONAR), "sonar", () => 0);
    else {
      this.add(withMarginal(SONAR), "sonar", (view) => (view.shown === "B" ? undefined : 0));
      this.add(withMarginal(SONAR), "sonar-b", (view) => (view.shown === "both" || view.shown === "B" ? 1 : undefined));
    }
    for (const chart of this.report.isLoad ? LOAD_STRIPS : STRIPS) this.add(chart, chart.id, single);
    const grid = el("div", { class: "v-grid" }, ...this.small.map((s) => s.root));
    this.root.append(
      this.bar.root,
      this.damage,
      this.live,
      ...this.panels.map(({ panel }) => panel.root),
      this.brush.root,
      this.card.root,
      grid,
    );
    const sonar = this.panels.find(({ panel }) => panel.chart.id === "sonar");
    sonar?.panel.head.insertBefore(this.legend.root, sonar.panel.head.children[1] ?? null);
    // In the bar it is seen wherever one has scrolled to.
    this.bar.root.append(this.status);
    this.addRateToggle();
  }

  private add(chart: TimeChart, id: string, run: (view: View) => number | undefined): void {
    if (!this.report.meta.runs.some((r) => chart.has(r))) return;
    const panel = new TimePanel(id, chart, true);
    panel.onOpen(() => this.tell());
    this.panels.push({ panel, run });
    this.listenTo(panel);
  }

  private addRateToggle(): void {
    const found = this.panels.find(({ panel }) => panel.chart === THROUGHPUT);
    if (!found) return;
    const toggle = el(
      "button",
      { type: "button", "data-role": "rate", title: "requests or bytes per second" },
      "requests/s ↔ bytes/s",
    );
    toggle.addEventListener("click", () => this.change({ rate: this.view.rate === "bytes" ? "requests" : "bytes" }));
    found.panel.head.insertBefore(toggle, found.panel.head.children[1] ?? null);
  }

  private visible(): { panel: TimePanel; index: number }[] {
    return this.panels.flatMap(({ panel, run }) => {
      const index = run(this.view);
      const data = index === undefined ? undefined : this.report.runs[index];
      const isThere = index !== undefined && data !== undefined && panel.chart.has(data.run);
      panel.root.hidden = !isThere;
      return isThere ? [{ panel, index }] : [];
    });
  }

  private titleOf(chart: TimeChart, index: number): string {
    const { isLoad, meta } = this.report;
    const { runs } = meta;
    if (isLoad && chart === THROUGHPUT) return "Throughput, demanded";
    if (runs.length < 2) return chart.title;
    if (chart.id === "sonar" && this.view.shown === "difference") return `${chart.title}: B against A`;
    const isWithB = index === 0 && this.view.shown !== "A" && /^(throughput|delay|in-flight)$/.test(chart.id);
    return `${index === 0 ? "A" : "B"} · ${chart.title}${isWithB ? " (B: dashed)" : ""}`;
  }

  private heightOf(chart: TimeChart): number {
    if (chart.id !== "sonar") return chart.height;
    const both = this.report.meta.runs.length > 1 && this.view.shown === "both";
    if (this.isPrinting) return both ? 260 : 380;
    return Math.round(Math.min(Math.max(window.innerHeight * (both ? 0.36 : 0.5), 260), 560));
  }

  // ---- drawing ----

  private get palette(): Palette {
    if (this.isPrinting) return LIGHT;
    const theme = this.view.theme ?? (this.darkQuery.matches ? "dark" : "light");
    return theme === "dark" ? DARK : LIGHT;
  }

  private scene(index: number): Scene {
    const { report, view, bounds } = this;
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
      durations: this.home.y,
      rows: report.rows,
      palette: this.palette,
      ratio: this.isPrinting ? 2 : deviceRatio(),
      ink: (grid) => report.ink(grid, view.transfer),
    };
  }

  private get context(): ChartContext {
    const { report } = this;
    return {
      meta: report.meta,
      palette: this.palette,
      showB: this.view.shown !== "A",
      relation: (run, id) => report.runs[run]?.relation(id),
    };
  }

  private dataChanged(): void {
    this.dataVersion++;
    this.areSmallDirty = true;
    this.invalidate();
  }

  private invalidate(): void {
    this.isDirty = true;
    this.request();
  }

  private invalidateOver(): void {
    this.isOverDirty = true;
    this.request();
  }

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

  fail(error: unknown): void {
    this.errors++;
    console.error(error);
  }

  private drawAll(): void {
    this.isDirty = false;
    this.isOverDirty = true;
    this.drawPanels();
    const { palette } = this;
    this.bar.update(this.view, { read: palette.read, write: palette.write, pushed: palette.readPushed });
    this.showDamage();
    clearTimeout(this.told);
    this.told = setTimeout(() => this.tell(), 200);
  }

  /**
   * The sonar in each frame, what is in sight while there is time, those first that have waited longest; what is out of
   * sight when nothing in sight moves any more.
   */
  private drawPanels(): void {
    const begin = performance.now();
    const rank = (panel: TimePanel) => (panel.chart.id === "sonar" ? 0 : panel.isInSight ? 1 : 2);
    const visible = this.visible().sort(
      (a, b) => rank(a.panel) - rank(b.panel) || a.panel.drawnAt - b.panel.drawnAt,
    );
    let isMoving = false;
    for (const { panel, index } of visible) {
      const mayWait = !this.isPrinting && rank(panel) > 0;
      const isLate = performance.now() - begin > FRAME_BUDGET_MS || (isMoving && !panel.isInSight);
      if (mayWait && isLate) {
        this.invalidate();
        return;
      }
      const isDrawn = panel.render(
        this.scene(index),
        this.titleOf(panel.chart, index),
        this.heightOf(panel.chart),
        this.keyOf(panel.chart, index),
      );
      isMoving ||= isDrawn && panel.isInSight;
    }
  }

  /** What a panel's picture depends on. */
  private keyOf(chart: TimeChart, index: number): string {
    const { on, base, transfer, shown, rate, time, number, y, yLinear, dots, brush } = this.view;
    const always = [index, this.dataVersion, this.palette.dark, on, transfer];
    if (chart === OVERVIEW) return JSON.stringify([always, base]);
    if (chart.id === "sonar") return JSON.stringify([always, base, shown, time, number, y, yLinear, dots, brush]);
    return JSON.stringify([always, rate, time, brush, shown]);
  }

  private drawSmall(): void {
    this.areSmallDirty = false;
    this.smallLeft = [...this.small];
    if (this.sonars.length > 0) this.legend.update(this.scene(0));
  }

  /** One small chart a frame, more where there is time: none of them holds up the panels that move. */
  private drawNextSmall(): void {
    this.smallLeft.shift()?.render(this.context, this.isPrinting ? 2 : deviceRatio());
    if (this.smallLeft.length > 0) this.request();
  }

  /** What follows the view at leisure: words and tables. */
  private tell(): void {
    if (!this.before && !this.isPrinting) this.writeHash();
    for (const { panel, index } of this.visible()) panel.tell(this.scene(index));
    for (const panel of this.small) panel.tell(this.context);
    if (this.sonars.length > 0) this.legend.update(this.scene(0));
    this.brush.update(this.brushScenes(), this.view.brush, true);
  }

  private brushScenes(): Scene[] {
    return this.visible().flatMap(({ panel, index }) =>
      panel.chart.id === "sonar" ? [{ ...this.scene(index), other: undefined }] : [],
    );
  }

  private drawOver(): void {
    this.isOverDirty = false;
    for (const { panel, index } of this.visible()) panel.renderOver(this.scene(index), this.overOf(panel, index));
    this.brush.update(this.brushScenes(), this.view.brush, false);
  }

  private overOf(panel: TimePanel, index: number): Over {
    const { pointer, dragBox } = this;
    const isOverview = panel.chart === OVERVIEW;
    const [from, to] = this.rangeOf(panel);
    const { box } = panel;
    const x = (v: number) => box.x + ((v - from) / (to - from)) * box.w;
    const brush = this.view.brush;
    const picked =
      panel.chart.id === "sonar" && this.picked?.run === index
        ? this.placeOf(panel, this.picked.request, x)
        : undefined;
    const isBrushed = brush && (panel.chart.id === "sonar" || isOverview || this.view.base !== "number");
    return {
      x:
        pointer && !isOverview && (pointer.panel === panel || this.sharesAxis(pointer.panel, panel))
          ? pointer.x
          : undefined,
      y: pointer?.panel === panel && !isOverview ? pointer.y : undefined,
      brush: isBrushed ? [x(brush[0]), x(brush[1])] : undefined,
      box: dragBox?.panel === panel ? boxOf(dragBox.from, dragBox.to) : undefined,
      picked,
    };
  }

  private placeOf(
    panel: TimePanel,
    { points, i }: PointRef,
    x: (v: number) => number,
  ): readonly [number, number] | undefined {
    const { box } = panel;
    const at = [x(xOf(points, i, this.view.base)), yScale(this.scene(0), box).yOf(latencyNs(points, i))] as const;
    const isInside = at[0] >= box.x && at[0] <= box.x + box.w && at[1] >= box.y && at[1] <= box.y + box.h;
    return isInside ? at : undefined;
  }

  /** The sonar may be over numbers while the strips stay over time. */
  private sharesAxis(a: TimePanel, b: TimePanel): boolean {
    if (a.chart === OVERVIEW || b.chart === OVERVIEW) return false;
    return this.view.base !== "number" || (a.chart.id === "sonar") === (b.chart.id === "sonar");
  }

  private rangeOf(panel: TimePanel): Range {
    if (panel.chart === OVERVIEW) return xBounds(this.view, this.bounds);
    return panel.chart.id === "sonar" ? xRange(this.view) : this.view.time;
  }

  private showDamage(): void {
    const { skipped } = this.report;
    this.damage.hidden = skipped.length === 0;
    if (skipped.length === 0) return;
    const blocks = skipped.length === 1 ? "One block of this file is" : `${skipped.length} blocks of this file are`;
    setText(
      this.damage,
      `⚠ ${blocks} damaged and left out; counts are too low: ${skipped.slice(0, 3).join("; ")}${skipped.length > 3 ? " …" : ""}`,
    );
  }

  // ---- theme, address, paper ----

  private toggleTheme(): void {
    this.show({ ...this.view, theme: this.palette.dark ? "light" : "dark" }, false);
  }

  private applyTheme(): void {
    document.documentElement.dataset["theme"] = this.palette.dark ? "dark" : "light";
  }

  private writeHash(): void {
    const hash = toHash(this.view, this.home);
    if (hash === location.hash.slice(1)) return;
    try {
      window.history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
    } catch {
      // Some browsers forbid it for files, others when it happens too often; then the address just stays.
    }
  }

  private print(isPrinting: boolean): void {
    this.isPrinting = isPrinting;
    this.root.classList.toggle("v-print", isPrinting);
    this.root.style.width = isPrinting ? `${PRINT_WIDTH}px` : "";
    this.applyTheme();
    // Of paper there is enough for short tables.
    const unfolds = (rows: readonly unknown[]) => isPrinting && rows.length <= PRINTED_ROWS;
    for (const { panel, index } of this.visible()) panel.unfold(unfolds(panel.chart.table(this.scene(index))));
    for (const panel of this.small) panel.unfold(unfolds(panel.chart.table(this.context)));
    this.drawAll();
    this.drawOver();
    this.drawSmall();
    while (this.smallLeft.length > 0) this.drawNextSmall();
    this.tell();
  }

  // ---- input ----

  private listen(): void {
    new ResizeObserver(() => {
      this.areSmallDirty = true;
      this.invalidate();
    }).observe(this.root);
    this.darkQuery.addEventListener("change", () => {
      this.applyTheme();
      this.areSmallDirty = true;
      this.invalidate();
    });
    // Links inside of the page lead to headings: they say nothing about the view.
    window.addEventListener("hashchange", () => location.hash.includes("=") && this.apply(location.hash));
    document.addEventListener("click", (e) => this.followLink(e));
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    for (const panel of this.small) panel.onOpen(() => panel.tell(this.context));
    this.listenToFiles();
    this.listenToKeys();
  }

  /** The tiles with numbers lead to panels. */
  private followLink(e: MouseEvent): void {
    const link = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-panel-link]") : null;
    const id = link?.dataset["panelLink"];
    if (!id || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const found = [...this.visible().map(({ panel }) => panel), ...this.small].find(
      (panel) => panel.root.dataset["panel"] === id || panel.root.dataset["panel"] === `${id}-b`,
    );
    if (!found) return;
    e.preventDefault();
    this.scrollTo(found.root);
    found.canvas.focus({ preventScroll: true });
  }

  /** The bar stays on top. */
  private scrollTo(element: HTMLElement): void {
    element.style.scrollMarginTop = `${this.bar.root.offsetHeight + 4}px`;
    element.scrollIntoView({ block: "start" });
  }

  /** Scrolls to the requests where they are out of sight. */
  private reveal(): void {
    const visible = this.visible().map(({ panel }) => panel);
    const panel = visible.find(({ chart }) => chart.id === "sonar") ?? visible.find(({ chart }) => chart !== OVERVIEW);
    if (!panel) return;
    const { top, height } = panel.root.getBoundingClientRect();
    const above = this.bar.root.offsetHeight;
    if (top < above - height / 4 || top > window.innerHeight - Math.min(height, 300)) this.scrollTo(panel.root);
  }

  private listenToFiles(): void {
    const veil = (on: boolean) => this.root.classList.toggle("v-drop", on);
    document.addEventListener("dragover", (e) => {
      e.preventDefault();
      veil(true);
    });
    document.addEventListener("dragleave", () => veil(false));
    document.addEventListener("drop", (e) => {
      e.preventDefault();
      veil(false);
      const file = e.dataTransfer?.files[0];
      if (file) void this.openSideCar(file);
    });
  }

  /** The file says to which run it belongs. */
  async openSideCar(file: File): Promise<void> {
    let last: unknown;
    for (const run of this.report.runs) {
      try {
        const sideCar = await SideCar.open(file, run.run.run_id);
        run.points.use(sideCar);
        this.say(`${file.name}: ${count(sideCar.requests)} requests are at hand`);
        return;
      } catch (error) {
        last = error;
      }
    }
    this.say(last instanceof Error ? last.message : String(last));
  }

  private listenToKeys(): void {
    const on = (name: "read" | "write" | "pushed") => () =>
      this.change({ on: { ...this.view.on, [name]: !this.view.on[name] } });
    const pan = (share: number) => (e: KeyboardEvent) =>
      this.show(panX(this.view, this.bounds, e.shiftKey ? share * 5 : share));
    const lift = (share: number) => (e: KeyboardEvent) =>
      this.show(panY(this.view, this.bounds, e.shiftKey ? share * 5 : share));
    const zoom = (factor: number) => () => this.show(zoomX(this.view, this.bounds, this.pointerX(), factor));
    const next = <T>(of: readonly T[], now: T): T => of[(of.indexOf(now) + 1) % of.length] ?? now;
    const run = (shown: View["shown"]) => () =>
      this.report.runs.length > 1 && this.change({ shown: this.view.shown === shown ? "both" : shown });
    listenToKeys({
      r: on("read"),
      w: on("write"),
      p: on("pushed"),
      t: () => this.change({ base: next(this.report.bases, this.view.base) }),
      l: () => this.change({ yLinear: !this.view.yLinear }),
      e: () => this.change({ transfer: next(["log", "equal", "linear"] as const, this.view.transfer) }),
      d: () => this.change({ dots: !this.view.dots }),
      n: () => this.stepFinding(1),
      N: () => this.stepFinding(-1),
      "/": () => this.bar.goTo.select(),
      a: run("A"),
      b: run("B"),
      x: run("difference"),
      c: () => this.showCautions(),
      s: () => this.save("png"),
      S: () => this.save("svg"),
      "?": openHelp,
      Escape: () => this.clear(),
      Backspace: () => this.step(this.history.back(this.view)),
      "[": () => this.step(this.history.back(this.view)),
      "]": () => this.step(this.history.forward(this.view)),
      Home: () => this.goHome(),
      "0": () => this.goHome(),
      ArrowLeft: pan(-0.1),
      ArrowRight: pan(0.1),
      ArrowUp: lift(0.1),
      ArrowDown: lift(-0.1),
      "+": zoom(0.5),
      "=": zoom(0.5),
      "-": zoom(2),
    });
  }

  private stepFinding(by: 1 | -1): void {
    if (!this.findings.step(by)) this.say("no finding has a place");
  }

  private goHome(): void {
    const { time, number, y } = this.home;
    this.show({ ...this.view, time, number, y });
  }

  private clear(): void {
    setText(this.status, "");
    this.unpick({ brush: undefined });
  }

  private unpick(change: Partial<View> = {}): void {
    this.picked = undefined;
    this.card.hide();
    this.change({ ...change, picked: undefined, pickedIn: undefined });
    this.invalidateOver();
  }

  private showCautions(): void {
    const cautions = document.querySelector<HTMLElement>(".cautions");
    cautions?.setAttribute("tabindex", "-1");
    cautions?.focus();
    cautions?.scrollIntoView({ block: "center" });
  }

  /** The value under the pointer, else the middle. */
  private pointerX(): number {
    const [from, to] = xRange(this.view);
    const { pointer } = this;
    return pointer && pointer.panel.chart !== OVERVIEW ? this.valueAt(pointer.panel, pointer.x) : (from + to) / 2;
  }

  private valueAt(panel: TimePanel, x: number): number {
    const [from, to] = this.rangeOf(panel);
    const { box } = panel;
    return from + ((Math.min(Math.max(x, box.x), box.x + box.w) - box.x) / box.w) * (to - from);
  }

  private listenTo(panel: TimePanel): void {
    panel.canvas.addEventListener("focus", () => (this.active = panel));
    listen(panel.plot, {
      hover: (x, y) => this.hover(panel, x, y),
      leave: () => this.leave(panel),
      click: (x, y) => this.click(panel, x, y),
      doubleClick: () => this.step(this.history.back(this.view)),
      begin: (kind, x) => this.beginDrag(panel, kind, x),
      drag: (kind, from, to) => this.drag(panel, kind, from, to),
      end: (kind, from, to) => this.endDrag(panel, kind, from, to),
      cancel: () => this.cancelDrag(),
      zoom: (axis, x, y, factor) => this.zoom(panel, axis, x, y, factor),
    });
  }

  private hover(panel: TimePanel, x: number, y: number): void {
    this.active = panel;
    this.pointer = { panel, x, y };
    panel.read(panel.drawn?.hover(x, y) ?? undefined);
    this.invalidateOver();
  }

  private leave(panel: TimePanel): void {
    if (this.pointer?.panel === panel) this.pointer = undefined;
    panel.read(undefined);
    this.invalidateOver();
  }

  private zoom(panel: TimePanel, axis: "x" | "y", x: number, y: number, factor: number): void {
    const now = performance.now();
    const isNew = now - this.lastWheel > WHEEL_PAUSE_MS;
    this.lastWheel = now;
    if (axis === "y") {
      const at =
        panel.chart.id === "sonar"
          ? yScale(this.scene(0), panel.box).invert(y)
          : Math.sqrt(this.view.y[0] * this.view.y[1]);
      return this.show(zoomY(this.view, this.bounds, at, factor), isNew);
    }
    // A strip over time must not zoom the numbers of the sonar.
    if (this.isStripBesideNumbers(panel)) {
      const base = { ...this.view, base: this.report.firstBase };
      const zoomed = zoomX(base, this.bounds, this.valueAt(panel, x), factor);
      return this.show({ ...this.view, time: zoomed.time }, isNew);
    }
    this.show(zoomX(this.view, this.bounds, this.valueAt(panel, x), factor), isNew);
  }

  private isStripBesideNumbers(panel: TimePanel): boolean {
    return this.view.base === "number" && panel.chart.id !== "sonar" && panel.chart !== OVERVIEW;
  }

  private beginDrag(panel: TimePanel, kind: DragKind, x: number): void {
    this.before = this.view;
    if (kind === "pan" && panel.chart === OVERVIEW) {
      const at = this.valueAt(panel, x);
      const [from, to] = xRange(this.view);
      const [a, b] = xBounds(this.view, this.bounds);
      // Outside of the frame, or where the frame is everything, a new one is drawn.
      this.overviewDrag = at >= from && at <= to && !(from <= a && to >= b) ? "move" : "draw";
    }
  }

  private overviewDrag: "move" | "draw" = "draw";

  private drag(panel: TimePanel, kind: DragKind, from: readonly [number, number], to: readonly [number, number]): void {
    const { before } = this;
    if (!before) return;
    if (kind === "brush") return this.show({ ...this.view, brush: this.rangeBetween(panel, from, to) }, false);
    if (kind === "box") {
      this.dragBox = { panel, from, to };
      return this.invalidateOver();
    }
    if (panel.chart === OVERVIEW) return this.dragOverview(panel, before, from, to);
    this.pan(panel, before, from, to);
  }

  private rangeBetween(panel: TimePanel, from: readonly [number, number], to: readonly [number, number]): Range {
    return [this.valueAt(panel, Math.min(from[0], to[0])), this.valueAt(panel, Math.max(from[0], to[0]))];
  }

  private dragOverview(
    panel: TimePanel,
    before: View,
    from: readonly [number, number],
    to: readonly [number, number],
  ): void {
    const [a, b] = [this.valueAt(panel, from[0]), this.valueAt(panel, to[0])];
    if (this.overviewDrag === "draw")
      return this.show(withX(before, [Math.min(a, b), Math.max(a, b)], this.bounds), false);
    const [begin, end] = xRange(before);
    this.show(withX(before, [begin + b - a, end + b - a], this.bounds), false);
  }

  private pan(panel: TimePanel, before: View, from: readonly [number, number], to: readonly [number, number]): void {
    const { box } = panel;
    if (this.isStripBesideNumbers(panel)) {
      const moved = panX({ ...before, base: this.report.firstBase }, this.bounds, (from[0] - to[0]) / box.w);
      return this.show({ ...before, time: moved.time }, false);
    }
    let view = panX(before, this.bounds, (from[0] - to[0]) / box.w);
    const isWhole = before.y[0] <= this.home.y[0] && before.y[1] >= this.home.y[1];
    if (panel.chart.id === "sonar" && !isWhole && !before.yLinear)
      view = panY(view, this.bounds, (to[1] - from[1]) / box.h);
    this.show(view, false);
  }

  private endDrag(
    panel: TimePanel,
    kind: DragKind,
    from: readonly [number, number],
    to: readonly [number, number],
  ): void {
    const before = this.before;
    this.before = undefined;
    this.dragBox = undefined;
    if (before && !samePlace(before, this.view)) this.history.leave(before);
    if (kind === "box") this.zoomToBox(panel, from, to);
    this.invalidate();
  }

  private cancelDrag(): void {
    if (this.before) this.show(this.before, false);
    this.before = undefined;
    this.dragBox = undefined;
  }

  private zoomToBox(panel: TimePanel, from: readonly [number, number], to: readonly [number, number]): void {
    let view = withX(this.view, this.rangeBetween(panel, from, to), this.bounds);
    if (panel.chart.id === "sonar" && Math.abs(from[1] - to[1]) > 8) {
      const scale = yScale(this.scene(0), panel.box);
      view = withY(view, [scale.invert(Math.max(from[1], to[1])), scale.invert(Math.min(from[1], to[1]))], this.bounds);
    }
    this.show(view);
  }

  // ---- picking ----

  private click(panel: TimePanel, x: number, y: number): void {
    if (panel.chart === OVERVIEW) return this.centre(this.valueAt(panel, x), this.view);
    if (panel.chart.id !== "sonar") return;
    const index = panel.id === "sonar-b" ? 1 : 0;
    void nearestRequest(this.scene(index), panel.box, x, y)
      .then((found) => {
        if (found) return this.pick(found, index);
        this.unpick();
        this.say(this.noRequestWords(panel, x));
      })
      .catch((error) => this.fail(error));
  }

  private noRequestWords(panel: TimePanel, x: number): string {
    const at = whereWords(this.scene(0), this.valueAt(panel, x), 1e6);
    return `no single request is known near ${at}`;
  }

  private pick(found: PointRef, index: number): void {
    this.picked = { request: found, run: index };
    const facts = this.card.show(found, this.scene(index), this.report.runs[1 - index]);
    setText(this.status, "");
    this.change({ picked: facts.number, pickedIn: index || undefined });
    this.invalidateOver();
  }

  private async pickNumber(number: number, move: boolean, index: number): Promise<void> {
    const found = await this.report.runs[index]?.points.find(number);
    if (!found) return this.say(`request #${number} is not among those whose facts are in this page`);
    if (move) {
      const ns = latencyNs(found.points, found.i);
      const [low, high] = this.view.y;
      const isInside = ns >= low && ns <= high;
      const view = isInside ? this.view : withY(this.view, [Math.min(low, ns / 1.5), Math.max(high, ns * 1.5)], this.bounds);
      this.centre(xOf(found.points, found.i, this.view.base), view);
    }
    this.pick(found, index);
  }

  // ---- saving ----

  private save(form: "png" | "svg"): void {
    const visible = this.visible();
    const small = this.small.find(({ canvas }) => canvas === document.activeElement);
    const entry =
      visible.find(({ panel }) => panel === this.active && panel.chart !== OVERVIEW) ??
      visible.find(({ panel }) => panel.chart.id === "sonar") ??
      visible[0];
    const panel = small ?? entry?.panel;
    if (!panel) return;
    const index = small ? 0 : entry!.index;
    const name = `${this.report.meta.runs[index]?.run_id?.slice(0, 12) ?? "load"}.${panel.root.dataset["panel"]}`;
    if (form === "png") return savePng(name, panel.canvas);
    const { width, height } = panel.size;
    saveSvg(name, width, height, (p) => void (small ? small.paint(p, this.context) : entry!.panel.paint(p, this.scene(index))));
  }
}

/** The sonar with the marginal beside it. */
function withMarginal(sonar: TimeChart): TimeChart {
  return { ...sonar, side: drawMarginal };
}

function boxOf(a: readonly [number, number], b: readonly [number, number]) {
  return { x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]), w: Math.abs(a[0] - b[0]), h: Math.abs(a[1] - b[1]) };
}
