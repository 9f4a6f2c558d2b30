/** How many requests were in a state at the same time, in bands of equal width. */

export interface Levels {
  readonly least: Float64Array<ArrayBuffer>;
  /** Half of the time of the band there were at most so many. */
  readonly median: Float64Array<ArrayBuffer>;
  readonly most: Float64Array<ArrayBuffer>;
}

/** `starts` and `ends` are sorted, each by itself. */
export function levels(starts: Float64Array, ends: Float64Array, width: number, columns: number): Levels {
  const [least, median, most] = [new Float64Array(columns), new Float64Array(columns), new Float64Array(columns)];
  for (let column = 0, s = 0, e = 0, level = 0; column < columns; column++) {
    const end = (column + 1) * width;
    const times = new Map<number, number>();
    let at = column * width;
    let [low, high] = [level, level];
    const spend = (until: number) => {
      times.set(level, (times.get(level) ?? 0) + until - at);
      at = until;
    };
    for (;;) {
      const [next, done] = [starts[s] ?? Infinity, ends[e] ?? Infinity];
      if (Math.min(next, done) >= end) break;
      // An end comes before a start at the same time, but never before its own start.
      const isEnd = done <= next && level > 0;
      spend(Math.max(at, isEnd ? done : next));
      level += isEnd ? -1 : 1;
      if (isEnd) e++;
      else s++;
      [low, high] = [Math.min(low, level), Math.max(high, level)];
    }
    spend(end);
    [least[column], median[column], most[column]] = [low, middleOf(times, width), high];
  }
  return { least, median, most };
}

function middleOf(times: ReadonlyMap<number, number>, width: number): number {
  let left = width / 2;
  const all = [...times].sort(([a], [b]) => a - b);
  return (all.find(([, time]) => (left -= time) <= 0) ?? all.at(-1) ?? [0])[0];
}
