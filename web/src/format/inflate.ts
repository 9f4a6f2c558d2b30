/** Inflates raw deflate streams, with the browser's means or, where there are none, by hand. */

export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined") return inflateByHand(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Code lengths, turned into counts by length and symbols in order: the canonical form. */
interface Codes {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

export function inflateByHand(bytes: Uint8Array): Uint8Array {
  return new Inflater(bytes).run();
}

class Inflater {
  private at = 0;
  private held = 0;
  private bits = 0;
  private out = new Uint8Array(1 << 16);
  private length = 0;

  constructor(private readonly bytes: Uint8Array) {}

  run(): Uint8Array {
    for (let isLast = false; !isLast;) {
      isLast = this.take(1) === 1;
      const kind = this.take(2);
      if (kind === 0) this.stored();
      else if (kind === 1) this.packed(...fixedCodes());
      else if (kind === 2) this.packed(...this.dynamicCodes());
      else throw new Error("not a deflate stream");
    }
    return this.out.subarray(0, this.length);
  }

  private take(n: number): number {
    while (this.bits < n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("a deflate stream is cut off");
      this.held |= byte << this.bits;
      this.bits += 8;
    }
    const value = this.held & ((1 << n) - 1);
    this.held >>>= n;
    this.bits -= n;
    return value;
  }

  private put(byte: number): void {
    if (this.length === this.out.length) {
      const wider = new Uint8Array(this.out.length * 2);
      wider.set(this.out);
      this.out = wider;
    }
    this.out[this.length++] = byte;
  }

  private stored(): void {
    this.held = this.bits = 0;
    const [low = 0, high = 0] = this.bytes.subarray(this.at, this.at + 2);
    this.at += 4;
    const end = this.at + low + high * 256;
    if (end > this.bytes.length) throw new Error("a deflate stream is cut off");
    while (this.at < end) this.put(this.bytes[this.at++]!);
  }

  private packed(literals: Codes, distances: Codes): void {
    for (;;) {
      const symbol = this.symbol(literals);
      if (symbol < 256) this.put(symbol);
      else if (symbol === 256) return;
      else this.copy(symbol - 257, this.symbol.bind(this, distances));
    }
  }

  private copy(code: number, distanceCode: () => number): void {
    const length = LENGTH_BASE[code]! + this.take(LENGTH_BITS[code]!);
    const symbol = distanceCode();
    const extra = symbol < 2 ? 0 : (symbol >> 1) - 1;
    const base = symbol < 2 ? symbol + 1 : ((2 + (symbol & 1)) << extra) + 1;
    const distance = base + this.take(extra);
    if (distance > this.length) throw new Error("not a deflate stream");
    for (let i = 0; i < length; i++) this.put(this.out[this.length - distance]!);
  }

  private symbol(codes: Codes): number {
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length < 16; length++) {
      code |= this.take(1);
      const count = codes.counts[length]!;
      if (code - count < first) return codes.symbols[index + code - first]!;
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new Error("not a deflate stream");
  }

  private dynamicCodes(): [Codes, Codes] {
    const literals = this.take(5) + 257;
    const distances = this.take(5) + 1;
    const codeLengths = new Uint8Array(19);
    for (let i = 0, n = this.take(4) + 4; i < n; i++) codeLengths[CODE_ORDER[i]!] = this.take(3);
    const codes = canonical(codeLengths);
    const lengths = new Uint8Array(literals + distances);
    for (let i = 0; i < lengths.length;) {
      const symbol = this.symbol(codes);
      if (symbol < 16) {
        lengths[i++] = symbol;
        continue;
      }
      const repeated = symbol === 16 ? lengths[i - 1]! : 0;
      const times = symbol === 16 ? 3 + this.take(2) : symbol === 17 ? 3 + this.take(3) : 11 + this.take(7);
      lengths.fill(repeated, i, i + times);
      i += times;
    }
    return [canonical(lengths.subarray(0, literals)), canonical(lengths.subarray(literals))];
  }
}

function fixedCodes(): [Codes, Codes] {
  const lengths = new Uint8Array(288).fill(8).fill(9, 144, 256).fill(7, 256, 280);
  return [canonical(lengths), canonical(new Uint8Array(30).fill(5))];
}

function canonical(lengths: Uint8Array): Codes {
  const counts = new Uint16Array(16);
  lengths.forEach((length) => counts[length]!++);
  counts[0] = 0;
  const next = new Uint16Array(16);
  for (let i = 1; i < 16; i++) next[i] = next[i - 1]! + counts[i - 1]!;
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length) symbols[next[length]!++] = symbol;
  });
  return { counts, symbols };
}
