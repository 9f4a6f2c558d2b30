/** How brushed requests differ from the others in sight: sentences, and a small histogram for each attribute. */

import { bubbleUp, type BubbleUp, type Difference, percentWords } from "../charts/bubble-up";
import type { Scene } from "../charts/scene";
import { canFilter } from "../charts/filter";
import type { Brush, Only } from "../model/view";
import { count, plainPercent } from "../render/units";
import { el } from "./dom";

/** Number of differences with a sentence; the others have it as the name of their picture. */
const SENTENCES = 4;

/** The comparison of one run; `title` names it where there are two. */
export function bubbleUpElement(scene: Scene, brush: Brush, title: string): HTMLElement {
  const found = bubbleUp(scene, brush);
  const root = el("section", { "data-role": "bubble-up" }, el("h3", {}, `${title}How the selected requests differ`));
  root.style.setProperty("--in", scene.palette.demanded);
  root.style.setProperty("--out", scene.palette.faint);
  root.append(...(typeof found === "string" ? [note(found)] : comparison(found, canFilter(scene.data))));
  return root;
}

function comparison({ inside, outside, differences, notes }: BubbleUp, isFilter: boolean): HTMLElement[] {
  const certain = differences.filter((d) => d.isCertain);
  const counts = el(
    "p",
    { class: "v-key" },
    el("b", {}, `${count(inside)} selected`),
    ` · ${count(outside)} others in sight`,
  );
  if (certain.length === 0)
    return [counts, el("p", {}, "No attribute differs by more than chance may cause."), ...notes.map(note)];
  const list = el("ol", {}, ...certain.map((d, i) => item(d, i < SENTENCES, isFilter)));
  const hint = isFilter ? [note("A click on a bar shows only the requests with this value, in all panels.")] : [];
  return [counts, list, ...[...hint, ...notes.map(note)]];
}

function note(words: string): HTMLElement {
  return el("p", { class: "v-note" }, words);
}

function item(difference: Difference, hasSentence: boolean, isFilter: boolean): HTMLElement {
  const { attribute, distance, sentence } = difference;
  const head = el("div", {}, el("b", {}, attribute.title), ` ${plainPercent(distance)}`);
  head.title = attribute.isOrdered ? "Kolmogorov–Smirnov distance" : "total variation";
  const words = hasSentence ? [el("p", {}, sentence)] : [];
  const picture = bars(difference, isFilter);
  return el("li", { "data-attribute": attribute.id }, head, ...words, ...picture);
}

/** Calls `use` for the value of a bar that is clicked, or chosen by a key. */
export function onValue(root: HTMLElement, use: (only: Only) => void): void {
  const choose = (e: Event) => {
    const bar = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-value]") : null;
    const attribute = bar?.closest<HTMLElement>("[data-attribute]")?.dataset["attribute"];
    const value = bar?.dataset["value"];
    if (attribute === undefined || value === undefined) return;
    e.preventDefault();
    use({ attribute, value });
  };
  root.addEventListener("click", choose);
  root.addEventListener("keydown", (e) => (e.key === "Enter" || e.key === " ") && choose(e));
}

/** A bar of the selected and one of the others for each value between the first and the last that occur. */
function bars({ attribute: { values }, inside, outside, sentence }: Difference, isFilter: boolean): HTMLElement[] {
  const isThere = (i: number) => inside[i]! > 0 || outside[i]! > 0;
  const used = values.map((_, i) => i).filter(isThere);
  const [first = 0, last = 0] = [used[0], used.at(-1)];
  const most = Math.max(...inside, ...outside);
  const height = (share: number) => `${share > 0 ? Math.max((share / most) * 100, 3) : 0}%`;
  const shown = values.slice(first, last + 1).map((name, k) => {
    const [a, b] = [inside[first + k]!, outside[first + k]!];
    const title = `${name}: ${percentWords(a)} of the selected, ${percentWords(b)} of the others`;
    const style = `--a:${height(a)};--b:${height(b)}`;
    if (!isFilter || a + b === 0) return el("span", { title, style });
    return el("span", { title, style, "data-value": name, role: "button", tabindex: "0", "aria-label": title });
  });
  const picture = el("div", { class: "v-bins", role: isFilter ? "group" : "img", "aria-label": sentence }, ...shown);
  const ends = first === last ? [values[first]!] : [values[first]!, values[last]!];
  return [picture, el("div", { class: "v-ends" }, ...ends.map((name) => el("span", {}, name)))];
}
