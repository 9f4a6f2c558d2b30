/** Whoever turns blocks into numbers: a worker, or the page itself. */

import type { CountBlock, PointBlockText } from "../format/block";
import type { Points } from "../format/points";
import type { Pyramid } from "./pyramid";

/** A result, and what was wrong with blocks that had to be skipped. */
export interface Done<T> {
  readonly value: T;
  readonly skipped: readonly string[];
}

export interface Decoder {
  grid(blocks: readonly CountBlock[], columns: number, slots: number): Promise<Done<Pyramid>>;
  series(blocks: readonly CountBlock[], columns: number): Promise<Done<Float64Array>>;
  /** Fails where the block is damaged. */
  points(block: PointBlockText): Promise<Points>;
}
