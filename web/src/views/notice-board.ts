/** What the viewer says in words: answers, and what is wrong with the file. */

import { el, setText } from "./dom";

export class NoticeBoard {
  readonly damage = el("p", { class: "v-alert", role: "alert", "data-role": "damage", hidden: "" });
  /** Spoken, not seen. */
  readonly live = el("p", { class: "v-hidden", role: "status", "aria-live": "polite" });
  /** Seen until something else is done. */
  readonly status = el("div", { class: "v-status", "data-role": "status" });

  say(text: string): void {
    this.speak(text);
    setText(this.status, text);
  }

  speak(text: string): void {
    setText(this.live, text);
  }

  clear(): void {
    setText(this.status, "");
  }

  /** Blocks that were skipped. */
  tellDamage(skipped: readonly string[]): void {
    this.damage.hidden = skipped.length === 0;
    if (skipped.length === 0) return;
    const blocks = skipped.length === 1 ? "One block of this file is" : `${skipped.length} blocks of this file are`;
    setText(
      this.damage,
      `⚠ ${blocks} damaged and left out; counts are too low: ${skipped.slice(0, 3).join("; ")}${skipped.length > 3 ? " …" : ""}`,
    );
  }
}
