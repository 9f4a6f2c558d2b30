/** The report on paper: light, of a fixed width, with its short tables unfolded. */

import type { Drawing } from "./drawing";
import type { Panels } from "./panels";
import type { SceneSource } from "./scene-source";

/** 180 mm on paper. */
const PRINT_WIDTH = 680;
/** Of paper there is enough for short tables. */
const PRINTED_ROWS = 40;

export function listenToPrint(root: HTMLElement, scenes: SceneSource, panels: Panels, drawing: Drawing): void {
  const print = (isPrinting: boolean) => {
    scenes.isPrinting = isPrinting;
    root.classList.toggle("v-print", isPrinting);
    root.style.width = isPrinting ? `${PRINT_WIDTH}px` : "";
    scenes.applyTheme();
    const unfolds = (rows: readonly unknown[]) => isPrinting && rows.length <= PRINTED_ROWS;
    for (const { panel, index } of panels.visible()) panel.unfold(unfolds(panel.chart.table(scenes.of(index))));
    for (const panel of panels.small) panel.unfold(unfolds(panel.chart.table(scenes.context)));
    drawing.drawNow();
  };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
}
