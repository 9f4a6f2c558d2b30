/** Notes over time: an area in each plot, and their texts along the time axis. */

import type { Note } from "../model/view";
import type { Box, Painter, Point, TextStyle } from "../render/painter";
import { faded } from "../render/palette";
import { xOfTime } from "./marks";
import type { Scene } from "./scene";

/** Height of a line of notes, and the most lines. */
const LINE = 16;
const MOST_LINES = 3;
const GAP = 8;
/** A text is shortened to no less than this. */
const LEAST = 40;

/** Notes that the archive has of a run, then those of the link, with their numbers in the list. */
export function notesOf({ run, view }: Pick<Scene, "run" | "view">): readonly Note[] {
  const kept = run.notes.map(({ from_ns, to_ns, text }): Note => ({ time: [from_ns, to_ns], text }));
  return [...kept, ...(view.notes ?? [])];
}

/** Height of the texts of notes. */
export function notesHeight(scene: Pick<Scene, "run" | "view">): number {
  const { length } = notesOf(scene);
  return length === 0 ? 0 : Math.min(length, MOST_LINES) * LINE + 4;
}

interface Shown {
  readonly note: Note;
  readonly number: number;
  readonly from: number;
  readonly to: number;
}

/** Notes in sight by their beginning, with pixels. */
function inSight(scene: Scene, box: Box): Shown[] {
  const x = xOfTime(scene, box);
  return notesOf(scene)
    .map((note, i): Shown => ({ note, number: i + 1, from: Math.max(x(note.time[0]), box.x), to: Math.min(x(note.time[1]), box.x + box.w) }))
    .filter(({ from, to }) => from <= box.x + box.w && to >= box.x)
    .sort((a, b) => a.from - b.from);
}

/** The parts of the time in a plot, with their numbers where there is room above it. */
export function markNotes(p: Painter, box: Box, scene: Scene): void {
  const { palette } = scene;
  for (const { from, to } of inSight(scene, box)) {
    p.fill({ x: from, y: box.y, w: Math.max(to - from, 1), h: box.h }, faded(palette.actual, 0.1));
    for (const x of [from, Math.max(to, from + 1)]) p.line(column(x, box), { color: faded(palette.actual, 0.8), width: 1, dash: [3, 3] });
  }
}

function column(x: number, { y, h }: Box): Point[] {
  return [[x, y], [x, y + h]];
}

/** Numbers and texts, each in the first line that is free there; what has no room is in the list of notes. */
export function drawNotes(p: Painter, box: Box, scene: Scene): void {
  const { palette } = scene;
  const style: TextStyle = { size: 11, color: palette.text, baseline: "middle" };
  const right = box.x + box.w;
  const all = inSight(scene, box);
  const free = Array.from({ length: Math.max(1, Math.floor(box.h / LINE)) }, () => -Infinity);
  const placed = all.flatMap((shown) => {
    const line = free.findIndex((x) => x + GAP <= shown.from || x === -Infinity);
    if (line < 0) return [];
    free[line] = shown.from + 4 + Math.min(p.measure(words(shown), style), LEAST);
    return [{ shown, line }];
  });
  placed.forEach(({ shown, line }, k) => {
    const y = box.y + line * LINE;
    const behind = placed.find((other, at) => at > k && other.line === line);
    const room = (behind ? behind.shown.from - GAP : right) - shown.from - 5;
    p.fill({ x: shown.from, y: y + 1, w: Math.max(shown.to - shown.from, 2), h: 2 }, palette.actual);
    for (const x of [shown.from, Math.max(shown.to, shown.from + 2)]) p.line([[x, y + 1], [x, y + 5]], { color: palette.actual, width: 1 });
    // At the right end the text ends there.
    const text = shortened(p, words(shown), Math.max(room, behind ? 0 : LEAST), style);
    p.text(Math.min(shown.from + 5, Math.max(box.x, right - p.measure(text, style))), y + LINE / 2 + 1, text, style);
  });
}

function words({ number, note }: Shown): string {
  return `${number}  ${note.text}`;
}

/** The begin of a text that fits. */
function shortened(p: Painter, text: string, room: number, style: TextStyle): string {
  if (p.measure(text, style) <= room) return text;
  const letters = [...text];
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (p.measure(`${letters.slice(0, middle).join("")}…`, style) <= room) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${letters.slice(0, low).join("")}…`;
}
