/** The facts of one request, asked for by a click. */

import { eachPoint } from "../charts/sonar";
import { timeOf } from "../charts/ordinate";
import type { Scene } from "../charts/scene";
import { yScale } from "../charts/sonar";
import { FilteredRun } from "../model/filtered-run";
import { factsOf, type PointRef, standing } from "../model/point-store";
import type { RequestFacts } from "../model/requests";
import type { RunData } from "../model/run-data";
import { type Range, xRange } from "../model/view";
import type { Box } from "../render/painter";
import { cardText, replayExcerpt } from "./card";
import { button, el, setText } from "./dom";

/** So near must a request be to a click. */
const REACH = 14;

/** The request whose dot is, or would be, nearest. */
export async function nearestRequest(scene: Scene, box: Box, x: number, y: number): Promise<PointRef | undefined> {
  const [from, to] = xRange(scene.view);
  const perPixel = (to - from) / box.w;
  const at = from + (x - box.x) * perPixel;
  const range: Range = [at - REACH * perPixel, at + REACH * perPixel];
  const blocks = await scene.data.points.fetch(scene.view.base, range);
  const { yOf } = yScale(scene, box);
  const time = timeOf(scene);
  let best: PointRef | undefined;
  let distance = REACH;
  eachPoint(blocks, scene, range, (points, i, px) => {
    const d = Math.hypot((px - at) / perPixel, yOf(time(points, i)) - y);
    if (d < distance) [best, distance] = [{ points, i }, d];
  });
  return best;
}

export class PickCard {
  readonly root = el("div", {
    class: "v-card",
    role: "region",
    "aria-label": "Request",
    "data-role": "card",
    hidden: "",
  });
  private readonly text = el("p", {});
  /** How many were shown: what is known late may only be added to the same. */
  private shown = 0;
  /** A command that draws the second before it and the one behind it. */
  private readonly excerpt = el("code", { "data-role": "excerpt" });

  constructor(close: () => void) {
    const shut = () => {
      this.hide();
      close();
    };
    this.root.append(
      this.text,
      el("p", {}, this.excerpt),
      button("copy", "copy these words", { "data-role": "copy" }, () => void this.copy()),
      " ",
      button("close", "close (Esc)", { "data-role": "close" }, shut),
    );
  }

  show(found: PointRef, scene: Scene, other: RunData | undefined): RequestFacts {
    const facts = withContext(factsOf(found), scene);
    const run = scene.meta.runs.length < 2 ? "" : scene.index === 0 ? "A · " : "B · ";
    setText(this.text, run + cardText(facts, scene.run, scene.data.points.hasPlaces));
    setText(this.excerpt, replayExcerpt(facts, scene.run));
    this.root.hidden = false;
    const shown = ++this.shown;
    if (other)
      void sameRequest(other, facts).then((twin) => {
        if (!twin || this.shown !== shown) return;
        setText(this.text, run + cardText({ ...facts, other: { latencyNs: twin.latencyNs } }, scene.run, scene.data.points.hasPlaces));
      });
    return facts;
  }

  hide(): void {
    this.root.hidden = true;
  }

  /** From a file the clipboard may be closed; then the words are selected. */
  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.text.textContent ?? "");
    } catch {
      getSelection()?.selectAllChildren(this.text);
    }
  }
}

/** What else is known about it from all requests at hand. */
function withContext(facts: RequestFacts, scene: Scene): RequestFacts {
  // Ranks and neighbours are those among all requests.
  const { points } = scene.data instanceof FilteredRun ? scene.data.whole : scene.data;
  const band = scene.run.bands.find(
    (b) => b.op === facts.op && facts.latencyNs >= b.low_ns && facts.latencyNs <= b.high_ns,
  );
  const all = points.isComplete && points.isDecoded ? standing(points.decoded, facts) : {};
  return {
    ...facts,
    ...all,
    ...(band ? { band: band.label } : {}),
  };
}

/** The same request in the other run. */
async function sameRequest(run: RunData, facts: RequestFacts): Promise<RequestFacts | undefined> {
  for (const points of await run.points.fetch("start", [-Infinity, Infinity])) {
    for (let i = points.number.indexOf(facts.number); i >= 0; i = points.number.indexOf(facts.number, i + 1)) {
      const found = factsOf({ points, i });
      if (found.target === facts.target && found.pass === facts.pass) return found;
    }
  }
  return undefined;
}
