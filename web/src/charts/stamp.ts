/** Why figures are no storage result, inside of every picture, so that it survives being cut out. */

import type { Box, Painter, TextStyle } from "../render/painter";
import { faded, type Palette } from "../render/palette";

/** As in the static pictures. */
const SLANT = -22;
const LARGEST = 44;
const SMALLEST = 9;

export function stamp(p: Painter, box: Box, reasons: readonly string[], palette: Palette): void {
  if (reasons.length === 0) return;
  const text = reasons.join(" · ");
  const style = (size: number): TextStyle => ({
    size,
    color: faded(palette.bad, 0.4),
    bold: true,
    align: "middle",
    baseline: "middle",
    rotate: SLANT,
  });
  const wide = p.measure(text, style(100)) / 100;
  const angle = (-SLANT * Math.PI) / 180;
  const size = Math.min(box.w / (wide * Math.cos(angle)), box.h / (wide * Math.sin(angle)), LARGEST / 0.9) * 0.9;
  p.text(box.x + box.w / 2, box.y + box.h / 2, text, style(Math.max(size, SMALLEST)));
}
