/** Pointer and wheel on a panel over time. Positions are CSS pixels in the canvas. */

export interface Gestures {
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  doubleClick(): void;
  /** A drag begins; `kind` stays for its whole length. */
  begin(kind: DragKind, x: number, y: number): void;
  drag(kind: DragKind, from: readonly [number, number], to: readonly [number, number]): void;
  end(kind: DragKind, from: readonly [number, number], to: readonly [number, number]): void;
  cancel(): void;
  /** A factor above 1 shows more. */
  zoom(axis: "x" | "y", x: number, y: number, factor: number): void;
}

export type DragKind = "pan" | "brush" | "box";

const CLICK = 4;
const LONG_PRESS_MS = 500;

export function listen(target: HTMLElement, to: Gestures): void {
  new Listener(target, to);
}

type Place = readonly [number, number];

class Listener {
  private readonly down = new Map<number, Place>();
  private from: Place = [0, 0];
  private kind: DragKind | undefined;
  private hasMoved = false;
  private distance = 0;
  private press: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly target: HTMLElement,
    private readonly to: Gestures,
  ) {
    target.addEventListener("pointerdown", (e) => this.onDown(e));
    target.addEventListener("pointermove", (e) => this.onMove(e));
    target.addEventListener("pointerup", (e) => this.onUp(e));
    target.addEventListener("pointercancel", (e) => this.onCancel(e));
    target.addEventListener("pointerleave", () => to.leave());
    target.addEventListener("dblclick", () => to.doubleClick());
    target.addEventListener("wheel", (e) => this.onWheel(e), { passive: false });
  }

  private place(e: MouseEvent): Place {
    const { left, top } = this.target.getBoundingClientRect();
    return [e.clientX - left, e.clientY - top];
  }

  private onDown(e: PointerEvent): void {
    if (e.button !== 0) return;
    this.target.setPointerCapture(e.pointerId);
    this.down.set(e.pointerId, this.place(e));
    if (this.down.size > 1) return this.beginPinch();
    this.from = this.place(e);
    this.hasMoved = false;
    this.kind = e.shiftKey ? "brush" : e.altKey ? "box" : "pan";
    if (e.pointerType === "touch") this.press = setTimeout(() => this.to.click(...this.from), LONG_PRESS_MS);
  }

  private beginPinch(): void {
    clearTimeout(this.press);
    if (this.kind && this.hasMoved) this.to.cancel();
    this.kind = undefined;
    this.distance = this.spread()[0];
  }

  /** Distance of two fingers and the place between them. */
  private spread(): [distance: number, x: number, y: number] {
    const [a = [0, 0], b = [0, 0]] = [...this.down.values()];
    return [Math.max(Math.hypot(a[0] - b[0], a[1] - b[1]), 10), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  }

  private onMove(e: PointerEvent): void {
    const at = this.place(e);
    if (!this.down.has(e.pointerId)) return this.to.hover(...at);
    this.down.set(e.pointerId, at);
    if (this.down.size > 1) {
      const [distance, x, y] = this.spread();
      this.to.zoom("x", x, y, this.distance / distance);
      this.distance = distance;
      return;
    }
    if (!this.kind) return;
    if (!this.hasMoved && Math.hypot(at[0] - this.from[0], at[1] - this.from[1]) >= CLICK) {
      this.hasMoved = true;
      clearTimeout(this.press);
      this.to.begin(this.kind, ...this.from);
    }
    if (this.hasMoved) this.to.drag(this.kind, this.from, at);
  }

  private onUp(e: PointerEvent): void {
    clearTimeout(this.press);
    if (!this.down.delete(e.pointerId) || !this.kind) return;
    const kind = this.kind;
    this.kind = undefined;
    if (this.hasMoved) this.to.end(kind, this.from, this.place(e));
    else if (e.pointerType !== "touch") this.to.click(...this.place(e));
  }

  private onCancel(e: PointerEvent): void {
    clearTimeout(this.press);
    this.down.delete(e.pointerId);
    if (this.kind && this.hasMoved) this.to.cancel();
    this.kind = undefined;
  }

  /** The wheel alone scrolls the page. Browsers report a pinch on a touchpad as the wheel with Ctrl. */
  private onWheel(e: WheelEvent): void {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    const unit = e.deltaMode === 1 ? 33 : e.deltaMode === 2 ? 400 : 1;
    // With Shift some browsers turn the wheel sideways.
    const delta = (e.deltaY || e.deltaX) * unit;
    const factor = Math.exp(Math.min(Math.max(delta, -400), 400) * 0.002);
    this.to.zoom(e.shiftKey ? "y" : "x", ...this.place(e), factor);
  }
}
