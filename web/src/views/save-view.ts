/** Saves the panels in sight as one picture, with words about what they show above them. */

import { ORDINATE_WORDS, ordinateOf } from "../charts/ordinate";
import type { Scene } from "../charts/scene";
import { BASE_WORDS } from "../charts/sonar";
import { xRange } from "../model/view";
import type { Painter, TextStyle } from "../render/painter";
import { count, moment } from "../render/units";
import { CanvasPainter } from "../render/canvas";
import type { Panels } from "./panels";
import { savePng } from "./save";
import type { SceneSource } from "./scene-source";
import type { Report } from "./report";

const MARGIN = 16;
const LINE = 18;
const HEAD = 22;
const GAP = 10;
/** So much of a panel must be in the window. */
const IN_SIGHT = 0.5;
const LONGEST_LINE = 400;

/** A panel of the page: its title, and its canvases where they lie. */
interface Shown {
  readonly root: HTMLElement;
  readonly title: string;
}

/** A canvas with its place in the picture; `cut` pixels at its end are out of sight in the page, too. */
interface Placed {
  readonly canvas: HTMLCanvasElement;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export function saveView(report: Report, scenes: SceneSource, panels: Panels, filter: string): void {
  const shown = inSight(panels);
  const { ratio, palette } = scenes;
  const first = shown[0];
  if (!first) return;
  const left = Math.min(...shown.map(({ root }) => root.getBoundingClientRect().left));
  const width = Math.max(...shown.map(({ root }) => root.getBoundingClientRect().right)) - left + 2 * MARGIN;
  const lines = captionLines(report, scenes.of(0), filter, width - 2 * MARGIN);
  let y = MARGIN + lines.reduce((sum, { style }) => sum + LINE + (style.size > 14 ? 4 : 0), 0) + GAP;
  const placed: Placed[] = [];
  const titles: { readonly text: string; readonly x: number; readonly y: number }[] = [];
  for (const { root, title } of shown) {
    const rect = root.getBoundingClientRect();
    if (title !== "") titles.push({ text: title, x: MARGIN + rect.left - left, y: y + HEAD / 2 });
    const all = canvasesOf(root, MARGIN + rect.left - left, y + (title === "" ? 0 : HEAD));
    placed.push(...all);
    y = Math.max(y, ...all.map((one) => one.y + one.h)) + GAP;
  }
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round((y + MARGIN - GAP) * ratio)];
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.scale(ratio, ratio);
  const p = new CanvasPainter(ctx, width, y);
  p.fill({ x: 0, y: 0, w: width, h: y + MARGIN }, palette.background);
  drawCaption(p, lines, scenes);
  for (const title of titles) p.text(title.x, title.y, title.text, { size: 13, color: palette.text, bold: true, baseline: "middle" });
  for (const one of placed) {
    const { width: w, height: h } = one.canvas;
    ctx.drawImage(one.canvas, 0, 0, w, Math.min(h, one.h * ratio), one.x, one.y, w / ratio, Math.min(h / ratio, one.h));
  }
  savePng(`${report.meta.runs[0]?.run_id?.slice(0, 12) ?? "load"}.view`, canvas);
}

/** The panels of which at least half is in the window, the time axis behind them; without any, the sonar. */
function inSight(panels: Panels): Shown[] {
  const overTime = panels.visible().filter(({ panel }) => !panel.isOverview && panel.id !== "time-axis");
  const isSeen = (root: HTMLElement) => {
    // What is folded has a size, too.
    if (root.closest("details:not([open])")) return false;
    const { top, bottom, height } = root.getBoundingClientRect();
    const seen = Math.min(bottom, window.innerHeight) - Math.max(top, 0);
    return height > 0 && seen >= Math.min(height * IN_SIGHT, window.innerHeight * IN_SIGHT);
  };
  const seen = overTime.filter(({ panel }) => isSeen(panel.root));
  const small = panels.small.filter(({ root }) => isSeen(root));
  const used = seen.length > 0 || small.length > 0 ? seen : overTime.filter(({ panel }) => panel.isSonar);
  const axis = panels.overTime.find(({ id }) => id === "time-axis");
  return [
    ...used.map((one): Shown => ({ root: one.panel.root, title: panels.titleOf(one) })),
    ...(axis && used.length > 0 ? [{ root: axis.root, title: "" }] : []),
    ...small.map(({ root, chart }): Shown => ({ root, title: chart.title })),
  ];
}

/** The canvases of a panel, as they lie to each other. */
function canvasesOf(root: HTMLElement, x: number, y: number): Placed[] {
  const { left } = root.getBoundingClientRect();
  const all = [...root.querySelectorAll<HTMLCanvasElement>("canvas:not(.v-legend)")].filter((canvas) => canvas.clientWidth > 0 && !canvas.hidden);
  const top = Math.min(...all.map((canvas) => canvas.getBoundingClientRect().top));
  return all.map((canvas) => {
    const rect = canvas.getBoundingClientRect();
    return { canvas, x: x + rect.left - left, y: y + rect.top - top, w: rect.width, h: rect.height - cutOf(canvas) };
  });
}

/** Pixels of a plot that are cut off at its end, because all plots share one time axis. */
function cutOf(canvas: HTMLCanvasElement): number {
  const clip = canvas.parentElement ? getComputedStyle(canvas.parentElement).clipPath : "none";
  const [, bottom] = /^inset\(\S+ \S+ ([\d.]+)px/.exec(clip) ?? [];
  return bottom === undefined ? 0 : Number(bottom);
}

interface Line {
  readonly text: string;
  readonly style: TextStyle;
}

/** Headline, name of the result, and what is shown of it. */
function captionLines(report: Report, scene: Scene, filter: string, width: number): Line[] {
  const { palette } = scene;
  const headline = document.querySelector(".headline, .answer")?.textContent?.trim() ?? "";
  const large: TextStyle = { size: 16, color: palette.text, bold: true, baseline: "top" };
  const small: TextStyle = { size: 13, color: palette.faint, baseline: "top" };
  const words = [`${report.meta.title}${report.meta.runs.map(({ run_id }) => (run_id ? ` · run ${run_id.slice(0, 12)}` : "")).join("")}`, viewWords(scene), filter];
  return [
    ...(headline === "" ? [] : wrapped(headline, large, width)),
    ...words.filter((text) => text !== "").flatMap((text) => wrapped(text, small, width)),
  ];
}

function viewWords(scene: Scene): string {
  const { view, run } = scene;
  const [from, to] = xRange(view);
  const step = Math.max((to - from) / 1000, 1e3);
  const range = view.base === "number" ? `requests ${count(from)} to ${count(to)}` : `${moment(from, step)} to ${moment(to, step)}`;
  const { read, write, pushed, flush } = view.on;
  const off = [read ? "" : "reads", write ? "" : "writes", pushed ? "" : "deferred requests", flush ? "" : "flushes"].filter((word) => word !== "");
  const what = run.kind === "load" ? [] : [`by ${BASE_WORDS[view.base]}`, ORDINATE_WORDS[ordinateOf(scene)].toLowerCase()];
  return [range, ...what, ...(off.length > 0 ? [`without ${off.join(", ")}`] : [])].join(" · ");
}

function wrapped(text: string, style: TextStyle, width: number): Line[] {
  const measure = document.createElement("canvas").getContext("2d");
  const p = measure && new CanvasPainter(measure, 0, 0);
  const lines: string[] = [""];
  for (const word of text.slice(0, LONGEST_LINE).split(/\s+/)) {
    const longer = `${lines.at(-1)!} ${word}`.trim();
    if (p && lines.at(-1) !== "" && p.measure(longer, style) > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.map((line) => ({ text: line, style }));
}

function drawCaption(p: Painter, lines: readonly Line[], { palette }: SceneSource): void {
  let y = MARGIN;
  for (const { text, style } of lines) {
    p.text(MARGIN, y, text, style);
    y += LINE + (style.size > 14 ? 4 : 0);
  }
  p.line([[MARGIN, y + GAP / 2 - 2], [p.width - MARGIN, y + GAP / 2 - 2]], { color: palette.grid, width: 1 });
}
