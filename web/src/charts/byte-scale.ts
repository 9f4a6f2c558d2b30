/** Scales of bytes, whose round values are powers of two. */

import type { Scale } from "../render/scale";
import { LinearScale, LogScale } from "../render/scale";

/** Linear from 0; ticks are round in the unit in which they are told. */
export class ByteScale implements Scale {
  private readonly inUnits: LinearScale;
  private readonly unit: number;
  readonly from = 0;

  constructor(
    readonly to: number,
    a: number,
    b: number,
  ) {
    this.unit = 1024 ** Math.floor(Math.log2(Math.max(to, 1)) / 10);
    this.inUnits = new LinearScale(0, to / this.unit, a, b);
  }

  at(value: number): number {
    return this.inUnits.at(value / this.unit);
  }

  invert(pixel: number): number {
    return this.inUnits.invert(pixel) * this.unit;
  }

  ticks(n: number): number[] {
    return this.inUnits.ticks(n).map((value) => value * this.unit);
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
