/** Scales of bytes, whose round values are powers of two. */

import { LinearScale, LogScale } from "../render/scale";

/** Linear from 0; ticks are multiples of a power of two. */
export class ByteScale extends LinearScale {
  constructor(to: number, a: number, b: number) {
    super(0, to, a, b);
  }

  override ticks(n: number): number[] {
    const step = 2 ** Math.max(0, Math.ceil(Math.log2(this.to / Math.max(n, 1))));
    return Array.from({ length: Math.floor(this.to / step) + 1 }, (_, i) => i * step);
  }
}

/** Logarithmic; ticks are powers of two, equally far apart. */
export class LogByteScale extends LogScale {
  override ticks(n: number): number[] {
    const [low, high] = [Math.ceil(Math.log2(this.from) - 1e-9), Math.floor(Math.log2(this.to) + 1e-9)];
    const stride = Math.max(1, Math.ceil((high - low + 1) / Math.max(n, 1)));
    const first = Math.ceil(low / stride) * stride;
    return Array.from(
      { length: Math.max(0, Math.floor((high - first) / stride) + 1) },
      (_, i) => 2 ** (first + i * stride),
    );
  }
}
