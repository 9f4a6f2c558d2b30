/** The ordinate of the sonar: response (due to completion) or latency (submission to completion). */

import type { PageRun } from "../format/page";
import type { Points } from "../format/points";
import { latencyNs, responseNs } from "../model/point-store";
import type { Ordinate } from "../model/view";
import type { Scene } from "./scene";

export const ORDINATE_WORDS = { response: "Response", latency: "Latency" } as const;
export const MEANINGS = { response: "due to completion", latency: "submission to completion" } as const;

/** Whether a run has counts of responses: without them each lies in the row of its latency. */
function hasResponse({ grids }: PageRun): boolean {
  return grids.some((g) => g.id.startsWith("response."));
}

/** Whether a page can show responses: they are known of all its runs, and not all are latencies. */
export function canShowResponse(runs: readonly PageRun[]): boolean {
  return runs.some(hasResponse) && runs.every((run) => hasResponse(run) || run.has_timetable);
}

type Shown = Pick<Scene, "meta" | "run" | "other" | "view">;

/** What is shown. A difference is that of the latency unless both runs have counts of responses. */
export function ordinateOf({ meta, run, other, view }: Shown): Ordinate {
  const isComparable = !other || (hasResponse(run) && hasResponse(other.run));
  return canShowResponse(meta.runs) && isComparable ? view.ordinate : "latency";
}

/** What the counts of a run are for an ordinate. */
export function countedAs(run: PageRun, ordinate: Ordinate): Ordinate {
  return hasResponse(run) ? ordinate : "latency";
}

/** Name of the grid that is shown. */
export function gridIdOf(scene: Shown): string {
  return `${countedAs(scene.run, ordinateOf(scene))}.${scene.view.base}`;
}

/** The time of a request on the ordinate. */
export function timeOf(scene: Shown): (points: Points, i: number) => number {
  return countedAs(scene.run, ordinateOf(scene)) === "response" ? responseNs : latencyNs;
}
