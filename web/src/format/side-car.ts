/** The file beside the page with all requests. Only its index and the blocks that a view needs are read. */

import type { PointBlockText } from "./block";

const HEAD = "IOSONARP";
const TAIL = "IOSONARX";

interface IndexEntry {
  readonly at: number;
  readonly bytes: number;
  readonly n: number;
  readonly from_us: number;
  readonly to_us: number;
  readonly unit: number;
  readonly crc32: string;
}

interface Index {
  readonly version: number;
  readonly run_id: string | null;
  readonly requests: number;
  readonly blocks: readonly IndexEntry[];
}

export class SideCar {
  private constructor(
    private readonly file: Blob,
    private readonly index: Index,
  ) {}

  /** Fails with a sentence for the user where the file is none or belongs to another run. */
  static async open(file: Blob, runId: string | null): Promise<SideCar> {
    if ((await text(file, 0, 8)) !== HEAD) throw new Error("this is no .trace file");
    if (file.size < 24 || (await text(file, file.size - 8, 8)) !== TAIL) throw new Error("the .trace file is cut off");
    const view = new DataView(await file.slice(file.size - 16, file.size - 8).arrayBuffer());
    const length = Number(view.getBigUint64(0, true));
    if (length > file.size - 24) throw new Error("the .trace file is damaged");
    const index = JSON.parse(await text(file, file.size - 16 - length, length)) as Index;
    if (index.version !== 1) throw new Error("the .trace file was written by a newer version");
    if (runId !== null && index.run_id !== null && index.run_id !== runId) {
      throw new Error("the .trace file belongs to another run");
    }
    return new SideCar(file, index);
  }

  get requests(): number {
    return this.index.requests;
  }

  /** Range and number of each block. */
  get blocks(): readonly IndexEntry[] {
    return this.index.blocks;
  }

  async read(block: number): Promise<PointBlockText> {
    const entry = this.index.blocks[block];
    if (!entry) throw new Error(`there is no block ${block}`);
    const packed = new Uint8Array(await this.file.slice(entry.at, entry.at + entry.bytes).arrayBuffer());
    const { n, from_us: fromUs, to_us: toUs, unit, crc32: crc } = entry;
    return { n, fromUs, toUs, unit, crc, packed };
  }
}

async function text(file: Blob, at: number, length: number): Promise<string> {
  return file.slice(at, at + length).text();
}
