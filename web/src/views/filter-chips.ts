/** The conditions by which requests are filtered, each with a way to remove it. */

import type { Filtered } from "../charts/filter";
import type { Only } from "../model/view";
import { count } from "../render/units";
import { button, el, setText } from "./dom";

export class FilterChips {
  readonly root = el("span", { class: "v-group v-chips", role: "group", "aria-label": "Filter", "data-role": "filter", hidden: "" });
  private readonly state = el("span", { class: "v-note", role: "status", "data-role": "filter-count" });
  private shown = "[]";
  private conditions: readonly string[] = [];

  constructor(private readonly remove: (only: Only) => void) {
    this.root.append(this.state);
  }

  /** `found` is the filtered run that is shown first. */
  update(only: readonly Only[], found: Filtered | undefined, requests: number): void {
    this.root.hidden = only.length === 0;
    setText(this.state, only.length === 0 ? "" : stateWords(found, requests));
    const wanted = JSON.stringify(only);
    // The focus stays on a chip that stays.
    if (wanted === this.shown) return;
    this.shown = wanted;
    this.conditions = only.map(wordsOf);
    this.root.replaceChildren(...only.map((one) => this.chip(one)), this.state);
  }

  /** Conditions and their number of requests; empty without any. */
  get words(): string {
    return this.root.hidden ? "" : `only ${this.conditions.join(", ")} · ${this.state.textContent}`;
  }

  private chip(only: Only): HTMLElement {
    const words = wordsOf(only);
    return button(`${words} ×`, `remove the filter ${words}`, { "data-only": only.attribute }, () => this.remove(only));
  }
}

function wordsOf({ attribute, value }: Only): string {
  return `${attribute.replaceAll("-", " ")}: ${value}`;
}

function stateWords(found: Filtered | undefined, requests: number): string {
  if (found === "impossible") return "not filtered: not all requests are in the page (open the .trace file), or they are too many";
  if (found === "reading" || found === undefined) return "reading …";
  return `${count(found.run.detail.requests)} of ${count(requests)} requests`;
}
