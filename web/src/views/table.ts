/** Numbers of a picture as a table. */

import { type Cell, type FigureCell, textOf } from "../charts/figures";

/** Puts rows, the first of which is the head, into a folded part in place of what was there. Its summary stays. */
export function fillTable(details: HTMLDetailsElement, rows: readonly (readonly Cell[])[]): void {
  const table = document.createElement("table");
  const [head, ...body] = rows;
  if (head !== undefined) table.createTHead().append(line(head, "col"));
  const part = table.createTBody();
  part.append(...body.map((row) => line(row, "row")));
  const wide = document.createElement("div");
  wide.className = "wide";
  wide.append(table);
  const summary = details.querySelector(":scope > summary");
  details.replaceChildren(...(summary === null ? [wide] : [summary, wide]));
}

/** Every cell of the head is a heading; of other rows, the first. */
function line(cells: readonly Cell[], scope: "col" | "row"): HTMLTableRowElement {
  const row = document.createElement("tr");
  cells.forEach((content, i) => {
    const cell = document.createElement(scope === "col" || i === 0 ? "th" : "td");
    if (cell.tagName === "TH") cell.setAttribute("scope", scope);
    cell.textContent = textOf(content);
    if (typeof content !== "string") mark(cell, content);
    row.append(cell);
  });
  return row;
}

/** Says which figure of the summary it shows, as the text of the page does. */
export function mark(element: HTMLElement, { figure, run, value }: FigureCell): void {
  element.setAttribute("data-figure", figure);
  element.setAttribute("data-run", String(run));
  element.setAttribute("data-value", String(value));
}
