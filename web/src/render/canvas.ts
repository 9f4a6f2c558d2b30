/** Pictures on a canvas. */

import type { Box, Color, Painter, Pixels, Point, Stroke, TextStyle } from "./painter";
import { FONT_FAMILY, stripes, toFeet } from "./svg";

type Context = CanvasRenderingContext2D;

/** Draws on a canvas whose unit is already a CSS pixel. */
export class CanvasPainter implements Painter {
  constructor(
    private readonly ctx: Context,
    readonly width: number,
    readonly height: number,
  ) {}

  fill(box: Box, color: Color): void {
    this.ctx.fillStyle = color;
    this.ctx.fillRect(box.x, box.y, box.w, box.h);
  }

  line(points: readonly Point[], stroke: Stroke): void {
    if (points.length < 2) return;
    this.stroke(stroke);
    this.ctx.beginPath();
    this.trace(points);
    this.ctx.stroke();
  }

  area(points: readonly Point[], color: Color): void {
    if (points.length < 3) return;
    this.ctx.fillStyle = color;
    this.ctx.beginPath();
    this.trace(points);
    this.ctx.closePath();
    this.ctx.fill();
  }

  hatch(box: Box, color: Color): void {
    this.stroke({ color, width: 1 });
    this.ctx.beginPath();
    stripes(box).forEach((stripe) => this.trace(stripe));
    this.ctx.stroke();
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const { ctx } = this;
    this.font(style);
    ctx.fillStyle = style.color;
    ctx.textAlign = style.align === "middle" ? "center" : (style.align ?? "start");
    ctx.textBaseline = "alphabetic";
    if (style.rotate === undefined) {
      ctx.fillText(text, x, y + toFeet(style));
      return;
    }
    ctx.save();
    ctx.translate(x, y);
    ctx.rotate((style.rotate * Math.PI) / 180);
    ctx.fillText(text, 0, toFeet(style));
    ctx.restore();
  }

  measure(text: string, style: TextStyle): number {
    this.font(style);
    return this.ctx.measureText(text).width;
  }

  image(box: Box, pixels: Pixels): void {
    if (pixels.width === 0 || pixels.height === 0) return;
    // Pixels that are put directly would neither stretch nor blend nor be clipped.
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [pixels.width, pixels.height];
    const ctx = sheet.getContext("2d");
    if (ctx === null) return;
    ctx.putImageData(new ImageData(pixels.data, pixels.width, pixels.height), 0, 0);
    this.ctx.imageSmoothingEnabled = false;
    this.ctx.drawImage(sheet, box.x, box.y, box.w, box.h);
  }

  clip(box: Box, inside: () => void): void {
    this.ctx.save();
    this.ctx.beginPath();
    this.ctx.rect(box.x, box.y, box.w, box.h);
    this.ctx.clip();
    try {
      inside();
    } finally {
      this.ctx.restore();
    }
  }

  private trace(points: readonly Point[]): void {
    points.forEach(([x, y], i) => (i === 0 ? this.ctx.moveTo(x, y) : this.ctx.lineTo(x, y)));
  }

  private stroke({ color, width, dash }: Stroke): void {
    const { ctx } = this;
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.lineJoin = "round";
    ctx.setLineDash(dash === undefined ? [] : [...dash]);
  }

  private font(style: TextStyle): void {
    this.ctx.font = `${style.bold === true ? "bold " : ""}${style.size}px ${FONT_FAMILY}`;
  }
}
