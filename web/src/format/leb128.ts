/** Reads LEB128 numbers one after the other. Numbers are exact up to 2^53. */
export class Leb128 {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get position(): number {
    return this.at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  next(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let factor = 0x80; ; factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      if (factor > Number.MAX_SAFE_INTEGER) throw new Error("a number has too many bytes");
    }
  }

  /** 2n for n ≥ 0, −2n − 1 for n < 0. */
  nextZigzag(): number {
    const code = this.next();
    return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
  }

  /** The next `n` bytes as they are. */
  take(n: number): Uint8Array {
    if (this.at + n > this.bytes.length) throw new Error("a block is too short");
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }

  private byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new Error("a block is too short");
    return byte;
  }
}
