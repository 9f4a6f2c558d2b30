/** Blocks of requests for tests, without packing them. */

import { codeOfDuration, type Points } from "../src/format/points";

export interface TestRequest {
  readonly submittedUs: number;
  readonly latencyNs?: number;
  readonly delayNs?: number;
  /** As in the class column. */
  readonly flags?: number;
  readonly offset?: number;
  readonly length?: number;
  readonly target?: number;
  readonly worker?: number;
  readonly pass?: number;
  readonly number?: number;
}

/** A block; requests must be sorted by submission. */
export function pointsOf(requests: readonly TestRequest[], unit = 512): Points {
  const column = (of: (r: TestRequest, i: number) => number) => Float64Array.from(requests, of);
  const fromUs = requests[0]?.submittedUs ?? 0;
  return {
    n: requests.length,
    fromUs,
    toUs: requests.at(-1)?.submittedUs ?? 0,
    unit,
    submitted: column((r) => r.submittedUs - fromUs),
    latency: Uint16Array.from(requests, (r) => codeOfDuration(r.latencyNs ?? 100_000)),
    delay: Uint16Array.from(requests, (r) => codeOfDuration(r.delayNs ?? 0)),
    classes: Uint8Array.from(requests, (r) => r.flags ?? 0),
    length: column((r) => (r.length ?? 4096) / unit),
    place: column((r) => (r.offset ?? 0) / unit),
    number: column((r, i) => r.number ?? i),
    target: column((r) => r.target ?? 0),
    worker: column((r) => r.worker ?? 0),
    pass: column((r) => r.pass ?? 0),
  };
}
