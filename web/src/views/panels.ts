/** Which panels there are, which of them a view shows, and how they are called. */

import { BAND_SHARES } from "../charts/band-shares";
import { MOST_BARS } from "../charts/bars";
import { blameStrips } from "../charts/blame";
import { DELAY } from "../charts/delay";
import { IN_FLIGHT } from "../charts/in-flight";
import { drawMarginal } from "../charts/marginal";
import { ORDINATE_WORDS, ordinateOf } from "../charts/ordinate";
import { OVERVIEW } from "../charts/overview";
import { figureOf } from "../charts/figures";
import { HEALTH } from "../charts/health";
import { machineStrips } from "../charts/machine";
import type { TimeChart } from "../charts/scene";
import { SEEK } from "../charts/seek";
import { SONAR } from "../charts/sonar";
import { THROUGHPUT } from "../charts/throughput";
import { TIME_AXIS } from "../charts/time-axis";
import { WORKING_SET } from "../charts/working-set";
import type { View } from "../model/view";
import { button, el } from "./dom";
import type { Report } from "./report";
import { type SmallPanel, smallPanels } from "./small-panels";
import { TimePanel } from "./time-panel";
import type { ViewState } from "./view-state";

const STRIPS: readonly TimeChart[] = [BAND_SHARES, THROUGHPUT, DELAY, IN_FLIGHT, SEEK, WORKING_SET];
/** Of a load nothing but the demand is known. */
const LOAD_STRIPS: readonly TimeChart[] = [SEEK, WORKING_SET, THROUGHPUT];

/** Groups of panels that are one click away. */
export const MACHINE = "Machine: devices, CPUs, memory, interrupts";
const WORKING_SETS = "Working sets";
const OVERHEAD = "Own overhead";

/** Which run a panel shows in a view; undefined where it is not shown. */
type RunOf = (view: View) => number | undefined;

export interface VisiblePanel {
  readonly panel: TimePanel;
  /** Its run. */
  readonly index: number;
}

export class Panels {
  readonly small: readonly SmallPanel[];
  private readonly sonar = withMarginal(SONAR);
  private readonly barsToggles = new Map<TimePanel, HTMLElement>();
  private readonly entries: { readonly panel: TimePanel; readonly run: RunOf }[] = [];

  constructor(
    private readonly report: Report,
    private readonly viewState: ViewState,
  ) {
    this.small = smallPanels(report.meta);
    const { sonar } = this;
    const isPair = report.runs.length > 1;
    const single: RunOf = ({ shown }) => (shown === "B" && isPair ? 1 : 0);
    this.add(OVERVIEW, "overview", single);
    if (isPair) {
      this.add(sonar, "sonar", ({ shown }) => (shown === "B" ? undefined : 0));
      this.add(sonar, "sonar-b", ({ shown }) => (shown === "both" || shown === "B" ? 1 : undefined));
    } else this.add(sonar, "sonar", () => 0);
    for (const chart of blameStrips(report.meta.runs)) {
      this.add(chart, chart.id, single);
      if (isPair) this.add(chart, `${chart.id}-b`, ({ shown }) => (shown === "both" || shown === "difference" ? 1 : undefined));
    }
    const strips = report.isLoad ? LOAD_STRIPS : [...STRIPS, ...machineStrips(report.meta.runs)];
    for (const chart of strips) this.add(chart, chart.id, single);
    this.add(TIME_AXIS, TIME_AXIS.id, single);
    this.addRateToggle();
    for (const panel of this.overTime) if (panel.isSonar) this.addBarsToggle(panel);
  }

  private add(chart: TimeChart, id: string, run: RunOf): void {
    if (!this.report.meta.runs.some((r) => chart.has(r))) return;
    this.entries.push({ panel: new TimePanel(id, chart), run });
  }

  private addRateToggle(): void {
    const { viewState } = this;
    const toggle = el(
      "button",
      { type: "button", "data-role": "rate", title: "requests or bytes per second" },
      "requests/s ↔ bytes/s",
    );
    toggle.addEventListener("click", () => viewState.change({ rate: viewState.view.rate === "bytes" ? "requests" : "bytes" }));
    this.overTime.find(({ chart }) => chart === THROUGHPUT)?.addToHead(toggle);
  }

  private addBarsToggle(panel: TimePanel): void {
    const { viewState } = this;
    const toggle = button("bars ↔ dots", "a bar or a dot for each request (o)", { "data-role": "bars", hidden: "" }, () =>
      viewState.change({ bars: !viewState.view.bars }),
    );
    panel.addToHead(toggle);
    this.barsToggles.set(panel, toggle);
  }

  /** After a panel was drawn: bars can be chosen where requests are few enough. */
  updateToggle(panel: TimePanel): void {
    const { mode, requests = 0 } = panel.drawn ?? {};
    const isFew = mode === "bars" || (mode === "dots" && !this.viewState.view.bars && requests < MOST_BARS);
    const toggle = this.barsToggles.get(panel);
    if (toggle) toggle.hidden = !isFew;
  }

  /** All over time, shown or not. */
  get overTime(): TimePanel[] {
    return this.entries.map(({ panel }) => panel);
  }

  /** The picture that is seen first, and the causes below it. */
  get first(): TimePanel[] {
    return this.overTime.filter(isFirst);
  }

  /** Further strips over time that are in the open. */
  get further(): TimePanel[] {
    return this.overTime.filter((panel) => !isFirst(panel) && this.groupOf(panel.chart.id) === undefined);
  }

  get openSmall(): SmallPanel[] {
    return this.small.filter(({ chart }) => this.groupOf(chart.id) === undefined);
  }

  /** Panels that are one click away, by the name of their group. */
  get folded(): [title: string, panels: (TimePanel | SmallPanel)[]][] {
    const found = new Map<string, (TimePanel | SmallPanel)[]>();
    for (const panel of [...this.overTime, ...this.small]) {
      const group = this.groupOf(panel.chart.id);
      if (group !== undefined) found.set(group, [...(found.get(group) ?? []), panel]);
    }
    return [...found];
  }

  private groupOf(id: string): string | undefined {
    if (id.startsWith("machine-")) return MACHINE;
    if (id === HEALTH.id) return OVERHEAD;
    // The working set is what a load is about; of a run it is a property of its load.
    return id === WORKING_SET.id && !this.report.isLoad ? WORKING_SETS : undefined;
  }

  get ids(): string[] {
    return [...this.overTime.map(({ id }) => id), ...this.small.map(({ chart }) => chart.id)];
  }

  /** Those over time that the view shows; the others are hidden. */
  visible(): VisiblePanel[] {
    return this.entries.flatMap(({ panel, run }) => {
      const index = run(this.viewState.view);
      const data = index === undefined ? undefined : this.report.runs[index];
      const isThere = index !== undefined && data !== undefined && panel.chart.has(data.run);
      panel.root.hidden = !isThere;
      return isThere ? [{ panel, index }] : [];
    });
  }

  /** All panels have one time axis, unless the sonar is over numbers. */
  shareAxis(): void {
    const isShared = this.viewState.view.base !== "number";
    for (const panel of this.overTime) panel.root.classList.toggle("v-own-axis", panel.isSonar && !isShared);
  }

  sonars(): VisiblePanel[] {
    return this.visible().filter(({ panel }) => panel.isSonar);
  }

  titleOf({ panel: { chart, isSonar }, index }: VisiblePanel): string {
    const { isLoad, runs } = this.report;
    const { shown } = this.viewState.view;
    const title = isSonar ? this.sonarTitle(index) : chart.title;
    if (isLoad && chart === THROUGHPUT) return "Throughput, wanted";
    if (runs.length < 2) return title;
    if (isSonar && shown === "difference") return `${title}: B against A`;
    const showsB = /^(throughput|delay|in-flight|machine-.*)$/.test(chart.id) && chart.has(runs[1]!.run);
    const isWithB = index === 0 && shown !== "A" && showsB;
    return `${index === 0 ? "A" : "B"} · ${title}${isWithB ? " (B: dashed)" : ""}`;
  }

  /** “Every request” is said only where none failed, was dropped or cancelled. */
  private sonarTitle(index: number): string {
    const { runs } = this.report;
    const run = runs[index]!.run;
    const { view } = this.viewState;
    const other = view.shown === "difference" ? runs[1] : undefined;
    const of = ORDINATE_WORDS[ordinateOf({ meta: this.report.meta, run, other, view })];
    const [all, completed] = ["total", "completed"].map((name) => figureOf(run, `counts.all.${name}`));
    return `${of} of ${view.only === undefined && runs.length < 2 && all !== undefined && all === completed ? "every request" : "completed requests"}`;
  }

  /** A sonar takes what the window, or the paper, has. */
  heightOf({ chart, isSonar }: TimePanel, isOnPaper: boolean): number {
    if (!isSonar) return chart.height;
    const both = this.report.runs.length > 1 && this.viewState.view.shown === "both";
    if (isOnPaper) return both ? 240 : 300;
    return Math.round(Math.min(Math.max(window.innerHeight * (both ? 0.36 : 0.42), 260), 560));
  }
}

function isFirst({ isOverview, isSonar, chart }: TimePanel): boolean {
  return isOverview || isSonar || chart.id === "blame";
}

/** The sonar with the marginal beside it. */
function withMarginal(sonar: TimeChart): TimeChart {
  return { ...sonar, side: drawMarginal };
}
