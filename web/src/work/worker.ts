/** The worker's side. */

import type { Done } from "../model/decoder";
import { buffersOf, carryOut, type Task } from "./tasks";

export interface Order {
  readonly id: number;
  readonly task: Task;
}

export type Reply =
  { readonly id: number; readonly done: Done<unknown> } | { readonly id: number; readonly error: string };

export function serve(scope: DedicatedWorkerGlobalScope): void {
  scope.onmessage = async ({ data }: MessageEvent<Order>) => {
    try {
      const done = await carryOut(data.task);
      scope.postMessage({ id: data.id, done } satisfies Reply, buffersOf(done.value));
    } catch (error) {
      scope.postMessage({ id: data.id, error: String(error) } satisfies Reply);
    }
  };
}

/** So much of the worker's own scope as is used; the types of pages and of workers exclude each other. */
export interface DedicatedWorkerGlobalScope {
  onmessage: ((event: MessageEvent<Order>) => void) | null;
  postMessage(message: Reply, transfer?: ArrayBuffer[]): void;
}
