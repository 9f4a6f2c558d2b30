/** The time axis of all lanes: it stays in sight at the bottom of the window. */

import { timeAxis } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { moment } from "../render/units";
import { type Drawn, LEFT, RIGHT, type Scene, type TimeChart } from "./scene";

export const TIME_AXIS: TimeChart = {
  id: "time-axis",
  title: "Time axis",
  height: 28,
  has: () => true,
  describe: ({ view }) => `Time since the start, from ${moment(view.time[0])} to ${moment(view.time[1])}.`,
  table: () => [],
  draw,
};

function draw(p: Painter, _box: Box, { palette, view }: Scene): Drawn {
  const box: Box = { x: LEFT, y: 1, w: Math.max(10, p.width - LEFT - RIGHT), h: 0 };
  timeAxis(p, box, palette, view.time[0], view.time[1], "time");
  return { hover: () => undefined };
}
