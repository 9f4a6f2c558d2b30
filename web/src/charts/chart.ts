/**
 * A small chart that needs no more than what the page says about a run: no blocks, no zoom. A new one is a file beside
 * this one and a line in `small.ts`.
 */

import type { PageMeta } from "../format/page";
import type { Box, Painter } from "../render/painter";
import type { Palette } from "../render/palette";
import type { Cell } from "./figures";

export interface ChartContext {
  readonly meta: PageMeta;
  readonly palette: Palette;
  /** Whether B is shown beside A, where there are two runs. */
  readonly showB: boolean;
  /** Densities of relations that are decoded, by run and id; absent while they are not. */
  readonly relation: (run: number, id: string) => RelationCounts | undefined;
}

/** Counts of a relation: `cells[column * slots + slot]` of all classes that are switched on. */
export interface RelationCounts {
  readonly columns: number;
  readonly slots: number;
  readonly reads: Uint32Array;
  readonly writes: Uint32Array;
}

/** What lies under the pointer, in words; absent where there is nothing. */
export type Hover = (x: number, y: number) => string | undefined;

export interface SmallChart {
  /** Name for `data-panel`. */
  readonly id: string;
  readonly title: string;
  /** CSS pixels. */
  readonly height: number;
  /** Whether there is anything to draw: a panel without data is absent. */
  readonly has: (meta: PageMeta) => boolean;
  /** One sentence for whoever cannot see the picture. */
  readonly describe: (context: ChartContext) => string;
  /** The numbers as a table: head, then rows. */
  readonly table: (context: ChartContext) => readonly (readonly Cell[])[];
  readonly draw: (painter: Painter, box: Box, context: ChartContext) => Hover;
  /** Whether it can show a part of the requests. */
  readonly isFiltered?: boolean;
}
