/** A canvas that is as large as its place and as sharp as the screen. */

import { CanvasPainter } from "../render/canvas";
import type { Box, Pixels } from "../render/painter";
import { el } from "./dom";

/** More than two device pixels for each CSS pixel would only cost time. */
export function deviceRatio(): number {
  return Math.min(Math.max(window.devicePixelRatio || 1, 1), 2);
}

/** Keeps the canvas through which pixels go: a new one for each frame would cost more than the drawing. */
class SheetPainter extends CanvasPainter {
  constructor(
    private readonly target: CanvasRenderingContext2D,
    width: number,
    height: number,
    private readonly scratch: HTMLCanvasElement,
  ) {
    super(target, width, height);
  }

  override image(box: Box, { width, height, data }: Pixels): void {
    const { scratch, target } = this;
    if (width === 0 || height === 0) return;
    if (scratch.width !== width || scratch.height !== height) [scratch.width, scratch.height] = [width, height];
    const ctx = scratch.getContext("2d", { willReadFrequently: true });
    if (!ctx) return;
    ctx.putImageData(new ImageData(data, width, height), 0, 0);
    target.imageSmoothingEnabled = false;
    target.drawImage(scratch, box.x, box.y, box.w, box.h);
  }
}

export class Sheet {
  readonly canvas: HTMLCanvasElement;
  width = 0;
  height = 0;
  private ratio = 1;
  private readonly scratch = document.createElement("canvas");

  constructor(attributes: Readonly<Record<string, string>>) {
    this.canvas = el("canvas", attributes);
  }

  /** Returns whether there is anything to draw on. */
  resize(width: number, height: number, ratio: number): boolean {
    const [w, h] = [Math.max(0, Math.floor(width)), Math.max(0, Math.floor(height))];
    if (w !== this.width || h !== this.height || ratio !== this.ratio) {
      [this.width, this.height, this.ratio] = [w, h, ratio];
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(h * ratio);
      this.canvas.style.height = `${h}px`;
    }
    return w > 20 && h > 10;
  }

  /** A painter on an empty sheet. */
  begin(background?: string): CanvasPainter {
    const ctx = this.canvas.getContext("2d")!;
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    const painter = new SheetPainter(ctx, this.width, this.height, this.scratch);
    if (background !== undefined) painter.fill({ x: 0, y: 0, w: this.width, h: this.height }, background);
    return painter;
  }
}
