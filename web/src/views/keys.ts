/** Keys. What a key does is told in the help. */

export type KeyActions = Readonly<Record<string, (e: KeyboardEvent) => void>>;

/** Fields in which keys are text. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}

export function listenToKeys(actions: KeyActions): void {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || isTyping(e.target)) return;
    if (document.querySelector("dialog[open]") && e.key !== "?") return;
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    action(e);
  });
}
