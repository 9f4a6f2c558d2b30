import { describe, expect, test } from "vitest";
import { fromHash, toHash } from "./hash";
import { cleanNote, LONGEST_NOTE, MOST_NOTES } from "./notes";
import { BOUNDS, HOME } from "../../test/view";
import { withOnly, withoutOnly } from "./view";

describe("notes of a link", () => {
  test("survive the way through the address, whatever their text", () => {
    const texts = ["the cache was full", "a=b&note=1-2:c#d:e", "</script><img src=x onerror=alert(1)>", "100 % ✓ “ü”"];
    const notes = texts.map((text, i) => ({ time: [i * 1e9, (i + 1.5) * 1e9] as const, text }));
    const hash = toHash({ ...HOME, notes }, HOME);
    expect(hash).toMatch(/^[\w=&.:~!*'()%-]+$/);
    expect(fromHash(hash, HOME, BOUNDS).notes).toEqual(notes);
    expect(toHash(HOME, HOME)).toBe("");
  });

  test("are bounded, and what is none is left out", () => {
    const many = Array.from({ length: 50 }, () => "note=1-2:x").join("&");
    expect(fromHash(many, HOME, BOUNDS).notes).toHaveLength(MOST_NOTES);
    const long = fromHash(`note=1-2:${"ä".repeat(5000)}`, HOME, BOUNDS).notes!;
    expect([...long[0]!.text]).toHaveLength(LONGEST_NOTE);
    for (const bad of ["note=", "note=x", "note=2-1:a", "note=1-2:", "note=1-2:%20%0a", "note=200-300:a", "note=1-2:%zz"])
      expect(fromHash(bad, HOME, BOUNDS).notes).toBeUndefined();
    expect(fromHash("note=90-300:a", HOME, BOUNDS).notes).toEqual([{ time: [90e9, 100e9], text: "a" }]);
  });

  test("have no characters that cannot be seen", () => {
    expect(cleanNote(" a\u202eb\u0000c\n\td\u200be ")).toBe("a b c d e");
    expect(cleanNote("\u001b[2J")).toBe("[2J");
    expect([...cleanNote("😀".repeat(300))]).toHaveLength(LONGEST_NOTE);
  });
});

describe("filter of a link", () => {
  test("survives the way through the address", () => {
    const only = [{ attribute: "operation", value: "write" }, { attribute: "target", value: "a:b&c=d <e>" }];
    const hash = toHash({ ...HOME, only }, HOME);
    expect(fromHash(hash, HOME, BOUNDS).only).toEqual(only);
    expect(fromHash("only=&only=x&only=A:b&only=a:", HOME, BOUNDS).only).toBeUndefined();
    expect(fromHash(Array.from({ length: 20 }, () => "only=a:b").join("&"), HOME, BOUNDS).only).toHaveLength(8);
    expect(fromHash(`only=a:${"x".repeat(300)}`, HOME, BOUNDS).only).toBeUndefined();
  });

  test("has one value of each attribute, and none when all are removed", () => {
    const [read, write] = ["read", "write"].map((value) => ({ attribute: "operation", value }));
    const view = withOnly(withOnly(withOnly(HOME, read!), { attribute: "size", value: "4 KiB" }), write!);
    expect(view.only).toEqual([{ attribute: "size", value: "4 KiB" }, write]);
    const without = withoutOnly(withoutOnly(view, { attribute: "size", value: "4 KiB" }), write!);
    expect(without).toEqual(HOME);
  });
});
