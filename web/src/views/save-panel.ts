/** Saves the panel that one is at. */

import type { Panels } from "./panels";
import type { Report } from "./report";
import { savePng, saveSvg } from "./save";
import type { SceneSource } from "./scene-source";
import type { TimePanel } from "./time-panel";

/** A small panel that has the focus, else the panel over time that was used last, else the sonar. */
export function savePanel(
  form: "png" | "svg",
  { meta }: Report,
  scenes: SceneSource,
  panels: Panels,
  active: TimePanel | undefined,
): void {
  const visible = panels.visible();
  const small = panels.small.find(({ canvas }) => canvas === document.activeElement);
  const entry =
    visible.find(({ panel }) => panel === active && !panel.isOverview) ??
    visible.find(({ panel }) => panel.isSonar) ??
    visible[0];
  const panel = small ?? entry?.panel;
  if (!panel) return;
  const index = small ? 0 : entry!.index;
  const name = `${meta.runs[index]?.run_id?.slice(0, 12) ?? "load"}.${panel.root.dataset["panel"]}`;
  if (form === "png") return savePng(name, panel.canvas);
  const { width, height } = panel.size;
  saveSvg(name, width, height, (p) =>
    void (small ? small.paint(p, scenes.context(small.chart.isFiltered)) : entry!.panel.paint(p, entry!.panel.chart.isFiltered ? scenes.of(index) : scenes.whole(index))),
  );
}
