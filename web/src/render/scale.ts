/** From values to pixels and back. */

export interface Scale {
  readonly from: number;
  readonly to: number;
  /** Pixel of a value. */
  at(value: number): number;
  /** Value at a pixel. */
  invert(pixel: number): number;
  /** About `n` round values inside, at most twice as many, ascending. */
  ticks(n: number): number[];
}

/** Digits with which round numbers begin. */
const DIGITS = [1, 2, 5] as const;
/** What is less than this part of a step beside an end counts as at it. */
const SLACK = 1e-9;

/** The least of 1, 2, 5, 10 … that is not below `least`. */
export function roundStep(least: number): number {
  if (!(least > 0) || !Number.isFinite(least)) return 1;
  const decade = 10 ** Math.floor(Math.log10(least) + SLACK);
  const digit = [...DIGITS, 10].find((d) => d * decade >= least * (1 - SLACK)) ?? 10;
  return digit * decade;
}

/** Multiples of `step` from `from` to `to`. */
export function multiples(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step - SLACK);
  const last = Math.floor(to / step + SLACK);
  // Only a broken step could ask for so many.
  if (!(last - first < 10_000)) return [];
  // Products keep round numbers round: 3 · 0.1 is not, 3 ÷ 10 is.
  const inverse = Math.round(1 / step);
  const exact = (i: number) => (step < 1 && inverse < 2 ** 53 ? i / inverse : i * step);
  // Zero without a sign, whatever the first is.
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => exact(first + i) + 0);
}

/** Equal differences are equally far apart. */
export class LinearScale implements Scale {
  /** Values `from` and `to` lie at pixels `a` and `b`. */
  constructor(
    readonly from: number,
    readonly to: number,
    private readonly a: number,
    private readonly b: number,
  ) {}

  at(value: number): number {
    const span = this.to - this.from;
    return span === 0 ? (this.a + this.b) / 2 : this.a + ((value - this.from) / span) * (this.b - this.a);
  }

  invert(pixel: number): number {
    const span = this.b - this.a;
    return span === 0 ? this.from : this.from + ((pixel - this.a) / span) * (this.to - this.from);
  }

  ticks(n: number): number[] {
    const [low, high] = [Math.min(this.from, this.to), Math.max(this.from, this.to)];
    if (low === high) return [low];
    return multiples(low, high, roundStep((high - low) / Math.max(1, n)));
  }
}

/** Equal ratios are equally far apart. What is not above zero lies at the lower end. */
export class LogScale implements Scale {
  constructor(
    readonly from: number,
    readonly to: number,
    private readonly a: number,
    private readonly b: number,
  ) {}

  at(value: number): number {
    const span = Math.log(this.to / this.from);
    if (!(value > 0)) return this.a;
    return span === 0 ? (this.a + this.b) / 2 : this.a + (Math.log(value / this.from) / span) * (this.b - this.a);
  }

  invert(pixel: number): number {
    const span = this.b - this.a;
    return span === 0 ? this.from : this.from * (this.to / this.from) ** ((pixel - this.a) / span);
  }

  ticks(n: number): number[] {
    const [low, high] = [Math.min(this.from, this.to), Math.max(this.from, this.to)];
    const decades = Math.log10(high / low);
    if (!(low > 0) || !(decades > 0)) return [low];
    // So few decades that even 1, 2 and 5 are too coarse.
    const fine = new LinearScale(low, high, this.a, this.b).ticks(n);
    const digits = this.digits(low, high, n / decades);
    return decades < 1 && digits.length < Math.min(3, n) ? fine.filter((v) => v > 0) : digits;
  }

  private digits(low: number, high: number, perDecade: number): number[] {
    const digits = perDecade >= 3 ? DIGITS : [1];
    const stride = perDecade >= 1 ? 1 : Math.ceil(1 / perDecade - SLACK);
    const first = Math.floor(Math.log10(low) + SLACK);
    const last = Math.ceil(Math.log10(high) - SLACK);
    const ticks: number[] = [];
    for (let e = Math.ceil(first / stride) * stride; e <= last; e += stride) {
      // Powers below one are quotients, so that they are round.
      digits.forEach((d) => ticks.push(e < 0 ? d / 10 ** -e : d * 10 ** e));
    }
    return ticks.filter((v) => v >= low * (1 - SLACK) && v <= high * (1 + SLACK));
  }
}
