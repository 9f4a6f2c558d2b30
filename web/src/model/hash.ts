/** The view in the page's address, so that a link leads to a finding: `#t=64.1-66&y=1e-4-10&base=due&on=rw`. */

import type { PageBase } from "../format/page";
import { cleanNote, LONGEST_NOTE, MOST_NOTES } from "./notes";
import type { Bounds, Classes, Note, Only, Ordinate, Range, Shown, Transfer, View } from "./view";

const BASES: readonly PageBase[] = ["start", "due", "completion", "number"];
const ORDINATES: readonly Ordinate[] = ["response", "latency"];
const SHOWN: readonly Shown[] = ["both", "A", "B", "difference"];
const TRANSFERS: readonly Transfer[] = ["log", "equal", "linear"];
const NUMBER = String.raw`(\d*\.?\d+(?:e[+-]?\d+)?)`;
const RANGE = new RegExp(`^${NUMBER}-${NUMBER}$`, "i");
const SECOND = 1e9;
/** A link has at most so many conditions, and no longer values. */
const MOST_ONLY = 8;
const LONGEST_VALUE = 200;

/** What differs from `home`, without `#`. */
export function toHash(view: View, home: View): string {
  const parts: string[] = [];
  const put = (name: string, value: string | number) => parts.push(`${name}=${encodeURIComponent(value)}`);
  const range = (name: string, a: Range, b: Range, unit: number, digits: number) => {
    if (a[0] !== b[0] || a[1] !== b[1]) parts.push(`${name}=${tidy(a[0] / unit, digits)}-${tidy(a[1] / unit, digits)}`);
  };
  range("t", view.time, home.time, SECOND, 9);
  range("i", view.number, home.number, 1, 0);
  if (view.y[0] !== home.y[0] || view.y[1] !== home.y[1]) {
    parts.push(`y=${seconds(view.y)}`);
  }
  if (view.base !== home.base) put("base", view.base);
  if (view.ordinate !== home.ordinate) put("of", view.ordinate);
  const on = letters(view);
  if (on !== letters(home)) put("on", on);
  if (view.yLinear) put("scale", "linear");
  if (view.transfer !== home.transfer) put("ink", view.transfer);
  if (!view.dots) put("dots", "off");
  if (!view.bars) put("bars", "off");
  if (view.shown !== home.shown) put("show", view.shown);
  if (view.rate !== home.rate) put("rate", view.rate);
  if (view.picked !== undefined) parts.push(`sel=${view.pickedIn ? "B:" : ""}${view.picked}`);
  if (view.brush) range("brush", view.brush, [NaN, NaN], view.base === "number" ? 1 : SECOND, 9);
  if (view.brush && view.brushY) parts.push(`durations=${seconds(view.brushY)}`);
  for (const { attribute, value } of view.only ?? []) put("only", `${attribute}:${value}`);
  for (const { time: [from, to], text } of view.notes ?? []) put("note", `${tidy(from / SECOND, 9)}-${tidy(to / SECOND, 9)}:${text}`);
  if (view.theme) put("theme", view.theme);
  return parts.join("&");
}

/** `home` with what a hash says; what it says wrongly is left out. */
export function fromHash(hash: string, home: View, bounds: Bounds): View {
  const parts = hash.replace(/^#/, "").split("&").map((part): [string, string] => {
    const [name = "", value = ""] = part.split("=", 2);
    return [name, decode(value)];
  });
  const told = new Map(parts);
  const several = (name: string, most: number) => parts.filter((part) => part[0] === name).slice(0, most).map((part) => part[1]);
  const only = several("only", MOST_ONLY).flatMap(onlyOf);
  const notes = several("note", MOST_NOTES).flatMap((text) => noteOf(text, bounds.time));
  const one = <T extends string>(name: string, of: readonly T[], otherwise: T): T =>
    of.find((v) => v === told.get(name)) ?? otherwise;
  const base = one("base", BASES, home.base);
  const on = told.get("on");
  const [, inB, number] = /^([AB]:)?(\d+)$/.exec(told.get("sel") ?? "") ?? [];
  const theme = told.get("theme");
  const brush = range(told.get("brush"), base === "number" ? 1 : SECOND, base === "number" ? bounds.number : bounds.time);
  return {
    time: range(told.get("t"), SECOND, bounds.time) ?? home.time,
    number: range(told.get("i"), 1, bounds.number) ?? home.number,
    y: range(told.get("y"), SECOND, bounds.y) ?? home.y,
    base,
    ordinate: one("of", ORDINATES, home.ordinate),
    on: on === undefined ? home.on : classesOf(on),
    yLinear: told.get("scale") === "linear",
    transfer: one("ink", TRANSFERS, home.transfer),
    dots: told.get("dots") !== "off",
    bars: told.get("bars") !== "off",
    shown: one("show", SHOWN, home.shown),
    rate: one("rate", ["requests", "bytes"], home.rate),
    picked: number === undefined ? undefined : Number(number),
    pickedIn: inB === "B:" ? 1 : undefined,
    theme: theme === "light" || theme === "dark" ? theme : undefined,
    brush,
    brushY: brush && range(told.get("durations"), SECOND, bounds.y),
    only: only.length > 0 ? only : undefined,
    notes: notes.length > 0 ? notes : undefined,
  };
}

/** `operation:write`. */
function onlyOf(text: string): Only[] {
  const [, attribute, value] = /^([a-z-]+):(.+)$/s.exec(text) ?? [];
  return attribute === undefined || value === undefined || value.length > LONGEST_VALUE ? [] : [{ attribute, value }];
}

/** `18.8-19.9:text`. */
function noteOf(told: string, bounds: Range): Note[] {
  const at = told.indexOf(":");
  const time = range(told.slice(0, at), SECOND, bounds);
  const text = cleanNote(told.slice(at + 1, at + 1 + 4 * LONGEST_NOTE));
  return at < 0 || !time || text === "" ? [] : [{ time, text }];
}

function letters({ on }: View): string {
  return `${on.read ? "r" : ""}${on.write ? "w" : ""}${on.pushed ? "p" : ""}${on.flush ? "f" : ""}`;
}

/** Classes by their letters. */
export function classesOf(letters: string): Classes {
  const has = (letter: string) => letters.includes(letter);
  return { read: has("r"), write: has("w"), pushed: has("p"), flush: has("f") };
}

function range(told: string | undefined, unit: number, bounds: Range): Range | undefined {
  const match = RANGE.exec(told ?? "");
  if (!match) return undefined;
  const [a, b] = [Math.round(Number(match[1]) * unit), Math.round(Number(match[2]) * unit)];
  const [from, to] = [Math.max(a, bounds[0]), Math.min(b, bounds[1])];
  return from < to ? [from, to] : undefined;
}

function tidy(value: number, digits: number): string {
  return String(Number(Math.max(value, 0).toFixed(digits)));
}

function seconds([from, to]: Range): string {
  return `${significant(from / SECOND)}-${significant(to / SECOND)}`;
}

function significant(value: number): string {
  return String(Number(value.toPrecision(6)));
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}
