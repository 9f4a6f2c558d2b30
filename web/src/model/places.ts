/** Parts of the space that have names. */

import type { PagePlace, PageRun } from "../format/page";

/** The smallest part around a byte: a file rather than its partition. */
export function placeAt(run: PageRun, byte: number): PagePlace | undefined {
  const around = (run.seek?.places ?? []).filter((p) => p.from_bytes <= byte && byte < p.to_bytes);
  return around.reduce<PagePlace | undefined>((best, p) => (best && sizeOf(best) <= sizeOf(p) ? best : p), undefined);
}

export function sizeOf(place: PagePlace): number {
  return place.to_bytes - place.from_bytes;
}

/** All parts with a name like what was typed. */
export function placesLike(run: PageRun, text: string): PagePlace[] {
  const wanted = text.trim().toLowerCase();
  return wanted === "" ? [] : (run.seek?.places ?? []).filter((p) => p.name.toLowerCase().includes(wanted));
}
