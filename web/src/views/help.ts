/** What mouse and keys do. */

import { el } from "./dom";

const MOUSE: readonly (readonly [string, string])[] = [
  ["Ctrl and wheel, pinch", "zoom time at the pointer; with Shift the latency. The wheel alone scrolls the page"],
  ["drag", "move"],
  ["Shift and drag", "select a part of the time: all panels follow. In the sonar, up or down as well: select requests by their duration, too. Beside it stands how they differ from the others; a click on a bar there shows only requests with this value"],
  ["Alt and drag", "zoom to a box"],
  ["double-click", "back to the view before"],
  ["click", "facts of a request"],
  ["one finger, two fingers", "move, zoom; a long press shows the facts of a request"],
];

const KEYS: readonly (readonly [string, string])[] = [
  ["← → ↑ ↓", "move by a tenth; with Shift by half"],
  ["+ −", "zoom"],
  ["Home or 0", "the whole run"],
  ["Backspace, [ and ]", "view before, and behind"],
  ["r w p f", "reads, writes, deferred requests, flushes on and off"],
  ["t", "time base: submitted, due, completed, number"],
  ["y", "response (due to completion) or latency (submission to completion)"],
  ["l", "linear or logarithmic"],
  ["e", "how numbers become strength of colour"],
  ["d", "dots or density"],
  ["o", "bars or dots for fewer than 300 requests in sight"],
  ["n N", "next finding, the one before"],
  ["/", "go to a time, to the number of a request or to a place with a name"],
  ["a b x", "run A, run B, difference"],
  ["c", "cautions"],
  ["s S", "save the panel as PNG, as SVG"],
  ["v", "save the panels in sight as one PNG"],
  ["m", "write a note on the selected time, or on the time in sight; the link keeps it"],
  ["?", "this help"],
  ["Esc", "clear the selection, close"],
];

const ROLE = "help-dialog";
const TITLE = "v-help-title";

/** Opens the help; nothing happens if it is open already. */
export function openHelp(): void {
  if (document.querySelector(`dialog[data-role="${ROLE}"]`) !== null) return;
  const close = el("button", { type: "button" }, "Close");
  const dialog = el(
    "dialog",
    { class: "v-help", "data-role": ROLE, "aria-labelledby": TITLE },
    el("h2", { id: TITLE }, "Mouse and keys"),
    el("h3", {}, "Mouse and touch"),
    list(MOUSE),
    el("h3", {}, "Keys"),
    list(KEYS),
    close,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => {
    // No key may reach the panels behind. Esc closes a modal dialog by itself.
    event.stopPropagation();
    if (event.key === "?") dialog.close();
    if (event.key === "Tab") {
      // The only thing that can have the focus keeps it.
      event.preventDefault();
      close.focus();
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog && isOutside(dialog, event)) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}

function list(entries: readonly (readonly [string, string])[]): HTMLElement {
  return el("dl", { class: "facts" }, ...entries.flatMap(([keys, words]) => [el("dt", {}, keys), el("dd", {}, words)]));
}

/** Clicks on what is behind a dialog come to it as well. */
function isOutside(dialog: HTMLElement, { clientX, clientY }: MouseEvent): boolean {
  const box = dialog.getBoundingClientRect();
  return clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom;
}
