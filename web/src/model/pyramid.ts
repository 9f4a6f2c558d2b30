/**
 * Exact counts of one class over columns and slots, at the stored width and at each power of two above it. Coarser levels
 * are made by adding neighbours, so that any view reads about one column a pixel, and any range is a few columns.
 */

/** Columns of a tile. */
export const TILE = 256;
/** A cell with this number is told in the overflow map. */
export const FULL = 0xffff;

/** Cells of 256 columns: `cells[slot * 256 + column]`. */
export interface Tile {
  readonly cells: Uint16Array<ArrayBuffer>;
  /** Exact counts of cells that are `FULL`. */
  readonly overflow: Map<number, number>;
  /** Slots that may hold anything: low ≤ slot < high. */
  low: number;
  high: number;
}

export interface Level {
  readonly columns: number;
  readonly tiles: (Tile | undefined)[];
}

/** Levels from the stored one to a single column. */
export interface Pyramid {
  readonly slots: number;
  readonly total: number;
  readonly levels: readonly Level[];
}

export function emptyLevel(columns: number): Level {
  return { columns, tiles: new Array<Tile | undefined>(Math.ceil(columns / TILE)).fill(undefined) };
}

/** Adds to a cell; tiles come into being with their first count. */
export function add(level: Level, slots: number, column: number, slot: number, count: number): void {
  const number = Math.floor(column / TILE);
  const tile = (level.tiles[number] ??= newTile(slots));
  addTo(tile, slot, slot * TILE + (column % TILE), count);
}

export function newTile(slots: number): Tile {
  return { cells: new Uint16Array(slots * TILE), overflow: new Map(), low: slots, high: 0 };
}

export function addTo(tile: Tile, slot: number, index: number, count: number): void {
  if (slot < tile.low) tile.low = slot;
  if (slot >= tile.high) tile.high = slot + 1;
  const sum = countAt(tile, index) + count;
  if (sum >= FULL) tile.overflow.set(index, sum);
  tile.cells[index] = Math.min(sum, FULL);
}

/** The exact count of a cell. */
export function countAt(tile: Tile, index: number): number {
  const count = tile.cells[index]!;
  return count === FULL ? tile.overflow.get(index)! : count;
}

/** All levels above a finished one. */
export function pyramid(finest: Level, slots: number): Pyramid {
  const levels = [finest];
  for (let level = finest; level.columns > 1;) levels.push((level = coarser(level, slots)));
  return { slots, total: sum(finest), levels };
}

function coarser(fine: Level, slots: number): Level {
  const coarse = emptyLevel(Math.ceil(fine.columns / 2));
  fine.tiles.forEach((from, number) => {
    if (!from) return;
    const to = (coarse.tiles[number >> 1] ??= newTile(slots));
    fold(from, to, (number & 1) * (TILE / 2));
  });
  return coarse;
}

/** Adds pairs of columns into half as many, which begin at `begin`. */
function fold(from: Tile, to: Tile, begin: number): void {
  to.low = Math.min(to.low, from.low);
  to.high = Math.max(to.high, from.high);
  for (let slot = from.low; slot < from.high; slot++) {
    const row = slot * TILE;
    for (let column = 0; column < TILE; column += 2) {
      const [a, b] = [from.cells[row + column]!, from.cells[row + column + 1]!];
      if ((a | b) === 0) continue;
      const index = row + begin + (column >> 1);
      if (a + b < FULL) to.cells[index] = a + b;
      else addTo(to, slot, index, countAt(from, row + column) + countAt(from, row + column + 1));
    }
  }
}

function sum(level: Level): number {
  let total = 0;
  for (const tile of level.tiles) {
    if (!tile) continue;
    for (const count of tile.cells) total += count;
    for (const count of tile.overflow.values()) total += count - FULL;
  }
  return total;
}

/** Counts by slot over columns `begin` ≤ c < `end` of the stored level, added to `into`. */
export function addRange(p: Pyramid, begin: number, end: number, into: Float64Array): void {
  let a = Math.max(begin, 0);
  let b = Math.min(end, p.levels[0]!.columns);
  for (const level of p.levels) {
    if (a >= b) return;
    if (a & 1) addColumn(level, a++, into);
    if (b & 1) {
      // The last column of an odd number of them has no neighbour: it is itself again one level up.
      if (b === level.columns && level.columns > 1 && a < b) b++;
      else if (a < b) addColumn(level, --b, into);
    }
    if (level.columns === 1) {
      if (a < b) addColumn(level, 0, into);
      return;
    }
    a >>= 1;
    b >>= 1;
  }
}

function addColumn(level: Level, column: number, into: Float64Array): void {
  const tile = level.tiles[Math.floor(column / TILE)];
  if (!tile) return;
  for (let slot = tile.low; slot < tile.high; slot++) {
    const index = slot * TILE + (column % TILE);
    if (tile.cells[index]) into[slot]! += countAt(tile, index);
  }
}

/** The finest level whose columns are at least `width` stored columns wide. */
export function levelFor(p: Pyramid, width: number): number {
  const level = Math.ceil(Math.log2(Math.max(width, 1)) - 1e-9);
  return Math.max(0, Math.min(level, p.levels.length - 1));
}
