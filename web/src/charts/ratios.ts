/** The same requests in A and B: by which factor each took longer. Only who replays has the same requests twice. */

import type { PagePairs } from "../format/page";
import { bottomAxis, contains, outline, surround, valueAxis, Words } from "../render/axis";
import type { Box, Painter } from "../render/painter";
import { LinearScale } from "../render/scale";
import { count, percent, plainPercent, significant } from "../render/units";
import type { ChartContext, Hover, SmallChart } from "./chart";

/** Labelled factors: binary logarithms. */
const LABELS = [-4, -3, -2, -1, 0, 1, 2, 3, 4];
/** How wide bars are drawn that reach on for ever. */
const OPEN_WIDTH = 0.25;

interface Bar {
  /** Binary logarithms of B ÷ A. */
  readonly from: number;
  readonly to: number;
  /** Of all pairs. */
  readonly share: number;
  /** Whether everything beyond is in it, too. */
  readonly open: boolean;
}

function bars({ ratios }: PagePairs): Bar[] {
  return ratios.map(({ from_log2, to_log2, share }) => ({
    from: from_log2 ?? (to_log2 ?? 0) - OPEN_WIDTH,
    to: to_log2 ?? (from_log2 ?? 0) + OPEN_WIDTH,
    share,
    open: from_log2 === null || to_log2 === null,
  }));
}

/** `÷2`, `=`, `×4`: B takes so many times as long as A. */
function factor(log2: number): string {
  if (Math.abs(log2) < 1e-9) return "=";
  return `${log2 < 0 ? "÷" : "×"}${significant(2 ** Math.abs(log2))}`;
}

function draw(p: Painter, box: Box, { meta, palette }: ChartContext): Hover {
  const pairs = meta.pairs;
  if (pairs === null) return () => undefined;
  const all = bars(pairs);
  const keys = [
    { text: "B is faster: better", color: palette.ok, filled: true },
    { text: "B is slower: worse", color: palette.bad, filled: true },
  ];
  const plot = surround(p, box, palette, { keys, y: "share of the pairs of requests", x: "latency in B ÷ latency in A, log" });
  // The same to both sides, so that the middle is where nothing changes.
  const reach = Math.max(0.5, ...all.filter((bar) => bar.share > 0).flatMap((bar) => [Math.abs(bar.from), Math.abs(bar.to)]));
  const x = new LinearScale(-reach, reach, plot.x, plot.x + plot.w);
  const y = new LinearScale(0, Math.max(0.001, ...all.map((bar) => bar.share)) * 1.2, plot.y + plot.h, plot.y);
  valueAxis(p, plot, palette, y, plainPercent);
  for (const bar of all.filter(({ share }) => share > 0)) {
    const [left, right] = [x.at(Math.max(-reach, bar.from)), x.at(Math.min(reach, bar.to))];
    const height = Math.max(1, y.at(0) - y.at(bar.share));
    p.fill({ x: left, y: y.at(0) - height, w: Math.max(1, right - left - 1), h: height }, color(bar));
  }
  p.line([[x.at(0), plot.y], [x.at(0), plot.y + plot.h]], { color: palette.axis, width: 1, dash: [3, 3] });
  outline(p, plot, palette.grid);
  bottomAxis(p, plot, palette, LABELS.filter((v) => Math.abs(v) <= reach + 1e-9).map((v) => ({ at: x.at(v), text: factor(v) })));
  const words = new Words(p, plot, palette);
  words.place(plot.x + 6, plot.y + 12, `${percent(pairs.faster_in_b)} faster in B`, "start");
  const slower = `${percent(pairs.slower_in_b)} slower in B`;
  // Where both have no room side by side, one stands below the other.
  if (!words.place(plot.x + plot.w - 6, plot.y + 12, slower, "end")) words.place(plot.x + plot.w - 6, plot.y + 28, slower, "end");
  return (px, py) => {
    if (!contains(plot, px, py)) return undefined;
    const bar = all.find(({ from, to }) => x.invert(px) >= from && x.invert(px) < to);
    return bar === undefined ? undefined : name(bar, pairs.pairs);
  };

  function color({ from, to }: Bar): string {
    if (to <= 0) return palette.ok;
    return from >= 0 ? palette.bad : palette.axis;
  }
}

function name({ from, to, share, open }: Bar, pairs: number): string {
  const range = open ? `${factor(from < 0 ? to : from)} or ${from < 0 ? "less" : "more"}` : `${factor(from)} to ${factor(to)}`;
  return `B takes ${range}: ${percent(share)} of ${count(pairs)} pairs`;
}

function describe({ meta }: ChartContext): string {
  const pairs = meta.pairs;
  if (pairs === null) return "There are no pairs.";
  const sentence = pairs.text.replace(/\.?$/, ".");
  return `Of ${count(pairs.pairs)} pairs ${percent(pairs.faster_in_b)} were faster in B, ${percent(pairs.slower_in_b)} slower. ${sentence}`;
}

function table({ meta }: ChartContext): string[][] {
  const ends = ({ from, to, open }: Bar) => [open && from < 0 ? "" : factor(from), open && to > 0 ? "" : factor(to)];
  const rows = (meta.pairs === null ? [] : bars(meta.pairs)).map((bar) => [...ends(bar), percent(bar.share)]);
  return [["B ÷ A from", "to", "of the pairs"], ...rows];
}

export const RATIOS: SmallChart = {
  id: "ratios",
  title: "The same requests: B compared to A",
  height: 280,
  has: ({ pairs }) => pairs !== null && pairs.ratios.some((bar) => bar.share > 0),
  describe,
  table,
  draw,
};
