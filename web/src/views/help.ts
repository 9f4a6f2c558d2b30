/** What mouse and keys do. */

const MOUSE: readonly (readonly [string, string])[] = [
  ["wheel, pinch", "zoom time at the pointer; with Shift the latency"],
  ["drag", "move"],
  ["Shift and drag", "choose a part of the time: all panels follow"],
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
  ["r w p", "reads, writes, pushed-back requests on and off"],
  ["t", "time base: submitted, due, completed, number"],
  ["l", "linear or logarithmic"],
  ["e", "how numbers become strength of colour"],
  ["d", "dots or density"],
  ["n N", "next finding, the one before"],
  ["/", "go to a time, to the number of a request or to a place with a name"],
  ["a b x", "run A, run B, difference"],
  ["c", "cautions"],
  ["s S", "save the panel as PNG, as SVG"],
  ["?", "this help"],
  ["Esc", "clear the selection, close"],
];

const ROLE = "help-dialog";
/** In the page's colours: it stands outside the panels, which have a style sheet of their own. */
const STYLE =
  "color: var(--fg); background: var(--bg); border: 1px solid var(--faint); border-radius: 6px; padding: 10px 22px 16px; " +
  "width: min(720px, 92vw); max-height: 90vh; overflow: auto; font-size: 14px";
const BUTTON_STYLE = "font: inherit; min-height: 28px; padding: 2px 12px";

/** Opens the help; nothing happens if it is open already. */
export function openHelp(): void {
  if (document.querySelector(`dialog[data-role="${ROLE}"]`) !== null) return;
  const dialog = document.createElement("dialog");
  dialog.className = "v-help";
  dialog.dataset["role"] = ROLE;
  dialog.style.cssText = STYLE;
  const title = element("h2", "Mouse and keys");
  title.id = "v-help-title";
  dialog.setAttribute("aria-labelledby", title.id);
  const close = element("button", "Close");
  close.setAttribute("type", "button");
  close.style.cssText = BUTTON_STYLE;
  close.addEventListener("click", () => dialog.close());
  dialog.append(title, element("h3", "Mouse and touch"), list(MOUSE), element("h3", "Keys"), list(KEYS), close);
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

function element(name: string, text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function list(entries: readonly (readonly [string, string])[]): HTMLElement {
  const made = document.createElement("dl");
  made.className = "facts";
  for (const [keys, words] of entries) made.append(element("dt", keys), element("dd", words));
  return made;
}

/** Clicks on what is behind a dialog come to it as well. */
function isOutside(dialog: HTMLElement, { clientX, clientY }: MouseEvent): boolean {
  const box = dialog.getBoundingClientRect();
  return clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom;
}
