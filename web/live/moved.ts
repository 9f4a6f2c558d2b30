/** The view of a page in the next one: it stays where it is, or moves with the window if it reached its end. */

/** A part of the run in nanoseconds: of a page, or of a view. */
export interface Part {
  readonly from_ns: number;
  readonly to_ns: number;
}

/** A view that ends so near to the end of the page, in parts of its width, follows it. */
const NEAR = 0.02;
const SECOND = 1e9;
const TIME = /(?:^|&)t=([\d.e+-]+?)-([\d.e+]+)(?=&|$)/i;

/** The address (without `#`) of the first page: its window, where the run is longer. */
export function first(page: Part): string {
  return page.from_ns > 0 ? time(page) : "";
}

/** The address of a view of the page `before`, for the page `after` it. */
export function moved(hash: string, before: Part, after: Part): string {
  const rest = hash.replace(/^#/, "").replace(TIME, "").replace(/^&/, "");
  const view = timeOf(hash) ?? whole(before);
  if (!view) return rest;
  const width = view.to_ns - view.from_ns;
  const follows = view.to_ns >= before.to_ns - NEAR * width;
  const isWindow = follows && Math.abs(view.from_ns - before.from_ns) <= NEAR * width;
  const later = after.to_ns - before.to_ns;
  const next = isWindow ? after : follows ? { from_ns: view.from_ns + later, to_ns: view.to_ns + later } : view;
  // A page that starts with the run shows all of it without an address.
  const t = isWindow ? first(after) : time(next);
  return [t, rest].filter((part) => part !== "").join("&");
}

/** The whole page is the view of an address without a time, unless it has an empty time before its window. */
function whole(page: Part): Part | undefined {
  return page.from_ns > 0 ? undefined : page;
}

function timeOf(hash: string): Part | undefined {
  const found = TIME.exec(hash.replace(/^#/, ""));
  if (!found) return undefined;
  const [from_ns, to_ns] = [Number(found[1]) * SECOND, Number(found[2]) * SECOND];
  return from_ns < to_ns ? { from_ns, to_ns } : undefined;
}

function time({ from_ns, to_ns }: Part): string {
  const seconds = (ns: number) => String(Number((ns / SECOND).toFixed(9)));
  return `t=${seconds(from_ns)}-${seconds(to_ns)}`;
}
