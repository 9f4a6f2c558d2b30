/** Counts over two quantities: edges, sums and percentiles. */

import type { GridForm, PageRelation } from "../format/page";
import type { RelationCounts } from "./chart";

/** The last column has no edge behind it. */
const LAST_COLUMN = 1.07;

export interface Quantile {
  readonly name: string;
  readonly share: number;
  /** Fewest requests of a column for it. */
  readonly least: number;
  readonly width: number;
}

export const QUANTILES: readonly Quantile[] = [
  { name: "median", share: 0.5, least: 10, width: 2 },
  { name: "p99", share: 0.99, least: 100, width: 1 },
];

/** Sums are kept with the counts, which never change: a chart is drawn more often than decoded. */
const known = new WeakMap<RelationCounts, Counts>();

export class Counts {
  /** Columns and slots that hold anything: first and last. */
  readonly columns: readonly [number, number];
  readonly slots: readonly [number, number];
  private readonly totals: Float64Array;

  static of(form: GridForm, edges: PageRelation["edges"], cells: RelationCounts): Counts {
    const counts = known.get(cells) ?? new Counts(form, edges, cells);
    known.set(cells, counts);
    return counts;
  }

  private constructor(
    private readonly form: GridForm,
    private readonly edges: PageRelation["edges"],
    readonly cells: RelationCounts,
  ) {
    const { reads, writes, slots } = cells;
    this.totals = new Float64Array(cells.columns);
    let [low, high] = [slots, -1];
    for (let column = 0; column < cells.columns; column++) {
      let sum = 0;
      for (let slot = 0; slot < slots; slot++) {
        const n = (reads[column * slots + slot] ?? 0) + (writes[column * slots + slot] ?? 0);
        if (n === 0) continue;
        sum += n;
        if (slot < low) low = slot;
        if (slot > high) high = slot;
      }
      this.totals[column] = sum;
    }
    this.slots = [low, high];
    this.columns = [this.totals.findIndex((n) => n > 0), this.totals.findLastIndex((n) => n > 0)];
  }

  get isEmpty(): boolean {
    return this.slots[1] < 0;
  }

  at(column: number, slot: number): number {
    const cell = column * this.cells.slots + slot;
    return (this.cells.reads[cell] ?? 0) + (this.cells.writes[cell] ?? 0);
  }

  total(column: number): number {
    return this.totals[column] ?? 0;
  }

  /** Requests in all columns. */
  all(): number {
    return this.totals.reduce((sum, n) => sum + n, 0);
  }

  /** Columns with so many requests. */
  columnsWith(least: number): number[] {
    return [...this.totals.keys()].filter((column) => this.total(column) >= least);
  }

  /** Lower edge of a column; of the one behind the last its end. */
  edge(column: number): number {
    return this.edges[column] ?? (this.edges[this.edges.length - 1] ?? 1) * LAST_COLUMN;
  }

  /** The column of a value. */
  columnOf(value: number): number {
    const behind = this.edges.findIndex((edge) => edge > value);
    return (behind < 0 ? this.edges.length : behind) - 1;
  }

  /** Lower edge of a slot; what is below all rows has the width of a row here. */
  slotEdge(slot: number): number {
    return this.form.floor_ns * 10 ** ((slot - 1) / this.form.rows_per_decade);
  }

  /** The slot, with fractions, of a duration. */
  slotOf(ns: number): number {
    return Math.log10(Math.max(ns, 1) / this.form.floor_ns) * this.form.rows_per_decade + 1;
  }

  /** Time that a share of the requests of columns `from` to `to` took at most: the middle of a row, 0 below all of them. */
  quantile(share: number, from: number, to = from): number {
    const { reads, writes, slots } = this.cells;
    let left = 0;
    for (let column = from; column <= to; column++) left += this.total(column);
    left = Math.ceil(left * share);
    let slot = this.slots[0];
    for (; slot < this.slots[1]; slot++) {
      for (let cell = from * slots + slot; cell <= to * slots + slot; cell += slots) left -= (reads[cell] ?? 0) + (writes[cell] ?? 0);
      if (left <= 0) break;
    }
    return slot === 0 ? 0 : this.slotEdge(slot + 0.5);
  }
}
