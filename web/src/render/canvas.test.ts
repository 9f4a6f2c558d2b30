import { describe, expect, it } from "vitest";
import { CanvasPainter } from "./canvas";

/** A context that writes down what is asked of it. */
function context(): { ctx: CanvasRenderingContext2D; calls: string[] } {
  const calls: string[] = [];
  const target: Record<string, unknown> = {};
  const ctx = new Proxy(target, {
    get: (_, name: string) =>
      name in target
        ? target[name]
        : (...args: unknown[]) => {
            calls.push(`${name}(${args.map((a) => (Array.isArray(a) ? `[${a.join()}]` : String(a))).join()})`);
            return name === "measureText" ? { width: 42 } : undefined;
          },
    set: (_, name: string, value) => {
      calls.push(`${name}=${String(value)}`);
      target[name] = value;
      return true;
    },
  });
  return { ctx: ctx as unknown as CanvasRenderingContext2D, calls };
}

const BOX = { x: 1, y: 2, w: 30, h: 40 };

describe("canvas", () => {
  it("draws lines with and without dashes", () => {
    const { ctx, calls } = context();
    const p = new CanvasPainter(ctx, 100, 50);
    p.line([[0, 0], [5, 6]], { color: "#123456", width: 2, dash: [4, 2] });
    p.line([[0, 0], [5, 6]], { color: "#123456", width: 2 });
    p.line([[0, 0]], { color: "#ffffff", width: 9 });
    expect(calls.filter((call) => call.startsWith("setLineDash"))).toEqual(["setLineDash([4,2])", "setLineDash([])"]);
    expect(calls.filter((call) => call === "stroke()").length).toBe(2);
    expect(calls).toContain("lineTo(5,6)");
  });

  it("fills boxes and areas, and hatches inside a box", () => {
    const { ctx, calls } = context();
    const p = new CanvasPainter(ctx, 100, 50);
    p.fill(BOX, "#ff0000");
    p.area([[0, 0], [5, 6], [0, 6]], "#00ff0080");
    p.hatch(BOX, "#0000ff");
    expect(calls).toEqual(expect.arrayContaining(["fillStyle=#ff0000", "fillRect(1,2,30,40)", "fillStyle=#00ff0080", "closePath()", "fill()", "stroke()"]));
  });

  it("writes with the font that it measures", () => {
    const { ctx, calls } = context();
    const p = new CanvasPainter(ctx, 100, 50);
    const style = { size: 10, color: "#000000", bold: true, align: "middle", baseline: "top" } as const;
    expect(p.measure("word", style)).toBe(42);
    p.text(20, 30, "word", style);
    p.text(20, 30, "turned", { ...style, rotate: 90 });
    const fonts = calls.filter((call) => call.startsWith("font="));
    expect(new Set(fonts).size).toBe(1);
    expect(fonts[0]).toMatch(/^font=bold 10px /);
    expect(calls).toContain("textAlign=center");
    expect(calls).toContain("fillText(word,20,39.3)");
    expect(calls).toContain("fillText(turned,0,9.3)");
  });

  it("ends a clip when what is inside fails", () => {
    const { ctx, calls } = context();
    const p = new CanvasPainter(ctx, 100, 50);
    expect(() => p.clip(BOX, () => { throw new Error("no"); })).toThrow("no");
    expect(calls[0]).toBe("save()");
    expect(calls.at(-1)).toBe("restore()");
  });
});
