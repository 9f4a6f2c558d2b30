/** The bar that stays on top: what is shown, and how. */

import type { PageBase } from "../format/page";
import { BASE_WORDS } from "../charts/sonar";
import type { Classes, Shown, Transfer, View } from "../model/view";
import { button, el } from "./dom";

export interface BarActions {
  readonly change: (change: Partial<View>) => void;
  readonly toggleTheme: () => void;
  readonly goTo: (text: string) => void;
  readonly back: () => void;
  readonly forward: () => void;
  readonly home: () => void;
  readonly help: () => void;
  readonly savePng: () => void;
  readonly saveSvg: () => void;
  readonly saveView: () => void;
  readonly note: () => void;
  readonly openSideCar: (file: File) => void;
}

const TRANSFERS: readonly (readonly [Transfer, string])[] = [
  ["log", "log ink"],
  ["equal", "equalised ink"],
  ["linear", "linear ink"],
];
const RUNS: readonly (readonly [Shown, string])[] = [
  ["both", "A and B"],
  ["A", "A"],
  ["B", "B"],
  ["difference", "B against A"],
];

const NAMES: Readonly<Record<keyof Classes, string>> = {
  read: "reads",
  write: "writes",
  pushed: "deferred",
  flush: "flushes",
};

export class Bar {
  readonly root: HTMLElement;
  readonly goTo: HTMLInputElement;
  private readonly classes: readonly (readonly [keyof Classes, HTMLButtonElement])[];
  private readonly base: HTMLSelectElement;
  private readonly transfer: HTMLSelectElement;
  private readonly scale: HTMLButtonElement;
  private readonly ordinate: HTMLButtonElement;
  private readonly shown: HTMLSelectElement | undefined;
  private view: View;

  constructor(
    title: string,
    view: View,
    bases: readonly PageBase[],
    runs: number,
    private readonly has: { readonly flushes: boolean; readonly deeper: boolean; readonly response: boolean },
    private readonly actions: BarActions,
  ) {
    this.view = view;
    this.classes = this.toggles();
    this.base = this.choice(
      "time base: which moment of a request is its place (t)",
      bases.map((b) => [b, `by ${BASE_WORDS[b]}`]),
      (base) => actions.change({ base }),
    );
    this.transfer = this.choice("how the number of requests becomes strength (e)", TRANSFERS, (transfer) =>
      actions.change({ transfer }),
    );
    this.shown = runs > 1 ? this.choice("which run (a, b, x)", RUNS, (shown) => actions.change({ shown })) : undefined;
    this.scale = button("log", "axis of durations: logarithmic or linear (l)", { "data-role": "scale" }, () =>
      actions.change({ yLinear: !this.view.yLinear }),
    );
    const ordinateWords = "ordinate: response (due to completion) or latency (submission to completion) (y)";
    this.ordinate = button("response", ordinateWords, { "data-role": "ordinate" }, () =>
      actions.change({ ordinate: this.view.ordinate === "response" ? "latency" : "response" }),
    );
    this.goTo = this.goToField();
    this.root = el(
      "div",
      { class: "v-bar", role: "toolbar", "aria-label": "View", "data-role": "bar" },
      el("h2", { title }, title),
    );
    // Nothing is pushed back before it runs; a load has no time bases.
    const known = this.classes.filter(([name]) => (name !== "pushed" || bases.length > 0) && (name !== "flush" || has.flushes));
    this.root.append(this.group(...known.map(([, b]) => b)));
    const ordinate = has.response ? [this.ordinate] : [];
    if (bases.length > 0) this.root.append(this.group(...ordinate, this.base, this.scale, this.transfer));
    if (this.shown) this.root.append(this.group(this.shown));
    this.root.append(this.history(), this.goTo, this.others());
  }

  private group(...elements: HTMLElement[]): HTMLElement {
    return el("span", { class: "v-group" }, ...elements);
  }

  private toggles(): (readonly [keyof Classes, HTMLButtonElement])[] {
    return (["read", "write", "pushed", "flush"] as const).map((name) => {
      const flip = () => this.actions.change({ on: { ...this.view.on, [name]: !this.view.on[name] } });
      const text = NAMES[name];
      return [
        name,
        button(text, `show ${text} (${name[0]})`, { "data-on": name, "aria-pressed": "true" }, flip),
      ] as const;
    });
  }

  private choice<T extends string>(
    label: string,
    options: readonly (readonly [T, string])[],
    use: (value: T) => void,
  ): HTMLSelectElement {
    const select = el(
      "select",
      { "aria-label": label, title: label },
      ...options.map(([value, text]) => el("option", { value }, text)),
    );
    // Whoever chose with the pointer wants to go on with keys; whoever chose with keys, to choose further.
    let byPointer = false;
    select.addEventListener("pointerdown", () => (byPointer = true));
    select.addEventListener("keydown", () => (byPointer = false));
    select.addEventListener("change", () => {
      use(select.value as T);
      if (byPointer) select.blur();
    });
    return select;
  }

  private history(): HTMLElement {
    const { actions } = this;
    return this.group(
      button("‹", "previous view ([)", { "data-role": "back" }, actions.back),
      button("›", "next view (])", { "data-role": "forward" }, actions.forward),
      button("whole run", "whole run (0)", { "data-role": "home" }, actions.home),
    );
  }

  private goToField(): HTMLInputElement {
    const label = "go to a time (65.3, 1:05:03), a request (#8123456) or a name of a place (/)";
    const input = el("input", {
      type: "text",
      placeholder: "65.3 or #812",
      "aria-label": label,
      title: label,
      "data-role": "go-to",
    });
    input.addEventListener("keydown", (e) => {
      if (e.key === "Enter") this.actions.goTo(input.value);
      if (e.key === "Enter" || e.key === "Escape") input.blur();
    });
    return input;
  }

  private others(): HTMLElement {
    const { actions } = this;
    const file = el("input", { type: "file", accept: ".trace", hidden: "", "data-role": "side-car" });
    file.addEventListener("change", () => file.files?.[0] && actions.openSideCar(file.files[0]));
    const open = button("open .trace", "open the file with all requests", { "data-role": "open" }, () => file.click());
    return this.group(
      button("☾", "dark or light", { "data-role": "theme" }, actions.toggleTheme),
      button("PNG", "save the panel as PNG (s)", { "data-role": "png" }, actions.savePng),
      button("SVG", "save the panel as SVG (S)", { "data-role": "svg" }, actions.saveSvg),
      button("view", "save the panels in sight as one PNG (v)", { "data-role": "save-view" }, actions.saveView),
      button("note", "write a note on what is selected, or in sight (m)", { "data-role": "note" }, actions.note),
      ...(this.has.deeper ? [open] : []),
      button("?", "help (?)", { "data-role": "help" }, actions.help),
      file,
    );
  }

  update(view: View, marks: Readonly<Record<keyof Classes, string>>): void {
    this.view = view;
    for (const [name, toggle] of this.classes) {
      toggle.setAttribute("aria-pressed", String(view.on[name]));
      toggle.style.setProperty("--mark", marks[name]);
    }
    this.base.value = view.base;
    this.transfer.value = view.transfer;
    if (this.shown) this.shown.value = view.shown;
    this.ordinate.textContent = view.ordinate;
    this.scale.textContent = view.yLinear ? "linear" : "log";
  }
}
