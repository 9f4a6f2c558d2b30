/** Facts of requests, column by column. */

import { FLUSH_CLASS } from "./classes";
import { Leb128 } from "./leb128";

export type Column =
  Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** Up to 65 536 requests, sorted by submission. */
export interface Points {
  readonly n: number;
  readonly fromUs: number;
  readonly toUs: number;
  readonly unit: number;
  /** Microseconds after `fromUs`. */
  readonly submitted: Column;
  /** Codes of durations. */
  readonly latency: Uint16Array<ArrayBuffer>;
  readonly delay: Uint16Array<ArrayBuffer>;
  readonly classes: Uint8Array<ArrayBuffer>;
  /** In units. */
  readonly length: Column;
  readonly place: Column;
  readonly number: Column;
  readonly target: Column;
  readonly worker: Column;
  readonly pass: Column;
}

const CLASS_MASK = 3;
export const FAILED = 4;
export const EXCEPTIONAL = 8;
const FLUSH = 16;

/** Number of the class in a byte of the class column: read, write, read-pushed, write-pushed, flush. */
export function classOf(flags: number): number {
  return flags & FLUSH ? FLUSH_CLASS : flags & CLASS_MASK;
}

/** Durations are told with this step. */
const STEP = 1.002;

/** What a code stands for: the middle of its step. */
export function durationOfCode(code: number): number {
  return code === 0 ? 0 : STEP ** (code - 0.5);
}

/** The code of a duration. */
export function codeOfDuration(ns: number): number {
  return ns < 1 ? 0 : Math.floor(Math.log(ns) / Math.log(STEP)) + 1;
}

export function decodePoints(bytes: Uint8Array, n: number, fromUs: number, toUs: number, unit: number): Points {
  const reader = new Leb128(bytes);
  const submitted = differences(n, () => reader.next());
  const latency = planes(reader, n);
  const delay = planes(reader, n);
  const classes = reader.take(n).slice();
  const length = plain(n, reader);
  const place = differences(n, () => reader.nextZigzag());
  const number = differences(n, () => reader.nextZigzag());
  const [target, worker, pass] = [plain(n, reader), plain(n, reader), plain(n, reader)];
  if (!reader.isAtEnd) throw new Error("a block of requests is too long");
  return { n, fromUs, toUs, unit, submitted, latency, delay, classes, length, place, number, target, worker, pass };
}

function planes(reader: Leb128, n: number): Uint16Array<ArrayBuffer> {
  const low = reader.take(n);
  const high = reader.take(n);
  const codes = new Uint16Array(n);
  for (let i = 0; i < n; i++) codes[i] = low[i]! | (high[i]! << 8);
  return codes;
}

function differences(n: number, next: () => number): Column {
  const values = new Float64Array(n);
  for (let i = 0, value = 0; i < n; i++) values[i] = value += next();
  return narrow(values);
}

function plain(n: number, reader: Leb128): Column {
  const values = new Float64Array(n);
  for (let i = 0; i < n; i++) values[i] = reader.next();
  return narrow(values);
}

/** The same numbers in the narrowest array that holds them: a million requests take 25 MB instead of 60. */
function narrow(values: Float64Array<ArrayBuffer>): Column {
  let most = 0;
  for (const value of values) {
    if (value < 0) return values;
    if (value > most) most = value;
  }
  if (most < 2 ** 8) return Uint8Array.from(values);
  if (most < 2 ** 16) return Uint16Array.from(values);
  return most < 2 ** 32 ? Uint32Array.from(values) : values;
}
