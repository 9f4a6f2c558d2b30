/** The page of a running run: shows the report page in a frame, and replaces it by a newer one when there is one. */

import { type RunState, words } from "./state";

/** How often the state is asked for. */
const EVERY_MS = 1000;

const line = document.getElementById("state")!;
const frames = document.getElementById("frames")!;
const hold = document.getElementById("hold")!;
let shown: { readonly frame: HTMLIFrameElement; readonly state: RunState } | undefined;

async function renew(): Promise<boolean> {
  const response = await fetch("state");
  if (!response.ok) throw new Error(await response.text());
  const state = (await response.json()) as RunState;
  say(words(state));
  if (state.version !== shown?.state.version && !isHeld()) await replace(state);
  return state.is_growing || shown?.state.version !== state.version;
}

/** Loads a page out of sight, and shows it once it is drawn: nothing flickers. */
async function replace(state: RunState): Promise<void> {
  const before = shown?.frame;
  const frame = document.createElement("iframe");
  frame.title = "report";
  frame.dataset["next"] = "";
  frame.src = `page?${state.version}`;
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
  delete frame.dataset["next"];
  before?.remove();
  shown = { frame, state };
}

function isHeld(): boolean {
  return hold.getAttribute("aria-pressed") === "true";
}

function say(text: string, isBad = false): void {
  line.textContent = text;
  line.toggleAttribute("data-bad", isBad);
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
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

hold.addEventListener("click", () => hold.setAttribute("aria-pressed", String(!isHeld())));
void follow();
