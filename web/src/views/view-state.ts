/** The view that is shown, the ones it came from, and how far one can go. */

import { fromHash, toHash } from "../model/hash";
import { type Bounds, History, samePlace, type View } from "../model/view";

/** Others read; only what it can do changes it. */
export class ViewState {
  view: View;
  /** The view from which a drag began, while it lasts. */
  held: View | undefined;
  private readonly history = new History();

  constructor(
    readonly bounds: Bounds,
    /** The view of the whole report. */
    public home: View,
    private readonly onShow: (before: View) => void,
  ) {
    this.view = home;
  }

  get hash(): string {
    return toHash(this.view, this.home);
  }

  /** The first view, once enough is known to tell what the whole report is. */
  begin(home: View, hash: string): void {
    this.home = home;
    this.view = fromHash(hash, home, this.bounds);
  }

  /** Shows another view; with `step` one can go back to the present one. */
  show(view: View, step = true): void {
    const before = this.view;
    if (step && !samePlace(view, before)) this.history.leave(before);
    this.view = view;
    this.onShow(before);
  }

  /** What was brushed lies on the axis of its base: another base forgets it. Durations of another ordinate are others. */
  change(change: Partial<View>): void {
    const isOtherBase = change.base && change.base !== this.view.base;
    const isOtherOrdinate = change.ordinate && change.ordinate !== this.view.ordinate;
    const forgotten = { ...(isOtherBase ? { brush: undefined } : {}), ...(isOtherBase || isOtherOrdinate ? { brushY: undefined } : {}) };
    this.show({ ...this.view, ...change, ...forgotten }, change.base !== undefined);
  }

  open(hash: string): void {
    this.show(fromHash(hash, this.home, this.bounds));
  }

  /** A link inside of the page leads to a place: notes and filter stay. */
  follow(hash: string): void {
    const { only, notes, theme } = this.view;
    this.show({ ...fromHash(hash, this.home, this.bounds), only, notes, theme });
  }

  back(): void {
    this.step(this.history.back(this.view));
  }

  forward(): void {
    this.step(this.history.forward(this.view));
  }

  private step(view: View | undefined): void {
    if (view) this.show(view, false);
  }

  goHome(): void {
    const { time, number, y } = this.home;
    this.show({ ...this.view, time, number, y });
  }

  /** A drag begins: all its views together are one step. */
  hold(): void {
    this.held = this.view;
  }

  release(): void {
    const { held } = this;
    this.held = undefined;
    if (held && !samePlace(held, this.view)) this.history.leave(held);
    // The address has waited for the end of the drag.
    this.onShow(this.view);
  }

  /** The drag was none. */
  cancel(): void {
    if (this.held) this.show(this.held, false);
    this.held = undefined;
  }
}
