/** Relations in words: what lies under the pointer, a sentence, a table. */

import type { PageMeta, PageRelation } from "../format/page";
import { count, counted, duration, percent } from "../render/units";
import type { ChartContext } from "./chart";
import { Counts, QUANTILES } from "./relation-counts";

/** What distinguishes these charts. */
export interface Kind {
  readonly id: string;
  readonly title: string;
  readonly x: string;
  readonly y: string;
  /** Words for values below all columns and rows. */
  readonly under: readonly [x: string, y: string];
  /** Behind the value of a column. */
  readonly unit: string;
  /** Lines of equal throughput: a queue of n that delivers X requests/s takes n ÷ X. */
  readonly isQueue?: boolean;
  /** Both axes are the latency of the same request, in A and in B. */
  readonly isPairs?: boolean;
  /** Whether it can show a part of the requests. */
  readonly isFiltered?: boolean;
}

/** Fewer requests in a column tell nothing of it. */
const ENOUGH = 10;

export function relationOf(meta: PageMeta, kind: Kind, run: number): PageRelation | undefined {
  if (kind.isPairs === true) return run === 0 ? meta.pairs?.density : undefined;
  return meta.runs[run]?.relations.find(({ id }) => id === kind.id);
}

export function countsOf(context: ChartContext, kind: Kind, run: number): Counts | undefined {
  const [relation, cells] = [relationOf(context.meta, kind, run), context.relation(run, kind.id)];
  return relation === undefined || cells === undefined ? undefined : Counts.of(context.meta.form, relation.edges, cells);
}

function columnName(counts: Counts, column: number, kind: Kind, isDuration: boolean): string {
  const [from, to] = [counts.edge(column), counts.edge(column + 1)];
  if (isDuration) return from === 0 ? kind.under[0] : `${duration(from)} to ${duration(to)} ${kind.unit}`.trim();
  return to - from <= 1 ? `${count(from)} ${kind.unit}` : `${count(from)} to ${count(Math.ceil(to) - 1)} ${kind.unit}`;
}

function timeName(ns: number, kind: Kind): string {
  return ns === 0 ? kind.under[1] : duration(ns);
}

/** What a column has in a few slots. */
export function underPointer(
  counts: Counts,
  kind: Kind,
  isDuration: boolean,
  column: number | undefined,
  slots: readonly [number, number] | undefined,
): string | undefined {
  if (column === undefined || slots === undefined || counts.total(column) === 0) return undefined;
  const [low, high] = slots;
  const time = high === 0 ? kind.under[1] : `${duration(counts.slotEdge(low))} to ${duration(counts.slotEdge(high + 1))}`;
  const middle = counts.total(column) < ENOUGH ? "" : `; median of the column ${timeName(counts.quantile(0.5, column), kind)}`;
  const name = columnName(counts, column, kind, isDuration);
  const where = kind.isPairs === true ? `A ${name}, B ${time}` : `${name}, ${kind.y} ${time}`;
  let n = 0;
  for (let slot = low; slot <= high; slot++) n += counts.at(column, slot);
  return `${where}: ${counted(n, "request")}${middle}`;
}

export function describe(context: ChartContext, kind: Kind): string {
  const [counts, relation] = [countsOf(context, kind, 0), relationOf(context.meta, kind, 0)];
  const all = (relation?.totals ?? []).reduce((a, b) => a + b, 0);
  const { pairs } = context.meta;
  if (kind.isPairs === true && pairs !== null) {
    return `${kind.title}: ${count(pairs.pairs)} pairs, ${percent(pairs.slower_in_b)} slower in B, ${percent(pairs.faster_in_b)} faster.`;
  }
  const columns = counts?.columnsWith(ENOUGH) ?? [];
  const [first, last] = [columns[0], columns[columns.length - 1]];
  if (counts === undefined || first === undefined || last === undefined) return `${kind.title}: ${counted(all, "request")}.`;
  const ends = [first, last].map((column) => {
    const name = columnName(counts, column, kind, relation?.is_duration === true);
    return `${timeName(counts.quantile(0.5, column), kind)} (${name})`;
  });
  return `${kind.title}: the median goes from ${ends.join(" to ")}, of ${counted(counts.all(), "request")}.`;
}

export function table(context: ChartContext, kind: Kind): string[][] {
  const head = [kind.x, "requests", ...QUANTILES.map(({ name }) => name)];
  const counts = countsOf(context, kind, 0);
  if (counts === undefined) return [head];
  const isDuration = relationOf(context.meta, kind, 0)?.is_duration === true;
  const rows = counts.columnsWith(1).map((column) => [
    columnName(counts, column, kind, isDuration),
    count(counts.total(column)),
    ...QUANTILES.map(({ share, least }) => (counts.total(column) < least ? "" : timeName(counts.quantile(share, column), kind))),
  ]);
  return [head, ...rows];
}
