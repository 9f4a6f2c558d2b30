/** Kinds of requests: the disjoint classes that are counted, and the operations that they belong to. */

/** Classes in the order of their numbers. */
export const CLASSES = ["read", "write", "read-pushed", "write-pushed", "flush"] as const;
/** The class of flushes. */
export const FLUSH_CLASS = 4;

/** Operations that are counted apart, in this order. */
export const OPS = ["read", "write", "flush"] as const;
export type Operation = (typeof OPS)[number];

/** Place in `OPS` of the operation of a class. */
export function opOf(cls: number): 0 | 1 | 2 {
  return cls === FLUSH_CLASS ? 2 : cls & 1 ? 1 : 0;
}
