/** What a few values tell, as `iosonar analyze` reckons it (`crates/analyze/src/findings/passes.rs`). */

/** Fewest passes among which one can stand out, by how much at least, and what makes median deviations comparable. */
const FEWEST_FOR_OUTLIER = 5;
const LEAST_DEVIATION = 0.1;
const SIGMA = 1.4826;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** Ends of an interval that holds the true median with 95 %, by order statistics: absent where there are fewer than 6 values. */
export function interval(values: readonly number[]): [low: number, high: number] | undefined {
  const n = values.length;
  const sorted = [...values].sort((a, b) => a - b);
  let [probability, below, rank] = [0.5 ** Math.min(n, 1000), 0, 0];
  while (below + probability <= 0.025 && rank < Math.floor(n / 2)) {
    below += probability;
    probability *= (n - rank) / (rank + 1);
    rank += 1;
  }
  const [low, high] = [sorted[rank - 1], sorted[n - rank]];
  return low === undefined || high === undefined || n > 1000 ? undefined : [low, high];
}

/**
 * Tells which value is far from the median in units of the median deviation; of few values that is known badly, so the bound
 * is wider.
 */
export function outliers(values: readonly number[]): (value: number) => boolean {
  const [n, middle] = [values.length, median(values)];
  if (n < FEWEST_FOR_OUTLIER || !(middle > 0)) return () => false;
  const sigma = SIGMA * median(values.map((v) => Math.abs(v - middle)));
  const bound = Math.max(LEAST_DEVIATION * middle, sigma * (5 + 300 / n ** 2));
  return (value) => Math.abs(value - middle) >= bound;
}
