// Asks a reader of npm: `node npm.js NAME`, with a path on each line of stdin. For each, in order, a line of
// JSON on stdout: {"tensors":…,"metadata":…}, or {"error":"why"}. An exception is a rejection.
// Public domain (CC0-1.0).

import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { createInterface } from "node:readline";

// Has the elements, and so the alignment, of the class that Node has from release 24 on.
globalThis.Float16Array ??= class Float16Array extends Uint16Array {};

const sha256 = (data) => createHash("sha256").update(data).digest("hex");
const bytes = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** How half a surrogate pair is written, which is not UTF-8. */
const LONE = /(?<=(?:^|[^\\])(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** Returns the answer; names such as `__proto__` need an object without a prototype. */
function table(rows, metadata) {
  const tensors = Object.create(null);
  for (const [name, dtype, shape, more] of rows) tensors[name] = { dtype, shape, ...more };
  return metadata === undefined ? { tensors } : { tensors, metadata };
}

/** Serves a file as the hub does, where only ranges of it are asked. */
function serve(path) {
  return async (_url, { headers = {} } = {}) => {
    const file = openSync(path);
    try {
      const { size } = fstatSync(file);
      const range = headers.Range?.match(/bytes=(\d+)-(\d+)/);
      const [begin, end] = range ? [Number(range[1]), Math.min(Number(range[2]) + 1, size)] : [0, size];
      const part = Buffer.alloc(Math.max(end - begin, 0));
      readSync(file, part, 0, part.length, begin);
      const about = { ETag: '"1"', "Content-Range": `bytes ${begin}-${end - 1}/${size}` };
      return new Response(part, { status: range ? 206 : 200, headers: about });
    } finally {
      closeSync(file);
    }
  };
}

const readers = {
  /** Reads only the header. */
  async "@huggingface/hub"() {
    const { parseSafetensorsMetadata } = await import("@huggingface/hub");
    return async (path) => {
      const file = { repo: "a/b", path: "model.safetensors", fetch: serve(path) };
      const { header } = await parseSafetensorsMetadata(file);
      const { __metadata__: metadata = null, ...tensors } = header;
      const rows = Object.entries(tensors);
      return table(
        rows.map(([name, { dtype, shape, data_offsets }]) => [name, dtype, shape, { data_offsets }]),
        metadata,
      );
    };
  },

  async "@jax-js/loaders"() {
    const { safetensors } = await import("@jax-js/loaders");
    return (path) => {
      // A buffer of its own: small ones of Node share one, in which the file is not aligned.
      const { tensors, metadata = null } = safetensors.parse(new Uint8Array(readFileSync(path)));
      const rows = Object.entries(tensors);
      const cells = ({ dtype, shape, data }) => [dtype, shape, { sha256: sha256(bytes(data)) }];
      return table(rows.map(([name, tensor]) => [name, ...cells(tensor)]), metadata);
    };
  },

  /** Takes `__metadata__` for a tensor: files with metadata are rejected. */
  async safetensors() {
    const { SafeTensor } = (await import("safetensors")).default;
    return (path) => {
      const file = new SafeTensor(new Uint8Array(readFileSync(path)));
      const rows = [...file.metadata].map(([name, { dtype, shape }]) => {
        return [name, dtype, shape, { sha256: sha256(file.getTensor(name)) }];
      });
      return table(rows);
    };
  },
};

const read = await readers[process.argv[2]]();
for await (const path of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await read(path);
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer).replace(LONE, "\\ufffd")}\n`);
}
