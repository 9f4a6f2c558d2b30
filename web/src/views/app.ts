/** The viewer: makes its parts, joins them, and lays them out. */

// First, as it brings the charts: beside each other they pack better, and the page is to stay small.
import { MACHINE, Panels } from "./panels";
import type { PageMeta } from "../format/page";
import { timeInQuestion, type View, withoutOnly } from "../model/view";
import type { Workshop } from "../work/workshop";
import { listenToAddress } from "./address";
import { Bar } from "./bar";
import { el } from "./dom";
import { Drawing } from "./drawing";
import { FilterChips } from "./filter-chips";
import { listenToDrops, openSideCar } from "./files";
import { fold } from "./fold";
import { Hand } from "./hand";
import { openHelp } from "./help";
import { listenToKeys } from "./keys";
import { MarkLayer } from "./mark-layer";
import { Navigation } from "./navigation";
import { NoteList } from "./note-list";
import { NoticeBoard } from "./notice-board";
import { valueAt } from "./panel-axis";
import { listenToPrint } from "./paper";
import { PickedRequest } from "./picked-request";
import { Report } from "./report";
import { savePanel } from "./save-panel";
import { saveView } from "./save-view";
import { SceneSource } from "./scene-source";
import type { TimePanel } from "./time-panel";
import { viewKeys } from "./view-keys";
import { ViewState } from "./view-state";

export class App {
  readonly report: Report;
  errors = 0;
  private readonly viewState: ViewState;
  private readonly scenes: SceneSource;
  private readonly panels: Panels;
  private readonly notices = new NoticeBoard();
  private readonly chips: FilterChips;
  private readonly notes: NoteList;
  private readonly bar: Bar;
  private readonly pickedRequest: PickedRequest;
  private readonly navigation: Navigation;
  private readonly hand: Hand;
  private readonly drawing: Drawing;
  private settling: Promise<void> | undefined;

  constructor(
    private readonly root: HTMLElement,
    meta: PageMeta,
    private readonly workshop: Workshop,
  ) {
    const { notices } = this;
    const report = (this.report = new Report(meta, document, workshop, () => this.drawing.dataChanged()));
    const viewState = (this.viewState = new ViewState(report.bounds(), report.home(), (before) =>
      this.drawing.viewChanged(before),
    ));
    const marks = new MarkLayer(() => this.drawing.marksChanged());
    const scenes = (this.scenes = new SceneSource(report, viewState));
    const panels = (this.panels = new Panels(report, viewState));
    const bar = (this.bar = this.makeBar());
    const chips = (this.chips = new FilterChips((only) => viewState.show(withoutOnly(viewState.view, only), false)));
    const notes = (this.notes = this.makeNotes());
    this.pickedRequest = new PickedRequest(report, viewState, scenes, marks, notices);
    this.navigation = new Navigation(report, viewState, panels, this.pickedRequest, notices, bar.root);
    this.hand = new Hand(viewState, scenes, marks, report.firstBase, (panel, x, y) => this.click(panel, x, y));
    this.drawing = new Drawing(report, viewState, scenes, panels, marks, bar, notices, chips, notes, (error) =>
      this.fail(error),
    );
    this.layOut();
    this.listen();
  }

  /** Decodes what the first view needs; then everything is drawn. */
  async start(): Promise<void> {
    const { report, viewState, drawing } = this;
    await Promise.all(report.runs.map((run) => run.loadGrid(report.mainGrid(run))));
    viewState.begin(report.home(), location.hash);
    drawing.begin();
    await Promise.all(report.runs.flatMap((run) => [run.loadSeries(), run.loadRelations()]));
    const pairs = report.meta.pairs;
    if (pairs) await report.runs[0]?.loadRelation(pairs.density.id, pairs.density.edges.length);
    drawing.allChanged();
    await this.settled();
    void this.pickedRequest.restore();
  }

  /** When nothing is being decoded and everything is drawn; all who wait, wait together. */
  settled(): Promise<void> {
    return (this.settling ??= this.settle());
  }

  /** Whether the address, the words and the tables say what is drawn. */
  get isTold(): boolean {
    return this.drawing.isTold;
  }

  private async settle(): Promise<void> {
    do {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      await this.workshop.idle();
      // Whoever waited for the worker goes on first.
      await new Promise((resolve) => setTimeout(resolve));
    } while (!this.drawing.isDone || this.workshop.isBusy);
    this.settling = undefined;
  }

  fail(error: unknown): void {
    this.errors++;
    console.error(error);
  }

  get frames(): readonly number[] {
    return this.drawing.frames;
  }

  get current(): View {
    return this.viewState.view;
  }

  get sonars(): TimePanel[] {
    return this.panels.sonars().map(({ panel }) => panel);
  }

  get panelIds(): string[] {
    return this.panels.ids;
  }

  show(view: View): void {
    this.viewState.show(view);
  }

  apply(hash: string): void {
    this.viewState.open(hash);
    void this.pickedRequest.restore();
  }

  // ---- layout ----

  private makeBar(): Bar {
    const { report, viewState } = this;
    const { meta, bases } = report;
    const deeper = meta.runs.some((run) => run.detail.embedded < run.detail.requests);
    const has = { flushes: report.hasFlushes, deeper, response: report.hasResponse };
    return new Bar(meta.title, viewState.view, bases, meta.runs.length, has, {
      change: (change) => viewState.change(change),
      toggleTheme: () => this.toggleTheme(),
      goTo: (text) => this.navigation.goTo(text),
      back: () => viewState.back(),
      forward: () => viewState.forward(),
      home: () => viewState.goHome(),
      help: openHelp,
      savePng: () => this.save("png"),
      saveSvg: () => this.save("svg"),
      saveView: () => this.saveView(),
      note: () => this.notes.open(),
      openSideCar: (file) => this.openSideCar(file),
    });
  }

  private makeNotes(): NoteList {
    const { report, viewState, notices } = this;
    const kept = Math.max(0, ...report.meta.runs.map(({ notes }) => notes.length));
    return new NoteList(kept + 1, {
      change: (notes) => viewState.show({ ...viewState.view, notes: notes.length > 0 ? notes : undefined }, false),
      time: () => timeInQuestion(viewState.view),
      say: (text) => notices.say(text),
    });
  }

  private layOut(): void {
    const { root, bar, notices, panels, drawing } = this;
    if (this.report.runs.length === 0) return;
    const folds = new Map(panels.folded.map(([title, some]) => [title, fold(title, some, () => drawing.allChanged())]));
    const machine = folds.get(MACHINE);
    folds.delete(MACHINE);
    const lanes = el(
      "div",
      { class: "v-time" },
      ...panels.first.map((panel) => panel.root),
      ...(machine ? [machine] : []),
      // Notes and events stand beside the picture that shows them, and lead there.
      ...document.querySelectorAll(".notes"),
      this.notes.root,
      ...document.querySelectorAll(".events"),
      ...panels.further.map((panel) => panel.root),
    );
    root.append(
      bar.root,
      notices.damage,
      notices.live,
      lanes,
      this.pickedRequest.root,
      el("div", { class: "v-grid" }, ...panels.openSmall.map((panel) => panel.root)),
      ...folds.values(),
    );
    const sonars = panels.overTime.filter(({ isSonar }) => isSonar);
    sonars[0]?.addToHead(drawing.legend.root);
    // At the sonar's right; where there is no room, below it.
    sonars.at(-1)?.root.after(drawing.brush.root);
    // In the bar they are seen wherever one has scrolled to.
    bar.root.append(this.chips.root, notices.status);
  }

  // ---- input ----

  private listen(): void {
    const { root, scenes, panels, drawing } = this;
    for (const panel of panels.overTime) {
      panel.onOpen(() => drawing.tell());
      this.hand.listenTo(panel);
    }
    for (const panel of panels.small) panel.onOpen(() => panel.tell(scenes.context(panel.chart.isFiltered)));
    const sizes = new ResizeObserver(() => drawing.allChanged());
    // A result of a brush takes room from the panels.
    for (const element of [root, ...panels.overTime.slice(0, 1).map((panel) => panel.root)]) sizes.observe(element);
    scenes.onSystemTheme(() => drawing.themeChanged());
    listenToAddress((hash) => this.apply(hash));
    document.addEventListener("click", (e) => this.navigation.followLink(e));
    listenToPrint(root, scenes, drawing);
    listenToDrops(root, (file) => this.openSideCar(file));
    this.listenToKeys();
  }

  private listenToKeys(): void {
    listenToKeys({
      ...viewKeys(this.viewState, this.report, () => this.hand.pointerX),
      n: () => this.navigation.stepFinding(1),
      N: () => this.navigation.stepFinding(-1),
      "/": () => this.bar.goTo.select(),
      c: showCautions,
      s: () => this.save("png"),
      v: () => this.saveView(),
      m: () => this.notes.open(),
      S: () => this.save("svg"),
      "?": openHelp,
      Escape: () => this.clear(),
    });
  }

  private click(panel: TimePanel, x: number, y: number): void {
    const { viewState } = this;
    if (panel.isOverview) this.navigation.centre(valueAt(panel, x, viewState), viewState.view);
    else if (panel.isSonar) this.pickedRequest.at(panel, x, y).catch((error) => this.fail(error));
  }

  private clear(): void {
    this.notices.clear();
    this.pickedRequest.unpick({ brush: undefined, brushY: undefined });
  }

  private toggleTheme(): void {
    this.viewState.show({ ...this.viewState.view, theme: this.scenes.palette.dark ? "light" : "dark" }, false);
  }

  private save(form: "png" | "svg"): void {
    // What waits for a calmer moment would be saved as it was.
    this.drawing.drawNow();
    savePanel(form, this.report, this.scenes, this.panels, this.hand.active);
  }

  private saveView(): void {
    this.drawing.drawNow();
    saveView(this.report, this.scenes, this.panels, this.chips.words);
  }

  private openSideCar(file: File): void {
    void openSideCar(file, this.report.runs).then((words) => this.notices.say(words));
  }
}

function showCautions(): void {
  for (const folded of document.querySelectorAll<HTMLDetailsElement>(".cautions details")) folded.open = true;
  const cautions = document.querySelector<HTMLElement>(".cautions");
  cautions?.setAttribute("tabindex", "-1");
  cautions?.focus();
  cautions?.scrollIntoView({ block: "center" });
}
