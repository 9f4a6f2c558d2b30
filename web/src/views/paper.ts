/** The report on paper: light, of a fixed width. Tables that are open are printed, too. */

import type { Drawing } from "./drawing";
import type { SceneSource } from "./scene-source";

/** 180 mm on paper. */
const PRINT_WIDTH = 680;

export function listenToPrint(root: HTMLElement, scenes: SceneSource, drawing: Drawing): void {
  const print = (isPrinting: boolean) => {
    scenes.isPrinting = isPrinting;
    root.classList.toggle("v-print", isPrinting);
    root.style.width = isPrinting ? `${PRINT_WIDTH}px` : "";
    scenes.applyTheme();
    drawing.drawNow();
  };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
}
