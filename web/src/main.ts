/** Begin: as the page's viewer, or, in a worker made from the same text, as its servant. */

import { PAGE_VERSION, type PageMeta } from "./format/page";
import { App } from "./views/app";
import { el } from "./views/dom";
import { hook } from "./views/hook";
import { type DedicatedWorkerGlobalScope, serve } from "./work/worker";
import { Workshop } from "./work/workshop";

function begin(): void {
  const view = document.getElementById("view");
  if (!view) return;
  warnIfCutOff(view);
  const meta = readMeta(view);
  if (!meta) return;
  const script = document.getElementById("iosonar-viewer")?.textContent ?? "";
  const app = new App(view, meta, new Workshop(script));
  window.addEventListener("error", (e) => app.fail(e.error ?? e.message));
  window.addEventListener("unhandledrejection", (e) => app.fail(e.reason));
  const ready = app.start();
  hook(app, ready);
  ready.then(
    () => hideStaticPictures(),
    (error) => app.fail(error),
  );
}

function readMeta(view: HTMLElement): PageMeta | undefined {
  try {
    const meta = JSON.parse(document.getElementById("iosonar-meta")?.textContent ?? "") as PageMeta;
    if (meta.version === PAGE_VERSION) return meta;
    say(view, `This page has form ${meta.version}, the viewer in it knows form ${PAGE_VERSION}.`);
  } catch {
    say(view, "The data of this page cannot be read; its words and pictures can.");
  }
  return undefined;
}

/** The last element of the file tells that it is whole. */
function warnIfCutOff(view: HTMLElement): void {
  if (document.getElementById("iosonar-end")) return;
  let length = 0;
  for (const script of document.scripts) length += script.textContent?.length ?? 0;
  say(
    view,
    `This file is cut off at ${(length / 1e6).toFixed(1)} MB: what follows is missing in the pictures. Copy or send it again.`,
  );
}

function say(view: HTMLElement, text: string): void {
  view.append(el("p", { class: "v-alert", role: "alert", "data-role": "banner" }, `⚠ ${text}`));
}

/** The panels show the same, and more. */
function hideStaticPictures(): void {
  for (const id of ["overview-image", "blame-image"]) document.getElementById(id)?.setAttribute("hidden", "");
}

if (typeof document === "undefined") serve(globalThis as unknown as DedicatedWorkerGlobalScope);
else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
else begin();
