/**
 * What charts draw with. Charts know neither canvas nor SVG: the same chart is shown, saved as a picture and looked at by
 * tests. Lengths are CSS pixels; x grows to the right, y downward.
 */

/** A CSS colour, `#rrggbb` or `#rrggbbaa`. */
export type Color = string;

export interface Stroke {
  readonly color: Color;
  readonly width: number;
  readonly dash?: readonly number[];
}

export interface TextStyle {
  readonly size: number;
  readonly color: Color;
  readonly bold?: boolean;
  readonly align?: "start" | "middle" | "end";
  readonly baseline?: "top" | "middle" | "alphabetic";
  /** Degrees, clockwise, around (x, y). */
  readonly rotate?: number;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** Pixels of a density, row after row, red, green, blue, alpha. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray<ArrayBuffer>;
}

export type Point = readonly [x: number, y: number];

export interface Painter {
  readonly width: number;
  readonly height: number;
  fill(box: Box, color: Color): void;
  /** A line through the points. */
  line(points: readonly Point[], stroke: Stroke): void;
  /** The area inside the points. */
  area(points: readonly Point[], color: Color): void;
  /** Stripes in a box, for what is missing. */
  hatch(box: Box, color: Color): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  /** Width of a text. */
  measure(text: string, style: TextStyle): number;
  /** Pixels, stretched over a box without smoothing. */
  image(box: Box, pixels: Pixels): void;
  /** Everything that `inside` draws is cut off at the box. */
  clip(box: Box, inside: () => void): void;
}
