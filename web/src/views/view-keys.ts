/** The keys that change the view. */

import { type Classes, panX, panY, type View, zoomX } from "../model/view";
import type { KeyActions } from "./keys";
import type { Report } from "./report";
import type { ViewState } from "./view-state";

/** `pointerX` tells around which value is zoomed. */
export function viewKeys(viewState: ViewState, { bases, runs, hasResponse }: Report, pointerX: () => number): KeyActions {
  const flip = (name: keyof Classes) => () =>
    viewState.change({ on: { ...viewState.view.on, [name]: !viewState.view.on[name] } });
  const run = (shown: View["shown"]) => () =>
    runs.length > 1 && viewState.change({ shown: viewState.view.shown === shown ? "both" : shown });
  const move = (pan: typeof panX, share: number) => (e: KeyboardEvent) =>
    viewState.show(pan(viewState.view, viewState.bounds, e.shiftKey ? share * 5 : share));
  const zoom = (factor: number) => () => viewState.show(zoomX(viewState.view, viewState.bounds, pointerX(), factor));
  const back = () => viewState.back();
  const home = () => viewState.goHome();
  return {
    r: flip("read"),
    w: flip("write"),
    p: flip("pushed"),
    f: flip("flush"),
    t: () => viewState.change({ base: next(bases, viewState.view.base) }),
    y: () => hasResponse && viewState.change({ ordinate: viewState.view.ordinate === "response" ? "latency" : "response" }),
    l: () => viewState.change({ yLinear: !viewState.view.yLinear }),
    e: () => viewState.change({ transfer: next(["log", "equal", "linear"] as const, viewState.view.transfer) }),
    o: () => viewState.change({ bars: !viewState.view.bars }),
    d: () => viewState.change({ dots: !viewState.view.dots }),
    a: run("A"),
    b: run("B"),
    x: run("difference"),
    Backspace: back,
    "[": back,
    "]": () => viewState.forward(),
    Home: home,
    "0": home,
    ArrowLeft: move(panX, -0.1),
    ArrowRight: move(panX, 0.1),
    ArrowUp: move(panY, 0.1),
    ArrowDown: move(panY, -0.1),
    "+": zoom(0.5),
    "=": zoom(0.5),
    "-": zoom(2),
  };
}

/** The one behind the present one; behind the last comes the first. */
function next<T>(all: readonly T[], now: T): T {
  return all[(all.indexOf(now) + 1) % all.length] ?? now;
}
