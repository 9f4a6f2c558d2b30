/** The page's side: hands tasks to the worker. */

import type { CountBlock, PointBlockText } from "../format/block";
import type { Points } from "../format/points";
import type { Decoder, Done } from "../model/decoder";
import type { Pyramid } from "../model/pyramid";
import { carryOut, type Task } from "./tasks";
import type { Order, Reply } from "./worker";

interface Waiting {
  readonly task: Task;
  readonly resolve: (done: Done<unknown>) => void;
  readonly reject: (error: Error) => void;
}

export class Workshop implements Decoder {
  private readonly worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;
  private isBroken = false;
  private running = 0;
  private idlers: (() => void)[] = [];

  /** `script`: text of this very bundle. */
  constructor(script: string) {
    this.worker = startWorker(script);
    if (!this.worker) return;
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => this.settle(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.fallBack();
    };
  }

  get isBusy(): boolean {
    return this.running > 0;
  }

  /** When no task is left. */
  idle(): Promise<void> {
    return this.isBusy ? new Promise((resolve) => this.idlers.push(resolve)) : Promise.resolve();
  }

  grid(blocks: readonly CountBlock[], columns: number, slots: number): Promise<Done<Pyramid>> {
    return this.do({ kind: "grid", blocks, columns, slots }) as Promise<Done<Pyramid>>;
  }

  series(blocks: readonly CountBlock[], columns: number): Promise<Done<Float64Array>> {
    return this.do({ kind: "series", blocks, columns }) as Promise<Done<Float64Array>>;
  }

  async points(block: PointBlockText): Promise<Points> {
    return (await this.do({ kind: "points", block })).value as Points;
  }

  private do(task: Task): Promise<Done<unknown>> {
    this.running++;
    return this.order(task).finally(() => {
      if (--this.running === 0) this.idlers.splice(0).forEach((resolve) => resolve());
    });
  }

  private order(task: Task): Promise<Done<unknown>> {
    return new Promise((resolve, reject) => {
      if (!this.worker || this.isBroken) {
        inPage(task).then(resolve, reject);
        return;
      }
      const id = ++this.last;
      this.waiting.set(id, { task, resolve, reject });
      this.worker.postMessage({ id, task } satisfies Order);
    });
  }

  private settle(reply: Reply): void {
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ("done" in reply) waiting?.resolve(reply.done);
    else waiting?.reject(new Error(reply.error));
  }

  /** The worker cannot run: what it was to do is done here. */
  private fallBack(): void {
    this.isBroken = true;
    const left = [...this.waiting.values()];
    this.waiting.clear();
    for (const { task, resolve, reject } of left) inPage(task).then(resolve, reject);
  }
}

/** After a pause, so that the page answers between two blocks. */
async function inPage(task: Task): Promise<Done<unknown>> {
  await new Promise((resolve) => setTimeout(resolve));
  return carryOut(task);
}

function startWorker(script: string): Worker | undefined {
  try {
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(url);
    URL.revokeObjectURL(url);
    return worker;
  } catch {
    return undefined;
  }
}
