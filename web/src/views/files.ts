/** Files with all requests, which are chosen or dropped on the page. */

import { SideCar } from "../format/side-car";
import type { RunData } from "../model/run-data";
import { count } from "../render/units";

/** Files may be dropped anywhere; the veil over `root` says so. */
export function listenToDrops(root: HTMLElement, open: (file: File) => void): void {
  const veil = (on: boolean) => root.classList.toggle("v-drop", on);
  document.addEventListener("dragover", (e) => {
    e.preventDefault();
    veil(true);
  });
  document.addEventListener("dragleave", () => veil(false));
  document.addEventListener("drop", (e) => {
    e.preventDefault();
    veil(false);
    const file = e.dataTransfer?.files[0];
    if (file) open(file);
  });
}

/** The file says to which run it belongs. Returns what came of it, in words. */
export async function openSideCar(file: File, runs: readonly RunData[]): Promise<string> {
  let last: unknown;
  for (const { run, points } of runs) {
    try {
      const sideCar = await SideCar.open(file, run.run_id);
      points.use(sideCar);
      return `${file.name}: ${count(sideCar.requests)} requests are at hand`;
    } catch (error) {
      last = error;
    }
  }
  return last instanceof Error ? last.message : String(last);
}
