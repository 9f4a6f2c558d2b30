/** Ways to a place that has a name: a time, a request, a place on the disk, a finding, a panel. */

import { timeOf } from "../charts/ordinate";
import { SEEK } from "../charts/seek";
import { placesLike } from "../model/places";
import { xOf } from "../model/point-store";
import { type Range, type View, withX, withY, xBounds, xRange } from "../model/view";
import { count, moment, plainBytes } from "../render/units";
import { Findings } from "./findings";
import { unfold } from "./fold";
import type { NoticeBoard } from "./notice-board";
import type { Panels } from "./panels";
import type { PickedRequest } from "./picked-request";
import type { Report } from "./report";
import type { ViewState } from "./view-state";

export class Navigation {
  private readonly findings: Findings;

  constructor(
    private readonly report: Report,
    private readonly viewState: ViewState,
    private readonly panels: Panels,
    private readonly pickedRequest: PickedRequest,
    private readonly notices: NoticeBoard,
    /** It stays on top and covers what is scrolled below it. */
    private readonly bar: HTMLElement,
  ) {
    this.findings = new Findings(report.meta.runs[0]?.findings ?? [], viewState.bounds.time, (range, text) =>
      this.goToFinding(range, text),
    );
  }

  /** To what was written: `65.3`, `1:05:03`, `#8123456`, or a name of a place. */
  goTo(text: string): void {
    // Thin blanks too: numbers are copied from this page.
    const told = text.replace(/\s/g, "");
    const number = /^#(\d+)$/.exec(told);
    if (number) return this.goToNumber(Number(number[1]));
    const seconds = secondsIn(told);
    if (!Number.isFinite(seconds)) return this.goToPlace(text);
    const end = this.viewState.bounds.time[1];
    if (seconds * 1e9 <= end) return this.centre(seconds * 1e9, this.overTime);
    const { isLoad } = this.report;
    const request = !isLoad && /^\d+$/.test(told) ? `; #${told} is request ${told}` : "";
    this.notices.say(`the ${isLoad ? "load" : "run"} ends at ${moment(end)}${request}`);
  }

  private goToNumber(number: number): void {
    const { isLoad, runs } = this.report;
    if (isLoad) return this.notices.say("a load has no single requests");
    void this.goToRequest(number, this.viewState.view.shown === "B" && runs.length > 1 ? 1 : 0);
  }

  private async goToRequest(number: number, index: number): Promise<void> {
    const found = await this.pickedRequest.find(number, index);
    if (!found) return;
    const { view, bounds } = this.viewState;
    const ns = timeOf({ meta: this.report.meta, run: this.report.runs[index]!.run, view, other: undefined })(found.points, found.i);
    const [low, high] = view.y;
    const isInside = ns >= low && ns <= high;
    this.centre(
      xOf(found.points, found.i, view.base),
      isInside ? view : withY(view, [Math.min(low, ns / 1.5), Math.max(high, ns * 1.5)], bounds),
    );
    this.pickedRequest.pick(found, index);
  }

  private goToPlace(text: string): void {
    const map = this.panels.visible().find(({ panel }) => panel.chart === SEEK);
    const found = map ? placesLike(this.report.runs[map.index]!.run, text) : [];
    const first = found[0];
    if (!map || !first)
      return this.notices.say(`“${text}” is neither a time nor a request, nor a name of a place`);
    const others = found.length > 1 ? `; ${count(found.length - 1)} more like it` : "";
    this.scrollTo(map.panel.root);
    this.notices.say(`${first.name}: ${plainBytes(first.from_bytes)} to ${plainBytes(first.to_bytes)}${others}`);
  }

  private goToFinding(range: Range, text: string): void {
    this.viewState.show(withX(this.overTime, range, this.viewState.bounds));
    this.notices.clear();
    this.notices.speak(text);
    this.reveal();
  }

  stepFinding(by: 1 | -1): void {
    if (!this.findings.step(by)) this.notices.say("no finding has a place");
  }

  /** Shows a value of the axis in the middle, close enough to be found. */
  centre(at: number, view: View): void {
    const { bounds } = this.viewState;
    const [from, to] = xRange(view);
    const [a, b] = xBounds(view, bounds);
    const half = Math.min(to - from, (b - a) / 20) / 2;
    this.viewState.show(withX(view, [at - half, at + half], bounds));
    this.notices.clear();
    this.reveal();
  }

  /** The view, over time. */
  private get overTime(): View {
    const { view } = this.viewState;
    return view.base === "number" ? { ...view, base: this.report.firstBase, brush: undefined, brushY: undefined } : view;
  }

  /** The tiles with numbers lead to panels. */
  followLink(e: MouseEvent): void {
    if (this.followTime(e)) return;
    const link = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-panel-link]") : null;
    const id = link?.dataset["panelLink"];
    if (!id || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const found = [...this.panels.visible().map(({ panel }) => panel), ...this.panels.small].find(
      (panel) => panel.root.dataset["panel"] === id || panel.root.dataset["panel"] === `${id}-b`,
    );
    if (!found) return;
    e.preventDefault();
    this.scrollTo(found.root);
    found.canvas.focus({ preventScroll: true });
  }

  /** Links of notes and events lead to their time; the browser would forget the notes of the link, and the filter. */
  private followTime(e: MouseEvent): boolean {
    const href = e.target instanceof Element ? e.target.closest('a[href^="#t="]')?.getAttribute("href") : undefined;
    const { only, notes } = this.viewState.view;
    if (!href || (!only && !notes) || e.ctrlKey || e.metaKey || e.shiftKey) return false;
    e.preventDefault();
    this.viewState.follow(href);
    return true;
  }

  /** Scrolls to the requests where they are out of sight. */
  private reveal(): void {
    const visible = this.panels.visible().map(({ panel }) => panel);
    const panel = visible.find(({ isSonar }) => isSonar) ?? visible.find(({ isOverview }) => !isOverview);
    if (!panel) return;
    const { top, height } = panel.root.getBoundingClientRect();
    const above = this.bar.offsetHeight;
    if (top < above - height / 4 || top > window.innerHeight - Math.min(height, 300)) this.scrollTo(panel.root);
  }

  private scrollTo(element: HTMLElement): void {
    unfold(element);
    element.style.scrollMarginTop = `${this.bar.offsetHeight + 4}px`;
    element.scrollIntoView({ block: "start" });
  }
}

/** `65.3`, `65.3s`, `1:05:03`; not a number where it is something else. */
function secondsIn(text: string): number {
  return text
    .replace(/s$/, "")
    .split(":")
    .reduce((sum, part) => sum * 60 + Number(part || NaN), 0);
}
