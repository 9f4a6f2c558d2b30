/** Notes as a list: those of the archive stand in the page, those of the link are added here; and a field for a new one. */

import { cleanNote, LONGEST_NOTE, MOST_NOTES } from "../model/notes";
import type { Note, Range } from "../model/view";
import { moment } from "../render/units";
import { button, el, setText } from "./dom";

export interface NoteActions {
  /** Changes the notes of the link. */
  readonly change: (notes: readonly Note[]) => void;
  /** Part of the time for a new note: what is brushed, else what is in sight. */
  readonly time: () => Range;
  readonly say: (text: string) => void;
}

export class NoteList {
  readonly root = el("section", { class: "notes", "aria-label": "Notes of this link", "data-role": "notes", hidden: "" });
  private readonly list = el("ol", { "data-role": "link-notes" });
  private readonly field = el("input", { type: "text", maxlength: String(LONGEST_NOTE), "data-role": "note-text", "aria-label": "Text of the note" });
  private readonly when = el("span", { class: "v-note" });
  private readonly form: HTMLElement;
  private notes: readonly Note[] = [];
  private shown = "";
  private time: Range = [0, 0];

  /** `first` is the number of the first note of the link, after those of the archive. */
  constructor(
    private readonly first: number,
    private readonly actions: NoteActions,
  ) {
    const add = button("add", "add the note to this link", { "data-role": "note-add" }, () => this.add());
    const cancel = button("cancel", "write no note (Esc)", {}, () => this.close());
    this.form = el("p", { hidden: "" }, this.when, " ", this.field, " ", add, " ", cancel);
    this.field.addEventListener("keydown", (e) => {
      e.stopPropagation();
      if (e.key === "Enter") this.add();
      if (e.key === "Escape") this.close();
    });
    const words = "Notes of this link. Who gets the link sees them; iosonar note keeps notes with the result.";
    this.root.append(el("h2", {}, "Notes of this link"), this.list, this.form, el("p", { class: "v-note" }, words));
  }

  /** Opens the field for a note on the part of the time that is looked at. */
  open(): void {
    if (this.notes.length >= MOST_NOTES) return this.actions.say(`a link has at most ${MOST_NOTES} notes`);
    this.time = this.actions.time();
    setText(this.when, `${timeWords(this.time)}:`);
    this.form.hidden = this.root.hidden = false;
    this.field.focus();
  }

  update(notes: readonly Note[]): void {
    this.notes = notes;
    const wanted = JSON.stringify(notes);
    if (wanted === this.shown) return;
    this.shown = wanted;
    this.list.start = this.first;
    this.list.replaceChildren(...notes.map((note) => this.item(note)));
    this.root.hidden = notes.length === 0 && this.form.hidden;
  }

  private item(note: Note): HTMLElement {
    const { time, text } = note;
    return el(
      "li",
      {},
      // As the notes of the archive have it: a button would be missing on paper.
      el("a", { href: linkTo(time) }, timeWords(time)),
      ` ${text} `,
      button("×", `remove the note ${text}`, { "data-role": "note-remove" }, () => this.actions.change(this.notes.filter((one) => one !== note))),
    );
  }

  private add(): void {
    const text = cleanNote(this.field.value);
    if (text === "") return this.close();
    this.field.value = "";
    this.close();
    this.actions.change([...this.notes, { time: this.time, text }]);
  }

  private close(): void {
    // Keys are commands again.
    this.field.blur();
    this.form.hidden = true;
    this.root.hidden = this.notes.length === 0;
  }
}

/** A link to the time, with as much again on either side. */
function linkTo([from, to]: Range): string {
  return `#t=${Math.max(2 * from - to, 0) / 1e9}-${(2 * to - from) / 1e9}`;
}

function timeWords([from, to]: Range): string {
  const step = Math.max((to - from) / 100, 1e3);
  return `${moment(from, step)} to ${moment(to, step)}`;
}
