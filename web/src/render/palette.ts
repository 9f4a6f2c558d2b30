/**
 * Colours by meaning, those of the static pictures (`crates/view/src/palette.rs`). Contrast, and distance under
 * colour-vision deficiency, are tested for both themes.
 */

import type { Color } from "./painter";

export interface Palette {
  /** Behind everything. */
  readonly background: Color;
  /** Behind what is drawn. */
  readonly panel: Color;
  readonly text: Color;
  /** Less important words. */
  readonly faint: Color;
  /** Axes and frames. */
  readonly axis: Color;
  /** Lines at ticks. */
  readonly grid: Color;
  readonly read: Color;
  readonly write: Color;
  readonly readPushed: Color;
  readonly writePushed: Color;
  readonly flush: Color;
  /** What the load requests. */
  readonly demanded: Color;
  /** What the target delivers. */
  readonly actual: Color;
  /** A limit that held. */
  readonly ok: Color;
  /** A limit that did not hold. */
  readonly bad: Color;
  /** Words of a caution. */
  readonly caution: Color;
  /**
   * Lines and areas without another meaning: the hues of the static pictures, moved apart until every two differ for whoever
   * sees fewer colours.
   */
  readonly series: readonly Color[];
  readonly dark: boolean;
}

export const LIGHT: Palette = {
  background: "#ffffff",
  panel: "#ffffff",
  text: "#1b1f24",
  faint: "#5a6270",
  axis: "#5a6270",
  grid: "#e3e6ea",
  read: "#1a5fb4",
  write: "#c01c28",
  readPushed: "#04104a",
  writePushed: "#5e1030",
  flush: "#0096a5",
  demanded: "#17a08a",
  actual: "#cc8400",
  ok: "#17a08a",
  bad: "#7a1fa2",
  caution: "#8a4b00",
  series: ["#0079e4", "#d8721a", "#248153", "#a63992", "#785f01"],
  dark: false,
};

export const DARK: Palette = {
  background: "#11151b",
  panel: "#11151b",
  text: "#e6eaf0",
  faint: "#9aa4b2",
  axis: "#9aa4b2",
  grid: "#2a313b",
  read: "#7fb2ff",
  write: "#f0453f",
  readPushed: "#4b55f0",
  writePushed: "#a0507a",
  flush: "#6af5ff",
  demanded: "#3fe8c4",
  actual: "#ffc23a",
  ok: "#3fe8c4",
  bad: "#d08bff",
  caution: "#ffc76b",
  series: ["#5096ff", "#fa9427", "#50cb84", "#eaa4d9", "#f9ec78"],
  dark: true,
};

export type Rgb = readonly [red: number, green: number, blue: number];

/** Red, green and blue of `#rrggbb`, 0 to 255; what follows is ignored. */
export function rgb(color: Color): [number, number, number] {
  const code = Number.parseInt(color.slice(1, 7), 16);
  return [(code >> 16) & 255, (code >> 8) & 255, code & 255];
}

/** `a` for share 0, `b` for share 1. */
export function mix(a: Rgb, b: Rgb, share: number): [number, number, number] {
  const channel = (from: number, to: number) => Math.round(from + (to - from) * share);
  return [channel(a[0], b[0]), channel(a[1], b[1]), channel(a[2], b[2])];
}

/** A colour with an opacity, 0 to 1. */
export function faded(color: Color, opacity: number): Color {
  return color.slice(0, 7) + Math.round(opacity * 255).toString(16).padStart(2, "0");
}
