/** The picked request: found by a click or by its number, marked in the sonar, told on the card. */

import { whereWords } from "../charts/sonar";
import type { PointRef } from "../model/point-store";
import type { View } from "../model/view";
import type { MarkLayer } from "./mark-layer";
import type { NoticeBoard } from "./notice-board";
import { valueAt } from "./panel-axis";
import { nearestRequest, PickCard } from "./pick";
import type { Report } from "./report";
import type { SceneSource } from "./scene-source";
import type { TimePanel } from "./time-panel";
import type { ViewState } from "./view-state";

export class PickedRequest {
  private readonly card = new PickCard(() => this.unpick());

  constructor(
    private readonly report: Report,
    private readonly viewState: ViewState,
    private readonly scenes: SceneSource,
    private readonly marks: MarkLayer,
    private readonly notices: NoticeBoard,
  ) {}

  get root(): HTMLElement {
    return this.card.root;
  }

  /** Picks what is nearest to a click on a sonar. */
  async at(panel: TimePanel, x: number, y: number): Promise<void> {
    const index = panel.id === "sonar-b" ? 1 : 0;
    const drawn = panel.drawn;
    const found = drawn?.requestAt ? drawn.requestAt(x, y) : await nearestRequest(this.scenes.of(index), panel.box, x, y);
    if (found) return this.pick(found, index);
    this.unpick();
    const where = whereWords(this.scenes.of(0), valueAt(panel, x, this.viewState), 1e6);
    this.notices.say(`no single request is known near ${where}`);
  }

  /** A request by its number; says so where its facts are not at hand. */
  async find(number: number, index: number): Promise<PointRef | undefined> {
    const found = await this.report.runs[index]?.points.find(number);
    if (!found) this.notices.say(`request #${number} is not among those whose facts are in this page`);
    return found;
  }

  pick(request: PointRef, run: number): void {
    this.marks.mark({ picked: { request, run } });
    const { number } = this.card.show(request, this.scenes.of(run), this.report.runs[1 - run]);
    this.notices.clear();
    this.viewState.change({ picked: number, pickedIn: run || undefined });
  }

  unpick(change: Partial<View> = {}): void {
    this.marks.mark({ picked: undefined });
    this.card.hide();
    this.viewState.change({ ...change, picked: undefined, pickedIn: undefined });
  }

  /** The request that the view tells of, whose facts may have to be read first. */
  async restore(): Promise<void> {
    const { picked, pickedIn: run = 0 } = this.viewState.view;
    if (picked !== undefined) {
      const found = await this.find(picked, run);
      if (found) this.pick(found, run);
    } else if (this.marks.picked) this.unpick();
  }
}
