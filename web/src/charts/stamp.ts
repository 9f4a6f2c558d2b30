/** Why figures are no storage result, inside of every picture, so that it survives being cut out. */

import type { Box, Painter, TextStyle } from "../render/painter";
import { faded, type Palette } from "../render/palette";
import type { PageRun } from "../format/page";

/** Degrees, as in the static pictures; in a flat strip along its diagonal. */
const MOST_SLANT = 22;
const LARGEST = 44;
const SMALLEST = 9;

export function stamp(p: Painter, box: Box, reasons: readonly string[], palette: Palette): void {
  if (reasons.length === 0) return;
  const angle = Math.min(Math.atan(box.h / box.w), (MOST_SLANT * Math.PI) / 180);
  const style = (size: number): TextStyle => ({
    size,
    color: faded(palette.bad, 0.4),
    bold: true,
    align: "middle",
    baseline: "middle",
    rotate: (-angle * 180) / Math.PI,
  });
  // Letters are about as high as their size.
  const sizeOf = (lines: readonly string[]) => {
    const wide = Math.max(...lines.map((line) => p.measure(line, style(100)))) / 100;
    return 0.9 * Math.min(box.w / (wide * Math.cos(angle)), box.h / (wide * Math.sin(angle) + lines.length), LARGEST / 0.9);
  };
  const one = [reasons.join(" · ")];
  const lines = sizeOf(one) < SMALLEST ? reasons : one;
  const size = Math.max(sizeOf(lines), SMALLEST);
  lines.forEach((line, i) => {
    const down = (i - (lines.length - 1) / 2) * size * 1.2;
    p.text(box.x + box.w / 2 + down * Math.sin(angle), box.y + box.h / 2 + down * Math.cos(angle), line, style(size));
  });
}

/** Reasons of all runs that a picture shows, each once. */
export function stampsOf(runs: readonly (Pick<PageRun, "stamps"> | undefined)[]): string[] {
  return [...new Set(runs.flatMap((run) => run?.stamps ?? []))];
}
