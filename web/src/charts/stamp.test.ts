import { describe, expect, it } from "vitest";
import { LIGHT } from "../render/palette";
import { RecordingPainter } from "../../test/recording-painter";
import { stamp } from "./stamp";

const BOX = { x: 74, y: 20, w: 900, h: 120 };

describe("stamp", () => {
  it("lies slanted over the middle, no larger than its box", () => {
    const p = new RecordingPainter(1000, 200);
    stamp(p, BOX, ["NOT A STORAGE RESULT", "no direct I/O"], LIGHT);
    const [text] = p.texts;
    expect(text!.text).toBe("NOT A STORAGE RESULT · no direct I/O");
    const { box } = text!;
    expect(box.h).toBeLessThanOrEqual(BOX.h + 1);
    expect(Math.abs(box.x + box.w / 2 - 524)).toBeLessThan(20);
    expect(text!.style.size).toBeGreaterThanOrEqual(9);
  });
  it("has a line for each reason in a narrow box", () => {
    const p = new RecordingPainter(300, 120);
    const reasons = ["NOT A STORAGE RESULT", "no direct I/O", "simulated target"];
    stamp(p, { x: 0, y: 0, w: 220, h: 120 }, reasons, LIGHT);
    expect(p.texts.map(({ text }) => text)).toEqual(reasons);
    for (const { box } of p.texts) expect(box.w).toBeLessThanOrEqual(220);
  });
  it("is not there where nothing is wrong", () => {
    const p = new RecordingPainter(1000, 200);
    stamp(p, BOX, [], LIGHT);
    expect(p.texts).toEqual([]);
  });
});
