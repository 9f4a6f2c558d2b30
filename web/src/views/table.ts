/** Numbers of a picture as a table. */

/** Puts rows, the first of which is the head, into a folded part in place of what was there. Its summary stays. */
export function fillTable(details: HTMLDetailsElement, rows: readonly (readonly string[])[]): void {
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
function line(cells: readonly string[], scope: "col" | "row"): HTMLTableRowElement {
  const row = document.createElement("tr");
  cells.forEach((text, i) => {
    const cell = document.createElement(scope === "col" || i === 0 ? "th" : "td");
    if (cell.tagName === "TH") cell.setAttribute("scope", scope);
    cell.textContent = text;
    row.append(cell);
  });
  return row;
}
