/** Parts of a run in a row, and how evenly the load is spread over them. */

import type { PagePart } from "../format/page";
import type { ChartContext } from "./chart";

/** Two of them have room. */
export const KINDS = ["host", "target", "worker"] as const;
const MOST_KINDS = 2;
/** Fewer parts of one kind get this share of the width nevertheless. */
const LEAST_SHARE = 0.35;
/** Between two kinds, of the width. */
const GAP = 0.03;

/** A part at its place; parts of both kinds stand in one row. */
export interface Lane {
  readonly part: PagePart;
  /** Its number among its kind, from 0. */
  readonly number: number;
  /** Begin and width, of the whole width. */
  readonly from: number;
  readonly width: number;
  /** Rate, divided by the mean rate of its kind. */
  readonly load: number;
}

export function lanes({ meta }: ChartContext): Lane[] {
  const parts = meta.runs[0]?.parts ?? [];
  const several = KINDS.map((kind) => parts.filter((part) => part.kind === kind)).filter((same) => same.length > 1);
  const kinds = several.slice(0, MOST_KINDS);
  const room = 1 - GAP * (kinds.length - 1);
  const all = kinds.reduce((sum, same) => sum + same.length, 0);
  let at = 0;
  return kinds.flatMap((same) => {
    const share = kinds.length === 1 ? 1 : Math.max(LEAST_SHARE, Math.min(1 - LEAST_SHARE, same.length / all));
    const mean = same.reduce((sum, part) => sum + (part.rate ?? 0), 0) / same.length;
    const width = (share * room) / same.length;
    const begin = at;
    at += share * room + GAP;
    return same.map((part, number) => ({ part, number, from: begin + number * width, width, load: mean > 0 ? (part.rate ?? 0) / mean : 0 }));
  });
}

export function kindOf(all: readonly Lane[], kind: string): Lane[] {
  return all.filter(({ part }) => part.kind === kind);
}

/** The greatest rate, divided by the mean: 1 where all carry the same. */
export function imbalance(all: readonly Lane[]): number | undefined {
  const most = Math.max(0, ...all.map(({ load }) => load));
  return most > 0 ? most : undefined;
}
