/** The time axis of all lanes, with the notes above it: it stays in sight at the bottom of the window. */

import { timeAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { moment } from "../render/units";
import { drawNotes, notesHeight, notesOf } from "./note-marks";
import { type Drawn, LEFT, RIGHT, type Scene, type TimeChart } from "./scene";

export const TIME_AXIS: TimeChart = {
  id: "time-axis",
  title: "Time axis",
  height: 28,
  has: () => true,
  describe: (scene) => {
    const { time } = scene.view;
    const notes = notesOf(scene).map(({ time: [from, to], text }, i) => ` Note ${i + 1}, ${moment(from)} to ${moment(to)}: ${text}.`);
    return `Time since the start, from ${moment(time[0])} to ${moment(time[1])}.${notes.join("")}`;
  },
  table: () => [],
  draw,
  isFiltered: true,
};

function draw(p: Painter, _box: Box, scene: Scene): Drawn {
  const { palette, view } = scene;
  const above = notesHeight(scene);
  const box: Box = { x: LEFT, y: 1 + above, w: Math.max(10, p.width - LEFT - RIGHT), h: 0 };
  if (above > 0) drawNotes(p, { ...box, y: 1, h: above }, scene);
  timeAxis(p, box, palette, view.time[0], view.time[1], "time");
  return { hover: () => undefined };
}
