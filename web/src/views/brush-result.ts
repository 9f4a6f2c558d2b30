/** What was brushed: a sentence that is spoken, a table, and how it differs from the rest. */

import { ORDINATE_WORDS, ordinateOf } from "../charts/ordinate";
import { figureCells, roughly, type SonarFigures, sonarFigures, stepWords, told, whereWords, words } from "../charts/sonar";
import type { Scene } from "../charts/scene";
import type { Brush, Only } from "../model/view";
import { count, duration } from "../render/units";
import { bubbleUpElement, onValue } from "./bubble-up";
import { button, el, setText } from "./dom";

const FIGURES = ["Requests", "p50", "p99", "Longest"];

export class BrushResult {
  readonly root = el("div", { class: "v-brush", role: "region", "aria-label": "Selection", hidden: "" });
  private readonly live = el("p", { role: "status", "aria-live": "polite", "data-role": "brush-words" });
  private readonly exactness = el("p", { class: "v-note", "data-role": "exactness" });
  private readonly table = el("table", { "data-role": "brush" });
  private readonly differences = el("div", {});

  constructor(clear: () => void, filter: (only: Only) => void) {
    onValue(this.differences, filter);
    this.root.append(
      button("clear", "clear the brush (Esc)", { "data-role": "clear-brush" }, clear),
      this.live,
      this.table,
      this.exactness,
      this.differences,
    );
  }

  /**
   * The table follows the pointer; sentence and comparison wait for the end. It stays closed until then, because the panels
   * make room for it.
   */
  update(scenes: readonly Scene[], brush: Brush | undefined, isFinal: boolean): void {
    if (!brush || isFinal) this.root.hidden = brush === undefined;
    if (!brush || this.root.hidden) return;
    const rows = scenes.flatMap((scene) => rowsOf(scene, brush, scenes.length > 1, isFinal));
    const first = scenes[0];
    if (!first) return;
    const head = [ORDINATE_WORDS[ordinateOf(first)], ...FIGURES];
    this.table.replaceChildren(row("th", head), ...rows.map((cells) => row("td", cells)));
    setText(this.exactness, exactness(first, brush, isFinal));
    if (!isFinal) return;
    setText(this.live, sentence(first, brush));
    const title = (scene: Scene) => (scenes.length < 2 ? "" : scene.index === 0 ? "A: " : "B: ");
    this.differences.replaceChildren(...scenes.map((scene) => bubbleUpElement(scene, told(scene, brush).brush, title(scene))));
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

function rowsOf(scene: Scene, brush: Brush, isOneOfTwo: boolean, isFinal: boolean): string[][] {
  const found = sonarFigures(scene, told(scene, brush).brush, isFinal ? undefined : MOST_WHILE_MOVING);
  if (!found) return [];
  const name = (text: string) => (isOneOfTwo ? `${scene.index === 0 ? "A" : "B"}: ${text}` : text);
  const pushed = (found.classes[2] ?? 0) + (found.classes[3] ?? 0);
  const rows = [
    figureCells(name("reads"), found, found.read),
    figureCells(name("writes"), found, found.write),
    figureCells(name("all"), found, found.all),
  ];
  if (found.flush.requests > 0) rows.push(figureCells(name("flushes"), found, found.flush));
  if (pushed > 0) rows.push([name("deferred"), count(pushed), "–", "–", "–"]);
  return rows;
}

/** Where the figures come from, and how right they are. */
function exactness(scene: Scene, brush: Brush, isFinal: boolean): string {
  const found = sonarFigures(scene, told(scene, brush).brush, isFinal ? undefined : MOST_WHILE_MOVING);
  if (!found) return "";
  if (found.step) return `from stored columns of ${stepWords(scene, found.step)}: numbers are exact for whole columns, times to 3.7 %`;
  const about = found.isExact ? "" : "; a request at an end may lie on either side";
  return `from single requests: numbers are exact, times to 0.1 %${about}`;
}

function sentence(scene: Scene, brush: Brush): string {
  const { brush: rounded, step } = told(scene, brush);
  const found = sonarFigures(scene, rounded);
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
  return `${at(found.range[0])} to ${at(found.range[1])}${steps}${durationWords(found, ordinateOf(scene))}: ${about}${count(read.requests)} reads, ${count(write.requests)} writes${flush.requests > 0 ? `, ${count(flush.requests)} flushes` : ""}.${times}`;
}

/** The brushed durations, where they are not all. */
function durationWords({ y, step }: SonarFigures, ordinate: string): string {
  if (!y) return "";
  const about = step ? "≈ " : "";
  const [from, to] = y;
  return to === Infinity ? `, ${ordinate} ${about}${words(from)} or longer` : `, ${ordinate} ${about}${words(from)} to ${duration(to)}`;
}
