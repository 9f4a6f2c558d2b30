/** A painter that draws nothing and keeps everything, for tests. */

import type { Box, Color, Painter, Pixels, Point, Stroke, TextStyle } from "../src/render/painter";
import { estimateWidth, toFeet } from "../src/render/svg";

export interface DrawnText {
  readonly text: string;
  readonly box: Box;
  readonly style: TextStyle;
}

/** What letters reach above and below their feet, in sizes. */
const ABOVE = 0.8;
const BELOW = 0.22;

export class RecordingPainter implements Painter {
  readonly texts: DrawnText[] = [];
  readonly lines: { readonly points: readonly Point[]; readonly stroke: Stroke }[] = [];
  readonly fills: { readonly box: Box; readonly color: Color }[] = [];
  readonly areas: { readonly points: readonly Point[]; readonly color: Color }[] = [];
  readonly hatches: Box[] = [];
  readonly images: { readonly box: Box; readonly pixels: Pixels }[] = [];

  constructor(
    readonly width: number,
    readonly height: number,
  ) {}

  fill(box: Box, color: Color): void {
    this.fills.push({ box, color });
  }

  line(points: readonly Point[], stroke: Stroke): void {
    this.lines.push({ points, stroke });
  }

  area(points: readonly Point[], color: Color): void {
    this.areas.push({ points, color });
  }

  hatch(box: Box): void {
    this.hatches.push(box);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    if (text !== "") this.texts.push({ text, box: turned(textBox(x, y, text, style), x, y, style.rotate ?? 0), style });
  }

  measure(text: string, style: TextStyle): number {
    return estimateWidth(text, style);
  }

  image(box: Box, pixels: Pixels): void {
    this.images.push({ box, pixels });
  }

  clip(_box: Box, inside: () => void): void {
    inside();
  }

  /** Pairs of texts that lie upon one another. */
  overlaps(): string[] {
    const found: string[] = [];
    this.texts.forEach((a, i) => {
      for (const b of this.texts.slice(i + 1)) if (meet(a.box, b.box)) found.push(`"${a.text}" and "${b.text}"`);
    });
    return found;
  }

  /** Texts that are cut off at the picture's edge. */
  outside(): string[] {
    const { width, height } = this;
    const out = ({ box }: DrawnText) =>
      box.x < -0.5 || box.y < -0.5 || box.x + box.w > width + 0.5 || box.y + box.h > height + 0.5;
    return this.texts.filter(out).map(({ text }) => text);
  }

  /** Whether every coordinate is a number. */
  isFinite(): boolean {
    const points = [...this.lines, ...this.areas].flatMap((drawn) => drawn.points.flat());
    const boxes = [...this.texts, ...this.fills, ...this.images].map((drawn) => drawn.box).concat(this.hatches);
    return [...points, ...boxes.flatMap(({ x, y, w, h }) => [x, y, w, h])].every(Number.isFinite);
  }
}

function textBox(x: number, y: number, text: string, style: TextStyle): Box {
  const w = estimateWidth(text, style);
  const left = { start: x, middle: x - w / 2, end: x - w }[style.align ?? "start"];
  return { x: left, y: y + toFeet(style) - ABOVE * style.size, w, h: (ABOVE + BELOW) * style.size };
}

/** The box around a turned box. */
function turned(box: Box, cx: number, cy: number, degrees: number): Box {
  if (degrees === 0) return box;
  const [sin, cos] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  const corners = [0, 1].flatMap((i) => [0, 1].map((j) => [box.x + i * box.w - cx, box.y + j * box.h - cy] as const));
  const xs = corners.map(([x, y]) => cx + x * cos - y * sin);
  const ys = corners.map(([x, y]) => cy + x * sin + y * cos);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return { x: left, y: top, w: Math.max(...xs) - left, h: Math.max(...ys) - top };
}

function meet(a: Box, b: Box): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
