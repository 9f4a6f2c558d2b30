/** The page's list of findings becomes a list of buttons: each leads to where it can be seen. */

import type { PageFinding } from "../format/page";
import type { Range } from "../model/view";
import { el } from "./dom";

export class Findings {
  private readonly buttons = new Map<number, HTMLButtonElement>();
  private current = -1;

  constructor(
    private readonly findings: readonly PageFinding[],
    private readonly whole: Range,
    private readonly go: (range: Range, text: string) => void,
  ) {
    for (const item of document.querySelectorAll<HTMLElement>("#findings > li[data-finding]")) this.adopt(item);
  }

  private adopt(item: HTMLElement): void {
    const i = Number(item.dataset["finding"]);
    if (!this.findings[i]?.range) return;
    const entry = el("button", { type: "button", class: "v-finding" });
    entry.append(...item.childNodes);
    entry.addEventListener("click", () => this.show(i));
    item.append(entry);
    this.buttons.set(i, entry);
  }

  /** To the next finding that has a place, or with −1 to the one before. Returns whether there is one. */
  step(by: 1 | -1): boolean {
    const n = this.findings.length;
    for (let k = 1; k <= n; k++) {
      const i = ((((this.current < 0 && by < 0 ? 0 : this.current) + by * k) % n) + n) % n;
      if (!this.findings[i]?.range) continue;
      this.show(i);
      return true;
    }
    return false;
  }

  private show(i: number): void {
    const { range, text } = this.findings[i]!;
    if (!range) return;
    this.current = i;
    this.buttons.forEach((b, j) => b.setAttribute("aria-current", String(i === j)));
    this.go(withMargin([range.from_ns, range.to_ns], this.whole), text);
  }
}

/** A third of its length on both sides; a moment gets a twentieth of the run. */
export function withMargin([from, to]: Range, whole: Range): Range {
  const margin = Math.max((to - from) / 3, to === from ? (whole[1] - whole[0]) / 20 : (whole[1] - whole[0]) / 2000);
  return [from - margin, to + margin];
}
