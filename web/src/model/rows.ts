/** Rows of durations: where each begins, and which slot holds what. */

import type { GridForm } from "../format/page";

/** Slot 0 is below the lowest row, slot r + 1 is row r, the last is above all rows. */
export class Rows {
  readonly slots: number;

  constructor(readonly form: GridForm) {
    this.slots = form.rows + 2;
  }

  /** Position in slots, with fractions: slot s covers s to s + 1. Durations below 1 ns lie in slot 0. */
  position(ns: number): number {
    return 1 + this.form.rows_per_decade * Math.log10(Math.max(ns, 1) / this.form.floor_ns);
  }

  /** The duration at a position. */
  duration(position: number): number {
    return this.form.floor_ns * 10 ** ((position - 1) / this.form.rows_per_decade);
  }

  slotOf(ns: number): number {
    const slot = Math.floor(this.position(ns));
    // Edges are whole nanoseconds, rounded up.
    const exact =
      slot >= 1 && ns < this.begin(slot)
        ? slot - 1
        : slot + 1 < this.slots && ns >= this.begin(slot + 1)
          ? slot + 1
          : slot;
    return Math.min(Math.max(exact, 0), this.slots - 1);
  }

  /** Lower edge of a slot in whole nanoseconds. */
  begin(slot: number): number {
    return slot <= 0 ? 0 : Math.ceil(this.duration(slot) - 1e-6);
  }

  /** What stands for the requests of a slot: the geometric middle, 0 below all rows. */
  middle(slot: number): number {
    return slot <= 0 ? 0 : this.duration(slot + (slot === this.slots - 1 ? 0 : 0.5));
  }
}
