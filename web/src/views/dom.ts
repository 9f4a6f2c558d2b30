/** Elements. Text is always text: nothing of a run is ever read as HTML. */

type Attributes = Readonly<Record<string, string | undefined>>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function button(text: string, title: string, attributes: Attributes, onClick: () => void): HTMLButtonElement {
  const element = el("button", { type: "button", title, "aria-label": title, ...attributes }, text);
  element.addEventListener("click", onClick);
  return element;
}

/** Sets a text only where it changed: a live region speaks each time it is set. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
