/** Rows of durations: where each begins, and which slot holds what. */

import type { GridForm } from "../format/page";

/** A number as a 32-bit float, and its bits. */
const single = new Float32Array(1);
const bits = new Uint32Array(single.buffer);
/** Bits after those of the key of a number: its sign, its exponent, and six bits of its fraction, 1.6 %. */
const KEY_SHIFT = 17;
/** Keys of the numbers from 0. */
const KEYS = 1 << (31 - KEY_SHIFT);

/** Slot 0 is below the lowest row, slot r + 1 is row r, the last is above all rows. */
export class Rows {
  readonly slots: number;
  /** Lower edges of the slots. */
  private readonly begins: Float64Array;
  /** By key, the first slot of numbers with this key: a logarithm for each request would take most of a frame. */
  private readonly firsts: Int16Array;

  constructor(readonly form: GridForm) {
    this.slots = form.rows + 2;
    // Edges are whole nanoseconds, rounded up.
    const begin = (slot: number) => (slot === 0 ? 0 : Math.ceil(this.duration(slot) - 1e-6));
    this.begins = Float64Array.from({ length: this.slots + 1 }, (_, slot) => begin(slot));
    this.firsts = Int16Array.from({ length: KEYS }, (_, key) => this.firstOf(key));
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
    single[0] = ns;
    let slot = this.firsts[bits[0]! >>> KEY_SHIFT] ?? 0;
    while (slot + 1 < this.slots && ns >= this.begins[slot + 1]!) slot++;
    return slot;
  }

  /** A slot at or below that of each number with a key; numbers are rounded to 32 bits before. */
  private firstOf(key: number): number {
    bits[0] = key << KEY_SHIFT;
    const slot = Math.floor(this.position(single[0]! * (1 - 1e-6))) - 1;
    return Math.min(Math.max(slot, 0), this.slots - 1) || 0;
  }

  /** Lower edge of a slot in whole nanoseconds; after the last slot, its upper one. */
  begin(slot: number): number {
    return this.begins[Math.min(Math.max(slot, 0), this.slots)]!;
  }

  /** What stands for the requests of a slot: the geometric middle, 0 below all rows. */
  middle(slot: number): number {
    return slot <= 0 ? 0 : this.duration(slot + (slot === this.slots - 1 ? 0 : 0.5));
  }
}
