import { describe, expect, test } from "vitest";
import { fromHash, toHash } from "./hash";
import { BOUNDS, HOME } from "../../test/view";
import { History, panX, type View, withX, within, zoomX, zoomY } from "./view";

describe("view", () => {
  test("zoom keeps what lies under the pointer", () => {
    const view = zoomX(HOME, BOUNDS, 30e9, 0.5);
    expect(view.time).toEqual([15e9, 65e9]);
  });

  test("nothing goes beyond the run", () => {
    expect(panX(zoomX(HOME, BOUNDS, 0, 0.1), BOUNDS, -3).time).toEqual([0, 10e9]);
    expect(zoomX(HOME, BOUNDS, 50e9, 9).time).toEqual([0, 100e9]);
    const tiny = zoomX(HOME, BOUNDS, 50e9, 1e-15).time;
    expect(tiny[1] - tiny[0]).toBeCloseTo(2000, 3);
    expect(within([90, 120], [0, 100], 1)).toEqual([70, 100]);
    expect(zoomY(HOME, BOUNDS, 1e6, 50).y[1]).toBeCloseTo(200e9, -3);
  });

  test("history goes back and forth", () => {
    const history = new History();
    const [one, two] = [withX(HOME, [0, 50e9], BOUNDS), withX(HOME, [10e9, 20e9], BOUNDS)];
    history.leave(HOME);
    history.leave(one);
    expect(history.back(two)?.time).toEqual(one.time);
    expect(history.back(one)?.time).toEqual(HOME.time);
    expect(history.back(HOME)).toBeUndefined();
    expect(history.forward(HOME)?.time).toEqual(one.time);
    expect(history.forward(one)?.time).toEqual(two.time);
  });
});

describe("hash", () => {
  test("round trip", () => {
    const views: View[] = [
      HOME,
      { ...HOME, time: [64.1e9, 66e9], base: "due", on: { read: true, write: false, pushed: true, flush: true } },
      { ...HOME, base: "number", number: [17, 4000], yLinear: true, transfer: "equal", dots: false, bars: false },
      { ...HOME, picked: 8123456, theme: "dark", shown: "difference", rate: "bytes", brush: [1e9, 2.5e9] },
      { ...HOME, brush: [1e9, 2.5e9], brushY: [1e6, 2e9] },
      { ...HOME, ordinate: "response", base: "due" },
      { ...HOME, picked: 24384, pickedIn: 1 },
    ];
    for (const view of views)
      expect(fromHash(toHash(view, HOME), HOME, BOUNDS)).toEqual({
        picked: undefined,
        pickedIn: undefined,
        theme: undefined,
        brush: undefined,
        brushY: undefined,
        ...view,
      });
  });

  test("the whole run needs no hash", () => expect(toHash(HOME, HOME)).toBe(""));

  test("reads what people type", () => {
    const view = fromHash("#t=64.1-66.0&y=1e-4-10&base=due&on=rw&sel=8123456&theme=dark", HOME, BOUNDS);
    expect(view.time).toEqual([64.1e9, 66e9]);
    expect(view.y[0]).toBeCloseTo(1e5, 6);
    expect(view.y[1]).toBeCloseTo(1e10, 6);
    expect([view.base, view.picked, view.theme, view.on.pushed]).toEqual(["due", 8123456, "dark", false]);
  });

  test.each(["#t=9-3", "#t=a-b&y=-", "#%", "#t=%E0%A4%A", "#base=evil&theme=red&on"])("survives %s", (hash) => {
    expect(fromHash(hash, HOME, BOUNDS).time).toEqual(HOME.time);
  });
});
