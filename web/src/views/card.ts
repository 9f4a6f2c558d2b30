/** All facts of one request in words, and the command that shows it closer. */

import type { PageRun } from "../format/page";
import type { RequestFacts } from "../model/requests";
import { placeAt } from "../model/places";
import { bytes, count, duration, moment, plainBytes, significant } from "../render/units";

/** Moments of a request are known to the microsecond. */
const MOMENT_STEP_NS = 1_000;
/** What is shown before and behind a request. */
const MARGIN_NS = 1e9;
const MS = 1e6;

/** `#8 123 456 · write 64 KiB @ 12.345 GiB · …`. */
export function cardText(request: RequestFacts, run: PageRun, hasPlaces = run.detail.has_places): string {
  return [
    `#${count(request.number)}`,
    ...(hasPlaces ? placeOf(request, run) : [request.op, targetOf(request, run)]),
    ...(request.pass > 0 || hasPasses(run) ? [`pass ${request.pass + 1}`] : []),
    ...times(request, run),
    ...marks(request),
  ].join(" · ");
}

function placeOf(request: RequestFacts, run: PageRun): string[] {
  const { op, lengthBytes, offsetBytes, worker } = request;
  const named = placeAt(run, offsetBytes);
  const inside = named ? ` (${named.name} + ${bytes(offsetBytes - named.from_bytes)})` : "";
  // A flush has no place.
  const what = op === "flush" ? op : `${op} ${plainBytes(lengthBytes)} @ ${place(offsetBytes)}${inside}`;
  return [what, targetOf(request, run), `worker ${worker}`];
}

/** Bytes exactly, and in a unit that people know. */
function place(offset: number): string {
  const [factor, unit] = ([[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"]] as const).find(([least]) => offset >= least) ?? [1, "B"];
  return factor === 1 ? `${count(offset)} B` : `${(offset / factor).toFixed(3)} ${unit} (byte ${count(offset)})`;
}

/** Names are told only where there are several. */
function targetOf(request: RequestFacts, run: PageRun): string {
  const name = run.parts.filter((part) => part.kind === "target")[request.target]?.name;
  return name === undefined ? `target ${request.target}` : `target ${request.target} (${name})`;
}

function hasPasses(run: PageRun): boolean {
  return run.parts.some((part) => part.kind === "pass");
}

function times(request: RequestFacts, run: PageRun): string[] {
  const at = (ns: number) => moment(ns, MOMENT_STEP_NS);
  const begin = run.has_timetable
    ? [`intended ${at(request.dueNs)}`, `started +${duration(request.delayNs)}`]
    : [`started ${at(request.submittedNs)}`];
  const end = request.failed ? `FAILED after ${duration(request.latencyNs)}` : `latency ${duration(request.latencyNs)}`;
  return [...begin, end, `completed ${at(request.completedNs)}`];
}

function marks(request: RequestFacts): string[] {
  const { pushed, inFlightThen, band, rank, other } = request;
  return [
    ...(pushed ? ["deferred"] : []),
    ...(inFlightThen === undefined ? [] : [`in flight then ${count(inFlightThen)}`]),
    ...(band === undefined ? [] : [`band "${band}"`]),
    ...(rank === undefined ? [] : [`rank ${count(rank)} slowest`]),
    ...(other === undefined ? [] : [`in the other run ${duration(other.latencyNs)}${factor(other.latencyNs, request.latencyNs)}`]),
  ];
}

/** How many times as long as here it took there. */
function factor(there: number, here: number): string {
  return there > 0 && here > 0 ? ` (× ${significant(there / here)})` : "";
}

/** A command that shows the request with a second before and behind it. */
export function replayExcerpt(request: RequestFacts, run: PageRun): string {
  const from = Math.floor(Math.max(0, Math.min(request.dueNs, request.submittedNs) - MARGIN_NS) / MS);
  const to = Math.ceil((request.completedNs + MARGIN_NS) / MS);
  return `iosonar plot ${shellWord(run.name)} --range ${seconds(from)}..${seconds(to)} --only sonar`;
}

/** `64.025s` from milliseconds. */
function seconds(ms: number): string {
  return `${ms / 1000}s`;
}

/** Nothing in it means anything to a shell. */
const PLAIN = /^[A-Za-z0-9_./@%+,:-]+$/;
/** Characters that do something to a terminal or cannot be seen: controls, format characters, odd blanks, half letters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u;

/** A word that a shell passes on as it is; what cannot be seen is written as an escape that bash, zsh and ksh read. */
export function shellWord(text: string): string {
  // A name that looks like an option would be one.
  const name = text.startsWith("-") && text !== "-" ? `./${text}` : text;
  if (PLAIN.test(name)) return name;
  if (!UNSEEN.test(name)) return `'${name.replaceAll("'", "'\\''")}'`;
  const escaped = [...name].map((letter) => {
    if (letter === "'" || letter === "\\") return `\\${letter}`;
    return UNSEEN.test(letter) ? hexadecimal(letter) : letter;
  });
  return `$'${escaped.join("")}'`;
}

/** Its bytes in UTF-8, as `\xHH`. */
function hexadecimal(letter: string): string {
  return [...new TextEncoder().encode(letter)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}
