/** The ordinate of the sonar: response (due to completion) or latency (submission to completion). */

import type { PageRun } from "../format/page";
import type { Points } from "../format/points";
import { latencyNs, responseNs } from "../model/point-store";
import type { Ordinate } from "../model/view";
import type { Scene } from "./scene";

export const ORDINATE_WORDS = { response: "Response", latency: "Latency" } as const;
export const MEANINGS = { response: "due to completion", latency: "submission to completion" } as const;

/** Whether the responses of a run differ from its latencies. */
export function hasResponse(run: PageRun): boolean {
  return run.grids.some((g) => g.id.startsWith("response."));
}

/** What is shown: the latency where responses are the same, or are not known of both runs of a difference. */
export function ordinateOf({ run, other, view }: Pick<Scene, "run" | "other" | "view">): Ordinate {
  const isKnown = hasResponse(run) && (!other || hasResponse(other.run));
  return isKnown ? view.ordinate : "latency";
}

/** Name of the grid that is shown. */
export function gridIdOf(scene: Scene): string {
  return `${ordinateOf(scene)}.${scene.view.base}`;
}

/** The time of a request on the ordinate. */
export function timeOf(scene: Pick<Scene, "run" | "other" | "view">): (points: Points, i: number) => number {
  return ordinateOf(scene) === "response" ? responseNs : latencyNs;
}
