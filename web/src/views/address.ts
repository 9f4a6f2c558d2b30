/** The address of the page tells the view. */

/** Links inside of the page lead to headings: they say nothing about the view. */
export function listenToAddress(open: (hash: string) => void): void {
  window.addEventListener("hashchange", () => location.hash.includes("=") && open(location.hash));
}

export function writeAddress(hash: string): void {
  if (hash === location.hash.slice(1)) return;
  try {
    window.history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
  } catch {
    // Some browsers forbid it for files, others when it happens too often; then the address just stays.
  }
}
