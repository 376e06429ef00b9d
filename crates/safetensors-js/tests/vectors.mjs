// The vectors, and what users do. It runs in Node and in browsers.

/** Reads a manifest, with or without large vectors. Integers that are no exact numbers become strings. */
export function parse(text, all) {
  const exact = text.replace(/"(?:[^"\\]|\\.)*"|\d{16,}/g, (word) => (word[0] === '"' ? word : `"${word}"`));
  return JSON.parse(exact).vectors.filter(({ level }) => all || level !== "large");
}

/** A part of a recipe: a Blob, or a number of zeros. */
function made({ text, hex, repeat, zeros }) {
  if (repeat) {
    const { count, text, join = "" } = repeat;
    const line = (i) => text.replace(/\$\{i(?:\*(\d+))?(?:\+(\d+))?\}/g, (_, factor = 1, plus = 0) =>
      BigInt(i) * BigInt(factor) + BigInt(plus));
    const isSame = !join && !text.includes("${");
    return new Blob([isSame ? text.repeat(count) : Array.from({ length: count }, (_, i) => line(i)).join(join)]);
  }
  return zeros ?? new Blob([text ?? Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16))]);
}

/** Reads the file of a recipe, one part after the other. */
export function readerOf({ header, data, length }) {
  const parts = [...header, ...data].map(made);
  const sizeOf = (part) => part.size ?? part;
  const sum = (parts) => parts.reduce((sum, part) => sum + sizeOf(part), 0);
  parts.unshift(new Blob([BigUint64Array.of(BigInt(length ?? sum(parts.slice(0, header.length))))]));
  const read = async (offset, length) => {
    let begin = Number(offset);
    const part = parts.find((part) => begin < sizeOf(part) || ((begin -= sizeOf(part)), false));
    const end = Math.min(begin + length, sizeOf(part));
    return new Uint8Array(part.size ? await part.slice(begin, end).arrayBuffer() : end - begin);
  };
  return { size: sum(parts), read };
}

async function sha256(bytes) {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Answers in the form of the manifest. */
async function answer({ open, FormatError }, { tensors, tensor_count }, source) {
  try {
    const model = await open(source);
    if (!tensors) {
      return { tensor_count: tensor_count === undefined ? undefined : model.length };
    }
    const rows = [];
    for (const tensor of model) {
      const { name, dtype, shape, offsets } = tensor;
      rows.push({ data_offsets: offsets, dtype, name, sha256: await sha256(await tensor.bytes()), shape });
    }
    const order = tensors.map((row) => row.name);
    rows.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
    const pairs = model.metadata && [...model.metadata].sort(([a], [b]) => (a < b ? -1 : 1));
    return { tensors: rows, metadata: pairs && Object.fromEntries(pairs) };
  } catch (error) {
    return error instanceof FormatError ? { code: error.code, at: error.at } : { error: String(error) };
  }
}

const json = (answer) =>
  JSON.stringify(answer, (_, value) => (["number", "bigint"].includes(typeof value) ? String(value) : value));

/** Asks all vectors, some at the same time, and returns a line for each wrong answer. `load` opens a file. */
export async function ask(library, vectors, load) {
  const [wrong, left] = [[], vectors.values()];
  const lane = async () => {
    for (const vector of left) {
      const { id, ours, code, at, tensors, metadata, tensor_count, recipe, file } = vector;
      const expected = ours === "reject" ? { code, at } : tensors ? { tensors, metadata } : { tensor_count };
      const [right, source] = [json(expected), recipe ? readerOf(recipe) : await load(file)];
      const given = json(await answer(library, vector, source));
      given === right || wrong.push(`${id}: ${given.slice(0, 300)} instead of ${right.slice(0, 300)}`);
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  return wrong;
}

/** Reads parts of a model of floats, and makes mistakes: calls, readers and servers that fail. */
export async function use({ open, LimitError, ReadError, UsageError }, url) {
  const wrong = [];
  const is = (what, given, right) =>
    json(given) === json(right) || wrong.push(`${what}: ${json(given)} instead of ${json(right)}`);
  const fails = async (Kind, code, at, run) => {
    const error = await Promise.resolve().then(run).catch((error) => error);
    is(code, [error instanceof Kind, error?.code, error?.at], [true, code, at]);
  };

  const data = Uint8Array.from({ length: 320_024 }, (_, index) => index * 37);
  data.set([0x00, 0x3c, 0x01, 0xfc, 0x38, 0xff], 320_018); // 1 and a NaN as F16, 1 and a NaN as F8_E4M3
  const ends = { u: ["U8", [400, 800], 320_000], i: ["I64", [2], 320_016], four: ["F4", [2, 2], 320_018],
    half: ["F16", [2], 320_022], eight: ["F8_E4M3", [2], 320_024] };
  let begin = 0;
  const header = { __metadata__: { "\ufeffkey": "\u{1f600}" } };
  for (const [name, [dtype, shape, end]] of Object.entries(ends)) {
    header[name] = { dtype, shape, data_offsets: [begin, begin = end] };
  }
  const [head, reads] = [new Blob([JSON.stringify(header)]), []];
  const blob = new Blob([BigUint64Array.of(BigInt(head.size)), head, data]);
  const read = async (offset, length) => {
    const [begin] = [Number(offset), reads.push([offset, length])];
    return new Uint8Array(await blob.slice(begin, begin + Math.min(length, 70_000)).arrayBuffer());
  };
  const model = await open({ size: BigInt(blob.size), read });
  const [start, u] = [model.dataStart, model.get("u")];
  is("tensors", Array.from(model, (tensor) => tensor.name), Object.keys(ends));
  is("metadata", [...model.metadata], [["\ufeffkey", "\u{1f600}"]]);
  is("I64", [...await model.get("i").read()], [...new BigInt64Array(data.slice(320_000, 320_016).buffer)]);
  is("F16", [...await model.get("half").read()], [1, NaN]);
  is("F8", [...await model.get("eight").slice([0, 2]).read()], [1, NaN]);
  is("no tensor", model.get("none"), undefined);
  reads.length = 0;
  is("a part", [...await u.slice([1, 3], 5).read()], [data[805], data[1605]]);
  is("its reads", reads, [[start + 805n, 801]]);
  const [all, column] = await Promise.all([u.read(), u.slice(null, 7).read()]);
  const [bytes, lengths] = [[...data.slice(0, 320_000)], []];
  is("at the same time", [[...all], [...column]], [bytes, bytes.filter((_, at) => at % 800 === 7)]);
  for await (const values of u.slice(null, 7).chunks()) lengths.push(values.length);
  is("chunks", lengths, [256, 144]);
  await fails(UsageError, "usage.slice", start, () => u.slice(400));
  await fails(UsageError, "usage.step", start, () => u.slice([0, 2, 0]));
  await fails(UsageError, "usage.subbyte", start + 320_016n, () => model.get("four").slice(null, 0));
  await fails(UsageError, "usage.number", undefined, () => u.slice(-1));
  await fails(UsageError, "usage.axes", start, () => u.slice(...Array(2000)));
  await fails(UsageError, "usage.source", undefined, () => open(7));
  await fails(ReadError, "read.failed", 0n, () => open({ size: 9, read: () => Promise.reject(Error("no")) }));
  await fails(ReadError, "read.count", 0n, () => open({ size: 9, read: async () => new Uint8Array() }));
  await fails(ReadError, "read.type", 0n, () => open({ size: 9, read: async (_, length) => Array(length) }));
  const text = JSON.stringify({ a: { dtype: "U8", shape: [2 ** 50], data_offsets: [0, 2 ** 50] } });
  const huge = await open(readerOf({ header: [{ text }], data: [{ zeros: 2 ** 50 }] }));
  await fails(LimitError, "limit.memory", huge.dataStart, () => huge.get("a").read());
  const [remote, whole] = [await open(`${url}/model`), await open(await (await fetch(`${url}/model`)).blob())];
  const part = (model) => model.get("fc2.weight").slice(null, [9, 399, 2]).read();
  const sums = [remote, whole].map(async (model) => sha256(await part(model)));
  is("URL", await sums[0], await sums[1]);
  const changes = await open(`${url}/changes`);
  const { offsets: [first] } = changes.get("fc2.weight");
  await fails(ReadError, "read.changed", changes.dataStart + first, () => changes.get("fc2.weight").read());
  await fails(ReadError, "read.reply", 0n, () => open(`${url}/zips`));
  await fails(ReadError, "read.ranges", 0n, () => open(`${url}/ignores`));
  await fails(ReadError, "read.reply", 0n, () => open(`${url}/missing`));
  return wrong;
}
