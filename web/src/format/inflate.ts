/** Inflates raw deflate streams with the browser's DecompressionStream: Chrome 103, Firefox 113, Safari 16.4 and later have it. */
export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old: it has no DecompressionStream");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
