import type { Operation } from "../format/classes";

/** What is known about one request. */
export interface RequestFacts {
  /** Number in its load or pattern, from 0. */
  readonly number: number;
  readonly target: number;
  readonly worker: number;
  /** From 0. */
  readonly pass: number;
  readonly op: Operation;
  /** Pushed back by a request on the same place. */
  readonly pushed: boolean;
  readonly failed: boolean;
  readonly exceptional: boolean;
  /** When it was wanted; with the delay, this makes the submission. */
  readonly dueNs: number;
  readonly submittedNs: number;
  readonly latencyNs: number;
  readonly delayNs: number;
  readonly completedNs: number;
  readonly offsetBytes: number;
  readonly lengthBytes: number;
  /** Requests that were submitted before and not completed when this one was submitted. */
  readonly inFlightThen?: number;
  /** 1 is the slowest of those whose facts are known. */
  readonly rank?: number;
  /** Label of the band in which its latency lies. */
  readonly band?: string;
  /** The same request in the other run. */
  readonly other?: { readonly latencyNs: number };
}
