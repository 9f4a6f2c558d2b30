/** Notes that a link carries. */

/** A link has at most so many notes. */
export const MOST_NOTES = 20;
/** Longest text of a note, in characters. */
export const LONGEST_NOTE = 200;

/** Characters that cannot be seen, or that turn the direction of what follows. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;

/** A text as one line of limited length in which every character is seen; empty where nothing is left. */
export function cleanNote(text: string): string {
  const line = text.replace(UNSEEN, " ").replace(/\s+/g, " ").trim();
  return [...line].slice(0, LONGEST_NOTE).join("");
}
