/** Pictures as files. */

import type { Painter, Pixels } from "../render/painter";
import { SvgPainter } from "../render/svg";

/** Longer names are refused by file systems. */
const LONGEST_NAME = 120;
/** The browser has to begin with the file before its address may go. */
const KEEP_MS = 60_000;

/** A name that every file system takes and no shell misunderstands. */
export function fileName(name: string): string {
  const plain = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+|[.-]+$/g, "");
  return plain.slice(0, LONGEST_NAME) || "picture";
}

/** Saves a canvas as `NAME.png`. */
export function savePng(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => {
    if (blob !== null) download(`${fileName(name)}.png`, blob);
  }, "image/png");
}

/** Draws again, into `NAME.svg`, on the page's ground: lines and words stay lines and words. */
export function saveSvg(name: string, width: number, height: number, draw: (painter: Painter) => void): void {
  const painter = new SvgPainter(width, height, address);
  painter.fill({ x: 0, y: 0, w: width, h: height }, ground());
  draw(painter);
  download(`${fileName(name)}.svg`, new Blob([painter.toString()], { type: "image/svg+xml" }));
}

/** Colour behind everything; browsers tell it as `rgb(17, 21, 27)`. */
function ground(): string {
  const channels = getComputedStyle(document.body).backgroundColor.match(/^rgb\((\d+), (\d+), (\d+)\)$/)?.slice(1) ?? [];
  return channels.length === 3 ? `#${channels.map((n) => Number(n).toString(16).padStart(2, "0")).join("")}` : "#ffffff";
}

function address(pixels: Pixels): string {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [pixels.width, pixels.height];
  canvas.getContext("2d")?.putImageData(new ImageData(pixels.data, pixels.width, pixels.height), 0, 0);
  return canvas.toDataURL("image/png");
}

function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), KEEP_MS);
}
