/** What tests look at: `window.__report`. */

import type { PageBase } from "../format/page";
import type { Ordinate, Range, Shown, Theme, Transfer, View } from "../model/view";
import { xRange } from "../model/view";
import { classesOf } from "../model/hash";
import type { App } from "./app";

export interface ReportStats {
  readonly requests: number;
  readonly gridTotal: number;
  readonly drawn: number;
  readonly litPixels: number;
  /** Failed requests that have marks. */
  readonly failed: number;
  readonly mode: string;
  readonly level: number;
  readonly domain: { readonly t: Range; readonly y: Range };
  readonly base: PageBase;
  readonly errors: number;
  readonly skipped: number;
  readonly frames: { readonly median: number; readonly p95: number; readonly count: number };
  readonly webgl: false;
}

/** A part of a view as tests tell it; times are nanoseconds. */
export interface ViewChange {
  readonly t?: Range;
  readonly y?: Range;
  readonly base?: PageBase;
  readonly ordinate?: Ordinate;
  /** Letters r, w and p. */
  readonly on?: string;
  readonly transfer?: Transfer;
  readonly shown?: Shown;
  readonly theme?: Theme;
  readonly brush?: Range;
  readonly brushY?: Range;
  readonly dots?: boolean;
  readonly bars?: boolean;
  readonly yLinear?: boolean;
}

export interface ReportHook {
  readonly ready: Promise<void>;
  stats(): ReportStats;
  /** Resolves when it is drawn. */
  set(view: ViewChange | string): Promise<void>;
  /** Whether the address, the words and the tables say what is drawn. */
  isTold(): boolean;
  readonly panels: readonly string[];
}

declare global {
  interface Window {
    __report?: ReportHook;
  }
}

export function hook(app: App, ready: Promise<void>): void {
  window.__report = {
    ready,
    stats: () => stats(app),
    set: (change) => {
      if (typeof change === "string") app.apply(change);
      else app.show(changed(app.current, change));
      return app.settled();
    },
    isTold: () => app.isTold,
    panels: app.panelIds,
  };
}

function changed(view: View, { t, on, ...same }: ViewChange): View {
  const base = same.base ?? view.base;
  return {
    ...view,
    ...same,
    ...(t ? (base === "number" ? { number: t } : { time: t }) : {}),
    ...(on === undefined ? {} : { on: classesOf(on) }),
  };
}

function stats(app: App): ReportStats {
  const { report, current } = app;
  const drawn = app.sonars.flatMap((panel) => (panel.drawn ? [panel.drawn] : []));
  const sum = (of: (d: (typeof drawn)[number]) => number | undefined) => drawn.reduce((a, d) => a + (of(d) ?? 0), 0);
  const runs = report.meta.runs;
  return {
    requests: runs.reduce((n, run) => n + (report.isLoad ? run.requests : run.completed), 0),
    gridTotal: report.gridTotal,
    drawn: sum((d) => d.requests),
    litPixels: sum((d) => d.lit),
    failed: sum((d) => d.failed),
    mode: drawn[0]?.mode ?? "none",
    level: drawn[0]?.level ?? 0,
    domain: { t: xRange(current), y: current.y },
    base: current.base,
    errors: app.errors,
    skipped: report.skipped.length,
    frames: frameTimes(app.frames),
    webgl: false,
  };
}

function frameTimes(frames: readonly number[]): ReportStats["frames"] {
  const sorted = [...frames].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { median: at(0.5), p95: at(0.95), count: sorted.length };
}
