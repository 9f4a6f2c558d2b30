/** What was brushed, in a sentence that is spoken and in a table. */

import { figureCells, roughly, sonarFigures, stepWords, told, whereWords } from "../charts/sonar";
import type { Scene } from "../charts/scene";
import type { Range } from "../model/view";
import { count } from "../render/units";
import { button, el, setText } from "./dom";

const HEAD = ["Brushed", "Requests", "p50", "p99", "Longest"];

export class BrushResult {
  readonly root = el("div", { class: "v-brush", hidden: "" });
  private readonly live = el("p", { role: "status", "aria-live": "polite", "data-role": "brush-words" });
  private readonly exactness = el("p", { class: "v-note", "data-role": "exactness" });
  private readonly table = el("table", { "data-role": "brush" });

  constructor(clear: () => void) {
    this.root.append(
      this.live,
      this.table,
      this.exactness,
      button("clear", "clear the brush (Esc)", { "data-role": "clear-brush" }, clear),
    );
  }

  /** The table follows the pointer; the sentence waits for the end, as it is spoken. */
  update(scenes: readonly Scene[], brush: Range | undefined, isFinal: boolean): void {
    this.root.hidden = brush === undefined;
    if (!brush) return;
    const rows = scenes.flatMap((scene) => rowsOf(scene, brush, scenes.length > 1, isFinal));
    this.table.replaceChildren(row("th", HEAD), ...rows.map((cells) => row("td", cells)));
    const first = scenes[0];
    if (!first) return;
    setText(this.exactness, exactness(first, brush, isFinal));
    if (isFinal) setText(this.live, sentence(first, brush));
  }
}

function row(tag: "th" | "td", cells: readonly string[]): HTMLElement {
  return el(
    "tr",
    {},
    ...cells.map((text, i) => el(i === 0 ? "th" : tag, { scope: i === 0 ? "row" : undefined }, text)),
  );
}

/** While a hand still moves, more are taken from the stored columns: a few milliseconds for a frame. */
const MOST_WHILE_MOVING = 100_000;

function rowsOf(scene: Scene, brush: Range, isOneOfTwo: boolean, isFinal: boolean): string[][] {
  const found = sonarFigures(scene, told(scene, brush).range, isFinal ? undefined : MOST_WHILE_MOVING);
  if (!found) return [];
  const name = (text: string) => (isOneOfTwo ? `${scene.index === 0 ? "A" : "B"}: ${text}` : text);
  const pushed = (found.classes[2] ?? 0) + (found.classes[3] ?? 0);
  const rows = [
    figureCells(name("reads"), found, found.read),
    figureCells(name("writes"), found, found.write),
    figureCells(name("all"), found, found.all),
  ];
  if (found.flush.requests > 0) rows.push(figureCells(name("flushes"), found, found.flush));
  if (pushed > 0) rows.push([name("of them pushed back"), count(pushed), "–", "–", "–"]);
  return rows;
}

/** Where the figures come from, and how right they are. */
function exactness(scene: Scene, brush: Range, isFinal: boolean): string {
  const found = sonarFigures(scene, told(scene, brush).range, isFinal ? undefined : MOST_WHILE_MOVING);
  if (!found) return "";
  if (found.step) return `from stored columns of ${stepWords(scene, found.step)}: numbers are exact for whole columns, times to 3.7 %`;
  const about = found.isExact ? "" : "; a request at an end may lie on either side";
  return `from single requests: numbers are exact, times to 0.1 %${about}`;
}

function sentence(scene: Scene, brush: Range): string {
  const { range, step } = told(scene, brush);
  const found = sonarFigures(scene, range);
  if (!found) return "";
  const { read, write, flush, all } = found;
  const time = (ns: number | undefined) => roughly(found, ns);
  const times =
    all.requests > 0
      ? ` Half took at most ${time(all.p50)}, 99 % at most ${time(all.p99)}, the longest ${time(all.max)}.`
      : "";
  const at = (x: number) => whereWords(scene, x, step);
  const steps = found.step ? ` (in steps of ${stepWords(scene, found.step)})` : "";
  const about = found.isExact ? "" : "about ";
  return `${at(found.range[0])} to ${at(found.range[1])}${steps}: ${about}${count(read.requests)} reads, ${count(write.requests)} writes${flush.requests > 0 ? `, ${count(flush.requests)} flushes` : ""}.${times}`;
}
