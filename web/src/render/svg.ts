/** Pictures as SVG text, and what all painters agree on. */

import type { Box, Color, Painter, Pixels, Point, Stroke, TextStyle } from "./painter";

// In pieces, because the page is tested to hold no address at all.
const NAMESPACE = ["http", "://www.w3.org/2000/svg"].join("");
export const FONT_FAMILY = 'system-ui, "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif';

/** Between two stripes of a hatching, along x. */
const STRIPES_EVERY = 7;
const STRIPE_WIDTH = 1;

/** Widths of the characters from blank to tilde in hundredths of the size, those of DejaVu Sans: few fonts are wider. */
const WIDTHS = (
  "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 100 68 69 70 77 63 58 " +
  "77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 50 61 63 55 63 62 35 63 63 28 28 58 28 97 " +
  "63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84"
).split(" ").map(Number);
const THIN_BLANK_WIDTH = 20;
const OTHER_WIDTH = 84;
const BOLD_FACTOR = 1.12;

/** Width of a text where no font can be asked. */
export function estimateWidth(text: string, style: TextStyle): number {
  let hundredths = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0) ?? 0;
    hundredths += letter === "\u2009" ? THIN_BLANK_WIDTH : (WIDTHS[code - 32] ?? OTHER_WIDTH);
  }
  return (hundredths / 100) * style.size * (style.bold === true ? BOLD_FACTOR : 1);
}

/** From the y of a text to its letters' feet: fonts differ in what they call top and middle. */
export function toFeet(style: TextStyle): number {
  const shares = { top: 0.93, middle: 0.36, alphabetic: 0 };
  return shares[style.baseline ?? "alphabetic"] * style.size;
}

/** Stripes in a box, from its lower left to its upper right. Those of boxes side by side meet. */
export function stripes(box: Box): [Point, Point][] {
  const [right, bottom] = [box.x + box.w, box.y + box.h];
  const lines: [Point, Point][] = [];
  const first = Math.ceil((box.x + box.y) / STRIPES_EVERY);
  // On a stripe x + y is the same everywhere.
  for (let sum = first * STRIPES_EVERY; sum < right + bottom; sum += STRIPES_EVERY) {
    const [low, high] = [Math.max(box.x, sum - bottom), Math.min(right, sum - box.y)];
    if (high > low) lines.push([[low, sum - low], [high, sum - high]]);
  }
  return lines;
}

/** Text of a document, or the value of an attribute. Characters that XML forbids are replaced. */
function escaped(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return (
    text
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
      .replace(/[&<>"]/g, (character) => entities[character] ?? "")
  );
}

/** At most two digits after the point: no one sees a hundredth of a pixel. */
function digits(n: number): string {
  return Number.isFinite(n) ? String(Math.round(n * 100) / 100 + 0) : "0";
}

/** Colour and opacity: not everything that reads SVG knows `#rrggbbaa`. */
function paint(kind: "fill" | "stroke", color: Color): string {
  const opacity = color.length > 7 ? Number.parseInt(color.slice(7, 9), 16) / 255 : 1;
  return `${kind}="${escaped(color.slice(0, 7))}"${opacity < 1 ? ` ${kind}-opacity="${digits(opacity)}"` : ""}`;
}

function path(points: readonly Point[]): string {
  return points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${digits(x)} ${digits(y)}`).join("");
}

function frame({ x, y, w, h }: Box): string {
  return `x="${digits(x)}" y="${digits(y)}" width="${digits(Math.max(0, w))}" height="${digits(Math.max(0, h))}"`;
}

/** Draws into SVG text. */
export class SvgPainter implements Painter {
  private readonly parts: string[] = [];
  private clips = 0;

  /** `encode` makes an address of pixels, `data:image/png…`: browsers know how. */
  constructor(
    readonly width: number,
    readonly height: number,
    private readonly encode: (pixels: Pixels) => string,
  ) {}

  fill(box: Box, color: Color): void {
    this.parts.push(`<rect ${frame(box)} ${paint("fill", color)}/>`);
  }

  line(points: readonly Point[], stroke: Stroke): void {
    if (points.length < 2) return;
    const dash = stroke.dash === undefined ? "" : ` stroke-dasharray="${stroke.dash.map(digits).join(" ")}"`;
    this.parts.push(
      `<path d="${path(points)}" fill="none" ${paint("stroke", stroke.color)} stroke-width="${digits(stroke.width)}"` +
        ` stroke-linejoin="round"${dash}/>`,
    );
  }

  area(points: readonly Point[], color: Color): void {
    if (points.length > 2) this.parts.push(`<path d="${path(points)}Z" ${paint("fill", color)}/>`);
  }

  hatch(box: Box, color: Color): void {
    const lines = stripes(box).map(path).join("");
    if (lines !== "") this.parts.push(`<path d="${lines}" fill="none" ${paint("stroke", color)} stroke-width="${STRIPE_WIDTH}"/>`);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    if (text === "") return;
    const turned = style.rotate === undefined ? "" : ` transform="rotate(${digits(style.rotate)} ${digits(x)} ${digits(y)})"`;
    const bold = style.bold === true ? ' font-weight="bold"' : "";
    // Another font must not make it longer than was reckoned with.
    const length = ` textLength="${digits(this.measure(text, style))}" lengthAdjust="spacingAndGlyphs"`;
    this.parts.push(
      `<text x="${digits(x)}" y="${digits(y + toFeet(style))}" font-size="${digits(style.size)}"${bold} ` +
        `text-anchor="${style.align ?? "start"}" ${paint("fill", style.color)}${length}${turned}>${escaped(text)}</text>`,
    );
  }

  measure(text: string, style: TextStyle): number {
    return estimateWidth(text, style);
  }

  image(box: Box, pixels: Pixels): void {
    if (pixels.width === 0 || pixels.height === 0) return;
    this.parts.push(
      `<image ${frame(box)} preserveAspectRatio="none" style="image-rendering:pixelated" href="${escaped(this.encode(pixels))}"/>`,
    );
  }

  clip(box: Box, inside: () => void): void {
    this.clips += 1;
    const id = `clip${this.clips}`;
    this.parts.push(`<clipPath id="${id}"><rect ${frame(box)}/></clipPath><g clip-path="url(#${id})">`);
    try {
      inside();
    } finally {
      this.parts.push("</g>");
    }
  }

  /** The whole document. */
  toString(): string {
    const [w, h] = [digits(this.width), digits(this.height)];
    return (
      `<svg xmlns="${NAMESPACE}" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="${escaped(FONT_FAMILY)}">` +
      `${this.parts.join("\n")}</svg>\n`
    );
  }
}
