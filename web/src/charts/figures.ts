/** Figures of the whole run as the summary has them: no chart counts them a second time. */

import type { PageRun } from "../format/page";

/** A cell of a table: plain words, or a figure of the summary. */
export type Cell = string | FigureCell;

export interface FigureCell {
  readonly text: string;
  /** Its path in `iosonar show --json`. */
  readonly figure: string;
  /** 0 is A. */
  readonly run: number;
  /** In the unit of the JSON. */
  readonly value: number;
}

export function figureOf(run: PageRun | undefined, path: string): number | undefined {
  return run?.figures[path];
}

/** A figure in words; `–` where the summary has none. */
export function figureCell(run: PageRun | undefined, index: number, path: string, write: (value: number) => string): Cell {
  const value = figureOf(run, path);
  return value === undefined ? "–" : { text: write(value), figure: path, run: index, value };
}

export function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}
