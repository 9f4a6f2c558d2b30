/** The numbers of one run: blocks of the page, decoded when they are first needed. */

import type { CountBlock, RunBlocks } from "../format/block";
import { CLASSES } from "../format/classes";
import type { GridForm, PageRun } from "../format/page";
import type { RelationCounts } from "../charts/chart";
import type { Decoder } from "./decoder";
import { PointStore } from "./point-store";
import { countAt, type Pyramid, TILE } from "./pyramid";

/** One pyramid for each class; absent where the class has no requests. */
export type ClassPyramids = readonly (Pyramid | undefined)[];

/** Grids that stay decoded beside the one over submission of each ordinate. */
const KEPT = 4;

export class RunData {
  readonly points: PointStore;
  private readonly grids = new Map<string, ClassPyramids>();
  private readonly pending = new Map<string, Promise<void>>();
  private readonly series = new Map<string, Float64Array>();
  private readonly relations = new Map<string, RelationCounts>();

  constructor(
    readonly run: PageRun,
    private readonly form: GridForm,
    private readonly blocks: RunBlocks,
    private readonly decoder: Decoder,
    private readonly onSkipped: (what: string) => void,
    /** Something was decoded; with the name of a grid, only that. */
    private readonly onChange: (grid?: string) => void,
    /** Single requests that are decoded already. */
    points?: PointStore,
  ) {
    this.points = points ?? new PointStore(run.detail, blocks.points, decoder, onSkipped, () => onChange());
  }

  /** A grid, or undefined while it is being decoded. */
  grid(id: string): ClassPyramids | undefined {
    const grid = this.grids.get(id);
    if (!grid) void this.loadGrid(id);
    return grid;
  }

  async loadGrid(id: string): Promise<void> {
    const known = this.run.grids.find((g) => g.id === id) ?? (id === "seek" ? this.run.seek : undefined);
    if (!known || this.grids.has(id)) return;
    await this.once(id, async () => {
      const pyramids = await Promise.all(CLASSES.map((name) => this.pyramid(`grid/${id}/${name}`, known.columns)));
      this.forget(id);
      this.grids.set(id, pyramids);
    });
  }

  /** Values of a series: zeros where it has no block, undefined where there is no such series or it is not yet decoded. */
  numbers(id: string): Float64Array | undefined {
    return this.series.get(id);
  }

  async loadSeries(): Promise<void> {
    await Promise.all(
      this.run.series.map(async ({ id, columns }) => {
        const blocks = this.blocks.counts.get(`series/${id}`) ?? [];
        const { value, skipped } = await this.decoder.series(blocks, columns);
        skipped.forEach((why) => this.onSkipped(`${id}: ${why}`));
        this.series.set(id, value);
      }),
    );
    this.onChange();
  }

  relation(id: string): RelationCounts | undefined {
    return this.relations.get(id);
  }

  /** The replayer's own doing is drawn whole like a relation: nobody zooms into it. */
  async loadRelations(): Promise<void> {
    const health = this.run.grids.filter((g) => g.id === "issue_error" || g.id === "reap_lag");
    const wanted = [...this.run.relations.map((r) => ({ id: r.id, columns: r.edges.length })), ...health];
    for (const { id, columns } of wanted) await this.loadRelation(id, columns);
    this.onChange();
  }

  async loadRelation(id: string, columns: number): Promise<void> {
    const pyramids = await Promise.all(CLASSES.map((name) => this.pyramid(`grid/${id}/${name}`, columns)));
    const slots = this.form.rows + 2;
    const [read, write, readPushed, writePushed] = pyramids;
    const reads = flat([read, readPushed], columns, slots);
    this.relations.set(id, { columns, slots, reads, writes: flat([write, writePushed], columns, slots) });
  }

  private async pyramid(key: string, columns: number): Promise<Pyramid | undefined> {
    const blocks: readonly CountBlock[] | undefined = this.blocks.counts.get(key);
    if (!blocks || columns === 0) return undefined;
    const { value, skipped } = await this.decoder.grid(blocks, columns, this.form.rows + 2);
    skipped.forEach((why) => this.onSkipped(`${key}: ${why}`));
    return value;
  }

  private async once(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.pending.get(key);
    if (running) return running;
    const promise = work().catch((error) => this.onSkipped(`${key}: ${error}`));
    this.pending.set(key, promise);
    await promise;
    this.pending.delete(key);
    this.onChange(key);
  }

  /** Other time bases are large: only those that were looked at last stay. */
  private forget(coming: string): void {
    const others = [...this.grids.keys()].filter(
      (id) => /^(latency|response)\./.test(id) && !id.endsWith(".start") && id !== coming,
    );
    if (others.length >= KEPT) this.grids.delete(others[0]!);
  }
}

function flat(pyramids: readonly (Pyramid | undefined)[], columns: number, slots: number): Uint32Array {
  const cells = new Uint32Array(columns * slots);
  for (const p of pyramids) {
    p?.levels[0]!.tiles.forEach((tile, number) => {
      if (!tile) return;
      for (let index = tile.low * TILE; index < tile.high * TILE; index++) {
        const column = number * TILE + (index % TILE);
        if (tile.cells[index] && column < columns)
          cells[column * slots + Math.floor(index / TILE)]! += countAt(tile, index);
      }
    });
  }
  return cells;
}
