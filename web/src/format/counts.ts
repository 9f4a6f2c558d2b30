/** Numbers of a block: LEB128, and runs of zeros as 0 and their length less one. */

import { Leb128 } from "./leb128";

/** Calls `put` for each number above zero with its index. Returns the sum. */
export function eachCount(bytes: Uint8Array, put: (index: number, count: number) => void): number {
  const reader = new Leb128(bytes);
  let sum = 0;
  for (let index = 0; !reader.isAtEnd;) {
    const count = reader.next();
    if (count === 0) {
      index += reader.next() + 1;
      continue;
    }
    put(index++, count);
    sum += count;
  }
  return sum;
}

/** A number for each column. */
export function decodeSeries(bytes: Uint8Array, columns: number): Float64Array<ArrayBuffer> {
  const values = new Float64Array(columns);
  eachCount(bytes, (index, count) => {
    if (index < columns) values[index] = count;
  });
  return values;
}
