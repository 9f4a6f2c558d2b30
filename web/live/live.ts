/** The page of a running run: shows the report page in a frame, and replaces it by a newer one when there is one. */

import { first, moved } from "./moved";
import { type RunState, words } from "./state";

/** How often the state is asked for. */
const EVERY_MS = 1000;
/** How often a page that waits for the end of a gesture looks again. */
const CALM_MS = 100;

interface Shown {
  readonly frame: HTMLIFrameElement;
  readonly state: RunState;
}

const line = document.getElementById("state")!;
const frames = document.getElementById("frames")!;
const hold = document.getElementById("hold")!;
let shown: Shown | undefined;
/** Whether a pointer is pressed inside of a frame. */
let isPressed = false;

async function renew(): Promise<boolean> {
  const response = await fetch("state");
  if (!response.ok) throw new Error(await response.text());
  const state = (await response.json()) as RunState;
  say(words(state, shown?.state ?? state));
  if (state.version !== shown?.state.version && !isBusy()) {
    await replace(state);
    say(words(state, state));
  }
  return state.is_growing || shown?.state.version !== state.version;
}

/** Loads a page out of sight, and shows it once it is drawn: nothing flickers. */
async function replace(state: RunState): Promise<void> {
  const before = shown;
  const viewed = hashOf(before);
  const frame = document.createElement("iframe");
  frame.title = "report";
  frame.dataset["next"] = "";
  const hash = before ? moved(viewed, before.state, state) : location.hash.slice(1) || first(state);
  frame.src = `page?${state.version}${hash && `#${hash}`}`;
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  frames.append(frame);
  await loaded;
  const report = frame.contentWindow?.__report;
  if (!report) {
    const why = frame.contentDocument?.body.textContent;
    frame.remove();
    throw new Error(why || "there is no report");
  }
  await report.ready;
  watch(frame);
  if (before) {
    while (isBusy()) await wait(CALM_MS);
    // The view may have changed since the page was asked for.
    const now = hashOf(before);
    if (now !== viewed) await report.set(`#${moved(now, before.state, state)}`);
    takeOver(before.frame, frame);
  }
  delete frame.dataset["next"];
  if (document.activeElement === before?.frame) frame.contentWindow?.focus();
  before?.frame.remove();
  shown = { frame, state };
}

function hashOf(of: Shown | undefined): string {
  return of?.frame.contentWindow?.location.hash ?? "";
}

/** What is open stays open, and the panels stay where they are on the screen. */
function takeOver(from: HTMLIFrameElement, to: HTMLIFrameElement): void {
  const details = (of: HTMLIFrameElement) => [...(of.contentDocument?.querySelectorAll("details") ?? [])];
  const [open, next] = [details(from), details(to)];
  if (open.length === next.length) next.forEach((part, i) => (part.open = open[i]!.open));
  const top = (of: HTMLIFrameElement) => of.contentDocument?.getElementById("view")?.getBoundingClientRect().top ?? 0;
  const { scrollX = 0, scrollY = 0 } = from.contentWindow ?? {};
  to.contentWindow?.scrollTo(scrollX, scrollY);
  if (scrollY > 0) to.contentWindow?.scrollBy(0, top(to) - top(from));
}

/** A gesture, a dialog or a text that is being typed would be lost with the page. */
function isBusy(): boolean {
  const page = shown?.frame.contentDocument;
  const isTyping = page?.activeElement?.tagName === "INPUT" || page?.activeElement?.tagName === "SELECT";
  return isHeld() || isPressed || isTyping || page?.querySelector("dialog[open]") != null;
}

function watch({ contentWindow: page }: HTMLIFrameElement): void {
  page?.addEventListener("pointerdown", () => (isPressed = true), true);
  for (const end of ["pointerup", "pointercancel"]) page?.addEventListener(end, () => (isPressed = false), true);
}

function isHeld(): boolean {
  return hold.getAttribute("aria-pressed") === "true";
}

function say(text: string, isBad = false): void {
  line.textContent = text;
  line.toggleAttribute("data-bad", isBad);
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Asks again and again, while the page is seen. */
async function follow(): Promise<void> {
  for (;;) {
    if (!document.hidden) {
      try {
        if (!(await renew())) return;
      } catch (error) {
        say(`no news: ${error instanceof Error ? error.message : String(error)}`, true);
      }
    }
    await wait(EVERY_MS);
  }
}

hold.addEventListener("click", () => hold.setAttribute("aria-pressed", String(!isHeld())));
void follow();
