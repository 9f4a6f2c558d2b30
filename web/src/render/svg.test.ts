import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { png, pngAddress } from "../../test/png";
import { stripes, SvgPainter } from "./svg";

const STYLE = { size: 11, color: "#000000" };

/** Whether every tag is closed in order: enough for what a painter writes. */
function isWellFormed(text: string): boolean {
  const open: string[] = [];
  for (const [, close, name, empty] of text.matchAll(/<(\/?)([a-zA-Z]+)(?:\s+[\w:-]+="[^"<]*")*\s*(\/?)>/g)) {
    if (close === "/" && open.pop() !== name) return false;
    if (close === "" && empty === "") open.push(name ?? "");
  }
  return open.length === 0 && !/<(?![/a-zA-Z])/.test(text) && (text.match(/<svg/g) ?? []).length === 1;
}

describe("SVG", () => {
  it("is well-formed with everything in it", () => {
    const p = new SvgPainter(100, 50, pngAddress);
    p.fill({ x: 0, y: 0, w: 10, h: 10 }, "#11223380");
    p.line([[0, 0], [5, 5.123456]], { color: "#000000", width: 2, dash: [4, 2] });
    p.area([[0, 0], [5, 5], [0, 5]], "#ff0000");
    p.hatch({ x: 3, y: 3, w: 20, h: 9 }, "#00ff00");
    p.text(1, 20, 'a <b> & "c" \u0000\u001b\ud800', { ...STYLE, bold: true, rotate: 90, align: "middle", baseline: "top" });
    p.image({ x: 0, y: 0, w: 4, h: 4 }, { width: 1, height: 1, data: new Uint8ClampedArray([1, 2, 3, 255]) });
    p.clip({ x: 0, y: 0, w: 4, h: 4 }, () => p.text(0, 0, "inside", STYLE));
    const text = p.toString();
    expect(isWellFormed(text)).toBe(true);
    expect(text).toContain('a &lt;b&gt; &amp; &quot;c&quot; \ufffd\ufffd\ufffd</text>');
    expect(text).toContain('fill="#112233" fill-opacity="0.5"');
    expect(text).toContain("L5 5.12");
    expect(text).toContain('href="data:image/png;base64,');
    expect(text).not.toMatch(/NaN|undefined/);
  });

  it("closes a clip when what is inside fails", () => {
    const p = new SvgPainter(10, 10, pngAddress);
    expect(() => p.clip({ x: 0, y: 0, w: 1, h: 1 }, () => { throw new Error("no"); })).toThrow("no");
    expect(isWellFormed(p.toString())).toBe(true);
  });

  it("takes addresses of pixels from its owner", () => {
    const p = new SvgPainter(10, 10, () => "data:x&y");
    p.image({ x: 0, y: 0, w: 4, h: 4 }, { width: 1, height: 1, data: new Uint8ClampedArray(4) });
    expect(p.toString()).toContain('href="data:x&amp;y"');
  });
});

describe("PNG", () => {
  it("holds the pixels", () => {
    const [width, height] = [150, 140];
    const data = new Uint8ClampedArray(width * height * 4).map((_, i) => (i * 7) % 256);
    const bytes = Buffer.from(png({ width, height, data }));
    expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    expect(bytes.readUInt32BE(16)).toBe(width);
    const length = bytes.readUInt32BE(33);
    expect(bytes.subarray(37, 41).toString()).toBe("IDAT");
    const lines = inflateSync(bytes.subarray(41, 41 + length));
    expect(lines.length).toBe(height * (width * 4 + 1));
    const row = lines.subarray(3 * (width * 4 + 1) + 1, 4 * (width * 4 + 1));
    expect([...row]).toEqual([...data.subarray(3 * width * 4, 4 * width * 4)]);
    expect(bytes.subarray(-12).toString("hex")).toBe("0000000049454e44ae426082");
  });
});

it("stripes stay in their box and meet those beside it", () => {
  const box = { x: 10, y: 20, w: 33, h: 12 };
  const lines = stripes(box);
  expect(lines.length).toBeGreaterThan(4);
  for (const [x, y] of lines.flat()) {
    expect(x).toBeGreaterThanOrEqual(10);
    expect(x).toBeLessThanOrEqual(43);
    expect(y).toBeGreaterThanOrEqual(20);
    expect(y).toBeLessThanOrEqual(32);
  }
  expect(lines.every(([[x, y]]) => (x + y) % 7 === 0)).toBe(true);
});
