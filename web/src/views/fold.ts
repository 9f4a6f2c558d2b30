/** Panels one click away. */

import { el } from "./dom";

/** A closed panel has no width, so it is drawn when it is opened: `onToggle` asks for that. */
export function fold(title: string, panels: readonly { readonly root: HTMLElement }[], onToggle: () => void): HTMLElement {
  const details = el("details", { class: "v-fold", "data-fold": title }, el("summary", {}, title), ...panels.map(({ root }) => root));
  details.addEventListener("toggle", onToggle);
  return details;
}

/** Opens all that an element is folded into. */
export function unfold(element: Element): void {
  for (let at = element.closest("details"); at; at = at.parentElement?.closest("details") ?? null) at.open = true;
}
