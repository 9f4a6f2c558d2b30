/** The view of a whole run, and its bounds. */

import type { Bounds, View } from "../src/model/view";

export const BOUNDS: Bounds = { time: [0, 100e9], number: [0, 5000], y: [500, 200e9] };
export const HOME: View = {
  time: BOUNDS.time,
  number: BOUNDS.number,
  y: [1e4, 1e10],
  base: "start",
  ordinate: "latency",
  on: { read: true, write: true, pushed: true, flush: true },
  yLinear: false,
  transfer: "log",
  dots: true,
  bars: true,
  shown: "both",
  rate: "requests",
};
